"""Tests of Gymnasium environments, batches and levels."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import environment_runs
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

import getaway
from conftest import MAPS
from getaway import Batch, Game, Map, Move, levels
from getaway._getaway import draw
from getaway.gymnasium import ChaseEnv, ChaseVectorEnv, spawn_seeds

PATHS = [MAPS / name for name in ("old-town", "roundabout", "metropolis")]
SHORT = Map("P...\n.##.\n...S", name="short")


def test_random_sequences_of_calls_agree_with_a_plain_model() -> None:
    made = environment_runs.run(seed=1, count=100)
    assert len(made) == 11 and min(made.values()) > 30, made


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("limit", [None, 7])
def test_vector_environment_equals_gymnasiums_own_in_every_autoreset_mode(mode: AutoresetMode, limit: int | None) -> None:
    def single() -> gymnasium.Env[Any, Any]:
        env: gymnasium.Env[Any, Any] = ChaseEnv(SHORT, no_jump=True)
        return env if limit is None else TimeLimit(env, limit)

    ours = ChaseVectorEnv(6, SHORT, no_jump=True, max_episode_steps=limit, autoreset_mode=mode)
    theirs = SyncVectorEnv([single] * 6, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is mode
    first, second = ours.reset(seed=1), theirs.reset(seed=1)
    assert data_equivalence(first[0], second[0]) and same_infos(first[1], second[1])
    rng = np.random.default_rng(3)
    ends = 0
    for _ in range(200):
        actions = rng.integers(5, size=6)
        one, two = ours.step(actions), theirs.step(actions)
        for a, b in zip(one[:4], two[:4]):
            assert np.array_equal(a, b)
        assert same_infos(one[4], two[4])
        ended = one[2] | one[3]
        ends += int(ended.sum())
        if mode is AutoresetMode.DISABLED and ended.any():
            with pytest.raises(gymnasium.error.ResetNeeded, match=r"games are over: .*: expected a reset with reset_mask"):
                ours.step(actions)
            resets = [each.reset(options={"reset_mask": ended.copy()}) for each in (ours, theirs)]
            assert np.array_equal(resets[0][0], resets[1][0]) and same_infos(resets[0][1], resets[1][1])
    assert ends > 20


def same_infos(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Asserts that two infos are equal. Arrays of objects may hold None for games still running."""
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        if isinstance(value, dict):
            assert same_infos(value, theirs[key])
        elif value.dtype == object:
            assert all(np.array_equal(a, b) if a is not None else b is None for a, b in zip(value, theirs[key]))
        else:
            assert np.array_equal(value, theirs[key]), key
    return True


@pytest.mark.parametrize("observation", ["window", "features"])
def test_windows_and_features_pass_gymnasiums_checks_without_a_warning(observation: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("getaway/Chase-v0", map=PATHS, observation=observation).unwrapped)
    envs = gymnasium.make_vec("getaway/Chase-v0", num_envs=3, map=PATHS, observation=observation, window=5)
    shape = (14, 5, 5) if observation == "window" else (68,)
    assert envs.reset(seed=1)[0].shape == (3, *shape) and envs.observation_space.contains(envs.reset()[0])


def test_step_after_the_end_needs_a_reset() -> None:
    env = gymnasium.make("getaway/Chase-v0", map=SHORT)
    env.reset(options={"moves": "." * 2000})
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episode is over"):
        env.step(4)
    env.reset()
    env.step(4)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_of_wrapped_environments_and_batches_play_on_alone(copied: Any) -> None:
    env = gymnasium.make("getaway/Chase-v0", map=PATHS, observation="planes", max_episode_steps=50)
    env.reset(seed=4)
    env.step(1)
    batch = Batch(PATHS, 7, observation="window", window=3, threads=2)
    batch.step(np.full(7, Move.DOWN))
    other, others = copied(env.unwrapped), copied(batch)
    assert isinstance(other, ChaseEnv) and other.state == env.unwrapped.state  # type: ignore[attr-defined]
    # The copy has the same random state, so it draws the same maps.
    assert [other.reset()[0].tobytes() for _ in range(4)] == [env.unwrapped.reset()[0].tobytes() for _ in range(4)]
    assert others.observation_shape == (14, 3, 3)
    for moves in np.random.default_rng(1).integers(5, size=(60, 7)):
        assert all(np.array_equal(a, b) for a, b in zip(batch.step(moves), others.step(moves)))
    kept = others.observations.copy()
    batch.step(np.full(7, Move.RIGHT))
    batch.reset()
    assert np.array_equal(others.observations, kept) and not np.shares_memory(batch.observations, others.observations)


