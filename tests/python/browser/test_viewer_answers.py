"""Tests of the viewer: the analysis of games, branches, lists of games, and live games."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from websockets.sync.client import connect

import getaway
from conftest import ROOT, TIMEOUT_S, RealServer

from .conftest import (
    CAUGHT,
    GAMES,
    KEYS,
    OpenPage,
    View,
    assert_board_is_clear,
    drop,
    load_axe,
    open_analysed,
    open_game_of_user,
    stay,
    tick,
    violations,
    wait_until,
)


def test_page_says_why_the_game_was_lost(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    expect(page.locator("#sentence")).to_contain_text("Lost in tick 107 by a blunder: the car went right where ")
    expect(page.locator("#verdict")).to_contain_text("107 (proven)")
    expect(page.locator("#curve")).to_be_visible()
    page.locator("#go-decisive").click()
    assert tick(page) == 107
    page.keyboard.press("End")
    expect(page.locator("#outcome")).to_have_text("caught by the owl in tick 108")
    red = page.locator("#outcome").evaluate("(badge) => getComputedStyle(badge).backgroundColor")
    assert red == "rgb(176, 0, 32)"
    assert page.evaluate("viewer.replay.catchers(viewer.replay.last).map((i) => viewer.replay.header.styles[i])") == ["owl"]
    expect(page.locator("#about")).to_contain_text("cul-de-sacs")


def test_surviving_line_is_played_beside_the_game(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    page.locator("#show-line").click()
    expect(page.locator("#other")).to_be_visible()
    expect(page.locator("#other-title")).to_have_text("a surviving line · first difference in tick 108")
    assert page.evaluate("viewer.other.replay.header.status") == "complete"
    page.keyboard.press("End")
    assert tick(page) == 2001
    page.locator("#one-board").click()
    expect(page.locator("#other")).to_be_hidden()
    assert tick(page) == 108


def test_arrow_keys_and_planners_take_over_from_any_tick(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    page.locator("#scrub").fill("59")
    page.locator("#let-play").click()
    expect(page.locator("#other-title")).to_contain_text("survival from tick 60 on: survived: 10,005")
    about = page.locator("#about")
    expect(about).to_contain_text("108 ticks")
    page.locator("#take-over").click()
    wait_until(page, "panel.branch !== null")
    expect(about).not_to_contain_text("length")
    for moves, key in enumerate([".", ".", "ArrowLeft", "."], start=1):
        page.keyboard.press(key)
        wait_until(page, f"panel.branch.moves.length === {moves} && viewer.index === {59 + moves}")
    assert tick(page) == 64
    page.keyboard.press("Backspace")
    wait_until(page, "viewer.replay.last === 62")
    page.get_by_role("button", name="Undo").click()
    wait_until(page, "viewer.replay.last === 61")
    page.locator("#branch-planner").fill("survival")
    page.locator("#let-play").click()
    wait_until(page, "viewer.replay.header.status === 'complete'")
    expect(page.locator("#sentence")).to_contain_text("survival from tick 62 on: survived: 10,005")
    expect(about).to_contain_text("10,005")
    # A move in an earlier tick drops all later moves. Undoing this move restores them.
    page.locator("#scrub").fill("49")
    page.locator("#title").click()
    page.keyboard.press("ArrowUp")
    wait_until(page, "viewer.replay.last === 50 && panel.branch.index === 49")
    expect(page.locator("#subtitle")).to_have_text("you, from tick 50 on")
    page.keyboard.press("Backspace")
    wait_until(page, "viewer.replay.last === 2000 && panel.branch.index === 59")
    page.locator("#leave-branch").click()
    expect(page.locator("#drive")).to_be_hidden()
    expect(page.locator("#sentence")).to_contain_text("Lost in tick 107")
    wait_until(page, "viewer.replay.last === 107")


def test_page_names_planners_of_the_library_only(open_page: OpenPage, view: View) -> None:
    page = open_page(logs_matter=False)
    open_analysed(page, view(str(CAUGHT)))
    for planner in ("clever", "os:abort"):
        page.locator("#branch-planner").fill(planner)
        page.locator("#let-play").click()
        expect(page.locator("#banner")).to_contain_text(f"Cannot play from here: no planner named {planner}: ")


def test_human_plays_a_map_from_the_start_on_one_board(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    # The page shows no analysis before the user asks for one.
    expect(page.locator("#analysis-title")).to_have_text("your game")
    expect(page.locator("#other")).to_be_hidden()
    expect(page.locator("[name=plan]")).not_to_be_checked()
    expect(page.locator("#curve")).to_be_hidden()
    assert page.evaluate("viewer.layers.plan") is False
    game = getaway.Game("roundabout")
    moves = "RRUL.D"
    for count, move in enumerate(moves, start=1):
        page.keyboard.press(KEYS[move])
        wait_until(page, f"viewer.replay.last === {count} && viewer.index === {count}")
        game.step("LRUD.".index(move))
    assert tick(page) == len(moves) + 1
    assert page.evaluate("[...viewer.replay.frames[viewer.index].positions.slice(0, 2)]") == list(game.state.player)
    assert all(page.locator("#threats span").all_inner_texts())
    # Staying loses this game. The page gives the reason when the user asks for it.
    while page.evaluate("!viewer.replay.isOver"):
        page.evaluate("panel.play(panel.branch.moves + '.'.repeat(50))")
    expect(page.locator("#outcome")).to_contain_text("caught by the")
    assert page.locator("#sentence").inner_text() == ""
    page.locator("#analyse").click()
    expect(page.locator("#sentence")).to_contain_text("Lost in tick")
    page.locator("#show-line").click()
    expect(page.locator("#other-title")).to_contain_text("a surviving line")
    assert page.evaluate("viewer.other.replay.header.status") == "complete"
    assert page.evaluate("viewer.divergence - viewer.replay.indexOfTick(panel.analysis.last_savable_tick)") == 1


def test_line_replaces_a_move_onto_a_threat(page: Page, view: View, tmp_path: Path) -> None:
    # Without jumping, a move onto a threat ends the game in the tick of the move, so two frames
    # have the same tick.
    ring = tmp_path / "ring.txt"
    ring.write_text("#######\n#PG...#\n#.###.#\n#.....#\n#######\n")
    page.goto(view(str(ring), "--planner", "human", "--no-jump"))
    wait_until(page, "window.panel?.branch != null")
    page.keyboard.press("ArrowRight")
    wait_until(page, "viewer.replay.isOver && viewer.index === 1")
    page.locator("#analyse").click()
    expect(page.locator("#sentence")).to_contain_text("Lost in tick 1 by a blunder: the car went right where ")
    page.locator("#go-decisive").click()
    wait_until(page, "viewer.index === 0")
    page.locator("#show-line").click()
    expect(page.locator("#other-title")).to_contain_text("a surviving line")
    assert page.evaluate("viewer.other.replay.header.status") == "complete"


@pytest.mark.parametrize("size", [(1280, 800), (700, 500), (390, 844)], ids=str)
def test_board_and_pad_are_visible_and_nothing_covers_the_board(page: Page, view: View, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_game_of_user(page, view)
    assert_board_is_clear(page, "#pad", "#drive", "header", "footer", "aside")


def test_link_opens_a_tick_and_the_address_follows(page: Page, view: View) -> None:
    url = view(str(CAUGHT))
    open_analysed(page, f"{url}#tick=60")
    assert tick(page) == 60
    expect(page.locator("#total")).to_have_text(" of 2000")
    expect(page.locator("#next-phase")).to_have_text("(threats move every 5th tick); tease in 242 ticks")
    page.keyboard.press("ArrowRight")
    wait_until(page, "location.hash === '#tick=61'")
    page.locator("#go").fill("80")
    page.locator("#go").press("Enter")
    assert tick(page) == 80
    page.locator("#speed").select_option("0.25")
    assert page.evaluate("viewer.speed") == 0.25


def test_keyboard_help_opens_and_closes(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.get_by_role("button", name="Keyboard help").click()
    page.locator("#help-close").click()
    expect(page.locator("#help")).to_be_hidden()


def test_folder_is_a_list_that_sorts_filters_and_compares(page: Page, view: View) -> None:
    page.goto(view(str(GAMES)))
    rows = page.locator("#library-rows tr")
    expect(rows).to_have_count(len(list(GAMES.glob("*.jsonl.gz"))))
    page.get_by_role("button", name="score", exact=True).click()
    scores = [int(row.locator("td").nth(3).inner_text().replace(",", "")) for row in rows.all()]
    assert scores == sorted(scores)
    page.get_by_role("searchbox").fill("caught cul-de-sacs")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("caught by the owl in tick 108: blunder in tick 107")
    page.get_by_role("link", name=re.compile("^Open cul-de-sacs")).click()
    expect(page.locator("#title")).to_have_text("cul-de-sacs")
    page.get_by_role("button", name="games", exact=True).click()
    page.get_by_role("searchbox").fill("cul-de-sacs")
    page.get_by_role("button", name=re.compile("^Show cul-de-sacs.* beside")).click()
    expect(page.locator("#other")).to_be_visible()
    assert page.evaluate("viewer.divergence") is None, "a game does not differ from itself"
    page.get_by_role("button", name="games", exact=True).click()
    page.get_by_role("searchbox").fill("stadium")
    page.get_by_role("button", name=re.compile("^Show stadium.* beside")).click()
    wait_until(page, "viewer.divergence === 0")


def test_address_names_the_game_and_survives_a_reload(page: Page, view: View) -> None:
    url = view(str(GAMES))
    page.goto(url)
    page.get_by_role("link", name=re.compile("^Open cul-de-sacs")).click()
    wait_until(page, "window.viewer?.replay?.last >= 0")
    page.locator("#scrub").fill("59")
    wait_until(page, "location.hash === '#game=cul-de-sacs-stroll-until-caught&tick=60'")
    page.reload()
    wait_until(page, "window.viewer?.replay?.header.title === 'cul-de-sacs'")
    assert tick(page) == 60
    page.evaluate("location.hash = '#game=roundabout-flee-300-ticks&tick=7'")
    wait_until(page, "viewer.replay.header.title === 'roundabout'")
    assert tick(page) == 7
    page.go_back()
    wait_until(page, "viewer.replay.header.title === 'cul-de-sacs'")
    assert tick(page) == 60
    page.goto("about:blank")
    page.goto(f"{url}#game=no-such-game&tick=7")
    expect(page.locator("#banner")).to_contain_text("This folder does not contain a game no-such-game.")
    expect(page.locator("#library")).to_be_visible()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `a/` and `b/`, which hold recordings of the same name. `b/` also holds a file
    that is not a recording."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(CAUGHT, tmp_path / name / CAUGHT.name)
    (tmp_path / "b" / "broken <b>.jsonl").write_text("not a recording\n")
    return tmp_path


def test_unreadable_file_is_listed_with_its_error(page: Page, view: View, folder: Path) -> None:
    page.goto(view(str(folder / "a"), str(folder / "b")))
    rows = page.locator("#library-rows tr")
    expect(rows).to_have_count(3)
    broken = rows.filter(has_text="broken <b>")
    expect(broken).to_contain_text("broken <b>.jsonl, line 1: ")
    expect(broken.get_by_role("link")).to_have_count(0)
    page.get_by_role("link", name=re.compile("until-caught-2$")).click()
    expect(page.locator("#sentence")).to_contain_text("Lost in tick 107")


def test_gallery_is_a_folder_of_pages(open_page: OpenPage, getaway_program: Path, folder: Path) -> None:
    gallery = folder / "gallery"
    command = [str(getaway_program), "view", str(folder / "a"), str(folder / "b"), "--html", str(gallery)]
    made = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert made.stdout == f"{gallery / 'index.html'}\n"
    assert "broken <b>.jsonl, line 1: " in made.stderr
    name = CAUGHT.name.split(".")[0]
    assert sorted(file.name for file in gallery.iterdir()) == sorted(["index.html", f"{name}.html", f"{name}-2.html"])
    page = open_page()
    load_axe(page)
    page.goto((gallery / "index.html").as_uri())
    rows = page.locator("#library-rows tr")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="-2")).to_contain_text("caught by the owl in tick 108: blunder in tick 107")
    expect(rows.filter(has_text="broken <b>")).to_contain_text("line 1: ")
    assert violations(page) == []
    page.get_by_role("link", name=re.compile("until-caught-2$")).click()
    expect(page.locator("#sentence")).to_contain_text("Lost in tick 107")
    page.get_by_role("button", name="games", exact=True).click()
    expect(rows).to_have_count(3)
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 2
    assert "already exists (use --force to overwrite it)" in again.stderr


def test_recording_can_be_dropped_onto_the_page(open_page: OpenPage, view: View, tmp_path: Path) -> None:
    page = open_page()
    open_analysed(page, view(str(CAUGHT)))
    drop(page, GAMES / "roundabout-flee-300-ticks.jsonl.gz", "dropped game.jsonl.gz")
    expect(page.locator("#title")).to_have_text("roundabout")
    expect(page.locator("#about")).to_contain_text("dropped game")
    wait_until(page, "location.hash === '#game=dropped+game&tick=1'")
    expect(page.locator("#sentence")).to_contain_text("The recording ends in tick 301")


def test_readable_files_are_opened_if_others_are_dropped_with_them(open_page: OpenPage, view: View) -> None:
    # The browser logs the refusal of the broken file as an error, but here the refusal is expected.
    page = open_page(logs_matter=False)
    open_analysed(page, view(str(CAUGHT)))
    files = page.evaluate_handle(
        """(bytes) => {
          const data = new DataTransfer();
          data.items.add(new File([Uint8Array.from(bytes)], "game.jsonl.gz"));
          data.items.add(new File(["not a recording\\n"], "broken.jsonl"));
          return data;
        }""",
        list((GAMES / "roundabout-flee-300-ticks.jsonl.gz").read_bytes()),
    )
    page.dispatch_event("body", "drop", {"dataTransfer": files})
    expect(page.locator("#title")).to_have_text("roundabout")
    expect(page.locator("#banner")).to_contain_text("Cannot open broken.jsonl: ")


@pytest.fixture(scope="module")
def wire_recording(getaway_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with an unreadable command, a late command, ticks without a command, and a
    disconnection."""
    file = tmp_path_factory.mktemp("wire") / "wire.jsonl.gz"
    command = [str(getaway_program), "serve", "--port", "0", "--games", "1", "--json", "--tick-ms", "1000", "--record", str(file), "roundabout"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    address = re.search(r"ws://[\d.:]+", server.stderr.readline())
    assert address
    with connect(address.group(), compression=None) as bot:
        bot.send(json.dumps({"type": "REGISTER", "teamName": "wire"}))
        for frame in bot:
            number = json.loads(frame)["tick"]
            if number == 5:
                bot.send(json.dumps({"type": "COMMAND", "tick": 5}))
            elif number == 8:
                bot.send(json.dumps({"type": "COMMAND", "tick": 7, "actions": []}))
            elif number == 12:
                break
            elif number != 7:
                bot.send(json.dumps({"type": "COMMAND", "tick": number, "actions": []}))
    server.communicate()
    return file


def test_wire_is_marked_and_filtered(page: Page, view: View, wire_recording: Path) -> None:
    open_analysed(page, view(str(wire_recording)))
    kinds = page.evaluate("[...new Set(viewer.replay.header.marks.map(({ kind }) => kind))]")
    assert {"unreadable", "missing", "late", "left"} <= set(kinds)
    expect(page.locator("#sentence")).to_contain_text("Lost because the bot was gone from tick 12 on")
    expect(page.locator("#filters")).to_contain_text("late commands (1)")
    expect(page.locator("#about")).to_contain_text("getaway serve")
    for kind in kinds:
        if kind != "late":
            page.locator(f"input[name=mark-{kind}]").uncheck()
    page.keyboard.press("Home")
    page.keyboard.press("n")
    expect(page.locator("#tick-notes")).to_contain_text("the command of tick 7 came too late")


def test_recordings_of_server_and_bot_are_shown_together(page: Page, view: View, real_server: RealServer, tmp_path: Path) -> None:
    recordings = [tmp_path / "server.jsonl.gz", tmp_path / "bot.jsonl.gz"]
    url, server = real_server("roundabout", "--tick-ms", "5000", "--record", str(recordings[0]))
    environment = {**os.environ, "SAVE_JSONL_PATH": str(recordings[1])}
    bot = [sys.executable, str(ROOT / "bot" / "application.py"), "--url", url, "--planner", "random"]
    subprocess.run(bot, env=environment, check=True, capture_output=True, timeout=TIMEOUT_S)
    server.communicate()
    open_analysed(page, view(str(recordings[0]), "--with", str(recordings[1])))
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tick-notes")).to_contain_text(re.compile(r"decision: (plan|search|fallback), [0-9.]+ ms · command after [0-9.]+ ms"))
    about = page.locator("#about")
    for fact in ("roundabout", "random", "getaway serve", "bot ", "waits 5000 ms"):
        expect(about).to_contain_text(fact)


def test_live_page_pauses_where_it_is_and_says_how_it_ended(page: Page, real_server: RealServer) -> None:
    url, server = real_server("roundabout", "--delay-ms", "10")
    page.goto(url.replace("ws:", "http:"))
    for last in stay(url):
        if last == 30:
            wait_until(page, "viewer.replay?.last >= 20")
            expect(page.locator("#play")).to_have_attribute("aria-label", "Pause")
            page.locator("body").press("Space")
            expect(page.locator("#play")).to_have_attribute("aria-label", "Play")
            paused_at = tick(page)
        if last == 40:
            assert tick(page) == paused_at, "the page stays where it was paused"
            page.keyboard.press("l")
    expect(page.locator("#banner")).to_contain_text(re.compile("The game is over: caught by the|The server has shut down"))
    server.wait()
    expect(page.locator("#banner")).to_contain_text("The server has shut down. The game so far can be played back here")


def test_page_says_that_the_server_has_died(open_page: OpenPage, real_server: RealServer) -> None:
    # The browser logs failed requests as errors, which must not fail this test.
    page = open_page(logs_matter=False)
    url, server = real_server("roundabout")
    page.goto(url.replace("ws:", "http:"))
    expect(page.locator("#message")).to_contain_text("Waiting for a game.")
    server.kill()
    expect(page.locator("#banner")).to_contain_text("The server does not respond")


def test_motion_is_reduced_on_request(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    picture = "viewer.playhead = 40.5, viewer.refresh(), new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(viewer.mapView.canvas.toDataURL()))))"
    moving = page.evaluate(picture)
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(picture) != moving
    assert page.evaluate(picture.replace("40.5", "40.0")) == page.evaluate(picture)


def test_exported_page_has_the_answer_and_works_in_a_frame(page: Page, getaway_program: Path, tmp_path: Path) -> None:
    file = tmp_path / "game.html"
    subprocess.run([str(getaway_program), "view", str(CAUGHT), "--html", str(file)], cwd=ROOT, check=True, capture_output=True)
    assert file.stat().st_size < 400_000
    page.set_viewport_size({"width": 700, "height": 500})
    open_analysed(page, file.as_uri())
    assert_board_is_clear(page, "#play", "header", "footer", "aside")
    (tmp_path / "notebook.html").write_text('<!doctype html><title>notebook</title><iframe src="game.html" width="900" height="700"></iframe>')
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("#sentence")).to_contain_text("Lost in tick 107 by a blunder")
    frame.locator("#show-line").click()
    expect(frame.locator("#other-title")).to_contain_text("a surviving line")
    expect(frame.locator("#take-over")).to_be_hidden()
    expect(frame.locator("#take-over-hint")).to_be_visible()


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, False), (False, True), (True, True)])
def test_page_has_no_serious_accessibility_violations(open_page: OpenPage, view: View, dark: bool, phone: bool) -> None:
    page = open_page(dark=dark, phone=phone)
    load_axe(page)
    open_analysed(page, view(str(CAUGHT)))
    page.keyboard.press("End")
    page.locator("#show-line").click()
    wait_until(page, "viewer.other !== null")
    serious = [(rule["id"], rule["nodes"][0]["html"]) for rule in violations(page) if rule["impact"] in ("serious", "critical")]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no horizontal scrolling"
