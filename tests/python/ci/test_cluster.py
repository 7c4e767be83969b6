"""Tests of `getaway.cluster` on this machine and on Ray clusters."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import getaway
from conftest import ROOT, TIMEOUT_S
from getaway import cluster
from waiting import wait_until

SMALL: dict[str, Any] = {"budget_ticks": 200, "samples": 4, "seed": 3}
MAPS = ["corner-shop", "snail"]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(field) for name, field in value.items() if not name.startswith(("decision_", "cost"))}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_commands_return_plain_data() -> None:
    result = cluster.evaluate("safest", MAPS, **SMALL)
    assert result["planners"][0]["planner"] == "safest" and result["games"] == 8
    assert cluster.evaluate("safest", "snail", **SMALL)["games"] == 4, "one map"
    match = cluster.battle("sampling", "random", MAPS, **SMALL)
    assert match["overall"]["wins"] == 8 and match["sentence"].startswith("sampling is better than random")
    standing = cluster.tournament(["random", "sampling", "safest"], MAPS, gauntlet=True, **SMALL)["standing"]
    assert len(standing) == 3
    with pytest.raises(ValueError, match="no planner named clever"):
        cluster.evaluate("clever")


def test_worker_plays_the_games_of_a_series() -> None:
    play_games = getaway._getaway.play_games
    with pytest.raises(ValueError, match="the series: "):
        play_games("{}", "[0]", {})


def test_worker_runs_the_solver_of_the_benchmark() -> None:
    solve_instances = getaway._getaway.solve_instances
    with pytest.raises(ValueError, match="the benchmark: "):
        solve_instances("{}", [0])


def error_with_module(folder: Path, ray_module: str, address: str) -> str:
    """Runs `getaway eval` with `ray_module` in place of Ray; returns the standard error."""
    (folder / "ray.py").write_text(ray_module)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "getaway", "eval", "--map", "snail", "--ray", address]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_missing_ray_is_one_error(tmp_path: Path) -> None:
    error = error_with_module(tmp_path, "raise ImportError('hidden')", "local")
    assert error == "error: the cluster: Ray is not installed (in the checkout, pip install '.[cluster]')\n"


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_unreachable_cluster_is_one_error(tmp_path: Path, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}127.0.0.1:{server.getsockname()[1]}"
    # This module has no `init`, so the error differs if the command tries to connect with Ray.
    error = error_with_module(tmp_path, "def shutdown(): pass", address)
    assert error == f"error: the cluster: cannot connect to {address}: [Errno 111] Connection refused\n"


@pytest.fixture(scope="module")
def two_nodes() -> Any:
    """Starts a Ray cluster of two nodes; yields its address, the Ray module and the cluster."""
    import ray
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.add_node(num_cpus=1)
    yield nodes.address, ray, nodes
    nodes.shutdown()


def files(folder: Path, name: str, **options: Any) -> tuple[bytes, Any]:
    result = cluster.tournament(["random", "sampling", "safest"], MAPS, report=folder / f"{name}.html", **SMALL, **options)
    return (folder / f"{name}.csv").read_bytes(), without_times(result)


def test_cluster_plays_the_same_games(two_nodes: Any, tmp_path: Path) -> None:
    address = two_nodes[0]
    here = files(tmp_path, "here")
    assert files(tmp_path, "there", address=address) == here
    resumed = tmp_path / "games.jsonl"
    assert files(tmp_path, "first", address=address, resume=resumed) == here
    lines = resumed.read_text().splitlines(keepends=True)
    resumed.write_text("".join(lines[:10]))
    assert files(tmp_path, "second", address=address, resume=resumed) == here
    assert len(resumed.read_text().splitlines()) == len(lines)


def test_one_node_plays_the_same_games(two_nodes: Any, tmp_path: Path) -> None:
    # `local` starts another cluster, with one node, while the cluster of two nodes is running.
    assert files(tmp_path, "one", address="local") == files(tmp_path, "here")


def test_ladder_takes_its_games_from_the_cluster(two_nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planners_of_mine.py").write_text("def upwards(state):\n    return 'U'\n")
    monkeypatch.chdir(tmp_path)
    options: dict[str, Any] = {"address": two_nodes[0], "budget_ticks": 60, "samples": 6}
    league = tmp_path / "league"
    entrants = ["random", "safest", "quits=pipe:exit 3", "mine=planners_of_mine:upwards"]
    first = {row["name"]: row for row in cluster.ladder(league, entrants, MAPS, **options)["entrants"]}
    assert first["random"]["games"] >= 10 and first["mine"]["games"] >= 10 and first["mine"]["failed"] == 0
    assert "failed in 3 games in a row" in first["quits"]["state"]["set_aside"]
    # Games that were played both locally and on the cluster must have the same moves.
    here = cluster.ladder(tmp_path / "here", entrants, MAPS, budget_ticks=60, samples=6, threads=1)
    assert [row["name"] for row in here["entrants"]] == list(first)
    games = played(league)
    assert games and all(played(tmp_path / "here").get(game, moves) == moves for game, moves in games.items())
    second = cluster.ladder(league, ["sampling"], MAPS, **options)
    assert second["games"] > len(games)
    assert next(row for row in second["entrants"] if row["name"] == "sampling")["games"] >= 10


def played(league: Path) -> dict[tuple[str, str, int], str]:
    events = [json.loads(line)["event"] for line in (league / "ladder.jsonl").read_text().splitlines()[1:]]
    games = [event["game"] for event in events if "game" in event]
    return {(game["planner"], game["map"], game["sample"]): game["moves"] for game in games}


def test_interrupted_ladder_ends_at_once_and_resumes(two_nodes: Any, tmp_path: Path) -> None:
    league = tmp_path / "league"
    # The silent bot fails about 12 s after the start of each game, so the interrupt comes during
    # its first game.
    silent = "silent=pipe:cat >/dev/null"
    command = [sys.executable, "-m", "getaway", "ladder", str(league), "--map", "snail", "--samples", "3", "--ray", two_nodes[0]]
    process = subprocess.Popen([*command, "--add", "random", "--add", silent], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until("three games", lambda: (league / "ladder.jsonl").exists() and len(played(league)) >= 3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=TIMEOUT_S) == 0
    games = played(league)
    subprocess.run([*command, "--retire", "silent"], capture_output=True, timeout=TIMEOUT_S, check=True)
    assert games.items() <= played(league).items()


def test_killed_worker_costs_only_time(two_nodes: Any, tmp_path: Path) -> None:
    address = two_nodes[0]
    options: dict[str, Any] = {"budget_ticks": 3000, "samples": 12}
    here = cluster.evaluate("sampling", MAPS, **options)
    with killed_worker():
        there = cluster.evaluate("sampling", MAPS, address=address, **options)
    assert without_times(there) == without_times(here)


@contextmanager
def killed_worker() -> Iterator[None]:
    """Kills one worker while the block runs. Fails if no worker is found within `TIMEOUT_S`."""
    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + TIMEOUT_S
        while not killed and time.monotonic() < end:
            time.sleep(0.05)
            for line in subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout.splitlines():
                if "ray::_play" in line:
                    killed.append(int(line.split()[0]))
                    os.kill(killed[0], signal.SIGKILL)
                    break

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()
    assert killed


def run_solver(out: Path, solver: str, *options: str) -> list[str]:
    """Runs a solver on the benchmark's first four instances; returns the printed lines, sorted."""
    benchmark = out.parent / "benchmark"
    if not benchmark.exists():
        benchmark.mkdir()
        (benchmark / "maps").symlink_to(ROOT / "instances" / "maps")
        instances = (ROOT / "instances" / "instances.jsonl").read_text().splitlines(keepends=True)
        (benchmark / "instances.jsonl").write_text("".join(instances[:4]))
    command = [sys.executable, "-m", "getaway", "benchmark", "run", "--benchmark", str(benchmark), "--out", str(out)]
    command += ["--track", "real-like", "--time-limit", "20", "--solver", solver, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=True)
    return sorted(done.stdout.splitlines())


