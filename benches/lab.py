"""Compares the speed of getaway's Python interface with that of EnvPool and Gymnasium.

    python benches/lab.py [MAP...]

Needs `numpy` and `gymnasium`; EnvPool is measured if it is installed (`pip install envpool`). All
environments play random actions that were drawn beforehand. Each round measures every environment
once, so background load affects all of them about equally. A result is the speed of an environment
in its best round. `Game.play` is measured by itself, with a plan of a whole game.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

import getaway
import getaway.gymnasium

GAMES = 4096
DRAWS = 64
"""Number of arrays of random actions, which successive calls use in turn."""
SLICE_S = 0.004
"""Seconds per contender and round: short, so that other processes leave some rounds undisturbed."""
ROUNDS = 150

Contender = tuple[str, int, Callable[[int], Any]]
"""The name, the environment steps per call, and a function that takes the index of the call."""


def measure(contenders: list[Contender], rounds: int) -> dict[str, float]:
    best = dict.fromkeys((name for name, _, _ in contenders), 0.0)
    for _ in range(rounds):
        for name, steps, call in contenders:
            calls, start = 0, time.perf_counter()
            while (elapsed := time.perf_counter() - start) < SLICE_S:
                call(calls)
                calls += 1
            best[name] = max(best[name], calls * steps / elapsed)
    return best


def stepper(step: Callable[[Any], Any], actions: npt.NDArray[Any]) -> Callable[[int], Any]:
    return lambda call: step(actions[call % DRAWS])


def batches(maps: list[str], rng: np.random.Generator) -> list[Contender]:
    """For each map, returns one batch per kind of observation, and one without observations. The
    compact batch and the one without observations also run on two threads."""
    actions = rng.integers(5, size=(DRAWS, GAMES))
    found: list[Contender] = []
    for path in maps:
        name = Path(path).name
        variants: list[tuple[str, Any, int]] = [
            (f"{name}, compact", "compact", 1),
            (f"{name}, compact, 2 threads", "compact", 2),
            (f"{name}, features", "features", 1),
            (f"{name}, window", "window", 1),
            (f"{name}, planes", "planes", 1),
            (f"{name}, nothing observed", None, 1),
            (f"{name}, nothing observed, 2 threads", None, 2),
        ]
        for label, observation, threads in variants:
            batch = getaway.Batch(path, GAMES, observation=observation, threads=threads, copy=False)
            found.append((label, GAMES, stepper(batch.step, actions)))
    return found


def vector_environments(maps: list[str], rng: np.random.Generator) -> list[Contender]:
    ours = gymnasium.make_vec("getaway/Chase-v0", num_envs=GAMES, vectorization_mode="vector_entry_point", map=maps[0])
    cartpole = gymnasium.make_vec("CartPole-v1", num_envs=GAMES, vectorization_mode="vector_entry_point")
    found: list[Contender] = []
    for name, envs, kinds in [("make_vec getaway/Chase-v0", ours, 5), ("make_vec CartPole-v1 (NumPy)", cartpole, 2)]:
        envs.reset(seed=1)
        actions = rng.integers(kinds, size=(DRAWS, GAMES))
        found.append((name, GAMES, stepper(envs.step, actions)))
    if importlib.util.find_spec("envpool") is None:
        print("EnvPool is not installed: pip install envpool")
        return found
    import envpool

    for task, kinds in [("CartPole-v1", 2), ("Catch-v0", 3), ("FrozenLake-v1", 4)]:
        for games in (1024, GAMES):
            pool = envpool.make_gymnasium(task, num_envs=games, num_threads=1)
            pool.reset()
            actions = rng.integers(kinds, size=(DRAWS, games)).astype(np.int32)
            found.append((f"EnvPool {task}, {games} games, 1 thread", games, stepper(pool.step, actions)))
    return found


def single_environments(maps: list[str], rng: np.random.Generator) -> list[Contender]:
    found: list[Contender] = []
    options: dict[str, Any] = {"CartPole-v1": {}, "getaway/Chase-v0": {"map": maps[0]}}
    for name, kinds in [("CartPole-v1", 2), ("getaway/Chase-v0", 5)]:
        env = gymnasium.make(name, **options[name])
        env.reset(seed=1)
        actions = [int(action) for action in rng.integers(kinds, size=1024)]

        def episode(call: int, env: Any = env, actions: list[int] = actions) -> None:
            for action in actions:
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()

        found.append((f"make {name}", 1024, episode))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("maps", nargs="*", default=["old-town", "roundabout", "corner-shop"], help="names or paths")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    rng = np.random.default_rng(14)
    groups = [batches, vector_environments, single_environments]
    contenders = [contender for group in groups for contender in group(options.maps, rng)]
    best = measure(contenders, options.rounds)
    for name, rate in best.items():
        print(f"{rate / 1e6:10.3f} million steps per second  {name}")
    one = [best[name] for name in best if name.endswith("compact")]
    two = [best[f"{name}, 2 threads"] for name in best if name.endswith("compact")]
    bare = [best[name] for name in best if name.endswith("nothing observed")]
    bare_two = [best[f"{name}, 2 threads"] for name in best if name.endswith("nothing observed")]
    for label, ones, twos in [("compact", one, two), ("nothing observed", bare, bare_two)]:
        gains = ", ".join(f"{b / a:.2f}" for a, b in zip(ones, twos))
        print(f"\nslowest map, {label}: {min(ones) / 1e6:.1f} million; two threads: {gains} times as fast as one")
    toys = [rate for name, rate in best.items() if name.startswith("EnvPool")]
    if toys:
        print(f"slowest map / fastest toy of EnvPool: {min(one) / max(toys):.1f}")
    print(f"slowest map / CartPole in NumPy: {min(one) / best['make_vec CartPole-v1 (NumPy)']:.2f}")
    print(f"single environment / CartPole: {best['make getaway/Chase-v0'] / best['make CartPole-v1']:.2f}")

    game = getaway.Game(options.maps[0])
    plan = getaway.solve(game, budget_ms=10_000).moves

    def whole_game(call: int) -> None:
        game.reset()
        game.play(plan)

    ticks = measure([("play", len(plan), whole_game)], options.rounds)["play"]
    print(f"Game.play of {len(plan)} moves: {ticks / 1e6:.1f} million ticks per second, {len(plan) / ticks * 1e6:.1f} microseconds")


if __name__ == "__main__":
    main()
