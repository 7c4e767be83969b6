"""The viewer page: saved games, games that are being played, and files that were sent to a friend."""

from __future__ import annotations

import gzip
import json
import re
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from conftest import ROOT

from .conftest import OpenPage, wait_until

GAME = ROOT / "games" / "cul-de-sacs-stroll-until-caught.jsonl.gz"
RealServer = Callable[..., tuple[str, "subprocess.Popen[str]"]]
View = Callable[..., str]


@pytest.fixture(scope="module")
def messages() -> list[Any]:
    """The states of the game, as they were recorded."""
    with gzip.open(GAME, "rt") as lines:
        return [json.loads(line)["game_message"] for line in lines]


@pytest.fixture
def view(getaway_program: Path) -> Iterator[View]:
    """Starts `getaway view` with these options on a free port, and gives the page's address."""
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


def open_film(page: Page, url: str) -> None:
    page.goto(url)
    wait_until(page, "window.viewer?.film?.last >= 0")


def shown(page: Page) -> Any:
    """Who stands where in the moment that is shown, and where the canvas has drawn the threats, in tiles."""
    # Two frames, so that what was asked for has been drawn.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(
        """() => {
          const { film, index, stage } = viewer;
          const tiles = stage.drawn.map(({ x, y }) => [(x - stage.left) / stage.tile - 0.5, (y - stage.top) / stage.tile - 0.5]);
          return { tick: film.moments[index].tick, frame: [...film.moments[index].frame], tiles };
        }"""
    )


def assert_shows(page: Page, message: Any) -> None:
    state = shown(page)
    player = message["yourCharacter"]["position"]
    places = [[threat["position"]["x"], threat["position"]["y"]] for threat in message["threats"]]
    assert state["tick"] == message["tick"]
    assert state["frame"][:2] == [player["x"], player["y"]]
    assert [state["frame"][i : i + 2] for i in range(2, len(state["frame"]), 3)] == places
    for drawn, place in zip(state["tiles"], places, strict=True):
        assert drawn == pytest.approx(place)
    expect(page.locator("#tick")).to_have_text(str(message["tick"]))
    expect(page.locator("#score")).to_have_text(str(5 * message["tick"]))


def colour_at_player(page: Page) -> list[int]:
    """The colour of the canvas in the middle of the player's tile."""
    colour: list[int] = page.evaluate(
        """() => {
          const { film, index, stage } = viewer;
          const [x, y] = stage.center(...film.moments[index].frame);
          return [...stage.context.getImageData(Math.round(x), Math.round(y), 1, 1).data];
        }"""
    )
    return colour


def test_a_recording_is_shown_tick_by_tick(page: Page, view: View, messages: list[Any]) -> None:
    open_film(page, view(str(GAME)))
    assert_shows(page, messages[0])
    assert colour_at_player(page) == [0xF0, 0xE4, 0x42, 0xFF]
    expect(page.locator("#title")).to_have_text("cul-de-sacs-stroll-until-caught")
    for tick in (50, 17):
        page.locator("#scrub").fill(str(tick - 1))
        assert_shows(page, messages[tick - 1])
    page.locator("#scrub").fill(str(len(messages)))
    shown(page)
    expect(page.locator("#tick")).to_have_text(str(len(messages) + 1))
    expect(page.locator("#outcome")).to_have_text("caught")


