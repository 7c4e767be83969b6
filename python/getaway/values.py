"""Types that the extension returns or accepts: moves, threats, decisions, verdicts, solutions."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from getaway._getaway import Map, State

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Decision", "MapLike", "Move", "Planner", "Rules", "Solution", "Style", "Threat", "Verdict", "Verdicts"]

Style: TypeAlias = Literal["bull", "goldfish", "shark", "owl", "deer", "hawk"]
"""The rule by which a threat chooses its moves."""
MapLike: TypeAlias = str | PathLike[str] | Map
"""A map: its name, its path, or the map itself."""
Planner: TypeAlias = str | Callable[[State], "Move | int | str"] | type
"""A name, an expression, a callable, or a class that is instantiated for each game."""


_Directions: TypeAlias = list[Literal["left", "right", "up", "down"]]
_View: TypeAlias = Literal["present", "stale"]


class Rules(TypedDict, total=False):
    """The rules of play. Rules that are missing have the server's values."""

    no_jump: bool
    """Whether stepping onto a threat's tile loses the game."""
    period_ticks: dict[Literal["lazy", "tease", "awake", "hungry", "insane"], int]
    """The ticks from one move of the threats to the next, by personality."""
    phase_clocks: dict[Literal["tease", "awake", "hungry", "insane"], int]
    """The clock value (the tick minus 1) after which each personality begins."""
    option_order: _Directions
    """The order of a tile's open directions."""
    shared_path_order: _Directions
    """The order in which owls, hawks and MOVE_TO look for a neighbour nearer to their target."""
    shark_path_order: _Directions
    """The order in which the shark's breadth-first search visits neighbours."""
    spawn_order: _Directions
    """The list from which a threat picks its first direction."""
    first_seed: int
    """The seed of a threat's first pick."""
    pick_scale: float
    """A pick uses `x - floor(x)`, where `x` is `pick_scale * sin(seed)`."""
    deer_shy_distance_squared: int
    """A deer heads for its spawn if the squared distance to the player is at most this value."""
    deer_view: _View
    """The player position that deer react to: `present` is the position after the player's move in
    the tick, and `stale` the position before it."""
    shark_view: _View
    """The player position that sharks chase."""
    owl_minute_ticks: int
    """The length of the owls' cycles in ticks."""
    owl_window_ticks: int
    """The number of ticks at the start of each cycle in which owls look at the player if they move."""
    owl_view: _View
    """The player position that an owl remembers from a look."""
    hawk_patience_moves: int
    """The number of idle moves after which a hawk picks a post."""
    hawk_rest_moves: int
    """The number of extra moves that a hawk waits at a post."""
    hawk_posts: int
    """A hawk picks its posts from at most this many intersections."""
    hawk_view: _View
    """The player position that a hawk looks for."""
    wire: dict[Literal["style_names", "personalities"], str]
    """The words in messages, which do not affect the game: `style_names` is `server` or `unknown`,
    and `personalities` is `server`, `missing` or `mismatched`."""


class Move(enum.IntEnum):
    """The player's move in a tick. Its value is the action in the Gymnasium environments."""

    LEFT = 0
    RIGHT = 1
    UP = 2
    DOWN = 3
    STAY = 4

    @property
    def letter(self) -> str:
        """The letter of the move in lines of moves: L, R, U, D, or . to stay."""
        return "LRUD."[self]

    @classmethod
    def from_letter(cls, letter: str, /) -> Move:
        """Return the move with this letter.

        Raises ValueError if the letter is not L, R, U, D or . (stay).
        """
        number = "LRUD.".find(letter) if len(letter) == 1 else -1
        if number < 0:
            raise ValueError(f"letter: expected L, R, U, D or ., found {letter!r}")
        return cls(number)

    @property
    def action(self) -> dict[str, Any] | None:
        """The move as an action of the protocol; None to stay."""
        return None if self is Move.STAY else {"type": f"MOVE_{self.name}"}


