"""Coveo's Blitz 2025 car chase, reimplemented exactly, searched, and solved before the first move.

    import getaway

    game = getaway.Game("maps/roundabout")
    bot = getaway.Bot("survival", budget_ms=75)
    while not game.is_over:
        game.step(bot.next_action(game.frame()))
    print(game.score)

A move is a `Move`, its number (0 left, 1 right, 2 up, 3 down, 4 stay) or its letter (L, R, U, D, or . to stay). An
action of the protocol is a dict: {"type": "MOVE_LEFT"}, or MOVE_RIGHT, MOVE_UP, MOVE_DOWN, or
{"type": "MOVE_TO", "position": {"x": 1, "y": 2}}; None means to stay. A bug in the library raises a RuntimeError.

Positions are (x, y), x to the right and y down, from 0. Rules are a dict like `Game.rules`; rules that a dict does not name are
the server's, and `no_jump=True` is short for `rules={"no_jump": True}`.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from getaway.values import Move as Move
from getaway.values import Threat as Threat

__all__ = [
    "Batch",
    "Bot",
    "Decision",
    "Game",
    "Map",
    "Move",
    "Solution",
    "State",
    "Threat",
    "__version__",
    "generate_map",
    "load_map",
    "maps",
    "planners",
    "signature",
    "solve",
]

_Action: TypeAlias = Move | int | str | dict[str, Any] | Sequence[dict[str, Any]] | None
_Moves: TypeAlias = str | Iterable[Move | int | str]
_Status: TypeAlias = Literal["running", "caught", "complete"]
_MapLike: TypeAlias = str | PathLike[str] | Map
_Style: TypeAlias = Literal["bull", "goldfish", "shark", "owl", "deer", "hawk"]

__version__: str

@final
class Bot:
    """A player that receives the state before each tick and answers with an action. Several threads may use it, one at a time."""

    def __new__(
        cls,
        planner: str = "survival",
        budget_ms: float = 75.0,
        seed: int = 0,
        *,
        budget_ticks: int | None = None,
        no_jump: bool = False,
    ) -> Bot: ...

    def next_action(self, game_message: str | bytes | dict[str, Any], /) -> dict[str, Any] | None:
        """The action for a state, given as the received frame or as a dict; None to stay.

        Other threads can run meanwhile; Ctrl-C takes effect after the decision. A state on another map, or of an earlier
        tick, starts a new game.

        Raises ValueError, with the path of the field, for anything that is not a consistent state; the bot can still
        answer the next one.
        """

    @property
    def last_decision(self) -> Decision | None:
        """The last decision; None before the first."""

    @property
    def mispredictions(self) -> list[int]:
        """How often each threat, in message order, did something other than predicted in this game."""

@final
class Decision:
    """A decision: how an action was chosen."""

    @property
    def tick(self) -> int:
        """The tick of the message."""

    @property
    def source(self) -> Literal["plan", "search", "fallback"]:
        """An existing plan, a search in this tick, or a rule without search."""

    @property
    def planned_tick(self) -> int | None:
        """The last tick that the bot's plan survives to, if it planned: 2001 for the whole game."""

    @property
    def simulated_ticks(self) -> int:
        """The number of ticks that the planner simulated for this decision."""

    @property
    def milliseconds(self) -> float:
        """The time from the call to the decision."""

