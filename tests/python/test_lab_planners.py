"""Tests of planners written in Python, used from Python and from the command line."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import MAPS, ROOT, TIMEOUT_S, clean_environment
from getaway import Bot, Game, Map, Move, State
from getaway.arena import Results, battle, evaluate

EXAMPLES = ROOT / "examples" / "python"
sys.path.insert(0, str(EXAMPLES))
from keep_away import Patrol, planner  # noqa: E402

COMMAND = Path(sys.executable).parent / "getaway"
PATHS = [MAPS / "roundabout", MAPS / "snail"]


def command(*options: str, folder: Path = EXAMPLES, code: int = 0) -> str:
    done = subprocess.run(
        [str(COMMAND), *options], cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def played(callable: Any, game: Game) -> Game:
    """Plays the game to its end with the callable's moves, without a bot; returns the game."""
    while not game.is_over:
        game.step(callable(game.state))
    return game


@pytest.mark.parametrize("name", ["roundabout", "old-town", "metropolis"])
def test_a_bot_plays_what_the_callable_chooses(name: str) -> None:
    expected = played(planner, Game(MAPS / name))
    for given in (planner, "keep_away:planner"):
        game = Game(MAPS / name)
        assert Bot(given, budget_ms=60_000).play(game) == len(game.moves) == len(expected.moves)
        assert game == expected
    game = Game(MAPS / name, no_jump=True)
    Bot(planner, budget_ms=60_000, no_jump=True).play(game)
    assert game == played(planner, Game(MAPS / name, no_jump=True))


def test_a_planner_sees_whole_states_and_answers_in_any_form_of_a_move() -> None:
    seen: list[State] = []
    answers: list[Any] = [Move.RIGHT, 1, "R", "L", 0]

    def scripted(state: State) -> Any:
        seen.append(state)
        return answers[len(seen) - 1] if len(seen) <= len(answers) else "."

    game = Game(MAPS / "old-town")
    Bot(scripted, budget_ms=60_000).play(game)
    assert game.moves.startswith("RR.LL....")
    again = Game(MAPS / "old-town")
    for state, move in zip(seen, game.moves):
        assert (state.tick, state.player, state.threats) == (again.tick, again.player, again.threats)
        again.step(move)


def test_a_class_makes_a_new_planner_for_each_game() -> None:
    made = 0

    class Counting(Patrol):
        def __init__(self) -> None:
            nonlocal made
            made += 1
            super().__init__()

    results = evaluate(Counting, MAPS / "roundabout", samples=4, threads=2)
    assert made >= 4 and len({game["score"] for game in results.games}) == 1


def test_bot_continues_a_game_from_its_current_state() -> None:
    game = Game(MAPS / "roundabout", moves="....")
    assert Bot(budget_ms=60_000).play(game) == 1996 and game.status == "complete"
    assert Bot().play(game) == 0
    with pytest.raises(ValueError, match="game: its rules differ from those of the bot: expected the same"):
        Bot(no_jump=True).play(Game(MAPS / "roundabout"))


def test_results_are_plain_data_and_the_same_on_any_number_of_threads() -> None:
    options: dict[str, Any] = {"samples": 2, "seed": 5, "budget_ticks": 200}
    results = evaluate(["safest", planner], PATHS, threads=1, **options)
    assert [game["planner"] for game in results.games[:2]] == ["safest", "keep_away:planner"]
    assert len(results.games) == 8 and json.loads(json.dumps(results.games)) == results.games
    assert {type(value) for game in results.games for value in game.values()} == {str, int, float, bool}
    assert [each["planner"] for each in results.planners] == ["safest", "keep_away:planner"]
    mean = sum(game["score"] for game in results.games if game["planner"] == "safest") / 4
    assert results.planners[0]["overall"]["score_mean"] == mean and results.match is None
    again = evaluate(["safest", planner], PATHS, threads=3, **options)

    def untimed(results: Results) -> list[dict[str, Any]]:
        return [{name: value for name, value in game.items() if not name.endswith("_ms")} for game in results.games]

    assert untimed(again) == untimed(results)
    assert "keep_away:planner" in repr(results) and "<td>safest</td>" in results._repr_html_()


