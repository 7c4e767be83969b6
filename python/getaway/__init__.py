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

import importlib.util
from typing import Any

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
)
from getaway.values import Decision, MapLike, Move, Planner, Rules, Solution, Style, Threat, Verdict, Verdicts

try:
    from getaway._getaway import Batch, Replay, Solver, judge_moves, solve
except ImportError:  # built without the feature `lab`
    pass

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


# The modules, each with the package that it needs.
_MODULES = {"arena": "getaway", "cluster": "getaway", "dataset": "numpy", "gymnasium": "gymnasium", "levels": "getaway", "stable_baselines3": "stable_baselines3"}


def __getattr__(name: str) -> Any:
    """Imports a module when it is first used. A missing package is an error that says how to install it."""
    if name in _MODULES:
        return importlib.import_module(f"getaway.{name}")
    if name in __all__:
        raise ImportError(f"this build of getaway has no {name}: it was built without the feature `lab`")
    raise AttributeError(f"module 'getaway' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [name for name in [*__all__, *_MODULES] if name in globals() or importlib.util.find_spec(_MODULES.get(name, "?"))]
