"""Evolves a policy for the game with the cross-entropy method, in NumPy, and compares it with planners.

    python examples/python/evolve.py [--generations 120] [--seed 1] [--model FILE.json] [MAP...]

The policy is a small neural network that scores one action at a time by its features (see
`getaway.gymnasium`), and plays the action with the highest score. The cross-entropy method (Rubinstein,
1999) draws networks from a normal distribution, lets each play the same games on generated maps, and
moves the distribution towards the networks whose games lasted longest. Every generation plays on other
maps, so that no map is learnt by heart.

The model is written in the package's format: `getaway play roundabout --planner model:FILE.json`.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import getaway
from getaway import levels

POPULATION = 48
ELITE = 12
MAPS_PER_GENERATION = 32
TRAINING_MAPS = 128
HIDDEN = 12
INPUTS = 15
SIZES = [(HIDDEN, INPUTS), (HIDDEN,), (1, HIDDEN), (1,)]
PARAMETERS = sum(int(np.prod(size)) for size in SIZES)
ACTION_SCALES = np.array([16, 64, 16, 4], np.float32)
HEADER_SCALES = np.array([2001, 5, 5], np.float32)

Floats = npt.NDArray[np.float32]


def inputs(features: npt.NDArray[np.int16]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The network's inputs of shape (games, 5, 15), and the open actions of shape (games, 5)."""
    numbers = features.astype(np.float32)
    header = np.minimum(numbers[:, :3], HEADER_SCALES) / HEADER_SCALES
    actions = numbers[:, 3:].reshape(-1, 5, 4)
    is_open = actions[:, :, 0] >= 0
    rows = np.where(is_open[:, :, None], np.minimum(actions, ACTION_SCALES) / ACTION_SCALES, 0)
    mean = rows.sum(axis=1) / np.maximum(is_open.sum(axis=1), 1)[:, None]
    shared = np.concatenate([mean, rows.max(axis=1), header], axis=1)
    return np.concatenate([rows, np.repeat(shared[:, None], 5, axis=1)], axis=2), is_open


def layers(parameters: Floats) -> list[Floats]:
    """The weights and biases of policies with these parameters, of shape (policies, PARAMETERS)."""
    ends = np.cumsum([int(np.prod(size)) for size in SIZES])[:-1]
    return [part.reshape(-1, *size) for part, size in zip(np.split(parameters, ends, axis=1), SIZES)]


def actions(parameters: Floats, features: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """The actions of games: the first game of each policy, then the second of each, and so on."""
    values, is_open = inputs(features)
    first, first_bias, last, last_bias = layers(parameters)
    policies = len(parameters)
    values = values.reshape(-1, policies, 5 * INPUTS).swapaxes(0, 1).reshape(policies, -1, INPUTS)
    hidden = np.maximum(values @ first.transpose(0, 2, 1) + first_bias[:, None], 0)
    scores = hidden @ last.transpose(0, 2, 1) + last_bias[:, None]
    scores = scores.reshape(policies, -1, 5).swapaxes(0, 1).reshape(-1, 5)
    return np.where(is_open, scores, -np.inf).argmax(axis=1)


def final_ticks(parameters: Floats, games: list[getaway.Game], random_moves: int = 0, seed: int = 0) -> npt.NDArray[np.int64]:
    """The last tick of each policy on each game, of shape (policies, games). A few random moves at
    the start make different games of one map."""
    policies = len(parameters)
    batch = getaway.Batch(games, len(games) * policies, observation="features")
    rng = np.random.default_rng(seed)
    start = rng.integers(5, size=(random_moves, len(games)))
    ticks = np.zeros(len(batch), np.int64)
    features = batch.observations
    for tick in range(2000):
        chosen = np.repeat(start[tick], policies) if tick < random_moves else actions(parameters, features)
        features, _, terminations = batch.step(chosen)
        ended = terminations & (ticks == 0)
        ticks[ended] = batch.ticks[ended]
        if ticks.all():
            break
    return ticks.reshape(len(games), policies).T


def evolve(generations: int, seed: int) -> Floats:
    """Returns the parameters of the policy in the middle of the last distribution."""
    rng = np.random.default_rng(seed)
    found = levels.candidates("train", seed * 1_000_000)
    training = [getaway.Game(next(found)) for _ in range(TRAINING_MAPS)]
    mean = np.zeros(PARAMETERS, np.float32)
    # The first guess keeps away from threats and close to room; the rest is noise.
    deviation = np.full(PARAMETERS, 0.5, np.float32)
    begin = time.perf_counter()
    for generation in range(generations):
        games = [training[number] for number in rng.choice(TRAINING_MAPS, MAPS_PER_GENERATION, replace=False)]
        policies = (mean + deviation * rng.standard_normal((POPULATION, PARAMETERS))).astype(np.float32)
        policies[0] = mean
        ticks = final_ticks(policies, games, random_moves=8, seed=int(rng.integers(1 << 32)))
        elite = policies[np.argsort(-ticks.mean(axis=1), kind="stable")[:ELITE]]
        mean = 0.3 * mean + 0.7 * elite.mean(axis=0)
        # Noise that shrinks keeps the distribution from collapsing early.
        deviation = 0.3 * deviation + 0.7 * elite.std(axis=0) + 0.02 * (1 - generation / generations)
        if generation % 10 == 0 or generation == generations - 1:
            elapsed = time.perf_counter() - begin
            best = np.sort(ticks.mean(axis=1))[-ELITE:].mean()
            print(f"generation {generation:4}: the middle {ticks[0].mean():7.1f}, the elite {best:7.1f}, {elapsed:6.0f} s", flush=True)
    return mean


def save(parameters: Floats, path: Path) -> None:
    """Writes a model in the package's format."""
    first, first_bias, last, last_bias = (part[0].round(4).tolist() for part in layers(parameters[None]))
    network = [{"weights": first, "biases": first_bias}, {"weights": last, "biases": last_bias}]
    path.write_text(json.dumps({"format": "getaway-model 1", "layers": network}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("maps", nargs="*", default=getaway.maps(), help="maps of the test (default: all of maps/)")
    parser.add_argument("--generations", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="where to write the model")
    options = parser.parse_args()
    parameters = evolve(options.generations, options.seed)
    ticks = final_ticks(parameters[None], [getaway.Game(path) for path in options.maps])[0]
    print(f"mean final tick on {len(ticks)} maps: {ticks.mean():.1f}; survived {int((ticks > 2000).sum())}")
    if options.model:
        save(parameters, options.model)


if __name__ == "__main__":
    main()
