"""Fixtures and helpers that the Python tests share."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from websockets.sync.server import ServerConnection, serve

from waiting import TIMEOUT_S as TIMEOUT_S

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MAPS = ROOT / "maps"

Script = Callable[[ServerConnection], None]
RealServer = Callable[..., tuple[str, "subprocess.Popen[str]"]]

# A non-interactive shell starts background processes with Ctrl-C ignored. Restore the default.
signal.signal(signal.SIGINT, signal.default_int_handler)

# pytest-xdist and readline set the width of the terminal, to which the program would wrap what it prints.
# `os.environ` does not show what readline has set, and removes only what it shows.
os.environ["COLUMNS"] = ""
del os.environ["COLUMNS"]


@pytest.fixture(scope="session")
def getaway_program() -> Path:
    """The `getaway` program: the path in `GETAWAY_PROGRAM`, or the release build in `TARGET`."""
    program = Path(os.environ.get("GETAWAY_PROGRAM", TARGET / "release" / "getaway"))
    assert program.is_file(), f"{program}: not found: run `cargo build --release`, or set GETAWAY_PROGRAM"
    return program


@pytest.fixture
def real_server(getaway_program: Path) -> Iterator[RealServer]:
    """Yields a function that starts `getaway serve` for one game, which waits for late commands. The
    function returns the server's URL and process."""
    processes: list[subprocess.Popen[str]] = []

    def start(*options: str) -> tuple[str, subprocess.Popen[str]]:
        command = [str(getaway_program), "serve", "--port", "0", "--games", "1", "--json", "--tick-ms", "3600000", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stderr is not None
        line = process.stderr.readline()
        address = re.search(r"ws://[\d.:]+", line)
        assert address, line
        return address.group(), process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def scripted_server() -> Iterator[Callable[[Script], str]]:
    """Yields a function that starts a server and returns its URL. The server runs the given script
    on each connection. Errors in the script fail the test."""
    errors: list[BaseException] = []
    servers = []

    def start(script: Script) -> str:
        def handle(connection: ServerConnection) -> None:
            try:
                script(connection)
            except BaseException as error:
                errors.append(error)
                raise

        server = serve(handle, "127.0.0.1", 0, compression=None)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host, port = server.socket.getsockname()
        return f"ws://{host}:{port}"

    yield start
    for server in servers:
        server.shutdown()
    for error in errors:
        raise error


def unused_port() -> int:
    """Returns a port that refuses connections. Systems pick the ports of other sockets from higher
    numbers, so no other test gets this port."""
    for port in range(20_000 + os.getpid() % 10_000, 32_768):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no unused port")


def clean_environment() -> dict[str, str]:
    """Returns the environment without three variables that affect the bot or the program."""
    return {name: value for name, value in os.environ.items() if name not in ("TOKEN", "SAVE_JSONL_PATH", "CLICOLOR_FORCE")}


@pytest.fixture
def run_bot() -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(url: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "application.py", "--url", url, *options]
        return subprocess.run(
            command, cwd=ROOT / "bot", env=clean_environment() | environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )

    return run


def read_command(connection: ServerConnection, tick: int) -> list[object]:
    command = json.loads(connection.recv(timeout=TIMEOUT_S))
    assert command["type"] == "COMMAND"
    assert command["tick"] == tick
    assert set(command) == {"type", "tick", "actions"}
    actions = command["actions"]
    assert isinstance(actions, list)
    return actions


def build_site(source: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = clean_environment() | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
