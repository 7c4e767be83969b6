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
RuntimeError that begins with "a bug in getaway" reports a bug in the library.

Positions are (x, y), counted from 0; x grows to the right and y grows downwards. `rules` is a dict
like `Game.rules`; rules that it omits have the server's values. `no_jump=True` sets the rule
`no_jump`, whether or not `rules` is given.
"""

from getaway._getaway import (
    Bot,
    Game,
    Map,
    State,
    __version__,
    generate_map,
    load_map,
    maps,
    planners,
    signature,
)
from getaway.values import Decision, Move, SafeMoves, Solution, Threat, Verdict

try:
    from getaway._getaway import Batch, Replay, safe_moves, solve
except ImportError:  # built without the feature `lab`

    class Batch:  # type: ignore[no-redef]
        """A placeholder in builds without the feature `lab`."""

        def __init__(self, *arguments: object, **options: object) -> None:
            raise ImportError("this build of getaway has no Batch: it was built without the feature `lab`")

    class Replay:  # type: ignore[no-redef]
        """A placeholder in builds without the feature `lab`."""

        def __init__(self, *arguments: object, **options: object) -> None:
            raise ImportError("this build of getaway has no Replay: it was built without the feature `lab`")

    def safe_moves(*arguments: object, **options: object) -> dict[Move, Verdict]:  # type: ignore[misc]
        raise ImportError("this build of getaway has no safe_moves: it was built without the feature `lab`")

    def solve(*arguments: object, **options: object) -> Solution:  # type: ignore[misc]
        raise ImportError("this build of getaway has no solve: it was built without the feature `lab`")


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


def __dir__() -> list[str]:
    return __all__
