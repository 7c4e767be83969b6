"""Long runs of `getaway ladder`. The test suite has short versions of its kills.

    .venv/bin/python tests/python/ladder_runs.py disk --rounds 3
    .venv/bin/python tests/python/ladder_runs.py growth --games 3000

- `disk` plays a ladder on a file system of its own that becomes full. The ladder must wait, go on
  once there is room, and end with the standing of an undisturbed run. Mounts a tmpfs, which needs
  root.
- `growth` measures files and peak memory of a ladder of random bots after a quarter, half and all
  of the games. Both must grow at most linearly.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WAIT_S = 120
ENTRANTS = ["random", "safest", "sampling", "lookahead:4", "quits=pipe:exit 1"]
OPTIONS = ["--map", "snail", "--map", "corner-shop", "--budget-ticks", "20", "--samples", "60", "--threads", "1"]
LINEAR = 1.15
"""A doubled number of games may multiply a size by twice this."""


def ladder(program: Path, folder: Path, *options: str) -> list[str]:
    return [str(program), "ladder", str(folder), *OPTIONS, *options]


def adding(entrants: list[str]) -> list[str]:
    return [word for entrant in entrants for word in ("--add", entrant)]


def standing(program: Path, folder: Path, *options: str) -> list[dict[str, Any]]:
    """Plays to the end; returns the rows without times."""
    command = ladder(program, folder, "--json", *options)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    untimed = ("place", "name", "state", "wins", "ties", "losses", "games", "failed", "score_mean", "next")
    return [{name: row.get(name) for name in untimed} for row in json.loads(done.stdout)["entrants"]]


def games(folder: Path) -> int:
    """Number of complete games in the journal."""
    journal = folder / "ladder.jsonl"
    return journal.read_bytes().count(b'"moves"') if journal.exists() else 0


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
    """Fills the disk of a ladder at `rounds` sizes; returns one line per round."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        whole = standing(program, Path(name) / "whole", *adding(ENTRANTS))
        whole_kb = sum(file.stat().st_blocks for file in (Path(name) / "whole").rglob("*")) // 2
        for number in range(1, rounds + 1):
            disk = Path(name) / f"disk-{number}"
            disk.mkdir()
            with small_disk(disk, size_kb=whole_kb * number // (2 * rounds + 1)):
                lines.append(f"round {number}: {fill(program, disk, whole)}")
    return lines


def fill(program: Path, disk: Path, whole: list[dict[str, Any]]) -> str:
    folder, log = disk / "league", disk.parent / f"{disk.name}.log"
    with open(log, "w") as errors:
        command = ladder(program, folder, "--minutes", "10", *adding(ENTRANTS))
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            wait("the disk is full", lambda: "waits until this can be written" in log.read_text())
            full = games(folder)
            time.sleep(2)
            assert games(folder) == full and process.poll() is None, log.read_text()
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            wait("the ladder goes on", lambda: games(folder) > full)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=WAIT_S)
    assert standing(program, folder) == whole, "different from an undisturbed run"
    pages = len(list((folder / "games").glob("*.js")))
    assert pages == games(folder), f"{pages} pages of {games(folder)} games"
    return f"full after {full} of {games(folder)} games; the same result as an undisturbed run"


def wait(what: str, condition: Any) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"not within {WAIT_S} s: {what}"
        time.sleep(0.02)


def run_growth(program: Path, count: int) -> list[str]:
    """Plays ladders of a quarter, half and all of the games; returns one line per ladder."""
    lines, sizes = [], []
    for share in (4, 2, 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "league"
            # Two random players on one map are never decided, so all games are played.
            options = ["--map", "snail", "--budget-ticks", "1", "--samples", str(count // share // 2)]
            command = [str(program), "ladder", str(folder), *options, "--add", "one=random", "--add", "other=random"]
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            files = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            played, journal = games(folder), (folder / "ladder.jsonl").stat().st_size
            sizes.append((played, files, usage.ru_maxrss * 1024))
            lines.append(
                f"{played} games: journal {journal / 1e6:.2f} MB, all files {files / 1e6:.2f} MB, "
                f"peak memory {usage.ru_maxrss / 1024:.1f} MB, {usage.ru_utime:.1f} s of processor time"
            )
    for (few, *small), (many, *large) in zip(sizes, sizes[1:]):
        for before, after in zip(small, large):
            assert after <= LINEAR * before * many / few, "\n".join(["more than linear:", *lines])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Long runs of ladders.")
    parser.add_argument("run", choices=["disk", "growth"])
    parser.add_argument("--rounds", type=int, default=3, help="full disks")
    parser.add_argument("--games", type=int, default=3000, help="games of the largest ladder")
    parser.add_argument("--program", type=Path, default=TARGET / "debug" / "getaway")
    options = parser.parse_args()
    program = options.program.resolve()
    lines = run_disk(program, options.rounds) if options.run == "disk" else run_growth(program, options.games)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