def answers(out: Path) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """Returns a run's results, with times and checksums cleared, and its records by file name."""
    lines = (out / "results.jsonl").read_text().splitlines()
    results = [{**json.loads(line), "seconds": 0, "check": ""} for line in lines]
    return sorted(results, key=json.dumps), {path.name: path.read_bytes() for path in out.rglob("*.txt")}


@pytest.mark.parametrize("solver", ["getaway", "command"])
def test_cluster_gives_the_answers_of_a_solver(two_nodes: Any, solver: str, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    example = ROOT / "instances" / "examples" / "solver.py"
    # The external solver fails on the two instances without a deer.
    command = solver if solver == "getaway" else f'exec:sleep 1; grep -q D "$1" || exit 3; {sys.executable} {example}'
    printed = run_solver(here, command)
    assert len(printed) == (2 if solver == "getaway" else 4)
    with nullcontext() if solver == "getaway" else killed_worker():
        assert run_solver(there, command, "--ray", two_nodes[0]) == printed
    assert answers(there) == answers(here)
    # The local run can be continued on the cluster, and the cluster's run locally.
    for out, options in [(here, ["--ray", two_nodes[0]]), (there, [])]:
        expected, journal = answers(out), out / "results.jsonl"
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:3]))
        run_solver(out, command, *options)
        assert answers(out) == expected


