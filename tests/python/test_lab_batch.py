"""Batches and Gymnasium environments."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import subprocess
import sys
import threading
import warnings
from array import array as c_array
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils.env_checker import check_env

import getaway
import getaway.gymnasium
from conftest import MAPS, TIMEOUT_S
from getaway import Batch, Game, Move

NAMES = ["old-town", "roundabout", "metropolis", "corner-shop"]
PATHS = [MAPS / name for name in NAMES]


def play(batch: Batch, steps: int, seed: int) -> list[npt.NDArray[Any]]:
    rng = np.random.default_rng(seed)
    results: list[npt.NDArray[Any]] = [batch.reset().copy()]
    for _ in range(steps):
        results += [array.copy() for array in batch.step(rng.integers(5, size=len(batch)))]
    return results


@pytest.mark.parametrize("observation", ["compact", "features", "planes", "state", "window", None])
def test_results_do_not_depend_on_the_number_of_threads(observation: Any) -> None:
    one, many = (play(Batch(PATHS, 203, observation=observation, threads=threads), 80, 3) for threads in (1, 3))
    assert len(one) == len(many) and all(np.array_equal(a, b) for a, b in zip(one, many))
    assert any(array.any() for array in one[3::3]), "no game ended"


def arrays(batch: Batch) -> tuple[npt.NDArray[Any], ...]:
    """Steps the batch and returns the arrays into which the batch writes its results."""
    return batch.step(np.full(len(batch), Move.STAY))


def test_numpy_cannot_resize_what_a_batch_writes() -> None:
    batch = Batch(PATHS[0], 64, copy=False)
    for array in arrays(batch):
        for refcheck in (True, False):
            with pytest.raises(ValueError, match="resize"):
                array.resize((1 << 20,), refcheck=refcheck)
    assert batch.step(np.full(64, Move.STAY))[1].all()


def test_python_cannot_free_what_a_batch_writes() -> None:
    batch = Batch(PATHS[0], 64, copy=False)
    for array in arrays(batch):
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        for view in [thing for thing in gc.get_objects() if type(thing) is memoryview and thing.obj is owner]:
            view.release()
        attacks: list[Any] = [lambda: owner.clear(), lambda: owner.extend(bytes(1 << 20)), lambda: owner.release(), lambda: owner.resize(1 << 20)]
        for attack in attacks:
            with pytest.raises((AttributeError, BufferError)):
                attack()
    for index in range(3):
        batch = Batch(PATHS[0], 64, copy=False)
        arrays(batch)[index].__setstate__((1, (3,), np.dtype(np.int16), False, b"123456"))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=": the array points to other memory: expected the batch's own$"):
            batch.step(np.full(64, Move.STAY))


def test_threads_may_abuse_the_arrays_during_a_step() -> None:
    batch, is_over = Batch(PATHS, 4000, threads=2), threading.Event()

    def abuse() -> None:
        while not is_over.is_set():
            for array in shared:
                for attempt in (lambda: array.resize((9,), refcheck=False), lambda: setattr(array, "data", bytearray(array.nbytes))):
                    with contextlib.suppress(ValueError, AttributeError):
                        attempt()  # type: ignore[no-untyped-call]

    shared = arrays(batch)
    thread = threading.Thread(target=abuse)
    thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(50):
            with contextlib.suppress(ValueError):
                batch.step(np.full(4000, Move.RIGHT))
    is_over.set()
    thread.join()


@pytest.mark.parametrize("index", range(3))
def test_read_only_array_is_refused_before_a_game_has_changed(index: int) -> None:
    batch = Batch(PATHS[0], 8, copy=False)
    array = arrays(batch)[index]
    array.flags.writeable = False
    before = array.copy()
    calls: list[Any] = [lambda: batch.step(np.full(8, Move.RIGHT))]
    # Of the three arrays, `reset` and `set_state` write only the observations.
    calls += [batch.reset, lambda: batch.set_state(batch.get_state())] if index == 0 else []
    for call in calls:
        with pytest.raises(ValueError, match=r"^(observations|rewards|terminations): the array is read-only: expected a writable one$"):
            call()
    assert np.array_equal(array, before) and batch.ticks.tolist() == [2] * 8
    array.flags.writeable = True
    assert batch.step(np.full(8, Move.STAY))[index] is array and batch.ticks.tolist() == [3] * 8


def test_views_of_the_arrays_may_be_actions_and_masks() -> None:
    batch, other = Batch(PATHS[0], 300, copy=False), Batch(PATHS[0], 300, copy=False)
    for step in range(40):
        observations, _, terminations = batch.step(np.full(300, step % 5))
        # The actions are a view of the terminations, which this step overwrites.
        batch.step(terminations.view(np.uint8))
        other.step(np.full(300, step % 5))
        expected = other.step(terminations.astype(int))
        assert all(np.array_equal(a, b) for a, b in zip((observations, terminations), expected[::2]))
        assert np.array_equal(batch.reset(terminations), other.reset(terminations.copy()))


def test_arrays_of_any_layout_are_read() -> None:
    batch, other = Batch(PATHS[0], 10), Batch(PATHS[0], 10)
    moves = np.array([0, 1, 2, 3, 4] * 2)
    unaligned = np.frombuffer(b"x" + moves.tobytes(), np.uint8)[1:].view(np.int64)
    assert not unaligned.flags.aligned
    for form in (list(moves), tuple(moves), c_array("h", moves), unaligned, moves[::-1], moves.astype(">i8"), np.broadcast_to(np.int64(1), 10)):
        batch.step(form)  # type: ignore[arg-type]
        other.step(np.ascontiguousarray(form, dtype=np.int64))
        assert np.array_equal(batch.observations, other.observations)
    # A byte of a bool array may have any value; all values except 0 mean true.
    assert np.array_equal(batch.reset(np.full(10, 7, np.uint8).view(bool))[:, 0], np.ones(10))


def test_batch_without_memory_for_threads_steps_on_the_calling_thread() -> None:
    script = f"""
