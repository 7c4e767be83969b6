"""The car chase of Coveo's Blitz 2025: an exact simulator, a search library and a solver.

    import getaway

    game = getaway.Game("roundabout")
    bot = getaway.Bot("survival", budget_ms=75)
    while not game.is_over:
        game.step(bot.next_action(game.frame()))
    print(game.score)

A move is a `Move`, its number (0 left, 1 right, 2 up, 3 down, 4 stay) or its letter (L, R, U, D, or
. to stay). An action of the protocol is a dict such as `{"type": "MOVE_LEFT"}` (also MOVE_RIGHT,
MOVE_UP, MOVE_DOWN) or `{"type": "MOVE_TO", "position": {"x": 1, "y": 2}}`; None means stay. A
RuntimeError that begins with "a bug in getaway" reports a bug in the library. A whole number that is
negative or too large raises ValueError or OverflowError.

Positions are (x, y), counted from 0; x grows to the right and y grows downwards. `rules` is a dict
like `Game.rules`; rules that it omits have the server's values. `no_jump=True` sets the rule
`no_jump`, whether or not `rules` is given.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from getaway.values import Decision as Decision
from getaway.values import MapLike as MapLike
from getaway.values import Move as Move
from getaway.values import Planner as Planner
from getaway.values import Rules as Rules
from getaway.values import Solution as Solution
from getaway.values import Style as Style
from getaway.values import Threat as Threat
from getaway.values import Verdict as Verdict
from getaway.values import Verdicts as Verdicts

__all__ = [
    "Batch",
    "Bot",
    "Decision",
    "Game",
    "Map",
    "MapLike",
    "Move",
    "Planner",
    "Replay",
    "Rules",
    "Solution",
    "Solver",
    "State",
    "Style",
    "Threat",
    "Verdict",
    "Verdicts",
    "__version__",
    "generate_map",
    "judge_moves",
    "load_map",
    "maps",
    "planners",
    "solve",
]

_Action: TypeAlias = Move | int | str | dict[str, Any] | Sequence[dict[str, Any]] | None
_Moves: TypeAlias = str | Iterable[Move | int | str]
_Status: TypeAlias = Literal["running", "caught", "complete"]

__version__: str

@final
class Bot:
    """A player that receives the state before each tick and returns an action, or None to stay.

    Several threads may share a bot, which handles one call at a time.

    Args:
        planner: a planner's name (see `planners`), `model:FILE`, an expression of the search
            grammar, or a Python planner: a callable that takes a `State` and returns a move, or its
            name `MODULE:NAME`. The budgets do not limit a Python planner. A class is instantiated
            for each game, and may be instantiated again during a game, for example when the
            planner has failed.
        budget_ms: time per decision in milliseconds, including parsing the message, but not
            converting a dict to JSON; more than a day counts as a day. By default 75, or a day if
            `budget_ticks` is given.
        budget_ticks: limit on the simulated ticks per decision; without `budget_ms`, games are
            reproducible.
        seed: the seed of the random number generator, from 0 to 2**128 - 1.
        no_jump: whether stepping onto a threat's tile loses (the no-jump variant).
        rules: a dict of the rules that differ from the server's.

    Raises:
        ValueError: if the planner cannot be found or loaded, or if another argument has an invalid
            value.
    """

    def __new__(
        cls,
        planner: Planner = "survival",
        *,
        budget_ms: float | None = None,
        budget_ticks: int | None = None,
        seed: int = 0,
        no_jump: bool = False,
        rules: Rules | None = None,
    ) -> Bot: ...

    def next_action(self, game_message: str | bytes | dict[str, Any], /) -> dict[str, Any] | None:
        """The action for a state, or None to stay. The state is the server's message: JSON or a dict.

        A state with an earlier tick, another map or another number of threats starts a new game.
        Releases the GIL; Ctrl-C is handled after the decision.

        Raises:
            ValueError: if the state is invalid or inconsistent, or if a Python planner fails; the
                planner's exception is then the cause. The bot remains usable. `KeyboardInterrupt`
                and `SystemExit` in a planner are raised unchanged.
            RuntimeError: if a planner calls this method while the bot is deciding.
        """

    def play(self, game: Game, /) -> int:
        """Play a game to its end, message by message, and return the number of moves played.

        Releases the GIL; Ctrl-C is handled between decisions.

        Raises:
            ValueError: if the game's rules differ from the bot's, or if a Python planner fails.
            RuntimeError: if other code changes the game while the bot plays it, or if a planner
                calls this method while the bot is deciding.
        """

    @property
    def last_decision(self) -> Decision | None:
        """The last decision; None before the first."""

    @property
    def mispredictions(self) -> list[int]:
        """For each threat, in message order, the number of mispredicted moves in the current game."""

@final
class Map:
    """A map: the streets, and the start positions of the player and the threats.

    Two maps are equal if they have the same name, difficulty, tiles and start positions, and the
    same threats in the same order. Maps can be hashed, copied and pickled.

    Args:
        rows: a drawing, as one string or as one string per row: `#` wall, `.` open,
            `~` see-through, P the player, B bull, G goldfish, S shark, O owl, D deer, H hawk.
        name: the map's name.
        difficulty: for example easy, medium or hard; empty if unknown.

    Raises:
        ValueError: if the drawing is invalid.
    """

    def __new__(cls, rows: str | Sequence[str], *, name: str = "drawing", difficulty: str = "") -> Map: ...

    @property
    def name(self) -> str:
        """The map's name. For a map from disk, the name of its folder, or of its file without the
        extension.
        """

    @property
    def difficulty(self) -> str:
        """The map's difficulty, for example easy, medium or hard; empty if unknown."""

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
        """Write the map to a new folder in the challenge's format: layout.png and meta.json.

        Raises:
            FileExistsError: if `folder` exists.
            OSError: if writing fails.
            ValueError: if the format cannot represent the map.
        """

    def _repr_svg_(self) -> str | None:
        """A picture of the start of a game, or None if no game can start on the map."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]: ...

@final
class State:
    """A game's state at the start of a tick: a value, for what-if questions. `Game` plays a game.

    States are immutable, and can be compared, hashed, copied and pickled. The constructor can
    create any state that a game on the map can reach. It limits the threats' `draws` and
    `idle_rounds` to values that occur in a game, and ignores memories that their styles do not use.

    Args:
        map: a map, its name or path, or a game or state whose map and rules are used.
        tick: the tick, from 1 to 2001.
        player: the player's position.
        threats: the threats, in the map's order.
        no_jump: whether to play the no-jump variant; a game or state keeps its own variant.
        rules: a dict of the rules that differ from the server's; not for a game or state.

    Raises:
        FileNotFoundError: if the map does not exist.
        ValueError: if the map cannot be read or played, or another argument is invalid.
    """

    def __new__(
        cls,
        map: MapLike | Game | State,
        *,
        tick: int,
        player: tuple[int, int],
        threats: Iterable[Threat],
        no_jump: bool = False,
        rules: Rules | None = None,
    ) -> State: ...

    def after(self, move: Move | int | str, /) -> State:
        """The state after one tick in which the player makes this move. A blocked move counts as
        staying.

        Raises:
            TypeError: if the move is not a `Move`, a number or a letter.
            ValueError: if the game is over, or there is no move with this number or letter.
        """

    def play(self, moves: _Moves, /) -> State:
        """The state after these moves, one per tick. A blocked move counts as staying. Moves after the
        end of the game are ignored.

        Raises:
            TypeError: if an item is not a `Move`, a number or a letter.
            ValueError: if there is no move with this number or letter.
        """

    @property
    def map(self) -> Map:
        """The map."""

    @property
    def rules(self) -> Rules:
        """All rules, as a dict."""

    @property
    def tick(self) -> int:
        """The current tick, from 1 to 2001."""

    @property
    def score(self) -> int:
        """The score if the game ends now: 5 times the current tick."""

    @property
    def status(self) -> _Status:
        """`running`, `caught` or `complete`."""

    @property
    def is_over(self) -> bool:
        """True if the player is caught or the last tick has been played."""

    @property
    def is_caught(self) -> bool:
        """True if a threat is on the player's tile, even if the game is complete."""

    @property
    def player(self) -> tuple[int, int]:
        """The player's position."""

    @property
    def threats(self) -> list[Threat]:
        """The threats, in the map's order, with their memories and seeds."""

    @property
    def legal_moves(self) -> list[Move]:
        """The moves to tiles that the player may enter, followed by staying. Empty if the game
        is over.
        """

    def _repr_svg_(self) -> str:
        """The state as a picture."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> State: ...
    def __deepcopy__(self, memo: Any, /) -> State: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Map], dict[str, Any]]: ...

@final
class Game:
    """A game played step by step, with its moves so far. `State` is a value without a past.

    Games can be compared, copied and pickled; their moves are included. Games are mutable and
    cannot be hashed, but their states can.

    Args:
        map: a map, its name or path, or a game or state at its start.
        no_jump: whether to play the no-jump variant; a game or state keeps its own variant.
        rules: a dict of the rules that differ from the server's; not for a game or state.
        moves: the first moves of the game.

    Raises:
        FileNotFoundError: if the map does not exist.
        ValueError: if the map cannot be read or played, or another argument is invalid, for example
            if there are moves after the end of the game.
    """

    def __new__(
        cls, map: MapLike | Game | State, *, no_jump: bool = False, rules: Rules | None = None, moves: _Moves = ""
    ) -> Game: ...

    def step(self, action: _Action = None, /) -> Move:
        """Play one tick with a move, an action, a list of actions (the first that moves the player
        counts), or None to stay. Return the move that the player made: `Move.STAY` if the way was
        blocked.

        Raises:
            TypeError: if the argument or an item of the list has another type.
            ValueError: if the game is over, or the move or an action is malformed.
        """

    def play(self, moves: _Moves, /) -> int:
        """Play moves, one per tick, and stop if the game ends. Return the number of moves played. A
        blocked move counts as staying.

        Raises:
            TypeError: if an item is not a `Move`, a number or a letter.
            ValueError: if there is no move with this number or letter.
        """

    def reset(self) -> None:
        """Return to the start."""

    def copy(self) -> Game:
        """A copy of the game that can be played independently."""

    def frame(self, team_id: str = "getaway") -> str:
        """The server's JSON message for the state."""

    def message(self, team_id: str = "getaway") -> dict[str, Any]:
        """The server's message for the state, as a dict."""

    @property
    def map(self) -> Map:
        """The map."""

    @property
    def rules(self) -> Rules:
        """All rules, as a dict."""

    @property
    def moves(self) -> str:
        """The moves since the start, one letter per tick."""

    @property
    def state(self) -> State:
        """A snapshot of the current state."""

    @property
    def tick(self) -> int:
        """The current tick, from 1 to 2001."""

    @property
    def score(self) -> int:
        """The score if the game ends now: 5 times the current tick."""

    @property
    def status(self) -> _Status:
        """`running`, `caught` or `complete`."""

    @property
    def is_over(self) -> bool:
        """True if the player is caught or the last tick has been played."""

    @property
    def is_caught(self) -> bool:
        """True if a threat is on the player's tile, even if the game is complete."""

    @property
    def player(self) -> tuple[int, int]:
        """The player's position."""

    @property
    def threats(self) -> list[Threat]:
        """The threats, in the map's order, with their memories and seeds."""

    @property
    def legal_moves(self) -> list[Move]:
        """The moves to tiles that the player may enter, followed by staying. Empty if the game
        is over.
        """

    def _repr_svg_(self) -> str:
        """The current state as a picture."""

    def __eq__(self, other: object, /) -> bool: ...
    __hash__ = None  # type: ignore[assignment]
    def __copy__(self) -> Game: ...
    def __deepcopy__(self, memo: Any, /) -> Game: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Map], dict[str, Any]]: ...

