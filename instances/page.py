#!/usr/bin/env python3
"""Write RECORDS.md, and the rows and colours of records.html, for a folder of instances (default: this folder)."""

import json
import re
import sys
from pathlib import Path

import check

# The colours of all pages of the project.
TOKENS = check.HERE.parent / "crates/viewer/src/page/tokens.css"
OPEN, GAP, DOOMED, SURVIVES = "undecided", "doomed, gap", "doomed, best score proven", "survives"
NONE = "no record"
ORDER = [OPEN, NONE, GAP, DOOMED, SURVIVES]


def rows(folder):
    """Returns one row per instance, sorted by state (in the order of ORDER), then by the gap
    between line and bound (widest first), then by name."""
    found = []
    for line in (folder / "instances.jsonl").read_text("utf-8-sig").splitlines():
        instance = json.loads(line)
        name = instance["instance"]
        row = {"name": name, "map": instance["map"], "state": NONE, "final": 0, "bound": 2001, "by": ["-", "-"]}
        path = folder / "records" / f"{name}.txt"
        if path.exists():
            _, line_by, bound_by, text = path.read_text("utf-8-sig").split("\n", 3)
            certificate = check.Certificate(text, 4)
            row["final"], row["bound"] = certificate.final_tick, certificate.bound_tick
            row["by"] = [line_by.removeprefix("line by: "), bound_by.removeprefix("bound by: ")]
            row["state"] = state(certificate.final_tick, certificate.bound_tick)
        row["tiles"] = (folder / instance["map"]).read_text("utf-8-sig").split()
        found.append(row)
    found.sort(key=lambda row: (ORDER.index(row["state"]), row["final"] - row["bound"], row["name"]))
    return found


def state(final, bound):
    if final > check.LAST_TICK:
        return SURVIVES
    if bound > check.LAST_TICK:
        return OPEN
    return DOOMED if final == bound else GAP


def escaped(text):
    """Returns text that Markdown shows as it is, even if the text looks like a table, a tag or a link."""
    return re.sub(r"[^\w\s.,:;/+-]", lambda match: f"&#{ord(match[0])};", text)


def markdown(found):
    tracks = list(dict.fromkeys(sorted(row["name"].split("/")[0] for row in found)))
    text = "# Records\n\n`page.py` writes this page and [records.html](records.html) from `records/`.\n"
    text += "On getaway's documentation site, `instances/records.html` can open any record in the playground.\n\n"
    text += "| track | instances | " + " | ".join(ORDER) + " |\n|---|" + "---|" * (len(ORDER) + 1) + "\n"
    for track in tracks:
        own = [row for row in found if row["name"].startswith(track + "/")]
        counts = [str(sum(row["state"] == name for row in own)) for name in ORDER]
        text += f"| {track} | {len(own)} | {' | '.join(counts)} |\n"
    text += "\nThe instances without a proven best score, in the order of the columns above. *Line* and *bound* are ticks.\n\n"
    text += "| instance | state | line | bound | line by | bound by |\n|---|---|---|---|---|---|\n"
    for row in found:
        if row["state"] not in (DOOMED, SURVIVES):
            line_by, bound_by = (escaped(by) for by in row["by"])
            link = f"[{row['name']}](records/{row['name']}.txt)"
            text += f"| {link} | {row['state']} | {row['final']} | {row['bound']} | {line_by} | {bound_by} |\n"
    return text


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else check.HERE
    found = rows(folder)
    (folder / "RECORDS.md").write_text(markdown(found), "utf-8")
    data = json.dumps(found, separators=(",", ":")).replace("<", "\\u003c")
    page = (check.HERE / "records.html").read_text("utf-8")
    # A copy of the folder keeps the page's colours.
    if TOKENS.exists():
        page = re.sub("(?<=<style>\n).*?(?=\nbody )", lambda _: TOKENS.read_text("utf-8").strip(), page, count=1, flags=re.DOTALL)
    page = re.sub('(?<=id="rows">).*?(?=</script>)', lambda _: data, page, count=1, flags=re.DOTALL)
    (folder / "records.html").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
