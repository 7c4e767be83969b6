"""Derives planner names from Python callables, and finds callables by name."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

Planner = Callable[[Any], Any]


def name_of(planner: Planner) -> str:
    """Returns the name `MODULE:NAME` of a callable, or of its type if the callable has no name."""
    module = getattr(planner, "__module__", None) or type(planner).__module__
    name = getattr(planner, "__qualname__", None) or type(planner).__qualname__
    # A name with parentheses would be parsed as an expression of the search grammar.
    return re.sub(r"[^\w.]", "_", str(module)) + ":" + re.sub(r"[()]", "", str(name))


def names_of(planners: Iterable[str | Planner]) -> tuple[list[str], dict[str, Planner]]:
    """Returns the planners' names, and the callables by name. No two callables share a name."""
    names: list[str] = []
    callables: dict[str, Planner] = {}
    known: dict[int, str] = {}
    counts: Counter[str] = Counter()
    for planner in planners:
        if isinstance(planner, str):
            names.append(planner)
            continue
        if id(planner) not in known:
            base = name_of(planner)
            counts[base] += 1
            known[id(planner)] = name = base if counts[base] == 1 else f"{base}#{counts[base]}"
            callables[name] = planner
        names.append(known[id(planner)])
    return names, callables


def find(name: str) -> Planner:
    """Imports the callable `MODULE:NAME`, from the working directory or `sys.path`."""
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


def sentence(error: BaseException) -> str:
    """Describes an exception in one line: its type, its text, and where it was raised, if known. An
    error that `find` raises itself is described only by its text."""
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
