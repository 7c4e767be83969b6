"""Foreign pages cannot open a websocket to a server on this machine, under any name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import Browser

from conftest import RealServer

# A foreign name that its owner points to this machine.
REBOUND = "evil.example"
OPEN_SOCKET = """(url) => new Promise((done) => {
  const socket = new WebSocket(url);
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""


class BlankPage(BaseHTTPRequestHandler):
    """A page without a content security policy: it may open any socket that the browser allows."""

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
    """The system's Chromium, for which a foreign name points to this machine."""
    browser = launch(f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1")
    yield browser
    browser.close()


@pytest.fixture
def foreign_port() -> Iterator[int]:
    """The port of a foreign page on this machine."""
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
    # A foreign page under the unspecified address and under a name of its own.
    for name in ("0.0.0.0", REBOUND):
        page.goto(f"http://{name}:{foreign_port}/")
        for host in ("0.0.0.0", "127.0.0.1", "localhost"):
            assert page.evaluate(OPEN_SOCKET, f"ws://{host}:{port}/") == "refused", f"{name} to {host}"
            refused.append(f"http://{name}:{foreign_port}")
    # DNS rebinding: the page's own origin is the server.
    page.goto(f"http://{REBOUND}:{port}/")
    assert page.evaluate(OPEN_SOCKET, f"ws://{REBOUND}:{port}/") == "refused"
    assert page.evaluate("fetch('/replay/0/0').then(({ status }) => status)") == 403
    # The server's own page, under every name of this machine.
    for host in ("0.0.0.0", "127.0.0.1", "localhost"):
        page.goto(f"http://{host}:{port}/")
        assert page.evaluate(OPEN_SOCKET, f"ws://{host}:{port}/") == "open", host
    page.close()
    server.kill()
    _, notes = server.communicate()
    lines = [line for line in notes.splitlines() if line.startswith("refused a websocket: ")]
    # A browser may refuse some addresses itself; the server reports the attempts that reach it.
    assert {line for line in lines if REBOUND in line}, notes
    for line in lines:
        assert any(origin in line for origin in refused) or f'the Host header is "{REBOUND}:{port}"' in line, line
