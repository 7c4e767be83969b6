"""A step through `gymnasium.make_vec` takes the stored number of instructions, within 3%. Callgrind,
which is part of valgrind, counts them. `benches/instructions.rs` guards the library in the same way."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys

import pytest

STEP_INSTRUCTIONS = 2_114_804
"""With 4,096 games on two maps, Python 3.11 and NumPy 2.4."""
TOLERANCE = 0.03
STEPS = 100
PLAY = """
import sys, gymnasium, numpy, getaway.gymnasium
options = {"num_envs": 4096, "vectorization_mode": "vector_entry_point", "map": ["old-town", "harbour"]}
envs = gymnasium.make_vec("getaway/Chase-v0", **options)
envs.reset(seed=1)
actions = numpy.random.default_rng(1).integers(5, size=(16, 4096))
for step in range(int(sys.argv[1])):
    envs.step(actions[step % 16])
"""


def count(steps: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", PLAY, str(steps)]
    # The order of sets, and the collisions in dicts, depend on the hash seed.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    collected = re.search(r"Collected : (\d+)", found.stderr)
    assert collected, found.stderr
    return int(collected[1])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the count is that of x86-64")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_step_of_a_vector_environment_takes_the_stored_number_of_instructions() -> None:
    few = 10
    instructions = (count(few + STEPS) - count(few)) / STEPS
    assert instructions == pytest.approx(STEP_INSTRUCTIONS, rel=TOLERANCE), "a slower step must be explained; a faster one needs a new number"
