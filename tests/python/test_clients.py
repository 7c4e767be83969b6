"""Clients that share no code with the project play whole games, if their runtime is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import ROOT, TARGET, TIMEOUT_S, RealServer

CLIENTS = ROOT / "tests" / "clients"
CACHE = TARGET / "clients"
MAP = "corner-shop"
WHOLE_GAME = {"ticks": 2000, "lastTick": 2000, "code": 1000}


@dataclass
class Client:
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def play(self, url: str, plan: str) -> dict[str, int]:
        command = [*self.command, url, plan]
        environment = os.environ | self.environment
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        result: dict[str, int] = json.loads(done.stdout)
        return result


def runtime(name: str) -> str:
    """Returns the path of a program; skips the test if the program is not installed."""
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    return program


def install(folder: Path, *command: str) -> None:
    """Runs a package manager in `folder`, unless it has already succeeded there."""
    stamp = folder / "installed"
    if stamp.is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    stamp.touch()


def node_ws() -> Client:
    node, npm = runtime("node"), runtime("npm")
    version = json.loads((CLIENTS / "package.json").read_text())["dependencies"]["ws"]
    folder = CACHE / f"ws-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(CLIENTS / name, folder)
    install(folder, npm, "ci", "--silent", "--no-audit", "--no-fund")
    return Client([node, str(CLIENTS / "client.mjs")], {"NODE_MODULES": str(folder)})


def python_websockets(version: str) -> Client:
    folder = CACHE / f"websockets-{version}"
    install(
        folder,
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--target", str(folder), f"websockets=={version}"),
    )
    return Client([sys.executable, "-W", "ignore", str(CLIENTS / "client.py")], {"PYTHONPATH": str(folder)})


def java() -> Client:
    # Java runs a source file only with a JDK. `javac` shows that one is installed.
    runtime("javac")
    return Client([runtime("java"), str(CLIENTS / "Client.java")])


MAKERS: dict[str, Callable[[], Client]] = {
    "node-ws": node_ws,
    "python-websockets-10.4": lambda: python_websockets("10.4"),
    "python-websockets-current": lambda: python_websockets("16.1.1"),
    "java-net-http": java,
}


@pytest.fixture(scope="module")
def plan(getaway_program: Path) -> str:
    """Returns moves, one per tick, with which the player survives the whole game on `MAP`."""
    command = [str(getaway_program), "solve", MAP, "--budget-ms", "60000", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    solution = json.loads(done.stdout)
    assert solution["outcome"] == "survives"
    actions: str = solution["actions"]
    assert len(actions) == 2000
    return actions


@pytest.mark.parametrize("name", MAKERS)
def test_foreign_client_plays_a_whole_game(name: str, real_server: RealServer, plan: str) -> None:
    client = MAKERS[name]()
    url, server = real_server(MAP)
    assert client.play(url, plan) == WHOLE_GAME
    assert server.stdout is not None
    result = json.loads(server.stdout.readline())
    expected = {"score": 10_005, "end": "complete", "commands": 2000, "missed_ticks": 0, "late_commands": 0, "left": None}
    assert {key: result[key] for key in expected} == expected
    assert result["invalid_commands"] == 0
