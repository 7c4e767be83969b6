"""Tests of tools/stamp_repository.py, which prepares the packages for publication, and of the source
distribution."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from conftest import ROOT, TIMEOUT_S

SCRIPT = ROOT / "tools" / "stamp_repository.py"
REPOSITORY = "https://example.com/someone/getaway"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("README.md", "Cargo.toml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def stamp(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=TIMEOUT_S)


def test_every_link_of_the_published_readme_is_absolute_and_names_a_file(checkout: Path) -> None:
    assert stamp(REPOSITORY + "/", "v1.2.3", "--folder", str(checkout)).returncode == 0
    targets = re.findall(r"\]\(([^)\s]+)\)", (checkout / "README.md").read_text())
    files = [match[1] for target in targets if (match := re.fullmatch(rf"{REPOSITORY}/(?:blob|raw)/v1\.2\.3/(\S+)", target))]
    assert len(files) > 10 and all((ROOT / file).is_file() for file in files)
    assert all(target.startswith("https://") for target in targets), targets
    assert "raw/v1.2.3/docs/chase.gif" in " ".join(targets)


def test_metadata_names_the_repository(checkout: Path) -> None:
    assert stamp(REPOSITORY, "v1.2.3", "--folder", str(checkout)).returncode == 0
    assert f'\nrepository = "{REPOSITORY}"\n' in (checkout / "Cargo.toml").read_text()
    assert f'[project.urls]\nRepository = "{REPOSITORY}"\n' in (checkout / "pyproject.toml").read_text()


def test_invalid_address_and_other_manifest_are_refused(checkout: Path) -> None:
    done = stamp("getaway", "v1.2.3", "--folder", str(checkout))
    assert done.returncode == 2 and "expected an https address, found 'getaway'" in done.stderr
    (checkout / "Cargo.toml").write_text("")
    done = stamp(REPOSITORY, "v1.2.3", "--folder", str(checkout))
    assert done.returncode == 1 and "found it 0 times" in done.stderr


def test_source_distribution_contains_every_file_that_its_sources_include(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=TIMEOUT_S)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = archive.getnames()
    included: set[str] = set()
    for name in (name for name in names if re.fullmatch(r"[^/]+/(crates/[^/]+/)?src/.*\.rs", name)):
        source = ROOT / name.split("/", 1)[1]
        program = source.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        files = re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', program)
        included.update((source.parent / file).resolve().relative_to(ROOT).as_posix() for file in files)
    assert len(included) > 20 and included <= {name.split("/", 1)[-1] for name in names}
