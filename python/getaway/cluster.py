"""Runs series of games and ladders, and writes datasets, on this machine or on a Ray cluster.

    from getaway import cluster

    result = cluster.tournament(["survival", "uct-greedy", "cautious"], samples=20)
    result = cluster.tournament(["survival", "uct-greedy"], samples=1000, address="auto")
    print(result["sentence"])
    cluster.dataset("states", 100_000, "cautious", address="auto")

Each function runs the command of the same name, or `getaway eval` for `evaluate`, and returns its
`--json` output as a dict (see `getaway eval --help`). Further keyword arguments are the command's
options, with underscores instead of hyphens: `budget_ticks=500`, `no_jump=True`,
`resume="games.jsonl"`, `report="report.html"`. Maps are given by name or path.

With `address`, the games (or a dataset's shards) run on Ray, which the extra `cluster` installs:
`auto` is the Ray cluster to which this machine belongs, `HOST:PORT` is the cluster at this address,
and `local` starts a cluster on this machine for this call. If all planners are deterministic for a
given seed and there is no `budget_ms`, the cluster does not affect the results, except for measured
times and memory, and the choice of games in a ladder. If a worker dies, the games in its unfinished
batch are played again. The call fails immediately if a node with CPUs has a different build of getaway.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeAlias

__all__ = ["battle", "dataset", "evaluate", "ladder", "tournament"]

_Names: TypeAlias = str | Sequence[str]

# Target duration of a batch of games, far above the few milliseconds that Ray needs per task.
BATCH_S = 0.5
BATCH_GAMES_MAX = 256
# Maximum number of running and queued batches per processor. The queue keeps processors busy.
BATCHES_PER_CPU = 3
# Maximum wait for a finished batch before the next request for games, if the last one got none.
ASK_INTERVAL_S = 1.0
# Time limit of the connection attempt in `check_address`.
CONNECT_S = 5.0
# Matches entrants such as `bots:hunter` or `mine=bots:hunter`; group 1 is `bots:hunter` in both.
PYTHON_PLANNER = re.compile(r"(?:[^\W_][\w.@+-]*=)?\s*([^:=]+:[^:=]+)")


def evaluate(planners: _Names, maps: _Names = (), *, address: str | None = None, **options: Any) -> dict[str, Any]:
    """Evaluate planners on the given maps, or on all bundled maps if none are given."""
    return _run("eval", [], address, options, [*_words("--planner", _list(planners)), *_words("--map", _list(maps))])


def battle(left: str, right: str, maps: _Names = (), *, address: str | None = None, **options: Any) -> dict[str, Any]:
    """Compare two planners in paired games."""
    return _run("battle", [left, right], address, options, _words("--map", _list(maps)))


def tournament(entrants: _Names, maps: _Names = (), *, address: str | None = None, **options: Any) -> dict[str, Any]:
    """Compare all pairs of entrants, or only those with the first entrant if `gauntlet=True`."""
    return _run("tournament", _list(entrants), address, options, _words("--map", _list(maps)))


def ladder(folder: str | Path, added: _Names = (), maps: _Names = (), *, address: str | None = None, **options: Any) -> dict[str, Any]:
    """Add entrants to the ladder in a folder, and run the ladder for `minutes`. Without
    `minutes`, the run ends when no game is left to play; see `getaway ladder --help`.
    """
    return _run("ladder", [str(folder)], address, options, [*_words("--add", _list(added)), *_words("--map", _list(maps))])


def dataset(
    out: str | os.PathLike[str],
    states: int,
    planners: _Names = "cautious",
    maps: _Names = (),
    *,
    address: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Write a dataset to the folder `out`; `getaway.dataset.load` reads it."""
    more = [*_words("--planner", _list(planners)), *_words("--states", states), *_words("--out", out)]
    return _run("dataset", _list(maps), address, options, more)


