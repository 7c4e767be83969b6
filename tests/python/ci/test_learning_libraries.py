"""Tests of adapters and examples for learning libraries. A test is skipped if the library that it
needs is missing."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import getaway
from conftest import ROOT, TIMEOUT_S
from getaway import Game, levels

EXAMPLES = ROOT / "examples" / "python"


def test_games_of_stable_baselines3_equal_those_of_gymnasium() -> None:
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_checker import check_env

    from getaway.gymnasium import ChaseEnv, ChaseVectorEnv
    from getaway.stable_baselines3 import ChaseVecEnv

    check_env(ChaseEnv("roundabout", observation="features"))
    level = levels.generate(1, split="train", no_jump=True, width=7, height=7, threats=3)[0]
    ours = ChaseVecEnv(5, level, max_episode_steps=40)
    theirs = ChaseVectorEnv(5, level, max_episode_steps=40, autoreset_mode="SameStep")
    assert np.array_equal(ours.reset(), theirs.reset()[0])
    rng, ends = np.random.default_rng(1), 0
    for _ in range(300):
        actions = rng.integers(5, size=5)
        observations, rewards, dones, infos = ours.step(actions)
        expected = theirs.step(actions)
        assert np.array_equal(observations, expected[0]) and np.array_equal(rewards, expected[1])
        assert np.array_equal(dones, expected[2] | expected[3])
        for game, info in enumerate(infos):
            assert bool(info) == dones[game]
            if dones[game]:
                ends += 1
                assert np.array_equal(info["terminal_observation"], expected[4]["final_obs"][game])
                assert info["TimeLimit.truncated"] == (expected[3][game] and not expected[2][game])
                assert info["episode"]["r"] == info["tick"] - 1 and info.get("regret", 0) >= 0
                assert ("regret" in info) == expected[2][game]
    assert ends > 20
    assert np.array_equal(np.stack(ours.env_method("action_masks")), ours.action_masks())
    assert ours.env_method("action_masks", indices=[2])[0].tolist() == ours.action_masks()[2].tolist()
    ours.set_attr("state", Game(level.map, no_jump=True).state.play("...."), indices=1)
    assert ours.get_attr("tick", indices=[1]) == [5] and ours.env_is_wrapped(object) == [False] * 5
    ours.set_options({"moves": "..."})
    ours.reset()
    assert ours.get_attr("tick") == [4] * 5
    ours.set_options([{"moves": "."}] * 4 + [{}])
    with pytest.raises(ValueError, match="the same options for all games"):
        ours.reset()


def test_maskable_ppo_learns_on_the_adapter() -> None:
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import MaskablePPO

    from getaway.stable_baselines3 import ChaseVecEnv

    model: Any = MaskablePPO("MlpPolicy", ChaseVecEnv(16, "roundabout", observation="features"), n_steps=16, batch_size=64, seed=1)
    model.learn(512)
    assert model.num_timesteps == 512


def test_native_environment_of_pufferlib_plays_the_games_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pufferlib")
    import pufferlib.vector

    monkeypatch.syspath_prepend(str(EXAMPLES))
    ChasePufferEnv: Any = importlib.import_module("puffer").ChasePufferEnv
    options = {"num_games": 6, "map": "roundabout"}
    native = pufferlib.vector.make(ChasePufferEnv, env_kwargs=options, backend=pufferlib.PufferEnv)
    owned = {name: np.zeros(6, bool) for name in ("terminals", "truncations", "masks")}
    batch = getaway.Batch("roundabout", 6, observation="features")
    owned |= {"observations": np.zeros_like(batch.observations), "rewards": np.zeros(6, np.float32), "actions": np.zeros(6, np.int32)}
    copied = ChasePufferEnv(6, buf=owned)
    for envs in (native, copied):
        assert np.array_equal(envs.reset(seed=1)[0], batch.observations)
    rng, ends = np.random.default_rng(1), 0
    for _ in range(300):
        actions = rng.integers(5, size=6)
        _, rewards, terminations = batch.step(actions)
        final_tick = batch.ticks[terminations].mean() if terminations.any() else 0
        batch.reset(terminations)
        for envs in (native, copied):
            found = envs.step(actions)
            assert np.array_equal(found[0], batch.observations) and np.array_equal(found[1], rewards)
            assert np.array_equal(found[2], terminations) and not found[3].any()
            assert [info["final_tick"] for info in found[4]] == [final_tick] * bool(terminations.any())
        ends += int(terminations.sum())
    assert ends > 20 and np.array_equal(owned["observations"], batch.observations)
    # If the trainer passes no arrays, the environment shares its batch's observations.
    assert native.observations is native.batch.observations


def test_comparison_of_planners_is_a_table(tmp_path: Path) -> None:
    words = [sys.executable, str(EXAMPLES / "compare.py"), "careful=safest", f"model:{ROOT / 'examples/models/evolved.json'}", "--test-maps", "2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| careful=safest |") == 4 and "2 test maps, no jumping" in done.stdout


@pytest.mark.parametrize(
    ("example", "options"),
    [("imitate.py", ["--rounds", "1", "--states", "40"]), ("ppo.py", ["--steps", "1", "--training-maps", "2"]), ("evolve.py", ["--generations", "1"])],
)
def test_examples_write_models_that_play_the_same_games(example: str, options: list[str], tmp_path: Path) -> None:
    if example != "evolve.py":
        pytest.importorskip("torch")
    file = tmp_path / "model.json"
    words = [sys.executable, str(EXAMPLES / example), *options, "--model", str(file), "roundabout", "snail"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(file.read_text())["format"] == "getaway-model 1"
    ticks = []
    for name in ("roundabout", "snail"):
        game = Game(name)
        getaway.Bot(f"model:{file}", budget_ms=60_000).play(game)
        ticks.append(game.tick)
    assert min(ticks) > 5 and "no jumping: mean final tick" in done.stdout
    # `evolve.py` reports games of the rounded weights that it saves. The other examples report
    # games of unrounded weights, which may choose other moves.
    if example == "evolve.py":
        assert f"the server's rules: mean final tick {np.mean(ticks):.1f} on 2 maps" in done.stdout
