"""All error messages in one place: `tests/errors.txt`, compared word for word.

`GETAWAY_UPDATE_ERRORS=1 .venv/bin/python -m pytest tests/python/test_errors.py` rewrites the file with the current messages.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import MAPS, PATIENCE_S, ROOT, clean_environment

import getaway

TRANSCRIPT = ROOT / "tests" / "errors.txt"
MARKS = ("$ ", ">>> ")


def make_scene(folder: Path, program: Path) -> None:
    """Creates valid and broken files, named by what is wrong with them."""
    picture, description = (MAPS / "roundabout" / "layout.png").read_bytes(), '{"type": "challenge", "difficulty": "easy"}'
    maps: dict[str, tuple[bytes | None, str | None]] = {
        "text": (b"not a picture", description),
        "cut": (picture[: len(picture) // 2], description),
        "bare": (None, description),
        "undescribed": (picture, None),
        "misdescribed": (picture, '{"type": "challenge"'),
        "untyped": (picture, '{"difficulty": "easy"}'),
    }
    for name, files in maps.items():
        (folder / name).mkdir()
        for file, content in zip(("layout.png", "meta.json"), files):
            if content is not None:
                (folder / name / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "taken").write_text("mine")
    (folder / "object.json").write_text("{}\n")
    command = [str(program), "play", "cul-de-sacs", "--planner", "random", "--budget-evals", "1", "--save", "good.jsonl"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=PATIENCE_S)
    lines = (folder / "good.jsonl").read_text().splitlines(keepends=True)
    (folder / "empty.jsonl").write_text("")
    (folder / "text.jsonl").write_text(lines[0] + "not JSON\n")
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress("".join(lines[:2]).encode())[:-40])
    changed = json.loads(lines[4])
    changed["game_message"]["threats"][0]["position"]["x"] += 1
    (folder / "changed.jsonl").write_text("".join([*lines[:4], json.dumps(changed) + "\n"]))


def message(**changes: Any) -> dict[str, Any]:
    """A valid message with the given fields replaced."""
    return getaway.Game(MAPS / "roundabout").message() | changes


def said_by_command(line: str, folder: Path, program: Path) -> str:
    """The output of a command, followed by its exit code unless that is 2."""
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
            [*command, *words[1:]], cwd=folder, env=environment, stdin=source, capture_output=True, text=True, timeout=PATIENCE_S
        )
    code = f"exit {output.returncode}\n" if output.returncode != 2 else ""
    return output.stdout + output.stderr + code


def said_by_python(expression: str) -> str:
    """The exception that an expression raises."""
    try:
        value = eval(expression, {"getaway": getaway, "message": message, "MAPS": MAPS})
    except Exception as error:  # every exception is reported
        return f"{type(error).__name__}: {error}\n"
    return f"no error: {value!r}\n"


def test_error_messages_match_the_transcript(getaway_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_scene(tmp_path, getaway_program.resolve())
    before = sorted(path.name for path in tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    parts: list[str] = []
    for part in re.split(r"\n{2,}", TRANSCRIPT.read_text().strip()):
        line = part.splitlines()[0]
        mark = next((mark for mark in MARKS if line.startswith(mark)), None)
        if mark is None:
            parts.append(part)
            continue
        text = line.removeprefix(mark)
        said = said_by_command(text, tmp_path, getaway_program.resolve()) if mark == "$ " else said_by_python(text)
        said = re.sub(r"\d+\.\d\d s, (\d+ ticks?) \(\d+ ticks/s\)", r"... s, \1 (... ticks/s)", said)
        parts.append(f"{line}\n{said}".rstrip())
    found = "\n\n".join(parts) + "\n"
    assert sorted(path.name for path in tmp_path.rglob("*")) == before, "a failing command created or removed a file"
    assert (tmp_path / "taken").read_text() == "mine"
    if os.environ.get("GETAWAY_MINT_ERRORS") == "1":
        TRANSCRIPT.write_text(found)
        return
    assert found == TRANSCRIPT.read_text()
