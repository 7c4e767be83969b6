"""Code that `compare.py`, `evolve.py`, `imitate.py` and `ppo.py` share.

A policy scores each action separately and plays the open (not blocked) action with the highest
score. The inputs of a score come from the observation "features" of `getaway.gymnasium`: the
action's own 13 numbers, the means and the maxima of these numbers over the open actions, and the
header, which is the first three numbers of the observation. All inputs are scaled to the range 0
to 1.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import getaway
from getaway import levels

OWN = 13
INPUTS = 3 * OWN + 3
ACTION_LIMITS = np.array([16, 64, 16, 4, 32, 256, 4, 16, 16, 16, 16, 16, 16], np.int16)
"""Limits of an action's features. Each feature is clipped to the range from 0 to its limit, then
divided by the limit."""
ACTION_FACTORS = (1 / ACTION_LIMITS).astype(np.float32)
HEADER_SCALES = np.array([2001, 5, 5], np.float32)
"""Divisors of the header's numbers. Quotients above 1 are clipped to 1."""

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.integer]


def split_inputs(features: npt.NDArray[np.int16]) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Returns three arrays: each action's own inputs (games, 5, OWN), the inputs that all actions
    share (games, INPUTS - OWN), and whether each action is open (games, 5)."""
    header = np.minimum(features[:, :3] / HEADER_SCALES, np.float32(1))
    actions = features[:, 3:].reshape(-1, 5, OWN)
    is_open = actions[:, :, 0] >= 0
    own = np.clip(actions, 0, ACTION_LIMITS) * ACTION_FACTORS
    mean = own.sum(axis=1) / np.maximum(is_open.sum(axis=1, dtype=np.float32), np.float32(1))[:, None]
    return own, np.concatenate([mean, own.max(axis=1), header], axis=1), is_open


def inputs(features: npt.NDArray[np.int16]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Returns all inputs (games, 5, INPUTS), and whether each action is open (games, 5)."""
    own, shared, is_open = split_inputs(features)
    return np.concatenate([own, np.repeat(shared[:, None], 5, axis=1)], axis=2), is_open


def generated_maps(count: int, split: levels.Split, seed: int) -> list[getaway.Map]:
    """Returns maps of a split: mazes, cities and labyrinths of many sizes, with 3 to 8 threats."""
    rng = np.random.default_rng(seed)
    found: list[getaway.Map] = []
    for number in range(count):
        width, height = (int(2 * side + 1) for side in rng.integers([6, 5], [15, 12]))
        options = {"kind": ("maze", "city", "labyrinth")[number % 3], "width": width, "height": height}
        maps = levels.candidates(split, int(rng.integers(1 << 32)), threats=int(rng.integers(3, 9)), **options)
        found.append(next(maps))
    return found


def final_ticks(act: Callable[[npt.NDArray[np.int16]], Integers], maps: Sequence[object], *, no_jump: bool = False) -> Integers:
    """Returns the final tick of a policy's game on each map. `act` maps features to actions."""
    batch = getaway.Batch([getaway.Game(each, no_jump=no_jump) for each in maps], observation="features")  # type: ignore[arg-type]
    ticks = np.zeros(len(batch), np.int64)
    features = batch.observations
    while not ticks.all():
        features, _, terminations = batch.step(act(features))
        ended = terminations & (ticks == 0)
        ticks[ended] = batch.ticks[ended]
    return ticks


def save(layers: list[tuple[Floats, Floats]], path: Path) -> None:
    """Writes a model file for `--planner model:FILE`. Weights have the shape (outputs, inputs)."""
    network = [{"weights": weights.round(4).tolist(), "biases": biases.round(4).tolist()} for weights, biases in layers]
    text = json.dumps({"format": "getaway-model 1", "layers": network})
    path.write_text(text + "\n")


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("maps", nargs="*", default=getaway.maps(), help="maps to play after the training (default: the bundled maps)")
    parser.add_argument("--seed", type=int, default=1, help="(default: 1)")
    parser.add_argument("--model", type=Path, help="where to write the model (default: it is not saved)")
    return parser


def report(act: Callable[[npt.NDArray[np.int16]], Integers], maps: Sequence[object]) -> None:
    """Prints a policy's mean final tick and its number of survived games on the maps, under the
    server's rules and in the no-jump variant."""
    for no_jump, rules in ((False, "the server's rules"), (True, "no jumping")):
        ticks = final_ticks(act, maps, no_jump=no_jump)
        print(f"{rules}: mean final tick {ticks.mean():.1f} on {len(ticks)} maps, {int((ticks > 2000).sum())} survived")