def test_states_of_a_batch_are_read_and_set_as_numbers() -> None:
    batch = Batch(PATHS, 6, copy=False)
    numbers = batch.get_state()
    assert numbers.dtype == np.int16 and np.array_equal(numbers, Batch(PATHS, 6, observation="state").observations)
    for _ in range(30):
        batch.step(np.full(6, Move.LEFT))
    later = batch.get_state()
    marks = np.array([True, False] * 3)
    observations = batch.set_state(numbers, marks)
    assert observations is batch.observations and observations[:, 0].tolist() == [1, 31] * 3
    assert [batch[game].tick for game in range(6)] == [1, 31] * 3
    misaligned = np.zeros(later.nbytes + 1, np.uint8)[1:].view(np.int16).reshape(later.shape)
    misaligned[:] = later
    assert not misaligned.flags.aligned and batch.set_state(misaligned)[:, 0].tolist() == later[:, 0].tolist()
    batch.set_state(numbers, marks)
    for wrong, error, sentence in [
        (numbers[:3], ValueError, r"states: expected the shape \(6, \d+\), found \(3, \d+\)"),
        (numbers.astype(int), TypeError, "states: expected a 2D NumPy array of int16, found a 2D array of int64"),
        (np.where(np.arange(numbers.shape[1]) == 2, 999, numbers).astype(np.int16), ValueError, r"states\[0\]: the player\'s position \(999, .* is not an open tile"),
    ]:
        with pytest.raises(error, match=sentence):
            batch.set_state(wrong)
    assert np.array_equal(batch.get_state()[1::2], later[1::2])


def test_options_of_reset_continue_from_states_and_moves() -> None:
    state = Game(PATHS[1]).state.play("RRDD")
    env = ChaseEnv(PATHS)
    observation, info = env.reset(options={"state": state})
    assert env.state == state and info["tick"] == 5 == observation[0]
    with pytest.raises(ValueError, match="state: expected one of the environment's maps and rules, found snail"):
        env.set_state(Game(MAPS / "snail").state)
    generated = ChaseEnv(observation="features")
    for each in (state, state.after("R")):
        generated.reset(options={"state": each})
        assert generated.state == each
    assert generated.reset(seed=3)[1]["tick"] == 1
    envs = ChaseVectorEnv(2, PATHS[1])
    _, infos = envs.reset(options={"state": [state, state.after("R")]})
    assert infos["tick"].tolist() == [5, 6] and envs.get_attr("state") == (state, state.after("R"))
    _, infos = envs.reset(options={"moves": ["L", "LL."]})
    assert infos["tick"].tolist() == [2, 4]
    with pytest.raises(ValueError, match="moves: expected one value or a list of 2 values, found a list of 3"):
        envs.reset(options={"moves": ["L", "R", "."]})


def test_seeds_may_be_a_list() -> None:
    envs = ChaseVectorEnv(3, observation="planes")
    planes = envs.reset(seed=[5, 6, 5])[0]
    assert np.array_equal(planes[0], planes[2]) and not np.array_equal(planes[0], planes[1])
    assert envs.get_attr("map")[0] == getaway.generate_map(5)
    with pytest.raises(ValueError, match="seed: expected a number or a list of 3, found 2"):
        envs.reset(seed=[1, 2])


def test_spawned_seeds_share_no_map() -> None:
    def maps(seed: int | list[int]) -> set[tuple[str, ...]]:
        envs = ChaseVectorEnv(16)
        envs.reset(seed=seed)
        return {tuple(map.rows) for map in envs.get_attr("map")}

    assert len(maps(0) & maps(1)) == 15, "Gymnasium's convention"
    spawned = [maps(spawn_seeds(seed, 16)) for seed in (0, 1, 2**100)]
    assert [len(found) for found in spawned] == [16, 16, 16] and len(set.union(*spawned)) == 48
    assert spawn_seeds(0, 16) == spawn_seeds(0, 16)
    assert max(spawn_seeds(0, 16)) >> 64 > 0
    for seed, count in ((-1, 2), ([1, -1], 2), (1, -1)):
        with pytest.raises(ValueError, match="expected numbers of at least 0"):
            spawn_seeds(seed, count)


