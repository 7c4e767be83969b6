"""Waits for conditions, in tests and long runs."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT_S = 300
"""Default limit on a wait in a test. Even on a cold, busy machine, only a test that hangs reaches it."""


def wait_until(what: str, condition: Callable[[], object], *, timeout_s: float = TIMEOUT_S, pause_s: float = 0.02) -> None:
    """Waits until the condition holds. Raises AssertionError with `what` after `timeout_s`."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"not within {timeout_s:g} s: {what}"
        time.sleep(pause_s)
