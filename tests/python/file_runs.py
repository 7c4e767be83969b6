"""Passes foreign files to the program and the Python package, and edited journals to `--resume`:
`.venv/bin/python tests/python/file_runs.py foreign|edits --count 1000 --seed 1`.

`foreign` passes files (such as huge, read-only or damaged files, devices, pipes and links) to the
options and arguments that take a file or a folder, and to functions of the Python package. Most
files that an option, argument or function may accept are not passed to it. No existing file may
change. The program must refuse an unusable file with one error line, and may use at most a second
of processor time and 100,000 KiB of memory (`ulimit -d`). `edits` changes one field of a journal at
a time: the program must refuse the journal with an error that gives the number of the changed line,
and must not change the file.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TIMEOUT_S = 60.0
CPU_MAX_S = 1.0
DATA_MAX_KIB = 100_000
HUGE_BYTES = 1 << 38
FILE_VALUE = re.compile(r"FILE|DIR|OUT|MAP|RECORDING")
"""Matches the value names of arguments that take a file or a folder. A unit test of the program checks
that no other names do."""

GAME = "games/market-square-flee-200-ticks.jsonl.gz"
SERIES = ["--samples", "1", "--budget-ticks", "1", "--threads", "1"]
LOGGING_BOT = "pipe:echo oops >&2"
BENCHMARK = ["--benchmark", str(ROOT / "instances")]
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "analyse": ([GAME], []),
    "battle": (["random", LOGGING_BOT], ["--map", "corner-shop", *SERIES, "--allow-failures"]),
    "benchmark check": (["record.txt"], BENCHMARK),
    "benchmark instances": ([], []),
    "benchmark run": ([], ["--track", "real-like", "--time-limit", "1", "--solver", "exec:false", *BENCHMARK]),
    "benchmark submit": (["record.txt"], BENCHMARK),
    "benchmark table": (["run"], []),
    "bridge": ([], []),
    "dataset": (["corner-shop"], ["--states", "1", "--planner", "random", "--label-ticks", "1"]),
    "eval": ([], ["--map", "corner-shop", "--planner", LOGGING_BOT, *SERIES, "--allow-failures"]),
    "ladder": (["new"], ["--map", "corner-shop", "--add", "random", "--add", LOGGING_BOT, *SERIES]),
    "mapgen": ([], ["--count", "1", "--seed", "1", "--size", "11x11", "--threats", "1"]),
    "maps": (["corner-shop"], []),
    "package": ([str(ROOT / "bot")], []),
    "play": (["corner-shop"], ["--planner", "random", "--budget-ticks", "1"]),
    "probe": ([GAME], []),
    "replay": ([GAME], []),
    "rules": ([], []),
    "serve": (["corner-shop"], ["--port", "0", "--games", "1"]),
    "simulate": (["corner-shop"], []),
    "solve": (["corner-shop"], []),
    "tournament": (["random", LOGGING_BOT], ["--map", "corner-shop", *SERIES, "--allow-failures"]),
    "verify": (["good.proof", "snail"], []),
    "view": ([GAME], ["--html", "new.html"]),
}
"""Arguments and options for each command. The file under test replaces an argument, or is added as
an option."""

# The kinds of files that an option or argument may accept. The key of an option is its name. The
# key of an argument is `VALUE of COMMAND`, or else its value name. Options and arguments without a
# key accept no files.
TAKES = {
    "--rules": {"rules", "empty object"},
    "--diff": {"rules", "empty object"},
    "--memory": {"memory"},
    "--map": {"map folder", "picture", "text map"},
    "--maps": {"maps folder"},
    "--out": {"folder"},
    "--logs": {"folder"},
    "FILE of verify": {"certificate"},
    "DIR of benchmark table": {"folder"},
    "DIR of ladder": {"folder"},
    "FILE": {"recording", "long recording"},
    "RECORDING": {"recording", "long recording"},
    "MAP": {"map folder", "picture", "text map"},
    "FILE|MAP": {"recording", "long recording", "map folder", "picture", "text map"},
}

ALWAYS_TRIED = {"folder", "long recording"}
"""Kinds of files that are passed even to arguments that may accept them. Files of all other kinds
are passed only to arguments that must refuse them."""


@dataclass
class Foreign:
    path: Path
    kind: str
    # The kinds, as in `TAKES`, to which the file may belong.
    takes_as: set[str] = field(default_factory=set)


@dataclass
class Place:
    command: str
    name: str
    value: str
    index: int | None

    def arguments(self, file: str) -> list[str]:
        positional, options = (list(part) for part in COMMANDS[self.command])
        if self.index is not None:
            positional[self.index : self.index + 1] = [file]
        elif self.name in ("--html", "--png", "--gif", "--video"):
            options = [self.name, file, *(["--tick", "5"] if self.name == "--png" else [])]
        else:
            if self.name == "--logs" and self.command in ("play", "view"):
                positional, options = ["corner-shop"], [*(["--html", "new.html"] if self.command == "view" else []), "--planner", LOGGING_BOT]
            options = [*options, self.name, file]
        if self.command in ("dataset", "mapgen") and self.name != "--out":
            options += ["--out", "new"]
        return [*self.command.split(), *positional, *options]

    def takes(self) -> set[str]:
        names = (self.name,) if self.index is None else (f"{self.value} of {self.command}", self.value)
        return next((TAKES[name] for name in names if name in TAKES), set())


def places(program: Path) -> list[Place]:
    """Reads the options and arguments that take a file or a folder from the help texts."""
    found = []
    for command in COMMANDS:
        text = subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
        text = text.split("\nExamples:")[0]
        for name, value in re.findall(r"^ +(?:-\w, )?(--[\w-]+) <([^>]+)>", text, re.MULTILINE):
            if FILE_VALUE.search(value):
                found.append(Place(command, name, value, None))
        arguments = text.partition("\nArguments:\n")[2].partition("\n\n")[0]
        values = re.findall(r"^  [<\[]([^>\]]+)[>\]]", arguments, re.MULTILINE)
        found += [Place(command, value, value, index) for index, value in enumerate(values) if FILE_VALUE.search(value)]
    listed = re.findall(r"^  ([a-z]+) ", subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout, re.MULTILINE)
    assert set(listed) - {"help"} == {command.split()[0] for command in COMMANDS}, "COMMANDS and the help text differ"
    return found


def own_files(program: Path, folder: Path) -> dict[str, bytes]:
    """Returns, by kind, the content of files that the program writes and of a map's files."""

    def run(*arguments: str) -> None:
        subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True, timeout=TIMEOUT_S)

    run("play", "snail", "--planner", "random", "--budget-ticks", "1", "--save", "recording", "--memory", "memory")
    run("eval", "--map", "snail", "--planner", "random", *SERIES, "--seed", "9", "--resume", "journal of games", "--report", "report.html")
    run("solve", "snail", "--certificate", "good.proof", "--resume", "search")
    files = {name: (folder / name).read_bytes() for name in ("recording", "memory", "journal of games", "search")}
    files["rules"] = subprocess.run([program, "rules"], check=True, capture_output=True).stdout
    files["certificate"] = (folder / "good.proof").read_bytes()
    files |= {f"report {ending}": (folder / f"report.{ending}").read_bytes() for ending in ("html", "csv", "json")}
    files["picture"] = (ROOT / "maps" / "snail" / "layout.png").read_bytes()
    files["description"] = (ROOT / "maps" / "snail" / "meta.json").read_bytes()
    return files


