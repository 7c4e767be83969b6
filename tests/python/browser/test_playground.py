"""Tests of the playground in a real browser."""

from __future__ import annotations

import base64
import gzip
import http.server
import json
import random
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Frame, Page, expect

import getaway
from conftest import ROOT, TARGET

from .conftest import CAUGHT, KEYS, OpenPage, View, assert_board_is_clear, drop, load_axe, start, tick, violations, wait_for_frame, wait_until

FOLDER = TARGET / "playground"
SCRIPT = "<img src=x onerror='window.hacked = 1'>"


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="module")
def static() -> Iterator[str]:
    """The page as static files, with the engine as WebAssembly."""
    if not (FOLDER / "engine.bin").exists():
        pytest.skip("no playground found: expected tools/playground.sh to have built it")
    with served(FOLDER) as address:
        yield address


@pytest.fixture(params=["server", "worker"])
def url(request: pytest.FixtureRequest, view: View) -> str:
    """The page with each of its two engines."""
    if request.param == "server":
        return view()
    address: str = request.getfixturevalue("static")
    return address


def test_page_and_engine_are_small_over_the_wire(static: str) -> None:
    texts = [file for file in FOLDER.iterdir() if file.suffix in {".html", ".mjs"}]
    packed = sum(len(gzip.compress(file.read_bytes())) for file in texts)
    assert len(texts) == 3
    assert packed + (FOLDER / "engine.bin").stat().st_size <= 650_000


@pytest.mark.parametrize("track", ["changed-rules", "crowds", "large", "mazes", "real-like"])
def test_records_of_the_benchmark_open_in_the_playground(page: Page, static: str, track: str, tmp_path: Path) -> None:
    (tmp_path / "playground").symlink_to(FOLDER)
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    with served(tmp_path) as site:
        page.goto(f"{site}instances/records.html")
        page.locator("#track").select_option(track)
        name = page.locator("li strong").first.inner_text()
        page.locator("li button").first.click()
        page.wait_for_url("**/playground/**")
        wait_until(page, "document.body?.dataset.ready !== undefined")
        wait_until(page, f"session.game?.name === {json.dumps(name.split('/')[1])}")
        record = (ROOT / "instances" / "records" / f"{name}.txt").read_text().splitlines()
        assert page.evaluate("session.game.moves") == json.loads(record[3])["actions"]


def open_game(page: Page, name: str, moves: str = "", text: str | None = None) -> None:
    page.evaluate(
        """async ([name, moves, text]) => {
          const { maps, rules } = await session.client.json("start");
          const { tiles, player, threats } = text ? await session.client.json("map_file", null, {file: new TextEncoder().encode(text)}) : maps.find((map) => map.name === name);
          session.isDemo = false;
          await session.open({ name, map: { tiles, player, threats }, rules, moves }, moves.length);
        }""",
        [name, moves, text],
    )


def address(page: Page) -> str:
    page.locator("#tab-share").click()
    page.evaluate("document.getElementById('share-status').textContent = ''")
    page.locator("#copy").click()
    wait_until(page, "document.getElementById('share-status').textContent !== ''")
    page.locator("#tab-play").click()
    return page.locator("#address").input_value()


def test_opens_with_a_chase_and_asks_no_other_host(page: Page, url: str) -> None:
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url) if not request.url.startswith((url, "data:", "blob:")) else None)
    start(page, url)
    wait_until(page, "session.game?.moves.length > 1000 && board.playing && board.index > 905")
    expect(page.locator("#title")).to_have_text("market-square")
    assert page.url == url
    assert elsewhere == []


