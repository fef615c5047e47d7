#!/usr/bin/env python3
"""No crate may need a newer compiler than `rust-version` in Cargo.toml promises. (clippy sees to the standard library; a workflow compiles.)"""
import json
import subprocess
import sys


def version(text):
    """1.90 as numbers, patch level included."""
    return tuple(int(part) for part in (text + ".0.0").split(".")[:3])


metadata = subprocess.run(
    ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"], check=True, capture_output=True, text=True
)
metadata = json.loads(metadata.stdout)
members = set(metadata["workspace_members"])
promised = {it["rust_version"] for it in metadata["packages"] if it["id"] in members}
if len(promised) != 1 or None in promised:
    sys.exit(f"msrv: the crates of the workspace promise different compilers: {promised}")
ours = promised.pop()
newer = [it for it in metadata["packages"] if it["rust_version"] and version(it["rust_version"]) > version(ours)]
for it in newer:
    print(f"{it['name']} {it['version']} needs Rust {it['rust_version']}; kvtrial promises {ours}")
if newer:
    sys.exit(1)
print(f"msrv: no crate declares to need more than Rust {ours}")