import resource, numpy as np
from getaway import Batch
batch, expected = Batch({str(PATHS[0])!r}, 4000, threads=64), Batch({str(PATHS[0])!r}, 4000)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20),) * 2)
for _ in range(5):
    batch.step(np.ones(4000, int))
    expected.step(np.ones(4000, int))
assert np.array_equal(batch.observations, expected.observations)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr


def test_missing_numpy_is_an_import_error() -> None:
    script = "import sys, getaway; sys.modules['numpy'] = None\ntry: getaway.Batch('roundabout', 4)\nexcept ImportError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert "numpy" in done.stdout, done.stderr


def test_children_of_a_process_with_threads_do_not_hang() -> None:
    script = "import fuzz_extension; print(fuzz_extension.forks(seed=1, count=30))"
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0 and done.stdout.startswith("30 forks: no hang"), done.stdout + done.stderr


def test_random_calls_end_in_a_result_or_a_clear_error() -> None:
    script = "import fuzz_extension; print(fuzz_extension.calls(seed=1, count=1000))"
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0 and "no signal, no hang" in done.stdout, done.stdout + done.stderr


def test_forked_process_steps_with_threads_of_its_own() -> None:
    batch, actions = Batch(PATHS, 2000, threads=2), np.tile([0, 1, 2, 3, 4], 400)
    expected = Batch(PATHS, 2000)
    for _ in range(20):
        batch.step(actions)
        expected.step(actions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns against forking a process with threads
        child = os.fork()
    if child == 0:
        for _ in range(20):
            batch.step(actions)
            expected.step(actions)
        os._exit(0 if np.array_equal(batch.observations, expected.observations) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_batch_steps_its_games_like_single_games() -> None:
    games = [Game(path, no_jump=no_jump) for path in PATHS for no_jump in (False, True)]
    batch = Batch(games, len(games) * 3)
    alone = [game.copy() for game in games for _ in range(3)]
    rng = np.random.default_rng(14)
    for _ in range(300):
        actions = rng.integers(5, size=len(batch))
        _, rewards, terminations = batch.step(actions)
        for index, (game, action) in enumerate(zip(alone, actions)):
            if game.is_over:
                game.reset()
                expected = (0, False)
            else:
                tick = game.tick
                game.step(action)
                expected = (game.tick - tick, game.is_over)
            assert (rewards[index], terminations[index]) == expected
            assert batch[index] == game.state
    assert batch.ticks.tolist() == [game.tick for game in alone]


def test_observations_are_written_into_the_same_array() -> None:
    batch = Batch(PATHS[0], 8)
    assert not any(np.shares_memory(batch.observations, each) for each in (batch.reset(), batch.step(np.full(8, Move.STAY))[0]))
    batch = Batch(PATHS[0], 8, copy=False)
    first = batch.reset()
    observations, rewards, _ = batch.step(np.full(8, Move.STAY))
    assert observations is first is batch.observations and observations.shape == (8, *batch.observation_shape)
    assert (observations[:, 0] == 2).all() and (rewards == 1).all()
    batch[-1] = Game(PATHS[0]).state.play("." * 20)
    mask = np.zeros(8, dtype=bool)
    mask[0] = True
    assert batch.reset(mask)[:, 0].tolist() == [1] + [2] * 6 + [21]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8", "uint64"])
def test_actions_of_any_integer_type_are_accepted(dtype: str) -> None:
    batch, other = Batch(PATHS[0], 10), Batch(PATHS[0], 10)
    strided = np.zeros(20, dtype=dtype)
    strided[::2] = [0, 1, 2, 3, 4] * 2
    batch.step(strided[::2])
    other.step(np.array([0, 1, 2, 3, 4] * 2))
    assert np.array_equal(batch.observations, other.observations)


def doubled(levels: int) -> list[Any]:
    """Returns nested lists that contain the innermost list 2**levels times."""
    value: list[Any] = [1]
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: Batch(PATHS[0], 4).step(np.zeros(4)), TypeError, "expected an array of integers, found float64"),  # type: ignore[arg-type]
        (lambda: Batch(PATHS[0], 4).step(np.zeros(3, int)), ValueError, r"expected the shape \(4,\), found \(3,\)"),
        (lambda: Batch(PATHS[0], 4).step([0, 1, 2]), ValueError, r"expected the shape \(4,\), found \(3,\)"),  # type: ignore[arg-type]
        (lambda: Batch(PATHS[0], 4).step(itertools.repeat(1)), ValueError, "actions: expected at most 4 items, found more"),  # type: ignore[arg-type]
        (lambda: Batch(PATHS[0], 4).step(doubled(60)), TypeError, r"actions\[0\]: expected an integer, found list"),  # type: ignore[arg-type]
        (lambda: Batch(PATHS[0], 4).step([1, 2, 3, None]), TypeError, r"actions\[3\]: expected an integer, found NoneType"),  # type: ignore[arg-type]
        (lambda: Batch(PATHS[0], 4).step(np.zeros((2, 2), int)), ValueError, r"expected the shape \(4,\), found \(2, 2\)"),
        (lambda: Batch(PATHS[0], 4).step(np.array([0, 1, 7, 0])), ValueError, r"actions\[2\]: expected a move from 0 to 4, found 7"),
        (lambda: Batch(PATHS[0], 4).step(np.array([0, 1, 2, -1])), ValueError, r"actions\[3\]: .* found -1"),
        (lambda: Batch(PATHS[0], 4).reset(np.zeros(3, bool)), ValueError, r"mask: expected the shape \(4,\)"),
        (lambda: Batch(PATHS[0], 4).reset([1]), TypeError, "mask: expected a 1D NumPy array of bool .* found list"),  # type: ignore[arg-type]
        (lambda: Batch(PATHS[0], 4).reset(np.zeros((4, 1), bool)), TypeError, "mask: .* found a 2D array of bool"),
        (lambda: Batch(PATHS[0], 0), ValueError, "games: expected 1 to"),
        (lambda: Batch(PATHS[0], 4, threads=0), ValueError, "threads: expected 1 to"),
        (lambda: Batch([], 4), ValueError, "maps: expected at least one"),
        (lambda: Batch(PATHS[0], 4, observation="pixels"), ValueError, "observation: expected 'compact'"),
        (lambda: Batch(PATHS[0], 4, window=4), ValueError, "window: expected an odd number from 1 to 63, found 4"),
        (lambda: Batch(PATHS[0], 4, window=65), ValueError, "window: expected an odd number from 1 to 63, found 65"),
        (lambda: Batch("no/such/map", 4), FileNotFoundError, "no such file or folder"),
        (lambda: Batch(PATHS[0], 4)[4], IndexError, "game 4: expected an index from -4 to 3"),
        (lambda: Batch(PATHS[0], 4).__setitem__(0, Game(PATHS[1]).state), ValueError, "expected a state with the map"),
    ],
)
def test_bad_input_gives_the_exception_of_numpy(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


@pytest.mark.parametrize("options", [{"map": PATHS[0]}, {"map": PATHS}, {}, {"map": PATHS[2], "no_jump": True}])
@pytest.mark.parametrize("observation", ["compact", "planes", "state"])
def test_environments_pass_gymnasiums_checks_without_a_warning(observation: str, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("getaway/Chase-v0", observation=observation, **options).unwrapped)


def test_an_episode_is_a_game() -> None:
    env = gymnasium.make("getaway/Chase-v0", map=PATHS[1])
    game = Game(PATHS[1])
    moves = getaway.solve(game, budget_ms=10_000).moves
    observation, _ = env.reset(seed=1)
    total, terminated = 0.0, False
    for move in moves:
        assert not terminated
        observation, reward, terminated, truncated, info = env.step(int(Move.from_letter(move)))
        total += float(reward)
        game.step(move)
        assert observation[0] == game.tick == info["tick"] and not truncated
    assert terminated and 5 * (total + 1) == info["score"] == game.score == 10_005


def test_vector_environments_are_batches_with_copies() -> None:
    def make(**options: Any) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        return gymnasium.make_vec("getaway/Chase-v0", num_envs=32, vectorization_mode="vector_entry_point", map=PATHS, **options)

    envs, batch = make(threads=2), Batch(PATHS, 32)
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    first, _ = envs.reset(seed=3)
    envs.action_space.seed(5)
    before = first.copy()
    for _ in range(100):
        actions = envs.action_space.sample()
        observations, rewards, terminations, truncations, _ = envs.step(actions)
        expected = batch.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip((observations, rewards, terminations), expected))
        assert observations in envs.observation_space and not truncations.any()
    assert np.array_equal(first, before)

    short = make(max_episode_steps=10)
    short.reset(seed=3)
    for step in range(1, 34):
        observations, rewards, terminations, truncations, _ = short.step(np.full(32, 4))
        assert (truncations | terminations).any() == (step % 11 == 10) and rewards.any() == (step % 11 != 0)
        assert (observations[:, 0] == step % 11 + 1).all()


