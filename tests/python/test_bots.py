"""Bots over `exec:` and `pipe:`. Hostile bots get no extra time and leave no process behind."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tournament_runs
from conftest import ROOT, TIMEOUT_S, clean_environment

BOTS = ROOT / "examples" / "bots"
# The time limit is generous, because a late command on a busy machine would change the game.
OPTIONS = ["--map", "snail", "--samples", "1", "--tick-ms", "5000", "--threads", "2", "--json"]


def node() -> str:
    """Returns the path of Node.js 22 or later (for websockets); skips the test if it is missing."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"v(\d+)", version)
    if found is None or int(found.group(1)) < 22:
        pytest.skip(f"node {version.strip()} has no websocket: expected 22 or newer")
    return program


def battle(program: Path, left: str, right: str) -> dict[str, Any]:
    command = [str(program), "battle", left, right, *OPTIONS]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("name", ["walker.py", "walker.mjs"])
def test_bot_plays_the_same_game_both_ways(name: str, getaway_program: Path) -> None:
    command = f"{sys.executable if name.endswith('.py') else node()} {BOTS / name}"
    result = battle(getaway_program, f"exec:{command}", f"pipe:{command}")
    for bot in result["external"]:
        assert (bot["crashed"], bot["silent"], bot["garbage"], bot["missed_ticks"]) == (0, 0, 0, 0), bot
    assert result["overall"]["ties"] == 1 and result["overall"]["score_difference_mean"] == 0, result


PAGE_BEFORE_THE_BOT = """
import os, runpy, sys
from websockets.exceptions import InvalidHandshake
from websockets.sync.client import connect

for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
    try:
        connect(os.environ["SERVER_URL"], origin=origin)
    except (InvalidHandshake, OSError):
        # The server may close the connection before the client has received the refusal.
        pass
    else:
        sys.exit("a page was taken for the bot")
runpy.run_path(sys.argv[1])
"""


def test_web_page_cannot_play_in_place_of_a_bot(getaway_program: Path, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(PAGE_BEFORE_THE_BOT)
    walker = f"{sys.executable} {BOTS / 'walker.py'}"
    result = battle(getaway_program, f"exec:{sys.executable} {tmp_path / 'page.py'} {BOTS / 'walker.py'}", f"pipe:{walker}")
    assert [bot["crashed"] for bot in result["external"]] == [0, 0], result["external"]
    assert result["overall"]["ties"] == 1, result


def test_bots_in_python_and_javascript_play_the_same_game(getaway_program: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    result = battle(getaway_program, f"pipe:{sys.executable} {BOTS / 'walker.py'}", f"pipe:node {BOTS / 'walker.mjs'}")
    assert result["overall"]["ties"] == 1, result


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the test reads /proc")
class TestHostileBots:
    def test_no_answer_that_drips_in_counts_after_its_limit(self, getaway_program: Path) -> None:
        assert len(tournament_runs.run_drips(getaway_program, count=80, tick_ms=100)) == 2

    @pytest.mark.parametrize("bot", ["exec trickle", "exec greet", "exec flood", "exec deaf", "pipe flood", "pipe hop"])
    def test_ctrl_c_ends_every_bot(self, getaway_program: Path, bot: str) -> None:
        # With this time per tick, the series would not end by itself before the test fails.
        tournament_runs.run_stop(getaway_program, *bot.split(), count=1, seed=1, tick_ms=60_000)

    def test_detached_processes_end(self, getaway_program: Path) -> None:
        lines = tournament_runs.run_strays(getaway_program, count=28, kills=3, seed=1)
        assert len(lines) == 2
