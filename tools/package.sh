#!/bin/sh
# Packages for this processor, in target/package: a .deb, an archive with the program and its documentation, a wheel, SHA-256 sums.
# Needs cargo-deb (cargo install cargo-deb) and pip (python3-pip), which gets maturin. The program needs the glibc of the machine that
# built it, or a newer one. tools/test-packages.sh tries them.
set -eu
cd "$(dirname "$0")/.."
out=target/package
rm -rf "$out"
mkdir -p "$out/man"

cargo build --release --features full
kvtrial=target/release/kvtrial
"$kvtrial" man --out "$out/man" >/dev/null
"$kvtrial" completions bash >"$out/kvtrial.bash"
"$kvtrial" completions fish >"$out/kvtrial.fish"
"$kvtrial" completions zsh >"$out/_kvtrial"

cargo deb --quiet --no-build --package kvtrial-cli --output "$out/"

version=$("$kvtrial" --version | cut -d' ' -f2)
name=kvtrial-$version-$(uname -m)-linux-gnu
mkdir "$out/$name"
cp -r "$kvtrial" README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT docs "$out/man" "$out/$name/"
tar -C "$out" -czf "$out/$name.tar.gz" "$name"
rm -r "${out:?}/$name"

# Below target, so that nothing is installed for the user.
python3 -m pip install --quiet --upgrade --target target/maturin 'maturin>=1.9,<2'
target/maturin/bin/maturin build --quiet --release --out "$out"

cd "$out"
sha256sum -- *.deb *.tar.gz *.whl >SHA256SUMS
ls -l -- *.deb *.tar.gz *.whl SHA256SUMS
