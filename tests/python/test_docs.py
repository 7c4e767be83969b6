"""The documentation: commands work, snippets run, their output is the one that the page shows, and
local links resolve. The commands that the README lists exist, the list of info keys is complete, and
the type stub is up to date.

A `console` block shows commands after `$ ` with their output at a width of 80 columns; a `text` block
directly after a `python` block shows the snippet's output. `[..]` stands for what differs from run to
run, and a line `...` for any number of lines. GETAWAY_UPDATE_DOCS=1 writes the output into the pages.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import getaway
from conftest import ROOT, TIMEOUT_S, RealServer, clean_environment

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    pattern = re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(page.name, text) for page in PAGES for text in pattern.findall(page.read_text())]


def commands() -> list[tuple[str, str]]:
    found = []
    for page, text in blocks("sh"):
        for line in text.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s+#.*", "", line).strip()
            if command and not command.startswith("#"):
                found.append((page, command))
    return found


def snippets() -> list[tuple[str, str, str]]:
    """Returns the page, the text and the shown output of each Python snippet."""
    pattern = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
    return [(page.name, *found) for page in PAGES for found in pattern.findall(page.read_text())]


def steps(session: str) -> list[tuple[str, str]]:
    """Returns the commands of a `console` block as they are shown, each with its output."""
    parts = re.split(r"^\$ ((?:.*\\\n)*.*\n)", session, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def masked(text: str) -> str:
    """Returns the text with single spaces, and without times and memory, which differ from run to run."""
    lines: list[str] = []
    times: list[int] = []
    for line in text.strip().splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if not line.strip():
            times = []
        elif line.strip() == line.strip().upper() and any(cell.endswith((" MS", " MIB")) for cell in cells):
            times = [index - len(cells) for index, cell in enumerate(cells) if cell.endswith((" MS", " MIB"))]
        else:
            for index in times:
                if -index <= len(cells):
                    cells[index] = "#"
        line = " ".join(cells)
        lines.append(re.sub(r"\d+\.\d+|\d+", "#", line) if line.startswith("decisions: ") else line)
    return re.sub(r"\d+(\.\d+)?(\s?)(ms|s|ticks/s)\b", r"#\2\3", "\n".join(lines))


def is_shown(expected: str, found: str) -> bool:
    """Compares words, since the length of a time decides where a line is wrapped. `[..]` stands for a part
    of a line, and a line `...` for any number of lines."""
    passages = f"\n{masked(expected)}\n".split("\n...\n")
    patterns = (r"\s+".join(map(re.escape, passage.split())) for passage in passages)
    pattern = r"\s([\s\S]*\s)?".join(patterns).replace(re.escape("[..]"), ".*")
    return re.fullmatch(rf"\s*{pattern}\s*", f"\n{masked(found)}\n") is not None


def check_output(page: str, shown: str, expected: str, run: Callable[[], str]) -> None:
    """Compares the output under `shown`, a command or a snippet on the page, or updates the page."""
    found = run()
    if is_shown(expected, found):
        return
    if "GETAWAY_UPDATE_DOCS" not in os.environ:
        pytest.fail(f"{page}: {shown}expected:\n{expected}\nfound:\n{found}")
    path = next(path for path in PAGES if path.name == page)
    # A second run of a ladder would add its entrants again.
    again = found if "getaway ladder" in shown else run()
    lines = [common(*pair) for pair in zip(found.splitlines(), again.splitlines())]
    output = found if is_shown(found, again) else "".join(f"{line}\n" for line in lines)
    path.write_text(path.read_text().replace(shown + expected, shown + output, 1))


def common(one: str, two: str) -> str:
    """Returns a line with `[..]` in place of the words that differ, except for times."""
    words, others = re.split(r"(\s+)", one), re.split(r"(\s+)", two)
    if masked(one) == masked(two) or len(words) != len(others):
        return one if masked(one) == masked(two) else "[..]"
    return "".join(word if word == other or word.isspace() else "[..]" for word, other in zip(words, others)).rstrip()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    for name in ("maps", "games"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("played"))
    shutil.copytree(ROOT / "examples" / "bots", folder / "examples" / "bots")
    shutil.copy(ROOT / "examples" / "python" / "keep_away.py", folder)
    shutil.copytree(ROOT / "examples" / "models", folder / "examples" / "models")
    return folder


@pytest.mark.parametrize(("page", "command"), commands())
def test_documented_command_works(page: str, command: str, getaway_program: Path, workplace: Path) -> None:
    execute(page, command, getaway_program, workplace)


@pytest.mark.parametrize(("page", "session"), blocks("console"))
def test_documented_output_is_shown(page: str, session: str, getaway_program: Path, workplace: Path) -> None:
    for shown, expected in steps(session):
        command = re.sub(r"\s+#.*", "", shown.replace("\\\n", " ")).strip()
        check_output(page, f"$ {shown}", expected, lambda: execute(page, command, getaway_program, workplace, is_exact=True))


def execute(page: str, command: str, getaway_program: Path, workplace: Path, is_exact: bool = False) -> str:
    """Runs a command or, if that takes too long, checks that it exists. Returns its output. `is_exact`
    keeps the budgets and overwrites files."""
    words = shlex.split(command)
    environment = clean_environment() | {"COLUMNS": "80"}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    program, options = words[0], words[1:]
    if program == ".venv/bin/getaway":
        program = "getaway"
    if is_exact and options[0] in ("mapgen", "play", "probe", "solve", "view") and "--force" not in options:
        options.append("--force")
    output = ""
    if "keep_away:" in command:
        # Only the `getaway` command of the Python package can run planners written in Python.
        output = run([str(Path(sys.executable).parent / program), *options], workplace, environment)
    elif program == "getaway" and options[0] in ("serve", "view") and not {"--html", "--png", "--gif"} & set(options):
        starts_listening([str(getaway_program.resolve()), *options], workplace, environment)
    elif program == "getaway":
        options, file = (options[:-2], options[-1]) if ">" in options else (options, None)
        options = patient(options if is_exact else brief(options))
        output = run([str(getaway_program.resolve()), *options], workplace, environment)
        if file:
            (workplace / file).write_text(output)
            output = ""
    elif program.startswith(("./", ".ci/")):
        # `run.sh` checks the options that precede `--help`.
        text = run([str(ROOT / program), *options, "--help"], ROOT, environment) if program == "./run.sh" else ""
        assert (ROOT / program).is_file() and (not text or text.startswith("Usage: ")), command
    elif program == ".venv/bin/python" and options[:2] == ["-m", "pytest"]:
        assert all((ROOT / path).exists() for path in options[2:])
    elif program == ".venv/bin/python":
        if "playwright" in (ROOT / options[0]).read_text():
            pytest.importorskip("playwright")
        assert "usage: " in run([sys.executable, str(ROOT / options[0]), "--help"], ROOT, environment)
    elif program == "cargo":
        assert_cargo_targets_exist(options)
    elif program == "cat":
        output = (workplace / options[0]).read_text()
    else:
        pytest.fail(f"{page}: {command}: this test cannot tell whether the command works")
    return output


def brief(options: list[str]) -> list[str]:
    """Returns the options with small budgets, which do not affect whether a command works."""
    shortest = {"--budget-ms": "1", "--budget-ticks": "100"}
    return [shortest.get(before, option) for before, option in zip(["", *options], options)]


def patient(options: list[str]) -> list[str]:
    """Returns the options with ample time per tick for external bots: the machine may be busy."""
    return [*options, "--tick-ms", "5000"] if any("pipe:" in option or "exec:" in option for option in options) else options


def run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    variables = environment or clean_environment()
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def starts_listening(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    options = ["--port", "0", *(["--no-open"] if command[1] == "view" else [])]
    process = subprocess.Popen([*command, *options], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert re.search(r"(ws|http)://127\.0\.0\.1:\d+", process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def assert_cargo_targets_exist(options: list[str]) -> None:
    metadata = json.loads(run(["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"], ROOT))
    packages = {package["name"]: package for package in metadata["packages"]}
    named = [value for option, value in zip(options, options[1:]) if option == "--package"]
    assert set(named) <= set(packages), named
    for kind in ("test", "bench", "example"):
        targets = {
            target["name"] for name in (named or ["getaway"]) for target in packages[name]["targets"] if kind in target["kind"]
        }
        wanted = {value for option, value in zip(options, options[1:]) if option == f"--{kind}"}
        assert wanted <= targets, (wanted, targets)
    if "--path" in options:
        assert (ROOT / options[options.index("--path") + 1] / "Cargo.toml").is_file()


@pytest.mark.parametrize("command", re.findall(r"`cargo (test [^`]*)`", (ROOT / "CONTRIBUTING.md").read_text()))
def test_tests_that_are_named_for_a_room_exist(command: str) -> None:
    options, _, filters = command.partition(" -- ")
    assert_cargo_targets_exist(options.split())
    for name in (name.rstrip(":") for name in filters.split()):
        assert (ROOT / "src" / name).is_dir() or list((ROOT / "tests" / "integration").glob(f"{name}*.rs")), name


@pytest.mark.parametrize(("page", "text", "expected"), snippets())
def test_documented_python_runs(page: str, text: str, expected: str, real_server: RealServer, tmp_path: Path) -> None:
    if "ws://127.0.0.1:8765" in text:
        url, server = real_server("roundabout")
        text = text.replace("ws://127.0.0.1:8765", url)
        run([sys.executable, "-c", text], tmp_path)
        assert json.loads(server.communicate(timeout=TIMEOUT_S)[0])["commands"] > 20
        return
    folders = iter((tmp_path / "one", tmp_path / "two"))

    def play() -> str:
        folder = next(folders)
        folder.mkdir()
        return run([sys.executable, "-c", text], folder)

    check_output(page, f"{text}```\n\n```text\n", expected, play)


@pytest.mark.parametrize(("page", "text"), blocks("js"))
def test_documented_javascript_runs(page: str, text: str, real_server: RealServer, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or int(run([node, "--version"], tmp_path).removeprefix("v").split(".")[0]) < 22:
        pytest.skip("Node.js 22 or later (for websockets) is not installed")
    url, server = real_server("roundabout")
    run([node, "-e", text.replace("ws://127.0.0.1:8765", url)], tmp_path)
    assert json.loads(server.communicate(timeout=TIMEOUT_S)[0])["commands"] > 20


@pytest.mark.parametrize(("page", "text"), blocks("java"))
def test_documented_java_runs(page: str, text: str, real_server: RealServer, tmp_path: Path) -> None:
    if shutil.which("javac") is None:
        pytest.skip("no Java compiler")
    url, server = real_server("roundabout")
    (tmp_path / "MyBot.java").write_text(text.replace("ws://127.0.0.1:8765", url))
    run(["java", "MyBot.java"], tmp_path)
    assert json.loads(server.communicate(timeout=TIMEOUT_S)[0])["commands"] > 20


@pytest.mark.parametrize(("page", "text"), blocks("json"))
def test_documented_json_is_valid(page: str, text: str) -> None:
    for document in text.split("\n\n"):
        json.loads(document)


def test_documented_state_is_understood() -> None:
    states = [text for page, text in blocks("json") if page == "protocol.md" and '"yourCharacter"' in text]
    assert len(states) == 1
    getaway.Bot("safest").next_action(states[0])


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            yield page, target


def test_links_lead_somewhere() -> None:
    dead = []
    for page, target in links():
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path)
        headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE) if anchor and file.is_file() else []
        slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
        if not file.exists() or (anchor and anchor not in slugs):
            dead.append(f"{page.name}: {target}")
    assert dead == []


def test_gymnasium_page_lists_every_info_key_of_a_step() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    page = (ROOT / "docs" / "gymnasium.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)` \|.* always \|$", page.split("## `info`")[1].split("## ")[0], re.MULTILINE))
    env = gymnasium.make("getaway.gymnasium:getaway/Chase-v0", map="roundabout")
    infos = [env.reset(seed=1)[1], env.step(4)[4]]
    assert [set(info) for info in infos] == [listed, listed]


def test_readme_fits_on_a_screen() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90


def test_readme_lists_commands_that_exist(getaway_program: Path) -> None:
    overview = run([str(getaway_program.resolve()), "--help"], ROOT).split("Commands:\n")[1].split("\n\n")[0]
    names = {line.split()[0] for line in overview.splitlines()}
    listed = set(re.findall(r"^\| `getaway ([\w-]+)`", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert len(listed) <= 10 and listed <= names


def test_stub_has_the_docstrings_of_the_module() -> None:
    run([sys.executable, str(ROOT / "tools" / "stub.py"), "--check"], ROOT)
