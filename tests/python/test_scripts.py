"""Tests of the scripts, of checkouts and of the source distribution."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import starts
from conftest import ROOT, TIMEOUT_S


def test_server_starts_every_time_on_busy_processors(getaway_program: Path) -> None:
    assert starts.run(getaway_program.resolve(), count=10, busy=2 * (os.cpu_count() or 1)) == []


def test_server_that_cannot_start_ends_the_script_with_its_error(getaway_program: Path) -> None:
    error = starts.start(getaway_program.resolve(), "--tick-ms", "0")
    assert error is not None and error.startswith("exit code 2: error: "), error


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout")
@pytest.mark.parametrize("settings", [{"core.autocrlf": "true"}, {"core.eol": "crlf"}, {"core.fileMode": "false", "core.symlinks": "false"}])
def test_checkout_is_the_same_under_any_setting_of_git(settings: dict[str, str], tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    subprocess.run(["git", "clone", "--quiet", *options, str(ROOT), str(clone)], check=True, timeout=600)
    listed = subprocess.run(["git", "ls-files", "--eol", "-z"], cwd=clone, capture_output=True, text=True, check=True).stdout
    changed = [line for line in listed.split("\0") if line and line.split()[0][2:] != line.split()[1][2:]]
    assert not changed, changed[:5]
    done = subprocess.run(["./run.sh", "--help"], cwd=clone, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("Usage: ./run.sh"), done


@pytest.mark.parametrize("script", ["run.sh", "test.sh", "package.sh"])
@pytest.mark.parametrize(
    ("version", "message"),
    [(None, "error: no cargo found: expected Rust 1."), ("cargo 1.60.0 (abc 2022-01-01)", "error: cargo 1.60 is too old: expected Rust 1.")],
)
def test_missing_or_old_rust_is_reported_in_one_line(script: str, version: str | None, message: str, tmp_path: Path) -> None:
    for name in ("bash", "dirname", "sed", "uname", "cat"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    if version:
        (tmp_path / "cargo").write_text(f"#!/bin/sh\necho '{version}'\n")
        (tmp_path / "cargo").chmod(0o755)
    done = subprocess.run([str(ROOT / script)], env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("script", ["run.sh", "test.sh", "package.sh", "replay.sh"])
def test_help_is_printed_at_once(script: str) -> None:
    # This PATH usually lacks cargo, so a script that builds before it prints the help would fail.
    done = subprocess.run([str(ROOT / script), "--help"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: ./{script}"), done.stdout


def test_source_distribution_has_every_file_that_cargo_reads(tmp_path: Path) -> None:
    pytest.importorskip("maturin", reason="the build requirements are not installed (run.sh installs them)")
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("getaway-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    folder = tmp_path / archive.name.removesuffix(".tar.gz")
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--manifest-path", str(folder / "crates" / "extension" / "Cargo.toml")],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert metadata.returncode == 0, metadata.stderr
    packages = {package["name"] for package in json.loads(metadata.stdout)["packages"]}
    assert {"getaway", "getaway-cli", "getaway-extension"} <= packages


def test_purpose_of_a_dependency_is_the_comment_on_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    supply_chain = importlib.import_module("supply_chain")
    (tmp_path / "Cargo.toml").write_text('bare = "1"\n# about the next crates\nempty = "1"  #\nplain = "1"  # reads files\n')
    monkeypatch.setattr(supply_chain, "ROOT", tmp_path)
    assert supply_chain.purposes() == {"plain": "reads files"}
