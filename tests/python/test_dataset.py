"""Datasets: kills do not change the files, records agree with the library, and Parquet works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dataset_runs
import numpy as np
import pytest

import getaway
from conftest import MAPS, TIMEOUT_S, clean_environment
from getaway import cluster, dataset

NAMES = ["snail", "roundabout"]
PATHS = [str(MAPS / name) for name in NAMES]
SMALL: dict[str, Any] = {"label_ticks": 4000, "seed": 5, "random_moves": 0.2}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset") / "judged"
    report = cluster.dataset(folder, 1100, ["safest", "random"], PATHS, **SMALL)
    assert report == {"folder": str(folder), "states": 1100, "shards": 2, "kept": 0}
    return folder


def test_killed_run_writes_the_same_files(getaway_program: Path) -> None:
    options = [*PATHS, "--states", "5000", "--planner", "safest", "--label-ticks", "50", "--threads", "2"]
    assert len(dataset_runs.run(getaway_program, options, count=2, seed=1)) == 2


def test_records_agree_with_the_library(judged: Path) -> None:
    records, settings = dataset.load(judged), dataset.describe(judged)
    assert len(records) == 1100 and settings["planners"] == ["safest", "random"]
    assert set(records["map"]) == {0, 1} and set(records["planner"]) == {0, 1}
    assert set(np.unique(records["outcomes"])) == {dataset.BLOCKED, dataset.DOOMED, dataset.UNDECIDED, dataset.SURVIVES}
    for number in range(0, 1100, 55):
        record = records[number]
        batch = getaway.Batch([MAPS / name for name in settings["maps"]], observation="features")
        states = batch.get_state()
        states[record["map"]] = record["state"]
        batch.set_state(states)
        assert np.array_equal(batch.observations[record["map"]], record["observation"])
        verdicts = getaway.judge_moves(batch[int(record["map"])], budget_ticks=settings["label_ticks"])
        for move in getaway.Move:
            outcome, verdict = record["outcomes"][move], verdicts.get(move)
            assert (outcome == dataset.BLOCKED) == (verdict is None)
            if verdict is not None:
                assert outcome == ["doomed", "undecided", "survives"].index(verdict.outcome)
                assert (record["final_ticks"][move], record["bound_ticks"][move]) == (verdict.final_tick, verdict.bound_tick)


def test_threads_and_an_earlier_run_do_not_change_the_files(judged: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    cluster.dataset(again, 1100, ["safest", "random"], PATHS, threads=1, **SMALL)
    shards = [again / "shard-00000.npy", again / "shard-00001.npy"]
    expected = [(judged / shard.name).read_bytes() for shard in shards]
    assert [shard.read_bytes() for shard in shards] == expected
    shards[0].unlink()
    (again / ".shard-00000.partial").write_bytes(expected[0][:5000])
    assert cluster.dataset(again, 1100, ["safest", "random"], PATHS, **SMALL)["kept"] == 1
    assert [shard.read_bytes() for shard in shards] == expected and not (again / ".shard-00000.partial").exists()


def test_damaged_shard_is_refused(judged: Path, tmp_path: Path) -> None:
    folder = tmp_path / "judged"
    shutil.copytree(judged, folder)
    shard = folder / "shard-00001.npy"
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    with pytest.raises(ValueError, match="shard-00001.npy: expected a shard of this dataset, found another file or a damaged shard"):
        cluster.dataset(folder, 1100, ["safest", "random"], PATHS, **SMALL)
    assert shard.read_bytes() == content


def test_foreign_and_missing_files_are_named(judged: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the seed"):
        cluster.dataset(judged, 1100, ["safest", "random"], PATHS, **{**SMALL, "seed": 6})
    for name, found in (("shard-00000.npy", "expected a shard of this dataset"), (".shard-00000.partial", "is not part of this shard")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text("mine")
        with pytest.raises(ValueError, match=found):
            cluster.dataset(folder, 10, "safest", PATHS, **SMALL)
        assert (folder / name).read_text() == "mine"
    with pytest.raises(ValueError, match="dataset.jsonl: expected the description of a dataset"):
        dataset.load(tmp_path)
    partial = tmp_path / "partial"
    partial.mkdir()
    (partial / "dataset.jsonl").write_text((judged / "dataset.jsonl").read_text())
    with pytest.raises(ValueError, match="shard-00000.npy: expected the next 1100 states, found no file"):
        dataset.load(partial)


def test_worker_refuses_a_description_of_other_work() -> None:
    play_shards = getaway._getaway.play_shards
    with pytest.raises(ValueError, match="the dataset: "):
        play_shards("{}", [0], {})


def test_parquet_needs_pyarrow_or_has_the_same_records(judged: Path) -> None:
    command = [sys.executable, "-m", "getaway.dataset", str(judged)]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=TIMEOUT_S)
    try:
        from pyarrow import parquet
    except ImportError:
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: ") and done.stderr.endswith("(pip install pyarrow)\n")
        return
    assert done.returncode == 0, done.stderr
    table = parquet.read_table(judged / "dataset.parquet").to_pydict()
    for name, column in table.items():
        assert np.array_equal(np.array(column), dataset.load(judged)[name].reshape(1100, -1).squeeze())
    assert done.stdout == f"{judged / 'dataset.parquet'}\n"
    with pytest.raises(ValueError, match="no-such-folder/dataset.jsonl: expected the description of a dataset"):
        dataset.to_parquet(judged / "no-such-folder")


@pytest.mark.parametrize(
    ("module", "package"), [("dataset", "numpy"), ("gymnasium", "gymnasium"), ("stable_baselines3", "stable_baselines3")]
)
def test_module_without_its_package_says_how_to_install_it(module: str, package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import getaway; getaway.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT_S)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith(f"ImportError: getaway.{module} needs ") and "pip install" in last
