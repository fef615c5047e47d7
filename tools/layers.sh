#!/bin/sh
# What the code of a crate must never need (the diagram in CONTRIBUTING.md), asked of cargo.
set -eu
cd "$(dirname "$0")/.."
status=0
never() {
    crate=$1
    shift
    # Not in a pipe, which would hide that there is no such crate.
    tree=$(cargo tree --quiet --package "kvtrial-$crate" --edges normal --prefix none)
    for other in "$@"; do
        if printf '%s\n' "$tree" | grep -q "^$other v"; then
            echo "kvtrial-$crate needs $other and must not: cargo tree -p kvtrial-$crate -e normal -i $other"
            status=1
        fi
    done
}
for crate in words findings archive analysis report; do
    never "$crate" indicatif console unicode-width kvtrial-terminal kvtrial-runner
done
never terminal kvtrial-report kvtrial-runner
for crate in runner search; do
    never "$crate" kvtrial-terminal kvtrial-report kvtrial-fleet async-nats
done
never store kvtrial-layers
for crate in ground embedded protocols drivers catalog; do
    never "$crate" kvtrial-layers kvtrial-host
done
for crate in embedded protocols; do
    never "$crate" tokio
done
never jobs kvtrial-engine kvtrial-layers
never check kvtrial-engine
never power kvtrial-store kvtrial-host kvtrial-runner
[ "$status" = 0 ] && echo "layers: no crate needs what it must not"
exit "$status"
