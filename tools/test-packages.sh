#!/bin/sh
# Tries the packages in target/package as a user would: the sums; the wheel in a fresh virtual environment without a compiler on PATH; the
# archive. Each must say its version and run a job with the known answer. The .deb is unpacked, not installed.
set -eu
cd "$(dirname "$0")/../target/package"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../../Cargo.toml | head -n 1)

sha256sum --check --quiet SHA256SUMS

tries() { # KIND PROGRAM
    said=$(env -i HOME="$fresh" PATH=/nowhere "$2" --version)
    [ "$said" = "kvtrial $version" ] || { echo "$1: it says '$said', not 'kvtrial $version'" >&2; exit 1; }
    # Exit 0 is a study whose every cell has the known answer.
    env -i HOME="$fresh" PATH=/nowhere "$2" run fans --data debian-1k --quick --out "$fresh/study-$1" >"$fresh/$1.txt" 2>&1 </dev/null ||
        { cat "$fresh/$1.txt" >&2; exit 1; }
    echo "$1: $said, and it runs fans"
}

python3 -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install --quiet --no-index ./*.whl
tries wheel "$fresh/venv/bin/kvtrial"

mkdir "$fresh/archive" "$fresh/deb"
tar -C "$fresh/archive" -xzf ./*.tar.gz
tries archive "$fresh"/archive/*/kvtrial

dpkg-deb --extract ./*.deb "$fresh/deb"
tries deb "$fresh/deb/usr/bin/kvtrial"
