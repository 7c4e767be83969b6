"""Tests of the output after a bot failed or was late: verdict, exit code, JSON and report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, TIMEOUT_S, clean_environment

COMPARES = "So the games do not show how bot and safest compare."
FIRST = "in 1 of 1 game; first: {} on snail, sample 1, tick"
TROUBLES = {
    "crash": f"bot crashed {FIRST.format('crashed')} 10: exit code 3: a bug at tick 10",
    "quit": f"bot disconnected {FIRST.format('disconnected')} 10: exit code 0",
    "drop": f"bot disconnected {FIRST.format('disconnected')} 10: closed its connection",
    "hang": rf"bot fell silent {FIRST.format('fell silent')} \d+: no command for 20 ticks.*",
    "garbage": f"bot sent garbage {FIRST.format('sent garbage')} 10: invalid JSON at column 1: expected value, found .*: expected a COMMAND; print other text to standard error",
    "late": r"bot missed \d+ of \d+ ticks \(\d+%\): no command for them came in time",
}


@pytest.fixture(scope="module")
def battles(getaway_program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Path]]:
    """Plays one battle per key of `TROUBLES`, in parallel. Returns the finished process and the
    report's path for each key."""
    folder = tmp_path_factory.mktemp("failures")

    def battle(what: str) -> tuple[Any, Path]:
        report = folder / f"{what}.html"
        # Over pipes, the arena cannot see that a running bot has closed its output, because the
        # supervisor holds the pipe open, too.
        transport = "exec" if what == "drop" else "pipe"
        bot = f"bot={transport}:{sys.executable} tests/python/misbehaving_bot.py {what}"
        # The bots that should answer in time get a long limit, because the machine may be busy.
        tick_ms = "100" if what in ("late", "hang") else "5000"
        command = [str(getaway_program), "battle", bot, "safest", "--map", "snail", "--samples", "1", "--threads", "1"]
        options = ["--tick-ms", tick_ms, "--report", str(report)]
        return subprocess.run([*command, *options], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=TIMEOUT_S, check=False), report

    with ThreadPoolExecutor(len(TROUBLES)) as pool:
        return dict(zip(TROUBLES, pool.map(battle, TROUBLES)))


@pytest.mark.parametrize("what", TROUBLES)
def test_failure_is_in_the_verdict_the_json_and_the_report(battles: dict[str, tuple[Any, Path]], what: str) -> None:
    done, page = battles[what]
    sentence = done.stdout.splitlines()[-1]
    trouble, _, rest = sentence.partition(". ")
    assert re.fullmatch(TROUBLES[what], trouble), sentence
    assert rest.startswith("Too few games to tell bot from safest") if what == "late" else rest == COMPARES, sentence
    brief, _, first = trouble.partition("; first: ")
    assert (done.returncode, done.stderr) == (1, f"error: {brief} (--allow-failures accepts this)\n")
    assert not first or done.stdout.count(first) == 1, done.stdout
    result = json.loads(page.with_suffix(".json").read_text())
    assert result["sentence"] == sentence and result["verdict"]["troubles"] == [trouble], result
    assert result["verdict"]["outcome"] == ("undecided" if what == "late" else "failed"), result
    data = json.loads(page.read_text().partition('id="data">')[2].partition("</script>")[0])
    assert data["sentence"] == sentence and data["troubles"] == [trouble]
