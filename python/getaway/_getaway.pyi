"""The extension module. The package documents its exports; other items are internal."""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy.typing as npt

from getaway import Batch as Batch
from getaway import Bot as Bot
from getaway import Game as Game
from getaway import Map as Map
from getaway import Replay as Replay
from getaway import State as State
from getaway import generate_map as generate_map
from getaway import load_map as load_map
from getaway import maps as maps
from getaway import planners as planners
from getaway import signature as signature
from getaway import solve as solve

__all__ = [
    "Batch",
    "Bot",
    "Game",
    "Map",
    "Replay",
    "Single",
    "State",
    "__build__",
    "__version__",
    "generate_map",
    "load_map",
    "maps",
    "planners",
    "play_games",
    "play_searches",
    "play_series",
    "run_command_line",
    "signature",
    "solve",
]

__version__: str
__build__: str

@final
class Single:
    """One game of an environment. Observations are new arrays that fit all maps of `shaped_like`."""

    def __new__(cls, game: Game, observation: str, shaped_like: list[Game] | None) -> Single: ...
    def reset(self) -> tuple[npt.NDArray[Any], dict[str, Any]]: ...
    def step(self, player_move: int) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def state(self) -> State: ...

def play_series(
    planners: list[str],
    callables: dict[str, Callable[[State], Any]],
    maps: list[Map],
    *,
    samples: int,
    seed: int,
    budget_ticks: int | None,
    budget_ms: float | None,
    no_jump: bool,
    rules: dict[str, Any] | None,
    threads: int,
    battle: bool,
) -> dict[str, Any]: ...
def play_games(series: str, indices: Sequence[int], callables: dict[str, Callable[[State], Any]]) -> list[str]: ...
def play_searches(discovery: str, plays: str) -> list[str]: ...
def run_command_line(arguments: Sequence[str]) -> int: ...
