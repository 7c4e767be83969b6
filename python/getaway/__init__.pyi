"""The car chase of Coveo's Blitz 2025: an exact simulator, a search library and a solver.

    import getaway

    game = getaway.Game("roundabout")
    bot = getaway.Bot("survival", budget_ms=75)
    while not game.is_over:
        game.step(bot.next_action(game.frame()))
    print(game.score)

A move is a `Move`, its number (0 left, 1 right, 2 up, 3 down, 4 stay) or its letter (L, R, U, D, or
. to stay). An action of the protocol is a dict such as `{"type": "MOVE_LEFT"}` (also MOVE_RIGHT,
MOVE_UP, MOVE_DOWN) or `{"type": "MOVE_TO", "position": {"x": 1, "y": 2}}`; None means stay. A bug
in the library raises a RuntimeError.

Positions are (x, y) from 0, with x to the right and y down. Rules are a dict as returned by
`Game.rules`; missing rules take the server's values. `no_jump=True` is short for `rules={"no_jump":
True}`.
"""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from getaway.values import Decision as Decision
from getaway.values import Move as Move
from getaway.values import SafeMoves as SafeMoves
from getaway.values import Solution as Solution
from getaway.values import Style as _Style
from getaway.values import Threat as Threat
from getaway.values import Verdict as Verdict

__all__ = [
    "Batch",
    "Bot",
    "Decision",
    "Game",
    "Map",
    "Move",
    "Replay",
    "SafeMoves",
    "Solution",
    "State",
    "Threat",
    "Verdict",
    "__version__",
    "generate_map",
    "load_map",
    "maps",
    "planners",
    "safe_moves",
    "signature",
    "solve",
]

_Action: TypeAlias = Move | int | str | dict[str, Any] | Sequence[dict[str, Any]] | None
_Moves: TypeAlias = str | Iterable[Move | int | str]
_Planner: TypeAlias = "str | Callable[[State], Move | int | str] | type"
_Status: TypeAlias = Literal["running", "caught", "complete"]
_MapLike: TypeAlias = str | PathLike[str] | Map

__version__: str

@final
class Bot:
    """A player that receives the state before each tick and returns an action.

    Several threads may share a bot, which answers their calls one after the other.

    Args:
        planner: a planner's name (see `planners`), an expression of the search grammar, or a Python
            planner: a callable that takes a `State` and returns a move, or its name `MODULE:NAME`.
            A class is instantiated once per game, and again when the bot learns about the map.
        budget_ms: time per decision in milliseconds, including parsing the message.
        budget_ticks: maximum number of simulated ticks per decision; makes games reproducible if
            `budget_ms` is never reached.
        seed: the seed of the random number generator, from 0.
        no_jump: whether stepping onto a threat's tile loses (the no-jump variant).
        rules: rules that differ from the server's.

    Raises:
        ValueError: for an unknown planner, a negative budget, or rules out of range.
    """

    def __new__(
        cls,
        planner: _Planner = "survival",
        *,
        budget_ms: float = 75.0,
        budget_ticks: int | None = None,
        seed: int = 0,
        no_jump: bool = False,
        rules: dict[str, Any] | None = None,
    ) -> Bot: ...

    def next_action(self, game_message: str | bytes | dict[str, Any], /) -> dict[str, Any] | None:
        """The action for a state, which is given as a frame or a dict; None to stay.

        A state with another map or an earlier tick starts a new game. Releases the interpreter
        lock; Ctrl-C is handled after the decision.

        Raises:
            ValueError: if the state is invalid or inconsistent, with the path of the field, or if a
                Python planner fails, with its exception as the cause. The bot remains usable.
                `KeyboardInterrupt` and `SystemExit` in a planner are raised unchanged.
            RuntimeError: if a planner calls this while the bot is deciding.
        """

    def play(self, game: Game, /) -> int:
        """Play a game to its end, message by message; returns the number of moves played.

        Releases the interpreter lock; Ctrl-C is handled between two decisions.

        Raises:
            ValueError: if the game's rules are not the bot's, or if a Python planner fails.
            RuntimeError: if the game changes while the bot plays it, or if a planner calls this
                while the bot is deciding.
        """

    @property
    def last_decision(self) -> Decision | None:
        """The last decision; None before the first."""

    @property
    def mispredictions(self) -> list[int]:
        """The number of mispredicted moves in this game per threat, in message order."""