@final
class Map:
    """A map with the starts of the player and the threats. A value: it can be compared, hashed, copied and pickled."""

    def __new__(cls, rows: str | Sequence[str], *, name: str = "drawing", difficulty: str = "") -> Map: ...

    @property
    def name(self) -> str:
        """The name of its folder."""

    @property
    def difficulty(self) -> str:
        """The difficulty that its description gives: easy, medium or hard."""

    @property
    def rows(self) -> list[str]:
        """The drawing."""

    @property
    def width(self) -> int:
        """Columns."""

    @property
    def height(self) -> int:
        """Rows."""

    def save(self, folder: str | PathLike[str]) -> None:
        """Writes the map as the challenge stores maps: layout.png and meta.json in this folder.

        Raises ValueError when it cannot be written, or exceeds the limits of this format.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[list[str]], dict[str, Any]]: ...

@final
class State:
    """The state of a game at the start of a tick. An immutable value: it can be compared, hashed, copied and pickled."""

    def __new__(
        cls,
        map: _MapLike | Game | State,
        *,
        tick: int,
        player: tuple[int, int],
        threats: Iterable[Threat],
        no_jump: bool = False,
        rules: dict[str, Any] | None = None,
    ) -> State: ...

    def after(self, move: Move | int | str, /) -> State:
        """The state after a tick with this move.

        Raises ValueError when the game is over.
        """

    def play(self, moves: _Moves, /) -> State:
        """The state after these moves, or after the first one that ends the game."""

    @property
    def map(self) -> Map:
        """The map."""

    @property
    def rules(self) -> dict[str, Any]:
        """Every number, order and switch of the rules."""

    @property
    def tick(self) -> int:
        """The tick that is about to be played, 1 to 2001."""

    @property
    def score(self) -> int:
        """5 for each tick reached."""

    @property
    def status(self) -> _Status:
        """Whether the game goes on, or how it ended."""

    @property
    def is_over(self) -> bool:
        """Whether the player is caught or the last tick is played."""

    @property
    def is_caught(self) -> bool:
        """Whether a threat stands on the player's tile."""

    @property
    def player(self) -> tuple[int, int]:
        """Where the player is."""

    @property
    def threats(self) -> list[Threat]:
        """The threats, in the map's order, with memory and seed."""

    @property
    def legal_moves(self) -> list[Move]:
        """The moves that differ, staying last; none when the game is over."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> State: ...
    def __deepcopy__(self, memo: Any, /) -> State: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Map], dict[str, Any]]: ...

@final
class Game:
    """A mutable game. It can be compared, copied and pickled, with the moves made so far; only its states can be hashed."""

    def __new__(
        cls, map: _MapLike | Game | State, *, no_jump: bool = False, rules: dict[str, Any] | None = None, moves: _Moves = ""
    ) -> Game: ...

    @staticmethod
    def parse(drawing: str, *, no_jump: bool = False, rules: dict[str, Any] | None = None) -> Game:
        """The start of a game on a drawing: see `Map`.

        Raises ValueError for anything else.
        """

    def step(self, action: _Action = None, /) -> Move:
        """Plays a tick with a move, an action, several actions of which the first possible one counts, or nothing; returns
        the move made.

        Raises ValueError when the game is over or the action is invalid.
        """

    def play(self, moves: _Moves, /) -> int:
        """Plays moves, one per tick, until one ends the game; returns the number of moves played."""

    def reset(self) -> None:
        """Resets the game to its start."""

    def copy(self) -> Game:
        """An independent copy of the game; immutable data is shared."""

    def frame(self, team_id: str = "getaway") -> str:
        """The state as the server sends it, as JSON."""

    def message(self, team_id: str = "getaway") -> dict[str, Any]:
        """The state as the server sends it, decoded."""

    @property
    def name(self) -> str:
        """The map's name."""

    @property
    def map(self) -> Map:
        """The map."""

    @property
    def rules(self) -> dict[str, Any]:
        """Every number, order and switch of the rules."""

    @property
    def no_jump(self) -> bool:
        """Whether this is the no-jump variant."""

    @property
    def rows(self) -> list[str]:
        """The map at the start, drawn as `parse` reads it."""

    @property
    def moves(self) -> str:
        """The moves since the start, one letter per tick."""

    @property
    def state(self) -> State:
        """The current state, as an immutable value."""

    @property
    def tick(self) -> int:
        """The tick that is about to be played, 1 to 2001."""

    @property
    def score(self) -> int:
        """5 for each tick reached."""

    @property
    def status(self) -> _Status:
        """Whether the game goes on, or how it ended."""

    @property
    def is_over(self) -> bool:
        """Whether the player is caught or the last tick is played."""

    @property
    def is_caught(self) -> bool:
        """Whether a threat stands on the player's tile."""

    @property
    def player(self) -> tuple[int, int]:
        """Where the player is."""

    @property
    def threats(self) -> list[Threat]:
        """The threats, in the map's order, with memory and seed."""

    @property
    def legal_moves(self) -> list[Move]:
        """The moves that differ, staying last; none when the game is over."""

    def __eq__(self, other: object, /) -> bool: ...
    __hash__ = None  # type: ignore[assignment]
    def __copy__(self) -> Game: ...
    def __deepcopy__(self, memo: Any, /) -> Game: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Map], dict[str, Any]]: ...

