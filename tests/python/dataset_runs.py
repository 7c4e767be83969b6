"""Kills and resumes `getaway dataset`, and compares its files with those of an uninterrupted run.

    .venv/bin/python tests/python/dataset_runs.py --count 10 --seed 1 -- --states 100000 --planner cautious

The options after `--` are passed to `getaway dataset`, and must not include `--out`. The
uninterrupted run comes first. Then each of `--count` runs in a second folder is killed (SIGKILL)
when the folder reaches a random size, unless the run ends earlier. Random sizes, unlike random
times, spread the kills over the whole dataset on any machine. A last run completes the dataset.
Both folders must then have the same shards, byte for byte, and the same hashes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TIMEOUT_S = 7200


def command(program: Path, options: list[str], folder: Path) -> list[str]:
    return [str(program), "dataset", *options, "--out", str(folder)]


def complete(program: Path, options: list[str], folder: Path) -> dict[str, bytes]:
    subprocess.run(command(program, options, folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=True)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    # Threads add the shards' hashes in the order in which they finish, a killed run can add one
    # without its shard, and each line's check depends on the lines before it.
    lines = map(json.loads, files["dataset.jsonl"].splitlines())
    entries = {json.dumps({key: value for key, value in line.items() if key != "check"}) for line in lines}
    files["dataset.jsonl"] = "\n".join(sorted(entries)).encode()
    return files


def size(folder: Path) -> int:
    """Returns the total size of a folder's files, except those renamed or deleted meanwhile."""
    total = 0
    for path in folder.iterdir() if folder.exists() else ():
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


def kill_at(program: Path, options: list[str], folder: Path, limit: int) -> int:
    """Kills a run when its files have at least `limit` bytes; returns their size after the kill."""
    process = subprocess.Popen(command(program, options, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + TIMEOUT_S
    while size(folder) < limit and process.poll() is None:
        assert time.monotonic() < end, "too slow"
        time.sleep(0.002)
    process.kill()
    process.wait()
    return size(folder)


def run(program: Path, options: list[str], count: int, seed: int) -> list[str]:
    """Kills and resumes a run `count` times, and checks its files; returns one line per kill."""
    reports = []
    with tempfile.TemporaryDirectory() as scratch:
        expected = complete(program, options, Path(scratch) / "whole")
        total = sum(map(len, expected.values()))
        killed = Path(scratch) / "killed"
        for number, limit in enumerate(sorted(random.Random(seed).sample(range(total), count)), 1):
            reached = kill_at(program, options, killed, limit)
            reports.append(f"kill {number}: at {reached} bytes, {reached / total:.0%} of the size of all {len(expected)} files")
        found = complete(program, options, killed)
    assert sorted(found) == sorted(expected)
    assert all(found[name] == expected[name] for name in expected)
    return reports


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10, help="number of kills [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed for the random sizes at which a run is killed [default: %(default)s]")
    parser.add_argument("--program", type=Path, default=TARGET / "release" / "getaway")
    parser.add_argument("options", nargs="*", help="options of getaway dataset")
    args = parser.parse_args()
    print(*run(args.program, args.options, args.count, args.seed), "all files equal", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
