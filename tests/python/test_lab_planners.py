"""Planners in Python: played, evaluated, battled and shown, from Python and from the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    """Runs the package's command in a folder; returns what it prints."""
    done = subprocess.run(
        [str(COMMAND), *options], cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def played(callable: Any, game: Game) -> Game:
    """Plays a game to its end with the callable alone, without a bot; returns it."""
    while not game.is_over:
        game.step(callable(game.state))
    return game


@pytest.mark.parametrize("name", ["roundabout", "old-town", "metropolis"])
def test_a_bot_plays_what_the_callable_chooses(name: str) -> None:
    alone = played(planner, Game(MAPS / name))
    for given in (planner, "keep_away:planner"):
        game = Game(MAPS / name)
        assert Bot(given, budget_ms=60_000).play(game) == len(game.moves) == len(alone.moves)
        assert game == alone
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
    assert game.moves.startswith("RRRLL....")
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
    with pytest.raises(ValueError, match="game: expected one with the rules of the bot"):
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


def test_the_command_line_gives_the_same_games() -> None:
    names = ["roundabout", "snail"]
    options = ["--samples", "2", "--budget-ticks", "200", "--seed", "5"]
    results = evaluate([planner, "random"], names, samples=2, budget_ticks=200, seed=5)
    report = json.loads(command("eval", "--planner", "keep_away:planner", "--planner", "random", *options, "--json", *names))
    for theirs, ours in zip(report["planners"], results.planners):
        assert theirs["planner"] == ours["planner"] and theirs["overall"]["score_mean"] == ours["overall"]["score_mean"]
    result = battle(planner, "random", names, samples=2, budget_ticks=200, seed=5)
    assert result.match is not None and result.match["overall"]["wins"] > 0 and result.sentence is not None
    assert result.sentence in command("battle", "keep_away:planner", "random", *options, *names)


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
    with pytest.raises(ImportError, match="a data frame needs pandas or polars: expected it to be installed"):
        results.frame()
    monkeypatch.setitem(sys.modules, "polars", Library)
    assert results.frame() == results.frame("polars") == ("frame", 3)
    with pytest.raises(ImportError, match="a data frame needs pandas"):
        results.frame("pandas")
    with pytest.raises(ValueError, match="library: expected 'pandas', 'polars' or None, found 'arrow'"):
        results.frame("arrow")


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
        (lambda: battle("random", "random", Map("P")), ValueError, "planner random is given twice"),
    ],
)
def test_errors_say_what_was_expected(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_the_command_line_says_what_is_wrong_in_one_line(getaway_program: Path) -> None:
    text = command("play", "roundabout", "--planner", "keep_away:fly", code=2)
    assert text == "error: keep_away:fly: expected a callable named fly in keep_away, found none\n"
    # The program of the checkout has no Python in it.
    done = subprocess.run([getaway_program, "play", "roundabout", "--planner", "a:b"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("error: no planner named a:b: a planner in Python")