def test_vector_environment_agrees_with_gymnasiums_own() -> None:
    options = {"num_envs": 5, "map": PATHS[0], "no_jump": True}
    ours = gymnasium.make_vec("getaway/Chase-v0", vectorization_mode="vector_entry_point", **options)  # type: ignore[arg-type]
    theirs = gymnasium.make_vec("getaway/Chase-v0", vectorization_mode="sync", **options)  # type: ignore[arg-type]
    assert np.array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
    rng = np.random.default_rng(2)
    for _ in range(300):
        actions = rng.integers(5, size=5)
        for a, b in zip(ours.step(actions)[:4], theirs.step(actions)[:4]):
            assert np.array_equal(a, b)


def test_generated_maps_follow_the_seed() -> None:
    env = gymnasium.make("getaway/Chase-v0", observation="planes")
    one, two, again = (env.reset(seed=seed)[0] for seed in (1, 2, 1))
    assert np.array_equal(one, again) and not np.array_equal(one, two)
    assert not np.array_equal(env.reset()[0], again)
    envs = gymnasium.make_vec("getaway/Chase-v0", num_envs=3, observation="planes")
    planes = envs.reset(seed=1)[0]
    assert np.array_equal(planes[0], one) and np.array_equal(planes[1], two)


def test_options_of_reset_change_the_map_and_the_rules() -> None:
    env = gymnasium.make("getaway/Chase-v0", map=PATHS[0], observation="features").unwrapped
    assert isinstance(env, getaway.gymnasium.ChaseEnv)
    observation, _ = env.reset(options={"map": PATHS[2], "no_jump": True})
    assert env.state.map.name == "metropolis" and env.state.rules["no_jump"] and observation in env.observation_space
    with pytest.raises(ValueError, match="options: expected map, no_jump, rules, state or moves, found level"):
        env.reset(options={"level": 3})
    envs = gymnasium.make_vec("getaway/Chase-v0", num_envs=2, map=PATHS[0], observation="features").unwrapped
    assert isinstance(envs, getaway.gymnasium.ChaseVectorEnv)
    envs.reset(options={"map": PATHS[2]})
    assert {envs.batch[game].map.name for game in range(2)} == {"metropolis"}
    with pytest.raises(ValueError, match="options: expected map, no_jump, rules, state, moves or reset_mask, found level"):
        envs.reset(options={"level": 3})


