#!/usr/bin/env python3
"""Copies the docstrings of the package and its extension into python/getaway/__init__.pyi.

    .venv/bin/python tools/stub.py           writes the stub
    .venv/bin/python tools/stub.py --check   checks the stub: exit code 1 if it is out of date
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import Any

import getaway

STUB = Path(__file__).resolve().parents[1] / "python" / "getaway" / "__init__.pyi"


def block(text: str, indent: str) -> list[str]:
    lines = text.splitlines()
    if len(lines) == 1:
        return [f'{indent}"""{text}"""']
    return [f'{indent}"""{lines[0]}', *((indent + line).rstrip() for line in lines[1:]), f'{indent}"""']


def with_docstrings(source: str) -> str:
    lines = source.splitlines()
    # Start at the end, so that the line numbers of earlier nodes stay valid.
    for node, item in sorted(documented(ast.parse(source)), key=lambda pair: -first_line(pair[0])):
        text = inspect.getdoc(item)
        if not text:
            raise SystemExit(f"{item!r} has no docstring")
        indent = "" if isinstance(node, ast.Module) else " " * (node.col_offset + 4)
        start = end = first_line(node)
        first = node.body[0]
        if isinstance(first, ast.Expr):
            # The docstring replaces an older one, or a body that is `...`.
            end = first.end_lineno or first.lineno
        lines[start:end] = block(text, indent)
    return "\n".join(lines) + "\n"


def first_line(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> int:
    return node.body[0].lineno - 1


def documented(module: ast.Module) -> list[tuple[ast.Module | ast.ClassDef | ast.FunctionDef, Any]]:
    """Returns the stub's nodes that need a docstring, each with the object that it declares."""
    found: list[tuple[ast.Module | ast.ClassDef | ast.FunctionDef, Any]] = [(module, getaway)]
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            found.append((node, getattr(getaway, node.name)))
        elif isinstance(node, ast.ClassDef):
            owner = getattr(getaway, node.name)
            found.append((node, owner))
            # Skip special methods: the class's docstring describes the constructor's arguments.
            found += [
                (member, getattr(owner, member.name))
                for member in node.body
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("__")
            ]
    return found


def main() -> int:
    source = STUB.read_text()
    current = with_docstrings(source)
    if sys.argv[1:] == ["--check"]:
        if current != source:
            print(f"{STUB}: out of date (run tools/stub.py)", file=sys.stderr)
            return 1
        return 0
    STUB.write_text(current)
    return 0


if __name__ == "__main__":
    sys.exit(main())