@final
class Map:
    """The streets, and the start positions of the player and the threats.

    Two maps are equal if their names, difficulties, streets and start positions are equal. Maps can
    be hashed, copied and pickled.

    Args:
        rows: a drawing, one string per row or all rows in one: `#` wall, `.` open, `~` see-through,
            P the player, B bull, G goldfish, S shark, O owl, D deer, H hawk.
        name: the map's name.
        difficulty: easy, medium, hard, or empty if unknown.

    Raises:
        ValueError: for an invalid drawing.
    """

    def __new__(cls, rows: str | Sequence[str], *, name: str = "drawing", difficulty: str = "") -> Map: ...

    @property
    def name(self) -> str:
        """The map's name. For a loaded map, the name of its folder or file."""

    @property
    def difficulty(self) -> str:
        """The map's difficulty: easy, medium, hard, or empty if unknown."""

    @property
    def rows(self) -> list[str]:
        """The map as a drawing, one string per row."""

    @property
    def width(self) -> int:
        """The number of columns."""

    @property
    def height(self) -> int:
        """The number of rows."""

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the map as a folder in the format of the challenge: layout.png and meta.json.

        Raises:
            ValueError: if the map cannot be written, or is too large for the format.
        """

    def _repr_svg_(self) -> str | None:
        """The start of a game as a picture; None if the map cannot be played."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]: ...