@dataclass
class Content:
    """The content of a foreign file: a list of pieces, each with its number of repetitions."""

    kind: str
    pieces: list[tuple[bytes, int]]
    takes_as: set[str] = field(default_factory=set)
    zipped: bool = False

    def write(self, path: Path) -> None:
        """Writes the file in blocks, because its content may be hundreds of megabytes long."""
        with gzip.open(path, "wb", 1) if self.zipped else open(path, "wb") as file:
            for piece, count in self.pieces:
                step = 1 + (1 << 16) // len(piece)
                for start in range(0, count, step):
                    file.write(piece * min(step, count - start))


def contents(own: dict[str, bytes], rng: random.Random) -> Iterator[Content]:
    """Yields a fixed list of contents of foreign files, then random contents without end."""
    tick, journal = own["recording"].splitlines(keepends=True)[0], own["journal of games"]
    state, header = tick.partition(b',"actions"')[0], journal.splitlines(keepends=True)[0]
    for kind, text in {
        "empty": b"",
        "blank": b"\n",
        "one line of JSON": b'{"name":"notes","lines":[1,2,3]}',
        "one line of JSON with newline": b'{"name":"notes","lines":[1,2,3]}\n',
        "array": b"[1,2,3]",
        "number": b"7",
        "text": b"my notes\n",
        "text without newline": b"my notes",
        "game of an earlier version": b'{"map":"corner-shop","layout":"0","planner":"random","sample":0,"score":10005}',
        "settings of an earlier version": b'{"problem":"survival","grammar":"paper","operators":0}\n[0,1.5]\n',
        "memory of an earlier version": b'{\n  "rules": {},\n  "words": [],\n  "doubts_rules": false\n}\n',
        "journal without newline": header.rstrip(),
        "journal of a later version": header.replace(b'"version":1', b'"version":2'),
        "journal of another kind": header.replace(b'"games"', b'"ladder"'),
        "journal and notes": journal + b"my notes\n",
        "half a zip": gzip.compress(rng.randbytes(1000))[:500],
        "UTF-16": "my notes\n".encode("utf-16"),
        "array of the memory's values": b'["memory",1,{"rules":{}}]\n',
        "array of the rules": b"[true]",
        "recording whose line is an array": b"[" + state.removeprefix(b'{"game_message":') + b",[]]\n",
        "rules with an array": b'{"period_ticks":[5,4,3,2,1]}',
    }.items():
        yield Content(kind, [(text, 1)] if text else [])
    yield Content("text map", [(b"#####\n#P.S#\n#####\n", 1)], {"text map"})
    yield Content("empty object", [(b"{}", 1)], {"empty object"})
    yield Content("empty object with newline", [(b"{}\n", 1)], {"empty object"})
    values = (b"0,", 8 << 20)
    for kind, pieces in {
        "deep array": [(b"[", 100_000)],
        "deep object": [(b'{"rules":', 50_000)],
        "blank lines": [(b"\n", 1 << 20)],
        "one long line": [(b"x", 40 << 20)],
        "long array": [(b"[", 1), values, (b"0]", 1)],
        "tick with many actions": [(state + b',"actions":[', 1), (b"{},", 5 << 20), (b"{}]}\n", 1)],
    }.items():
        yield Content(kind, pieces)
        yield Content(f"zipped {kind}", pieces, zipped=True)
    # These files are passed even to arguments that accept recordings (see `ALWAYS_TRIED`).
    for kind, pieces in {
        "state with a long array": [(state[:-1] + b',"constants":[', 1), values, (b'0]},"actions":[]}\n', 1)],
        "tick with a long note": [(state + b',"actions":[],"game":[', 1), values, (b"0]}\n", 1)],
    }.items():
        yield Content(kind, pieces, {"long recording"})
        yield Content(f"zipped {kind}", pieces, {"long recording"}, zipped=True)
    yield Content("zipped zeros", [(bytes(1 << 10), 200 << 10)], zipped=True)
    yield Content("zipped line feeds", [(b"\n", 200 << 20)], zipped=True)
    for kind, text in own.items():
        yield Content(kind, [(text, 1)], {kind})
    for kind in ("recording", "rules", "memory", "certificate", "journal of games"):
        converted = own[kind].decode().replace("\n", "\r\n")
        for encoding in ("utf-16", "utf-8-sig"):
            yield Content(f"{kind} in {encoding}", [(converted.encode(encoding), 1)], {kind})
    yield Content("text in Windows-1252", [("café\r\n".encode("cp1252"), 1)])
    yield Content("zip archive", [(b"PK\x03\x04\xff", 1)])
    while True:
        kind = rng.choice(sorted(own))
        content = bytearray(own[kind])
        damage = rng.choice(["changed", "cut", "joined", "noise"])
        # A damaged file may still be valid, so it is not tried where its kind is accepted.
        if damage == "changed":
            for _ in range(rng.randint(1, 3)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            yield Content(f"changed {kind}", [(bytes(content), 1)], {kind})
        elif damage == "cut":
            yield Content(f"cut {kind}", [(bytes(content[: rng.randrange(1, len(content))]), 1)], {kind})
        elif damage == "joined":
            yield Content(f"{kind} and more", [(bytes(content) + own[rng.choice(sorted(own))], 1)], {kind})
        else:
            yield Content("noise", [(rng.randbytes(rng.choice([1, 100, 10_000, 1_000_000])), 1)])


def special_files(own: dict[str, bytes], folder: Path) -> list[Foreign]:
    found: list[Foreign] = []

    def add(kind: str, *takes_as: str, ending: str = "") -> Path:
        path = folder / f"special-{len(found):02}{ending}"
        found.append(Foreign(path, kind, set(takes_as)))
        return path

    def folder_with(path: Path, files: dict[str, bytes]) -> Path:
        path.mkdir()
        for name, content in files.items():
            (path / name).write_bytes(content)
        return path

    endings = ["", ".jsonl", ".jsonl.gz", ".html", ".json"]
    for ending in endings:
        os.mkfifo(add("pipe", ending=ending))
    held = add("held pipe")
    os.mkfifo(held)
    # Because this process holds the pipe open, the program can open it, but never receives data.
    os.open(held, os.O_RDWR)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(add("socket")))
    for device in ("zero", "null", "full", "urandom", "tty"):
        for ending in endings[:2]:
            add(f"link to /dev/{device}", ending=ending).symlink_to(f"/dev/{device}")
        found.append(Foreign(Path("/dev") / device, f"/dev/{device}"))
    found.append(Foreign(Path("/proc/kmsg"), "/proc/kmsg"))
    found.append(Foreign(Path("/proc/self/mem"), "/proc/self/mem"))
    for ending in endings:
        with open(add("huge file", ending=ending), "wb") as file:
            file.truncate(HUGE_BYTES)
    for kind in ("journal of games", "recording", "memory", "certificate"):
        path = add(f"huge file that begins with a {kind}", ending=".jsonl")
        path.write_bytes(own[kind])
        os.truncate(path, 1 << 32)
    target = add("read-only file")
    target.write_bytes(b"{}")
    target.chmod(0o444)
    found[-1].takes_as = {"empty object"}
    target = add("file without permissions")
    target.write_bytes(b"my notes")
    target.chmod(0)
    for ending in endings:
        add("link to a file", ending=ending).symlink_to(target)
        add("link to a pipe", ending=ending).symlink_to(held)
        add("link to nothing", ending=ending).symlink_to(folder / "nothing")
        loop = add("link to itself", ending=ending)
        loop.symlink_to(loop)
    os.link(target, add("hard link"))
    add("empty folder", "folder").mkdir()
    add("empty folder", "folder", ending=".jsonl").mkdir()
    logs = {name: b"mine" for name in ("bot.log", "1-corner-shop-1.log", "2-corner-shop-1.log", "layout.png", "a.jsonl")}
    folder_with(add("folder of files", "folder"), logs)
    os.mkfifo(folder_with(add("folder with a pipe", "folder"), {}) / "a.jsonl")
    description = {"meta.json": own["description"]}
    os.mkfifo(folder_with(add("map whose picture is a pipe", "folder"), description) / "layout.png")
    (folder_with(add("map whose picture is a device", "folder"), description) / "layout.png").symlink_to("/dev/zero")
    os.mkfifo(folder_with(add("map whose description is a pipe", "folder"), {"layout.png": own["picture"]}) / "meta.json")
    picture = folder_with(add("map whose picture is huge", "folder"), description) / "layout.png"
    picture.write_bytes(own["picture"])
    os.truncate(picture, HUGE_BYTES)
    # Commands accept this folder as `--maps`, unless they load the map in it.
    maps = add("folder of such maps", "folder", "maps folder")
    maps.mkdir()
    os.mkfifo(folder_with(maps / "one", description) / "layout.png")
    map_files = {"layout.png": own["picture"], "meta.json": own["description"]}
    folder_with(add("map folder", "map folder", "folder"), map_files)
    maps = add("maps folder", "maps folder", "folder")
    maps.mkdir()
    folder_with(maps / "one", map_files)
    return found


