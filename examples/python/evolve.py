"""Evolves a policy with the cross-entropy method, in NumPy.

    python examples/python/evolve.py [--generations 30] [--seed 1] [--model FILE.json] [MAP...]

The cross-entropy method (Rubinstein, 1999) draws small networks from a normal distribution, lets
each play the same games on generated maps, and moves the distribution towards the networks whose
games lasted longest. Each generation plays another random sample of the training maps, and each
game begins with random moves, to keep the networks from memorising games. A running average of the
distribution's means plays validation maps every few generations. The result is the average with the
highest mean final tick on these maps.

`getaway play roundabout --planner model:FILE.json` plays a game with the saved model.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import policy
from policy import INPUTS, OWN, Floats

import getaway

POPULATION = 32
ELITE = 8
GAMES_PER_GENERATION = 20
TRAINING_MAPS = 256
VALIDATION_MAPS = 128
VALIDATION_INTERVAL = 5
RANDOM_MOVES = 8
DEVIATION = 0.5
NOISE = 0.02
AVERAGE = 0.1
HIDDEN = 12
SIZES = [(HIDDEN, INPUTS), (HIDDEN,), (1, HIDDEN), (1,)]
PARAMETERS = sum(int(np.prod(size)) for size in SIZES)


def layers(parameters: Floats) -> list[Floats]:
    """Splits parameters of shape (policies, PARAMETERS) into each layer's weights and biases."""
    ends = np.cumsum([int(np.prod(size)) for size in SIZES])[:-1]
    return [part.reshape(-1, *size) for part, size in zip(np.split(parameters, ends, axis=1), SIZES)]


def actions(parameters: Floats, features: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """Returns one action per row of features. Row `game * policies + policy` holds this
    policy's features in this game."""
    own, shared, is_open = policy.split_inputs(features)
    first, first_bias, last, last_bias = layers(parameters)
    policies = len(parameters)
    own = own.reshape(-1, policies, 5 * OWN).swapaxes(0, 1).reshape(policies, -1, OWN)
    shared = shared.reshape(-1, policies, INPUTS - OWN).swapaxes(0, 1)
    # The shared inputs add the same values to the hidden layer for every action.
    common = shared @ first[:, :, OWN:].transpose(0, 2, 1) + first_bias[:, None]
    hidden = (own @ first[:, :, :OWN].transpose(0, 2, 1)).reshape(policies, -1, 5, HIDDEN) + common[:, :, None]
    np.maximum(hidden, 0, out=hidden)
    scores = (hidden @ last[:, None].swapaxes(2, 3))[..., 0] + last_bias[:, None]
    scores = scores.swapaxes(0, 1).reshape(-1, 5)
    return np.asarray(np.where(is_open, scores, -np.inf).argmax(axis=1), np.int64)


def training_ticks(parameters: Floats, games: list[getaway.Game], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Returns the final ticks, of shape (policies, games). Each game begins with random moves,
    which are the same for all policies."""
    policies = len(parameters)
    batch = getaway.Batch(games, len(games) * policies, observation="features")
    ticks = np.zeros(len(batch), np.int64)
    features = batch.observations
    for tick in range(2000):
        if tick < RANDOM_MOVES:
            chosen = np.repeat(rng.integers(5, size=len(games)), policies)
        else:
            chosen = actions(parameters, features)
        features, _, terminations = batch.step(chosen)
        ended = terminations & (ticks == 0)
        ticks[ended] = batch.ticks[ended]
        if ticks.all():
            break
    return np.asarray(ticks.reshape(len(games), policies).T)


def save(parameters: Floats, path: Path) -> None:
    first, first_bias, last, last_bias = (part[0] for part in layers(parameters[None]))
    policy.save([(first, first_bias), (last, last_bias)], path)


def evolve(generations: int, seed: int, path: Path | None) -> Floats:
    """Returns the parameters with the highest mean final tick in validation. Also writes them to
    `path`, if given, at each improvement."""
    rng = np.random.default_rng(seed)
    games = [getaway.Game(map) for map in policy.generated_maps(TRAINING_MAPS, "train", seed)]
    validation = policy.generated_maps(VALIDATION_MAPS, "validation", seed)
    mean = np.zeros(PARAMETERS, np.float32)
    deviation = np.full(PARAMETERS, DEVIATION, np.float32)
    average, best, best_tick = mean, mean, 0.0
    begin = time.perf_counter()
    for generation in range(1, generations + 1):
        chosen = [games[number] for number in rng.choice(len(games), GAMES_PER_GENERATION, replace=False)]
        policies = (mean + deviation * rng.standard_normal((POPULATION, PARAMETERS))).astype(np.float32)
        ticks = training_ticks(policies, chosen, rng).mean(axis=1)
        elite = policies[np.argsort(-ticks, kind="stable")[:ELITE]]
        mean = 0.3 * mean + 0.7 * elite.mean(axis=0)
        # The added noise, which shrinks to 0, prevents the distribution from collapsing early.
        deviation = 0.3 * deviation + 0.7 * elite.std(axis=0) + NOISE * (1 - generation / generations)
        # The arithmetic mean in the first 1 / AVERAGE generations, then an exponential average.
        average = average + max(AVERAGE, 1 / generation) * (mean - average)
        if generation % VALIDATION_INTERVAL == 0 or generation == generations:
            # Validates rounded weights, because the file contains rounded weights.
            rounded = average.round(4).astype(np.float32)
            tick = policy.final_ticks(lambda features: actions(rounded[None], features), validation).mean()
            if tick > best_tick:
                best, best_tick = rounded, tick
                if path:
                    save(best, path)
            elapsed = time.perf_counter() - begin
            print(f"generation {generation:3}: mean final tick {ticks.mean():6.1f} in training, {tick:6.1f} in validation, {elapsed:4.0f} s", flush=True)
    return best


def main() -> None:
    parser = policy.arguments(__doc__.split("\n")[0])
    parser.add_argument("--generations", type=int, default=30, help="generations to train (default: 30)")
    options = parser.parse_args()
    parameters = evolve(options.generations, options.seed, options.model)
    policy.report(lambda features: actions(parameters[None], features), options.maps)


if __name__ == "__main__":
    main()
