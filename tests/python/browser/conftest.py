"""Fixtures and helpers for tests in a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from conftest import ROOT, TIMEOUT_S, RealServer

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT_MS = 1000 * TIMEOUT_S
expect.set_options(timeout=TIMEOUT_MS)

OpenPage = Callable[..., Page]
View = Callable[..., str]

GAMES = ROOT / "games"
KEYS = {"L": "ArrowLeft", "R": "ArrowRight", "U": "ArrowUp", "D": "ArrowDown", ".": "."}
CAUGHT = GAMES / "cul-de-sacs-stroll-until-caught.jsonl.gz"


@pytest.fixture(scope="session")
def launch() -> Iterator[Callable[..., Browser]]:
    """Yields a function that starts a browser. All browsers share one Playwright instance, because
    a thread cannot run two."""
    program = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if program is None:
        pytest.skip(f"no browser found: expected one of {', '.join(CHROMIUM_NAMES)} on the PATH")
    with sync_playwright() as playwright:
        yield lambda *options: playwright.chromium.launch(executable_path=program, args=[*CHROMIUM_OPTIONS, *options])


@pytest.fixture(scope="session")
def browser(launch: Callable[..., Browser]) -> Iterator[Browser]:
    browser = launch()
    yield browser
    browser.close()


@pytest.fixture
def open_page(browser: Browser, real_server: RealServer, view: View) -> Iterator[OpenPage]:
    """Yields a function that opens pages. Uncaught exceptions on a page fail the test. Logged
    errors and warnings also fail it, unless the page was opened with `logs_matter=False`. The
    unused parameters make pytest close the pages before it stops the servers, so that no page logs
    a lost connection."""
    problems: list[str] = []
    contexts = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def make(dark: bool = False, phone: bool = False, logs_matter: bool = True) -> Page:
        context = browser.new_context(
            viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 800},
            color_scheme="dark" if dark else "light",
            has_touch=phone,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        if logs_matter:
            page.on("console", listen)
        page.on("pageerror", lambda error: problems.append(f"uncaught: {error}"))
        return page

    yield make
    for context in contexts:
        context.close()
    assert not problems, problems


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()


@pytest.fixture
def view(getaway_program: Path) -> Iterator[View]:
    processes: list[subprocess.Popen[str]] = []

    def start(*options: str) -> str:
        command = [str(getaway_program), "view", "--port", "0", *options]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip()

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def wait_until(page: Page, expression: str) -> None:
    """Polls, because Playwright's own wait needs `eval`, which the pages' content
    security policies forbid."""
    deadline = time.monotonic() + TIMEOUT_S
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"never true: {expression}"
        page.wait_for_timeout(20)


def scrub(page: Page, index: int) -> None:
    """Moves the scrub bar. Without the wait, a bar that shows no frame of its game yet would stay at 0."""
    wait_until(page, f"document.getElementById('scrub').max >= {index}")
    page.locator("#scrub").fill(str(index))


def wait_for_frame(page: Page) -> None:
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def start(page: Page, url: str) -> Page:
    page.goto(url)
    wait_until(page, "document.body?.dataset.ready !== undefined")
    return page


def open_analysed(page: Page, url: str) -> None:
    start(page, url)
    wait_until(page, "window.board?.analysis !== null && window.board?.replay?.last >= 0")


def open_game_of_user(page: Page, view: View) -> None:
    start(page, view("roundabout", "--planner", "human"))
    assert page.evaluate("session.game.name") == "roundabout"


def assert_board_is_clear(page: Page, *others: str) -> None:
    """Checks that the board is visible without scrolling (as are `#pad` and `#play` if they are
    in `others`), that none of `others` overlaps it, and that the page does not scroll sideways."""
    size = page.viewport_size
    assert size
    boxes = page.evaluate(
        """(names) => names.map((name) => {
          const { left, right, top, bottom } = document.querySelector(name).getBoundingClientRect();
          return { name, left, right, top, bottom };
        })""",
        ["#canvas", *others],
    )
    board = boxes[0]
    assert board["right"] - board["left"] >= 150 and board["bottom"] - board["top"] >= 150, board
    for box in boxes:
        if box["name"] in ("#canvas", "#pad", "#play"):
            assert box["top"] >= 0 and box["left"] >= 0 and box["bottom"] <= size["height"] and box["right"] <= size["width"], (box, size)
    for box in boxes[1:]:
        apart = box["right"] <= board["left"] or board["right"] <= box["left"] or box["bottom"] <= board["top"] or board["bottom"] <= box["top"]
        assert apart, (board, box)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def load_axe(page: Page) -> None:
    """Adds axe-core to every document that the page loads from now on. Skips the test if axe-core
    is missing."""
    axe = Path(pytest.importorskip("axe_playwright_python").__file__).parent / "axe.min.js"
    page.context.add_init_script(axe.read_text())


def violations(page: Page) -> list[dict[str, Any]]:
    # A page that was opened as a file may not fetch its style sheets, which `preload` would do.
    found: list[dict[str, Any]] = page.evaluate("axe.run({ preload: false }).then(({ violations }) => violations)")
    return found


def tick(page: Page) -> int:
    wait_for_frame(page)
    return int(page.locator("#tick").inner_text().replace(",", ""))


def drop(page: Page, file: Path, name: str) -> None:
    data = page.evaluate_handle(
        """([bytes, name]) => {
          const data = new DataTransfer();
          data.items.add(new File([Uint8Array.from(bytes)], name));
          return data;
        }""",
        [list(file.read_bytes()), name],
    )
    page.dispatch_event("body", "drop", {"dataTransfer": data})


def stay(url: str) -> Iterator[int]:
    """Plays one game on a server without moving. Yields each tick before sending its command."""
    with connect(url, compression=None) as bot:
        bot.send(json.dumps({"type": "REGISTER", "teamName": "stayer"}))
        for frame in bot:
            number = json.loads(frame)["tick"]
            yield number
            with suppress(ConnectionClosed):
                bot.send(json.dumps({"type": "COMMAND", "tick": number, "actions": []}))
