"""Coveo's Blitz 2025 car chase, rebuilt exactly, searched and solved before the first move.

    import getaway

    game = getaway.Game("maps/roundabout")
    bot = getaway.Bot("survival", budget_ms=75)
    while not game.is_over:
        game.step(bot.next_action(game.frame()))
    print(game.score)

An action is a dict, {"type": "MOVE_LEFT"} or MOVE_RIGHT, MOVE_UP, MOVE_DOWN, or {"type": "MOVE_TO", "position": {"x": 1, "y": 2}};
None is to stay. A bug of the library comes out as a RuntimeError.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, final

__all__ = ["Bot", "Decision", "Game", "Solution", "__version__", "signature", "solve"]

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
class Game:
    """A game that is stepped by hand."""

    def __new__(cls, map: str | PathLike[str], *, no_jump: bool = False) -> Game:
        """The start of a game on the map in a folder, or on the one of that name in `maps/`.

        Raises FileNotFoundError when there is no such map, ValueError when it cannot be read or played.
        """

    @staticmethod
    def parse(drawing: str, *, no_jump: bool = False) -> Game:
        """The start of a game on a drawing, a line a row: # wall, . open, ~ see-through, P the player, B bull, G goldfish, S shark, O owl,
        D deer, H hawk.

        Raises ValueError for anything else.
        """

    def step(self, action: dict[str, Any] | list[dict[str, Any]] | None = None, /) -> dict[str, Any] | None:
        """Plays a tick with an action, several of which the first that succeeds counts, or none; returns the move that was made.

        Raises ValueError when the game is over.
        """

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
    def no_jump(self) -> bool:
        """Whether this is the no-jump variant."""

    @property
    def rows(self) -> list[str]:
        """The map at the start, drawn as `parse` reads it."""

    @property
    def tick(self) -> int:
        """The tick that is about to be played, 1 to 2001."""

    @property
    def score(self) -> int:
        """5 for each tick reached."""

    @property
    def is_over(self) -> bool:
        """Whether the player is caught or the last tick is played."""

    @property
    def is_caught(self) -> bool:
        """Whether a threat stands on the player's tile."""

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

def solve(map: str | PathLike[str] | Game, no_jump: bool = False, time_limit_ms: float = 1000.0, seed: int = 0) -> Solution:
    """Solves a whole game before the first move, from a map's start or from where a game stands.

    The same seed finds the same moves as long as it takes less than half a second. Other threads run meanwhile, and Ctrl-C works.

    Raises what `Game` raises for a map, and ValueError for a time limit below 0, or for no_jump with a game of the other variant.
    """

def signature(maps: Sequence[str | PathLike[str]], threads: int = 1) -> str:
    """The search signature: 16 hexadecimal digits for what the planners do on these maps, in both variants, with a fixed seed and a fixed budget.

    It is the same on every machine and with any number of threads; a change of the searches changes it. Takes about a second for a dozen maps.

    Raises what `Game` raises for a map.
    """
