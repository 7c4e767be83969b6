"""Kills the bot or the server with SIGKILL at random moments of a game, and checks what they recorded.

`.venv/bin/python tests/python/kill_runs.py --count 50 --seed 1`; the test suite runs a few. Checks: the recording that is left verifies up to its last complete line and lacks only the latest ticks, and the other side finishes as usual.
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
"""Approximate duration of a game, including the pauses."""
DELAY_MS = 2
LATEST_KILL_S = 0.9 * GAME_S
LINES_IN_FLIGHT = 50
"""Ticks that the server may have played but not yet written to disk."""

Process = subprocess.Popen[str]


def start_server(program: Path, recording: Path) -> tuple[str, Process]:
    """Starts a server of one map that keeps serving games; it prints one JSON result per line."""
    command = [str(program), "serve", str(ROOT / "maps" / "roundabout"), "--port", "0", "--json"]
    # On a busy machine a bot may be slow; the server does not wait for a bot that was killed.
    command += ["--delay-ms", str(DELAY_MS), "--tick-ms", str(PATIENCE_S * 1000)]
    process = subprocess.Popen([*command, "--record", str(recording)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    address = re.search(r"ws://[\d.:]+", line)
    assert address, line
    return address.group(), process


def start_bot(url: str, recording: Path) -> Process:
    """The bot as it runs in the competition."""
    environment = {**os.environ, "SAVE_JSONL_PATH": str(recording)}
    command = [sys.executable, "application.py", "--url", url]
    return subprocess.Popen(command, cwd=ROOT / "bot", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def verified_ticks(program: Path, recording: Path) -> int:
    """The number of ticks in a recording, after verifying them all; 0 if nothing has been written yet."""
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
    """Usually a moment in the middle of a game, sometimes one before it starts."""
    deadline = time.monotonic() + PATIENCE_S
    if dice.random() < 0.9:
        while not (recording.exists() and recording.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(dice.uniform(0, LATEST_KILL_S))
    else:
        time.sleep(dice.uniform(0, 0.5))


def play_for_a_while(program: Path, folder: Path, dice: random.Random) -> tuple[Path, Path, str, Process, Process]:
    """A game that is running or about to start: the server's recording, the bot's, the URL, the server and the bot."""
    theirs, ours = folder / dice.choice(["server.jsonl", "server.jsonl.gz"]), folder / "bot.jsonl"
    url, server = start_server(program, theirs)
    bot = start_bot(url, ours)
    wait_for_a_moment(ours, dice)
    return theirs, ours, url, server, bot


def kill_server(program: Path, folder: Path, dice: random.Random) -> str:
    """Kills the server: the bot must end by itself, with everything that it saw on disk."""
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
    """Kills the bot: the server must finish the game without it, and play the next game with the next bot."""
    theirs, ours, url, server, bot = play_for_a_while(program, folder, dice)
    bot.kill()
    bot.communicate()
    # The next bot connects while the server may still be finishing the game.
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
        assert verified == 0, "the bot recorded ticks, but the server reports no game"
        return "bot killed before it had registered"
    lost, won = results
    left = lost["left"]["tick"]
    recorded = verified_ticks(program, theirs)
    assert left - 2 <= verified <= left, f"the bot was sent {left} ticks and recorded {verified}"
    assert lost["tick"] - 1 <= recorded <= lost["tick"], f"a game of {lost['tick']} ticks, {recorded} recorded"
    assert won["score"] == 10_005
    return f"bot killed at tick {left}: {verified} ticks in {ours.name}, all {lost['tick']} in {theirs.name}, and the next game was won"


def run(program: Path, seed: int, count: int) -> list[str]:
    """Runs `count` kills and returns their reports. Odd numbers kill the server, even ones the bot."""
    told = []
    for number in range(seed, seed + count):
        dice = random.Random(number)
        with tempfile.TemporaryDirectory() as folder:
            kill = kill_server if number % 2 else kill_bot
            told.append(kill(program, Path(folder), dice))
    return told


def main() -> int:
    """Parses the command line and runs."""
    parser = argparse.ArgumentParser(description="Kill the bot or the server at random moments and read what they recorded.")
    parser.add_argument("--count", type=int, default=50, help="number of kills")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first kill")
    parser.add_argument("--program", type=Path, default=TARGET / "debug" / "getaway", help="the program")
    options = parser.parse_args()
    for number in range(options.seed, options.seed + options.count):
        print(f"{number}: {run(options.program, number, 1)[0]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
