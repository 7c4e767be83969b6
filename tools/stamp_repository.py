#!/usr/bin/env python3
"""Writes a repository's address into the packages' metadata, and makes the README's links absolute.

PyPI does not resolve relative links, and the files of a checkout do not contain the repository's
address. So the release workflow runs this script before it builds packages.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", help="the repository's address, such as https://host/owner/getaway")
    parser.add_argument("revision", help="the tag or commit to which the links point")
    parser.add_argument("--folder", type=Path, default=ROOT, help="the checkout to change [default: this one]")
    options = parser.parse_args()
    repository = options.repository.rstrip("/")
    if not re.fullmatch(r"https://[^\s\"'<>]+", repository):
        parser.error(f"repository: expected an https address, found {options.repository!r}")
    stamp(options.folder, repository, options.revision)


def stamp(folder: Path, repository: str, revision: str) -> None:
    readme = folder / "README.md"
    readme.write_text(absolute_links(readme.read_text(), repository, revision))
    insert(folder / "Cargo.toml", 'readme = "README.md"\n', f'repository = "{repository}"\n')
    urls = f"""\
[project.urls]
Repository = "{repository}"
Documentation = "{repository}/blob/{revision}/docs/index.md"
Changelog = "{repository}/blob/{revision}/CHANGELOG.md"

"""
    insert(folder / "pyproject.toml", 'dynamic = ["version"]\n\n', urls)


def absolute_links(text: str, repository: str, revision: str) -> str:
    """Returns the Markdown text with the relative targets of inline links and images made absolute,
    except targets that begin with `#`."""
    relative = r"(?![a-z]+:|#)([^)\s]+)\)"
    text = re.sub(rf"(!\[[^\]]*\])\({relative}", rf"\1({repository}/raw/{revision}/\2)", text)
    return re.sub(rf"(\])\({relative}", rf"\1({repository}/blob/{revision}/\2)", text)


def insert(file: Path, after: str, text: str) -> None:
    before = file.read_text()
    if before.count(after) != 1:
        raise SystemExit(f"error: {file}: expected {after.strip()!r} once, found it {before.count(after)} times")
    file.write_text(before.replace(after, after + text))


if __name__ == "__main__":
    main()
