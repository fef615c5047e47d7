#!/bin/sh
# Lints the tests, benches and examples too: two minutes more than .ci/run has. Tests may unwrap; so may what they share.
set -eu
cd "$(dirname "$0")/.."
cargo clippy --quiet --workspace --all-targets --features full -- -D warnings -A clippy::unwrap_used -A clippy::expect_used
