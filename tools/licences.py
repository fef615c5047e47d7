#!/usr/bin/env python3
"""Every crate kvtrial is built from must be under a licence that lets it be given away under MIT OR Apache-2.0."""
import json
import re
import subprocess
import sys

ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CDLA-Permissive-2.0",
    "ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib",
}


def allowed(expression):
    """SPDX: OR binds least, then AND, then parentheses; old manifests write / for OR."""
    expression = expression.replace("/", " OR ")
    while inner := re.search(r"\(([^()]*)\)", expression):
        verdict = "MIT" if allowed(inner.group(1)) else "refused"
        expression = expression[: inner.start()] + verdict + expression[inner.end() :]
    return any(all(part.strip() in ALLOWED for part in choice.split(" AND ")) for choice in expression.split(" OR "))


assert allowed("(MIT OR GPL-3.0) AND ISC") and not allowed("(GPL-3.0 OR LGPL-3.0) AND MIT") and allowed("MIT/Apache-2.0")

metadata = subprocess.run(
    ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"], check=True, capture_output=True, text=True
)
packages = json.loads(metadata.stdout)["packages"]
refused = [f"{it['name']} {it['version']}: {it['license']}" for it in packages if not allowed(it["license"] or "none stated")]
print("\n".join(refused) if refused else f"licences: those of all {len(packages)} crates are allowed")
sys.exit(bool(refused))
