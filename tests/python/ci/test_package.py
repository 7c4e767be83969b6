"""`getaway package` writes a zip file, or prints an error that says what to fix in the bot."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT, TIMEOUT_S

WEBSOCKET = '''
"""A short websocket client that handles neither fragments nor payloads of 64 KiB or more."""
import base64, os, socket, struct

class Client:
    def __init__(self, url):
        host, port = url.removeprefix("ws://").rstrip("/").split(":")
        self.stream = socket.create_connection((host, int(port))).makefile("rwb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.write(f"GET / HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                   f"Sec-WebSocket-Key: {key}\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n".encode())
        while self.stream.readline() != b"\\r\\n":
            pass

    def write(self, data):
        self.stream.write(data)
        self.stream.flush()

    def send(self, text):
        data = text.encode()
        self.write(struct.pack("!BBH4s", 0x81, 0xfe, len(data), bytes(4)) + data)

    def __iter__(self):
        while (head := self.stream.read(2)) and head[0] == 0x81:
            size = head[1]
            if size == 126:
                size, = struct.unpack("!H", self.stream.read(2))
            yield self.stream.read(size).decode()
'''

BOT = """
import json, os, sys, time
from websocket_client import Client

server = Client(os.environ["SERVER_URL"])
server.send(json.dumps({"type": "REGISTER", "token": os.environ["TOKEN"]}))
for frame in server:
    tick = json.loads(frame)["tick"]
    server.send(json.dumps({"type": "COMMAND", "tick": tick, "actions": []}))
