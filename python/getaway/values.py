"""Types that the extension returns and accepts: moves, threats, decisions, verdicts, solutions."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Decision", "Move", "SafeMoves", "Solution", "Style", "Threat", "Verdict"]

Style: TypeAlias = Literal["bull", "goldfish", "shark", "owl", "deer", "hawk"]
"""The rule by which a threat chooses its moves."""


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
    """A threat, with its memory and the seed of its random numbers."""

    style: Style
    """The style, which determines how the threat chooses its moves."""
    position: tuple[int, int]
    """The position of the threat, (x, y)."""
    direction: Literal["left", "right", "up", "down"] = "up"
    """The direction of the threat's last step; before its first step, the initial direction."""
    seed: int = 1
    """The seed of the next random number of the threat."""
    remembered: tuple[int, int] | None = None
    """For an owl: the position of the player when the owl last saw the player."""
    seen: tuple[int, int] | None = None
    """For a hawk: where it last saw the player, until the move after its arrival there."""
    post: tuple[int, int] | None = None
    """For a hawk: the intersection picked as its post, until the move after its arrival there."""
    idle_rounds: int = 0
    """For a hawk: how many moves it has waited; by default, -5 after its first move at a post."""


class Decision(NamedTuple):
    """A decision of a bot."""

    tick: int
    """The tick of the message that the bot answered."""
    source: Literal["plan", "search", "fallback"]
    """The source of the move: an earlier plan, a search in this tick, or a rule without search."""
    planned_tick: int | None
    """The tick in which the bot's plan ends, 2001 if it survives; None if there is no plan."""
    simulated_ticks: int
    """The number of ticks that the planner simulated for this decision."""
    elapsed_ms: float
    """The time from the call to the decision, in milliseconds."""
    learnt: list[str]
    """New conclusions about the server's rules, as sentences; usually empty."""


class Verdict(NamedTuple):
    """The verdict of `getaway.safe_moves` on a move."""

    outcome: Literal["survives", "doomed", "undecided"]
    """`survives` if a line was found that begins with the move and survives, `doomed` if it is
    proven that no such line exists, otherwise `undecided`."""
    moves: str
    """The longest line found that begins with the move, one letter per tick."""
    final_tick: int
    """The tick in which that line ends; 2001 if the player survives."""
    bound_tick: int
    """A proven upper bound on the final tick; 2001 if nothing is proven."""


class SafeMoves(NamedTuple):
    """The verdicts of `Batch.safe_moves` on every move, in arrays of shape (games, 5)."""

    outcomes: npt.NDArray[np.int8]
    """2 survives, 1 undecided, 0 doomed; -1 if the move is blocked or the game is over."""
    final_ticks: npt.NDArray[np.uint16]
    """The tick in which the longest line found after each move ends; 0 if the outcome is -1."""
    bound_ticks: npt.NDArray[np.uint16]
    """A proven upper bound on the final tick after each move; 0 if the outcome is -1."""


class Solution(NamedTuple):
    """The result of `getaway.solve`."""

    outcome: Literal["survives", "doomed", "undecided"]
    """`survives` if a line that survives was found, `doomed` if it is proven that none exists,
    otherwise `undecided`."""
    moves: str
    """The longest line found, one letter per tick: L, R, U, D, and . to stay."""
    final_tick: int
    """The tick in which that line ends; 2001 if the player survives."""
    bound_tick: int
    """A proven upper bound on the final tick; 2001 if nothing is proven."""
    simulated_ticks: int
    """The number of ticks that the search and the proof simulated."""
    decided_ms: float | None
    """The time in milliseconds until the outcome was `survives` or `doomed`; None if it is
    `undecided`. For a doomed player, the search may still find longer lines afterwards."""
    elapsed_ms: float
    """The time of the search in milliseconds, without the time to build the tables of the map."""
    certificate: str | None = None
    """A proof that the map is doomed, in the format of `getaway verify`. None if this is not
    proven, or if the search did not begin at the start of the map."""

    @property
    def score(self) -> int:
        """The score of the longest line found."""
        return 5 * self.final_tick

    @property
    def bound(self) -> int:
        """A proven upper bound on the score of any line."""
        return 5 * self.bound_tick

    @property
    def is_optimal(self) -> bool:
        """True if it is proven that no line is longer than the longest line found."""
        return self.final_tick == self.bound_tick

    @property
    def actions(self) -> list[dict[str, Any] | None]:
        """The moves of the line as actions of the protocol."""
        return [Move.from_letter(letter).action for letter in self.moves]
