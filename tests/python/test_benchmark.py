"""The checker in plain Python agrees with the program, and the pages match the records."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import benchmark_runs
import pytest
from conftest import ROOT, TIMEOUT_S

BENCHMARK = ROOT / "instances"


def test_both_checkers_agree_on_changed_records(getaway_program: Path) -> None:
    assert benchmark_runs.run(getaway_program.resolve(), count=20, seed=2, max_steps=10_000)


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [(r'"rules":\{.*?\}\},', ""), (r'"pick_scale":[^,]+', '"pick_scale":1' + 400 * "0")],
    ids=["no-rules", "huge-number"],
)
def test_both_checkers_refuse_wrong_rules(getaway_program: Path, tmp_path: Path, pattern: str, replacement: str) -> None:
    record = (BENCHMARK / "records" / "real-like" / "snail-jump.txt").read_text("utf-8")
    path = tmp_path / "changed.txt"
    path.write_text(re.sub(pattern, replacement, record, count=1), "utf-8")
    own = [str(getaway_program), "benchmark", "check", "--benchmark", str(BENCHMARK), str(path)]
    for command in (own, [sys.executable, str(BENCHMARK / "check.py"), str(path)]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 1 and re.search(r"^0 (records )?confirmed, 1 refused", done.stdout, re.MULTILINE), done


def test_records_are_checked_from_the_command_line() -> None:
    records = sorted((BENCHMARK / "records" / "real-like").glob("*.txt"))
    assert records
    command = [sys.executable, str(BENCHMARK / "check.py"), "--lines", *map(str, records[:2])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2 confirmed, 0 refused, 0 not checked"


def test_certificate_is_checked_with_its_map(tmp_path: Path) -> None:
    record = (BENCHMARK / "records" / "mazes" / "labyrinth-15x13-250-00-jump.txt").read_text("utf-8")
    proof = tmp_path / "maze.proof"
    proof.write_text(record.split("\n", 3)[3], "utf-8")
    other = json.loads((BENCHMARK / "instances.jsonl").read_text("utf-8").splitlines()[0])
    own = next(json.loads(line) for line in (BENCHMARK / "instances.jsonl").read_text("utf-8").splitlines() if "labyrinth-15x13-250-00-jump" in line)
    for map, code, end in ((own["map"], 0, "1 confirmed, 0 refused"), (other["map"], 1, "0 confirmed, 1 refused")):
        command = [sys.executable, str(BENCHMARK / "check.py"), "--lines", "--map", str(BENCHMARK / map), str(proof)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == code and done.stdout.splitlines()[-1].startswith(end), done


def test_tiny_scale_picks_the_last_entry() -> None:
    # In floating point, -1e-30 - floor(-1e-30) is 1.
    pick_index = benchmark_runs.check.pick_index  # type: ignore[attr-defined]
    assert [pick_index({"pick_scale": -1e-30}, 1, length) for length in (1, 4)] == [0, 3]


def test_closed_pipe_ends_the_checker_quietly() -> None:
    records = sorted((BENCHMARK / "records" / "real-like").glob("*.txt"))
    for jobs in ("1", "2"):
        command = [sys.executable, str(BENCHMARK / "check.py"), "--lines", "--jobs", jobs, *map(str, records)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline().startswith("real-like/")
            process.stdout.close()
            assert (process.stderr.read(), process.wait(TIMEOUT_S)) == ("", 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_ends_the_checker_with_one_line() -> None:
    record = next((BENCHMARK / "records" / "real-like").glob("*.txt"))
    command = [sys.executable, str(BENCHMARK / "check.py"), "--lines", str(record)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr) == (2, "check.py: cannot write to standard output: No space left on device\n")


def test_credits_cannot_change_the_pages(tmp_path: Path) -> None:
    name = "crowds/labyrinth-21x17-1000-crowd-12-no-jump"
    for part in ("instances.jsonl", "maps"):
        (tmp_path / part).symlink_to(BENCHMARK / part)
    record = (BENCHMARK / "records" / f"{name}.txt").read_text("utf-8")
    path = tmp_path / "records" / f"{name}.txt"
    path.parent.mkdir(parents=True)
    path.write_text(re.sub("line by: .*", "line by: [a](javascript:b) <img src=x> | `c` \\\\|", record), "utf-8")
    subprocess.run([sys.executable, str(BENCHMARK / "page.py"), str(tmp_path)], check=True, timeout=TIMEOUT_S)
    [row] = [line for line in (tmp_path / "RECORDS.md").read_text("utf-8").splitlines() if f"[{name}]" in line]
    assert row.count("|") == 7 and not re.search(r"[<`\\]|\]\(javascript", row), row
    assert "<img" not in (tmp_path / "records.html").read_text("utf-8")


def test_pages_match_the_records(tmp_path: Path) -> None:
    for name in ("instances.jsonl", "maps", "records"):
        (tmp_path / name).symlink_to(BENCHMARK / name)
    subprocess.run([sys.executable, str(BENCHMARK / "page.py"), str(tmp_path)], check=True, timeout=TIMEOUT_S)
    for name in ("RECORDS.md", "records.html"):
        assert (tmp_path / name).read_text("utf-8") == (BENCHMARK / name).read_text("utf-8"), name