@pytest.mark.parametrize("name", ["seed", "budget_ticks"])
def test_numbers_are_read_as_those_of_a_bot(name: str) -> None:
    calls: list[Any] = [Bot, lambda **options: evaluate("random", MAPS / "snail", samples=1, **options)]
    for call in calls:
        call(**{name: np.int64(3)})
        with pytest.raises(ValueError, match=f"{name}: expected a whole number from 0"):
            call(**{name: -1})
        with pytest.raises(TypeError, match=f"{name}: expected an int, found float"):
            call(**{name: 1.5})


def test_the_command_line_gives_the_same_games() -> None:
    names = ["roundabout", "snail"]
    maps = [word for name in names for word in ("--map", name)]
    options = ["--samples", "2", "--budget-ticks", "200", "--seed", "5"]
    results = evaluate([planner, "random"], names, samples=2, budget_ticks=200, seed=5)
    report = json.loads(command("eval", "--planner", "keep_away:planner", "--planner", "random", *options, "--json", *maps))
    for theirs, ours in zip(report["planners"], results.planners):
        assert theirs["planner"] == ours["planner"] and theirs["overall"]["score_mean"] == ours["overall"]["score_mean"]
    result = battle(planner, "random", names, samples=2, budget_ticks=200, seed=5)
    assert result.match is not None and result.match["overall"]["wins"] > 0 and result.sentence is not None
    assert result.sentence in command("battle", "keep_away:planner", "random", *options, *maps)


def test_the_command_line_plays_and_shows_planners_in_python(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "keep_away.py", tmp_path)
    report = json.loads(command("play", "roundabout", "--planner", "keep_away:planner", "--json", folder=tmp_path))
    assert report["score"] == played(planner, Game(MAPS / "roundabout")).score
    report = json.loads(command("play", "roundabout", "--planner", "keep_away:Patrol", "--json", folder=tmp_path))
    assert report["score"] == played(Patrol(), Game(MAPS / "roundabout")).score
    command("view", "roundabout", "--planner", "keep_away:planner", "--html", "game.html", folder=tmp_path)
    assert "keep_away:planner" in (tmp_path / "game.html").read_text()


def test_a_data_frame_has_a_row_per_game(monkeypatch: pytest.MonkeyPatch) -> None:
    results = evaluate("random", MAPS / "roundabout", samples=3, budget_ticks=10)

    class Library:
        @staticmethod
        def DataFrame(rows: list[dict[str, Any]]) -> tuple[str, int]:
            return "frame", len(rows)

    for missing in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match="a data frame needs pandas or polars: install one of them"):
        results.to_frame()
    monkeypatch.setitem(sys.modules, "polars", Library)
    assert results.to_frame() == results.to_frame("polars") == ("frame", 3)
    with pytest.raises(ImportError, match="a data frame needs pandas"):
        results.to_frame("pandas")
    with pytest.raises(ValueError, match="library: expected 'pandas', 'polars' or None, found 'arrow'"):
        results.to_frame("arrow")


def test_planner_may_look_at_its_own_bot() -> None:
    seen: list[Any] = []

    def curious(state: State) -> str:
        seen.append((repr(bot), bot.last_decision, bot.mispredictions))
        return "."

    bot = Bot(curious)
    game = Game(MAPS / "roundabout")
    assert bot.play(game) == len(seen)
    ticks = [None if decision is None else decision.tick for _, decision, _ in seen]
    assert ticks == [None, *range(1, len(seen))] and seen[0][0] == repr(bot)


@pytest.mark.parametrize("again", [lambda bot, frame: bot.next_action(frame), lambda bot, frame: bot.play(Game(MAPS / "snail"))])
def test_planner_that_asks_its_own_bot_for_a_decision_is_refused(again: Any) -> None:
    game = Game(MAPS / "roundabout")
    bots: list[Bot] = []
    bots.append(Bot(lambda state: again(bots[0], game.frame())))
    for _ in range(2):
        with pytest.raises(ValueError, match="RuntimeError: the bot is deciding: a planner cannot call a bot while that bot is deciding") as caught:
            bots[0].next_action(game.frame())
        assert isinstance(caught.value.__cause__, RuntimeError)