def test_the_keyboard_plays(page: Page, view: View, messages: list[Any]) -> None:
    open_film(page, view(str(GAME)))
    for key, tick in [("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("Shift+ArrowRight", 12)]:
        page.keyboard.press(key)
        assert_shows(page, messages[tick - 1])
    page.keyboard.press("End")
    expect(page.locator("#tick")).to_have_text(str(len(messages) + 1))
    page.keyboard.press("Home")
    assert_shows(page, messages[0])
    page.keyboard.press("ArrowUp")
    expect(page.locator("#speed")).to_have_value("2")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Pause")
    wait_until(page, "viewer.index >= 5")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Play")
    page.keyboard.press("3")
    expect(page.locator("input[name=timing]")).to_be_checked()
    page.keyboard.press("Home")
    page.keyboard.press("n")
    assert shown(page)["tick"] == len(messages) + 1, "the catch"


def test_playing_ends_with_the_game(page: Page, view: View, messages: list[Any]) -> None:
    open_film(page, view(str(GAME)))
    page.locator("#speed").select_option("100")
    page.locator("#play").click()
    expect(page.locator("#tick")).to_have_text(str(len(messages) + 1))
    expect(page.locator("#play")).to_have_attribute("aria-label", "Play")


def test_a_threat_tells_what_it_does(page: Page, view: View, messages: list[Any]) -> None:
    open_film(page, view(str(GAME)))
    page.locator("#scrub").fill("40")
    for threat, recorded in enumerate(messages[40]["threats"]):
        shown(page)
        x, y = page.evaluate(
            "(i) => { const { drawn, ratio, canvas } = viewer.stage; const box = canvas.getBoundingClientRect();"
            " return [box.left + drawn[i].x / ratio, box.top + drawn[i].y / ratio]; }",
            threat,
        )
        page.mouse.move(x, y)
        card = page.locator("#card")
        expect(card).to_be_visible()
        expect(card).to_contain_text(recorded["style"])
        expect(card).to_contain_text(re.compile("next moves, by tick: .*[0-9]|does not move"))
    page.mouse.move(5, 5)
    expect(page.locator("#card")).to_be_hidden()


def test_layers_change_the_picture(page: Page, view: View) -> None:
    open_film(page, view(str(GAME)))
    page.locator("#scrub").fill("60")
    shown(page)
    picture = "viewer.stage.canvas.toDataURL()"
    for layer in ("plan", "paths", "timing", "deadly", "trail"):
        before = page.evaluate(picture)
        page.locator(f"input[name={layer}]").click()
        shown(page)
        assert page.evaluate(picture) != before, layer
        page.locator(f"input[name={layer}]").click()
        shown(page)
        assert page.evaluate(picture) == before, layer


def test_every_control_has_a_name(page: Page, view: View) -> None:
    open_film(page, view(str(GAME)))
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas")]
          .filter((e) => !e.closest("[hidden]") && !e.ariaLabel && !e.textContent.trim() && !e.labels?.[0]?.textContent.trim())
          .filter((e) => e.ariaHidden !== "true" && !e.closest("#threats")).map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_an_exported_page_opens_from_the_disk(
    open_page: OpenPage, getaway_program: Path, tmp_path: Path, messages: list[Any]
) -> None:
    file = tmp_path / "game.html"
    subprocess.run([str(getaway_program), "view", str(GAME), "--html", str(file)], cwd=ROOT, check=True, capture_output=True)
    for phone in (False, True):
        page = open_page(dark=phone, phone=phone)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        open_film(page, file.as_uri())
        assert_shows(page, messages[0])
        page.keyboard.press("End")
        expect(page.locator("#outcome")).to_have_text("caught")
        assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out sideways"


def test_a_map_is_shown_while_it_is_played(page: Page, view: View) -> None:
    open_film(page, view("corner-shop"))
    wait_until(page, "viewer.film.header.ending === 'complete'")
    expect(page.locator("#tick")).to_have_text("2001")
    expect(page.locator("#score")).to_have_text("10005")
    expect(page.locator("#outcome")).to_have_text("survived every tick")
    page.keyboard.press("Home")
    assert shown(page)["tick"] == 1


def test_a_game_that_has_begun_and_has_no_state_yet_is_asked_for_again(page: Page, view: View) -> None:
    def answer_as_before_the_first_state(route: Route) -> None:
        body = route.fetch().body()
        (length,) = struct.unpack_from("<I", body)
        head = json.dumps(json.loads(body[4 : 4 + length]) | {"from": 0, "count": 0, "ahead": 0, "ending": "running"}).encode()
        route.fulfill(body=struct.pack("<I", len(head)) + head)

    page.route("**/film/**", answer_as_before_the_first_state, times=2)
    open_film(page, view("corner-shop"))
    wait_until(page, "viewer.film.header.ending === 'complete'")
    expect(page.locator("#tick")).to_have_text("2001")


def test_the_live_page_follows_a_game_to_its_score(page: Page, real_server: RealServer) -> None:
    url, server = real_server("roundabout", "--delay-ms", "10")
    page.goto(url.replace("ws:", "http:"))
    expect(page.locator("#message")).to_have_text("Waiting for a game.")
    with connect(url, compression=None) as bot:
        bot.send(json.dumps({"type": "REGISTER", "teamName": "stayer"}))
        last = 0
        for frame in bot:
            last = json.loads(frame)["tick"]
            if last == 30:
                # In the middle of the game the page is where the game is, and knows what comes.
                wait_until(page, "viewer.film?.moments.some((moment) => moment.insight)")
                wait_until(page, "viewer.film.last >= 29 && viewer.index >= 27")
            with suppress(ConnectionClosed):
                bot.send(json.dumps({"type": "COMMAND", "tick": last, "actions": []}))
    expect(page.locator("#outcome")).to_have_text("caught")
    assert server.stdout is not None
    result = json.loads(server.stdout.readline())
    expect(page.locator("#score")).to_have_text(str(result["score"]))
    expect(page.locator("#subtitle")).to_have_text("stayer")
    assert page.evaluate("viewer.film.moments.every((moment) => moment.insight)")
    # What was seen live can be looked at again.
    page.keyboard.press("Home")
    assert shown(page)["tick"] == 1
