"""Trains MaskablePPO, from SB3-Contrib, on games that are stepped in Rust.

    pip install '.[gymnasium]' stable-baselines3 sb3-contrib
    python examples/python/stable_baselines3.py [--steps 2000000] [--map roundabout]

`VecNormalize` normalises the features and the rewards.
"""

from __future__ import annotations

import argparse

try:
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecNormalize
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: pip install sb3-contrib") from None

from getaway.stable_baselines3 import ChaseVecEnv


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--map", default="roundabout")
    options = parser.parse_args()
    games = ChaseVecEnv(256, options.map, observation="features")
    envs = VecNormalize(games, gamma=0.99)
    model = MaskablePPO("MlpPolicy", envs, n_steps=128, batch_size=4096, gamma=0.99, verbose=1)
    model.learn(options.steps)
    envs.training = False
    observations = envs.reset()
    done = False
    while not done:
        actions, _ = model.predict(observations, action_masks=games.action_masks(), deterministic=True)
        observations, _, dones, infos = envs.step(actions)
        done = dones[0]
    print(f"{options.map}: tick {infos[0]['tick']}, score {infos[0]['score']}")


if __name__ == "__main__":
    main()
