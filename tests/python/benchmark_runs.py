"""Checks that `getaway benchmark check` and `instances/check.py` accept the same records.

    .venv/bin/python tests/python/benchmark_runs.py --count 2000 --seed 1 --max-steps 1000000

Both programs check copies of random records. Every fifth copy is unchanged. In the others, the
script changes one field, or removes one line, one move or one list entry. A record of which a copy
takes `check.py` more than `--max-steps` steps is not used again, because `check.py` is slow.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BENCHMARK = ROOT / "instances"
sys.path.insert(0, str(BENCHMARK))
import check  # type: ignore[import-not-found]  # noqa: E402


def change(rng: random.Random, lines: list[dict[str, Any]]) -> None:
    header, *sweeps, end = lines
    kinds = ["letter", "shorter", "final_tick", "bound_tick", "end", "rules"]
    kinds += ["target_tick", "from_tick", "until_tick", "draws", "join", "unjoin", "known", "remove"] * bool(sweeps)
    kind, sweep = rng.choice(kinds), rng.choice(sweeps) if sweeps else {}
    near = rng.choice([-50, -10, -2, -1, 1, 2, 10, 50])
    if kind == "letter":
        letters = list(header["actions"])
        letters[rng.randrange(len(letters))] = rng.choice("LRUD.")
        header["actions"] = "".join(letters)
    elif kind == "shorter":
        header["actions"] = header["actions"][:-1]
    elif kind in ("final_tick", "bound_tick"):
        header[kind] += near
    elif kind == "end":
        end["end"] = rng.choice(["none", "empty", "search"])
    elif kind == "rules":
        header["rules"]["owl_window_ticks"] += near
    elif kind in ("target_tick", "from_tick", "until_tick"):
        sweep[kind] += near
    elif kind == "draws":
        sweep["counts_draws"] = not sweep["counts_draws"]
    elif kind == "known":
        first = sweep["from_tick"] + abs(near)
        sweep["known"] = rng.choice([[], [[first, first, 1]], [[sweep["from_tick"], sweep["until_tick"], 1]]])
    elif kind == "join" and sweep["joins"]:
        join = rng.choice(sweep["joins"])
        join[rng.randrange(2)] = rng.choice([rng.randrange(8), sweep["from_tick"], sweep["from_tick"] + abs(near)])
    elif kind == "unjoin" and sweep["joins"]:
        sweep["joins"].pop(rng.randrange(len(sweep["joins"])))
    else:
        lines.remove(rng.choice(lines[1:]))


def changed(rng: random.Random, text: str, stays: bool) -> str:
    *credits, certificate = text.split("\n", 3)
    lines = [json.loads(line) for line in certificate.splitlines()]
    if not stays:
        change(rng, lines)
    return "\n".join([*credits, *(json.dumps(line) for line in lines)]) + "\n"


def run(program: Path, count: int, seed: int, max_steps: int) -> bool:
    rng = random.Random(seed)
    records = sorted((BENCHMARK / "records").rglob("*.txt"))
    proofs = [path for path in records if '"end":"none"' not in path.read_text("utf-8")]
    benchmark = check.Benchmark(BENCHMARK)
    counts = {"accepted": 0, "refused": 0, "too slow": 0, "different": 0}
    with tempfile.TemporaryDirectory() as folder:
        for at in range(count):
            path = Path(folder, f"{at:06}.txt")
            source = rng.choice(proofs if at % 4 else records)
            path.write_text(changed(rng, source.read_text("utf-8"), at % 5 == 0), "utf-8")
            try:
                benchmark.check(path, max_steps=max_steps)
                holds, why = True, "accepted"
            except check.Refused as error:
                holds, why = False, str(error)
            except check.TooSlow:
                counts["too slow"] += 1
                records.remove(source)
                proofs = [path for path in proofs if path != source]
                continue
            command = [str(program), "benchmark", "check", "--benchmark", str(BENCHMARK), str(path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            if done.returncode not in (0, 1) or (done.returncode == 0) != holds:
                counts["different"] += 1
                print(f"{source}, seed {seed}, number {at}: check.py: {why}; getaway: {done.stdout} {done.stderr}")
                print(path.read_text("utf-8"))
            counts["accepted" if holds else "refused"] += 1
    print(", ".join(f"{number} {name}" for name, number in counts.items()))
    return counts["different"] == 0 and counts["accepted"] > 0 and counts["refused"] > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-steps", type=int, default=1_000_000)
    parser.add_argument("--program", type=Path, default=TARGET / "release" / "getaway")
    args = parser.parse_args()
    return 0 if run(args.program.resolve(), args.count, args.seed, args.max_steps) else 1


if __name__ == "__main__":
    sys.exit(main())