@final
class Batch:
    """Many games that are stepped together, without the GIL. Needs NumPy.

    The games are divided as evenly as possible among the maps, in the order of `maps`. If a game is
    over, the next step ignores its action and resets the game. `getaway.gymnasium` describes the
    observations. Batches can be copied and pickled; a copy has its own arrays.

    Args:
        maps: one or several maps, as for `Game`.
        games: number of games; by default one per map.
        observation: the form of the observations: "compact", "features" or "state" (int16),
            "planes" or "window" (uint8), or None for empty observations.
        window: the side length of "window" observations in tiles, an odd number up to 63.
        threads: number of threads, including the calling thread; it does not affect results.
        copy: whether `step`, `reset` and `set_state` return new arrays. If not, they return the batch's
            own arrays, which the next call overwrites; do not read these from another thread during a
            call.
        no_jump: whether to play the no-jump variant.
        rules: a dict of the rules that differ from the server's.

    Raises:
        FileNotFoundError: if a map does not exist.
        ValueError: if a map cannot be read or played, or another argument is invalid.
    """

    def __new__(
        cls,
        maps: MapLike | Game | State | Sequence[MapLike | Game | State],
        games: int | None = None,
        *,
        observation: str | None = "compact",
        window: int = 9,
        threads: int = 1,
        copy: bool = True,
        no_jump: bool = False,
        rules: Rules | None = None,
    ) -> Batch: ...

    def reset(self, mask: npt.NDArray[np.bool_] | None = None, /) -> npt.NDArray[Any]:
        """Reset each game, or each game where `mask` is true. Return the observations of all games.

        Raises:
            TypeError: if `mask` is not a 1D bool array.
            ValueError: if the shape of `mask` is wrong, or an array of the batch was made read-only.
        """

    def step(
        self, actions: npt.NDArray[np.integer[Any]], /
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Play one tick of every game that is not over, and reset the others. Return the observations,
        rewards and terminations.

        A reward is the number of ticks gained: 1, or 0 for a game that was reset or whose player
        stepped onto a threat in the no-jump variant. After an error, no game has changed.

        Raises:
            TypeError: if the actions are not integers.
            ValueError: if the shape of `actions` is not (games,), an action is not from 0 to 4, or
                an array of the batch was made read-only.
        """

    @property
    def observations(self) -> npt.NDArray[Any]:
        """The current observations of all games, of shape (games, *observation_shape): always the same
        array, which the next call overwrites.
        """

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one game's observation; it fits every map of the batch."""

    @property
    def rules(self) -> list[Rules]:
        """For each map, all rules as a dict. If `maps` contains a game and its states or copies, they
        count as one map.
        """

    @property
    def ticks(self) -> npt.NDArray[np.uint16]:
        """The current tick of each game, from 1 to 2001."""

    @property
    def is_over(self) -> npt.NDArray[np.bool_]:
        """For each game, true if it is over. The next step resets such a game."""

    @property
    def action_mask(self) -> npt.NDArray[np.int8]:
        """An int8 array of shape (games, 5): 0 for each blocked action, else 1. Staying is always 1."""

    @property
    def _player_tiles(self) -> npt.NDArray[np.uint16]:
        """The numbers of the players' tiles, for `_action_masks_at`."""

    def _action_masks_at(self, tiles: npt.NDArray[np.uint16]) -> npt.NDArray[np.int8]:
        """The `action_mask` of players on these tiles."""

    def get_state(self) -> npt.NDArray[np.int16]:
        """Return the states of all games as a new int16 array of shape (games, 4 + 9 * threats), where
        `threats` is the largest number of threats on any map of the batch. Each row is a "state"
        observation of `getaway.gymnasium`; `set_state` accepts the array.
        """

    def set_state(self, states: npt.NDArray[np.int16], mask: npt.NDArray[np.bool_] | None = None, /) -> npt.NDArray[Any]:
        """Set each game, or each game where `mask` is true, to its row of `states` (see `get_state`).
        Return the observations of all games. After an error, no game has changed.

        Raises:
            TypeError: if `states` is not a 2D int16 array, or `mask` is not a 1D bool array.
            ValueError: if the shape of `states` or `mask` is wrong, a row is not a state of the
                game's map, or an array of the batch was made read-only.
        """

    def judge_moves(self, *, threads: int | None = None, budget_ticks: int = 100000, seed: int = 0) -> Verdicts:
        """Judge every action of every game, like `getaway.judge_moves`.

        The call releases the GIL and can be interrupted with Ctrl-C. The result does
        not depend on the number of threads.

        Args:
            threads: number of threads that solve games; by default the batch's number of threads.
            budget_ticks: maximum number of simulated ticks per action.
            seed: the seed of the search.

        Returns:
            A named tuple `Verdicts` of three arrays of shape (games, 5).

        Raises:
            ValueError: if `threads` or `seed` is out of range.
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
        """Continue a game from a state that has the game's map and rules.

        Raises ValueError for a state with another map or other rules.
        """

@final
class Replay:
    """A replay of a game, from its start to its current state.

    A notebook shows the replay in the viewer, with the future path of the player.
    `html` returns the viewer as a self-contained page, and `svg` an animation without controls.

    Args:
        game: the game.
        title: the title; by default the name of the map.
        subtitle: the subtitle, such as the planner's name.
    """

    def __new__(cls, game: Game, *, title: str | None = None, subtitle: str = "") -> Replay: ...

    def html(self) -> str:
        """The replay in the viewer, as a self-contained HTML page."""

    def svg(self, *, speed: float = 1.0) -> str:
        """The replay as an endless SVG animation. With `speed=1`, it shows ten ticks per second.

        Raises:
            ValueError: if the speed is not from 0.1 to 100.
        """

    def save(self, file: str | PathLike[str]) -> None:
        """Write the page to a file `*.html`, or the animation to a file `*.svg`.

        Raises:
            ValueError: if the file has another extension.
            OSError: if the file cannot be written.
        """

    def _repr_html_(self) -> str:
        """The replay in the viewer, as an HTML frame."""

@final
class Solver:
    """A solver that can be continued: each call of `solve` improves the line and the bound.

    Args:
        map: a map, its name or path, to solve from the start, or a game or state to continue.
        no_jump: whether to play the no-jump variant; a game or state keeps its own variant.
        rules: a dict of the rules that differ from the server's; not for a game or state.
        seed: the seed of the search.
        memory_max_bytes: maximum memory of the first survival search, in bytes. The limits of all
            other searches are proportional to it; together they may use several times as much.

    Raises:
        FileNotFoundError: if the map does not exist.
        ValueError: if the map cannot be read or played, or another argument is invalid, for example
            if `rules` is given for a game or a state, which has its own rules.
    """

    def __new__(
        cls,
        map: MapLike | Game | State,
        *,
        no_jump: bool = False,
        rules: Rules | None = None,
        seed: int = 0,
        memory_max_bytes: int = 268435456,
    ) -> Solver: ...

    def solve(self, *, budget_ms: float | None = None, budget_ticks: int | None = None) -> Solution:
        """Improve the line and the bound.

        The search ends when it finds a line that survives, when it proves that no line is longer
        than the longest one found, or at a limit. Unless a time limit is reached, the same calls give
        the same moves on every machine. The call releases the GIL and can be interrupted
        with Ctrl-C.

        Args:
            budget_ms: time limit of this call in milliseconds; more than a day counts as a day. By
                default 1000, or a day if `budget_ticks` is given.
            budget_ticks: limit of this call in simulated ticks.

        Raises:
            ValueError: if a limit is invalid.
        """

def load_map(map: str | PathLike[str]) -> Map:
    """Load a map by its path (a folder, text file or PNG) or by its name. See `maps` for the names.

    Raises:
        FileNotFoundError: if the map does not exist.
        ValueError: if the map cannot be read.
    """

def maps(folder: str | PathLike[str] | None = None) -> list[str]:
    """The names of the bundled maps, or of all maps in a folder.

    Raises:
        FileNotFoundError: if the folder does not exist.
        ValueError: if the folder cannot be read.
    """

def generate_map(
    seed: int = 0,
    *,
    kind: Literal["maze", "labyrinth", "city"] = "maze",
    width: int | None = None,
    height: int | None = None,
    threats: int | None = None,
    styles: Sequence[Style] | None = None,
) -> Map:
    """Generate a map; the same arguments give the same map on every machine.

    Args:
        seed: the seed of the generator.
        kind: maze, labyrinth or city. Mazes and labyrinths need an odd width and height.
        width: number of columns, including the outer walls; by default 21.
        height: number of rows, including the outer walls; by default 17.
        threats: number of threats; by default 6.
        styles: styles of the threats; repeating a style makes it more frequent. By default, each of
            the six styles once.

    Raises:
        ValueError: if the kind or a style is unknown, or a number is invalid.
    """

def planners() -> list[str]:
    """The names of the built-in planners."""

def solve(
    map: MapLike | Game | State,
    *,
    no_jump: bool = False,
    rules: Rules | None = None,
    budget_ms: float | None = None,
    budget_ticks: int | None = None,
    seed: int = 0,
    memory_max_bytes: int = 268435456,
) -> Solution:
    """Solve a game from the start of a map, or from the current state of a game.

    `solve(map, ...)` is `Solver(map, ...).solve(...)`: see `Solver` and its method for the arguments
    and errors.
    """

def judge_moves(state: Game | State, *, budget_ticks: int = 100000, seed: int = 0) -> dict[Move, Verdict]:
    """Judge every legal move of a state by solving the game after the move.

    A move survives if the search finds a line that begins with the move and survives every tick. It
    is doomed if a proof shows that no such line exists, and otherwise undecided. The answer is the
    same on every machine.

    Args:
        state: the state, or a game in this state.
        budget_ticks: maximum number of simulated ticks per move.
        seed: the seed of the search.

    Returns:
        A dict from each of `state.legal_moves` to its `Verdict`; empty if the game is over.
    """
