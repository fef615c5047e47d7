#!/usr/bin/env python3
"""Every link of the Markdown pages to a file or heading of this repository must lead somewhere, and the book must list every page of docs/.

Headings get the anchors GitHub and mdBook give them: lower case, spaces as hyphens, punctuation dropped.
"""
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]*)\)")


def prose(page):
    return re.sub(r"`[^`\n]*`", "``", FENCE.sub("", page.read_text()))


def anchors(page):
    """Anchors of a page; a heading met again gets -1, -2, ..."""
    seen = {}
    for heading in re.findall(r"^#{1,6} +(.*)$", FENCE.sub("", page.read_text()), re.M):
        text = LINK.sub(lambda link: link.group(0)[1:].split("]")[0], heading)
        anchor = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        again = seen.get(anchor, 0)
        seen[anchor] = again + 1
        yield f"{anchor}-{again}" if again else anchor


root = pathlib.Path(__file__).resolve().parent.parent
listed = subprocess.run(["git", "ls-files", "*.md"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
broken = []
for name in listed:
    page = root / name
    for target in LINK.findall(prose(page)):
        path, _, anchor = target.partition("#")
        if not target or re.match(r"[a-z]+:", target):
            continue
        to = (page.parent / path).resolve() if path else page
        if not to.exists():
            broken.append(f"{name}: {target}: no such file")
        elif anchor and to.suffix == ".md" and anchor not in anchors(to):
            broken.append(f"{name}: {target}: no such heading")

book = set(LINK.findall((root / "docs/SUMMARY.md").read_text()))
for name in listed:
    if name.startswith("docs/") and name != "docs/SUMMARY.md" and name.removeprefix("docs/") not in book:
        broken.append(f"docs/SUMMARY.md: {name} is missing")

print("\n".join(broken) if broken else f"links: every one of {len(listed)} pages leads somewhere")
sys.exit(bool(broken))