def test_reset_with_a_refused_map_keeps_the_map_and_the_rules() -> None:
    envs = getaway.gymnasium.ChaseVectorEnv(2, PATHS[0])
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        envs.reset(options={"map": "no/such/map", "no_jump": True})
    for env in (envs, getaway.gymnasium.ChaseEnv(PATHS[0])):
        with pytest.raises(ValueError, match="expected observations in .*, the environment's space, found Box"):
            env.reset(options={"map": PATHS[2], "no_jump": True})
        env.reset(options={"rules": None})
    assert envs.get_attr("state") == (Game(PATHS[0]).state,) * 2


@pytest.mark.parametrize("options", [{"map": PATHS[0]}, {}])
def test_masked_reset_leaves_the_other_games_as_they_are(options: dict[str, Any]) -> None:
    envs = gymnasium.make_vec("getaway/Chase-v0", num_envs=3, max_episode_steps=4, **options).unwrapped
    assert isinstance(envs, getaway.gymnasium.ChaseVectorEnv)
    envs.reset(seed=1)
    maps = [envs.batch[game].map.name for game in range(3)]
    for _ in range(4):
        _, _, _, truncations, _ = envs.step(np.full(3, Move.STAY))
    assert truncations.all()
    observations, _ = envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert observations[:, 0].tolist() == [5, 1, 5] and [envs.batch[game].map.name for game in range(3)] == maps
    # The other two games are truncated, so the next step resets them.
    assert envs.step(np.full(3, Move.STAY))[0][:, 0].tolist() == [1, 2, 1]


