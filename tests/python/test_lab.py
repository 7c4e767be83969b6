"""Tests of games, states, moves, threats, maps, solutions and bots in Python."""

from __future__ import annotations

import copy
import itertools
import json
import pathlib
import pickle
import subprocess
from typing import Any

import pytest

import getaway
from conftest import MAPS, TIMEOUT_S
from getaway import Game, Map, Move, State, Threat, levels
from getaway._getaway import signature

EVERYTHING = {name: getattr(getaway, name) for name in getaway.__all__}


def drawing() -> Game:
    return Game(Map("P....\n.#.#.\n.H.~O\n.#.#.\n....D"))


def test_moves_are_numbers_letters_and_actions() -> None:
    assert [move.letter for move in Move] == list("LRUD.")
    assert [Move.from_letter(letter) for letter in "LRUD."] == list(Move) == [0, 1, 2, 3, 4]
    assert [move.action for move in (Move.LEFT, Move.STAY)] == [{"type": "MOVE_LEFT"}, None]
    with pytest.raises(ValueError, match="expected L, R, U, D or ., found 'X'"):
        Move.from_letter("X")


def test_every_form_of_a_move_is_the_same_step() -> None:
    forms: list[Any] = [Move.RIGHT, 1, "R", {"type": "MOVE_RIGHT"}, [{"type": "MOVE_RIGHT"}], [{"type": "MOVE_UP"}, {"type": "MOVE_RIGHT"}]]
    games = [drawing() for _ in forms]
    assert {game.step(form) for game, form in zip(games, forms)} == {Move.RIGHT}
    assert all(game == games[0] and game.player == (1, 0) for game in games)


def test_a_plan_is_played_until_the_game_is_over() -> None:
    game, other = drawing(), drawing()
    assert game.play("RRDD.") == 5 == other.play([1, Move.RIGHT, "D", 3, 4])
    assert game == other and game.moves == "RRDD." and game.player == (2, 2)
    played = game.play("." * 3000)
    assert game.is_over and game.status == "caught" and len(game.moves) == 5 + played < 3000
    assert game.play("LL") == 0 and game.legal_moves == []


def test_blocked_moves_are_recorded_as_staying() -> None:
    played, stepped = drawing(), drawing()
    assert played.play("UR") == 2 and [stepped.step(letter) for letter in "UR"] == [Move.STAY, Move.RIGHT]
    assert played == stepped and played.moves == ".R"


def test_states_are_values() -> None:
    game = drawing()
    state = game.state
    assert state == game.state and hash(state) == hash(game.state) and state.after("R") == Game(Map(game.map.rows)).state.after(1)
    game.play("RRDD")
    later = game.state
    assert state != later and state.tick == 1 and later == state.play("RRDD")
    assert len({state, later, state.play("RRDD")}) == 2
    assert copy.copy(state) == copy.deepcopy(state) == pickle.loads(pickle.dumps(state)) == state
    assert later == pickle.loads(pickle.dumps(later))
    assert later.legal_moves == [Move.LEFT, Move.UP, Move.DOWN, Move.STAY]
    assert (later.status, later.score, later.is_over, later.is_caught) == ("running", 25, False, False)


def test_games_are_values_with_a_history() -> None:
    game = Game(MAPS / "old-town", no_jump=True, rules={"hawk_posts": 3})
    game.play("RLUD..")
    copies = [copy.copy(game), copy.deepcopy(game), pickle.loads(pickle.dumps(game)), game.copy()]
    for other in copies:
        assert other == game and other.rules == game.rules and other.moves == "RL...." and other.map.name == "old-town"
        other.step()
        assert other != game
    with pytest.raises(TypeError, match="unhashable"):
        hash(game)


def test_state_built_by_hand_has_the_same_future() -> None:
    for name in ("old-town", "metropolis"):
        game = Game(MAPS / name)
        for move in itertools.islice(itertools.cycle("RDLU"), 60):
            if game.is_over:
                break
            state = game.state
            again = State(game, tick=state.tick, player=state.player, threats=state.threats)
            assert again == state
            game.step(move)
            assert again.after(move) == game.state


def test_threats_carry_memory_and_seed() -> None:
    game = drawing()
    assert game.threats[0] == Threat("hawk", (1, 2)) and game.threats[0].style == "hawk"
    game.play("." * 5)
    hawk, owl, deer = game.threats
    assert owl.remembered == (0, 0) and hawk.idle_rounds == 1 and deer.draws == 1
    assert game.message()["threats"][1]["position"] == {"x": owl.position[0], "y": owl.position[1]}


