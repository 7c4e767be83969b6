"""The notebooks of the documentation run from start to end."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import ROOT, TIMEOUT_S

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_is_stored_without_its_outputs(path: object) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=TIMEOUT_S).execute()


def test_there_are_two_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["a-game-from-the-inside", "which-planner-is-better"]
