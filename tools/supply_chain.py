#!/usr/bin/env python3
"""Checks the project's dependencies, and generates docs/dependencies.md.

Every external package in Cargo.lock and fuzz/Cargo.lock must come from crates.io with a checksum
and have an allowed licence. Every direct external dependency of the library or of a
package in crates/, except build-dependencies, needs a comment in Cargo.toml that gives its purpose.
The source code of the package must name each of these dependencies, except dev-dependencies.
bot/requirements.txt and tools/requirements-*.txt must pin every Python package. If cargo has
already fetched the packages, the script works without a network.

    tools/supply_chain.py           checks, and writes docs/dependencies.md
    tools/supply_chain.py --check   checks, and fails if docs/dependencies.md is out of date

The exit code is 1 if a check fails.
"""

import argparse
import functools
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest installs tomli
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs/dependencies.md"
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0",
    "CC0-1.0", "ISC", "MIT", "MIT-0", "NCSA", "OFL-1.1", "Unicode-3.0", "Unlicense", "Zlib",
}
PINNED = re.compile(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.]*( *;.*)?")


def is_allowed(expression: str) -> bool:
    """Returns whether allowed licences can satisfy an SPDX expression. `/` is an old form of OR."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def parse_or() -> bool:
        result = parse_and()
        while words and words[0] == "OR":
            words.pop(0)
            result = parse_and() or result
        return result

    def parse_and() -> bool:
        result = parse_licence()
        while words and words[0] == "AND":
            words.pop(0)
            result = parse_licence() and result
        return result

    def parse_licence() -> bool:
        name = words.pop(0)
        if name == "(":
            result = parse_or()
            words.pop(0)
            return result
        if words and words[0] == "WITH":
            name = f"{name} {words.pop(0)} {words.pop(0)}"
        return name in ALLOWED

    try:
        return parse_or() and not words
    except IndexError:
        return False


@functools.cache
def metadata(manifest: Path) -> dict:
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1", "--manifest-path", str(manifest)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def check_lock(manifest: Path) -> list[str]:
    lock = tomllib.loads(manifest.with_name("Cargo.lock").read_text())
    where = manifest.with_name("Cargo.lock").relative_to(ROOT)
    problems = []
    for package in lock["package"]:
        if package["name"].startswith("getaway"):
            continue
        if package.get("source") != REGISTRY or "checksum" not in package:
            problems.append(f"{where}: {package['name']}: not a crates.io package with a checksum")
    for package in metadata(manifest)["packages"]:
        if package["source"] is not None and not is_allowed(package["license"] or ""):
            problems.append(f"{where}: {package['name']} {package['version']}: licence {package['license']} is not allowed")
    return problems


def purposes() -> dict[str, str]:
    """Returns the purposes of dependencies: the comments on their lines in the root Cargo.toml."""
    lines = re.findall(r"^([a-z0-9_-]+) = .*?[\"}] *# *(\S.*)$", (ROOT / "Cargo.toml").read_text(), re.M)
    return dict(reversed(lines))


def manifests() -> dict[str, tuple[Path, dict]]:
    files = [ROOT / "Cargo.toml", *sorted(ROOT.glob("crates/*/Cargo.toml"))]
    read = [(file.parent, tomllib.loads(file.read_text())) for file in files]
    return {manifest["package"]["name"]: (folder, manifest) for folder, manifest in read}


def check_direct() -> list[str]:
    """Returns errors for external dependencies that lack a purpose, or that their package does not
    use. Dev-dependencies need only a purpose."""
    purpose_of = purposes()
    problems = []
    for package, (folder, manifest) in manifests().items():
        source = "".join(path.read_text() for path in (folder / "src").rglob("*.rs"))
        dependencies = external(manifest, "dependencies")
        for name in sorted(dependencies | external(manifest, "dev-dependencies")):
            if name not in purpose_of:
                problems.append(f"Cargo.toml: {name}: needs a comment that gives its purpose")
            if name in dependencies and not re.search(rf"\b{name.replace('-', '_')}\b", source):
                problems.append(f"{package}: {name}: not used by the package")
    return problems


def external(manifest: dict, kind: str) -> set[str]:
    """Returns the names of a manifest's external dependencies of one kind, for all targets."""
    tables = [manifest, *manifest.get("target", {}).values()]
    return {name for table in tables for name in table.get(kind, {}) if not name.startswith("getaway")}


