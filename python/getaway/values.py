"""Values that the extension returns and accepts: moves and threats."""

from __future__ import annotations

import enum
from typing import Any, Literal, NamedTuple

__all__ = ["Move", "Threat"]


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

    style: Literal["bull", "goldfish", "shark", "owl", "deer", "hawk"]
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
