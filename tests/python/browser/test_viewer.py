"""Tests of the viewer's page with saved games, running games and exported HTML files."""

from __future__ import annotations

import gzip
import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from conftest import ROOT, RealServer

from .conftest import CAUGHT, OpenPage, View, open_analysed, scrub, start, stay, wait_for_frame, wait_until


@pytest.fixture(scope="module")
def messages() -> list[Any]:
    with gzip.open(CAUGHT, "rt") as lines:
        return [json.loads(line)["game_message"] for line in lines]


def open_replay(page: Page, url: str) -> None:
    start(page, url)
    wait_until(page, "window.board?.replay?.last >= 0")


def open_live(page: Page, url: str) -> None:
    start(page, url)
    wait_until(page, "session.recording?.isLive === true")


def read_view(page: Page) -> Any:
    """Returns the displayed tick and positions, and where the canvas drew the threats, in tiles."""
    wait_for_frame(page)
    return page.evaluate(
        """() => {
          const { replay, index, mapView } = board;
          const tiles = mapView.drawn.map(({ x, y }) => [(x - mapView.left) / mapView.tile - 0.5, (y - mapView.top) / mapView.tile - 0.5]);
          return { tick: replay.frames[index].tick, positions: [...replay.frames[index].positions], tiles };
        }"""
    )


def assert_shows(page: Page, message: Any) -> None:
    state = read_view(page)
    player = message["yourCharacter"]["position"]
    positions = [[threat["position"]["x"], threat["position"]["y"]] for threat in message["threats"]]
    assert state["tick"] == message["tick"]
    assert state["positions"][:2] == [player["x"], player["y"]]
    assert [state["positions"][i : i + 2] for i in range(2, len(state["positions"]), 3)] == positions
    for drawn, place in zip(state["tiles"], positions, strict=True):
        assert drawn == pytest.approx(place)
    expect(page.locator("#tick")).to_have_text(str(message["tick"]))
    expect(page.locator("#score")).to_have_text(str(5 * message["tick"]))


def colour_at_player(page: Page) -> list[int]:
    colour: list[int] = page.evaluate(
        """() => {
          const { replay, index, mapView } = board;
          const [x, y] = mapView.center(...replay.frames[index].positions);
          return [...mapView.context.getImageData(Math.round(x), Math.round(y), 1, 1).data];
        }"""
    )
    return colour


def test_a_recording_is_shown_tick_by_tick(page: Page, view: View, messages: list[Any]) -> None:
    open_analysed(page, view(str(CAUGHT)))
    assert_shows(page, messages[0])
    assert colour_at_player(page) == [0xF0, 0xE4, 0x42, 0xFF]
    expect(page.locator("#title")).to_have_text("cul-de-sacs")
    expect(page.locator("#subtitle")).to_have_text("team")
    expect(page.locator("#about")).to_contain_text("cul-de-sacs-stroll-until-caught")
    for tick in (50, 17):
        scrub(page, tick - 1)
        assert_shows(page, messages[tick - 1])
    scrub(page, len(messages))
    read_view(page)
    expect(page.locator("#tick")).to_have_text(str(len(messages) + 1))
    expect(page.locator("#outcome")).to_have_text(re.compile("^caught by the [a-z]+ at tick [0-9]+$"))


def test_keyboard_shortcuts(page: Page, view: View, messages: list[Any]) -> None:
    open_analysed(page, view(str(CAUGHT)))
    for key, tick in [("k", 2), ("k", 3), ("j", 2), ("Shift+K", 12)]:
        page.keyboard.press(key)
        assert_shows(page, messages[tick - 1])
    page.keyboard.press("End")
    expect(page.locator("#tick")).to_have_text(str(len(messages) + 1))
    page.keyboard.press("Home")
    assert_shows(page, messages[0])
    page.keyboard.press("+")
    expect(page.locator("#speed")).to_have_value("2")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Pause")
    wait_until(page, "board.index >= 5")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Run")
    page.keyboard.press("3")
    expect(page.locator("input[name=arrival]")).to_be_checked()
    page.keyboard.press("Home")
    page.keyboard.press("n")
    assert read_view(page)["tick"] == len(messages) + 1, "the tick of the catch"


def test_playback_stops_at_the_end_of_the_game(page: Page, view: View, messages: list[Any]) -> None:
    open_analysed(page, view(str(CAUGHT)))
    page.locator("#speed").select_option("100")
    page.locator("#play").click()
    expect(page.locator("#tick")).to_have_text(str(len(messages) + 1))
    expect(page.locator("#play")).to_have_attribute("aria-label", "Run")