@final
class Batch:
    """Many games in flat arrays, stepped together in Rust while other Python threads run. Needs NumPy.

    A finished game is reset by the next step, which ignores its action. Every step writes into the same arrays: copy
    them to keep their contents. `getaway.gymnasium` describes the observations.
    """

    def __new__(
        cls,
        maps: _MapLike | Game | State | Sequence[_MapLike | Game | State],
        games: int | None = None,
        *,
        observation: str | None = "compact",
        threads: int = 1,
        no_jump: bool = False,
        rules: dict[str, Any] | None = None,
    ) -> Batch: ...

    def reset(self, mask: npt.NDArray[np.bool_] | None = None, /) -> npt.NDArray[Any]:
        """Resets all games, or those whose entry in the mask is True; returns the observations."""

    def step(
        self, actions: npt.NDArray[np.integer[Any]], /
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Plays a tick of every game; returns observations, rewards and terminations.

        A reward is the number of ticks gained: 1, or 0 for a game that was reset or lost within the tick (no-jump variant).

        Raises TypeError for actions that are not integers, ValueError for a shape other than (games,) or an action outside 0 to 4; the
        games are then unchanged.
        """

    @property
    def observations(self) -> npt.NDArray[Any]:
        """The observations after the last step, of shape (games, *observation_shape)."""

    @property
    def observation(self) -> Literal["compact", "planes", "state"] | None:
        """The kind of observation."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one game's observation: the same for all games; it fits the largest map."""

    @property
    def threads(self) -> int:
        """The number of threads that step the games."""

    @property
    def rules(self) -> list[dict[str, Any]]:
        """The rules of each map."""

    @property
    def ticks(self) -> npt.NDArray[np.uint16]:
        """The tick that each game is about to play."""

    def __len__(self) -> int: ...
    def __getitem__(self, game: int, /) -> State:
        """The current state of a game."""

    def __setitem__(self, game: int, state: State, /) -> None:
        """Continues a game from a state with its map and rules.

        Raises ValueError for another state.
        """

@final
class Solution:
    """The result of a search."""

    @property
    def outcome(self) -> Literal["survives", "doomed", "undecided"]:
        """Whether the player survives, provably cannot survive, or neither is known."""

    @property
    def moves(self) -> str:
        """The moves, one letter per tick: L, R, U, D, or . to stay."""

    @property
    def actions(self) -> list[dict[str, Any] | None]:
        """The moves as actions."""

    @property
    def final_tick(self) -> int:
        """The tick that the moves reach."""

    @property
    def score(self) -> int:
        """The score at that tick."""

    @property
    def simulated_ticks(self) -> int:
        """The number of ticks that the search simulated."""

    @property
    def milliseconds(self) -> float:
        """The time of the search, excluding the map's tables."""

def load_map(map: str | PathLike[str]) -> Map:
    """Loads the map in a folder, or the one with this name in `maps/`.

    Raises FileNotFoundError when there is no such map, ValueError when it cannot be read.
    """

def maps(folder: str | PathLike[str] | None = None) -> list[str]:
    """The names of the maps in a folder of maps, by default `maps/`.

    Raises FileNotFoundError when there is no such folder.
    """

def generate_map(
    seed: int = 0,
    *,
    kind: Literal["maze", "labyrinth", "city"] = "maze",
    width: int | None = None,
    height: int | None = None,
    threats: int | None = None,
    styles: Sequence[_Style] | None = None,
) -> Map:
    """Generates a map: a seed gives the same map on every machine.

    kind: mazes and labyrinths need odd sides.
    styles: the styles of the threats; a style given twice is twice as frequent.

    Raises ValueError for a size or a number of threats out of range.
    """

def planners() -> list[str]:
    """The names of the planners that a `Bot` accepts."""

def solve(
    map: _MapLike | Game,
    *,
    no_jump: bool = False,
    rules: dict[str, Any] | None = None,
    time_limit_ms: float = 1000.0,
    seed: int = 0,
) -> Solution:
    """Solves a whole game before the first move, from a map's start or from a game's current state.

    The same seed finds the same moves as long as the search takes less than half a second. Other threads can run
    meanwhile, and Ctrl-C works.

    Raises the same errors as `Game` for a map, and ValueError for a time limit below 0, or for no_jump with a game
    of the standard variant.
    """

def signature(maps: Sequence[str | PathLike[str]], threads: int = 1) -> str:
    """The search signature: 16 hexadecimal digits that identify the planners' behaviour on these maps, in both variants,
    with a fixed seed and a fixed budget.

    It does not depend on the machine or the number of threads, and changes when a search changes. Takes about a second
    for a dozen maps.

    Raises the same errors as `Game` for a map.
    """
