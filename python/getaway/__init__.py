"""Coveo's Blitz 2025 car chase, reimplemented exactly, searched, and solved before the first move."""

from getaway._getaway import (
    Bot,
    Decision,
    Game,
    Map,
    Solution,
    State,
    __version__,
    generate_map,
    load_map,
    maps,
    planners,
    signature,
    solve,
)
from getaway.values import Move, Threat

try:
    from getaway._getaway import Batch
except ImportError:  # built without the feature `lab`

    class Batch:  # type: ignore[no-redef]
        """A placeholder in builds without the feature `lab`."""

        def __init__(self, *arguments: object, **options: object) -> None:
            raise ImportError("this build of getaway has no Batch: expected one with the feature `lab`")


__all__ = [
    "Batch",
    "Bot",
    "Decision",
    "Game",
    "Map",
    "Move",
    "Solution",
    "State",
    "Threat",
    "__version__",
    "generate_map",
    "load_map",
    "maps",
    "planners",
    "signature",
    "solve",
]


def __dir__() -> list[str]:
    return __all__