def test_planners_that_ask_each_others_bots_do_not_wait_for_ever() -> None:
    game, barrier = Game(MAPS / "roundabout"), threading.Barrier(2, timeout=TIMEOUT_S)
    bots: list[Bot] = []

    def planner_calling(other: int) -> Any:
        def planner(state: State) -> Any:
            barrier.wait()
            with pytest.raises(RuntimeError, match="the bot is deciding"):
                bots[other].next_action(game.frame())
            barrier.wait()
            return "."

        return planner

    bots += [Bot(planner_calling(1)), Bot(planner_calling(0))]
    thread = threading.Thread(target=bots[0].next_action, args=(game.frame(),))
    thread.start()
    assert bots[1].next_action(game.frame()) is None
    thread.join()
    assert bots[0].last_decision is not None


def test_threads_that_share_a_bot_take_turns() -> None:
    running = 0

    def exclusive(state: State) -> str:
        nonlocal running
        running += 1
        time.sleep(0.002)
        assert running == 1
        running -= 1
        return "."

    bot, frame = Bot(exclusive), Game(MAPS / "roundabout").frame()
    frames = [frame, Game(MAPS / "snail").frame()] * 8
    threads = [threading.Thread(target=bot.next_action, args=(each,)) for each in frames]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert running == 0 and bot.last_decision is not None


def test_game_that_its_planner_changes_is_not_played() -> None:
    game = Game(MAPS / "roundabout")
    with pytest.raises(RuntimeError, match="game: expected no change while the bot plays it"):
        Bot(lambda state: game.step(".")).play(game)


class Ending(BaseException):
    """An exception that is not a subclass of `Exception`."""


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, Ending])
def test_interruption_in_a_planner_is_raised_as_it_is(kind: type[BaseException]) -> None:
    raised = kind("now")

    class Interrupting(Patrol):
        def __call__(self, state: State) -> Any:
            if state.tick == 3:
                raise raised
            return super().__call__(state)

    game = Game(MAPS / "roundabout")
    for call in (lambda: Bot(Interrupting).play(game), lambda: evaluate(Interrupting, MAPS / "roundabout", samples=1, threads=2)):
        with pytest.raises(kind) as caught:
            call()
        assert caught.value is raised
    assert game.tick == 1


