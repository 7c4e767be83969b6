"""Long runs of the arena with external bots and on a cluster, of which the test suite has short versions.

    .venv/bin/python tests/python/tournament_runs.py bots --games 20
    .venv/bin/python tests/python/tournament_runs.py kills --count 10 --seed 1
    .venv/bin/python tests/python/tournament_runs.py ray --rounds 3 --seconds 10

`bots` plays battles of `survival` against bots that behave well, crash, hang, answer garbage and are late every tenth tick, over a
websocket and over pipes: the report must tell them apart, and no process and no socket may be left. `kills` kills a tournament of
eight entrants, three of them external, on all bundled maps at random moments: resumed, it must end with the standing of an
undisturbed run. `ray` measures the games a second of a Ray cluster of two nodes, with one processor each, beside those of the arena on
two threads, in turns: `--seconds` is the arena's time, so the work of each worker. The cluster's ratio is that of the whole commands, and
without the seconds that its command takes for a single game: to import Ray, to connect, to start a worker. Both must write the same games.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TIMEOUT_S = 3600
BEHAVIOURS = {"well": None, "crash": "crashed", "hang": "silent", "garbage": "garbage", "late": None}
ENTRANTS = ["survival", "safest", "random", "lookahead:4", "cautious"]
SHELL_BOTS = ["pipe:sh examples/bots/walker.sh", "pipe:exit 1", "pipe:while read -r x; do echo hello; done"]


def left_processes(session: int) -> list[str]:
    """The processes of a session."""
    left = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                left.append((entry / "cmdline").read_text().replace("\0", " "))
        except (OSError, IndexError, ValueError):
            continue
    return left


def open_ports() -> set[int]:
    """The local ports that are listening or connected."""
    ports = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] in ("01", "0A"):
            ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def battle(program: Path, bot: str, games: int, tick_ms: int) -> dict[str, Any]:
    """Plays a bot against `survival`; returns the report, after making sure that nothing is left."""
    command = [str(program), "battle", bot, "survival", "--samples", str(games), "--json", "--tick-ms", str(tick_ms)]
    process = subprocess.Popen([*command, "snail", "--threads", "2"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    output, log = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, log
    end = time.monotonic() + 10
    while left_processes(process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert left_processes(process.pid) == [], "processes are left"
    report: dict[str, Any] = json.loads(output)
    return report


def run_bots(program: Path, games: int, tick_ms: int) -> list[str]:
    """Plays `games` games of each bot; returns what the program says about them."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        ports = Path(folder) / "ports"
        ports.touch()
        os.environ["LATE_S"] = str(1.5 * tick_ms / 1000)
        for transport in ("exec", "pipe"):
            for what, failure in BEHAVIOURS.items():
                bot = f"{transport}:{sys.executable} tests/python/misbehaving_bot.py {what} {ports}"
                found = battle(program, bot, games, tick_ms)["external"][0]
                counts = {name: found[name] for name in ("games", "crashed", "silent", "garbage", "late_commands", "missed_ticks")}
                lines.append(f"{transport} {what}: {counts} {found['failures']}")
                assert found["games"] == games, lines[-1]
                expected = {name: games if name == failure else 0 for name in ("crashed", "silent", "garbage")}
                assert {name: found[name] for name in expected} == expected, lines[-1]
                assert what != "late" or found["late_commands"] >= games, lines[-1]
        used = {int(line) for line in ports.read_text().split()}
        assert len(used) >= min(games, 2), "every game over a websocket has a port"
        assert not used & open_ports(), "sockets are left"
    return lines