def test_hovering_a_threat_shows_its_card(page: Page, view: View, messages: list[Any]) -> None:
    open_analysed(page, view(str(CAUGHT)))
    scrub(page, 40)
    page.locator("#tab-view").click()
    for threat, recorded in enumerate(messages[40]["threats"]):
        read_view(page)
        x, y = page.evaluate(
            "(i) => { const { drawn, ratio, canvas } = board.mapView; const box = canvas.getBoundingClientRect();"
            " return [box.left + drawn[i].x / ratio, box.top + drawn[i].y / ratio]; }",
            threat,
        )
        page.mouse.move(x, y)
        card = page.locator("#card")
        expect(card).to_be_visible()
        expect(card).to_contain_text(recorded["style"])
        expect(card).to_contain_text(re.compile("next moves, by tick: .*[0-9]|none known"))
    page.mouse.move(5, 5)
    expect(page.locator("#card")).to_be_hidden()


def test_layers_change_the_picture(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    scrub(page, 60)
    page.locator("#tab-view").click()
    read_view(page)
    picture = "board.mapView.canvas.toDataURL()"
    for layer in ("plan", "paths", "arrival", "deadly", "trail"):
        before = page.evaluate(picture)
        page.locator(f"input[name={layer}]").click()
        read_view(page)
        assert page.evaluate(picture) != before, layer
        page.locator(f"input[name={layer}]").click()
        read_view(page)
        assert page.evaluate(picture) == before, layer


def test_every_control_has_an_accessible_name(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas")]
          .filter((e) => !e.closest("[hidden]") && !e.ariaLabel && !e.textContent.trim() && !e.labels?.[0]?.textContent.trim())
          .filter((e) => e.ariaHidden !== "true" && !e.closest("#threats")).map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_exported_page_works_from_disk(
    open_page: OpenPage, getaway_program: Path, tmp_path: Path, messages: list[Any]
) -> None:
    file = tmp_path / "game.html"
    subprocess.run([str(getaway_program), "view", str(CAUGHT), "--html", str(file)], cwd=ROOT, check=True, capture_output=True)
    for phone in (False, True):
        page = open_page(dark=phone, phone=phone)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        open_replay(page, file.as_uri())
        assert_shows(page, messages[0])
        page.keyboard.press("End")
        expect(page.locator("#outcome")).to_have_text("caught by the owl at tick 108")
        assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no horizontal scrolling"


def test_a_map_is_shown_while_it_is_played(page: Page, view: View) -> None:
    open_live(page, view("corner-shop"))
    wait_until(page, "board.replay.header.status === 'complete'")
    expect(page.locator("#tick")).to_have_text("2,001")
    expect(page.locator("#score")).to_have_text("10,005")
    expect(page.locator("#outcome")).to_have_text("survived: 10,005")
    page.keyboard.press("Home")
    assert read_view(page)["tick"] == 1


def test_page_polls_again_while_a_started_game_has_no_state(page: Page, view: View) -> None:
    def answer_as_before_the_first_state(route: Route) -> None:
        # The kind and the length of the answer, the length of the header, the header.
        body = route.fetch().body()
        (length,) = struct.unpack_from("<I", body, 5)
        head = json.dumps(json.loads(body[9 : 9 + length]) | {"from": 0, "count": 0, "forecast": 0, "status": "running", "isLive": True}).encode()
        route.fulfill(body=b"a" + struct.pack("<II", len(head) + 4, len(head)) + head)

    page.route("**/engine/live", answer_as_before_the_first_state, times=2)
    open_live(page, view("corner-shop"))
    wait_until(page, "board.replay.header.status === 'complete'")
    expect(page.locator("#tick")).to_have_text("2,001")


def test_live_page_repeats_a_failed_request(open_page: OpenPage, real_server: RealServer) -> None:
    # The browser logs the failed request as an error, but here the failure is expected.
    page = open_page(logs_matter=False)
    url, _ = real_server("roundabout")
    page.goto(url.replace("ws:", "http:"))
    expect(page.locator("#message")).to_contain_text("Waiting for a game.")
    page.route("**/engine/live", lambda route: route.abort(), times=1)
    for _ in stay(url):
        # The server waits up to an hour for a command before it sends another state.
        wait_until(page, "session.recording?.isLive === true")
        break


def test_live_page_follows_a_game_to_its_final_score(page: Page, real_server: RealServer) -> None:
    url, server = real_server("roundabout", "--delay-ms", "10")
    page.goto(url.replace("ws:", "http:"))
    expect(page.locator("#message")).to_contain_text(f"The server listens at {url}")
    expect(page.locator("#message")).to_contain_text("python bot/application.py --url")
    for last in stay(url):
        if last == 30:
            # During the game, the page follows the current tick, and some frames are annotated.
            wait_until(page, "session.recording?.isLive && board.replay.frames.some((frame) => frame.annotation)")
            wait_until(page, "board.replay.last >= 29 && board.index >= 27")
    expect(page.locator("#outcome")).to_have_text(re.compile("^caught by the [a-z]+ at tick [0-9]+$"))
    assert server.stdout is not None
    result = json.loads(server.stdout.readline())
    expect(page.locator("#score")).to_have_text(str(result["score"]))
    expect(page.locator("#subtitle")).to_have_text("stayer")
    assert page.evaluate("board.replay.frames.every((frame) => frame.annotation)")
    page.keyboard.press("Home")
    assert read_view(page)["tick"] == 1
