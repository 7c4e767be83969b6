"""Compares planners and models on the default maps and on generated test maps.

    python examples/python/compare.py random safest cautious model:examples/models/evolved.json

For each set of maps and each variant, prints a table with one row per planner: the mean final tick,
its standard error over the maps, the number of survived games, and the mean regret. The regret of a
game is the number of ticks by which the best possible game on the map is longer. The mean regret
covers only the maps on which a search finds a game that it proves to be the best; their number
follows in parentheses. The default maps are those of `getaway.maps()`. The generated maps are from
the `test` split, which `evolve.py`, `imitate.py` and `ppo.py` do not use.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import policy

import getaway
from getaway import arena

TEST_SEED = 0
BEST_TICKS_BUDGET = 3_000_000
"""Limit on the simulated ticks of the search for a map's best game."""


def best_tick(map: getaway.Map, *, no_jump: bool) -> float:
    """Returns the final tick of the map's best game, or NaN if no game is proven to be the best."""
    solution = getaway.solve(map, no_jump=no_jump, budget_ticks=BEST_TICKS_BUDGET)
    return solution.final_tick if solution.is_optimal else float("nan")


def rows(planners: list[str], maps: list[getaway.Map], *, no_jump: bool, threads: int) -> list[str]:
    with ThreadPoolExecutor(threads) as pool:
        best = np.array(list(pool.map(lambda map: best_tick(map, no_jump=no_jump), maps)))
    games = arena.evaluate(planners, maps, samples=1, no_jump=no_jump, threads=threads).games
    cells = []
    # If a planner is given as NAME=PLANNER, the games contain only NAME.
    for name in dict.fromkeys(game["planner"] for game in games):
        ticks = np.array([game["final_tick"] for game in games if game["planner"] == name])
        error = ticks.std(ddof=1) / np.sqrt(len(ticks)) if len(ticks) > 1 else float("nan")
        regrets = (best - ticks)[~np.isnan(best)]
        regret = f"{regrets.mean():.0f}" if len(regrets) else "-"
        cells.append(f"{ticks.mean():.0f} ± {error:.0f} | {int((ticks > 2000).sum())} | {regret} ({len(regrets)})")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("planners", nargs="+", metavar="PLANNER", help="planner name, expression or model:FILE")
    parser.add_argument("--test-maps", type=int, default=96)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    bundled = [getaway.load_map(name) for name in getaway.maps()]
    sets = {"default maps": bundled, "test maps": policy.generated_maps(options.test_maps, "test", TEST_SEED)}
    for name, maps in sets.items():
        for no_jump, variant in ((False, "the server's rules"), (True, "no jumping")):
            if maps:
                print(f"\n{len(maps)} {name}, {variant}\n\n| player | mean final tick | survived | mean regret (maps) |\n|---|---|---|---|")
                for planner, cells in zip(options.planners, rows(options.planners, maps, no_jump=no_jump, threads=options.threads)):
                    print(f"| {planner} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
