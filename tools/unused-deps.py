#!/usr/bin/env python3
"""Dependencies that no source of their crate names. Exit 1 if there are any."""
import pathlib, re, sys, tomllib

# What a library is called where that is not the name of its package.
LIBRARIES = {"md-5": "md5"}



def texts(path):
    """A file, and those of other crates that it has as modules."""
    text = path.read_text()
    named = re.findall(r'#\[path = "(\.\./\.\./[^"]+)"\]', text)
    return [text, *(found.read_text() for name in named if (found := path.parent / name).is_file())]


unused = []
for manifest in sorted(pathlib.Path("crates").glob("*/Cargo.toml")):
    read = tomllib.loads(manifest.read_text())
    sources = "\n".join(text for path in manifest.parent.rglob("*.rs") if "target" not in path.parts for text in texts(path))
    tables = [read.get(name, {}) for name in ("dependencies", "dev-dependencies", "build-dependencies")]
    for name in sorted({name for table in tables for name in table}):
        word = LIBRARIES.get(name, name).replace("-", "_")
        if not re.search(rf"\b{word}(::|\s*;|!|\s+as\b|\s*\{{)", sources):
            unused.append(f"{manifest}: {name}")
print("\n".join(unused) or "dependencies: all are used")
sys.exit(bool(unused))
