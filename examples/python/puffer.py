"""The game as a native environment of PufferLib, stepped in Rust.

    pip install '.[gymnasium]' pufferlib-core==3.0.3      # or pufferlib==3.0.0 for its trainer
    python examples/python/puffer.py [--games 1024] [--steps 1000] [--map roundabout]

A native PufferLib environment holds many games and writes into arrays that the trainer can pass as
`buf`. With `buf`, each step copies the batch's observations into the trainer's array; without it,
the trainer gets the batch's own array of observations. As PufferLib expects, the step in which a
game ends also resets the game, and infos are a list of dicts, which is empty if no game ended.

If this file is run as a program, it plays random moves through `pufferlib.vector`.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pufferlib
import pufferlib.vector

import getaway
from getaway.gymnasium import ChaseEnv


class ChasePufferEnv(pufferlib.PufferEnv):  # type: ignore[misc]
    """Many games on one or several maps. `getaway.gymnasium` describes the observations."""

    def __init__(self, num_games: int = 1024, map: Any = "roundabout", observation: Any = "features", buf: Any = None, seed: int = 0) -> None:
        self.batch = getaway.Batch(map, num_games, observation=observation, copy=False)
        self.single_observation_space = ChaseEnv(map, observation=observation).observation_space
        self.single_action_space = gymnasium.spaces.Discrete(5)
        self.num_agents = num_games
        super().__init__(buf)
        if buf is None:
            self.observations = self.batch.observations

    def reset(self, seed: int | None = None) -> tuple[npt.NDArray[Any], list[dict[str, Any]]]:
        # Games are deterministic, so the seed has no effect.
        self.batch.reset()
        self.share(self.batch.observations)
        return self.observations, []

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> tuple[Any, ...]:
        _, self.rewards[:], self.terminals[:] = self.batch.step(actions)
        infos = []
        if self.terminals.any():
            ticks = self.batch.ticks[self.terminals]
            infos.append({"final_tick": float(ticks.mean()), "score": 5 * float(ticks.mean())})
            self.batch.reset(self.terminals)
        self.share(self.batch.observations)
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def share(self, observations: npt.NDArray[Any]) -> None:
        if observations is not self.observations:
            self.observations[:] = observations

    def close(self) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--games", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--map", default="roundabout")
    options = parser.parse_args()
    envs = pufferlib.vector.make(ChasePufferEnv, env_kwargs={"num_games": options.games, "map": options.map}, backend=pufferlib.PufferEnv)
    rng = np.random.default_rng(1)
    envs.reset(seed=1)
    ticks: list[float] = []
    begin = time.perf_counter()
    for _ in range(options.steps):
        infos = envs.step(rng.integers(5, size=options.games))[-1]
        ticks += [info["final_tick"] for info in infos]
    speed = options.games * options.steps / (time.perf_counter() - begin)
    print(f"{options.map}: mean final tick {np.mean(ticks) if ticks else float('nan'):.1f}, {speed / 1e6:.1f} million steps per second")


if __name__ == "__main__":
    main()