def test_seeds_of_128_bits_are_accepted_everywhere() -> None:
    large = 2**128 - 1
    state = Game(SHORT).state
    ChaseEnv().reset(seed=large)
    ChaseVectorEnv(2).reset(seed=[large, 2**64])
    assert getaway.generate_map(large) != getaway.generate_map(2**64 - 1)
    assert getaway.solve(SHORT, seed=large, budget_ticks=100).final_tick > 0
    assert getaway.judge_moves(state, seed=large, budget_ticks=100)
    assert Batch([Game(SHORT)]).judge_moves(seed=large, budget_ticks=100)
    assert getaway.Bot(seed=large) is not None
    for call in (getaway.generate_map, lambda seed: getaway.Bot(seed=seed)):
        for seed in (2**128, -1):
            with pytest.raises(ValueError, match=r"seed: expected a whole number from 0 to 2\*\*128 - 1"):
                call(seed)


def test_games_of_a_vector_environment_have_attributes() -> None:
    envs = ChaseVectorEnv(2, PATHS[0], render_mode="ansi")
    envs.reset()
    states = envs.get_attr("state")
    assert envs.call("after", Move.STAY) == tuple(state.after(4) for state in states)
    assert envs.call("tick") == (1, 1) and envs.call("render")[0].startswith("tick 1, score 5")
    assert [mask.tolist() for mask in envs.call("action_masks")] == envs.action_masks().tolist()
    envs.set_attr("state", states[0].play("...."))
    assert envs.get_attr("tick") == (5, 5)
    with pytest.raises(AttributeError, match="player: expected 'state'"):
        envs.set_attr("player", (1, 1))
    with pytest.raises(AttributeError, match="speed"):
        envs.get_attr("speed")


def test_list_with_a_refused_state_or_move_changes_no_game() -> None:
    envs = ChaseVectorEnv(3, PATHS[1])
    envs.reset()
    starts = envs.get_attr("state")
    later = starts[0].play("RRDD")
    with pytest.raises(ValueError, match="game 2: expected a state with the map and the rules of this game"):
        envs.set_attr("state", [later, later, Game(PATHS[0]).state])
    assert envs.get_attr("state") == starts and envs.batch.observations[:, 0].tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"moves\[2\]: expected L, R, U, D or \."):
        envs.reset(options={"moves": ["RR", "RR", "RRx"]})
    assert envs.get_attr("state") == starts


def test_pictures_are_the_viewers_at_any_size() -> None:
    pictures = {}
    for tile in (4, 16, 40):
        env = ChaseEnv(PATHS[0], render_mode="rgb_array", render_tile=tile)
        env.reset()
        pictures[tile] = env.render()
        height, width, colours = pictures[tile].shape
        rows = Game(PATHS[0]).map.rows
        assert (width, colours) == (tile * len(rows[0]), 3) and height > tile * len(rows), "the caption is below the map"
    env.step(int(next(move for move in env.state.legal_moves if move is not Move.STAY)))
    assert not np.array_equal(env.render(), pictures[40])
    # Each direction of the player's last step gives a different picture.
    state = Game(Map("...\n.P.\n...")).state
    views = [draw(state, heading, 24).tobytes() for heading in range(4)]
    assert len(set(views)) == 4
    envs = ChaseVectorEnv(2, PATHS[0], render_mode="rgb_array", render_tile=16)
    envs.reset()
    assert np.array_equal(envs.render()[1], pictures[16])
    with pytest.raises(ValueError, match="render_tile: expected 1 to 4096 pixels, found 0"):
        ChaseEnv(PATHS[0], render_tile=0)


