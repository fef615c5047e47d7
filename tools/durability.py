#!/usr/bin/env python3
"""The tables of docs/durability.md, from studies of `kvtrial crash`.

    kvtrial crash STORE... --out DIR
    tools/durability.py DIR...     writes the tables from these studies, the later of two for the same level of a store

Studies of power cuts (`--how power`) have a table of their own; those of kills and of power cuts are given in two calls.
"""

import json
import pathlib
import re
import statistics
import sys

PAGE = pathlib.Path("docs/durability.md")
PLACES = {
    "kills": ("<!-- kills: written by tools/durability.py -->\n", "<!-- end of kills -->\n"),
    "power": ("<!-- power cuts: written by tools/durability.py -->\n", "<!-- end of power cuts -->\n"),
}
LEVELS = ["none", "os", "second", "commit"]


def duration(seconds):
    """As kvtrial says it."""
    for unit, size in [("s", 1), ("ms", 1e-3), ("µs", 1e-6)]:
        if seconds >= size:
            number = seconds / size
            return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def found_in(case):
    """What was lost and what was wrong, in words."""
    found = [cut["found"] for cut in case["cuts"]]
    total = lambda name: sum(it[name] for it in found)
    oldest = max((it["oldest_lost_s"] for it in found if it["oldest_lost_s"] is not None), default=None)
    stuck = sum(cut["not_started"] is not None for cut in case["cuts"])
    wrong = [f"{count} {what}" for count, what in
             [(total("torn"), "torn"), (total("invented"), "invented"), (stuck, "did not start")] if count]
    age = "" if oldest is None else f", {duration(oldest)} old at most" if oldest >= 1e-6 else ", in the moment of the kill"
    return ", ".join([f"{total('lost'):,} of {total('acknowledged'):,}{age}", *wrong])


def row(study, case):
    """A line of a table."""
    crash, cuts = study["crash"], case["cuts"]
    known = lambda name: [cut[name] for cut in cuts if cut[name] is not None]
    recoveries, dark = known("recovery_s"), known("dark_s")
    promise = "**broken**" if case["promise"] == "broken" else case["promise"].replace("_", " ")
    is_power = crash["means"] == "power"
    if promise == "kept" and case.get("level") in (["none", "os"] if is_power else ["none"]):
        promise = "none made"
    cells = [f"`{case['store']}`", f"`{case['level']}`"]
    if crash["nodes"] != "all" or crash["means"] == "freeze":
        cells.append(f"{crash['nodes']}, {'killed' if crash['means'] == 'kill' else 'frozen'}")
    cells += [promise, found_in(case)]
    if crash["nodes"] != "all":
        cells.append(f"{duration(statistics.median(dark))}, {duration(max(dark))} at most" if dark else "")
    elif recoveries:
        cells.append(duration(statistics.median(recoveries)))
    else:
        cells.append("")
    measured = sum(cut.get("not_measured") is None for cut in cuts)
    cells += [f"{case['product']} {case['store_version']}", str(measured), study["started_at"][:10]]
    return "| " + " | ".join(cells) + " |"


HEADS = {
    "all": ["store", "level", "promise", "acknowledged writes lost, and what was wrong", "recovery, median", "version", "kills", "date"],
    "power": ["store", "level", "promise", "acknowledged writes lost, and what was wrong", "recovery, median", "version", "power cuts", "date"],
    "some": ["store", "level", "nodes", "promise", "acknowledged writes lost, and what was wrong", "without any answer, median", "version",
             "times", "date"],
}


def tables(directories):
    """Which tables, and these: everything killed, and some of the nodes; or power cuts."""
    rows, places = {"all": {}, "some": {}, "power": {}}, set()
    for directory in directories:
        study = json.loads((pathlib.Path(directory) / "study.json").read_text())
        crash, host = study["crash"], study["host"]
        if crash["during"] != "write" or (crash["nodes"], crash["means"]) == ("all", "freeze") or crash["means"] == "command":
            sys.exit(f"{directory}: its crashes are of another kind; the tables have kills of everything, and nodes killed or frozen")
        places.add(f"{host['cpus']} processors ({host['cpu']}), {host['filesystem']}, {host['kernel']}")
        which = "power" if crash["means"] == "power" else "all" if crash["nodes"] == "all" else "some"
        if which == "power" and crash["disk"] != "honest":
            sys.exit(f"{directory}: its disk was not honest")
        for case in crash["cases"]:
            if case["cuts"] and case["level"]:
                key = (case["store"], LEVELS.index(case["level"]), crash["nodes"], crash["means"])
                rows[which][key] = row(study, case)
    if rows["power"] and (rows["all"] or rows["some"]):
        sys.exit("studies of kills and of power cuts are given in two calls")
    text = f"On {'; '.join(sorted(places))}.\n"
    for which, of in rows.items():
        if of:
            head = HEADS[which]
            text += f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}\n" + "\n".join(of[key] for key in sorted(of)) + "\n"
    return "power" if rows["power"] else "kills", text


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    text = PAGE.read_text()
    which, new = tables(sys.argv[1:])
    begin, end = PLACES[which]
    block = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not block.search(text):
        sys.exit(f"{PAGE}: there is no place for the table")
    PAGE.write_text(block.sub(lambda _: begin + new + end, text))


main()
