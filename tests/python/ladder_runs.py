"""Long runs of `getaway ladder`:

    .venv/bin/python tests/python/ladder_runs.py order --kills 10
    .venv/bin/python tests/python/ladder_runs.py disk --rounds 3
    .venv/bin/python tests/python/ladder_runs.py growth --games 3000

`order` kills a ladder of 29 entrants `--kills` times. The final places, states and results must
equal those of a ladder that was never killed. Then `order` adds one entrant and retires another.
Kendall's tau of the ladder's ratings and those of a tournament with at least ten times as many
games must be at least 0.95. `disk` fills the disk of a ladder (a tmpfs; needs root). The ladder
must wait until space is free. `growth` plays ladders of different lengths. Files and peak memory
must grow at most linearly with the number of games, with a tolerance of 15%.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WAIT_S = 120
TIMEOUT_S = 3600
ENTRANTS = ["random", "safest", "sampling", "lookahead:4", "quits=pipe:exit 1"]
ONE_THREAD = ["--threads", "1"]
OPTIONS = ["--map", "snail", "--map", "corner-shop", "--budget-ticks", "20", "--samples", "60", *ONE_THREAD]
PLANNERS = ["survival", "cautious", "show-off", "uct", "uct-greedy", "nested", "sampling", "nrpa", "anneal"]
PLANNERS += ["paranoid", "safest", "random"]
NAMED = {
    "shallow": "lookahead:1",
    "deep": "lookahead:2",
    "greedy": "simulate(greedy)",
    "short": "simulate(random, 20)",
    "steps": "step(simulate)",
    "short-steps": "step(simulate(random, 40))",
    "repeats": "step(repeat(4, simulate(greedy)))",
    "looks": "step(lookahead(simulate(greedy)))",
    "selects": "select(0.3, simulate(greedy))",
    "beam": "beam(2, simulate)",
}
TURNER = r"""BEGIN { $| = 1 } /"tick":(\d+)/; $turn = qw(UP RIGHT DOWN LEFT)[$1 / 7 % 4];
print qq({"type":"COMMAND","tick":$1,"actions":[{"type":"MOVE_$turn"}]}\n)"""
WALKERS = {
    "python": f"{sys.executable} examples/bots/walker.py",
    "javascript": "node examples/bots/walker.mjs",
    "perl": f"perl -ne {shlex.quote(TURNER)}",
}
MISBEHAVING = {
    "crashes": f"{sys.executable} tests/python/misbehaving_bot.py crash",
    "quits": "exit 1",
    "garbage": "while read -r message; do echo hello; done",
    "killed": "read -r message; kill -9 $$",
    "missing": "tests/python/no_such_bot",
}
"""These bots fail in every game."""
# With a new process per game (`--restart`), a bot's games do not depend on its earlier games.
ORDER = ["--budget-ticks", "25", "--no-jump", "--tick-ms", "5000", "--restart"]
GAMES_FACTOR = 10
TAU_MIN = 0.95
LINEAR = 1.15
"""If the number of games doubles, files and memory may grow at most by a factor of `2 * LINEAR`."""


@dataclass(frozen=True)
class League:
    program: Path
    folder: Path
    settings: list[str]

    def command(self, *options: str) -> list[str]:
        return [str(self.program), "ladder", str(self.folder), *self.settings, *options]

    def play(self, *options: str) -> dict[str, Any]:
        done = subprocess.run(self.command("--json", *options), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def start(self, *options: str, errors: int | IO[str] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command(*options), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors)

    def journal(self) -> bytes:
        journal = self.folder / "ladder.jsonl"
        return journal.read_bytes().rpartition(b"\n")[0] if journal.exists() else b""

    def games(self) -> int:
        return self.journal().count(b'"moves"')


def adding(entrants: Iterable[str]) -> list[str]:
    return [word for entrant in entrants for word in ("--add", entrant)]


def untimed(standing: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("place", "name", "state", "wins", "ties", "losses", "games", "failed", "score_mean", "next")
    return [{name: row.get(name) for name in names} for row in standing["entrants"]]


def run_order(program: Path, kills: int) -> list[str]:
    planners = [*PLANNERS, *(f"{name}={text}" for name, text in NAMED.items())]
    bots = {**WALKERS, **MISBEHAVING}
    entrants = [*planners, *(f"{name}=pipe:{command}" for name, command in bots.items())]
    assert len(entrants) == 30, len(entrants)
    late, retired = "sampling", "greedy"
    with tempfile.TemporaryDirectory() as name:
        whole, killed = (League(program, Path(name) / folder, [*ORDER, "--samples", "12", *ONE_THREAD]) for folder in ("whole", "killed"))
        first = [entrant for entrant in entrants if entrant != late]
        expected = whole.play(*adding(first))
        lines = kill(killed, first, expected["games"], kills)
        assert untimed(killed.play()) == untimed(expected), "the standing differs from that of an uninterrupted ladder"
        lines.append(f"killed {kills} times, the ladder ends with the standing of an uninterrupted ladder of {expected['games']} games")
        found = change(killed, late, retired)
        lines += compare(program, Path(name) / "tournament.jsonl", entrants, found)
    return lines


def kill(league: League, entrants: list[str], games: int, kills: int) -> list[str]:
    """Starts and kills a ladder `kills` times, after about equal numbers of games; returns one
    line per kill."""
    lines = []
    for number in range(1, kills + 1):
        process = league.start(*(adding(entrants) if number == 1 else []))
        wait_for_games(league, process, number * games // (kills + 1))
        before = league.journal()
        process.kill()
        process.wait()
        assert league.journal().startswith(before), "a kill loses games"
        lines.append(f"kill {number}: {league.games()} of {games} games")
    return lines


def wait_for_games(league: League, process: subprocess.Popen[bytes], games: int) -> None:
    wait_until(f"{games} games", lambda: league.games() >= games or process.poll() is not None, timeout_s=TIMEOUT_S)


def change(league: League, late: str, retired: str) -> dict[str, Any]:
    """Adds an entrant and retires another while the ladder runs; returns the final standing."""
    games, page = league.games(), league.folder / "index.html"
    process = league.start("--minutes", "60")
    try:
        wait_until("the ladder runs", lambda: '"is_running":true' in page.read_text())
        subprocess.run(league.command("--add", late), cwd=ROOT, check=True, capture_output=True, timeout=WAIT_S)
        wait_for_games(league, process, games + 5)
        subprocess.run(league.command("--retire", retired), cwd=ROOT, check=True, capture_output=True, timeout=WAIT_S)
        wait_until("the retirement", lambda: b'{"retire":' in league.journal())
        assert process.poll() is None, "the ladder ended early"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=WAIT_S)
    return league.play()


def compare(program: Path, file: Path, entrants: list[str], found: dict[str, Any]) -> list[str]:
    rows = {row["name"]: row for row in found["entrants"] if row["state"] != "retired"}
    playing = [name for name, row in rows.items() if row["state"] == "active"]
    command = [str(program), "tournament", *entrants, *ORDER, "--seed", "1", "--resume", str(file), "--allow-failures", "--json"]

    def tournament(samples: int) -> dict[str, Any]:
        """Plays the tournament with this many samples. Games are kept in `file` for later calls."""
        done = subprocess.run([*command, "--samples", str(samples)], cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def width(standing: Iterable[dict[str, Any]]) -> float:
        ratings = [row["rating"] for row in standing if name_of(row) in playing]
        widths: list[float] = [rating["high"] - rating["low"] for rating in ratings]
        return sum(widths) / len(widths)

    games_per_sample = tournament(1)["games"]
    samples = -(-GAMES_FACTOR * found["games"] // games_per_sample)
    whole = tournament(samples)
    ratings = {name_of(row): row["rating"]["estimate"] for row in whole["standing"]}
    tau = kendall_tau([(row["rating"]["estimate"], ratings[name]) for name, row in rows.items()])
    narrow = width(found["entrants"])
    equal = next((count for count in range(1, samples) if width(tournament(count)["standing"]) <= narrow), samples)
    lines = [
        f"ladder: {found['games']} games, mean width of the 95% intervals {narrow:.1f}",
        f"tournament: {whole['games']} games, mean width {width(whole['standing']):.1f}; Kendall's tau {tau:.3f}",
        f"the tournament reaches the ladder's mean width, or ends, after {equal * games_per_sample} games, {equal * games_per_sample / found['games']:.2f} times as many as the ladder",
    ]
    assert tau >= TAU_MIN, "\n".join(lines)
    return lines


def name_of(row: dict[str, Any]) -> str:
    return str(row.get("name") or row["planner"])


def kendall_tau(pairs: list[tuple[float, float]]) -> float:
    """Returns Kendall's tau-b (*The Treatment of Ties in Ranking Problems*, 1945) of pairs of Elo
    ratings. Ratings that round to the same whole number are ties."""

    def order(one: float, other: float) -> int:
        return (round(one) > round(other)) - (round(one) < round(other))

    orders = [(order(a, c), order(b, d)) for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    untied = [sum(order[side] != 0 for order in orders) for side in (0, 1)]
    agreement: int = sum(left * right for left, right in orders)
    return agreement / math.sqrt(untied[0] * untied[1])


@contextlib.contextmanager
def small_disk(folder: Path, size_kb: int) -> Iterator[None]:
    if os.geteuid() != 0:
        sys.exit("error: mounting a tmpfs needs root")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def run_disk(program: Path, rounds: int) -> list[str]:
    """Plays a ladder on each of `rounds` disks that are too small for it; returns one line per
    disk."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        uninterrupted = League(program, Path(name) / "whole", OPTIONS)
        whole = untimed(uninterrupted.play(*adding(ENTRANTS)))
        whole_kb = sum(file.stat().st_blocks for file in uninterrupted.folder.rglob("*")) // 2
        for number in range(1, rounds + 1):
            disk = Path(name) / f"disk-{number}"
            disk.mkdir()
            with small_disk(disk, size_kb=whole_kb * number // (2 * rounds + 1)):
                lines.append(f"round {number}: {fill(League(program, disk / 'league', OPTIONS), whole)}")
    return lines


def fill(league: League, whole: list[dict[str, Any]]) -> str:
    disk = league.folder.parent
    log = disk.parent / f"{disk.name}.log"
    with open(log, "w") as errors:
        process = league.start("--minutes", "10", *adding(ENTRANTS), errors=errors)
        try:
            wait_until("the disk is full", lambda: "waits until it can write" in log.read_text())
            full = league.games()
            time.sleep(2)
            assert league.games() == full and process.poll() is None, log.read_text()
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            # The ladder must write more games than the one that waited.
            wait_until("the ladder goes on", lambda: league.games() > full + 1)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=WAIT_S)
    assert untimed(league.play()) == whole, "the standing differs from that of an uninterrupted run"
    games, pages = league.games(), len(list((league.folder / "games").glob("*.js")))
    assert pages == games, f"{pages} pages for {games} games"
    return f"disk full after {full} of {games} games; the same standing as without interruption"


