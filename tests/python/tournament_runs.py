"""Checks the arena in long runs with external bots or on a Ray cluster:

    .venv/bin/python tests/python/tournament_runs.py bots --games 20
    .venv/bin/python tests/python/tournament_runs.py kills --count 10 --seed 1
    .venv/bin/python tests/python/tournament_runs.py drips --count 10000 --tick-ms 20
    .venv/bin/python tests/python/tournament_runs.py stops --count 5
    .venv/bin/python tests/python/tournament_runs.py strays --count 1000
    .venv/bin/python tests/python/tournament_runs.py ray --rounds 3 --seconds 10

`bots` plays bots that behave, crash, hang, send garbage or are late: the report must count their
failures by kind. `kills` kills and resumes a tournament: the result must be the same as without
kills, except for parts that may depend on timing. `drips` plays bots that send their answers in
pieces: from tick 2 on, an answer completed more than 5 ms after the time limit must not count.
`stops` interrupts games of hostile bots with Ctrl-C: the command must end within a second. `strays`
plays bots that detach processes in seven ways. All of these except `drips` also check that no
process is left.

`ray` plays the same games on two threads and on a Ray cluster of two nodes with one processor each.
It compares the games per second, with and without the cluster's start-up time. The start-up time is
the time of a cluster run with a single game.
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
import threading
import time
from pathlib import Path
from typing import Any

import hostile_bot
import waiting
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TIMEOUT_S = 3600
BEHAVIOURS = {"well": None, "crash": "crashed", "hang": "silent", "garbage": "garbage", "late": None}
ENTRANTS = ["survival", "safest", "random", "lookahead:4", "cautious"]
SHELL_BOTS = ["pipe:sh examples/bots/walker.sh", "pipe:exit 1", "pipe:while read -r x; do echo hello; done"]


def open_ports() -> set[int]:
    ports = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] in ("01", "0A"):
            ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def battle(program: Path, bot: str, games: int, tick_ms: int) -> dict[str, Any]:
    """Plays the bot against `survival`, and returns the report. Checks that no process is left."""
    mark = new_mark()
    command = [str(program), "battle", bot, "survival", "--samples", str(games), "--json", "--allow-failures", "--tick-ms", str(tick_ms)]
    done = subprocess.run([*command, "--map", "snail", "--threads", "2"], cwd=ROOT, env={**os.environ, "MARK": mark}, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    wait_for_end(mark, bot)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def run_bots(program: Path, games: int, tick_ms: int) -> list[str]:
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
        assert len(used) >= min(games, 2), "the games over websockets used too few ports"
        assert not used & open_ports(), "sockets are left"
    return lines


def standing(program: Path, more: list[str]) -> dict[str, Any]:
    """Plays a tournament and returns its result without the parts that may depend on timing."""
    done = subprocess.run(tournament(program, more), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    for bot in result["external"]:
        # A failure message says whether the bot's process has exited yet, which depends on timing.
        del bot["failures"]
    for entrant in result["standing"]:
        entrant["games"] = {name: value for name, value in entrant["games"].items() if not name.startswith(("decision_", "cost"))}
    for name in ("entrants", "troubles", "sentence"):
        del result[name]
    for bot in (*result["external"], *(pair["verdict"] for pair in result["pairs"])):
        for name in ("trouble", "troubles", "sentence"):
            bot.pop(name, None)
    return result


def tournament(program: Path, more: list[str]) -> list[str]:
    """Returns the command that plays one game per entrant and map, with ample time per tick."""
    # walker.sh keeps its state between games, so each game needs a new process (`--restart`).
    options = ["--samples", "1", "--budget-ticks", "200", "--tick-ms", "5000", "--restart", "--json"]
    return [str(program), "tournament", *ENTRANTS, *SHELL_BOTS, "--allow-failures", *options, *more]


def lines_of(file: Path) -> int:
    return len(file.read_bytes().splitlines()) if file.exists() else 0


def run_kills(program: Path, count: int, seed: int) -> list[str]:
    """Kills and resumes a tournament `count` times; `standing` must return the same result as for
    an uninterrupted run."""
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
            mark = new_mark()
            process = subprocess.Popen(tournament(program, resume), cwd=ROOT, env={**os.environ, "MARK": mark}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # The games are divided into `count + 1` parts of about equal size. Each part except the
            # last has a kill, at a random game, or at once if this game has already been played.
            goal = max(played, rng.randint((kill - 1) * games // (count + 1), kill * games // (count + 1)))
            reached = lambda: lines_of(file) > goal or process.poll() is not None
            wait_until(f"{goal} games", reached, timeout_s=TIMEOUT_S, pause_s=0.002)
            time.sleep(rng.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            process.wait()
            played = lines_of(file) - 1
            wait_for_end(mark, f"kill {kill}")
            lines.append(f"kill {kill}: {played} of {games} games")
        resumed = standing(program, resume)
        different = [name for name in whole if whole[name] != resumed[name]]
        assert resumed == whole, f"different from an uninterrupted run: {', '.join(different)}"
    return [*lines, "the same result as an uninterrupted run"]


def hostile(transport: str, *what: object) -> str:
    return f"{transport}:exec {sys.executable} {Path(hostile_bot.__file__).resolve()} {' '.join(map(str, what))}"


def run_drips(program: Path, count: int, tick_ms: int) -> list[str]:
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:

        def play(transport: str) -> None:
            found[transport] = drips(program, transport, count, tick_ms, Path(folder) / transport)

        threads = [threading.Thread(target=play, args=(transport,)) for transport in ("exec", "pipe")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == len(threads), "a transport failed"
    return list(found.values())


def drips(program: Path, transport: str, count: int, tick_ms: int, folder: Path) -> str:
    """Plays games until at least `count` answers have been timed; checks the times and returns a
    summary."""
    folder.mkdir()
    notes, saved = folder / "notes", folder / "game.jsonl"
    accepted_ms: list[float] = []
    refused_ms: list[float] = []
    games = 0
    while len(accepted_ms) + len(refused_ms) < count:
        games += 1
        notes.unlink(missing_ok=True)
        saved.unlink(missing_ok=True)
        command = [str(program), "play", "snail", "--planner", hostile(transport, "drip", tick_ms, notes), "--save", str(saved)]
        options = ["--tick-ms", str(tick_ms), "--seed", str(games)]
        done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        # By chance, the bot may miss 20 ticks in a row. It then fails.
        assert done.returncode == 0 or "fell silent" in done.stderr, done.stderr
        accepted = {}
        for line in saved.read_text().splitlines():
            tick = json.loads(line)
            answer = tick.get("wire", {}).get("command")
            if answer:
                accepted[tick["game_message"]["tick"]] = answer["ms"]
        for line in notes.read_text().splitlines():
            number, received_ns, completed_ns = map(int, line.split())
            # The arena's time for a piped bot's first answer includes the start of its program.
            if number > 1:
                (accepted_ms if number in accepted else refused_ms).append((completed_ns - received_ns) / 1e6)
                assert accepted.get(number, 0) <= tick_ms + 5, f"{transport}, tick {number}: {accepted[number]} ms"
    assert max(accepted_ms) <= tick_ms + 5, f"{transport}: accepted an answer that took {max(accepted_ms):.1f} ms"
    assert max(refused_ms) > tick_ms, f"{transport}: no answer was late"
    return (
        f"{transport}: {len(accepted_ms) + len(refused_ms)} answers in {games} games with {tick_ms} ms per tick: {len(accepted_ms)} accepted,"
        f" which took at most {max(accepted_ms):.2f} ms, and {len(refused_ms)} refused, which took up to {max(refused_ms):.2f} ms"
    )


def marked(mark: str) -> list[str]:
    """Returns the command lines of processes with `mark` in their environment or arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            arguments = (entry / "cmdline").read_bytes()
            if mark.encode() in arguments + (entry / "environ").read_bytes():
                found.append(arguments.replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def wait_for_end(mark: str, what: str) -> None:
    # A single search may miss a bot that keeps moving to new processes.
    wait_until(f"no process is left: {what}", lambda: not any(marked(mark) for _ in range(5)))


def start_marked(program: Path, mark: str, *options: str) -> subprocess.Popen[bytes]:
    command = [str(program), "eval", "--map", "snail", "--threads", "2", "--allow-failures", *options]
    environment = {**os.environ, "MARK": mark}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def new_mark() -> str:
    return str(random.SystemRandom().randint(10**17, 10**18))


def run_stops(program: Path, count: int, seed: int) -> list[str]:
    bots = [(transport, what) for transport in ("exec", "pipe") for what in [*hostile_bot.ATTACKS, *hostile_bot.STRAYS]]
    lines = []
    for transport, what in bots:
        longest_s = run_stop(program, transport, what, count=count, seed=seed)
        lines.append(f"{transport} {what}: Ctrl-C took at most {longest_s:.3f} s in {count} stops")
        assert longest_s <= 1, lines[-1]
    return lines


def run_stop(program: Path, transport: str, what: str, *, count: int, seed: int, tick_ms: int = 100) -> float:
    """Interrupts `count` series of games with a hostile bot; returns the longest time in seconds
    that a series took to end."""
    rng = random.Random(f"{seed} {transport} {what}")
    took_s = []
    for _ in range(count):
        mark = new_mark()
        series = start_marked(program, mark, "--samples", "1000", "--tick-ms", str(tick_ms), "--planner", hostile(transport, what))
        wait_for_bots(mark)
        time.sleep(rng.uniform(0, 1.5))
        start = time.monotonic()
        series.send_signal(signal.SIGINT)
        series.wait(waiting.TIMEOUT_S)
        took_s.append(time.monotonic() - start)
        wait_for_end(mark, f"{transport} {what}")
    return max(took_s)


def wait_for_bots(mark: str) -> None:
    wait_until("a bot has started", lambda: any(hostile_bot.__file__ in line and "eval" not in line for line in marked(mark)))


def run_strays(program: Path, count: int, kills: int, seed: int) -> list[str]:
    """Plays at least `count` games of bots that leave processes behind. Then plays `kills` further
    series, and stops each with a signal at a random time."""
    rng = random.Random(seed)
    bots = [hostile(transport, what, *more) for what in hostile_bot.STRAYS for transport in ("exec", "pipe") for more in ((), ("crash",))]
    planners = [word for bot in bots for word in ("--planner", bot)]
    samples = -(-count // len(bots))
    mark = new_mark()
    series = start_marked(program, mark, "--samples", str(samples), "--restart", "--tick-ms", "100", *planners)
    most = 0
    while series.poll() is None:
        most = max(most, len(marked(mark)))
        time.sleep(0.1)
    assert series.returncode == 0, "the series failed"
    wait_for_end(mark, "a series that ended without a kill")
    lines = [f"{samples * len(bots)} games of {len(bots)} bots: nothing is left; at most {most} processes at a time"]
    for number in range(kills):
        kill = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)[number % 3]
        mark = new_mark()
        rng.shuffle(bots)
        planners = [word for bot in bots for word in ("--planner", bot)]
        series = start_marked(program, mark, "--samples", "100", *planners)
        wait_for_bots(mark)
        time.sleep(rng.uniform(0, 2))
        series.send_signal(kill)
        series.wait(waiting.TIMEOUT_S)
        wait_for_end(mark, kill.name)
    return [*lines, f"{kills} series stopped by a signal: nothing is left"]


def timed_eval(samples: int, folder: Path, name: str, more: list[str], planner: str = "sampling") -> tuple[float, bytes]:
    """Returns the command's duration in seconds, and its games as sorted lines without `times` and
    `check`."""
    options = ["--planner", planner, "--samples", str(samples), "--budget-ticks", "1000", "--resume", str(folder / f"{name}.jsonl")]
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "getaway", "eval", *options, *more], cwd=ROOT, capture_output=True, timeout=TIMEOUT_S, check=True)
    elapsed_s = time.monotonic() - start
    # The first line holds the settings. The `check` of a line also depends on all earlier lines.
    games = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()[1:]]
    for game in games:
        game.pop("times", None)
        game.pop("check")
    # The games are in the order in which they ended, which varies between runs.
    return elapsed_s, "\n".join(sorted(json.dumps(game, sort_keys=True) for game in games)).encode()