def test_pictures_and_drawings_show_the_state() -> None:
    env = gymnasium.make("getaway/Chase-v0", map=PATHS[0], render_mode="rgb_array")
    env.reset()
    picture = env.render()
    rows = Game(PATHS[0]).map.rows
    assert isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.shape[1:] == (24 * len(rows[0]), 3)
    text = gymnasium.make("getaway/Chase-v0", map=PATHS[0], render_mode="ansi")
    text.reset()
    assert str(text.render()).splitlines() == ["tick 1, score 5, running", *rows]


def test_bad_use_of_an_environment_gives_gymnasiums_exception() -> None:
    env = gymnasium.make("getaway/Chase-v0", map=PATHS[0], disable_env_checker=True).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded, match="before its first reset"):
        env.step(0)
    env.reset()
    with pytest.raises(ValueError, match="action: expected a move from 0 to 4, found 7"):
        env.step(7)
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="the environment is closed"):
        env.step(0)
    envs = gymnasium.make_vec("getaway/Chase-v0", num_envs=2, map=PATHS[0])
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros(2, int))
    envs.reset()
    with pytest.raises(TypeError, match="expected an array of integers"):
        envs.step(np.zeros(2))
    envs.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        envs.step(np.zeros(2, int))
    with pytest.raises(ValueError, match="player"):
        gymnasium.make("getaway/Chase-v0", map=getaway.Map("..B"))
