"""Plays series of games that compare planners, and returns the results as data.

    from getaway.arena import battle, evaluate

    def upwards(state):
        return "U"

    results = evaluate(["safest", upwards], ["roundabout", "snail"], samples=2)
    results.to_frame().groupby("planner").score.mean()

A planner is a name or an expression, as for `getaway.Bot`, or a callable that takes a
`getaway.State` and returns a move. Each planner plays each map `samples` times. In each sample, all
planners play a map with the same seed, so their games are paired. If the budget has no time limit
and each planner's moves depend only on the seed and the game that it plays, the games do not depend
on the number of threads. Python planners run one at a time, because of Python's global interpreter
lock.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from os import PathLike
from typing import Any

import getaway
from getaway import MapLike, Planner

__all__ = ["Results", "battle", "evaluate"]

_BUDGET_TICKS = 20_000


class Results:
    """The games of a series, and their statistics."""

    __slots__ = {
        "games": "One dict per game, with the keys planner, map, sample, seed, no_jump, score, final_tick, survived, "
        "decisions, simulated_ticks, mispredictions, decision_p50_ms, decision_max_ms.",
        "planners": "One dict per planner, with the keys planner, overall, maps and points_below_best, as in the output of "
        "`getaway eval --json`.",
        "match": "The comparison of two planners, as in the output of `getaway battle --json`; None after `evaluate`.",
        "sentence": "The result of the match as an English sentence; None after `evaluate`.",
    }

    def __init__(
        self,
        games: list[dict[str, Any]],
        planners: list[dict[str, Any]],
        match: dict[str, Any] | None = None,
        sentence: str | None = None,
    ) -> None:
        self.games, self.planners, self.match, self.sentence = games, planners, match, sentence

    def to_frame(self, library: str | None = None) -> Any:
        """Return the games as a data frame, with one row per game.

        library: "pandas" or "polars"; by default pandas, or polars if pandas is not installed.

        Raises ValueError for another library, and ImportError if no such library is installed.
        """
        if library not in (None, "pandas", "polars"):
            raise ValueError(f"library: expected 'pandas', 'polars' or None, found {library!r}")
        for name in ("pandas", "polars") if library is None else (library,):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            return module.DataFrame(self.games)
        needed = f"{library}: install it" if library else "pandas or polars: install one of them"
        raise ImportError(f"a data frame needs {needed}")

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("planner", "mean score", "95% interval", "survive", "games")]
        for planner in self.planners:
            overall = planner["overall"]
            mean, interval = overall["score_mean"], overall["score_interval"]
            rows.append(
                (
                    planner["planner"],
                    "-" if mean is None else f"{mean:.0f}",
                    "-" if interval is None else f"{interval['low']:.0f} to {interval['high']:.0f}",
                    f"{100 * overall['survived'] / max(overall['games'], 1):.0f}%",
                    str(overall["games"]),
                )
            )
        return rows

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *([self.sentence] if self.sentence else [])])

    def _repr_html_(self) -> str:
        import html

        head, *rows = ([html.escape(cell) for cell in row] for row in self._rows())
        lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
        lines += ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
        sentence = f"<p>{html.escape(self.sentence)}</p>" if self.sentence else ""
        return f"<table>{''.join(lines)}</table>{sentence}"


def _maps(maps: MapLike | Sequence[MapLike] | None) -> list[getaway.Map]:
    if maps is None:
        maps = getaway.maps()
    elif isinstance(maps, (str, PathLike, getaway.Map)):
        maps = [maps]
    found = [each if isinstance(each, getaway.Map) else getaway.load_map(each) for each in maps]
    if not found:
        raise ValueError("maps: expected at least one")
    return found


def _play(planners: Sequence[Planner], maps: MapLike | Sequence[MapLike] | None, is_battle: bool, **options: Any) -> Results:
    try:
        from getaway._getaway import play_series
    except ImportError:
        raise ImportError("this build of getaway has no arena: it was built without the feature `lab`") from None
    from getaway._callables import names_of

    for name in ("samples", "threads"):
        if options[name] is not None and options[name] < 1:
            raise ValueError(f"{name}: expected at least 1, found {options[name]}")
    if options["budget_ticks"] is None and options["budget_ms"] is None:
        options["budget_ticks"] = _BUDGET_TICKS
    options["threads"] = options["threads"] or os.cpu_count() or 1
    for planner in planners:
        if not isinstance(planner, str) and not callable(planner):
            raise TypeError(f"planner: expected a name or a callable that takes a state, found {type(planner).__name__}")
    names, callables = names_of(planners)
    return Results(**play_series(names, callables, _maps(maps), battle=is_battle, **options))


def evaluate(
    planners: Planner | Sequence[Planner],
    maps: MapLike | Sequence[MapLike] | None = None,
    *,
    samples: int = 10,
    seed: int = 0,
    budget_ticks: int | None = None,
    budget_ms: float | None = None,
    no_jump: bool = False,
    rules: getaway.Rules | None = None,
    threads: int | None = None,
) -> Results:
    """Evaluate planners on one or several maps, like `getaway eval`.

    planners: one or several planners.
    maps: one or several maps; by default those of `getaway.maps()`.
    samples: number of games of each planner on each map.
    seed: the seed from which the seeds of all games are derived.
    budget_ticks, budget_ms: limits per decision; if both are None, 20,000 simulated ticks.
    no_jump, rules: as for `getaway.Game`.
    threads: maximum number of games played at the same time; by default one per processor.

    Raises ValueError for an invalid option, a planner that is unknown or fails, or a map that
    cannot be read or played, and FileNotFoundError for a map that does not exist.
    """
    several: Sequence[Planner] = [planners] if isinstance(planners, str) or callable(planners) else planners
    return _play(
        several, maps, False, samples=samples, seed=seed, budget_ticks=budget_ticks, budget_ms=budget_ms, no_jump=no_jump,
        rules=rules, threads=threads,
    )  # fmt: skip


def battle(
    left: Planner,
    right: Planner,
    maps: MapLike | Sequence[MapLike] | None = None,
    *,
    samples: int = 10,
    seed: int = 0,
    budget_ticks: int | None = None,
    budget_ms: float | None = None,
    no_jump: bool = False,
    rules: getaway.Rules | None = None,
    threads: int | None = None,
) -> Results:
    """Compare two planners in paired games, like `getaway battle`. Options: see `evaluate`."""
    return _play(
        [left, right], maps, True, samples=samples, seed=seed, budget_ticks=budget_ticks, budget_ms=budget_ms, no_jump=no_jump,
        rules=rules, threads=threads,
    )  # fmt: skip
