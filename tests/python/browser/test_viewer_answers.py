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
    scrub,
    start,
    stay,
    tick,
    violations,
    wait_until,
)


def test_page_says_why_the_game_was_lost(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    expect(page.locator("#sentence")).to_contain_text("Lost at tick 107 by a blunder: the car went right where ")
    expect(page.locator("#verdict")).to_contain_text("107 (proven)")
    expect(page.locator("#curve")).to_be_visible()
    page.locator("#go-decisive").click()
    assert tick(page) == 107
    page.keyboard.press("End")
    expect(page.locator("#outcome")).to_have_text("caught by the owl at tick 108")
    red = page.locator("#outcome").evaluate("(badge) => getComputedStyle(badge).backgroundColor")
    assert red == "rgb(176, 0, 32)"
    assert page.evaluate("board.replay.catchers(board.replay.last).map((i) => board.replay.header.styles[i])") == ["owl"]
    expect(page.locator("#about")).to_contain_text("cul-de-sacs")


def test_surviving_line_is_played_beside_the_game(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    page.locator("#show-line").click()
    expect(page.locator("#other")).to_be_visible()
    expect(page.locator("#other-title")).to_have_text("the surviving line · first difference at tick 108")
    assert page.evaluate("board.other.replay.header.status") == "complete"
    page.keyboard.press("End")
    assert tick(page) == 2001
    page.locator("#why-one-board").click()
    expect(page.locator("#other")).to_be_hidden()
    assert tick(page) == 108


def test_keys_and_planners_take_over_from_any_tick(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    scrub(page, 59)
    page.locator("#tab-play").click()
    page.locator("#beside").check()
    page.locator("#let-play").click()
    expect(page.locator("#other-title")).to_contain_text("survival: survived: 10,005")
    page.locator("#one-board").click()
    scrub(page, 59)
    page.locator("#title").click()
    for moves, key in enumerate([".", ".", "ArrowUp", "."], start=1):
        page.keyboard.press(key)
        wait_until(page, f"session.game.moves.length === {59 + moves} && board.index === {59 + moves} && !session.recording")
    assert tick(page) == 64
    page.keyboard.press("Backspace")
    wait_until(page, "board.replay.last === 62")
    page.locator("#undo").click()
    wait_until(page, "board.replay.last === 61")
    page.locator("#beside").uncheck()
    page.locator("#let-play").click()
    expect(page.locator("#play-status")).to_have_text("survival: survived: 10,005.")
    # A move at an earlier tick drops all later moves. Going back restores them.
    page.keyboard.press("Space")
    scrub(page, 49)
    page.locator("#title").click()
    page.keyboard.press("ArrowRight")
    wait_until(page, "board.replay.last === 50")
    page.keyboard.press("Backspace")
    wait_until(page, "board.replay.last === 2000")
    # Going back further leads to the recording, in which the user's first move was made.
    for _ in range(3):
        page.locator("#undo").click()
    wait_until(page, "session.recording !== null && board.replay.last === 107")


def test_page_names_planners_of_the_library_only(page: Page, view: View) -> None:
    open_analysed(page, view(str(CAUGHT)))
    page.locator("#tab-play").click()
    page.locator("#beside").check()
    page.locator("#planner").select_option("expression")
    for planner in ("clever", "os:abort"):
        page.locator("#expression").fill(planner)
        page.locator("#let-play").click()
        expect(page.locator("#play-status")).to_contain_text(f"no planner named {planner}: ")


def test_human_plays_a_map_from_the_start_on_one_board(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    expect(page.locator("#tab-play")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#other")).to_be_hidden()
    expect(page.locator("#sentence")).to_have_text("")
    assert page.evaluate("board.layers.plan") is False
    game = getaway.Game("roundabout")
    moves = "LLRU.D"
    for count, move in enumerate(moves, start=1):
        page.keyboard.press(KEYS[move])
        wait_until(page, f"board.replay.last === {count} && board.index === {count}")
        game.step("LRUD.".index(move))
    assert tick(page) == len(moves) + 1
    assert page.evaluate("[...board.replay.frames[board.index].positions.slice(0, 2)]") == list(game.state.player)
    # Staying loses this game. The page gives the reason when the user asks for it.
    page.evaluate("session.move('.'.repeat(300))")
    expect(page.locator("#outcome")).to_contain_text("caught by the")
    assert page.locator("#sentence").inner_text() == ""
    page.locator("#end-why").click()
    expect(page.locator("#sentence")).to_contain_text("Lost at tick")
    page.locator("#show-line").click()
    expect(page.locator("#other-title")).to_contain_text("the surviving line")
    assert page.evaluate("board.other.replay.header.status") == "complete"
    assert page.evaluate("board.divergence - board.replay.indexOfTick(why.analysis.last_savable_tick)") == 1


def test_line_replaces_a_move_onto_a_threat(page: Page, view: View, tmp_path: Path) -> None:
    # Without jumping, a move onto a threat ends the game in the tick of the move, so two frames
    # have the same tick.
    ring = tmp_path / "ring.txt"
    ring.write_text("#######\n#PG...#\n#.###.#\n#.....#\n#######\n")
    start(page, view(str(ring), "--planner", "human", "--no-jump"))
    page.keyboard.press("ArrowRight")
    wait_until(page, "board.replay.isOver && board.index === 1")
    page.locator("#end-why").click()
    expect(page.locator("#sentence")).to_contain_text("Lost at tick 1 by a blunder: the car went right where ")
    page.locator("#go-decisive").click()
    wait_until(page, "board.index === 0")
    page.locator("#show-line").click()
    expect(page.locator("#other-title")).to_contain_text("the surviving line")
    assert page.evaluate("board.other.replay.header.status") == "complete"


@pytest.mark.parametrize("size", [(1280, 800), (700, 500), (390, 844)], ids=str)
def test_board_and_pad_are_visible_and_nothing_covers_the_board(page: Page, view: View, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_game_of_user(page, view)
    assert_board_is_clear(page, "#pad", "#drive", "header", "footer", "aside")


def test_link_opens_a_tick_and_the_address_follows(page: Page, view: View) -> None:
    url = view(str(CAUGHT))
    open_analysed(page, f"{url}#tick=60")
    assert tick(page) == 60
    expect(page.locator("#total")).to_have_text(" of 2,000")
    expect(page.locator("#next-phase")).to_have_text("(threats move every 5th tick); tease in 242 ticks")
    page.keyboard.press("k")
    wait_until(page, "location.hash.endsWith('&tick=61')")
    page.locator("#go").fill("80")
    page.locator("#go").press("Enter")
    assert tick(page) == 80
    page.locator("#speed").select_option("0.25")
    assert page.evaluate("board.speed") == 0.25


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
    expect(rows).to_contain_text("caught by the owl at tick 108: blunder at tick 107")
    page.get_by_role("link", name=re.compile("^Open cul-de-sacs")).click()
    expect(page.locator("#title")).to_have_text("cul-de-sacs")
    page.get_by_role("button", name="games", exact=True).click()
    page.get_by_role("searchbox").fill("cul-de-sacs")
    page.get_by_role("button", name=re.compile("^Show cul-de-sacs.* beside")).click()
    expect(page.locator("#other")).to_be_visible()
    assert page.evaluate("board.divergence") is None, "a game does not differ from itself"
    page.get_by_role("button", name="games", exact=True).click()
    page.get_by_role("searchbox").fill("stadium")
    page.get_by_role("button", name=re.compile("^Show stadium.* beside")).click()
    wait_until(page, "board.divergence === 0")


def test_address_names_the_game_and_survives_a_reload(page: Page, view: View) -> None:
    url = view(str(GAMES))
    page.goto(url)
    page.get_by_role("link", name=re.compile("^Open cul-de-sacs")).click()
    wait_until(page, "session.game?.name === 'cul-de-sacs'")
    scrub(page, 59)
    wait_until(page, "location.hash === '#recording=cul-de-sacs-stroll-until-caught&tick=60'")
    page.reload()
    wait_until(page, "window.board?.replay?.header.title === 'cul-de-sacs' && board.tick === 60")
    page.evaluate("location.hash = '#recording=roundabout-flee-300-ticks&tick=7'")
    wait_until(page, "board.replay.header.title === 'roundabout' && board.tick === 7")
    page.go_back()
    wait_until(page, "board.replay.header.title === 'cul-de-sacs' && board.tick === 60")
    page.goto("about:blank")
    page.goto(f"{url}#recording=no-such-game&tick=7")
    expect(page.locator("#banner")).to_contain_text("This page has no recording no-such-game.")
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
    expect(page.locator("#sentence")).to_contain_text("Lost at tick 107")


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
    expect(rows.filter(has_text="-2")).to_contain_text("caught by the owl at tick 108: blunder at tick 107")
    expect(rows.filter(has_text="broken <b>")).to_contain_text("line 1: ")
    assert violations(page) == []
    page.get_by_role("link", name=re.compile("until-caught-2$")).click()
    expect(page.locator("#sentence")).to_contain_text("Lost at tick 107")
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
    wait_until(page, "session.recording?.name === 'dropped game'")
    expect(page.locator("#sentence")).to_contain_text("The recording ends at tick 301")


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
    command = [str(getaway_program), "serve", "--port", "0", "--games", "1", "--json", "--tick-ms", "3000", "--record", str(file), "roundabout"]
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
    kinds = page.evaluate("[...new Set(board.replay.header.marks.map(({ kind }) => kind))]")
    assert {"unreadable", "missing", "late", "left"} <= set(kinds)
    expect(page.locator("#sentence")).to_contain_text("Lost because the bot was gone from tick 12 on")
    expect(page.locator("#filters")).to_contain_text("late commands (1)")
    expect(page.locator("#about")).to_contain_text("getaway serve")
    page.locator("#tab-view").click()
    for kind in kinds:
        if kind != "late":
            page.locator(f"input[name=mark-{kind}]").uncheck()
    page.keyboard.press("Home")
    page.keyboard.press("n")
    expect(page.locator("#tick-notes")).to_contain_text("the command of tick 7 came too late")


def test_recordings_of_server_and_bot_are_shown_together(page: Page, view: View, real_server: RealServer, tmp_path: Path) -> None:
    recordings = [tmp_path / "server.jsonl.gz", tmp_path / "bot.jsonl.gz"]
    url, server = real_server("roundabout", "--record", str(recordings[0]))
    environment = {**os.environ, "SAVE_JSONL_PATH": str(recordings[1])}
    bot = [sys.executable, str(ROOT / "bot" / "application.py"), "--url", url, "--planner", "random"]
    subprocess.run(bot, env=environment, check=True, capture_output=True, timeout=TIMEOUT_S)
    server.communicate()
    open_analysed(page, view(str(recordings[0]), "--with", str(recordings[1])))
    page.keyboard.press("k")
    expect(page.locator("#tick-notes")).to_contain_text(re.compile(r"decision: (plan|search|fallback), [0-9.]+ ms · command after [0-9.]+ ms"))
    about = page.locator("#about")
    for fact in ("roundabout", "random", "getaway serve", "bot ", "waits 3600000 ms"):
        expect(about).to_contain_text(fact)


def test_live_page_pauses_where_it_is_and_says_how_it_ended(open_page: OpenPage, real_server: RealServer) -> None:
    # The browser logs failed requests as errors, which must not fail this test.
    page = open_page(logs_matter=False)
    url, server = real_server("roundabout", "--delay-ms", "10")
    page.goto(url.replace("ws:", "http:"))
    for last in stay(url):
        if last == 30:
            wait_until(page, "session.recording?.isLive && board.replay.last >= 20")
            expect(page.locator("#play")).to_have_attribute("aria-label", "Pause")
            page.locator("body").press("Space")
            expect(page.locator("#play")).to_have_attribute("aria-label", "Run")
            paused_at = tick(page)
        if last == 40:
            assert tick(page) == paused_at, "the page stays where it was paused"
            page.keyboard.press("l")
    expect(page.locator("#banner")).to_contain_text("The game is over: caught by the")
    server.wait()


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
    picture = "board.playhead = 40.5, board.refresh(), new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(board.mapView.canvas.toDataURL()))))"
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
    expect(frame.locator("#sentence")).to_contain_text("Lost at tick 107 by a blunder")
    frame.locator("#show-line").click()
    expect(frame.locator("#other-title")).to_contain_text("the surviving line")
    assert frame.locator(".engine, #drive").count() > 5
    expect(frame.locator(".engine, #drive").filter(visible=True)).to_have_count(0)
    expect(frame.locator("#offline-hint")).to_be_visible()


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, False), (False, True), (True, True)])
def test_page_has_no_serious_accessibility_violations(open_page: OpenPage, view: View, dark: bool, phone: bool) -> None:
    page = open_page(dark=dark, phone=phone)
    load_axe(page)
    open_analysed(page, view(str(CAUGHT)))
    page.keyboard.press("End")
    if phone:
        page.locator("#tab-why").click()
    page.locator("#show-line").click()
    wait_until(page, "board.other !== null")
    serious = [(rule["id"], rule["nodes"][0]["html"]) for rule in violations(page) if rule["impact"] in ("serious", "critical")]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no horizontal scrolling"