def _run(command: str, arguments: Sequence[str], address: str | None, options: dict[str, Any], more: Sequence[str] = ()) -> dict[str, Any]:
    words = [sys.executable, "-m", "getaway", command, *more, "--json"]
    if address is not None:
        words += ["--ray", address]
    for name, value in options.items():
        words += _words("--" + name.replace("_", "-"), value)
    done = subprocess.run([*words, "--", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise ValueError(lines[-1].removeprefix("error: "))
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _list(names: _Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _words(option: str, value: Any) -> list[str]:
    """Returns the command-line arguments that set an option. A list or tuple repeats the option for
    each item, True adds the option without a value, and False or None omits it."""
    if value is True:
        return [option]
    if value is False or value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [word for item in value for word in (option, str(item))]
    return [option, str(value)]


def _play(series: str, items: list[Any], callables: dict[str, Any]) -> tuple[list[str], float]:
    """Runs a batch of jobs. Returns one JSON text per job, and the elapsed time in seconds."""
    from getaway._getaway import play_games, play_shards, solve_instances

    start = time.perf_counter()
    if series.startswith('{"dataset"'):
        records = play_shards(series, items, callables)
    elif series.startswith('{"benchmark"'):
        records = solve_instances(series, items)
    else:
        records = play_games(series, json.dumps(items), callables)
    return records, time.perf_counter() - start


def build() -> str:
    """Returns one string: getaway's version, a hash of the Rust sources that affect results, and a
    hash of the package's Python files."""
    from getaway._getaway import __build__

    files = sorted(Path(__file__).parent.glob("*.py"))
    return f"{__build__}.{hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:8]}"


def _python_planners(entrants: Iterable[str]) -> dict[str, Any]:
    """Returns the Python planners among the entrants, by `MODULE:NAME`. If there are any, lets Ray
    send the loaded modules in the working directory, except for getaway and installed packages.
    Every node must have all other modules that the planners use."""
    from getaway import _callables
    from ray import cloudpickle

    found: dict[str, Any] = {}
    for entrant in entrants:
        match = PYTHON_PLANNER.fullmatch(entrant.strip())
        name = match[1] if match else ""
        module, _, path = name.partition(":")
        # Entrants such as `lookahead:12` and `exec:./bot` also match, but are not Python planners.
        if module in ("exec", "model", "pipe") or not all(part.isidentifier() for part in [*module.split("."), *path.split(".")]):
            continue
        found[name] = _callables.find(name)
    if found:
        folder = os.getcwd()
        for loaded in [*sys.modules.values()]:
            file = getattr(loaded, "__file__", None) or ""
            is_own = file.startswith(folder + os.sep) and not file.startswith(sys.prefix) and "site-packages" not in file
            if is_own and loaded.__name__.partition(".")[0] not in ("getaway", "__main__"):
                cloudpickle.register_pickle_by_value(loaded)
    return found


def check_nodes(ray: Any) -> None:
    """Checks that all live nodes with CPUs have the same build of getaway as this process.

    Raises:
        RuntimeError: if a node has a different build; the message names the node.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def build_there() -> str:
        # Ray sends nested functions by value, so this function also runs on nodes without getaway.
        try:
            import getaway
        except ImportError as error:
            return f"none ({error})"
        try:
            from getaway.cluster import build
        except ImportError:
            return getaway.__version__
        return build()

    remote = ray.remote(num_cpus=0)(build_there)
    here = build()
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    found = [
        (node, remote.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote())
        for node in nodes
    ]
    for node, answer in found:
        there = ray.get(answer)
        if there != here:
            raise RuntimeError(
                f"node {node['NodeManagerHostname']} ({node['NodeManagerAddress']}) has getaway {there}: expected {here}, from the same wheel"
            )


class _Driver:
    """Runs the command line's jobs on Ray. crates/runs/src/jobs.rs describes the messages."""

    def __init__(self, ray: Any, series: str, channel: TextIO) -> None:
        self.ray = ray
        self.channel = channel
        # Ray reruns a task if its worker dies, but not if the task raises an exception.
        self.play = ray.remote(max_retries=-1, num_cpus=1)(_play)
        self.series = ray.put(series)
        described = json.loads(series)
        described = json.loads(described["series"]) if "dataset" in described else described
        # One instance per batch: an instance can take a long time, and if a worker dies, Ray
        # reruns its whole batch.
        self.batch_games_max = 1 if "benchmark" in described else BATCH_GAMES_MAX
        self.planners = _python_planners(described.get("planners", []))
        self.callables = ray.put(self.planners)
        self.running: dict[Any, list[Any]] = {}
        self.waiting: deque[Any] = deque()
        self.has_more = True
        self.is_short = False
        self.game_s: float | None = None

    def say(self, message: dict[str, Any]) -> None:
        self.channel.write(json.dumps(message) + "\n")
        self.channel.flush()

    def batch_games(self) -> int:
        """Returns the maximum number of games per batch: 1 until the first batch has finished."""
        if self.game_s is None:
            return 1
        return max(1, min(self.batch_games_max, round(BATCH_S / max(self.game_s, 1e-6))))

    def take(self, count: int) -> None:
        self.say({"want": count})
        more: list[Any] = json.loads(sys.stdin.readline() or "[]")
        self.waiting.extend(more)
        self.has_more, self.is_short = bool(more), len(more) < count
        found = _python_planners({item["entrant"] for item in more if isinstance(item, dict) and "entrant" in item})
        if not found.keys() <= self.planners.keys():
            self.planners.update(found)
            self.callables = self.ray.put(self.planners)

    def fill(self) -> None:
        """Starts batches until there are enough for all processors or no games are left. When few
        games are left, batches are smaller, so that all processors finish at about the same time."""
        cpus = max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        while len(self.running) < BATCHES_PER_CPU * cpus:
            size = self.batch_games()
            if len(self.waiting) < size and self.has_more:
                self.take(size * BATCHES_PER_CPU * cpus)
            if not self.waiting:
                return
            if self.is_short:
                size = max(1, min(size, len(self.waiting) // (2 * cpus)))
            batch = [self.waiting.popleft() for _ in range(min(size, len(self.waiting)))]
            self.running[self.play.remote(self.series, batch, self.callables)] = batch

    def run(self) -> None:
        self.fill()
        while self.running:
            done, _ = self.ray.wait(list(self.running), num_returns=1, timeout=None if self.has_more else ASK_INTERVAL_S)
            for task in done:
                batch = self.running.pop(task)
                records, seconds = self.ray.get(task)
                game_s = seconds / len(batch)
                self.game_s = game_s if self.game_s is None else 0.8 * self.game_s + 0.2 * game_s
                for item, record in zip(batch, records, strict=True):
                    self.channel.write(f'{{"played": [{json.dumps(item)}, {record}]}}\n')
            self.channel.flush()
            # The results can lead to more games, and a ladder can get a new entrant at any time.
            self.has_more = True
            self.fill()


def check_address(address: str) -> None:
    """Raises OSError if `address` is HOST:PORT or ray://HOST:PORT and cannot be reached. Ray would
    retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise OSError(f"cannot connect to {address}: {error}") from error


def main(arguments: Iterable[str]) -> int:
    """Runs the jobs of a command with `--ray ADDRESS`. `arguments` contains only the address."""
    (address,) = arguments
    series = sys.stdin.readline()
    # Ray's output goes to stderr, so that stdout carries only the messages to the command.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        import ray
    except ImportError:
        channel.write(json.dumps({"error": "Ray is not installed (in the checkout, pip install '.[cluster]')"}) + "\n")
        channel.close()
        return 2
    try:
        check_address(address)
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False if address == "local" else None)
        check_nodes(ray)
        _Driver(ray, series.strip(), channel).run()
    except Exception as error:  # noqa: BLE001: the command line reports every error
        channel.write(json.dumps({"error": " ".join(str(error).split()) or type(error).__name__}) + "\n")
        return 1
    finally:
        channel.close()
        ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
