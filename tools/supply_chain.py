#!/usr/bin/env python3
"""Checks what the project is built from, and writes the table of it: docs/dependencies.md.

For every package that Cargo.lock and fuzz/Cargo.lock name: it comes from crates.io with a checksum, and may be used under a licence of the list
below. Every direct dependency says in Cargo.toml what it is for, and the library names each of its own somewhere. Every Python package is pinned. Needs
nothing but cargo and what it has fetched.

    tools/supply_chain.py           checks, and writes the table
    tools/supply_chain.py --check   checks, the table too; exit code 1 if anything is wrong
"""

import argparse
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10: what pytest brings there
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs/dependencies.md"
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
# Licences that ask for no more than a notice, or nothing.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0",
    "CC0-1.0", "ISC", "MIT", "MIT-0", "NCSA", "OFL-1.1", "Unicode-3.0", "Unlicense", "Zlib",
}
PINNED = re.compile(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.]*( *;.*)?")


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be satisfied by allowed licences; the old `/` means OR."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either() -> bool:
        result = both()
        while words and words[0] == "OR":
            words.pop(0)
            result = both() or result
        return result

    def both() -> bool:
        result = licence()
        while words and words[0] == "AND":
            words.pop(0)
            result = licence() and result
        return result

    def licence() -> bool:
        name = words.pop(0)
        if name == "(":
            result = either()
            words.pop(0)
            return result
        if words and words[0] == "WITH":
            name = f"{name} {words.pop(0)} {words.pop(0)}"
        return name in ALLOWED

    try:
        return either() and not words
    except IndexError:
        return False


@functools.cache
def metadata(manifest: Path) -> dict:
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1", "--manifest-path", str(manifest)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def check_lock(manifest: Path) -> list[str]:
    """What is wrong with the packages that a manifest's lock file names."""
    lock = tomllib.loads(manifest.with_name("Cargo.lock").read_text())
    where = manifest.with_name("Cargo.lock").relative_to(ROOT)
    wrong = []
    for package in lock["package"]:
        if package["name"].startswith("getaway"):
            continue
        if package.get("source") != REGISTRY or "checksum" not in package:
            wrong.append(f"{where}: {package['name']}: expected a package of crates.io with a checksum")
    for package in metadata(manifest)["packages"]:
        if package["source"] is not None and not is_allowed(package["license"] or ""):
            wrong.append(f"{where}: {package['name']} {package['version']}: licence {package['license']} is not on the list")
    return wrong


def reasons() -> dict[str, str]:
    """By direct dependency, the first comment behind it in Cargo.toml."""
    lines = re.findall(r"^([a-z0-9_-]+) = .*?(?:[\"}])\s*#\s*(.+)$", (ROOT / "Cargo.toml").read_text(), re.M)
    return dict(reversed(lines))


def check_direct(manifest: dict) -> list[str]:
    known = reasons()
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.rs"))
    wrong = []
    for kind in ("dependencies", "dev-dependencies"):
        for name in manifest[kind]:
            if name not in known:
                wrong.append(f"Cargo.toml: {name}: expected a comment that says what it is for")
            if kind == "dependencies" and not re.search(rf"\b{name.replace('-', '_')}\b", source):
                wrong.append(f"Cargo.toml: {name}: expected the library to use it")
    return wrong


def check_python() -> list[str]:
    wrong = []
    for path in [ROOT / "bot/requirements.txt", *sorted((ROOT / "tools").glob("requirements-*.txt"))]:
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#") and not PINNED.fullmatch(line.strip()):
                wrong.append(f"{path.relative_to(ROOT)}: {line}: expected NAME==VERSION")
    return wrong


def table(manifest: dict) -> str:
    """The direct dependencies with their reasons, and how many packages stand behind them under which licences."""
    packages = metadata(ROOT / "Cargo.toml")["packages"]
    by_name: dict[str, list[dict]] = {}
    for package in packages:
        by_name.setdefault(package["name"], []).append(package)
    features = {}
    for feature, parts in manifest["features"].items():
        for part in parts:
            if part.startswith("dep:"):
                features[part.removeprefix("dep:")] = feature
    known = reasons()

    def rows(names: list[str], feature_of) -> list[str]:
        out = []
        for name in sorted(names):
            newest = max(by_name[name], key=lambda package: [int(x) for x in re.findall(r"\d+", package["version"])[:3]])
            out.append(f"| {name} | {newest['version']} | {feature_of(name)} | {known.get(name, '')} | {newest['license']} |")
        return out

    dev = {**manifest["dev-dependencies"]}
    for target in manifest.get("target", {}).values():
        dev.update(target.get("dev-dependencies", {}))
    licences: dict[str, int] = {}
    for package in packages:
        licences[package["license"]] = licences.get(package["license"], 0) + 1
    return "\n".join([
        "# What getaway is built from",
        "",
        "Written by `tools/supply_chain.py` and checked by `./test.sh`. Features: the wheel is built with `python` alone, the program with `cli`, which",
        "brings `server`, `recording`, `view` and what else it names.",
        "",
        "| crate | version | feature | what for | licence |",
        "|---|---|---|---|---|",
        *rows(list(manifest["dependencies"]), lambda name: features.get(name, "always")),
        *rows([name for name in dev if name not in manifest["dependencies"]], lambda _: "tests"),
        "",
        f"Behind them stand {len(packages) - 1} packages on all platforms, tests and benches included. Their licences:",
        "",
        "| licence | packages |",
        "|---|---|",
        *(f"| {licence} | {count} |" for licence, count in sorted(licences.items(), key=lambda item: (-item[1], item[0]))),
        "",
        "Python: `bot/requirements.txt` is what a game needs, `tools/requirements-*.txt` what builds, tests and packages; every version is pinned.",
        "",
    ])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="do not write the table, compare it")
    args = parser.parse_args()
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    wrong = check_lock(ROOT / "Cargo.toml") + check_lock(ROOT / "fuzz/Cargo.toml") + check_direct(manifest) + check_python()
    text = table(manifest)
    if not args.check:
        TABLE.write_text(text)
    elif not TABLE.exists() or TABLE.read_text() != text:
        wrong.append("docs/dependencies.md: is not current (tools/supply_chain.py writes it)")
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