def test_arrow_keys_play_the_same_game_as_the_library(page: Page, url: str) -> None:
    start(page, url)
    open_game(page, "roundabout")
    moves = "LLRU.D"
    for move in moves:
        page.keyboard.press(KEYS[move])
    wait_until(page, f"session.game.moves === {json.dumps(moves)} && board.index === {len(moves)}")
    game = getaway.Game("roundabout")
    for move in moves:
        game.step("LRUD.".index(move))
    positions = [*game.state.player, *(number for threat in game.state.threats for number in threat.position)]
    shown = page.evaluate("[...board.replay.frames[board.index].positions]")
    assert [*shown[:2], *(number for i in range(2, len(shown), 3) for number in shown[i : i + 2])] == positions
    page.keyboard.press("Backspace")
    wait_until(page, f"session.game.moves === {json.dumps(moves[:-1])} && board.index === {len(moves) - 1}")
    assert tick(page) == len(moves)
    page.locator("#new-game").click()
    wait_until(page, "session.game.moves === '' && session.index === 0")


def test_judged_moves_are_those_of_the_library(page: Page, url: str) -> None:
    start(page, url)
    page.locator("#judge-switch").check()
    for name, length in (("roundabout", 0), ("cul-de-sacs", 100), ("market-square", 400)):
        game = getaway.Game(name)
        moves = ""
        for move in getaway.solve(name, budget_ticks=1_000_000).moves[:length]:
            moves += move
            game.step(move)
        open_game(page, name, moves)
        wait_until(page, "session.judgement?.isFinal === true")
        shown = page.evaluate("session.judgement.moves.filter((move) => !move.is_blocked).map(({ letter, outcome }) => [letter, outcome])")
        native = {"LRUD."[move]: verdict.outcome for move, verdict in getaway.judge_moves(game.state, budget_ticks=5_000_000).items()}
        assert dict(shown) == native, name


def test_a_lost_game_names_the_move_that_lost_it(page: Page, url: str) -> None:
    start(page, url)
    drop(page, CAUGHT, CAUGHT.name)
    wait_until(page, "session.recording !== null")
    page.locator("#tab-why").click()
    page.locator("#why").click()
    expect(page.locator("#go-decisive")).to_be_visible()
    assert "tick" in page.locator("#sentence").inner_text()


def test_an_analysis_of_an_earlier_game_is_not_shown(page: Page, url: str) -> None:
    start(page, url)
    open_game(page, "roundabout", "RRUL.D")
    page.evaluate("(document.getElementById('why').click(), session.move('R'))")
    wait_until(page, "session.game.moves === 'RRUL.DR' && !session.isSending && !document.getElementById('why').disabled")
    expect(page.locator("#sentence")).to_have_text("")


def test_a_planner_plays_and_a_map_is_proven(page: Page, url: str, getaway_program: Path, tmp_path: Path) -> None:
    start(page, url)
    open_game(page, "snail")
    page.locator("#let-play").click()
    wait_until(page, "session.game.moves.length === 2000 && board.replay.isOver")
    page.locator("#speed").select_option("100")
    expect(page.locator("#tick")).to_have_text("2,001")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Run")
    expect(page.locator("#play-status")).to_have_text("survival: survived: 10,005.")
    page.locator("#tab-prove").click()
    page.locator("#solve").click()
    expect(page.locator("#solve-status")).to_contain_text("Solved")
    with page.expect_download() as download:
        page.locator("#certificate").click()
    proof = tmp_path / "snail.proof"
    download.value.save_as(proof)
    page.locator("#verify-file").set_input_files(proof)
    expect(page.locator("#verify-status")).to_contain_text("Verified for snail")


def test_drawn_map_is_saved_as_png_and_text(page: Page, url: str, getaway_program: Path, tmp_path: Path) -> None:
    start(page, url)
    page.get_by_role("tab", name="Map").click()
    page.locator("#draw-new").click()
    # The lower threat is drawn first, but the game must list the threats row by row, as a map that
    # is read from a file does.
    for key in [*["ArrowDown"] * 8, "5", "Enter", *["ArrowUp"] * 6, "4", "Enter", *["ArrowRight"] * 9, "3", "Enter"]:
        page.locator("#editor-canvas").press(key)
    page.locator("#editor-play").click()
    wait_until(page, "session.game?.name === 'my map'")
    expect(page.locator("#hint")).to_be_visible()
    page.get_by_role("tab", name="Map").click()
    for button in ("#save-png", "#save-text"):
        with page.expect_download() as download:
            page.locator(button).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        script = "bytes => session.client.json('map_file', null, { file: Uint8Array.from(bytes) })"
        opened = page.evaluate(script, list(file.read_bytes()))
        assert {key: opened[key] for key in ("tiles", "player", "threats")} == page.evaluate("session.game.map"), button
    subprocess.run([getaway_program, "solve", file], check=True, capture_output=True)