def standing(program: Path, more: list[str]) -> dict[str, Any]:
    """Plays the tournament to its end; returns its result without times and without words about failures."""
    done = subprocess.run(tournament(program, more), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    for bot in result["external"]:
        # How a program ended is known only if it ended soon, and a busy machine takes its time.
        del bot["failures"]
    for entrant in result["standing"]:
        entrant["games"] = {name: value for name, value in entrant["games"].items() if not name.startswith("decision_")}
    return result


def tournament(program: Path, more: list[str]) -> list[str]:
    """The command: one game on each map, with enough time for bots on a busy machine."""
    # The bot in shell remembers its last game: only in a process of its own is a game the same in any order.
    options = ["--samples", "1", "--budget-ticks", "200", "--tick-ms", "5000", "--restart", "--json"]
    return [str(program), "tournament", *ENTRANTS, *SHELL_BOTS, *options, *more]


def run_kills(program: Path, count: int, seed: int) -> list[str]:
    """Kills a tournament `count` times, resuming after each; the result must be that of an undisturbed run."""
    rng = random.Random(seed)
    lines = []
    whole = standing(program, [])
    assert len(whole["standing"]) == 8 and whole["games"] == 8 * 15, whole["games"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "games.jsonl"
        resume = ["--resume", str(file)]
        games = whole["games"]
        played = 0
        for kill in range(1, count + 1):
            process = subprocess.Popen(tournament(program, resume), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            # Every kill is somewhere in its share of the games, so that the last one comes before
            # the end.
            goal = max(played, rng.randint((kill - 1) * games // (count + 1), kill * games // (count + 1)))
            while played < goal and process.poll() is None:
                time.sleep(0.002)
                played = len(file.read_bytes().splitlines()) if file.exists() else 0
            time.sleep(rng.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            process.wait()
            played = len(file.read_bytes().splitlines()) if file.exists() else 0
            end = time.monotonic() + 10
            while left_processes(process.pid) and time.monotonic() < end:
                time.sleep(0.05)
            assert left_processes(process.pid) == [], "a killed run leaves bots"
            lines.append(f"kill {kill}: {played} of {games} games")
        resumed = standing(program, resume)
        different = [name for name in whole if whole[name] != resumed[name]]
        assert resumed == whole, f"different from an undisturbed run: {', '.join(different)}"
    return [*lines, "the same result as an undisturbed run"]


def timed_eval(samples: int, folder: Path, name: str, more: list[str], planner: str = "sampling") -> tuple[float, bytes]:
    """Evaluates a planner; returns the seconds that the command took, and the games without their times."""
    options = ["--planner", planner, "--samples", str(samples), "--budget-ticks", "1000", "--resume", str(folder / f"{name}.jsonl")]
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "getaway", "eval", *options, *more], cwd=ROOT, capture_output=True, timeout=TIMEOUT_S, check=True)
    elapsed_s = time.monotonic() - start
    games = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    for game in games:
        game.pop("times", None)
    # In the order of the series; the file has them as they ended.
    return elapsed_s, "\n".join(sorted(json.dumps(game, sort_keys=True) for game in games)).encode()


def run_ray(rounds: int, seconds: float) -> list[str]:
    """Measures a cluster of two nodes beside the arena on two threads; returns a line for each round, and the ratios."""
    from ray.cluster_utils import Cluster

    # By default Ray's workers give way to all other processes; on a busy machine the ratio would be about those.
    os.environ["RAY_worker_niceness"] = "0"
    lines, ratios, playing = [], [], []
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes.add_node(num_cpus=1)
        with tempfile.TemporaryDirectory() as folder:
            first_s, _ = timed_eval(4, Path(folder), "first", ["--threads", "2"])
            samples = max(4, round(4 * seconds / first_s))
            for number in range(1, rounds + 1):
                here_s, here = timed_eval(samples, Path(folder), f"here{number}", ["--threads", "2"])
                there_s, there = timed_eval(samples, Path(folder), f"there{number}", ["--ray", nodes.address])
                start_s, _ = timed_eval(1, Path(folder), f"start{number}", ["--ray", nodes.address, "--", "snail"], "random")
                assert there == here, "the cluster plays other games"
                games = len(here.splitlines())
                ratios.append(here_s / there_s)
                playing.append(here_s / (there_s - start_s))
                lines.append(
                    f"round {number}: {games} games, {here_s:.1f} s here, {there_s:.1f} s on the cluster, {start_s:.1f} s of them to start;"
                    f" games per second {ratios[-1]:.2f} times, without the start {playing[-1]:.2f} times"
                )
    finally:
        nodes.shutdown()
    middle = len(ratios) // 2
    return [*lines, f"median {sorted(ratios)[middle]:.2f}, without the start {sorted(playing)[middle]:.2f}"]


def main() -> int:
    """Parses the command line and runs."""
    parser = argparse.ArgumentParser(description="Long runs of the arena with external bots and on a cluster.")
    parser.add_argument("what", choices=["bots", "kills", "ray"])
    parser.add_argument("--games", type=int, default=20, help="games of each of the ten bots")
    parser.add_argument("--tick-ms", type=int, default=100, help="time limit of the bots")
    parser.add_argument("--count", type=int, default=10, help="number of kills")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments of the kills")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of here and on the cluster")
    parser.add_argument("--seconds", type=float, default=10, help="time of a round here")
    parser.add_argument("--program", type=Path, default=TARGET / "debug" / "getaway", help="path of the `getaway` program")
    options = parser.parse_args()
    program = options.program.resolve()
    if options.what == "ray":
        lines = run_ray(options.rounds, options.seconds)
    elif options.what == "bots":
        lines = run_bots(program, options.games, options.tick_ms)
    else:
        lines = run_kills(program, options.count, options.seed)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