@final
class State:
    """A game's state at the start of a tick.

    States are immutable, and can be compared, hashed, copied and pickled. The constructor can
    create any state of a map.

    Args:
        map: a map, its name or folder, or a game or state that shares its map, rules and tables.
        tick: the tick, 1 to 2001.
        player: the player's position.
        threats: the threats, in the map's order.
        no_jump: whether to play the no-jump variant.
        rules: rules that differ from the server's.

    Raises:
        ValueError: if a position is not an open tile, or the threats are not the map's.
    """

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

        Raises:
            ValueError: if the game is over.
        """

    def play(self, moves: _Moves, /) -> State:
        """The state after these moves. Moves after the end of the game are ignored."""

    @property
    def map(self) -> Map:
        """The map."""

    @property
    def rules(self) -> dict[str, Any]:
        """All rules, as a dict."""

    @property
    def tick(self) -> int:
        """The tick about to be played, 1 to 2001."""

    @property
    def score(self) -> int:
        """The score: 5 points per tick reached."""

    @property
    def status(self) -> _Status:
        """`running`, `caught` or `complete`."""

    @property
    def is_over(self) -> bool:
        """True if the player is caught or the last tick has been played."""

    @property
    def is_caught(self) -> bool:
        """True if a threat is on the player's tile."""

    @property
    def player(self) -> tuple[int, int]:
        """The player's position."""

    @property
    def threats(self) -> list[Threat]:
        """The threats, in the map's order, with their memory and seed."""

    @property
    def legal_moves(self) -> list[Move]:
        """The moves with distinct results, staying last; empty if the game is over."""

    def _repr_svg_(self) -> str:
        """The state as a picture."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> State: ...
    def __deepcopy__(self, memo: Any, /) -> State: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Map], dict[str, Any]]: ...

@final
class Game:
    """A game played step by step.

    Games can be compared, copied and pickled with their moves. They are mutable, so only their
    states can be hashed.

    Args:
        map: a map, its name or folder, or a game or state that shares its map and rules.
        no_jump: whether to play the no-jump variant.
        rules: rules that differ from the server's.
        moves: moves to play first.

    Raises:
        FileNotFoundError: if the map does not exist.
        ValueError: if the map cannot be read or played, if rules are out of range, or if moves
            follow the end of the game.
    """

    def __new__(
        cls, map: _MapLike | Game | State, *, no_jump: bool = False, rules: dict[str, Any] | None = None, moves: _Moves = ""
    ) -> Game: ...

    @staticmethod
    def parse(drawing: str, *, no_jump: bool = False, rules: dict[str, Any] | None = None) -> Game:
        """A game on a drawn map; see `Map`.

        Raises:
            ValueError: for an invalid drawing.
        """

    def step(self, action: _Action = None, /) -> Move:
        """Play a tick with a move, an action, several actions (the first that succeeds counts), or
        none; returns the resulting move.

        Raises:
            ValueError: if the game is over, or for an invalid action.
        """

    def play(self, moves: _Moves, /) -> int:
        """Play moves, one per tick, until one ends the game; returns the number played."""

    def reset(self) -> None:
        """Return to the start."""

    def copy(self) -> Game:
        """An independent copy that shares the map."""

    def frame(self, team_id: str = "getaway") -> str:
        """The server's JSON message for the state."""

    def message(self, team_id: str = "getaway") -> dict[str, Any]:
        """The server's message for the state, decoded."""

    @property
    def name(self) -> str:
        """The map's name."""

    @property
    def map(self) -> Map:
        """The map."""

    @property
    def rules(self) -> dict[str, Any]:
        """All rules, as a dict."""

    @property
    def no_jump(self) -> bool:
        """True if the game is the no-jump variant."""

    @property
    def rows(self) -> list[str]:
        """The map at the start, as a drawing that `parse` accepts."""

    @property
    def moves(self) -> str:
        """The moves since the start, one letter per tick."""

    @property
    def state(self) -> State:
        """A snapshot of the current state."""

    @property
    def tick(self) -> int:
        """The tick about to be played, 1 to 2001."""

    @property
    def score(self) -> int:
        """The score: 5 points per tick reached."""

    @property
    def status(self) -> _Status:
        """`running`, `caught` or `complete`."""

    @property
    def is_over(self) -> bool:
        """True if the player is caught or the last tick has been played."""

    @property
    def is_caught(self) -> bool:
        """True if a threat is on the player's tile."""

    @property
    def player(self) -> tuple[int, int]:
        """The player's position."""

    @property
    def threats(self) -> list[Threat]:
        """The threats, in the map's order, with their memory and seed."""

    @property
    def legal_moves(self) -> list[Move]:
        """The moves with distinct results, staying last; empty if the game is over."""

    def _repr_svg_(self) -> str:
        """The current state as a picture."""

    def __eq__(self, other: object, /) -> bool: ...
    __hash__ = None  # type: ignore[assignment]
    def __copy__(self) -> Game: ...
    def __deepcopy__(self, memo: Any, /) -> Game: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Map], dict[str, Any]]: ...

