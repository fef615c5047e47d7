#!/usr/bin/env python3
"""Writes the list of what `kvtrial fetch-store` gets for a store: every file its artifact needs at run time, with size and sha256.

    tools/bundle.py com.hazelcast:hazelcast:5.5.0 [--without NAME...] >crates/protocols/bundles/hazelcast.txt

Maven (apt-get install maven) resolves the artifact; nothing of it is kept.
"""
import argparse
import fnmatch
import hashlib
import pathlib
import subprocess
import sys
import tempfile

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>list</groupId><artifactId>list</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact", help="GROUP:ARTIFACT:VERSION")
    parser.add_argument("--classifier", nargs="*", default=[], metavar="NAME", help="further files of the artifact itself, such as loader")
    parser.add_argument("--without", nargs="*", default=[], metavar="NAME", help="files to leave out, as NAME-VERSION; * is any text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        more = [f"<classifier>{name}</classifier>" for name in arguments.classifier]
        dependencies = [DEPENDENCY.format(*arguments.artifact.split(":"), which) for which in ["", *more]]
        (directory / "pom.xml").write_text(POM.format("".join(dependencies)))
        options = ["-DoutputDirectory=lib", "-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true"]
        subprocess.run(["mvn", "-q", "-B", COPY, *options], cwd=directory, check=True, stdout=sys.stderr)
        lib = directory / "lib"
        for path in sorted(lib.rglob("*.jar")):
            if any(fnmatch.fnmatch(path.stem, name) for name in arguments.without):
                continue
            content = path.read_bytes()
            print(path.relative_to(lib), len(content), hashlib.sha256(content).hexdigest())


main()
