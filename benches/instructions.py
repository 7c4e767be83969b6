"""Steps a vector environment for `instructions.rs`, which runs this script under callgrind."""

from __future__ import annotations

import os
import subprocess

import gymnasium
import numpy as np

import getaway.gymnasium  # noqa: F401 registers the environment

GAMES, STEPS, WARM_UP = 1024, 50, 5


def count(is_on: str) -> None:
    subprocess.run(["callgrind_control", "--instr=" + is_on, str(os.getpid())], check=True, stdout=subprocess.DEVNULL)


environment = gymnasium.make_vec(
    "getaway/Chase-v0", num_envs=GAMES, vectorization_mode="vector_entry_point", map="old-town"
)
environment.reset(seed=1)
actions = np.random.default_rng(14).integers(5, size=(WARM_UP + STEPS, GAMES))
for step, action in enumerate(actions):
    if step == WARM_UP:
        count("on")
    environment.step(action)
count("off")
