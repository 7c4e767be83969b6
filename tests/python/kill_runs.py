"""Kills the bot or the server at random moments. Each recording must verify up to its last complete
line and may lack only the latest ticks. A killed server must not crash the bot, and a killed bot
must not stop the server. Run `.venv/bin/python tests/python/kill_runs.py --count 50 --seed 1`."""

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
from typing import Any

from waiting import TIMEOUT_S, wait_until

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LAST_KILL_TICK = 1500
MAX_UNWRITTEN_TICKS = 250
"""A killed server may have played up to this many ticks that it had not yet written to disk."""

Process = subprocess.Popen[str]


def start_server(program: Path, recording: Path) -> tuple[str, Process]:
    """Starts a server that plays one game after another. Returns its URL and its process."""
    command = [str(program), "serve", str(ROOT / "maps" / "roundabout"), "--port", "0", "--json"]
    # The time limit per tick is generous, because the bot may be slow on a busy machine.
    command += ["--tick-ms", str(TIMEOUT_S * 1000)]
    process = subprocess.Popen([*command, "--record", str(recording)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    address = re.search(r"ws://[\d.:]+", line)
    assert address, line
    return address.group(), process


def start_bot(url: str, recording: Path, team: str) -> Process:
    environment = {**os.environ, "SAVE_JSONL_PATH": str(recording)}
    command = [sys.executable, "application.py", "--url", url, "--team-name", team]
    return subprocess.Popen(command, cwd=ROOT / "bot", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def verified_ticks(program: Path, recording: Path) -> int:
    """Verifies a recording and returns its number of ticks, or 0 if the file is missing or has no
    complete line."""
    if not recording.exists():
        return 0
    done = subprocess.run([program, "replay", "--json", recording], capture_output=True, text=True, timeout=TIMEOUT_S)
    report = json.loads(done.stdout)
    if report["error"]:
        assert report["error"].endswith("no valid line: expected one {\"game_message\": ..., \"actions\": [...]} per tick"), report
        return 0
    assert done.returncode == 0 and report["divergence"] is None, report
    ticks = report["ticks"]
    assert isinstance(ticks, int)
    return ticks


def wait_for_random_moment(recording: Path, rng: random.Random) -> None:
    """Waits until the recording has a random number of ticks or, in one of ten cases, for a random
    time that is too short for a whole game."""
    if rng.random() < 0.9:
        tick = rng.randrange(LAST_KILL_TICK)
        wait_until(f"tick {tick}", lambda: recording.exists() and recording.read_bytes().count(b"\n") > tick, pause_s=0.01)
    else:
        time.sleep(rng.uniform(0, 0.5))


def start_game(program: Path, folder: Path, rng: random.Random) -> tuple[Path, Path, str, Process, Process]:
    """Starts a server and a bot, and waits until a random moment before or during the game. Returns
    the server's recording, the bot's recording, the URL, the server and the bot."""
    server_recording, bot_recording = folder / rng.choice(["server.jsonl", "server.jsonl.gz"]), folder / "bot.jsonl"
    url, server = start_server(program, server_recording)
    bot = start_bot(url, bot_recording, "killed")
    wait_for_random_moment(bot_recording, rng)
    return server_recording, bot_recording, url, server, bot


def kill_server(program: Path, folder: Path, rng: random.Random) -> str:
    """Kills the server. The bot must exit, and must have recorded every state that it received."""
    server_recording, bot_recording, _, server, bot = start_game(program, folder, rng)
    server.kill()
    server.communicate()
    output, log = bot.communicate(timeout=TIMEOUT_S)
    assert bot.returncode in (0, 1) and "Traceback" not in log, log
    last = re.search(r"last tick (\d+)", output)
    seen = int(last.group(1)) if last else 0
    recorded, verified = verified_ticks(program, server_recording), verified_ticks(program, bot_recording)
    assert verified == seen, f"the bot saw {seen} ticks and recorded {verified}"
    assert recorded >= seen - MAX_UNWRITTEN_TICKS, f"the bot saw {seen} ticks, the server recorded {recorded}"
    return f"server killed after tick {seen}: {recorded} ticks in {server_recording.name}, {verified} in {bot_recording.name}"


def kill_bot(program: Path, folder: Path, rng: random.Random) -> str:
    """Kills the bot. The server must finish the bot's game, if it has begun, and then play a game
    with a new bot."""
    server_recording, bot_recording, url, server, bot = start_game(program, folder, rng)
    bot.kill()
    bot.communicate()
    again = start_bot(url, folder / "again.jsonl", "again")
    results: list[dict[str, Any]] = []
    try:
        output, log = again.communicate(timeout=TIMEOUT_S)
        assert output.startswith("score 10005, last tick 2000"), output + log
        while not results or results[-1]["team"] != "again":
            results.append(json.loads(server.stdout.readline()))  # type: ignore[union-attr]
    finally:
        server.terminate()
        server.communicate()
    verified = verified_ticks(program, bot_recording)
    if len(results) < 2:
        assert verified == 0, "the bot recorded ticks, but the server reports no game with it"
        return "bot killed before it had registered"
    killed_game, next_game = results
    disconnect_tick = (killed_game["left"] or killed_game)["tick"]
    recorded = verified_ticks(program, server_recording)
    assert disconnect_tick - 2 <= verified <= disconnect_tick, f"the bot was sent {disconnect_tick} ticks and recorded {verified}"
    assert killed_game["tick"] - 1 <= recorded <= killed_game["tick"], f"the game had {killed_game['tick']} ticks, the server recorded {recorded}"
    assert next_game["score"] == 10_005
    return f"bot killed at tick {disconnect_tick}: {verified} ticks in {bot_recording.name}, {recorded} of {killed_game['tick']} in {server_recording.name}, and the new bot survived"


def run(program: Path, seed: int, count: int) -> list[str]:
    """Kills the server for odd seeds and the bot for even seeds. Returns one report per kill."""
    reports = []
    for number in range(seed, seed + count):
        rng = random.Random(number)
        with tempfile.TemporaryDirectory() as folder:
            kill = kill_server if number % 2 else kill_bot
            reports.append(kill(program, Path(folder), rng))
    return reports


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill the bot or the server at random moments, and check what they recorded.")
    parser.add_argument("--count", type=int, default=50, help="number of kills")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first kill")
    parser.add_argument("--program", type=Path, default=TARGET / "release" / "getaway", help="path of the `getaway` program")
    options = parser.parse_args()
    for number in range(options.seed, options.seed + options.count):
        print(f"{number}: {run(options.program, number, 1)[0]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
