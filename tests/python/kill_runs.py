"""Kills the bot or the server, with the signal that cannot be caught, at random moments of games, and reads what they recorded.

`.venv/bin/python tests/python/kill_runs.py --count 50 --seed 1`; the tests do a few. The promise: whatever is left is a recording that
verifies up to its last whole line, no more than the last moment is missing, and the other side finishes as if nothing had happened.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PATIENCE_S = 120
GAME_S = 4.0
"""About how long a game takes with its pauses."""
DELAY_MS = 2
LATEST_KILL_S = 0.9 * GAME_S
LINES_IN_FLIGHT = 50
"""Ticks at most that may have been played and not yet be on the server's disk: a writer that is told in time what to write."""

Process = subprocess.Popen[str]


def start_server(program: Path, recording: Path) -> tuple[str, Process]:
    """A server of one map that goes on after a game; its output is a JSON result a line."""
    command = [str(program), "serve", str(ROOT / "maps" / "roundabout"), "--port", "0", "--json"]
    # On a busy machine a bot may take its time; a killed one is not waited for.
    command += ["--delay-ms", str(DELAY_MS), "--tick-ms", str(PATIENCE_S * 1000)]
    process = subprocess.Popen([*command, "--record", str(recording)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    address = re.search(r"ws://[\d.:]+", line)
    assert address, line
    return address.group(), process


def start_bot(url: str, recording: Path) -> Process:
    """The bot as it is run on the day."""
    environment = {**os.environ, "SAVE_JSONL_PATH": str(recording)}
    command = [sys.executable, "application.py", "--url", url]
    return subprocess.Popen(command, cwd=ROOT / "bot", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def verified_ticks(program: Path, recording: Path) -> int:
    """The ticks of a recording, all of them verified; 0 when nothing was written yet."""
    if not recording.exists():
        return 0
    done = subprocess.run([program, "replay", "--json", recording], capture_output=True, text=True, timeout=PATIENCE_S)
    report = json.loads(done.stdout)
    if report["error"]:
        assert report["error"].endswith("no whole line, expected one a tick of {\"game_message\": ..., \"actions\": [...]}"), report
        return 0
    assert done.returncode == 0 and report["divergence"] is None, report
    ticks = report["ticks"]
    assert isinstance(ticks, int)
    return ticks


def wait_for_a_moment(recording: Path, dice: random.Random) -> None:
    """Most moments are in the middle of a game, some before it has begun."""
    deadline = time.monotonic() + PATIENCE_S
    if dice.random() < 0.9:
        while not (recording.exists() and recording.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(dice.uniform(0, LATEST_KILL_S))
    else:
        time.sleep(dice.uniform(0, 0.5))


def play_for_a_while(program: Path, folder: Path, dice: random.Random) -> tuple[Path, Path, str, Process, Process]:
    """A game that is under way, or about to be: the server's recording and the bot's, the address, the server and the bot."""
    theirs, ours = folder / dice.choice(["server.jsonl", "server.jsonl.gz"]), folder / "bot.jsonl"
    url, server = start_server(program, theirs)
    bot = start_bot(url, ours)
    wait_for_a_moment(ours, dice)
    return theirs, ours, url, server, bot


def kill_server(program: Path, folder: Path, dice: random.Random) -> str:
    """The server is killed: the bot ends by itself, with everything that it saw on the disk."""
    theirs, ours, _, server, bot = play_for_a_while(program, folder, dice)
    server.kill()
    server.communicate()
    output, log = bot.communicate(timeout=PATIENCE_S)
    assert bot.returncode in (0, 1) and "Traceback" not in log, log
    last = re.search(r"last tick (\d+)", output)
    seen = int(last.group(1)) if last else 0
    recorded, verified = verified_ticks(program, theirs), verified_ticks(program, ours)
    assert verified == seen, f"the bot saw {seen} ticks and recorded {verified}"
    assert recorded >= seen - LINES_IN_FLIGHT, f"the bot saw {seen} ticks, the server recorded {recorded}"
    return f"server killed after tick {seen}: {recorded} ticks in {theirs.name}, {verified} in {ours.name}"


def kill_bot(program: Path, folder: Path, dice: random.Random) -> str:
    """The bot is killed: the server finishes the game without it, and plays the next one with the next bot."""
    theirs, ours, url, server, bot = play_for_a_while(program, folder, dice)
    bot.kill()
    bot.communicate()
    # The next one, while the server may still be finishing the game.
    again = start_bot(url, folder / "again.jsonl")
    try:
        output, log = again.communicate(timeout=PATIENCE_S)
        assert output.startswith("score 10005, last tick 2000"), output + log
        time.sleep(0.1)
    finally:
        server.terminate()
        results = [json.loads(line) for line in server.communicate()[0].splitlines()]
    verified = verified_ticks(program, ours)
    if len(results) < 2:
        assert verified == 0, "a game that was recorded was played"
        return "bot killed before it had registered"
    lost, won = results
    left = lost["left"]["tick"]
    recorded = verified_ticks(program, theirs)
    assert left - 2 <= verified <= left, f"the bot was sent {left} ticks and recorded {verified}"
    assert lost["tick"] - 1 <= recorded <= lost["tick"], f"a game of {lost['tick']} ticks, {recorded} recorded"
    assert won["score"] == 10_005
    return f"bot killed in tick {left}: {verified} ticks in {ours.name}, the whole game of {lost['tick']} in {theirs.name}, and the next game won"


def run(program: Path, seed: int, count: int) -> list[str]:
    """So many kills; what came of each. Every other one kills the server."""
    told = []
    for number in range(seed, seed + count):
        dice = random.Random(number)
        with tempfile.TemporaryDirectory() as folder:
            kill = kill_server if number % 2 else kill_bot
            told.append(kill(program, Path(folder), dice))
    return told


def main() -> int:
    """Reads the command line and runs."""
    parser = argparse.ArgumentParser(description="Kill the bot or the server at random moments and read what they recorded.")
    parser.add_argument("--count", type=int, default=50, help="how many kills")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first")
    parser.add_argument("--program", type=Path, default=TARGET / "debug" / "getaway", help="the program")
    options = parser.parse_args()
    for number in range(options.seed, options.seed + options.count):
        print(f"{number}: {run(options.program, number, 1)[0]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
