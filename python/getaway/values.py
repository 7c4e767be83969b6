"""Values that the extension returns and accepts: moves, threats, decisions and solutions."""

from __future__ import annotations

import enum
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["Decision", "Move", "Solution", "Style", "Threat"]

Style: TypeAlias = Literal["bull", "goldfish", "shark", "owl", "deer", "hawk"]
"""How a threat chooses its moves."""


class Move(enum.IntEnum):
    """The player's move in a tick. The numbers are the actions of the environments, the letters those of plans."""

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
    """A threat with its memory and the state of its random numbers: together with the player, they determine its moves."""

    style: Style
    """How it chooses its moves."""
    position: tuple[int, int]
    """Where it stands: x to the right, y down."""
    direction: Literal["left", "right", "up", "down"] = "up"
    """The direction it faces: that of its last step."""
    seed: int = 1
    """The seed of the next random number that it draws."""
    remembered: tuple[int, int] | None = None
    """Owl: where it last looked at the player."""
    seen: tuple[int, int] | None = None
    """Hawk: where it last saw the player."""
    post: tuple[int, int] | None = None
    """Hawk: the intersection that it is on its way to."""
    idle_rounds: int = 0
    """Hawk: number of moves that it has waited; from -5."""


class Decision(NamedTuple):
    """How a bot chose an action."""

    tick: int
    """The tick of the message."""
    source: Literal["plan", "search", "fallback"]
    """An existing plan, a search in this tick, or a rule without search."""
    planned_tick: int | None
    """The last tick that the bot's plan survives to, if it planned: 2001 for the whole game."""
    simulated_ticks: int
    """The ticks that the planner simulated for this decision."""
    elapsed_ms: float
    """The time from the call to the decision."""
    learnt: list[str]
    """How the rules differ from those expected, in sentences; empty unless this message has changed what is known."""


class Solution(NamedTuple):
    """The result of `getaway.solve`."""

    outcome: Literal["survives", "doomed", "undecided"]
    """Whether the player survives to the end, provably cannot, or neither was shown."""
    moves: str
    """The moves of the longest line that was found, one letter per tick: L, R, U, D, and . to stay."""
    final_tick: int
    """The last tick of that line: 2001 if the player survives."""
    bound_tick: int
    """A proven upper bound on the final tick: 2001 if nothing is proven."""
    simulated_ticks: int
    """The ticks that the search and the proof simulated."""
    decided_ms: float | None
    """The time until the outcome was known; None if it is not. The search may have gone on for a longer line."""
    elapsed_ms: float
    """The time of the search, without building the map's tables."""
    certificate: str | None = None
    """A doomed map's proof, as `getaway verify` reads it from a file; only from the start of a map."""

    @property
    def score(self) -> int:
        """The score of the line."""
        return 5 * self.final_tick

    @property
    def bound(self) -> int:
        """A score that provably no line exceeds."""
        return 5 * self.bound_tick

    @property
    def is_optimal(self) -> bool:
        """Whether this line is proven to be the longest."""
        return self.final_tick == self.bound_tick

    @property
    def actions(self) -> list[dict[str, Any] | None]:
        """The moves as actions of the protocol."""
        return [Move.from_letter(letter).action for letter in self.moves]