PLANNERS = """
import moves_of_mine

def upwards(state):
    return moves_of_mine.MOVE

class Turner:
    def __init__(self):
        self.ticks = 0

    def __call__(self, state):
        self.ticks += 1
        return "URDL"[self.ticks // 5 % 4]
"""


def test_planners_in_python_are_sent_to_the_nodes(two_nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "moves_of_mine.py").write_text("MOVE = 'U'")
    (tmp_path / "planners_of_mine.py").write_text(PLANNERS)
    monkeypatch.chdir(tmp_path)
    entrants = ["planners_of_mine:upwards", "safest", "turner=planners_of_mine:Turner"]
    here = cluster.tournament(entrants, MAPS, **SMALL)
    assert without_times(cluster.tournament(entrants, MAPS, address=two_nodes[0], **SMALL)) == without_times(here)
    # Ray's workers may find the modules in this folder, but the sent code must run in any folder.
    code = "import json, sys; from getaway import cluster; from ray import cloudpickle; "
    send = code + "sys.stdout.buffer.write(cloudpickle.dumps(cluster._python_planners(sys.argv[1:])))"
    sent = subprocess.run([sys.executable, "-c", send, *entrants, "model:mine.json"], capture_output=True, check=True, timeout=TIMEOUT_S).stdout
    receive = code + "found = cloudpickle.loads(sys.stdin.buffer.read()); print(found[sys.argv[1]](None), *found)"
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", receive, entrants[0]], input=sent, cwd=folder, capture_output=True, check=True, timeout=TIMEOUT_S)
    assert done.stdout.decode().split() == ["U", "planners_of_mine:upwards", "planners_of_mine:Turner"]


# A file to change, a line to append to it, and a pattern for the build that the node reports.
OTHER_BUILDS = {
    "changed": ("cluster.py", "# changed", r"\S+\+\w{16}\.\w{8}"),
    "older": ("__init__.py", "__version__ = '0.0.1'", r"0\.0\.1"),
}


@pytest.mark.parametrize("kind", OTHER_BUILDS)
def test_nodes_with_another_build_are_refused_by_name(two_nodes: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = two_nodes[2]
    file, line, there = OTHER_BUILDS[kind]
    package = tmp_path / "getaway"
    shutil.copytree(Path(getaway.__file__).parent, package)
    if kind == "older":
        (package / "cluster.py").write_text("")
    with (package / file).open("a") as changed:
        changed.write(line + "\n")
    # The node's processes inherit this variable, so they import the changed copy.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    node = nodes.add_node(num_cpus=1)
    monkeypatch.delenv("PYTHONPATH")
    try:
        refusal = rf"^the cluster: node \S+ \(\S+\) has getaway {there}: expected {re.escape(cluster.build())}, from the same wheel$"
        with pytest.raises(ValueError, match=refusal):
            cluster.evaluate("safest", MAPS, address=nodes.address, **SMALL)
    finally:
        nodes.remove_node(node)


def test_driver_repeats_what_the_command_line_asks_for(two_nodes: Any) -> None:
    address = two_nodes[0]
    done = subprocess.run([sys.executable, "-m", "getaway.cluster", address], input="{}\n[0]\n[]\n", capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert "want" in messages[0] and "the series: " in messages[-1]["error"]