def test_rules_are_the_servers_by_default_and_named_in_full() -> None:
    assert drawing().rules["period_ticks"] == {"lazy": 5, "tease": 4, "awake": 3, "hungry": 2, "insane": 1}
    game = Game(Map("P.B"), rules={"period_ticks": {"lazy": 1}, "no_jump": True})
    assert game.rules["no_jump"] and game.rules["period_ticks"]["lazy"] == 1
    for _ in range(20):
        if not game.is_over:
            game.step()
    assert game.status == "caught" and game.tick < 10


def test_maps_are_values(tmp_path: pathlib.Path) -> None:
    made = getaway.generate_map(7, width=15, height=13, threats=3, styles=["owl", "deer"])
    assert made == getaway.generate_map(7, width=15, height=13, threats=3, styles=["owl", "deer"]) != getaway.generate_map(8)
    assert (made.width, made.height) == (15, 13)
    assert {threat.style for threat in Game(made).threats} <= {"owl", "deer"}
    made.save(tmp_path / "made")
    with pytest.raises(FileExistsError, match="made already exists"):
        made.save(tmp_path / "made")
    with pytest.raises(OSError, match="cannot write"):
        made.save(tmp_path / "made" / "meta.json" / "below")
    loaded = getaway.load_map(tmp_path / "made")
    assert loaded.rows == made.rows
    assert getaway.maps(tmp_path) == ["made"] and "roundabout" in getaway.maps(MAPS)
    assert hash(Map(made.rows)) == hash(Map("\n".join(made.rows)))
    for each in (made, loaded, getaway.load_map("roundabout"), Map("P~B"), Game(MAPS / "old-town").map):
        for other in (pickle.loads(pickle.dumps(each)), copy.copy(each), copy.deepcopy(each)):
            assert other == each and hash(other) == hash(each) and repr(other) == repr(each)
    # A pickled map keeps the fields that `repr` does not show.
    pickle.loads(pickle.dumps(loaded)).save(tmp_path / "again")
    assert (tmp_path / "again" / "meta.json").read_text() == (tmp_path / "made" / "meta.json").read_text()


def test_state_of_a_message_with_two_threats_on_a_tile_pickles() -> None:
    message = Game(Map("P...\n....\n..SB")).message()
    message["threats"][1]["position"] = message["threats"][0]["position"]
    seen: list[State] = []
    getaway.Bot(lambda state: seen.append(state) or 4).next_action(message)  # type: ignore[func-returns-value]
    (state,) = seen
    assert pickle.loads(pickle.dumps(state)) == state and pickle.loads(pickle.dumps(state.map)) == state.map


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def cyclic() -> dict[str, Any]:
    rules: dict[str, Any] = {"no_jump": True}
    rules["period_ticks"] = rules
    return rules


