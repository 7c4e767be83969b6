"""Values that the extension returns and accepts: moves, threats, decisions, verdicts and solutions."""

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
    """The player's move in a tick: a number for environments, and a letter in plans."""

    LEFT = 0
    RIGHT = 1
    UP = 2
    DOWN = 3
    STAY = 4

    @property
    def letter(self) -> str:
        """The letter in plans: L, R, U, D, and . to stay."""
        return "LRUD."[self]

    @classmethod
    def from_letter(cls, letter: str, /) -> Move:
        """The move of a letter.

        Raises ValueError for any other letter.
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
    """The rule by which it chooses its moves."""
    position: tuple[int, int]
    """Its position: x to the right, y down."""
    direction: Literal["left", "right", "up", "down"] = "up"
    """The direction of its last step."""
    seed: int = 1
    """The seed of its next random number."""
    remembered: tuple[int, int] | None = None
    """Owl: the last observed position of the player."""
    seen: tuple[int, int] | None = None
    """Hawk: the last seen position of the player."""
    post: tuple[int, int] | None = None
    """Hawk: the intersection to which it is moving."""
    idle_rounds: int = 0
    """Hawk: the number of moves that it has waited; it starts at -5 after a stop at a post."""


class Decision(NamedTuple):
    """A decision of a bot."""

    tick: int
    """The tick of the message."""
    source: Literal["plan", "search", "fallback"]
    """The source of the move: an existing plan, a search in this tick, or a rule without search."""
    planned_tick: int | None
    """The last tick of the bot's plan; 2001 for the whole game, None without a plan."""
    simulated_ticks: int
    """The ticks that the planner simulated for this decision."""
    elapsed_ms: float
    """The time from the call to the decision, in milliseconds."""
    learnt: list[str]
    """One sentence for each rule that this message shows to differ from the expected rules."""


class Verdict(NamedTuple):
    """The judgement of a move by `getaway.safe_moves`."""

    outcome: Literal["survives", "doomed", "undecided"]
    """`survives` if a line that begins with the move survives, `doomed` if it is proven that none
    does, otherwise `undecided`."""
    moves: str
    """The longest line found that begins with the move, one letter per tick."""
    final_tick: int
    """The last tick of that line; 2001 if the player survives."""
    bound_tick: int
    """A proven upper bound on the final tick; 2001 if nothing is proven."""


class SafeMoves(NamedTuple):
    """The judgement of every move by `Batch.safe_moves`, in arrays of shape (games, 5)."""

    outcomes: npt.NDArray[np.int8]
    """2 survives, 1 undecided, 0 doomed, -1 for a blocked move or a game that is over."""
    final_ticks: npt.NDArray[np.uint16]
    """The last tick of the longest line found; 0 where the outcome is -1."""
    bound_ticks: npt.NDArray[np.uint16]
    """Proven upper bounds on the final tick; 0 where the outcome is -1."""


class Solution(NamedTuple):
    """The result of `getaway.solve`."""

    outcome: Literal["survives", "doomed", "undecided"]
    """`survives` if the player can survive to the end, `doomed` if it is proven that it cannot,
    otherwise `undecided`."""
    moves: str
    """The longest line found, one letter per tick: L, R, U, D, and . to stay."""
    final_tick: int
    """The last tick of that line; 2001 if the player survives."""
    bound_tick: int
    """A proven upper bound on the final tick; 2001 if nothing is proven."""
    simulated_ticks: int
    """The ticks that the search and the proof simulated."""
    decided_ms: float | None
    """The time in milliseconds until the outcome was known, or `None` if it is unknown. The search
    may then continue to find a longer line."""
    elapsed_ms: float
    """The time of the search in milliseconds, excluding the construction of the map's tables."""
    certificate: str | None = None
    """The proof for `getaway verify` that a map is doomed; only for searches from its start."""

    @property
    def score(self) -> int:
        """The score of the line."""
        return 5 * self.final_tick

    @property
    def bound(self) -> int:
        """A proven upper bound on the score."""
        return 5 * self.bound_tick

    @property
    def is_optimal(self) -> bool:
        """True if the line is proven to be the longest."""
        return self.final_tick == self.bound_tick

    @property
    def actions(self) -> list[dict[str, Any] | None]:
        """The moves as actions of the protocol."""
        return [Move.from_letter(letter).action for letter in self.moves]
