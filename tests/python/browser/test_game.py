"""Tests of driving: keys, taps, swipes, real time, the end of a game, the trainer, and sharing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect

from .conftest import CAUGHT, OpenPage, View, assert_board_is_clear, drop, load_axe, open_game_of_user, start, tick, violations, wait_until
from .test_playground import static, url

__all__ = ["static", "url"]

PLACE = "(([x, y]) => { const { ratio, canvas } = board.mapView; const box = canvas.getBoundingClientRect(); const at = board.mapView.center(x, y); return [box.left + at[0] / ratio, box.top + at[1] / ratio]; })"
YARD = "#######\n#P....#\n#.###.#\n#.....#\n#.....#\n#######\n"
TRAP = "#########\n#P.....S#\n#.#######\n#########\n"


def drive_on(page: Page, view: View, tmp_path: Path, text: str) -> None:
    file = tmp_path / "yard.txt"
    file.write_text(text)
    start(page, view(str(file), "--planner", "human", "--no-jump"))


def lose(page: Page, view: View, tmp_path: Path) -> None:
    drive_on(page, view, tmp_path, TRAP)
    page.evaluate("session.move('.'.repeat(100))")
    expect(page.locator("#end")).to_be_visible()


@pytest.mark.parametrize(("key", "moves"), [("ArrowRight", "RRRR"), ("d", "RRRR"), ("s", "DD")])
def test_held_key_drives_to_the_next_junction(page: Page, view: View, tmp_path: Path, key: str, moves: str) -> None:
    drive_on(page, view, tmp_path, YARD)
    for _ in range(10):
        page.keyboard.down(key)
        page.wait_for_timeout(120)
    wait_until(page, "!session.isSending")
    assert page.evaluate("session.game.moves") == moves


def test_held_button_of_the_pad_drives_to_the_next_junction(page: Page, view: View, tmp_path: Path) -> None:
    drive_on(page, view, tmp_path, YARD)
    box = page.locator("[data-letter=R]").bounding_box()
    assert box
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    wait_until(page, "session.game.moves === 'RRRR'")
    page.wait_for_timeout(500)
    page.mouse.up()
    assert page.evaluate("session.game.moves") == "RRRR"


def test_tap_drives_to_the_tile_and_a_swipe_to_the_junction(open_page: OpenPage, view: View, tmp_path: Path) -> None:
    page = open_page(phone=True)
    drive_on(page, view, tmp_path, YARD)
    page.touchscreen.tap(*page.evaluate(f"{PLACE}([5, 2])"))
    wait_until(page, "session.game.moves === 'RRRRD' && board.index === 5")
    x, y = page.evaluate(f"{PLACE}([5, 2])")
    for name, dy in (("pointerdown", 0), ("pointerup", 60)):
        page.locator("#canvas").dispatch_event(name, {"pointerId": 1, "pointerType": "touch", "clientX": x, "clientY": y + dy, "bubbles": True})
    wait_until(page, "session.game.moves === 'RRRRDD'")


def test_real_time_drives_on_until_a_wall_and_stops_for_the_judge(page: Page, view: View, tmp_path: Path) -> None:
    drive_on(page, view, tmp_path, YARD)
    page.locator("#pace").select_option("10")
    page.locator("#real-time").check()
    page.locator("#title").click()
    page.keyboard.press("ArrowRight")
    wait_until(page, "session.game.moves.length > 6")
    assert page.evaluate("session.game.moves.slice(0, 6)") == "RRRR.."
    page.keyboard.press("Space")
    stopped = page.evaluate("session.game.moves.length")
    page.wait_for_timeout(400)
    assert page.evaluate("session.game.moves.length") <= stopped + 1
    page.keyboard.press("ArrowDown")
    wait_until(page, "session.timer !== null")
    page.keyboard.press("c")
    assert page.evaluate("session.timer === null"), "judging pauses the game"


def test_end_card_names_the_catcher_and_retries(page: Page, view: View, tmp_path: Path) -> None:
    lose(page, view, tmp_path)
    last = page.evaluate("board.replay.last")
    expect(page.locator("#end-title")).to_have_text(f"Caught by the shark at tick {tick(page)}")
    expect(page.locator("#end-text")).to_contain_text(f"Yours: {last} ticks since you took over; best on this map: {last}")
    page.locator("#again").click()
    expect(page.locator("#end")).to_be_hidden()
    assert page.evaluate("board.index") == last - 5
    page.keyboard.press("End")
    expect(page.locator("#end")).to_be_visible()
    page.locator("#end-close").click()
    expect(page.locator("#end")).to_be_hidden()
    page.keyboard.press("r")
    assert page.evaluate("board.index") == last - 5
    car, catcher = page.evaluate("(board.seek(Infinity), board.mapView.draw(board.replay, board.replay.last, {}, null), [board.mapView.center(...board.replay.frames.at(-1).positions.slice(0, 2)), Object.values(board.mapView.drawn[0])])")
    assert car[0] - catcher[0] > 5 and car[1] - catcher[1] > 5, "the catcher is drawn aside"


def test_end_card_shows_the_line_that_lives(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    page.evaluate("session.move('.'.repeat(300))")
    expect(page.locator("#end")).to_be_visible()
    page.locator("#end-line").click()
    expect(page.locator("#other-title")).to_contain_text("the surviving line")
    assert page.evaluate("board.other.replay.header.status") == "complete"


@pytest.mark.parametrize("way", ["again", "new game", "the line", "a key at the end"])
def test_second_board_closes_when_the_game_goes_on(page: Page, view: View, way: str) -> None:
    open_game_of_user(page, view)
    page.evaluate("session.move('.'.repeat(300))")
    page.locator("#end-line").click()
    wait_until(page, "board.other !== null")
    last = page.evaluate("board.replay.last")
    page.keyboard.press("End")
    if way == "again":
        page.keyboard.press("r")
    elif way == "new game":
        page.locator("#new-game").click()
    elif way == "the line":
        page.locator("#take-line").click()
        wait_until(page, "board.replay.header.status === 'complete'")
    else:
        page.keyboard.press("ArrowUp")
    expect(page.locator("#other")).to_be_hidden()
    if way != "the line":
        wait_until(page, f"board.index === {({'again': last - 5, 'new game': 0, 'a key at the end': last})[way]}")
    expect(page.locator("#end")).to_be_visible(visible=way == "a key at the end")
    # The curve explains the lost game.
    expect(page.locator("#curve")).to_be_visible(visible=way in ("again", "a key at the end"))


def test_keys_drive_after_a_click_and_a_pause_ends_at_a_whole_tick(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    page.evaluate("session.move('.'.repeat(30))")
    wait_until(page, "board.index === 30 && board.target === null")
    page.locator("#home").click()
    pauses: list[Callable[[], None]] = [lambda: page.keyboard.press("Space"), lambda: page.locator("#judge-switch").click()]
    for pause in pauses:
        page.keyboard.press("Space")
        wait_until(page, "board.playing && board.playhead % 1 > 0.1")
        pause()
        wait_until(page, "!board.playing && board.target === null")
        assert page.evaluate("Number.isInteger(board.playhead)")
    page.keyboard.press("Space")
    assert page.evaluate("board.playing && document.getElementById('judge-switch').checked")


def test_tap_beside_a_sheet_closes_it(open_page: OpenPage, view: View) -> None:
    page = open_page(phone=True)
    open_game_of_user(page, view)
    page.locator("#tab-map").tap()
    expect(page.locator("#panel-map")).to_be_visible()
    page.touchscreen.tap(195, 200)
    expect(page.locator("#panel-map")).to_be_hidden()
    assert page.evaluate("session.game.moves") == ""


def test_line_that_lives_is_in_view_on_a_phone_and_in_the_link(open_page: OpenPage, view: View) -> None:
    page = open_page(phone=True)
    open_game_of_user(page, view)
    page.evaluate("session.move('.'.repeat(300))")
    page.locator("#end-line").click()
    wait_until(page, "board.other !== null")
    expect(page.locator("#panel-why")).to_be_hidden()
    page.evaluate("board.seek(1500)")
    other = start(open_page(phone=True), page.evaluate("share.link()"))
    assert tick(other) == 1501


def test_tap_on_the_pad_does_not_hit_the_card_that_comes_over_it(open_page: OpenPage, view: View, tmp_path: Path) -> None:
    page = open_page(phone=True)
    lose(page, view, tmp_path)
    box = page.locator("#again").bounding_box()
    assert box
    at = f"document.elementFromPoint({box['x'] + 9}, {box['y'] + 9}).closest('#end')"
    # The card is shown again, because the test may have been too slow for its first appearance.
    assert page.evaluate(f"((end) => {{ end.hidden = true; end.offsetWidth; end.hidden = false; return {at} === null; }})(document.getElementById('end'))")
    wait_until(page, f"{at} !== null")


def test_key_against_a_wall_takes_over_and_spends_no_tick(page: Page, url: str) -> None:
    start(page, url)
    wait_until(page, "session.game.moves.length > 900")
    page.evaluate("board.seek(0)")
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("[session.isDemo, board.playing, session.index, session.game.moves.length > 900]") == [False, False, 0, True]


def test_trainer_judges_a_try_and_plays_nothing(page: Page, view: View) -> None:
    start(page, view(str(CAUGHT)))
    page.locator("#tab-play").click()
    page.keyboard.press("End")
    page.locator("#judge-switch").check()
    page.locator("#train").click()
    fault = page.evaluate("judge.trainer.faults[0]")
    moves = page.evaluate("session.game.moves")
    expect(page.locator("#trainer")).to_contain_text(f"tick {fault['tick']}: your move")
    assert page.evaluate("[...document.querySelectorAll('#pad small')].every((text) => text.textContent === '')"), "the verdicts are hidden"
    page.locator("#title").click()
    page.keyboard.press({"L": "ArrowLeft", "R": "ArrowRight", "U": "ArrowUp", "D": "ArrowDown", ".": "."}[fault["letter"]])
    expect(page.locator("#trainer")).to_contain_text("doomed, proven")
    expect(page.locator("#training")).to_have_attribute("data-kind", "wrong")
    page.keyboard.press({"left": "ArrowLeft", "right": "ArrowRight", "up": "ArrowUp", "down": "ArrowDown", "stay": "."}[fault["better"][0]])
    expect(page.locator("#trainer")).to_contain_text("Right.")
    assert page.evaluate("session.game.moves") == moves
    while page.locator("#next-fault").is_visible():
        page.locator("#next-fault").click()
    page.locator("#train").click()
    page.locator("#stop-training").click()
    expect(page.locator("#trainer")).to_be_hidden()


def test_game_starts_at_a_phase(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    value = page.locator("#start-at option").nth(1).get_attribute("value")
    page.locator("#start-at").select_option(value)
    wait_until(page, f"session.game.moves.length === {int(value or 0) - 1}")
    expect(page.locator("#tick")).to_have_text(str(value))
    page.locator("#undo").click()
    wait_until(page, "session.game.moves.length === 0")


def test_timeline_is_clicked_dragged_and_hovered(page: Page, view: View) -> None:
    start(page, view(str(CAUGHT)))
    wait_until(page, "board.analysis !== null")
    box = page.locator("#curve").bounding_box()
    assert box
    at = [page.evaluate(f"board.timeline.x({index}, board.end)") for index in (40, 60)]
    page.mouse.click(box["x"] + at[0], box["y"] + 9)
    assert tick(page) == 41
    page.mouse.down()
    page.mouse.move(box["x"] + at[1], box["y"] + 9)
    page.mouse.up()
    assert tick(page) == 61
    expect(page.locator("#mark-text")).to_contain_text("tick 61: room for ")
    page.evaluate("board.explain({ isJudged: true, first_tick: 1, room: Array(108).fill(1), open: Array(108).fill(4), falls: [] })")
    page.mouse.move(box["x"] + at[0], box["y"] + 9)
    expect(page.locator("#mark-text")).to_contain_text("tick 41: 1 of 4 moves survives")


def test_judging_does_not_change_the_size_of_the_board(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    size = "[board.mapView.canvas.clientWidth, board.mapView.canvas.clientHeight]"
    before = page.evaluate(size)
    page.locator("#judge-switch").check()
    wait_until(page, "session.judgement?.isFinal === true")
    assert page.evaluate(size) == before


def test_challenge_opens_from_an_address_that_a_chat_has_changed(open_page: OpenPage, url: str) -> None:
    page = start(open_page(), url)
    page.evaluate("maps.bundled.find(({ name }) => name === 'snail') && document.querySelector('[data-map=snail]').click()")
    wait_until(page, "session.game?.name === 'snail'")
    page.locator("#tab-share").click()
    page.locator("#challenge").check()
    page.locator("#beat").fill("3")
    wait_until(page, "document.getElementById('address').value.endsWith('&beat=3')")
    address = page.locator("#address").input_value()
    for added in (")", ".", "&utm_source=chat", ").&x=1"):
        other = start(open_page(), address + added)
        expect(other.locator("#banner")).to_contain_text("A challenge: survive 3 ticks from here.")
        assert other.evaluate("[session.game.name, session.challenge]") == ["snail", {"from": 0, "ticks": 3}]
    for _ in range(3):
        other.keyboard.press(".")
    expect(other.locator("#banner")).to_contain_text("Challenge met: you survived 3 ticks.")


def test_pictures_are_shared(page: Page, url: str, tmp_path: Path) -> None:
    start(page, url)
    page.locator("#tab-share").click()
    for button, magic in (("share-png", b"\x89PNG"), ("share-gif", b"GIF89a")):
        with page.expect_download() as download:
            page.locator(f"#{button}").click()
        file = tmp_path / button
        download.value.save_as(file)
        assert file.read_bytes().startswith(magic)


def test_nothing_is_lost_when_another_game_is_opened(page: Page, url: str, tmp_path: Path) -> None:
    start(page, url)
    page.locator("#daily").click()
    wait_until(page, "session.game?.name.startsWith('map of ')")
    page.keyboard.press(".")
    wait_until(page, "session.game.moves === '.' && !session.isSending")
    game = page.evaluate("session.game")
    drop(page, CAUGHT, CAUGHT.name)
    wait_until(page, "session.recording !== null && session.game?.moves.length > 9")
    for text in ("no map", "#####\n#...#\n#####\n"):
        file = tmp_path / "drawing.txt"
        file.write_text(text)
        drop(page, file, "drawing.txt")
        expect(page.locator("#banner")).to_contain_text("expected a PNG or text map, a recorded game (.jsonl, .jsonl.gz) or a certificate.")
    page.locator("#undo").click()
    wait_until(page, "session.recording === null")
    assert page.evaluate("session.game") == game


def test_settings_persist_and_have_parameters(page: Page, url: str) -> None:
    start(page, url)
    page.locator("#speed").select_option("5")
    page.locator("#tab-view").click()
    page.locator("[name=deadly]").check()
    page.locator("#judge-switch").check()
    page.goto("about:blank")
    start(page, url)
    assert page.evaluate("[board.speed, board.layers.deadly, judge.isOn]") == [5, True, True]
    page.goto("about:blank")
    start(page, f"{url}#speed=2&layers=paths,trail&judge=0")
    assert page.evaluate("[board.speed, board.layers.deadly, board.layers.paths, judge.isOn]") == [2, False, True, False]


def test_editor_owns_the_keys_and_takes_back(page: Page, url: str) -> None:
    start(page, url)
    page.locator("#tab-map").click()
    page.locator("#draw-new").click()
    before = page.evaluate("[session.game.moves, board.index]")
    rows = "editor.map.tiles.join('')"
    blank = page.evaluate(rows)
    for key in ("0", "Enter", "ArrowRight", "ArrowRight", "f", "2", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate("[session.game.moves, board.index]") == before
    filled = page.evaluate(rows)
    assert filled.count("~") == blank.count(".") - 1
    page.keyboard.press("Control+z")
    page.locator("#editor-undo").click()
    assert page.evaluate(rows) == blank
    page.keyboard.press("Control+Shift+Z")
    page.locator("#editor-redo").click()
    assert page.evaluate(rows) == filled
    page.locator("#editor-canvas").focus()
    for key in ("4", "Enter", "e", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate("editor.map.threats") == []
    questions: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        questions.append(dialog.message)
        dialog.dismiss()

    page.once("dialog", dismiss)
    page.locator("#editor-cancel").click()
    assert questions == ["Discard the changes to this map?"]
    assert page.evaluate("editor.isOpen")


def test_zoom_and_pan(page: Page, view: View) -> None:
    start(page, view("metropolis", "--planner", "human"))
    whole = page.evaluate("board.mapView.tile")
    page.locator("#zoom-in").click()
    page.keyboard.press("z")
    wait_until(page, f"board.mapView.tile > 2 * {whole}")
    left = page.evaluate("board.mapView.left")
    box = page.locator("#canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 200)
    page.mouse.up()
    wait_until(page, f"board.mapView.left > {left} + 40")
    page.locator("#zoom-out").click()
    page.keyboard.press("x")
    wait_until(page, f"board.mapView.tile === {whole}")


SIZES = [(1920, 1080), (1280, 800), (932, 430), (844, 390), (768, 1024), (700, 500), (390, 844), (360, 640)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_window_has_a_board_a_pad_and_a_panel(page: Page, view: View, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_game_of_user(page, view)
    page.locator("#tab-map").click()
    panel = page.locator("#panel-map").bounding_box()
    assert panel and panel["width"] >= 280 and panel["height"] >= 200, panel
    page.locator("[data-map=metropolis]").click()
    wait_until(page, "session.game?.name === 'metropolis'")
    page.evaluate("(document.getElementById('tab-rules').click(), document.body.classList.add('sheet'))")
    label, reset = page.locator("label:has(#no-jump)").bounding_box(), page.locator("#rules-reset").bounding_box()
    assert label and reset and label["y"] + label["height"] <= reset["y"], (label, reset)
    page.evaluate("closeSheet()")
    page.keyboard.press(".")
    expect(page.locator("#yours-cell")).to_be_visible()
    for name in ("#canvas", "#pad", "#play", "#tabs"):
        box = page.locator(name).bounding_box()
        assert box and box["x"] >= 0 and box["y"] >= 0 and box["x"] + box["width"] <= size[0] and box["y"] + box["height"] <= size[1], (name, box)
    board = page.evaluate("[board.mapView.canvas.clientWidth, board.mapView.canvas.clientHeight]")
    assert min(board) >= 240, board
    assert page.evaluate("board.mapView.tile / board.mapView.ratio") >= 13
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_embedded_board_takes_the_keys_and_the_theme(page: Page, static: str) -> None:
    page.route("**/host.html", lambda route: route.fulfill(content_type="text/html", body=f'<!doctype html><title>host</title><iframe src="{static}?embed&theme=dark" width="600" height="500"></iframe>'))
    page.goto(f"{static}host.html")
    frame = page.frames[1]
    frame.wait_for_selector("body[data-ready]")
    assert frame.evaluate("isDark()")
    expect(page.frame_locator("iframe").locator("#tabs")).to_be_hidden()
    page.evaluate("(frames[0].postMessage({ theme: 'light' }, '*'), document.querySelector('iframe').focus())")
    page.keyboard.press(".")
    page.wait_for_timeout(300)
    assert frame.evaluate("[isDark(), session.isDemo]") == [False, False]


def test_first_round_of_requests_has_the_engine(page: Page, static: str) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url.removeprefix(static)))
    start(page, static)
    assert "engine.bin" in requests[:5], requests
    assert requests.count("engine.bin") == 1


@pytest.mark.parametrize("mode", ["lost", "editor", "trainer"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_the_modes(open_page: OpenPage, view: View, tmp_path: Path, mode: str, dark: bool) -> None:
    page = open_page(dark=dark)
    load_axe(page)
    if mode == "lost":
        lose(page, view, tmp_path)
    elif mode == "editor":
        open_game_of_user(page, view)
        page.locator("#tab-map").click()
        page.locator("#draw").click()
    else:
        start(page, view(str(CAUGHT)))
        page.locator("#tab-play").click()
        page.locator("#judge-switch").check()
        page.locator("#train").click()
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations(page)] == []


def test_page_from_a_disk_says_what_to_do(open_page: OpenPage, static: str, tmp_path: Path) -> None:
    from .test_playground import FOLDER

    page = open_page(logs_matter=False)
    page.goto((FOLDER / "index.html").as_uri())
    expect(page.locator("#banner")).to_contain_text("run python3 -m http.server in its folder, or getaway view")
    assert page.evaluate("board.replay.last === 0"), "the first frame is drawn without the engine"


def test_end_card_opens_the_share_box(page: Page, static: str) -> None:
    page.add_init_script("navigator.share = (data) => { window.shared = data; return Promise.resolve(); }")
    start(page, static)
    page.locator("#tab-map").click()
    page.locator("[data-map=corner-shop]").click()
    wait_until(page, "session.game?.name === 'corner-shop'")
    page.evaluate("session.move('.'.repeat(400))")
    page.locator("#end-share").click()
    expect(page.locator("#embed-code")).to_have_value(re.compile('^<iframe src="http[^"]+[?]embed#game='))
    page.locator("#device-share").click()
    wait_until(page, "window.shared?.url === document.getElementById('address').value")


def test_full_screen_is_entered_and_left(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    page.locator("#full").click()
    wait_until(page, "document.fullscreenElement !== null")
    page.locator("#full").click()
    wait_until(page, "document.fullscreenElement === null")


def test_planner_has_a_budget_and_a_seed(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    page.locator("#planner").select_option("random")
    page.locator("#planner-budget").select_option("1000")
    page.locator("#planner-seed").fill("7")
    page.locator("#let-play").click()
    expect(page.locator("#play-status")).to_contain_text("random: ")
    moves = [page.evaluate(f"session.client.json('play', {{ game: {{ ...session.game, moves: '' }}, index: 0, planner: 'random', seed: {seed}, budget_ticks: 1000 }})") for seed in (7, 0)]
    assert [page.evaluate("session.game.moves") == played for played in moves] == [True, False]


def test_long_tasks_can_be_stopped(page: Page, url: str, request: pytest.FixtureRequest) -> None:
    start(page, url)
    page.evaluate("maps.generate({ kind: 'labyrinth', width: 21, height: 17, threats: 9, braid_permille: 0, seed: 3 })")
    wait_until(page, "session.game?.name !== 'market-square'")
    page.locator("#tab-prove").click()
    page.locator("#solve-budget").select_option("3000000000")
    page.locator("#solve").click()
    page.locator("#solve-stop").click()
    expect(page.locator("#solve-status")).to_contain_text("Stopped.")
    page.locator("#tab-play").click()
    page.locator("#planner-budget").select_option("200000")
    page.locator("#let-play").click()
    page.locator("#stop-play").click()
    expect(page.locator("#play-status")).to_have_text("Stopped.")
    page.evaluate("session.move('.'.repeat(300))")
    wait_until(page, "!session.isSending")
    # A worker cannot be interrupted in an analysis.
    if request.node.callspec.id == "server":
        page.locator("#tab-why").click()
        page.evaluate("(document.getElementById('why').click(), document.getElementById('why-stop').click())")
        expect(page.locator("#sentence")).to_have_text("Stopped.")


def test_files_are_chosen(page: Page, url: str) -> None:
    start(page, url)
    page.locator("#tab-map").click()
    page.locator("#file").set_input_files(CAUGHT)
    wait_until(page, "session.recording !== null")


def test_maps_are_generated(page: Page, url: str) -> None:
    start(page, url)
    page.locator("#tab-map").click()
    page.locator("#kind").select_option("maze")
    for name, value in {"seed": 5, "width": 23, "height": 11, "threats": 3, "braid": 500}.items():
        page.locator(f"#map-{name}").fill(str(value))
    page.locator("#generate").click()
    wait_until(page, "session.game?.map.tiles.length === 11 && session.game.map.tiles[0].length === 23 && session.game.map.threats.length === 3")
    first = page.evaluate("session.game.map.tiles.join()")
    page.locator("#surprise").click()
    wait_until(page, f"session.game.map.tiles.join() !== {first!r}")
    expect(page.locator("#map-seed")).to_have_value("6")


def test_rules_change_and_return(page: Page, url: str) -> None:
    start(page, url)
    page.locator("#tab-rules").click()
    page.locator("#no-jump").check()
    wait_until(page, "session.game.rules.no_jump === true")
    expect(page.locator("#subtitle")).to_contain_text("no jumping")
    page.locator("#rules-reset").click()
    wait_until(page, "session.game.rules.no_jump === false")


def test_late_answer_about_the_rules_before_does_not_change_the_form(page: Page, url: str) -> None:
    start(page, url)
    page.locator("#tab-rules").click()
    page.evaluate(
        """() => {
          const { rules } = maps;
          const { client } = rules;
          rules.client = { json: async (...request) => (await new Promise((done) => (window.answer = done)), client.json(...request)) };
          window.shown = rules.show(rules.rules);
          window.answerBefore = answer;
        }"""
    )
    page.locator("#no-jump").check()
    page.evaluate("(answerBefore(), shown)")
    expect(page.locator("#no-jump")).to_be_checked()
    page.evaluate("answer()")
    wait_until(page, "session.game.rules.no_jump === true")


def test_lines_can_be_driven(page: Page, view: View) -> None:
    start(page, view(str(CAUGHT)))
    page.locator("#take-line").click()
    wait_until(page, "session.recording === null && session.game.moves.length === 2000")
    page.locator("#tab-prove").click()
    page.locator("#solve").click()
    page.locator("#take-solution").click()
    wait_until(page, "session.game.moves === prove.solved.solution.moves && session.index === 0")


def test_task_of_another_game_is_cancelled(page: Page, view: View) -> None:
    open_game_of_user(page, view)
    page.evaluate("session.setMoves('.'.repeat(2000), 1)")
    wait_until(page, "board.replay.isOver")
    # The analysis never answers, so only cancelling ends it.
    page.route("**/engine/analyse", lambda route: None)
    page.locator("#tab-why").click()
    page.locator("#why").click()
    expect(page.locator("#why-stop")).to_be_visible()
    page.evaluate("void session.open({ ...session.game, moves: '' })")
    expect(page.locator("#why-stop")).to_be_hidden()
    expect(page.locator("#sentence")).to_be_empty()


def test_trainer_leaves_board_and_pad_free_on_a_phone(page: Page, view: View) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    start(page, view(str(CAUGHT)))
    page.keyboard.press("End")
    page.keyboard.press("c")
    page.locator("#tab-play").click()
    page.locator("#train").click()
    assert_board_is_clear(page, "#training", "#pad", "#tabs")