def test_judge_moves_of_a_batch_equal_those_of_its_states() -> None:
    batch = Batch([Map("P....S"), Map("P....\n.##..\n....S")], 4, no_jump=True)
    for _ in range(8):
        batch.step(np.full(4, Move.STAY))
    found = batch.judge_moves(threads=1, budget_ticks=20_000)
    again = batch.judge_moves(threads=3, budget_ticks=20_000)
    assert np.array_equal(found.outcomes, again.outcomes) and np.array_equal(found.final_ticks, again.final_ticks)
    assert np.array_equal(found.bound_ticks, again.bound_ticks)
    names = {2: "survives", 1: "undecided", 0: "doomed"}
    for game in range(4):
        verdicts = getaway.judge_moves(batch[game], budget_ticks=20_000)
        assert list(verdicts) == batch[game].legal_moves
        for move in Move:
            if move not in verdicts:
                assert (found.outcomes[game, move], found.final_ticks[game, move]) == (-1, 0)
                continue
            verdict = verdicts[move]
            expected = (verdict.outcome, verdict.final_tick, verdict.bound_tick)
            assert (names[int(found.outcomes[game, move])], found.final_ticks[game, move], found.bound_ticks[game, move]) == expected
            assert Move.from_letter(verdict.moves[0]) is move and batch[game].play(verdict.moves).tick == verdict.final_tick
    assert {0, 2} & set(found.outcomes.flat)
    assert pickle.loads(pickle.dumps(found)).outcomes.shape == (4, 5)


def test_levels_have_certified_best_ticks_and_environments_report_regret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(levels, "_FIRST_PROGRESS_S", 0.0)
    options: dict[str, Any] = {"no_jump": True, "width": 7, "height": 7, "threats": 3, "budget_ticks": 400_000}
    made = levels.generate(3, split="test", seed=1, best_tick=(50, 2000), **options)
    assert made[:1] == levels.generate(1, split="test", seed=1, best_tick=(50, 2000), **options)
    assert " of 3 levels, 1 candidates after " in capsys.readouterr().err
    for level in made:
        assert levels.split_of(level.map) == "test" and level.certificate is not None
        game = level.game()
        assert game.play(level.moves) == len(level.moves) and game.tick == level.best_tick <= 2000
    found = levels.difficulty(made[0])
    assert 0 < found.safe_share <= 1 and 1 <= found.narrowest <= 5
    made[0].save(tmp_path / "level")
    assert levels.load(tmp_path / "level").moves == made[0].moves

    env = ChaseEnv(made[0])
    _, info = env.reset()
    infos = [env.step(int(Move.from_letter(letter)))[4] for letter in made[0].moves]
    assert infos[-1]["regret"] == 0 and "regret" not in infos[0]
    envs = ChaseVectorEnv(3, made)
    envs.reset()
    over = np.zeros(3, bool)
    while not over.all():
        _, _, terminations, _, vector_infos = envs.step(np.full(3, Move.STAY))
        for index in np.flatnonzero(terminations).tolist():
            assert vector_infos["_regret"][index]
            assert vector_infos["regret"][index] == made[index].best_tick - vector_infos["tick"][index] >= 0
        over |= terminations
    with pytest.raises(ValueError, match="expected none with a level"):
        ChaseEnv(made[0], no_jump=True)


def test_level_that_cannot_be_saved_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="the disk is full"):
        levels.Level(SHORT, False, 2001, "." * 2000, None).save(tmp_path / "level")
    assert list(tmp_path.iterdir()) == []


def test_splits_share_no_map() -> None:
    drawn = {split: levels.candidates(split, width=9, height=9) for split in ("train", "validation", "test")}
    maps = {split: {tuple(next(found).rows) for _ in range(30)} for split, found in drawn.items()}
    assert not maps["train"] & maps["validation"] and not maps["train"] & maps["test"] and not maps["validation"] & maps["test"]
    assert all(len(found) == 30 for found in maps.values())
    with pytest.raises(ValueError, match="split: expected train, validation or test, found 'dev'"):
        next(levels.candidates("dev"))  # type: ignore[arg-type]


def test_arrays_are_shared_by_dlpack() -> None:
    batch = Batch(PATHS[0], 4, observation="features")
    shared = np.from_dlpack(batch.observations)
    assert np.shares_memory(shared, batch.observations)
    batch.step(np.full(4, Move.STAY))
    assert (shared[:, 0] == 2).all()
