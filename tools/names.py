#!/usr/bin/env python3
"""One word, one thing: no two crates give the same name to a type that other files use.

A type without `pub`, or with `pub(super)`, is read beside the few lines that need it, and may have any name but one of VOCABULARY: a
reader takes those for the one thing they mean everywhere.
"""

import pathlib
import re
import sys

TYPE = re.compile(r"( *)(?:(pub)(?:\(([^)]*)\))? )?(?:unsafe )?(?:struct|enum|trait|type|union) (\w+)")

# Words with one meaning in the whole workspace, code and documents alike, and the crate that gives it.
VOCABULARY = {
    "Answer": "study", "Bound": "search", "Capabilities": "store", "Cell": "study", "Deployment": "store",
    "Ending": "runner", "Exit": "host", "Gate": "analysis", "Job": "jobkit", "Layer": "layers", "Operation": "store",
    "Outcome": "engine", "Place": "store", "Plan": "runner", "Reply": "store", "Session": "store", "Slot": "store",
    "Spec": "study", "Store": "store", "Study": "study", "Trial": "jobkit", "Verdict": "study", "Worker": "jobkit",
}  # fmt: skip

# Names of modules that had several meanings, and the crate that keeps each.
MODULES = {"judge": "jobs", "ledger": "crash", "words": "words"}

# Crates whose names are their own, and why.
APART = {"testkit": "stands in for other programs in tests, and uses the words of their protocols"}

# Names that two crates may give, and why.
ALLOWED: dict[str, str] = {}


def types(path: pathlib.Path):
    """Name, line, and whether other files use it, of each type a file defines. Types of a trait or an impl are not its own."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = TYPE.match(line)
        if found and not (found[1] and re.match(r" *type ", line)):
            yield found[4], number, found[2] is not None and found[3] != "super"


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    shared: dict[str, dict[str, list[str]]] = {}
    problems = []
    for path in sorted(root.glob("crates/*/src/**/*.rs")):
        crate = path.relative_to(root).parts[1]
        if crate in APART or path.stem == "tests":
            continue
        if MODULES.get(path.stem, crate) != crate:
            owner = MODULES[path.stem]
            problems.append(f"{path.relative_to(root)}: {path.stem} is a word of the crate {owner}: name this module after what is in it")
        for name, line, is_shared in types(path):
            where = f"{path.relative_to(root)}:{line}"
            if VOCABULARY.get(name, crate) != crate:
                problems.append(f"{where}: {name} is a word of the crate {VOCABULARY[name]}: name this after what it is")
            elif is_shared:
                shared.setdefault(name, {}).setdefault(crate, []).append(where)
    for name, crates in sorted(shared.items()):
        if len(crates) > 1 and name not in ALLOWED:
            places = ", ".join(where for found in crates.values() for where in found)
            problems.append(f"{name} is a type of several crates: {places}: rename all but one")
    for name in sorted(ALLOWED):
        if len(shared.get(name, {})) < 2:
            problems.append(f"{name} is allowed twice and is there once: take it from the list in tools/names.py")
    print("\n".join(problems) or "names: one word, one thing")
    return 1 if problems else 0


sys.exit(main())