def foreign_files(own: dict[str, bytes], folder: Path, count: int, rng: random.Random) -> list[Foreign]:
    files = special_files(own, folder)
    for number, content in enumerate(contents(own, rng)):
        if len(files) >= count:
            break
        path = folder / f"file-{number:04}{rng.choice(['', '', '.json', '.jsonl', '.jsonl.gz', '.html', '.proof', '.png'])}"
        content.write(path)
        if rng.random() < 0.1:
            path.chmod(0o444)
        files.append(Foreign(path, content.kind, content.takes_as))
    return files


def snapshot(path: Path) -> dict[str, Any]:
    """Returns the properties of a file or folder (with all its entries) that must not change."""
    status = path.lstat()
    found: dict[str, Any] = {"": (status.st_mode, status.st_ino)}
    if stat.S_ISLNK(status.st_mode):
        found["link"] = os.readlink(path)
    elif stat.S_ISDIR(status.st_mode):
        for entry in sorted(path.iterdir()):
            found[entry.name] = snapshot(entry)
    elif stat.S_ISREG(status.st_mode) and not str(path).startswith("/proc"):
        found["file"] = (status.st_size, status.st_blocks, status.st_mtime_ns, status.st_ctime_ns)
        if status.st_size < 1 << 22:
            found["content"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def is_kept(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Returns whether everything in `before` is unchanged; folders may have new entries."""
    return all(name in after and (is_kept(value, after[name]) if isinstance(value, dict) else after[name] == value) for name, value in before.items())


@dataclass
class Run:
    code: int
    text: str
    cpu_s: float
    wall_s: float


def run(program: Path, arguments: list[str], folder: Path) -> Run:
    """Runs the program with `ulimit -d DATA_MAX_KIB`, and kills it after `TIMEOUT_S`."""
    command = ["sh", "-c", f'ulimit -d {DATA_MAX_KIB} && exec "$0" "$@"', str(program), *arguments]
    with tempfile.TemporaryFile() as log:
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > TIMEOUT_S:
                process.kill()
            time.sleep(0.002)
        wall_s = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        text = log.read(10_000).decode(errors="replace")
    return Run(process.returncode, text, usage.ru_utime + usage.ru_stime, wall_s)


def try_file(program: Path, place: Place, file: Foreign, folder: Path) -> Run | None:
    """Passes a file to an argument and checks the run. Skips the run and returns `None` if the
    argument may accept the file as a kind that is not in `ALWAYS_TRIED`."""
    taken = place.takes() & file.takes_as
    if taken - ALWAYS_TRIED:
        return None
    scratch = Path(tempfile.mkdtemp(dir=folder))
    for name in ("games", "maps"):
        (scratch / name).symlink_to(ROOT / name)
    (scratch / "good.proof").symlink_to(folder / "good.proof")
    before = snapshot(file.path)
    arguments = place.arguments(str(file.path))
    found = run(program, arguments, scratch)
    case = f"{' '.join(arguments)} ({file.kind}): {found}"
    assert is_kept(before, snapshot(file.path)), f"changed: {case}"
    if "folder" in taken:
        # Files that this run wrote are deleted, because they would affect later runs.
        for entry in file.path.iterdir():
            if entry.name not in before:
                shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)
    assert taken or found.code in (1, 2), f"not refused: {case}"
    assert found.code == 0 or re.fullmatch(r"(?:[^\n]+ is added\n)*error: [^\n]+\n", found.text), f"not one line: {case}"
    assert found.wall_s < TIMEOUT_S and found.cpu_s <= CPU_MAX_S, f"too long: {case}"
    kept = ("games", "maps", "good.proof", *(["new"] if (place.command, place.name) == ("ladder", "--logs") else []))
    left = sorted(entry.name for entry in scratch.iterdir() if entry.name not in kept)
    assert found.code == 0 or not left, f"left behind {left}: {case}"
    shutil.rmtree(scratch)
    return found


def try_functions(files: list[Foreign]) -> int:
    """Passes the files to Python functions that must refuse them; returns the number of calls."""
    import getaway

    sys.path.insert(0, str(ROOT / "bot"))
    from client import Recorder

    snail = getaway.load_map("snail")
    functions: dict[str, tuple[Callable[[Path], object], set[str]]] = {
        "load_map": (getaway.load_map, {"map folder", "picture", "text map"}),
        "Game": (getaway.Game, {"map folder", "picture", "text map"}),
        "maps": (getaway.maps, {"maps folder", "folder"}),
        "Map.save": (snail.save, set()),
        "Recorder": (Recorder, set()),
    }
    calls = 0
    for file in files:
        # A blocked call cannot be interrupted, so the process ends if a file takes `TIMEOUT_S`.
        faulthandler.dump_traceback_later(TIMEOUT_S, exit=True)
        for name, (function, takes) in functions.items():
            if takes & file.takes_as:
                continue
            before, start = snapshot(file.path), time.thread_time()
            try:
                function(file.path)
            except (ValueError, OSError):
                calls += 1
            else:
                raise AssertionError(f"{name}({file.path}) accepted the file ({file.kind})")
            assert time.thread_time() - start <= CPU_MAX_S, f"{name}({file.path}) took too long ({file.kind})"
            assert is_kept(before, snapshot(file.path)), f"{name} changed {file.path} ({file.kind})"
    faulthandler.cancel_dump_traceback_later()
    return calls


def run_foreign(program: Path, count: int, seed: int, share: int, jobs: int) -> list[str]:
    """Tries one in `share` of all pairs of a file and an argument, and all files with Python
    functions; returns a summary."""
    rng = random.Random(seed)
    found: list[Run] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "own").mkdir()
        (folder / "files").mkdir()
        own = own_files(program.resolve(), folder / "own")
        (folder / "good.proof").write_bytes(own["certificate"])
        files = foreign_files(own, folder / "files", count, rng)
        everywhere = places(program)
        pairs = [(place, file) for place in everywhere for file in files]
        chosen = [pair for index, pair in enumerate(pairs) if index % share == 0]
        with ThreadPoolExecutor(jobs) as pool:
            for result in pool.map(try_file, repeat(program.resolve()), *zip(*chosen), repeat(folder)):
                if result:
                    found.append(result)
        calls = try_functions(files)
    refused = sum(1 for result in found if result.code)
    return [
        f"{len(files)} files of {len({file.kind for file in files})} kinds, {len(everywhere)} options and arguments of {len(COMMANDS)} commands",
        f"{len(found)} runs, {refused} refused, {calls} calls to Python functions refused; no existing file changed",
        f"at most {max(result.cpu_s for result in found):.2f} s of processor time, {max(result.wall_s for result in found):.2f} s of wall-clock time"
        f" and {DATA_MAX_KIB} KiB of memory",
    ]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the path of every value in parsed JSON that is neither an object nor an array."""
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, inner in enumerate(value) for leaf in leaves(inner, (*path, index))]
    return [path]


def changed(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([value + 1, value * 10 + 1, 0 if value else 10_005])
    if isinstance(value, float):
        return value + rng.choice([0.5, -1.0, 1000.0])
    if isinstance(value, str) and value:
        place = rng.randrange(len(value))
        return value[:place] + rng.choice([letter for letter in "0aU.~" if letter != value[place]]) + value[place + 1 :]
    return "U" if isinstance(value, str) else 0


def edited(line: str, rng: random.Random) -> tuple[str, str] | None:
    """Returns the line with one field changed, and the path of the field. Returns `None` for a line
    that Python's `json` would not write in the same way."""
    value = json.loads(line)

    def written() -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    if written() != line:
        return None
    path = rng.choice(leaves(value))
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = changed(inner[path[-1]], rng)
    assert written() != line
    return written(), ".".join(map(str, path))


def run_edits(program: Path, count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    planners = ["--planner", "random", "--planner", "safest", "--planner", LOGGING_BOT]
    command = ["eval", "--map", "corner-shop", "--map", "snail", *planners, "--allow-failures", "--samples", "3", "--budget-ticks", "1", "--threads", "1", "--resume"]
    fields: set[str] = set()
    slowest_s = 0.0
    with tempfile.TemporaryDirectory() as name:
        journal, path = Path(name) / "games", Path(name) / "edited"
        done = run(program, [*command, str(journal)], ROOT)
        assert done.code == 0, done
        lines = journal.read_text().splitlines()
        for _ in range(count):
            change = None
            while change is None:
                index = rng.randrange(len(lines))
                change = edited(lines[index], rng)
            text = "\n".join([*lines[:index], change[0], *lines[index + 1 :], ""])
            path.write_text(text)
            found = run(program, [*command, str(path)], ROOT)
            assert found.code == 2 and f"edited, line {index + 1}: " in found.text, f"line {index + 1}, {change[1]}: {found}"
            assert path.read_text() == text, f"line {index + 1}, {change[1]}: the file was changed"
            fields.add(re.sub(r"[.][0-9]+$", "", change[1]))
            slowest_s = max(slowest_s, found.cpu_s)
    return [f"{count} edits of {len(fields)} fields, all refused with their line number; at most {slowest_s:.2f} s of processor time"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Foreign and edited files.")
    parser.add_argument("what", choices=["foreign", "edits"])
    parser.add_argument("--count", type=int, default=1000, help="number of files, or of edits")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=int, default=1, help="try one in this many pairs of a file and an argument")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--program", type=Path, default=TARGET / "release" / "getaway")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    if options.what == "foreign":
        lines = run_foreign(options.program, options.count, options.seed, options.share, options.jobs)
    else:
        lines = run_edits(options.program.resolve(), options.count, options.seed)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