def run_ray(rounds: int, seconds: float) -> list[str]:
    """Compares a cluster of two nodes with two threads; returns one line per round and a line of
    medians."""
    from ray.cluster_utils import Cluster

    # By default, Ray's workers have a low priority, so other load would distort the ratio.
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
                start_s, _ = timed_eval(1, Path(folder), f"start{number}", ["--ray", nodes.address, "--map", "snail"], "random")
                assert there == here, "the cluster played different games"
                games = len(here.splitlines())
                ratios.append(here_s / there_s)
                playing.append(here_s / (there_s - start_s))
                lines.append(
                    f"round {number}: {games} games, {here_s:.1f} s on two threads, {there_s:.1f} s on the cluster, {start_s:.1f} s of them for start-up;"
                    f" the cluster plays {ratios[-1]:.2f} times as many games per second, {playing[-1]:.2f} times without start-up"
                )
    finally:
        nodes.shutdown()
    middle = len(ratios) // 2
    return [*lines, f"median ratio {sorted(ratios)[middle]:.2f}, without start-up {sorted(playing)[middle]:.2f}"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Long runs of the arena with external bots and on a cluster.")
    parser.add_argument("what", choices=["bots", "kills", "drips", "stops", "strays", "ray"])
    parser.add_argument("--games", type=int, default=20, help="games of each of the ten bots (bots)")
    parser.add_argument("--tick-ms", type=int, default=100, help="time limit per tick in milliseconds (bots and drips)")
    parser.add_argument("--count", type=int, default=10, help="number of kills (kills) or stops per bot (stops), or minimum number of answers per transport (drips) or games (strays)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices (kills, stops and strays)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each on two threads and on the cluster (ray)")
    parser.add_argument("--seconds", type=float, default=10, help="approximate time of a round on two threads, in seconds (ray)")
    parser.add_argument("--program", type=Path, default=TARGET / "release" / "getaway", help="path of the `getaway` program")
    options = parser.parse_args()
    program = options.program.resolve()
    if options.what == "ray":
        lines = run_ray(options.rounds, options.seconds)
    elif options.what == "drips":
        lines = run_drips(program, options.count, options.tick_ms)
    elif options.what == "stops":
        lines = run_stops(program, options.count, options.seed)
    elif options.what == "strays":
        lines = run_strays(program, options.count, kills=20, seed=options.seed)
    elif options.what == "bots":
        lines = run_bots(program, options.games, options.tick_ms)
    else:
        lines = run_kills(program, options.count, options.seed)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
