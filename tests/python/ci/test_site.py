"""The documentation builds as a site, and a dead link fails the build."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from conftest import ROOT, build_site


def test_dead_links_fail_the_build_of_the_site(tmp_path: Path) -> None:
    for name in ("docs", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    tokens = tmp_path / "crates/viewer/src/page/tokens.css"
    tokens.parent.mkdir(parents=True)
    shutil.copy(ROOT / "crates/viewer/src/page/tokens.css", tokens)
    with open(tmp_path / "docs" / "rules.md", "a") as page:
        page.write("\n[link](nowhere.md) [link](rules.md#nowhere) ![image](nowhere.png)\n")
    done = build_site(tmp_path, tmp_path / "site")
    assert done.returncode == 1, done.stdout + done.stderr
    assert all(link in done.stderr for link in ("nowhere.md", "#nowhere", "nowhere.png")), done.stderr


def test_site_builds_without_a_warning_and_its_search_finds_the_protocol(tmp_path: Path) -> None:
    done = build_site(ROOT, tmp_path / "site")
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stdout + done.stderr
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text())
    assert "protocol.html#register" in {entry["location"] for entry in index["docs"] if "REGISTER" in entry["text"]}
    assert os.path.getsize(tmp_path / "site" / "python.html") > 10_000
