#!/usr/bin/env python3
"""The crates and what each needs, as CONTRIBUTING.md shows them, from the manifests.

    tools/crates.py          fails where CONTRIBUTING.md shows something else
    tools/crates.py --write  writes it there

A crate that another one of the list needs as well is left out, as it follows.
"""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

PAGE = pathlib.Path("CONTRIBUTING.md")
BEGIN, END = "<!-- crates: written by tools/crates.py -->\n```\n", "```\n"


def needs():
    """Each crate, by the name of its folder, with the crates of the workspace it is built from."""
    said = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1"], check=True, capture_output=True, text=True
    )
    packages = json.loads(said.stdout)["packages"]
    folder = {it["name"]: pathlib.Path(it["manifest_path"]).parent.name for it in packages}
    return {
        folder[it["name"]]: {folder[dep["name"]] for dep in it["dependencies"] if dep["kind"] is None and dep["name"] in folder}
        for it in packages
    }


def all_of(crate, graph):
    """Everything a crate needs, however indirectly."""
    return graph[crate].union(*(all_of(one, graph) for one in graph[crate]))


def picture(graph):
    """A line per crate, those first that need most."""
    lines = []
    for crate in sorted(graph, key=lambda crate: (-len(all_of(crate, graph)), crate)):
        direct = graph[crate]
        follows = set().union(*(all_of(one, graph) for one in direct))
        words = ", ".join(sorted(direct - follows)) or "nothing"
        lines += textwrap.wrap(f"{crate:<10} → {words}", 110, subsequent_indent=" " * 13)
    return "\n".join(lines) + "\n"


def main():
    text = PAGE.read_text()
    block = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    new = block.sub(lambda _: BEGIN + picture(needs()) + END, text)
    if "--write" in sys.argv:
        PAGE.write_text(new)
    elif BEGIN not in text or new != text:
        sys.exit("CONTRIBUTING.md: the picture of the crates is not as the manifests say: run tools/crates.py --write")


main()
