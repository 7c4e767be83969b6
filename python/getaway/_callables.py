"""Python callables as planners: naming them, and finding them by name."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

Planner = Callable[[Any], Any]

_given: dict[str, Planner] = {}
"""The callables that were passed directly, by the names that were assigned to them."""


def name_of(planner: Planner) -> str:
    """A name by which `find` returns this callable."""
    module = getattr(planner, "__module__", None) or type(planner).__module__
    name = getattr(planner, "__qualname__", None) or type(planner).__qualname__
    # Parentheses would make it an expression of the search grammar.
    base = f"{module}:{name}".replace("(", "").replace(")", "")
    text, number = base, 1
    while text in _given and _given[text] is not planner:
        number += 1
        text = f"{base}#{number}"
    _given[text] = planner
    return text


def give(callables: dict[str, Planner]) -> None:
    """Registers callables that another process has found, so that `find` returns them by name."""
    _given.update(callables)


def find(name: str) -> Planner:
    """The callable with this name: one that was given, or `MODULE:NAME`, imported as `python -m` does."""
    if name in _given:
        return _given[name]
    module, _, path = name.partition(":")
    folder = os.getcwd()
    if folder not in sys.path and "" not in sys.path:
        sys.path.insert(0, folder)
    item: Any = importlib.import_module(module)
    for part in path.split("."):
        if not hasattr(item, part):
            raise LookupError(f"expected a callable named {path} in {module}, found none")
        item = getattr(item, part)
    if not callable(item):
        raise TypeError(f"expected a callable that takes a state, found {type(item).__name__}")
    found: Planner = item
    return found


def make(name: str) -> Planner:
    """The planner for a game: the callable, or a new object if it is a class."""
    planner = find(name)
    return planner() if isinstance(planner, type) else planner


def sentence(error: BaseException) -> str:
    """An exception as one line: what was raised, and where."""
    text = " ".join(str(error).split())
    if isinstance(error, (LookupError, TypeError)) and text.startswith("expected a callable"):
        return text
    where, step = "", error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if "importlib" not in code.co_filename and code.co_filename != __file__:
            where = f" ({os.path.basename(code.co_filename)}, line {step.tb_lineno})"
        step = step.tb_next
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"
