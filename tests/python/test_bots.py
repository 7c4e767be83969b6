"""The bots in `examples/bots/` play over a websocket and over standard input and output, and play alike."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, TIMEOUT_S, clean_environment

BOTS = ROOT / "examples" / "bots"
# Generous: the machine may be busy, and a late command would change the game.
OPTIONS = ["snail", "--samples", "1", "--tick-ms", "5000", "--threads", "2", "--json"]


def node() -> str:
    """Node with a websocket, which it has from version 22 on."""
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


def test_bots_in_python_and_javascript_walk_alike(getaway_program: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    result = battle(getaway_program, f"pipe:{sys.executable} {BOTS / 'walker.py'}", f"pipe:node {BOTS / 'walker.mjs'}")
    assert result["overall"]["ties"] == 1, result
