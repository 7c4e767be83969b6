"""Tabular Q-learning (Watkins, 1989) on the compact observation, in NumPy, compared with planners.

    python examples/python/q_learning.py [--steps 20000000] [--seed 1] [--curve FILE.svg] [MAP...]

A state of the table is derived from a part of the compact observation:

- for each of the five actions, whether it is blocked, and if not, the number of steps from the
  nearest threat to the tile that the action leads to, clipped to 4;
- whether the threats move in the next step, in the step after it, or later;
- the number of ticks between two moves of the threats, which follows from the tick.

The table learns from 512 parallel games on generated maps, and is tested without exploration on
the maps `MAP...`, by default those of `getaway.maps()`. The planners `random`, `safest` and
`cautious` play the same test maps.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import getaway

GAMES = 512
TRAINING_MAPS = 64
NEAR_STEPS = 4
"""The distance of a threat, in steps, is clipped to this value."""
DISCOUNT = 0.98
STATES = (NEAR_STEPS + 2) ** 5 * 3 * 5
EVALUATIONS = 16

Table = npt.NDArray[np.float32]


def states(observations: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    near = np.clip(observations[:, 4:9], -1, NEAR_STEPS).astype(np.int64) + 1
    number = near @ (NEAR_STEPS + 2) ** np.arange(5)
    wait = np.minimum(observations[:, 1], 2).astype(np.int64)
    # Threats move more often each time the clock (tick - 1) passes one of these values.
    phase = np.searchsorted([300, 500, 700, 900], observations[:, 0].astype(np.int64) - 1)
    return np.asarray((number * 3 + wait) * 5 + phase, dtype=np.int64)


def greedy(table: Table, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.asarray(table[rows].argmax(axis=1), dtype=np.int64)


def final_ticks(table: Table, games: list[getaway.Game]) -> npt.NDArray[np.int64]:
    """Returns the final tick of each game, played without exploration."""
    batch = getaway.Batch(games)
    ticks = np.zeros(len(games), dtype=np.int64)
    observations = batch.reset()
    while (ticks == 0).any():
        rows = states(observations)
        observations, _, terminations = batch.step(greedy(table, rows))
        ended = terminations & (ticks == 0)
        ticks[ended] = batch.ticks[ended]
    return ticks


def learn(steps: int, seed: int, tests: list[getaway.Game]) -> tuple[Table, list[tuple[int, float]]]:
    """Returns the table and the learning curve. Each point of the curve is a number of environment
    steps with the mean final tick on the test maps."""
    rng = np.random.default_rng(seed)
    maps = [getaway.generate_map(1000 + number, threats=4 + number % 4) for number in range(TRAINING_MAPS)]
    batch = getaway.Batch(maps, GAMES)
    table = np.full((STATES, 5), 1 / (1 - DISCOUNT), dtype=np.float32)
    rounds = max(steps // GAMES, EVALUATIONS)
    evaluated = {rounds * point // EVALUATIONS for point in range(EVALUATIONS)}
    curve = []
    rows = states(batch.reset())
    over = np.zeros(GAMES, dtype=bool)
    for number in range(rounds):
        share = number / rounds
        if number in evaluated:
            curve.append((number * GAMES, float(final_ticks(table, tests).mean())))
        exploration, rate = 0.1 * (1 - share), 0.3 * (1 - share) + 0.02
        actions = greedy(table, rows)
        explores = rng.random(GAMES) < exploration
        actions[explores] = rng.integers(5, size=int(explores.sum()))
        observations, rewards, terminations = batch.step(actions)
        after = states(observations)
        goals = rewards + DISCOUNT * np.where(terminations, 0, table[after].max(axis=1))
        # If a game was over, this step only reset the game, so the table must not learn from it.
        played = ~over
        known = table[rows[played], actions[played]]
        table[rows[played], actions[played]] = known + rate * (goals[played] - known)
        rows, over = after, terminations.copy()
    curve.append((rounds * GAMES, float(final_ticks(table, tests).mean())))
    return table, curve


def planner_ticks(planner: str, games: list[getaway.Game]) -> npt.NDArray[np.int64]:
    ticks = []
    for start in games:
        game = start.copy()
        getaway.Bot(planner, budget_ticks=2000).play(game)
        ticks.append(game.tick)
    return np.array(ticks)


def draw_curve(curve: list[tuple[int, float]], levels: dict[str, float], path: Path) -> None:
    """Draws the curve, and a horizontal line at each planner's mean final tick, as an SVG image."""
    last = curve[-1][0]

    def x(steps: float) -> float:
        return 60 + 490 * steps / last

    def y(tick: float) -> float:
        return 310 - 270 * tick / 2001

    def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'

    def line(points: list[tuple[float, float]], style: str) -> str:
        places = " ".join(f"{x(steps):.1f},{y(tick):.1f}" for steps, tick in points)
        return f'<polyline points="{places}" fill="none" {style}/>'

    shapes = [text(60, 24, "mean final tick"), text(305, 352, "environment steps, in millions")]
    for tick in (0, 500, 1000, 1500, 2001):
        shapes += [line([(0, tick), (last, tick)], 'stroke="#ddd"'), text(52, y(tick) + 4, str(tick), "end")]
    shapes += [text(x(last * part / 4), 330, f"{last * part / 4e6:.3g}") for part in range(5)]
    # From top to bottom, labels that would overlap move down.
    free = 0.0
    for name, level in sorted(levels.items(), key=lambda named: -named[1]):
        free = max(free, y(level) + 4)
        shapes += [line([(0, level), (last, level)], 'stroke="#456" stroke-dasharray="4"'), text(556, free, name, "start")]
        free += 14
    shapes.append(line([(steps, tick) for steps, tick in curve], 'stroke="#d62828" stroke-width="2"'))
    body = "".join(shapes)
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 360" font-family="sans-serif" font-size="12">'
        f'<rect width="640" height="360" fill="white"/>{body}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("maps", nargs="*", default=getaway.maps(), help="maps to play after the training (default: the bundled maps)")
    parser.add_argument("--steps", type=int, default=20_000_000, help="environment steps to learn from (default: 20 million)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--curve", type=Path, help="where to write the curve, as SVG")
    options = parser.parse_args()
    tests = [getaway.Game(path) for path in options.maps]
    start = time.perf_counter()
    table, curve = learn(options.steps, options.seed, tests)
    elapsed = time.perf_counter() - start
    print(f"learnt from {curve[-1][0]:,} steps in {elapsed:.0f} s")
    for steps, tick in curve:
        print(f"{steps:12,} steps: mean final tick {tick:7.1f}")
    reached = {"q-learning": final_ticks(table, tests)}
    reached |= {planner: planner_ticks(planner, tests) for planner in ("random", "safest", "cautious")}
    print(f"\n{'':12} mean final tick    games survived, of {len(tests)}")
    for name, ticks in reached.items():
        print(f"{name:12} {ticks.mean():15.1f}    {(ticks > 2000).sum():5}")
    if options.curve:
        levels = {name: float(ticks.mean()) for name, ticks in reached.items() if name != "q-learning"}
        draw_curve(curve, levels, options.curve)


if __name__ == "__main__":
    main()
