"""Tests that a foreign site's page cannot open a websocket to a local server or run a planner."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Response

from conftest import MAPS, RealServer

from .conftest import CAUGHT, stay

REBOUND = "evil.example"
OPEN_SOCKET = """(url) => new Promise((done) => {
  const socket = new WebSocket(url);
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""


class BlankPage(BaseHTTPRequestHandler):
    """Serves an empty page without a content security policy, so that no policy blocks requests."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>foreign</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


@pytest.fixture(scope="module")
def rebound_browser(launch: Callable[..., Browser]) -> Iterator[Browser]:
    browser = launch(f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1")
    yield browser
    browser.close()


@pytest.fixture
def foreign_port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), BlankPage)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_foreign_pages_cannot_open_a_websocket(
    rebound_browser: Browser, foreign_port: int, real_server: RealServer
) -> None:
    url, server = real_server("corner-shop")
    port = url.rsplit(":", 1)[1]
    page = rebound_browser.new_page()
    refused = []
    # A foreign page cannot open a socket, whether its host is 0.0.0.0, a foreign name or localhost.
    # Programs, but not browsers, may send the origin of another server on this machine.
    for name in ("0.0.0.0", REBOUND, "localhost"):
        page.goto(f"http://{name}:{foreign_port}/")
        for host in ("0.0.0.0", "127.0.0.1", "localhost"):
            assert page.evaluate(OPEN_SOCKET, f"ws://{host}:{port}/") == "refused", f"{name} to {host}"
            refused.append(f"http://{name}:{foreign_port}")
    # DNS rebinding: the foreign name resolves to this machine, so the browser takes the server for
    # the foreign site.
    page.goto(f"http://{REBOUND}:{port}/")
    assert page.evaluate(OPEN_SOCKET, f"ws://{REBOUND}:{port}/") == "refused"
    assert page.evaluate("fetch('/engine/start', { method: 'POST' }).then(({ status }) => status)") == 403
    # The server's own page may open a socket under each of this machine's local names.
    for host in ("0.0.0.0", "127.0.0.1", "localhost"):
        page.goto(f"http://{host}:{port}/")
        assert page.evaluate(OPEN_SOCKET, f"ws://{host}:{port}/") == "open", host
    page.close()
    server.kill()
    _, notes = server.communicate()
    lines = [line for line in notes.splitlines() if line.startswith("refused a websocket: ")]
    # The server reports only the requests that reach it; the browser itself may refuse others.
    assert {line for line in lines if REBOUND in line}, notes
    for line in lines:
        assert any(origin in line for origin in refused) or f'the Host header is "{REBOUND}:{port}"' in line, line


CANARY = """
from pathlib import Path

Path(__file__).with_name("reached").touch()


def plan(state):
    return "."
"""
PATHS = ["/engine/play", "/engine/solve", "/engine/recording_analysis", "/engine/live", "/engine/games", "/engine/start", "/"]
# Sends requests of many kinds to each URL, and returns their outcomes.
ATTEMPTS = """async (urls) => {
  const attempt = (start) => new Promise((done) => { start(done); setTimeout(() => done("nothing"), 3000); });
  const loaded = (element, attribute, url) => attempt((done) => {
    element.onload = () => done("loaded");
    element.onerror = () => done("refused");
    element[attribute] = url;
    document.body.append(element);
  });
  const create = (name) => document.createElement(name);
  const form = (method, url) => attempt((done) => {
    const [frame, form] = [create("iframe"), create("form")];
    frame.name = `${method} ${url}`;
    document.body.append(frame, form);
    frame.onload = () => done("loaded");
    Object.assign(form, { method, action: url, target: frame.name });
    form.submit();
  });
  const sent = (url, options) => fetch(url, options).then(({ type, status }) => `${type} ${status}`, () => "refused");
  const opened = (connection) => attempt((done) => {
    connection.onopen = () => done("open");
    connection.onerror = () => done("refused");
  });
  const all = urls.flatMap((url) => [
    loaded(create("img"), "src", url),
    loaded(create("script"), "src", url),
    loaded(create("iframe"), "src", url),
    loaded(create("audio"), "src", url),
    form("get", url),
    form("post", url),
    sent(url),
    sent(url, { method: "POST" }),
    sent(url, { mode: "no-cors" }),
    sent(url, { mode: "no-cors", method: "POST", body: "x" }),
    sent(url, { method: "POST", headers: { "x-file-name": "x" } }),
    navigator.sendBeacon(url, "x"),
    opened(new EventSource(url)),
    opened(new WebSocket(url.replace("http:", "ws:"))),
  ]);
  return Promise.all(all);
}"""


@pytest.fixture
def folder_with_canary(tmp_path: Path) -> Path:
    """A folder with the module `canary`, which creates the file `reached` when it is imported."""
    (tmp_path / "canary.py").write_text(CANARY)
    play = [sys.executable, "-m", "getaway", "play", str(MAPS / "corner-shop"), "--planner", "canary:plan"]
    subprocess.run(play, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "reached").unlink()
    return tmp_path


@pytest.mark.parametrize("command", ["view", "serve"])
def test_nothing_that_a_foreign_page_sends_reaches_a_planner(
    command: str, rebound_browser: Browser, foreign_port: int, folder_with_canary: Path
) -> None:
    # `python -m getaway` finds planners in the working directory, so it could import `canary`.
    arguments = [str(CAUGHT)] if command == "view" else [str(MAPS / "corner-shop"), "--games", "2"]
    program = [sys.executable, "-m", "getaway", command, *arguments, "--port", "0"]
    server = subprocess.Popen(program, cwd=folder_with_canary, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        found = re.search(r":(\d+)", line)
        assert found, line
        port = int(found[1])
        if command == "serve":
            for _ in stay(f"ws://127.0.0.1:{port}"):
                pass
        page = rebound_browser.new_page()
        answers: list[Response] = []
        asked: set[str] = set()
        page.on("request", lambda request: asked.add(request.resource_type) if f":{port}/" in request.url else None)
        page.on("response", lambda response: answers.append(response) if f":{port}/" in response.url else None)
        results = []
        for name, host in (("127.0.0.1", "127.0.0.1"), (REBOUND, "localhost"), (REBOUND, "0.0.0.0")):
            page.goto(f"http://{name}:{foreign_port}/")
            results += page.evaluate(ATTEMPTS, [f"http://{host}:{port}{path}" for path in PATHS])
        assert not (folder_with_canary / "reached").exists(), "a foreign page made the server import a module"
        assert not {"open", "basic 200", "cors 200"} & set(results), results
        # Playwright may not see all refusals, so `answers` may lack some of the responses.
        assert answers and {"image", "script", "document", "fetch", "eventsource"} <= asked, asked
        for answer in answers:
            # Browsers may send a GET to 0.0.0.0 without naming the foreign site. The server may
            # answer such a GET with its page, but with nothing else.
            is_plain_page = "0.0.0.0" in answer.url and answer.request.method == "GET"
            expected = {403, 404, 405} | ({200} if answer.url.rstrip("?").endswith(f":{port}/") else set()) if is_plain_page else {403}
            assert answer.status in expected, f"{answer.request.method} {answer.url}: {answer.status}"
        page.close()
        assert server.poll() is None
    finally:
        server.kill()
        server.communicate()
