"""Coveo's Blitz 2025 car chase, rebuilt exactly, searched and solved before the first move.

    import getaway

    game = getaway.Game("maps/roundabout")
    bot = getaway.Bot("survival", budget_ms=75)
    while not game.is_over:
        game.step(bot.next_action(game.frame()))
    print(game.score)

A move is a `Move`, its number (0 left, 1 right, 2 up, 3 down, 4 stay) or its letter (L, R, U, D, and . to stay). An action of the
wire is a dict, {"type": "MOVE_LEFT"} or MOVE_RIGHT, MOVE_UP, MOVE_DOWN, or {"type": "MOVE_TO", "position": {"x": 1, "y": 2}}; None is to
stay. A bug of the library comes out as a RuntimeError.

Positions are (x, y), x to the right and y down, from 0. Rules are a dict as `Game.rules` gives them; those that a dict does not name are
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
    """A player that is told the state before each tick and answers with an action. It may be used from several threads, one at a time."""

    def __new__(
        cls,
        planner: str = "survival",
        budget_ms: float = 75.0,
        seed: int = 0,
        *,
        budget_ticks: int | None = None,
        no_jump: bool = False,
    ) -> Bot:
        """A bot that has not seen a game.

        planner: a planner's name (`getaway play --help` lists them) or an expression of the search grammar.
        budget_ms: milliseconds for a decision, reading the message included.
        seed: the seed of every random draw, from 0.
        budget_ticks: ticks simulated for a decision at most; with such a budget, and a budget_ms that is never reached, games repeat exactly.
        no_jump: whether the game is the variant in which a threat that the player steps on catches it.

        Raises ValueError for an unknown planner or a budget below 0.
        """

    def next_action(self, game_message: str | bytes | dict[str, Any], /) -> dict[str, Any] | None:
        """The action for a state, as the frame that came or as a dict; None to stay.

        Other threads run meanwhile; Ctrl-C is seen when the decision is made. A state of another map, or of an earlier tick, begins a
        new game.

        Raises ValueError, with the path of the field, for what is no state or contradicts itself; the game goes on with the next one.
        """

    @property
    def last_decision(self) -> Decision | None:
        """The last decision; None before the first."""

    @property
    def mispredictions(self) -> list[int]:
        """By threat, in the order of the messages, how often it did something else than was predicted, in this game."""

@final
class Decision:
    """Where an action came from."""

    @property
    def tick(self) -> int:
        """The tick of the message."""

    @property
    def source(self) -> Literal["plan", "search", "fallback"]:
        """A plan that was ready, a search in this tick, or a rule that needs no search."""

    @property
    def planned_tick(self) -> int | None:
        """The tick up to which the bot knows how to live, if it looked: 2001 when it knows the whole game."""

    @property
    def simulated_ticks(self) -> int:
        """The ticks that the planner simulated for this decision."""

    @property
    def milliseconds(self) -> float:
        """The time from the call to the decision."""

@final
class Map:
    """Streets, and where the player and the threats start. A value: it compares, hashes, copies and pickles."""

    def __new__(cls, rows: str | Sequence[str], *, name: str = "drawing", difficulty: str = "") -> Map:
        """A map that is drawn, one text per row or all rows in one: # wall, . open, ~ see-through, P the player, B bull, G goldfish, S shark,
        O owl, D deer, H hawk.

        Raises ValueError for anything else.
        """

    @property
    def name(self) -> str:
        """The name of its folder."""

    @property
    def difficulty(self) -> str:
        """What its description says: easy, medium, hard."""

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

        Raises ValueError when it cannot be written, or is larger than such maps may be.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[list[str]], dict[str, Any]]: ...

@final
class State:
    """Where a game stands at the start of a tick. A value that never changes: it compares, hashes, copies and pickles."""

    def __new__(
        cls,
        map: _MapLike | Game | State,
        *,
        tick: int,
        player: tuple[int, int],
        threats: Iterable[Threat],
        no_jump: bool = False,
        rules: dict[str, Any] | None = None,
    ) -> State:
        """A state that is put together by hand, for what-ifs: the tick (1 to 2001), the player's position, the threats in the map's order.

        A game or a state in place of the map lends its map and rules, and the tables that are made of them.

        Raises ValueError for a position that is not an open tile, or threats that are not the map's.
        """

    def after(self, move: Move | int | str, /) -> State:
        """The state after a tick with this move.

        Raises ValueError when the game is over.
        """

    def play(self, moves: _Moves, /) -> State:
        """The state after these moves, or after the first of them that ends the game."""

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
    """A game that is stepped. Games compare, copy and pickle with the moves that were made; they change, so only their states hash."""

    def __new__(
        cls, map: _MapLike | Game | State, *, no_jump: bool = False, rules: dict[str, Any] | None = None, moves: _Moves = ""
    ) -> Game:
        """A game on a map, on the one in a folder, or on the one of that name in `maps/`, after these moves.

        A game or a state in place of the map lends its map and rules.

        Raises FileNotFoundError when there is no such map, ValueError when it cannot be read or played, for rules out of range, or when the
        moves go on after the game is over.
        """

    @staticmethod
    def parse(drawing: str, *, no_jump: bool = False, rules: dict[str, Any] | None = None) -> Game:
        """The start of a game on a drawing: see `Map`.

        Raises ValueError for anything else.
        """

    def step(self, action: _Action = None, /) -> Move:
        """Plays a tick with a move, an action, several of which the first that succeeds counts, or none; returns the move that was made.

        Raises ValueError when the game is over, or for what is not an action.
        """

    def play(self, moves: _Moves, /) -> int:
        """Plays moves, one per tick, until one ends the game; returns how many were played."""

    def reset(self) -> None:
        """Goes back to the start."""

    def copy(self) -> Game:
        """The same game, to be played on separately; what never changes is shared."""

    def frame(self, team_id: str = "getaway") -> str:
        """The state as the server sends it, JSON."""

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
        """Where the game stands, as a value."""

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

    A game that is over goes back to its start in the step after, which ignores its action. Every step writes into the same arrays: copy what
    is to be kept. `getaway.gymnasium` describes the observations.
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
    ) -> Batch:
        """Games at their start, divided evenly among the maps of a list, in its order.

        games: how many; by default one for each map.
        observation: what each step writes for each game: "compact", "state" (int16), "planes" (uint8), or None for nothing.
        threads: threads that step the games, the calling one included; results do not depend on it.

        Raises what `Game` raises for a map.
        """

    def reset(self, mask: npt.NDArray[np.bool_] | None = None, /) -> npt.NDArray[Any]:
        """Puts games back to their start, all or those that the mask marks; returns the observations."""

    def step(
        self, actions: npt.NDArray[np.integer[Any]], /
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Plays a tick of every game; returns observations, rewards and terminations.

        A reward is the ticks gained: 1, or 0 for a game that was put back or whose player the no-jump variant caught.

        Raises TypeError for actions that are not integers, ValueError for another shape than (games,) or an action that is not 0 to 4; no game
        has changed then.
        """

    @property
    def observations(self) -> npt.NDArray[Any]:
        """The observations after the last step: games, then `observation_shape`."""

    @property
    def observation(self) -> Literal["compact", "planes", "state"] | None:
        """What is observed."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one game's observation: the same for all, with room for the largest map."""

    @property
    def threads(self) -> int:
        """Threads that step the games."""

    @property
    def rules(self) -> list[dict[str, Any]]:
        """The rules of each map."""

    @property
    def ticks(self) -> npt.NDArray[np.uint16]:
        """The tick that each game is about to play."""

    def __len__(self) -> int: ...
    def __getitem__(self, game: int, /) -> State:
        """Where a game stands."""

    def __setitem__(self, game: int, state: State, /) -> None:
        """Lets a game go on from a state of its map and rules.

        Raises ValueError for another state.
        """

