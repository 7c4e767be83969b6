"""MkDocs hook: generates the references of the Python module and of the command line."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import getaway
import getaway.arena

PROGRAM = Path(sys.executable).parent / "getaway"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, "python.md", content=python_reference()))
    files.append(File.generated(config, "command-line.md", content=command_line_reference()))
    return files


def python_reference() -> str:
    parts = ["# Python", docstring(getaway), *items(getaway)]
    parts += ["# getaway.arena", docstring(getaway.arena), *items(getaway.arena)]
    return "\n\n".join(parts) + "\n"


def items(module: ModuleType) -> list[str]:
    parts = []
    for name in module.__all__:
        item = getattr(module, name)
        if inspect.isclass(item):
            parts += [f"## {name}", code(f"class {name}{signature(item)}"), docstring(item)]
            parts += members(item)
        elif callable(item):
            parts += [f"## {name}", code(f"{name}{signature(item)}"), docstring(item)]
    return parts


def members(item: type) -> list[str]:
    parts = []
    for name, member in vars(item).items():
        if name.startswith("_"):
            continue
        is_property = inspect.isgetsetdescriptor(member) or isinstance(member, property)
        heading = f"{item.__name__}.{name}" + ("" if is_property else signature(getattr(item, name)))
        parts += [f"### {item.__name__}.{name}", code(heading), docstring(getattr(item, name))]
    return parts


def signature(item: Any) -> str:
    """Returns the signature without `self`, or an empty string."""
    text = getattr(item, "__text_signature__", None)
    if text is None:
        try:
            text = str(inspect.signature(item))
        except (TypeError, ValueError):
            return ""
    return text.replace("($self, ", "(").replace("($self)", "()").replace("(self, ", "(").replace("(self)", "()")


def docstring(item: Any) -> str:
    """Returns the docstring; an item without one fails the build."""
    text = inspect.getdoc(item)
    if not text:
        raise ValueError(f"{item!r} has no docstring")
    return text


def code(text: str) -> str:
    return f"```python\n{text}\n```"


def command_line_reference() -> str:
    overview = help_of()
    commands = [line.split()[0] for line in overview.split("Commands:\n")[1].split("\n\n")[0].splitlines()]
    parts = ["# Command line", "Every command prints this with `--help`.", f"```text\n{overview}\n```"]
    for command in commands:
        if command != "help":
            parts += [f"## getaway {command}", f"```text\n{help_of(command)}\n```"]
    return "\n\n".join(parts) + "\n"


def help_of(*command: str) -> str:
    done = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.strip()
