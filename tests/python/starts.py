"""Starts the server many times on busy processors, with the shell function that run.sh and
package.sh use. Run `.venv/bin/python tests/python/starts.py --count 200 --busy 2`. The exit code is
1 if a start fails."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from waiting import TIMEOUT_S

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
set -euo pipefail
cd "$1"
source tools/environment.sh
getaway=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
start_server maps/roundabout --games 1 $3
kill "$server_pid"
wait "$server_pid" || true
echo "$url"
"""


def start(program: Path, *options: str) -> str | None:
    """Starts and stops the server; returns an error message, or None on success."""
    command = ["bash", "-c", SCRIPT, "start", str(ROOT), str(program), " ".join(options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode == 0 and done.stdout.startswith("ws://127.0.0.1:"):
        return None
    return f"exit code {done.returncode}: {done.stdout}{done.stderr}"


def run(program: Path, count: int, busy: int) -> list[str]:
    """Starts the server `count` times under the load of `busy` processes; returns the errors."""
    loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        # Every second server gets `--json`, so it prints its address to standard error.
        results = [start(program, *(["--json"] if number % 2 else [])) for number in range(count)]
    finally:
        for load in loads:
            load.kill()
            load.wait()
    return [f"start {number}: {error}" for number, error in enumerate(results) if error]


def main() -> int:
    parser = argparse.ArgumentParser(description="Start the server many times.")
    parser.add_argument("--count", type=int, default=200, help="number of starts (default: %(default)s)")
    parser.add_argument("--busy", type=int, default=2, help="number of processes that keep the processors busy (default: %(default)s)")
    parser.add_argument("--program", type=Path, default=ROOT / ".venv" / "bin" / "getaway", help="the program `getaway`")
    options = parser.parse_args()
    errors = run(options.program.absolute(), options.count, options.busy)
    print(*errors, f"{options.count - len(errors)} of {options.count} starts succeeded", sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
