#!/bin/sh
# Names every file of a crate that is longer than fits in the head: 400 lines, tests apart.
set -eu
cd "$(dirname "$0")/.."
long=$(git ls-files 'crates/*/src/*.rs' | grep -v '/tests\.rs$' | xargs wc -l | awk '$2 != "total" && $1 > 400')
if [ -n "$long" ]; then
    printf 'lengths: more than 400 lines; part them by noun:\n%s\n' "$long" >&2
    exit 1
fi
echo "lengths: no file of a crate has more than 400 lines"
