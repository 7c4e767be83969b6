"""Coveo's Blitz 2025 car chase, rebuilt exactly, searched and solved before the first move."""

from getaway._getaway import Bot, Decision, Game, Solution, __version__, signature, solve

__all__ = ["Bot", "Decision", "Game", "Solution", "__version__", "signature", "solve"]


def __dir__() -> list[str]:
    return __all__
