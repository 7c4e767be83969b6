"""Tests of the extension module: bots, games, solutions and the search signature."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

import fuzz_bot
import getaway
from getaway._getaway import signature
from conftest import MAPS, ROOT, TIMEOUT_S


def test_bot_survives_a_whole_game() -> None:
    game = getaway.Game(MAPS / "roundabout")
    bot = getaway.Bot(budget_ms=60_000)
    assert bot.last_decision is None
    while not game.is_over:
        tick = game.tick
        game.step(bot.next_action(game.frame()))
        assert bot.last_decision is not None and bot.last_decision.tick == tick
    assert (game.score, game.tick) == (10_005, 2001)
    assert bot.mispredictions == [0] * len(game.message()["threats"])
    assert bot.last_decision is not None
    assert bot.last_decision.source == "plan"
    assert bot.last_decision.planned_tick == 2001


def test_str_bytes_and_dict_messages_are_equivalent() -> None:
    game = getaway.Game(MAPS / "old-town")
    forms: list[str | bytes | dict[str, Any]] = [game.frame(), game.frame().encode(), game.message()]
    answers = [getaway.Bot("cautious").next_action(form) for form in forms]
    assert answers[0] == answers[1] == answers[2]


def test_staying_is_none_and_actions_of_the_wire_are_dicts() -> None:
    assert getaway.Bot().next_action(getaway.Game(getaway.Map("P#B")).frame()) is None
    game = getaway.Game(getaway.Map("P.\n.."))
    assert game.step({"type": "MOVE_RIGHT"}) == getaway.Move.RIGHT
    assert game.message()["yourCharacter"]["position"] == {"x": 1, "y": 0}
    assert game.step([{"type": "MOVE_UP"}, {"type": "MOVE_TO", "position": {"x": 1, "y": 1}}]) == getaway.Move.DOWN
    assert game.step() is getaway.Move.STAY
    assert game.tick == 4


def test_game_copy_and_reset() -> None:
    game = getaway.Game(getaway.Map("P...\n.##.\n...S"))
    game.step({"type": "MOVE_RIGHT"})
    other = game.copy()
    other.step({"type": "MOVE_RIGHT"})
    assert (game.tick, other.tick) == (2, 3)
    game.reset()
    assert (game.tick, game.is_caught, game.rules["no_jump"], game.map.rows) == (1, False, False, ["P...", ".##.", "...S"])


def test_solution_can_be_replayed_to_its_score() -> None:
    for no_jump in (False, True):
        solution = getaway.solve(MAPS / "roundabout", no_jump=no_jump)
        game = getaway.Game(MAPS / "roundabout", no_jump=no_jump)
        assert getaway.solve(game).moves == solution.moves
        for action in solution.actions:
            game.step(action)
        assert solution.outcome == "survives"
        assert (game.score, game.is_over) == (solution.score, True)
    assert getaway.solve(getaway.Game(getaway.Map("PS"), no_jump=True)).outcome == "doomed"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: getaway.Bot("clever"), ValueError, "no planner named clever"),
        (lambda: getaway.Bot(budget_ms=-1), ValueError, "budget_ms: expected a number of milliseconds from 0 to 1e22, found -1"),
        (lambda: getaway.Bot(budget_ms=float("nan")), ValueError, "budget_ms: expected"),
        (lambda: getaway.Bot(seed=-1), ValueError, "seed: expected a whole number from 0"),
        (lambda: getaway.Bot().next_action("{"), ValueError, "EOF"),
        (lambda: getaway.Bot().next_action('{"tick": "x"}'), ValueError, "invalid message: tick: "),
        (lambda: getaway.Bot().next_action(b"\xff"), ValueError, "invalid UTF-8 at byte 0: expected JSON"),
        (lambda: getaway.Bot().next_action({"tick": {1, 2}}), TypeError, "JSON cannot represent"),
        (lambda: getaway.Bot().next_action(3), TypeError, "expected str, bytes or dict, found int"),  # type: ignore[arg-type]
        (lambda: getaway.Game("no/such/map"), FileNotFoundError, "no such file or folder"),
        (lambda: getaway.Game("no-such-map"), FileNotFoundError, "no map named no-such-map"),
        (lambda: getaway.Game(getaway.Map("P?")), ValueError, "expected one of # "),
        (lambda: getaway.Game(getaway.Map("P")).step(1.5), TypeError, "expected a Move, its number or letter, a dict, a list of dicts or None"),  # type: ignore[arg-type]
        (lambda: getaway.solve(getaway.Game(getaway.Map("P")), no_jump=True), ValueError, "no_jump: expected a game or state of the no-jump variant, found the standard variant"),
        (lambda: getaway.solve("no/such/map"), FileNotFoundError, "no such file or folder"),
    ],
)
def test_errors_are_exceptions_with_a_message(call: object, error: type[Exception], text: str) -> None:
    assert callable(call)
    with pytest.raises(error, match=text):
        call()


def test_any_message_gets_an_action_or_a_clean_error() -> None:
    # Times are not checked here, because the machine may be busy. The script `fuzz_bot.py` checks
    # them.
    counts = fuzz_bot.run(seed=1_000_000_000, count=1000, is_timed=False)
    assert counts.actions > 200 and counts.errors > 200, counts


def test_panic_of_a_fuzzed_bot_is_reported_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(message: object) -> None:
        raise RuntimeError("a bug in getaway")

    monkeypatch.setattr(getaway, "Bot", lambda *_, **__: SimpleNamespace(next_action=panic))
    with pytest.raises(AssertionError, match="bot 7: RuntimeError"):
        fuzz_bot.run(seed=7, count=1, is_timed=False)


def test_stepping_a_finished_game_raises() -> None:
    game = getaway.Game(getaway.Map("PB"))
    while not game.is_over:
        game.step()
    assert game.is_caught
    with pytest.raises(ValueError, match="the game is over"):
        game.step()


def test_other_threads_run_while_a_bot_thinks() -> None:
    game = getaway.Game(MAPS / "metropolis")
    bot = getaway.Bot("uct", budget_ms=86_400_000, budget_ticks=20_000_000)
    thinking = threading.Thread(target=bot.next_action, args=(game.frame(),))
    thinking.start()
    wakeups = 0
    while thinking.is_alive():
        time.sleep(0.005)
        wakeups += 1
    assert wakeups > 5


def test_ctrl_c_ends_a_long_search() -> None:
    script = f"""