def shared() -> list[Any]:
    """Returns nested lists that contain the innermost list 2**30 times."""
    value: list[Any] = []
    for _ in range(30):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Game(Map("P"), rules=cyclic()), "rules: expected at most 127 levels of nesting, found more"),  # type: ignore[arg-type]
        (lambda: Game(Map("P"), rules={"hawk_posts": nested(200_000)}), "rules: expected at most 127 levels of nesting, found more"),  # type: ignore[arg-type]
        (lambda: Game(Map("P"), rules={"hawk_posts": shared()}), "rules: expected at most 1000 values, found more"),  # type: ignore[arg-type]
        (lambda: State(Map("P"), tick=1, player=(0, 0), threats=[], rules=cyclic()), "rules: expected at most 127 levels"),  # type: ignore[arg-type]
        (lambda: getaway.Batch([Map("P")], rules=cyclic()), "rules: expected at most 127 levels"),  # type: ignore[arg-type]
        (lambda: getaway.Bot(rules=cyclic()), "rules: expected at most 127 levels"),  # type: ignore[arg-type]
        (lambda: getaway.solve(Map("P"), rules=cyclic()), "rules: expected at most 127 levels"),  # type: ignore[arg-type]
        (lambda: getaway.Bot().next_action(cyclic()), "game_message: expected at most 127 levels"),
        (lambda: getaway.Bot().next_action({"tick": nested(200_000)}), "game_message: expected at most 127 levels"),
        (lambda: Game(Map("P"), rules={"pick_scale": float("nan")}), "rules: expected finite numbers, found NaN"),
        (lambda: drawing().play(itertools.repeat("R")), "moves: expected at most 1048576 items, found more"),
        (lambda: drawing().state.play(itertools.cycle([1, 2])), "moves: expected at most 1048576 items, found more"),
        (lambda: State(Map("P"), tick=1, player=(0, 0), threats=itertools.repeat(Threat("owl", (0, 0)))), "threats: expected at most 1048576"),
        (lambda: Map(itertools.repeat("P")), "rows: expected at most 1048576 items, found more"),  # type: ignore[arg-type]
        (lambda: Map("P" * (1 << 20) + "\n." * (1 << 20)), "row 2 has width 1: expected 1048576"),
        (lambda: getaway.generate_map(styles=itertools.repeat("owl")), "styles: expected at most 1048576"),  # type: ignore[arg-type]
    ],
)
def test_cyclic_deep_and_endless_values_are_refused(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


def test_values_that_lie_about_their_length_are_read_to_their_end() -> None:
    for call in (lambda: Map(range(1 << 62)), lambda: signature(range(1 << 62))):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            call()


def test_interruption_while_a_value_is_read_is_raised() -> None:
    class Interrupting:
        def __index__(self) -> int:
            raise KeyboardInterrupt

        def __float__(self) -> float:
            return 1.0

        def __fspath__(self) -> str:
            raise KeyboardInterrupt

    calls: list[Any] = [drawing().step, lambda value: drawing().play([value]), Game, lambda value: Game(Map("P"), rules={"hawk_posts": value})]
    for call in calls:
        with pytest.raises(KeyboardInterrupt):
            call(Interrupting())


def test_bots_accept_every_listed_planner() -> None:
    assert "survival" in getaway.planners()
    for name in getaway.planners():
        getaway.Bot(name)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: drawing().step("X"), ValueError, r"action: expected L, R, U, D or \., found \"X\""),
        (lambda: drawing().step(7), ValueError, "action: expected a move from 0 to 4, found 7"),
        (lambda: drawing().step(1.5), TypeError, "action: expected a Move, its number or letter, a dict"),  # type: ignore[arg-type]
        (lambda: drawing().step({"type": "DANCE"}), ValueError, r"expected MOVE_LEFT, .* or MOVE_TO, found 'DANCE'"),
        (lambda: drawing().step([{}]), ValueError, r'action\[0\]\["type"\]: expected MOVE_LEFT'),
        (lambda: drawing().step([3]), TypeError, r"action\[0\]: expected a dict"),  # type: ignore[list-item]
        (lambda: drawing().step({"type": "MOVE_TO"}), ValueError, r"expected a dict of two numbers, x and y"),
        (lambda: drawing().play("RRx"), ValueError, r"moves\[2\]: expected L, R, U, D or \., found 'x'"),
        (lambda: drawing().play([1, 9]), ValueError, r"moves\[1\]: expected a move from 0 to 4, found 9"),
        (lambda: Game(Map("PB"), moves="." * 99), ValueError, r"moves: expected at most \d+, because the game is then over, found 99"),
        (lambda: Game(Map("P"), rules={"owls": 1}), ValueError, "rules: unknown field `owls`"),  # type: ignore[arg-type]
        (lambda: Game(Map("P"), rules={"owl_minute_ticks": 0}), ValueError, "owl_minute_ticks is 0: expected at least 1"),
        (lambda: Game(Map("P"), rules=3), TypeError, "rules: expected a dict, found int"),  # type: ignore[arg-type]
        (lambda: Map(3), TypeError, "rows: expected a drawing, or a sequence of its rows, found int"),  # type: ignore[arg-type]
        (lambda: Map(["P", 3]), TypeError, r"rows\[1\]: expected a string, found int"),  # type: ignore[list-item]
        (lambda: Game(3), TypeError, "map: expected a name, a path, a Map, a Game or a State"),  # type: ignore[arg-type]
        (lambda: State(Map("P.B"), tick=1, player=(0, 0), threats=[]), ValueError, "0 threats: the map has 1"),
        (lambda: State(Map("P.B"), tick=1, player=(0, 1), threats=[Threat("bull", (2, 0))]), ValueError, "not an open tile"),
        (lambda: State(Map("P.B"), tick=1, player=(0, 0), threats=[Threat("owl", (2, 0))]), ValueError, "expected the map's bull"),
        (lambda: State(Map("P.B"), tick=1, player=(0, 0), threats=[3]), TypeError, r"threats\[0\]: expected a getaway.Threat"),  # type: ignore[list-item]
        (lambda: State(Map("P.B"), tick=70000, player=(0, 0), threats=[]), ValueError, "tick: expected an integer from 1 to 2001, found 70000"),
        (lambda: State(Map("P.B"), tick=1, player="x", threats=[]), TypeError, "player: expected a pair of integers, found 'x'"),  # type: ignore[arg-type]
        (lambda: State(Map("P.B"), tick=1, player=(0, 0), threats=[Threat("bull", (0, 9))]), ValueError, r"threat 0: \(0, 9\) is not an open tile"),
        (lambda: State(Map("P.B"), tick=1, player=(0, 0), threats=[Threat("bull", (2, 0), draws=-1)]), ValueError, r"threats\[0\].draws: expected an integer from 1 to 2001, found -1"),
        (lambda: State(Map("P.B"), tick=1, player=(0, 0), threats=[Threat("bull", (2, 0), seen=3)]), TypeError, r"threats\[0\].seen: expected a pair of integers or None, found 3"),  # type: ignore[arg-type]
        (lambda: getaway.judge_moves(3), TypeError, "state: expected a Game or a State, found int"),  # type: ignore[arg-type]
        (lambda: State(drawing(), tick=1, player=(0, 0), threats=[], rules={}), ValueError, "expected none with a game"),
        (lambda: getaway.generate_map(kind="village"), ValueError, "expected one of maze, labyrinth, city"),  # type: ignore[arg-type]
        (lambda: getaway.generate_map(styles=["cat"]), ValueError, 'unknown style "cat"'),  # type: ignore[list-item]
    ],
)
def test_errors_say_what_was_expected(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_solve_agrees_with_the_command(getaway_program: pathlib.Path) -> None:
    for name, options in [("roundabout", {}), ("metropolis", {"no_jump": True, "seed": 3})]:
        solution = getaway.solve(MAPS / name, budget_ms=60_000, **options)  # type: ignore[arg-type]
        words = [str(getaway_program), "solve", str(MAPS / name), "--budget-ms", "60000", "--json"]
        words += ["--no-jump", "--seed", "3"] if options else []
        report = json.loads(subprocess.run(words, capture_output=True, check=True, timeout=TIMEOUT_S).stdout)
        assert (solution.outcome, solution.moves, solution.score) == (report["outcome"], report["actions"], report["score"])
        assert (solution.bound_score, solution.simulated_ticks) == (report["bound"], report["simulated_ticks"])
        assert solution.is_optimal and solution.decided_ms is not None and solution.decided_ms <= solution.elapsed_ms


def test_doomed_maps_have_a_bound_and_a_certificate(getaway_program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    doomed = Map("P....S")
    solution = getaway.solve(doomed, no_jump=True, budget_ms=60_000)
    assert (solution.outcome, solution.bound_score) == ("doomed", solution.score) and solution.certificate is not None
    game = Game(doomed, no_jump=True, moves=solution.moves)
    assert game.is_over and game.tick == solution.final_tick
    doomed.save(tmp_path / "doomed")
    (tmp_path / "certificate").write_text(solution.certificate)
    words = [str(getaway_program), "verify", str(tmp_path / "certificate"), str(tmp_path / "doomed")]
    assert subprocess.run(words, capture_output=True, timeout=TIMEOUT_S).returncode == 0
    # A certificate covers a game from its start, so a solution of a later state has none.
    later = Game(doomed, no_jump=True, moves=solution.moves[:2]).state
    assert getaway.solve(later).final_tick >= later.tick and getaway.solve(later).certificate is None


def test_reprs_are_short() -> None:
    game = Game("metropolis", moves="RR")
    solution = getaway.solve("metropolis")
    level = levels.Level(game.map, False, solution.final_tick, solution.moves, solution.certificate)
    batch = getaway.Batch("metropolis", 1000, observation="planes")
    assert (repr(game.map), repr(game)) == ("<Map 'metropolis', 33x25, 12 threats>", "<Game on metropolis, tick 3, running>")
    for value in (game, game.state, game.map, solution, level, batch, getaway.Replay(game), *getaway.judge_moves(game.state).values()):
        assert len(repr(value)) < 200 and "\n" not in repr(value)


def test_reprs_of_decisions_and_bots_evaluate_to_equal_values() -> None:
    bot = getaway.Bot("uct", budget_ms=60_000, budget_ticks=50, seed=3, rules={"no_jump": True, "hawk_posts": 4})
    bot.next_action(Game(Map("P..B"), no_jump=True).message())
    assert bot.last_decision is not None and eval(repr(bot.last_decision), EVERYTHING) == bot.last_decision
    assert repr(eval(repr(bot), EVERYTHING)) == repr(bot) == (
        "Bot('uct', budget_ms=60000, budget_ticks=50, seed=3, rules={'hawk_posts': 4, 'no_jump': True})"
    )
    with pytest.raises(TypeError, match="positional"):
        getaway.Bot("uct", 75)  # type: ignore[call-arg]
