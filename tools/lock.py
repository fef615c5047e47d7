#!/usr/bin/env python3
"""Writes what `kvtrial fetch-store` gives npm for a store: package.json, and a package-lock.json with a line per package.

    tools/lock.py dynalite 4.0.0 crates/drivers/bundles/dynamodb

npm (apt-get install npm) resolves the package; nothing of it is kept.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

# What npm needs to lay the packages out again, and to know each by its sum.
KEPT = ("version", "integrity", "dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta", "optional", "peer", "bin", "os", "cpu", "hasInstallScript", "license")


def main():
    name, version, directory = sys.argv[1:]
    head = {"name": f"kvtrial-{name}", "version": "1.0.0", "dependencies": {name: version}}
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "package.json").write_text(json.dumps(head))
        command = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=place, check=True)
        packages = json.loads((pathlib.Path(place) / "package-lock.json").read_text())["packages"]
    lines = [f'"": {json.dumps(head)}']
    for path, package in sorted(packages.items()):
        if path:
            lines.append(f"{json.dumps(path)}: {json.dumps({key: package[key] for key in KEPT if key in package})}")
    start = f'{{"name": {json.dumps(head["name"])}, "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {{\n'
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "package.json").write_text(json.dumps(head) + "\n")
    (directory / "package-lock.json").write_text(start + ",\n".join(lines) + "\n}}\n")


main()
