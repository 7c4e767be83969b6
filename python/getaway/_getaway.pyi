"""The extension module. Items that the package `getaway` does not re-export are internal."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
import numpy.typing as npt

from getaway import Batch as Batch
from getaway import Bot as Bot
from getaway import Game as Game
from getaway import Map as Map
from getaway import Replay as Replay
from getaway import Rules
from getaway import Solver as Solver
from getaway import State as State
from getaway import generate_map as generate_map
from getaway import judge_moves as judge_moves
from getaway import load_map as load_map
from getaway import maps as maps
from getaway import planners as planners
from getaway import solve as solve

__all__ = [
    "Batch",
    "Bot",
    "Game",
    "Map",
    "Replay",
    "Single",
    "Solver",
    "State",
    "__build__",
    "__version__",
    "draw",
    "generate_map",
    "judge_moves",
    "load_map",
    "maps",
    "planners",
    "play_games",
    "play_series",
    "play_shards",
    "run_command_line",
    "signature",
    "solve",
    "solve_instances",
]

__version__: str
__build__: str

@final
class Single:
    """A game for `getaway.gymnasium`, on one of several maps. Each observation is a new array."""

    def __new__(cls, games: Sequence[Game], observation: str, window: int) -> Single: ...
    def reset(self, map: int) -> tuple[npt.NDArray[Any], dict[str, Any]]: ...
    def step(self, player_move: int) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]: ...
    def set_state(self, state: State) -> tuple[npt.NDArray[Any], dict[str, Any]]: ...
    def action_mask(self) -> npt.NDArray[np.int8]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def map(self) -> int: ...
    @property
    def heading(self) -> int: ...
    @property
    def state(self) -> State: ...
    def __copy__(self) -> Single: ...
    def __deepcopy__(self, memo: Any, /) -> Single: ...
    def __getnewargs__(self) -> tuple[list[Game], str, int]: ...
    def __getstate__(self) -> tuple[State, int, int]: ...
    def __setstate__(self, state: tuple[State, int, int], /) -> None: ...

def draw(state: State, heading: int, tile: int) -> npt.NDArray[np.uint8]: ...
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
    rules: Rules | None,
    threads: int,
    battle: bool,
) -> dict[str, Any]: ...
def play_games(series: str, games: str, callables: dict[str, Callable[[State], Any]]) -> list[str]: ...
def play_shards(dataset: str, shards: Sequence[int], callables: dict[str, Callable[[State], Any]]) -> list[str]: ...
def solve_instances(benchmark: str, instances: Sequence[int]) -> list[str]: ...
def run_command_line(arguments: Sequence[str]) -> int: ...
def signature(maps: Sequence[str | PathLike[str]], *, threads: int = 1) -> str: ...