def run_growth(program: Path, count: int) -> list[str]:
    """Plays ladders with a quarter, half and all of `count` games; returns one line per ladder."""
    lines, sizes = [], []
    for share in (4, 2, 1):
        with tempfile.TemporaryDirectory() as name:
            # Both entrants play the same games: all results are ties, so no pair is decided early.
            options = ["--map", "snail", "--budget-ticks", "1", "--samples", str(count // share // 2)]
            league = League(program, Path(name) / "league", options)
            process = league.start(*adding(["one=random", "other=random"]))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            files = sum(file.stat().st_size for file in league.folder.rglob("*") if file.is_file())
            played, journal = league.games(), (league.folder / "ladder.jsonl").stat().st_size
            sizes.append((played, files, usage.ru_maxrss * 1024))
            lines.append(
                f"{played} games: journal {journal / 1e6:.2f} MB, all files {files / 1e6:.2f} MB, "
                f"peak memory {usage.ru_maxrss / 1024:.1f} MiB, {usage.ru_utime:.1f} s of user time"
            )
    for (few, *small), (many, *large) in zip(sizes, sizes[1:]):
        for before, after in zip(small, large):
            assert after <= LINEAR * before * many / few, "\n".join(["more than linear:", *lines])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Long runs of ladders.")
    parser.add_argument("run", choices=["order", "disk", "growth"])
    parser.add_argument("--kills", type=int, default=10, help="number of times to kill the ladder of 29 entrants")
    parser.add_argument("--rounds", type=int, default=3, help="number of disks to fill")
    parser.add_argument("--games", type=int, default=3000, help="number of games of the longest ladder")
    parser.add_argument("--program", type=Path, default=TARGET / "release" / "getaway")
    options = parser.parse_args()
    program = options.program.resolve()
    if options.run == "order":
        lines = run_order(program, options.kills)
    elif options.run == "disk":
        lines = run_disk(program, options.rounds)
    else:
        lines = run_growth(program, options.games)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