"""


def package(program: Path, folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [str(program.resolve()), "package", folder.name, "--port", "0", "--map", "snail", *options]
    environment = os.environ | {"PIP_NO_INDEX": "1"}
    return subprocess.run(command, cwd=folder.parent, env=environment, capture_output=True, text=True, timeout=5 * TIMEOUT_S)


def write_bot(folder: Path, program: str) -> Path:
    bot = folder / "my-bot"
    bot.mkdir()
    (bot / "application.py").write_text(program)
    (bot / "websocket_client.py").write_text(WEBSOCKET)
    (bot / "requirements.txt").write_text("# none\n")
    return bot


def test_bot_with_a_wheel_is_packaged(getaway_program: Path, tmp_path: Path) -> None:
    bot = write_bot(tmp_path, BOT)
    (bot / "websocket_client.py").unlink()
    wheel = "websocket_client-1.0-py3-none-any.whl"
    with zipfile.ZipFile(bot / wheel, "w") as archive:
        archive.writestr("websocket_client.py", WEBSOCKET)
        info = "websocket_client-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: websocket-client\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    (bot / "requirements.txt").write_text(f"./{wheel}\n")
    (bot / "__pycache__").mkdir()
    done = package(getaway_program, bot)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "3 files; left out: __pycache__"
    assert lines[1].startswith("Python 3.")
    assert lines[2] == "installed into an empty environment"
    assert lines[3].startswith("snail: score "), lines
    assert lines[4].startswith("my-bot.zip: ") and lines[4].endswith(" bytes, ready to upload")
    with zipfile.ZipFile(tmp_path / "my-bot.zip") as archive:
        assert archive.namelist() == ["application.py", "requirements.txt", wheel]
    again = package(getaway_program, bot)
    assert (again.returncode, again.stderr) == (2, "error: my-bot.zip already exists (use --force to overwrite it)\n")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (('"actions": []}))', '"actions": [1 / (10 - tick)]}))'), "application.py crashed at tick 10: exit code 1: ZeroDivisionError: division by zero"),
        (('"actions": []}))', '"actions": []}))\n    sys.exit() if tick == 3 else None'), "application.py left the game at tick 4: exit code 0"),
        (('"actions": []}))', '"actions": []}))\n    time.sleep(0.15)'), "application.py is too slow: "),
        (('"COMMAND"', '"MOVE"'), "application.py sent no command in time: expected {"),
        (('"token": os.environ["TOKEN"]', '"teamName": "me"'), "application.py registers without a token: expected {"),
        (("import json", "import json, no_such_module"), "; if no_such_module is a package, add it to requirements.txt"),
        (('["SERVER_URL"]', '["ADDRESS"]'), "application.py ended before it registered at ws://127.0.0.1:"),
        (("for frame in", "fo frame in"), "my-bot: application.py, line 7: invalid syntax (Python 3."),
    ],
)
def test_error_names_what_to_fix(change: tuple[str, str], error: str, getaway_program: Path, tmp_path: Path) -> None:
    bot = write_bot(tmp_path, BOT.replace(*change))
    done = package(getaway_program, bot)
    *log, line = done.stderr.splitlines()
    assert done.returncode == 1 and line.startswith("error: my-bot: ") and error in line, done.stdout + done.stderr
    assert not (tmp_path / "my-bot.zip").exists()
    if "ZeroDivisionError" in error:
        assert "  | Traceback (most recent call last):" in log


def test_requirements_that_cannot_be_installed_are_named(getaway_program: Path, tmp_path: Path) -> None:
    bot = write_bot(tmp_path, BOT)
    (bot / "requirements.txt").write_text("no-such-package==1.0\n")
    done = package(getaway_program, bot)
    line = done.stderr.splitlines()[-1]
    assert done.returncode == 1, done.stderr
    assert line.startswith("error: my-bot: requirements.txt cannot be installed under Python 3."), line
    assert line.endswith(": No matching distribution found for no-such-package==1.0"), line


def test_interpreter_can_be_a_relative_path(getaway_program: Path, tmp_path: Path) -> None:
    bot = write_bot(tmp_path, BOT)
    interpreter = tmp_path / "python"
    interpreter.write_text('#!/bin/sh\n[ "$1 $2" = "-I -c" ] && echo 3 10 4 venv\n')
    interpreter.chmod(0o755)
    done = package(getaway_program, bot, "--python", "./python")
    assert done.stdout.splitlines()[1:2] == ["Python 3.10.4 (./python), as in the competition"], done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not allow these names")
def test_every_file_keeps_its_name_in_the_zip(getaway_program: Path, tmp_path: Path) -> None:
    bot = write_bot(tmp_path, BOT)
    odd = ["\u2028", "\u2029", "x\u2028", "x\u2029", " ", "x ", "x..", "-rf", "~", "*", "C:", "'\"", "\u202e", "\U0001f697"]
    names = {"x", *(f"{name}{tmp_path}/secret" for name in odd), *(f"{name}/{name}.txt" for name in odd)}
    (tmp_path / "secret").write_text("secret")
    for name in names:
        (bot / name).parent.mkdir(parents=True, exist_ok=True)
        (bot / name).write_text(name)
    done = package(getaway_program, bot)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(tmp_path / "my-bot.zip") as archive:
        assert set(archive.namelist()) == names | {path.name for path in bot.glob("*.*") if path.is_file()}
        assert all(archive.read(name).decode() == name for name in names)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not allow these names")
@pytest.mark.parametrize("name", [b"x\n", b"x\r", b"\t", b"\x1b[2J", b"x\xc2\x85", b"x\x1c", b"..\\x", b"\xff"])
def test_name_that_a_zip_cannot_hold_is_refused(name: bytes, getaway_program: Path, tmp_path: Path) -> None:
    bot = write_bot(tmp_path, BOT)
    (bot / os.fsdecode(name)).write_text("")
    done = package(getaway_program, bot)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.endswith(": expected file names in UTF-8 without backslashes and control characters\n"), done.stderr


@pytest.mark.parametrize("name", ["/etc/hostname", "../x", "x/../../x", "x/..", ".", "", "./x", "x//x", "x/", "..\\x"])
def test_zip_has_no_names_outside_its_folder(name: str, tmp_path: Path) -> None:
    script = ROOT / "tools" / "zip_folder.py"
    command = [sys.executable, "-I", str(script), str(ROOT / "bot"), str(tmp_path / "bot.zip")]
    done = subprocess.run(command, input=f"client.py\0{name}\0".encode(), capture_output=True, timeout=TIMEOUT_S)
    expected = f"{name!r}: expected a path within the folder"
    assert (done.returncode, done.stdout.decode(), done.stderr) == (1, expected, b"")
    assert not (tmp_path / "bot.zip").exists()


def test_modules_that_lie_around_are_not_run(getaway_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = write_bot(tmp_path, BOT)
    (tmp_path / "elsewhere").mkdir()
    marker = tmp_path / "marker"
    run = f"import os, sys; open({str(marker)!r}, 'a').write(__file__ + chr(10)); os._exit(3)"
    for folder in (tmp_path, tmp_path / "elsewhere"):
        for module in ("importlib", "venv", "ensurepip", "zipfile", "pip", "warnings", "sitecustomize", "usercustomize"):
            (folder / module).mkdir()
            (folder / module / "__init__.py").write_text(run)
    (tmp_path / ".python-version").write_text("../../../elsewhere")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    (bot / "requirements.txt").write_text("no-such-package==1.0\n")
    done = package(getaway_program, bot)
    assert done.stderr.endswith(": No matching distribution found for no-such-package==1.0\n"), done.stderr
    (bot / "requirements.txt").write_text("")
    done = package(getaway_program, bot)
    assert done.returncode == 0, done.stderr
    assert not marker.exists(), marker.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
def test_content_that_a_link_brings_into_the_zip_is_noted(getaway_program: Path, tmp_path: Path) -> None:
    bot = write_bot(tmp_path, BOT)
    (bot / "inside.txt").symlink_to("application.py")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "secret.txt").write_text("secret")
    (bot / "indirect.txt").symlink_to("outside.txt")
    (bot / "outside.txt").symlink_to(tmp_path / "folder" / "secret.txt")
    (bot / "folder").symlink_to(tmp_path / "folder")
    done = package(getaway_program, bot)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "6 files; left out: folder"
    secret = tmp_path / "folder" / "secret.txt"
    files = {"inside.txt": bot / "application.py", "indirect.txt": secret, "outside.txt": secret}
    assert done.stderr.splitlines() == [f"{name} is a link: the zip contains a copy of {path}" for name, path in sorted(files.items())]
    (bot / "dangling.txt").symlink_to("nowhere")
    done = package(getaway_program, bot, "--force")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "6 files; left out: dangling.txt, folder"), done


def test_bot_of_the_documentation_is_packaged_and_gets_a_place_on_a_ladder(getaway_program: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "protocol.md").read_text()
    found = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    bot = tmp_path / "my-bot"
    bot.mkdir()
    (bot / "application.py").write_text(found[1])
    (bot / "requirements.txt").write_text("websockets\n")
    program = str(getaway_program.resolve())
    done = subprocess.run(
        [program, "package", "my-bot", "--port", "0"], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    mine = f"mine=exec:{sys.executable} my-bot/application.py"
    command = [program, "ladder", "league", "--add", mine, "--add", "random", "--map", "snail", "--samples", "2"]
    done = subprocess.run(
        [*command, "--tick-ms", "5000", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, done.stderr
    standing = {row["name"]: row for row in json.loads(done.stdout)["entrants"]}
    assert standing["mine"]["place"] in (1, 2) and standing["mine"]["failed"] == 0
    assert "mine" in (tmp_path / "league" / "index.html").read_text()
