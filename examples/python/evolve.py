"""Evolves a policy with the cross-entropy method, in NumPy.

    python examples/python/evolve.py [--generations 200] [--seed 1] [--model FILE.json] [MAP...]

The cross-entropy method (Rubinstein, 1999) draws small networks from a normal distribution, lets each play
the same games on generated maps, and moves the distribution towards the networks whose games lasted longest.
Every generation plays different games and begins with different random moves, so no game is learnt
by heart.

The model is written in the package's format: `getaway play roundabout --planner model:FILE.json`.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import policy
from policy import INPUTS, Floats

import getaway

POPULATION = 32
ELITE = 8
GAMES_PER_GENERATION = 20
TRAINING_GAMES = 256
RANDOM_MOVES = 8
HIDDEN = 12
SIZES = [(HIDDEN, INPUTS), (HIDDEN,), (1, HIDDEN), (1,)]
PARAMETERS = sum(int(np.prod(size)) for size in SIZES)


def layers(parameters: Floats) -> list[Floats]:
    """The weights and biases of policies with these parameters, of shape (policies, PARAMETERS)."""
    ends = np.cumsum([int(np.prod(size)) for size in SIZES])[:-1]
    return [part.reshape(-1, *size) for part, size in zip(np.split(parameters, ends, axis=1), SIZES)]


def actions(parameters: Floats, features: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """The action in each game. Games are ordered by number, and then by policy."""
    own, shared, is_open = policy.split_inputs(features)
    first, first_bias, last, last_bias = layers(parameters)
    policies = len(parameters)
    own = own.reshape(-1, policies, 20).swapaxes(0, 1).reshape(policies, -1, 4)
    shared = shared.reshape(-1, policies, 11).swapaxes(0, 1)
    # The part of the hidden layer that all actions share is computed once.
    common = shared @ first[:, :, 4:].transpose(0, 2, 1) + first_bias[:, None]
    hidden = (own @ first[:, :, :4].transpose(0, 2, 1)).reshape(policies, -1, 5, HIDDEN) + common[:, :, None]
    np.maximum(hidden, 0, out=hidden)
    scores = (hidden @ last[:, None].swapaxes(2, 3))[..., 0] + last_bias[:, None]
    scores = scores.swapaxes(0, 1).reshape(-1, 5)
    return np.asarray(np.where(is_open, scores, -np.inf).argmax(axis=1), np.int64)


def training_ticks(parameters: Floats, games: list[getaway.Game], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The last tick of each policy on each game, of shape (policies, games), after random moves."""
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


def evolve(generations: int, seed: int) -> Floats:
    """Returns the mean of the last distribution."""
    rng = np.random.default_rng(seed)
    games = policy.training_games(TRAINING_GAMES, seed)
    mean = np.zeros(PARAMETERS, np.float32)
    deviation = np.full(PARAMETERS, 0.5, np.float32)
    begin = time.perf_counter()
    for generation in range(generations):
        chosen = [games[number] for number in rng.choice(len(games), GAMES_PER_GENERATION, replace=False)]
        policies = (mean + deviation * rng.standard_normal((POPULATION, PARAMETERS))).astype(np.float32)
        policies[0] = mean
        ticks = training_ticks(policies, chosen, rng).mean(axis=1)
        elite = policies[np.argsort(-ticks, kind="stable")[:ELITE]]
        mean = 0.3 * mean + 0.7 * elite.mean(axis=0)
        # Noise that shrinks keeps the distribution from collapsing early.
        deviation = 0.3 * deviation + 0.7 * elite.std(axis=0) + 0.02 * (1 - generation / generations)
        if generation % 10 == 0 or generation == generations - 1:
            best, elapsed = np.sort(ticks)[-ELITE:].mean(), time.perf_counter() - begin
            print(f"generation {generation:4}: mean policy {ticks[0]:7.1f}, elite {best:7.1f}, {elapsed:5.0f} s", flush=True)
    return mean


def main() -> None:
    parser = policy.arguments(__doc__.split("\n")[0])
    parser.add_argument("--generations", type=int, default=200)
    options = parser.parse_args()
    # The reported results are those of the weights in the file.
    parameters = evolve(options.generations, options.seed).round(4)
    if options.model:
        first, first_bias, last, last_bias = (part[0] for part in layers(parameters[None]))
        policy.save([(first, first_bias), (last, last_bias)], options.model)
    policy.report(lambda features: actions(parameters[None], features), options.maps)


if __name__ == "__main__":
    main()
