"""Makes levels: maps for which the best possible game is known.

    from getaway import levels

    train = levels.generate(16, split="train", seed=1)
    hard = levels.generate(4, split="test", no_jump=True, width=9, height=9, best_tick=(100, 2000))

A level's best tick is the last tick that any player can reach. The level contains a line of moves
that reaches the best tick. If the best tick is less than 2001, a certificate proves that no line
goes further; `getaway verify` checks the certificate independently of the solver.

A hash of the map's drawing determines its split: about 80% of maps are in `train`, and 10% each in
`validation` and `test`. Two splits therefore never share a map, whatever the seeds and options.

The results of `generate` depend only on its arguments, because its budgets are in simulated ticks.
The exception is a map that takes more than a day to solve: it is skipped.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import getaway

__all__ = ["Difficulty", "Level", "Split", "candidates", "difficulty", "generate", "load", "solved", "split_of"]

Split: TypeAlias = Literal["train", "validation", "test"]

_SOLVE_TICKS = 20_000_000
"""Budget per candidate in simulated ticks; using it up takes a few seconds."""
_SAMPLE_TICKS = 50
"""Number of ticks from one sample of the best line to the next."""
_CANDIDATES_MAX = 1000
_FIRST_PROGRESS_S = 2.0
_PROGRESS_S = 10.0


@dataclass(frozen=True)
class Difficulty:
    """How hard it is to reach a level's best tick. The samples are the best line's states at ticks
    1, 51, 101 and so on. A move counts as safe if a known line begins with it and reaches the best
    tick."""

    safe_share: float
    """The share of safe moves among the legal moves in all samples, from 0 to 1."""
    narrowest: int
    """The smallest number of safe moves in a sample, 1 to 5."""


@dataclass(frozen=True)
class Level:
    """A map, a variant of the game, and the best possible game on the map."""

    map: getaway.Map
    """The map."""
    no_jump: bool
    """True for the no-jump variant."""
    best_tick: int
    """The last tick that any player can reach; 2001 if a player can survive the whole game."""
    moves: str = field(repr=False)
    """A line of moves that reaches the best tick, one letter per tick."""
    certificate: str | None = field(repr=False)
    """The proof that no line goes further. None if the best tick is 2001, the maximum."""

    def game(self) -> getaway.Game:
        """Return a new game of this level."""
        return getaway.Game(self.map, no_jump=self.no_jump)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write a folder as `getaway.Map.save` does, plus `level.json` and, if there is a
        certificate, `certificate.txt`. If one of these two files cannot be written, the folder is
        removed.

        Raises:
            FileExistsError: if `folder` exists.
            OSError: if a file cannot be written.
            ValueError: if the format cannot represent the map.
        """
        self.map.save(folder)
        values = {"no_jump": self.no_jump, "best_tick": self.best_tick, "moves": self.moves}
        try:
            Path(folder, "level.json").write_text(json.dumps(values) + "\n", "utf-8", newline="\n")
            if self.certificate is not None:
                Path(folder, "certificate.txt").write_text(self.certificate, "utf-8", newline="\n")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def load(folder: str | PathLike[str]) -> Level:
    """Load a level from a folder that `Level.save` wrote. The certificate is not checked.

    Raises:
        FileNotFoundError: if the folder does not contain a level.
        ValueError: if `level.json` or the map is invalid, or if the level's moves do not end in its
            best tick.
    """
    text = Path(folder, "level.json").read_text("utf-8-sig")
    try:
        values = json.loads(text)
        no_jump, best_tick, moves = values["no_jump"], int(values["best_tick"]), str(values["moves"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder}/level.json: expected valid no_jump, best_tick and moves: {error!r}") from error
    map = getaway.load_map(folder)
    game = getaway.Game(map, no_jump=bool(no_jump))
    game.play(moves)
    if game.tick != best_tick:
        raise ValueError(f"{folder}/level.json: the moves reach tick {game.tick}: expected {best_tick}")
    certificate = Path(folder, "certificate.txt")
    return Level(map, bool(no_jump), best_tick, moves, certificate.read_text("utf-8-sig") if certificate.exists() else None)


def split_of(map: getaway.Map) -> Split:
    """Return the split to which a map belongs."""
    first = hashlib.sha256("\n".join(map.rows).encode()).digest()[0]
    return "test" if first < 26 else "validation" if first < 52 else "train"


def candidates(split: Split, seed: int = 0, **map_options: Any) -> Iterator[getaway.Map]:
    """Generate maps, and yield each distinct map of the split. The iterator never ends.

    Args:
        split: "train", "validation" or "test".
        seed: the seed of the first generated map; each further map has the next seed.
        map_options: options of `getaway.generate_map`.

    Raises:
        ValueError: for an unknown split, or an invalid value of a map option.
    """
    if split not in ("train", "validation", "test"):
        raise ValueError(f"split: expected train, validation or test, found {split!r}")
    known: set[tuple[str, ...]] = set()
    while True:
        map = getaway.generate_map(seed, **map_options)
        rows = tuple(map.rows)
        if split_of(map) == split and rows not in known:
            known.add(rows)
            yield map
        seed += 1


def solved(map: getaway.Map, *, no_jump: bool = False, budget_ticks: int = _SOLVE_TICKS) -> Level | None:
    """Solve a map and return its level; None if the best tick is not proven within the budget and
    one day."""
    solution = getaway.solve(map, no_jump=no_jump, budget_ticks=budget_ticks)
    if not solution.is_optimal or (solution.certificate is None and solution.final_tick <= 2000):
        return None
    return Level(map, no_jump, solution.final_tick, solution.moves, solution.certificate)


def difficulty(level: Level, *, budget_ticks: int = 100_000) -> Difficulty:
    """Measure the difficulty of a level.

    Args:
        level: the level.
        budget_ticks: maximum number of simulated ticks per move. If the search finds no line that
            reaches the best tick, the move counts as safe only if it is the best line's move.
    """
    state, safe, moves, narrowest = level.game().state, 0, 0, 5
    for start in range(0, len(level.moves), _SAMPLE_TICKS):
        verdicts = getaway.judge_moves(state, budget_ticks=budget_ticks)
        planned = getaway.Move.from_letter(level.moves[start])
        # The best line's next move is safe even if the search found no line to the best tick.
        here = sum(move is planned or verdict.final_tick >= level.best_tick for move, verdict in verdicts.items())
        safe, moves, narrowest = safe + here, moves + len(verdicts), min(narrowest, here)
        state = state.play(level.moves[start : start + _SAMPLE_TICKS])
    return Difficulty(safe / max(moves, 1), narrowest)


def generate(
    count: int,
    *,
    split: Split = "train",
    seed: int = 0,
    no_jump: bool = False,
    best_tick: tuple[int, int] = (2, 2001),
    safe_share: tuple[float, float] | None = None,
    narrowest: tuple[int, int] | None = None,
    budget_ticks: int = _SOLVE_TICKS,
    threads: int | None = None,
    progress: bool = True,
    **map_options: Any,
) -> list[Level]:
    """Generate levels of a split: solve generated maps, and keep those of the requested difficulty.

    A map takes from 1 ms to a few seconds on one core. A rare difficulty needs many maps.

    Args:
        count: number of levels.
        split: "train", "validation" or "test".
        seed: the seed of the first generated map; each further map has the next seed.
        no_jump: whether to use the no-jump variant, in which more maps are doomed.
        best_tick: the smallest and the largest best tick.
        safe_share: the smallest and the largest `Difficulty.safe_share`.
        narrowest: the smallest and the largest `Difficulty.narrowest`.
        budget_ticks: maximum number of simulated ticks to solve a map; maps that need more are
            skipped.
        threads: number of maps that are solved at the same time, by default one per processor. It
            does not change the levels.
        progress: whether to write a line to standard error after a map, at most every ten seconds.
        map_options: options of `getaway.generate_map`, such as `kind`, `width` and `threats`.

    Raises:
        ValueError: for an unknown split, or an invalid value of a map option; or if 1,000
            candidates in a row are not solved or do not have the requested difficulty.
    """

    def solve(map: getaway.Map) -> Level | None:
        level = solved(map, no_jump=no_jump, budget_ticks=budget_ticks)
        return level if level is not None and _fits(level, best_tick, safe_share, narrowest) else None

    levels: list[Level] = []
    threads = threads or os.cpu_count() or 1
    maps = candidates(split, seed, **map_options)
    missed, tried, start = 0, 0, time.monotonic()
    shown = start - _PROGRESS_S + _FIRST_PROGRESS_S
    pool = ThreadPoolExecutor(threads)
    try:
        # The maps are judged in order, so the number of threads does not matter.
        jobs: deque[Future[Level | None]] = deque()
        while len(levels) < count:
            while len(jobs) < 2 * threads:
                jobs.append(pool.submit(solve, next(maps)))
            level = jobs.popleft().result()
            missed, tried = 0 if level is not None else missed + 1, tried + 1
            if level is not None:
                levels.append(level)
            if missed == _CANDIDATES_MAX:
                raise ValueError(f"{missed} candidates in a row were not solved or did not have the requested difficulty, after {len(levels)} levels: expected an easier request")
            if progress and time.monotonic() - shown >= _PROGRESS_S:
                shown = time.monotonic()
                print(f"{len(levels)} of {count} levels, {tried} candidates after {shown - start:.0f} s", file=sys.stderr)
    finally:
        # Candidates in progress, which are no longer needed, end in the background.
        pool.shutdown(wait=False, cancel_futures=True)
    return levels


def _fits(
    level: Level, best_tick: tuple[int, int], safe_share: tuple[float, float] | None, narrowest: tuple[int, int] | None
) -> bool:
    if not best_tick[0] <= level.best_tick <= best_tick[1]:
        return False
    if safe_share is None and narrowest is None:
        return True
    found = difficulty(level)
    share, least = safe_share or (0.0, math.inf), narrowest or (0, 5)
    return share[0] <= found.safe_share <= share[1] and least[0] <= found.narrowest <= least[1]
