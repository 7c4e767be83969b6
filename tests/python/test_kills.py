"""If a bot or server is killed, its recording lacks at most the latest ticks. The script
`kill_runs.py` repeats the test with more kills."""

from __future__ import annotations

from pathlib import Path

import kill_runs


def test_recordings_survive_kills(getaway_program: Path) -> None:
    reports = kill_runs.run(getaway_program, seed=1_000_000, count=2)
    assert len(reports) == 2
