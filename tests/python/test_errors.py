"""Runs the commands and expressions in `tests/errors.txt`, and compares their errors with those in
the file. Set `GETAWAY_UPDATE_ERRORS=1` to rewrite the file."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from conftest import MAPS, ROOT, TIMEOUT_S, clean_environment

import getaway

TRANSCRIPT = ROOT / "tests" / "errors.txt"
# Replacements for texts of the operating system, clap and argparse that differ between versions.
FOREIGN = [
    (r"[A-Z][a-z][\w ]*(?: \([\w ]+\))? \(os error \d+\)", "<system>"),
    (r"\[Errno \d+\] [A-Z][\w ]*", "<system>"),
    (r"invalid value (?:'[^']*'|\S+) for '[^']*'(?=[: ])", "<parser>"),
    (r"(?:argument|unrecognized|unexpected|the following|a value is required|equal sign)[^\n]*(?= \(try --help\))", "<parser>"),
    (r"<parser> \[possible values: [^\]]*\]", "<parser>"),
]
PROMPTS = ("$ ", ">>> ")


def write_fixture_files(folder: Path, program: Path) -> None:
    picture, description = (MAPS / "roundabout" / "layout.png").read_bytes(), '{"type": "challenge", "difficulty": "easy"}'
    maps: dict[str, tuple[bytes | None, str | None]] = {
        "text": (b"not a picture", description),
        "truncated": (picture[: len(picture) // 2], description),
        "no-layout": (None, description),
        "no-meta": (picture, None),
        "invalid-meta": (picture, '{"type": "challenge"'),
        "no-type": (picture, '{"difficulty": "easy"}'),
    }
    for name, files in maps.items():
        (folder / name).mkdir()
        for file, content in zip(("layout.png", "meta.json"), files):
            if content is not None:
                (folder / name / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "taken").write_text("mine")
    (folder / "object.json").write_text("{}\n")
    command = [str(program), "play", "cul-de-sacs", "--planner", "random", "--budget-ticks", "1", "--save", "good.jsonl"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=TIMEOUT_S)
    lines = (folder / "good.jsonl").read_text().splitlines(keepends=True)
    (folder / "empty.jsonl").write_text("")
    (folder / "text.jsonl").write_text(lines[0] + "not JSON\n")
    (folder / "truncated.jsonl.gz").write_bytes(gzip.compress("".join(lines[:2]).encode())[:-40])
    changed = json.loads(lines[4])
    changed["game_message"]["threats"][0]["position"]["x"] += 1
    (folder / "changed.jsonl").write_text("".join([*lines[:4], json.dumps(changed) + "\n"]))
    command = [str(program), "solve", "roundabout", "--certificate", "good.proof"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=TIMEOUT_S)
    proof = (folder / "good.proof").read_text()
    (folder / "changed.proof").write_text(proof.replace('"bound_tick":2001', '"bound_tick":2000'))
    (folder / "unended.proof").write_text(proof.replace('"none"', '"never"'))


def message(**changes: Any) -> dict[str, Any]:
    return getaway.Game(MAPS / "roundabout").message() | changes


def command_output(line: str, folder: Path, program: Path) -> str:
    """Returns the output of a command, followed by its exit code unless that is 2."""
    words = shlex.split(line)
    environment = clean_environment()
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    stdin = None
    if "<" in words:
        stdin = words[words.index("<") + 1]
        words = words[: words.index("<")]
    programs = {"getaway": [str(program)], "application.py": [sys.executable, str(ROOT / "bot" / "application.py")]}
    command = programs.get(words[0]) or [str(ROOT / words[0])]
    with open(folder / stdin if stdin else os.devnull, "rb") as source:
        output = subprocess.run(
            [*command, *words[1:]], cwd=folder, env=environment, stdin=source, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    code = f"exit {output.returncode}\n" if output.returncode != 2 else ""
    return output.stdout + output.stderr + code


def exception_text(expression: str) -> str:
    try:
        value = eval(expression, {"getaway": getaway, "message": message, "MAPS": MAPS})
    except Exception as error:  # noqa: BLE001: every exception is reported
        return f"{type(error).__name__}: {error}\n"
    return f"no error: {value!r}\n"


def test_error_messages_match_the_transcript(getaway_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_fixture_files(tmp_path, getaway_program.resolve())
    before = sorted(path.name for path in tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    parts: list[str] = []
    for part in re.split(r"\n{2,}", TRANSCRIPT.read_text().strip()):
        line = part.splitlines()[0]
        prompt = next((prompt for prompt in PROMPTS if line.startswith(prompt)), None)
        if prompt is None:
            parts.append(part)
            continue
        text = line.removeprefix(prompt)
        output = command_output(text, tmp_path, getaway_program.resolve()) if prompt == "$ " else exception_text(text)
        output = re.sub(r"\d+\.\d\d s, (\d+ ticks?) \(\d+ ticks/s\)", r"... s, \1 (... ticks/s)", output)
        output = output.replace(f"{tmp_path}/", "")
        for pattern, ours in FOREIGN:
            output = re.sub(pattern, ours, output)
        parts.append(f"{line}\n{output}".rstrip())
    found = "\n\n".join(parts) + "\n"
    assert sorted(path.name for path in tmp_path.rglob("*")) == before, "a command or expression created or removed a file"
    assert (tmp_path / "taken").read_text() == "mine"
    if os.environ.get("GETAWAY_UPDATE_ERRORS") == "1":
        TRANSCRIPT.write_text(found)
        return
    assert found == TRANSCRIPT.read_text()


def test_errors_fit_the_terminal(getaway_program: Path) -> None:
    main, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    words = [str(getaway_program), "solve", "atlantis"]
    done = subprocess.run(words, stdout=terminal, stderr=terminal, env=clean_environment(), timeout=TIMEOUT_S)
    os.close(terminal)
    lines = os.read(main, 4096).decode().splitlines()
    os.close(main)
    assert done.returncode == 2 and len(lines) >= 3 and max(map(len, lines)) <= 80, lines
