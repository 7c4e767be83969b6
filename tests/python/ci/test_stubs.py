"""The type stubs agree with the built module."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import getaway
from conftest import ROOT


def test_stubs_match_the_module(tmp_path: pathlib.Path) -> None:
    allowlist = ROOT / "tests" / "python" / "stubtest-allowlist.txt"
    config = ROOT / "pyproject.toml"
    command = [sys.executable, "-m", "mypy.stubtest", "getaway", "--allowlist", str(allowlist), "--mypy-config-file", str(config)]
    # Outside the checkout, stubtest finds only the installed stubs.
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    package = pathlib.Path(getaway.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "__init__.pyi").read_text() == (ROOT / "python" / "getaway" / "__init__.pyi").read_text()
    assert re.fullmatch(r"\d+\.\d+\.\d+", getaway.__version__)