@final
class Batch:
    """Many games in flat arrays, stepped together without the interpreter lock. Needs NumPy.

    The games are divided evenly among the maps, in the order of the list. A game that is over
    returns to its start in the next step, which ignores its action. Every step overwrites the same
    arrays; do not read them from another thread during a step. `getaway.gymnasium` describes the
    observations. Batches can be copied and pickled at any tick; copies share no arrays.

    Args:
        maps: one or several maps, as for `Game`.
        games: number of games; by default one per map.
        observation: the output per game and step: "compact", "features", "state" (int16),
            "planes", "window" (uint8), or None for nothing.
        window: rows and columns of "window", an odd number up to 63.
        threads: number of threads, including the calling thread; it does not affect results.
        no_jump: whether to play the no-jump variant.
        rules: rules that differ from the server's.

    Raises:
        FileNotFoundError: if a map does not exist.
        ValueError: if a map cannot be read or played, or a number is out of range.
    """

    def __new__(
        cls,
        maps: _MapLike | Game | State | Sequence[_MapLike | Game | State],
        games: int | None = None,
        *,
        observation: str | None = "compact",
        window: int = 9,
        threads: int = 1,
        no_jump: bool = False,
        rules: dict[str, Any] | None = None,
    ) -> Batch: ...

    def reset(self, mask: npt.NDArray[np.bool_] | None = None, /) -> npt.NDArray[Any]:
        """Reset all games, or those that the mask marks; returns the observations."""

    def step(
        self, actions: npt.NDArray[np.integer[Any]], /
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Play a tick of every game; returns observations, rewards and terminations.

        A reward is the number of ticks gained: 1, or 0 for a game that was reset or whose player
        stepped onto a threat in the no-jump variant.

        Raises:
            TypeError: for actions that are not integers.
            ValueError: if the shape is not (games,), an action is not from 0 to 4, or an array of
                the batch was made read-only. No game changes in these cases.
        """

    @property
    def observations(self) -> npt.NDArray[Any]:
        """The observations after the last step, of shape (games, *observation_shape)."""

    @property
    def observation(self) -> Literal["compact", "features", "planes", "state", "window"] | None:
        """The kind of observation."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one game's observation, with room for the largest map."""

    @property
    def window(self) -> int:
        """Rows and columns of the observation "window"."""

    @property
    def threads(self) -> int:
        """The number of threads that step the games."""

    @property
    def rules(self) -> list[dict[str, Any]]:
        """The rules of each map."""

    @property
    def ticks(self) -> npt.NDArray[np.uint16]:
        """The tick about to be played, per game."""

    @property
    def is_over(self) -> npt.NDArray[np.bool_]:
        """True for each game that is over, and that the next step therefore resets."""

    @property
    def action_masks(self) -> npt.NDArray[np.int8]:
        """The actions that are not blocked, as int8 of shape (games, 5): 1 or 0. Staying is always 1."""

    def get_state(self) -> npt.NDArray[np.int16]:
        """The states of all games as a new int16 array of shape (games, 4 + 9 * threats), in the form
        of the observation "state" of `getaway.gymnasium`; `set_state` accepts it.
        """

    def set_state(self, states: npt.NDArray[np.int16], mask: npt.NDArray[np.bool_] | None = None, /) -> npt.NDArray[Any]:
        """Continue the games that the mask marks, by default all, from states as `get_state` returns
        them; returns the observations.

        Raises:
            TypeError: if the type of the array is not int16.
            ValueError: for a different shape, or numbers that are not a state of the game's map. No
                game changes in these cases.
        """

    def safe_moves(self, *, threads: int | None = None, budget_ticks: int = 100000, seed: int = 0) -> SafeMoves:
        """Judge every action of every game by solving it: `getaway.safe_moves` for a batch.

        Releases the interpreter lock; Ctrl-C interrupts it. The result does not depend on the
        threads.

        Args:
            threads: number of threads that solve, by default as many as the batch has.
            budget_ticks: maximum number of simulated ticks per action.
            seed: the seed of the search.

        Returns:
            Three arrays of shape (games, 5), as a named tuple `SafeMoves`.
        """

    def __copy__(self) -> Batch: ...
    def __deepcopy__(self, memo: Any, /) -> Batch: ...
    def __getnewargs_ex__(self) -> tuple[tuple[list[Game], int], dict[str, Any]]: ...
    def __getstate__(self) -> list[Any]: ...
    def __setstate__(self, state: list[Any], /) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, game: int, /) -> State:
        """The current state of a game."""

    def __setitem__(self, game: int, state: State, /) -> None:
        """Continue a game from a state with its map and rules.

        Raises ValueError for a state with another map or other rules.
        """

