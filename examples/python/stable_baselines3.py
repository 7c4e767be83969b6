"""PPO of Stable-Baselines3 on the compact observation.

    pip install 'getaway[gymnasium]' stable-baselines3
    python examples/python/stable_baselines3.py [--steps 2000000]

Not run by the tests, because Stable-Baselines3 installs PyTorch. Numbers are divided by 100,
rewards by 10.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

import getaway.gymnasium


def make(**options: object) -> gymnasium.Env[object, object]:
    """Creates an environment with scaled numbers and rewards."""
    env = gymnasium.make("getaway/Chase-v0", **options)
    space = gymnasium.spaces.Box(-1, 41, env.observation_space.shape, np.float32)
    env = gymnasium.wrappers.TransformObservation(env, lambda numbers: np.minimum(numbers / 100, 41).astype(np.float32), space)
    return gymnasium.wrappers.TransformReward(env, lambda reward: reward / 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--map", default="roundabout")
    options = parser.parse_args()
    envs = make_vec_env(make, n_envs=16, env_kwargs={"map": options.map})
    model = PPO("MlpPolicy", envs, gamma=0.98, verbose=1)
    model.learn(options.steps)
    env = make(map=options.map)
    observation, info = env.reset()
    over = False
    while not over:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, terminated, truncated, info = env.step(int(action))
        over = terminated or truncated
    print(f"{options.map}: tick {info['tick']}, score {info['score']}")


if __name__ == "__main__":
    main()
