"""Unusable files and edited journals are refused and not changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import file_runs
from conftest import TIMEOUT_S

SCRIPT = Path(__file__).with_name("file_runs.py")


def test_foreign_files_are_refused_and_kept(getaway_program: Path) -> None:
    # The script needs a process of its own, because it exits if a file blocks a call.
    command = [sys.executable, str(SCRIPT), "foreign", "--count", "150", "--share", "61", "--program", str(getaway_program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr


def test_edited_fields_of_journals_are_refused(getaway_program: Path) -> None:
    assert file_runs.run_edits(getaway_program.resolve(), count=40, seed=1)


def test_content_is_written_with_every_repetition(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file_runs.Content("pieces", [(b"[", 100_000), (b"ab", 3)]).write(path)
    assert path.read_bytes() == b"[" * 100_000 + b"ababab"
