"""Kills and resumes `getaway-discover`, and compares its result with that of an uninterrupted run.

    .venv/bin/python tests/python/discovery_runs.py --count 10 -- --problem survival --no-jump

The options after `--` are passed to `getaway-discover`, and must not include `--json` or
`--resume`. The uninterrupted run comes first, unless `--state` names the complete state file of
such a run. Then each of `--count` runs with a second state file is killed (SIGKILL) when the file
reaches a random size. Random sizes, unlike random times, spread the kills over the whole discovery
on any machine. A last run completes the discovery. The state files must then be equal byte for
byte, and the reports must be equal except for the elapsed time and the speed.
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
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TIMEOUT_S = 7200


def command(program: Path, options: list[str], state: Path) -> list[str]:
    return [str(program), *options, "--json", "--resume", str(state)]


def report(program: Path, options: list[str], state: Path) -> dict[str, Any]:
    """Runs a discovery to its end; returns its report without the elapsed time and the speed."""
    done = subprocess.run(command(program, options, state), stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return {key: value for key, value in found.items() if key not in ("elapsed_s", "plays_per_s")}


def kill_at(program: Path, options: list[str], state: Path, size: int) -> int:
    """Kills a discovery when its state file has at least `size` bytes; returns the size of the file
    after the kill."""
    process = subprocess.Popen(command(program, options, state), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + TIMEOUT_S
    while (state.stat().st_size if state.exists() else 0) < size:
        assert process.poll() is None, f"the discovery ended before the kill, with exit code {process.returncode}"
        assert time.monotonic() < end, "too slow"
        time.sleep(0.005)
    process.kill()
    process.wait()
    return state.stat().st_size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10, help="number of kills [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed for the random sizes at which a run is killed [default: %(default)s]")
    parser.add_argument("--state", type=Path, help="state file of a completed uninterrupted run, to use instead of a new run")
    parser.add_argument("--program", type=Path, default=TARGET / "release/getaway-discover")
    parser.add_argument("options", nargs="*", help="options of getaway-discover")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole = args.state or Path(folder) / "whole.jsonl"
        expected = report(args.program, args.options, whole)
        complete = whole.read_bytes()
        print(f"uninterrupted: {len(complete)} bytes, {expected['ranking'][0]['expression']} ranked first", flush=True)
        killed = Path(folder) / "killed.jsonl"
        moments = sorted(random.Random(args.seed).sample(range(1, len(complete)), args.count))
        for number, moment in enumerate(moments, 1):
            size = kill_at(args.program, args.options, killed, moment)
            print(f"kill {number}: at {size} bytes, {size / len(complete):.0%} of the file", flush=True)
        found = report(args.program, args.options, killed)
        same = (killed.read_bytes() == complete, found == expected)
    print(f"state file {'equal' if same[0] else 'DIFFERENT'}, report {'equal' if same[1] else 'DIFFERENT'}")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
