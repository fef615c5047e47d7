#!/bin/sh
# Documentation is tested where it has code, and only there: rustdoc is started once per crate, for nothing in all others.
set -eu
cd "$(dirname "$0")/.."
wrong=
for manifest in $(git ls-files 'crates/*/Cargo.toml'); do
    crate=$(dirname "$manifest")
    [ -e "$crate/src/lib.rs" ] || continue
    code=$(git ls-files "$crate/src/*.rs" | xargs grep -lE '^ *//[/!] ```' || :)
    if [ -n "$code" ] && grep -q '^doctest = false' "$manifest"; then
        wrong="$wrong
$manifest: take 'doctest = false' out, as there is code in the documentation of $(echo "$code" | head -n 1)"
    elif [ -z "$code" ] && ! grep -q '^doctest = false' "$manifest"; then
        wrong="$wrong
$manifest: put 'doctest = false' under [lib], as no documentation has code"
    fi
done
if [ -n "$wrong" ]; then
    printf 'doctests:%s\n' "$wrong" >&2
    exit 1
fi
echo "doctests: they are on where documentation has code"