class Threat(NamedTuple):
    """A threat, with its memory and the number of its picks."""

    style: Style
    """The style, which determines how the threat chooses its moves."""
    position: tuple[int, int]
    """The position of the threat, (x, y)."""
    direction: Literal["left", "right", "up", "down"] = "up"
    """The direction of the threat's last step; before its first step, the initial direction."""
    draws: int = 1
    """The number of picks so far. The next pick has the seed `first_seed + draws`."""
    remembered: tuple[int, int] | None = None
    """For an owl: the player's position that the owl remembers from its last look."""
    seen: tuple[int, int] | None = None
    """For a hawk: the position where it last saw the player. The hawk's first move after its
    arrival there resets this to None, unless the hawk sees the player again."""
    post: tuple[int, int] | None = None
    """For a hawk: the intersection picked as its post. Seeing the player, or the hawk's first move
    after its arrival there, resets this to None."""
    idle_rounds: int = 0
    """For a hawk: the number of moves that it has waited without a target. Under the server's
    rules, the first move after its arrival at a post sets this to -5, unless the hawk sees the
    player."""


@dataclass(frozen=True)
class Decision:
    """A decision of a bot."""

    tick: int
    """The tick of the message that the bot answered."""
    source: Literal["plan", "search", "fallback"]
    """The source of the move: an earlier plan, a search or Python planner in this tick, or a rule. A
    rule chooses the move if the planner does not search, or if its search found no move in time."""
    planned_tick: int | None
    """The tick that the planner expects the game to reach, above 2000 if it expects the player to
    survive; None if it makes no forecast."""
    simulated_ticks: int
    """The number of ticks that the planner simulated for this decision."""
    elapsed_ms: float
    """The time from the call to the decision in milliseconds, excluding the conversion of a dict to
    JSON."""
    learnt: list[str]
    """New conclusions about the server's rules, as sentences; usually empty."""


@dataclass(frozen=True)
class Verdict:
    """The verdict of `getaway.judge_moves` on a move."""

    outcome: Literal["survives", "doomed", "undecided"]
    """`survives` if a line was found that begins with the move and survives, `doomed` if it is
    proven that no such line exists, otherwise `undecided`."""
    moves: str = field(repr=False)
    """The longest line found that begins with the move, one letter per tick."""
    final_tick: int
    """The tick in which that line ends; 2001 if the player survives."""
    bound_tick: int
    """A proven upper bound on the final tick of every line that begins with the move; 2001 if no
    smaller bound is proven."""


class Verdicts(NamedTuple):
    """The verdicts of `Batch.judge_moves` on every move, in arrays of shape (games, 5)."""

    outcomes: npt.NDArray[np.int8]
    """2 survives, 1 undecided, 0 doomed; -1 if the move is blocked or the game is over."""
    final_ticks: npt.NDArray[np.uint16]
    """For each move, the final tick of the longest line found that begins with it; 0 if the outcome
    is -1."""
    bound_ticks: npt.NDArray[np.uint16]
    """For each move, a proven upper bound on the final tick of every line that begins with it; 0 if
    the outcome is -1."""


@dataclass(frozen=True)
class Solution:
    """The result of `getaway.solve`. Its `repr` omits the moves and the certificate."""

    outcome: Literal["survives", "doomed", "undecided"]
    """`survives` if a line that survives was found, `doomed` if it is proven that none exists,
    otherwise `undecided`."""
    moves: str = field(repr=False)
    """The longest line found, one letter per tick: L, R, U, D, and . to stay."""
    final_tick: int
    """The tick in which that line ends; 2001 if the player survives."""
    bound_tick: int
    """A proven upper bound on the final tick of every line; 2001 if no smaller bound is proven."""
    simulated_ticks: int
    """The number of ticks that the search and the proof simulated."""
    decided_ms: float | None
    """The time in milliseconds until the outcome was `survives` or `doomed`; None if the outcome is
    `undecided`. If the player is doomed, the search may then continue, to find longer lines."""
    elapsed_ms: float
    """The time of the search and the proof in milliseconds, excluding the time to build the map's
    tables."""
    certificate: str | None = field(default=None, repr=False)
    """A proof that the map is doomed, in the format of `getaway verify`. None if the map is not
    proven to be doomed, or if the search did not begin in the map's start state."""

    @property
    def score(self) -> int:
        """The score of the longest line found."""
        return 5 * self.final_tick

    @property
    def bound_score(self) -> int:
        """A proven upper bound on the score of any line."""
        return 5 * self.bound_tick

    @property
    def is_optimal(self) -> bool:
        """True if it is proven that no line is longer than the longest line found."""
        return self.final_tick == self.bound_tick

    @property
    def actions(self) -> list[dict[str, Any] | None]:
        """The moves of the longest line found, as actions of the protocol; None to stay."""
        return [Move.from_letter(letter).action for letter in self.moves]