def test_interruption_while_a_planner_is_imported_or_made_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(7)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit, match="7"):
        Bot("leaves:planner")

    class Unmakeable:
        def __init__(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Bot(Unmakeable).next_action(Game(MAPS / "roundabout").frame())


def test_bot_is_usable_after_its_planner_has_failed() -> None:
    def fails_once(state: State) -> str:
        failed.append(state)
        if len(failed) == 1:
            raise ValueError("once")
        return "."

    failed: list[State] = []
    bot, frame = Bot(fails_once), Game(MAPS / "roundabout").frame()
    with pytest.raises(ValueError, match="fails_once: ValueError: once") as caught:
        bot.next_action(frame)
    assert isinstance(caught.value.__cause__, ValueError) and caught.value.__cause__.args == ("once",)
    assert bot.next_action(frame) is None and len(failed) == 2


def test_ctrl_c_ends_an_evaluation_in_the_middle_of_a_game() -> None:
    script = f"""
import os, signal, time
from getaway.arena import evaluate
decisions = []
def interrupting(state):
    decisions.append(state.tick)
    if len(decisions) == 10:
        os.kill(os.getpid(), signal.SIGINT)
    if len(decisions) >= 10:
        time.sleep(0.1)
    return "."
try:
    evaluate(interrupting, {str(MAPS / "corner-shop")!r}, samples=4, no_jump=True, threads=2)
except KeyboardInterrupt:
    print(len(decisions))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S)
    # Without the interrupt, the games have 240 decisions.
    assert 10 <= int(done.stdout) < 120, done.stdout + done.stderr


def test_threads_of_an_evaluation_have_the_stack_of_the_main_thread() -> None:
    script = f"""
from getaway.arena import evaluate
def rank(n):
    return 0 if n == 0 else sorted([n - 1], key=rank)[0]
def planner(state):
    rank(450)
    return "U"
evaluate(planner, {str(MAPS / "roundabout")!r}, samples=1, threads=1)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr


def test_planners_are_freed_with_their_bots() -> None:
    class Planner:
        def __call__(self, state: State) -> str:
            return "."

    frame = Game(MAPS / "roundabout").frame()
    function, instance, made = (lambda state: "."), Planner(), []

    class Made(Planner):
        def __init__(self) -> None:
            made.append(weakref.ref(self))

    bots = [Bot(function), Bot(instance), Bot(Made)]
    for bot in bots:
        bot.next_action(frame)
    freed: list[Any] = [weakref.ref(function), weakref.ref(instance), *made]
    assert len(made) == 1 and all(each() is not None for each in freed)
    evaluate([function, instance], MAPS / "snail", samples=1)
    del bots, bot, function, instance
    gc.collect()
    assert [each() for each in freed] == [None] * 3


def test_bot_that_its_own_planner_refers_to_is_freed() -> None:
    class Loop:
        bot: Bot

        def __call__(self, state: State) -> str:
            return "."

    frame, planner = Game(MAPS / "roundabout").frame(), Loop()
    planner.bot = Bot(planner)
    planner.bot.next_action(frame)
    Loop.bot = Bot(Loop)
    Loop.bot.next_action(frame)
    freed: list[Any] = [weakref.ref(planner), weakref.ref(Loop)]
    del planner, Loop
    gc.collect()
    assert [each() for each in freed] == [None, None]


def test_cost_of_a_bot_does_not_grow_with_their_number() -> None:
    def bots(count: int) -> float:
        start = time.thread_time()
        kept = [Bot(lambda state: ".") for _ in range(count)]
        return (time.thread_time() - start) / len(kept)

    bots(100)
    assert bots(8000) < 20 * min(bots(400) for _ in range(5))


def test_callables_with_one_name_are_told_apart() -> None:
    planners = [(lambda move: lambda state: move)(move) for move in "LR."]
    results = evaluate([*planners, "random"], MAPS / "snail", samples=1)
    names = [each["planner"] for each in results.planners]
    assert names[1:3] == [f"{names[0]}#2", f"{names[0]}#3"] and names[3] == "random"
    with pytest.raises(ValueError, match="two planners are named"):
        evaluate([planners[0], planners[0]], MAPS / "snail", samples=1)


def breaks(state: State) -> Any:
    return 1 // (3 - state.tick)


def test_errors_of_a_planner_name_the_place() -> None:
    game = Game(MAPS / "roundabout")
    with pytest.raises(ValueError, match=r"breaks: ZeroDivisionError: .*\(test_lab_planners.py, line \d+\)"):
        Bot(breaks, budget_ms=60_000).play(game)
    assert game.tick == 1
    with pytest.raises(ValueError, match=r"roundabout, .*breaks, seed \d+: tick 3: .*ZeroDivisionError"):
        evaluate(breaks, MAPS / "roundabout", samples=1)
    with pytest.raises(ValueError, match="the planner's move: expected a Move, its number or its letter, found NoneType"):
        Bot(lambda state: None).play(game)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="the planner's move: expected a move from 0 to 4, found 7"):
        Bot(lambda state: 7).play(game)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: Bot(3), TypeError, "planner: expected a name, an expression or a callable that takes a state, found int"),  # type: ignore[arg-type]
        (lambda: Bot("no_such_module:planner"), ValueError, "no_such_module:planner: ModuleNotFoundError: No module named"),
        (lambda: Bot("keep_away:fly"), ValueError, "keep_away:fly: expected a callable named fly in keep_away, found none"),
        (lambda: Bot("keep_away:__doc__"), ValueError, "expected a callable that takes a state, found str"),
        (lambda: evaluate([3]), TypeError, "planner: expected a name or a callable that takes a state, found int"),  # type: ignore[list-item]
        (lambda: evaluate("clever"), ValueError, "no planner named clever"),
        (lambda: evaluate("random", [Map("P")], samples=0), ValueError, "samples: expected at least 1, found 0"),
        (lambda: evaluate("random", []), ValueError, "maps: expected at least one"),
        (lambda: evaluate("random", "no-such-map"), FileNotFoundError, "no map named no-such-map"),
        (lambda: evaluate("random", Map("..B")), ValueError, "player"),
        (lambda: battle("random", "random", Map("P")), ValueError, "two planners are named random"),
    ],
)
def test_errors_say_what_was_expected(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_the_command_line_says_what_is_wrong_in_one_line(getaway_program: Path) -> None:
    text = command("play", "roundabout", "--planner", "keep_away:fly", code=2)
    assert text == "error: keep_away:fly: expected a callable named fly in keep_away, found none\n"
    # This build of the program has no Python interpreter.
    done = subprocess.run([getaway_program, "play", "roundabout", "--planner", "a:b"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("error: a:b: a planner in Python")
