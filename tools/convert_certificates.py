#!/usr/bin/env python3
"""Convert certificates and records from version 4 of the format to version 5, in place.

usage: tools/convert_certificates.py [--all] FILE...

In version 4, every fifth layer and every small layer became a known set. A converted sweep lists
every fifth layer, and the layers in which a sweep starts or a threat joins; the last sweep lists no
layer if it runs out of states. `--all` lists all layers instead: verifying then takes more memory.
"""

import json
import sys
from pathlib import Path


def ranges(ticks):
    found = []
    for tick in sorted(ticks):
        if found and (found[-1][0] == found[-1][1] or tick - found[-1][1] == found[-1][2]):
            found[-1][1:] = [tick, tick - found[-1][1]]
        else:
            found.append([tick, tick, 1])
    return found


def convert(path, is_all):
    lines = [line for line in path.read_text("utf-8").split("\n") if line]
    parsed = [json.loads(line) if line.startswith("{") else line for line in lines]
    sweeps = [line for line in parsed if "target_tick" in line]
    used = {tick for sweep in sweeps for tick in [sweep["from_tick"], *(tick for tick, _ in sweep["joins"])]}
    for line in parsed:
        if "certificate" in line and not isinstance(line, str):
            line["certificate"] = 5 if line["certificate"] == 4 else sys.exit(f"{path}: expected version 4")
    for sweep in sweeps:
        layers = range(sweep["from_tick"], sweep["until_tick"] + 1)
        sweep["known"] = ranges(tick for tick in layers if is_all or tick % 5 == 1 or tick in used)
    if parsed[-1] == {"end": "empty"} and sweeps:
        sweeps[-1]["known"] = []
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in parsed]
    path.write_text("\n".join(texts) + "\n", "utf-8")


names = [name for name in sys.argv[1:] if name != "--all"]
for name in names or [sys.exit(__doc__)]:
    convert(Path(name), "--all" in sys.argv)
