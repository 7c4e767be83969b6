"""A short run of a command of `playground_runs.py`."""

from __future__ import annotations

import playground_runs
from playwright.sync_api import Browser

from .test_playground import static

__all__ = ["static"]


def test_addresses_open_the_same_states_in_fresh_browsers(browser: Browser, static: str) -> None:
    assert playground_runs.run_addresses(browser, static, count=4, seed=2)