def check_python() -> list[str]:
    problems = []
    for path in [ROOT / "bot/requirements.txt", *sorted((ROOT / "tools").glob("requirements-*.txt"))]:
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#") and not PINNED.fullmatch(line.strip()):
                problems.append(f"{path.relative_to(ROOT)}: {line}: expected NAME==VERSION")
    return problems


def table() -> str:
    """Returns the text of docs/dependencies.md: the external dependencies of the workspace, and the
    number of packages by licence."""
    packages = metadata(ROOT / "Cargo.toml")["packages"]
    by_name: dict[str, list[dict]] = {}
    for package in packages:
        by_name.setdefault(package["name"], []).append(package)
    purpose_of = purposes()
    users: dict[str, list[str]] = {}
    test_users: dict[str, list[str]] = {}
    for package, (_, manifest) in manifests().items():
        for name in external(manifest, "dependencies"):
            users.setdefault(name, []).append(package.removeprefix("getaway-"))
        for name in external(manifest, "dev-dependencies"):
            test_users.setdefault(name, []).append(package)

    def rows(names: Iterable[str], used_by: Callable[[str], str]) -> list[str]:
        out = []
        for name in sorted(names):
            newest = max(by_name[name], key=lambda package: [int(x) for x in re.findall(r"\d+", package["version"])[:3]])
            out.append(f"| {name} | {newest['version']} | {used_by(name)} | {purpose_of.get(name, '')} | {newest['license']} |")
        return out

    licences: dict[str, int] = {}
    external_packages = [package for package in packages if package["source"] is not None]
    for package in external_packages:
        licences[package["license"]] = licences.get(package["license"], 0) + 1
    return "\n".join([
        "# Dependencies",
        "",
        *textwrap.wrap(
            "`tools/supply_chain.py` generates this page, and `.ci/run` checks it. In the column *used by*, `getaway` is the"
            " library. The other packages are in `crates/`, and their full names begin with `getaway-`. Crates marked *tests* are"
            " used only by tests, benches and examples.", 120),
        "",
        "| crate | version | used by | purpose | licence |",
        "|---|---|---|---|---|",
        *rows(users, lambda name: ", ".join(users[name])),
        *rows((name for name in test_users if name not in users), lambda _: "tests"),
        "",
        *textwrap.wrap(
            f"With transitive dependencies, there are {len(external_packages)} packages. They include the packages for all"
            " platforms, and those that only tests, benches and examples use. Licences:", 120),
        "",
        "| licence | packages |",
        "|---|---|",
        *(f"| {licence} | {count} |" for licence, count in sorted(licences.items(), key=lambda item: (-item[1], item[0]))),
        "",
        *textwrap.wrap(
            "Python: `bot/requirements.txt` lists the packages needed to play, and `tools/requirements-*.txt` those needed to"
            " build, test, document and package. Every listed version is pinned.", 120),
        "",
    ])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="check docs/dependencies.md instead of writing it")
    args = parser.parse_args()
    problems = check_lock(ROOT / "Cargo.toml") + check_lock(ROOT / "fuzz/Cargo.toml") + check_direct() + check_python()
    text = table()
    if not args.check:
        TABLE.write_text(text)
    elif not TABLE.exists() or TABLE.read_text() != text:
        problems.append("docs/dependencies.md: out of date (run tools/supply_chain.py)")
    for line in problems:
        print(f"error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