def test_game_that_is_still_being_opened_does_not_close_the_editor(page: Page, url: str) -> None:
    start(page, url)
    page.get_by_role("tab", name="Map").click()
    page.evaluate(
        """() => {
          const { client } = session;
          session.client = { replay: () => new Promise((done) => (window.answer = () => client.replay("replay", { game: session.game, shown: null }).then(done))) };
          window.opening = session.open(session.game).finally(() => (session.client = client));
        }"""
    )
    page.locator("#draw-new").click()
    page.evaluate("answer().then(() => opening)")
    wait_for_frame(page)
    expect(page.locator("#editor")).to_be_visible()


def test_a_resized_map_keeps_the_wall_around_it(page: Page, url: str) -> None:
    start(page, url)
    page.get_by_role("tab", name="Map").click()
    page.locator("#draw-new").click()
    page.locator("#editor-canvas").press("3")
    page.locator("#editor-canvas").press("Enter")
    for width, height in ((9, 7), (20, 15)):
        for side, length in (("width", width), ("height", height)):
            page.locator(f"#editor-{side}").fill(str(length))
            page.locator(f"#editor-{side}").dispatch_event("change")
    page.locator("#editor-play").click()
    wait_until(page, "session.game?.name === 'my map'")
    wall, street = "#" * 20, f"#{'.' * 18}#"
    assert page.evaluate("session.game.map.tiles") == [wall, *[street] * 13, wall]


def test_form_has_one_field_for_each_rule(page: Page, url: str) -> None:
    start(page, url)
    wait_until(page, "document.querySelector('.rule') !== null")
    names = page.evaluate("session.client.json('rules', session.game.rules).then(({ fields }) => fields.map(({ name }) => `rule-${name}`))")
    assert sorted(page.locator(".rule > [id]").evaluate_all("(fields) => fields.map(({ id }) => id)")) == sorted(names)


def test_a_shared_address_opens_the_same_game(open_page: OpenPage, url: str) -> None:
    first, second = start(open_page(), url), start(open_page(), url)
    rng = random.Random(1)
    for name in ("roundabout", "stadium", "cul-de-sacs", "harbour"):
        open_game(first, name, "".join(rng.choice("LRUD.") for _ in range(300)))
        first.evaluate("board.seek(Math.floor(board.replay.last / 2))")
        shared = address(first)
        assert len(shared) <= 2000
        second.goto("about:blank")
        start(second, shared)
        state = "JSON.stringify([session.game, session.index])"
        assert second.evaluate(state) == first.evaluate(state), name


def follow_link(page: Page, exported: Page | Frame) -> None:
    link = exported.locator("#playground-link")
    index = exported.evaluate("board.index")
    expect(link).to_have_attribute("href", re.compile(f"&tick={index + 1}$"))
    assert len(link.get_attribute("href") or "") <= 2000
    with page.expect_popup() as popup:
        link.click()
    played = popup.value
    wait_until(played, "document.body?.dataset.ready !== undefined")
    wait_until(played, f"session.index === {index}")
    shown = "[...board.replay.frames[board.index].positions, board.index, board.replay.frames.length]"
    assert played.evaluate(shown) == exported.evaluate(shown)
    played.close()


def test_exported_games_link_to_the_page_at_the_tick_on_show(page: Page, static: str, getaway_program: Path, tmp_path: Path) -> None:
    file = tmp_path / "game.html"
    subprocess.run([getaway_program, "view", CAUGHT, "--html", file, "--playground", static], check=True, capture_output=True, cwd=ROOT)
    for name in ("#tick=60", "#tick=108"):
        page.goto("about:blank")
        start(page, file.as_uri() + name)
        page.locator("#tab-why").click()
        follow_link(page, page)


