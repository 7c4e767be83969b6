"""Kills `getaway dataset` at random moments. A resumed run must write the same files as an
undisturbed run.

    .venv/bin/python tests/python/dataset_runs.py --count 10 --seed 1 -- --states 100000 --planner cautious

The options after `--` are those of `getaway dataset`, without `--out`. The undisturbed run comes first. Each
SIGKILL is sent at a random size of the new folder, which spreads the kills over the whole run at any machine
speed. Both folders must have the same files, byte for byte.
"""

from __future__ import annotations

import argparse
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
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def size(folder: Path) -> int:
    """The total size of a folder's files, whose names may change at any time."""
    total = 0
    for path in folder.iterdir() if folder.exists() else ():
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


def kill_at(program: Path, options: list[str], folder: Path, limit: int) -> int:
    """Kills a run once its files have `limit` bytes; returns their size after the kill."""
    process = subprocess.Popen(command(program, options, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + TIMEOUT_S
    while size(folder) < limit and process.poll() is None:
        assert time.monotonic() < end, "too slow"
        time.sleep(0.002)
    process.kill()
    process.wait()
    return size(folder)


def run(program: Path, options: list[str], count: int, seed: int) -> list[str]:
    """Kills a run `count` times and completes it; returns a report per kill."""
    reports = []
    with tempfile.TemporaryDirectory() as scratch:
        expected = complete(program, options, Path(scratch) / "whole")
        total = sum(map(len, expected.values()))
        killed = Path(scratch) / "killed"
        for number, limit in enumerate(sorted(random.Random(seed).sample(range(total), count)), 1):
            reached = kill_at(program, options, killed, limit)
            reports.append(f"kill {number}: at {reached} bytes, {reached / total:.0%} of {len(expected)} files")
        found = complete(program, options, killed)
    assert sorted(found) == sorted(expected)
    assert all(found[name] == expected[name] for name in expected)
    return reports


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10, help="number of kills [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments [default: %(default)s]")
    parser.add_argument("--program", type=Path, default=TARGET / "release" / "getaway")
    parser.add_argument("options", nargs="*", help="options of getaway dataset")
    args = parser.parse_args()
    print(*run(args.program, args.options, args.count, args.seed), "all files equal", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