import getaway, os, signal, threading
game = getaway.Game({str(MAPS / "metropolis")!r})
try:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:
        getaway.solve(game, budget_ms=60_000)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.stdout == "interrupted\n", done.stderr


INTERPRETERS = """
import sys
try:
    import _interpreters
    new = lambda: _interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as _interpreters
    new = lambda: _interpreters.create(isolated=False)
PLAY = '''
try:
    import getaway
    game = getaway.Game({path!r})
    while not game.is_over:
        game.step(getaway.Move.STAY)
    print(game.threats[0].style, game.moves)
except ImportError as error:
    print(error)
import sys
sys.stdout.flush()
'''
for place in sys.argv[1:]:
    if place == "main":
        exec(PLAY)
    else:
        interpreter = new()
        for run in place:
            _interpreters.run_string(interpreter, PLAY)
        _interpreters.destroy(interpreter)
"""


@pytest.mark.parametrize("places", [["main", "a", "main"], ["aa", "b", "main"], ["a", "main", "b"]])
def test_only_the_first_interpreter_can_import_the_package(places: list[str]) -> None:
    script = INTERPRETERS.replace("{path!r}", repr(str(MAPS / "snail")))
    done = subprocess.run([sys.executable, "-c", script, *places], capture_output=True, text=True, timeout=TIMEOUT_S)
    refused = "getaway: another interpreter of this process has imported it: expected one interpreter per process"
    first, *others = [place[0] for place in places for _ in (place if place != "main" else [place])]
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == len(others) + 1, done.stdout + done.stderr
    assert [line == refused for line in lines] == [False, *(other != first for other in others)], lines


@pytest.mark.parametrize("planner", ["survival", "uct-greedy", "cautious"])
def test_bot_and_play_command_play_the_same_game_for_the_same_seed_and_budget(
    planner: str, getaway_program: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    saved = tmp_path / "game.jsonl"
    options = ["--planner", planner, "--budget-ticks", "40", "--seed", "9", "--no-jump", "--save", str(saved)]
    subprocess.run([getaway_program, "play", str(MAPS / "old-town"), *options], check=True, capture_output=True, timeout=TIMEOUT_S)
    played = [json.loads(line)["actions"] for line in saved.read_text().splitlines()]
    game = getaway.Game(MAPS / "old-town", no_jump=True)
    bot = getaway.Bot(planner, budget_ms=86_400_000, seed=9, budget_ticks=40, no_jump=True)
    for actions in played:
        action = bot.next_action(game.frame())
        assert ([] if action is None else [action]) == actions, game.tick
        game.step(action)
    assert game.is_over


def test_help_needs_no_optional_package() -> None:
    script = "import sys; sys.modules.update(gymnasium=None, stable_baselines3=None); import getaway, inspect, pydoc; "
    script += "members = dict(inspect.getmembers(getaway)); print(len(pydoc.render_doc(getaway)) > 10_000, 'levels' in members, 'gymnasium' in members)"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert run.stdout.split() == ["True", "True", "False"]


def test_search_signature_matches_rust() -> None:
    expected = (ROOT / "tests" / "signature.txt").read_text().strip()
    maps = sorted(path for path in MAPS.iterdir() if (path / "layout.png").is_file())
    assert signature(maps, threads=2) == expected
    with pytest.raises(FileNotFoundError):
        signature([MAPS / "nowhere"])