@final
class Replay:
    """A game to watch, from its start to its current state.

    A notebook shows it in the viewer, with the tick, the plan and the threats' paths. `html` gives
    the same viewer as a self-contained page, and `svg` gives an animation without controls.

    Args:
        game: the game.
        title: the title; by default the name of the map.
        subtitle: the subtitle, such as the planner's name.
    """

    def __new__(cls, game: Game, *, title: str | None = None, subtitle: str = "") -> Replay: ...

    def html(self) -> str:
        """The viewer with the game, as a self-contained page."""

    def svg(self, *, speed: float = 1.0) -> str:
        """The game as a repeating animation; `speed` 1 is ten ticks per second.

        Raises:
            ValueError: if the speed is not between 0.1 and 100.
        """

    def save(self, file: str | PathLike[str]) -> None:
        """Write the page to an .html file, or the animation to an .svg file.

        Raises:
            ValueError: for any other extension.
            OSError: if the file cannot be written.
        """

    def _repr_html_(self) -> str:
        """The viewer in an HTML frame."""

def load_map(map: str | PathLike[str]) -> Map:
    """The map in a folder or text file, or the bundled map with that name.

    Raises:
        FileNotFoundError: if the map does not exist.
        ValueError: if the map cannot be read.
    """

def maps(folder: str | PathLike[str] | None = None) -> list[str]:
    """The names of the maps in a folder, by default those of the bundled maps.

    Raises:
        FileNotFoundError: if the folder does not exist.
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
    """Generate a map; the same seed gives the same map on every machine.

    Args:
        seed: the seed of the generator.
        kind: the kind of street network; mazes and labyrinths have odd sides.
        width: columns.
        height: rows.
        threats: number of threats.
        styles: styles of the threats; repeating a style makes it more frequent.

    Raises:
        ValueError: if a size or the number of threats is out of range.
    """

def planners() -> list[str]:
    """The names of the planners for a `Bot`."""

def solve(
    map: _MapLike | Game | State,
    *,
    no_jump: bool = False,
    rules: dict[str, Any] | None = None,
    time_limit_ms: float = 1000.0,
    budget_ticks: int | None = None,
    seed: int = 0,
    memory_max_bytes: int = 268435456,
) -> Solution:
    """Solve a whole game before the first move, from the start of a map or from a state.

    Finds a line that survives or proves that none exists, then continues until the longest line is
    found or the time limit is reached. The same seed finds the same moves unless the time limit is
    reached. Releases the interpreter lock; Ctrl-C interrupts it.

    Args:
        map: a map, a game or a state, as for `Game`.
        no_jump: whether to play the no-jump variant.
        rules: rules that differ from the server's.
        time_limit_ms: time limit in milliseconds.
        budget_ticks: limit in simulated ticks; if it is reached before the time limit, the answer
            is the same on every machine.
        seed: the seed of the search.
        memory_max_bytes: maximum memory of the search and the proof.

    Raises:
        FileNotFoundError: if the map does not exist.
        ValueError: if the map cannot be read or played, if the time limit is negative, or if rules
            are given for a game or a state, which has its own.
    """

def safe_moves(state: State, *, budget_ticks: int = 100000, seed: int = 0) -> dict[Move, Verdict]:
    """Judge every move of a state by solving the game after it.

    A move survives if a line that begins with it reaches the end of the game, and is doomed if it
    is proven that none does. The same arguments give the same answer on every machine.

    Args:
        state: the state.
        budget_ticks: maximum number of simulated ticks per move.
        seed: the seed of the search.

    Returns:
        A dict with a `Verdict` for each of `state.legal_moves`; empty if the game is over.
    """

def signature(maps: Sequence[str | PathLike[str]], *, threads: int = 1) -> str:
    """The search signature: a hash of the planners' moves on these maps, as 16 hexadecimal digits.

    It covers games with and without jumping, with a fixed seed and budget. It does not depend on
    the machine or the number of threads. It changes whenever a search changes. Computing it takes
    about a second for a dozen maps.

    Raises:
        FileNotFoundError: if a map does not exist.
        ValueError: if a map cannot be read or played.
    """