@final
class Solution:
    """What a search found."""

    @property
    def outcome(self) -> Literal["survives", "doomed", "undecided"]:
        """Whether the player lives to the end, provably cannot, or it is not known."""

    @property
    def moves(self) -> str:
        """The moves, a letter a tick: L, R, U, D, and . to stay."""

    @property
    def actions(self) -> list[dict[str, Any] | None]:
        """The moves as actions."""

    @property
    def final_tick(self) -> int:
        """The tick that the moves reach."""

    @property
    def score(self) -> int:
        """What that scores."""

    @property
    def simulated_ticks(self) -> int:
        """The ticks that the search simulated."""

    @property
    def milliseconds(self) -> float:
        """The time of the search, without making the map's tables."""

def load_map(map: str | PathLike[str]) -> Map:
    """The map in a folder, or the one of that name in `maps/`.

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
    """The map that a seed makes: the same on every machine.

    kind: mazes and labyrinths have odd sides.
    styles: the threats are dealt from these; one that is in it twice comes twice as often.

    Raises ValueError for a size or a number of threats out of range.
    """

def planners() -> list[str]:
    """The names of the planners that a `Bot` takes."""

def solve(
    map: _MapLike | Game,
    *,
    no_jump: bool = False,
    rules: dict[str, Any] | None = None,
    time_limit_ms: float = 1000.0,
    seed: int = 0,
) -> Solution:
    """Solves a whole game before the first move, from a map's start or from where a game stands.

    The same seed finds the same moves as long as it takes less than half a second. Other threads run meanwhile, and Ctrl-C works.

    Raises what `Game` raises for a map, and ValueError for a time limit below 0, or for no_jump with a game of the other variant.
    """

def signature(maps: Sequence[str | PathLike[str]], threads: int = 1) -> str:
    """The search signature: 16 hexadecimal digits for what the planners do on these maps, in both variants, with a fixed seed and a fixed budget.

    It is the same on every machine and with any number of threads; a change of the searches changes it. Takes about a second for a dozen maps.

    Raises what `Game` raises for a map.
    """
