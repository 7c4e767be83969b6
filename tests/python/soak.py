"""Plays many games in a row in one process, and reports decision times and memory use. The soak
test is `.venv/bin/python tests/python/soak.py --games 500`. The load test for a machine with 2
cores uses `--games 20 --busy 2`. Both need the release build of `getaway`. The exit code is 1 if
any decision except the first of a game took longer than a tick, if a game ended early, or if the
final memory use or its growth exceeded a limit."""

from __future__ import annotations

import argparse
import bisect
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from kill_runs import ROOT, TARGET, Process

sys.path.insert(0, str(ROOT / "bot"))

import getaway  # noqa: E402
from client import Game, Summary, open_connection  # noqa: E402

TICK_S = 0.1
MEMORY_MAX_MB = 200
GROWTH_MAX_MB = 10
"""Maximum memory growth after the first tenth of the games, in which caches fill up."""
BOUNDS_MS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 75, 100)


def start_server(program: Path, options: argparse.Namespace, results: Path) -> tuple[str, Process]:
    """Starts a server that writes its results to a file; returns its URL and its process."""
    command = [str(program), "serve", "--port", "0", "--json", "--games", str(options.games), "--seed", str(options.seed)]
    command += ["--maps", str(options.maps)] if options.maps else []
    command += ["--no-jump"] if options.no_jump else []
    log = results.with_suffix(".log")
    with open(results, "w") as out, open(log, "w") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, text=True)
    while not (line := log.read_text()).endswith("\n"):
        if process.poll() is not None:
            sys.exit(f"the server exited: {line}")
        time.sleep(0.05)
    return line.split()[2], process


def keep_busy() -> Process:
    return subprocess.Popen([sys.executable, "-c", "while True: pass"], text=True)


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Histogram:
    """A histogram of decision times. Its memory use does not grow with the number of games."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_MS) + 1)
        self.longest_s = 0.0
        self.late = 0

    def add(self, times_s: list[float]) -> None:
        for time_s in times_s:
            self.counts[bisect.bisect_left(BOUNDS_MS, time_s * 1e3)] += 1
            self.late += time_s > TICK_S
        self.longest_s = max(self.longest_s, *times_s, 0.0)

    def __str__(self) -> str:
        """Returns one line per bin: the upper bound if there is one, the count, and a bar."""
        names = [f"up to {bound:g} ms" for bound in BOUNDS_MS] + ["longer"]
        peak = max(1, *self.counts)
        return "\n".join(f"{name:>13} {count:8} {'#' * (50 * count // peak)}" for name, count in zip(names, self.counts))


def play(url: str, bot: getaway.Bot) -> Summary:
    connection = open_connection(url)
    game = Game(connection, bot)
    try:
        game.play(None, "soak")
    finally:
        connection.close()
    return game.summary


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Play many games in a row.", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--busy", type=int, default=0, help="number of processes that load the machine")
    parser.add_argument("--planner", default="survival")
    parser.add_argument("--budget-ms", type=float, default=75.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--maps", type=Path, help="folder of maps to use in addition to the bundled ones")
    parser.add_argument("--no-jump", action="store_true")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    first, later = Histogram(), Histogram()
    memories_mb: list[float] = []
    with ExitStack() as stack:
        file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "results.jsonl"
        url, server = start_server(TARGET / "release/getaway", options, file)
        stack.callback(server.kill)
        for _ in range(options.busy):
            stack.callback(keep_busy().kill)
        bot = getaway.Bot(options.planner, budget_ms=options.budget_ms, seed=options.seed, no_jump=options.no_jump)
        for _ in range(options.games):
            summary = play(url, bot)
            first.add(summary.decision_times_s[:1])
            later.add(summary.decision_times_s[1:])
            memories_mb.append(memory_mb())
        server.wait(TICK_S * 100)
        results = [json.loads(line) for line in file.read_text().splitlines()]
    early = [f"{result['map']} at {result['tick']}" for result in results if result["score"] < 10_005]
    missed = sum(result["missed_ticks"] for result in results)
    baseline_mb = memories_mb[len(memories_mb) // 10]
    print(
        f"{options.games} games with {options.busy} load processes, {options.planner} at {options.budget_ms:g} ms; "
        f"ended early: {early or 'none'}"
    )
    print(f"first decisions: at most {first.longest_s * 1e3:.1f} ms; the other {sum(later.counts)} decisions:")
    print(later)
    print(f"longest {later.longest_s * 1e3:.1f} ms; {later.late} longer than a tick; {missed} ticks without a command in time")
    print(f"memory: {memories_mb[0]:.1f} MB after the first game, {baseline_mb:.1f} MB after a tenth of the games, {memories_mb[-1]:.1f} MB at the end")
    has_grown = memories_mb[-1] > MEMORY_MAX_MB or memories_mb[-1] - baseline_mb > GROWTH_MAX_MB
    return 1 if later.late or early or has_grown else 0


if __name__ == "__main__":
    sys.exit(main())