def test_reports_and_ladders_link_to_the_playground(page: Page, static: str, getaway_program: Path, tmp_path: Path) -> None:
    options = ["--map", "corner-shop", "--samples", "1", "--budget-ticks", "30", "--playground", static]
    report, ladder = tmp_path / "report.html", tmp_path / "ladder"
    subprocess.run([getaway_program, "eval", "--planner", "random", *options, "--report", report], check=True, capture_output=True)
    subprocess.run([getaway_program, "ladder", ladder, "--add", "random", "--add", "safest", *options], check=True, capture_output=True)
    for address, name in ((report.as_uri() + "#game=1&tick=9", "watch-frame"), ((ladder / "game.html").as_uri() + "#1", "frame")):
        page.goto(address)
        element = page.locator(f"#{name}").element_handle()
        frame = element.content_frame() if element else None
        assert frame
        frame.locator("#playground-link").wait_for()
        follow_link(page, frame)


def test_games_that_an_address_cannot_hold_have_no_link(page: Page, getaway_program: Path, tmp_path: Path) -> None:
    late, file = tmp_path / "late.jsonl", tmp_path / "game.html"
    late.write_bytes(b"".join(gzip.decompress(CAUGHT.read_bytes()).splitlines(keepends=True)[5:]))
    for game, options in ((late, ["--playground", "https://example.org/"]), (CAUGHT, [])):
        subprocess.run([getaway_program, "view", game, "--html", file, "--force", *options], check=True, capture_output=True, cwd=ROOT)
        start(page, file.as_uri())
        expect(page.locator("#playground-link")).to_be_hidden()


def test_a_damaged_address_gives_one_sentence_and_keeps_the_board(page: Page, url: str) -> None:
    start(page, url)
    open_game(page, "roundabout", "RRUL" * 20)
    fragment = address(page).split("#")[1].split("&")[0]
    rng = random.Random(2)
    for _ in range(100):
        at = rng.randrange(5, len(fragment))
        damaged = fragment[:at] + rng.choice(["", "A", "%", "é", "zz"]) + fragment[at + rng.randrange(1, 9) :]
        if damaged == fragment:
            continue
        page.evaluate("(hash) => { document.getElementById('banner').hidden = true; location.hash = hash; }", damaged)
        wait_until(page, "!document.getElementById('banner').hidden")
        assert page.evaluate("[session.game.name, session.game.moves]") == ["roundabout", "RRUL" * 20]
        assert "\n" not in page.locator("#banner-text").inner_text()
    page.goto("about:blank")
    start(page, f"{url}#game={base64.urlsafe_b64encode(SCRIPT.encode()).decode()}")
    expect(page.locator("#banner-text")).to_have_text("This address does not open a game: it is incomplete or was changed. The board shows another game.")
    expect(page.locator("#title")).to_have_text("market-square")


def test_names_are_not_interpreted_as_html(page: Page, url: str) -> None:
    start(page, url)
    open_game(page, SCRIPT, "R", text="P..\n.#.\n..B")
    expect(page.locator("#title")).to_have_text(SCRIPT)
    page.locator("#planner").select_option("expression")
    page.locator("#expression").fill(SCRIPT)
    page.locator("#let-play").click()
    expect(page.locator("#play-status")).to_contain_text("img")
    shared = address(page)
    page.goto("about:blank")
    start(page, shared)
    expect(page.locator("#title")).to_have_text(SCRIPT)
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("size", [(1280, 800), (700, 500), (390, 844)], ids=str)
def test_board_and_pad_are_visible_and_nothing_covers_the_board(page: Page, url: str, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    start(page, url)
    assert_board_is_clear(page, "#pad", "#drive", "footer", "header", "#tabs")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(open_page: OpenPage, url: str, dark: bool) -> None:
    page = open_page(dark=dark)
    load_axe(page)
    start(page, url)
    page.evaluate("board.pause()")
    page.locator("#judge-switch").check()
    for tab in ("play", "map", "rules", "why", "prove", "share", "view"):
        page.locator(f"#tab-{tab}").click()
        assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations(page)] == [], tab
