"""Short runs of two commands of `playground_runs.py`: `native` and `addresses`."""

from __future__ import annotations

from pathlib import Path

import playground_runs
from playwright.sync_api import Browser, Page

from .conftest import GAMES
from .test_playground import start, url

__all__ = ["url"]


def test_solutions_certificates_and_analyses_equal_the_native_ones(page: Page, url: str, getaway_program: Path) -> None:
    recordings = sorted(GAMES.glob("*.jsonl.gz"))[:3]
    assert playground_runs.run_native(start(page, url), getaway_program, count=6, certificate_count=2, recordings=recordings)


def test_addresses_open_the_same_states_in_fresh_browsers(browser: Browser, url: str) -> None:
    assert playground_runs.run_addresses(browser, url, count=4, seed=2)
