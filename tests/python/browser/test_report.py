"""Tests of the HTML reports of `getaway eval`, `battle` and `tournament` in a real browser."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, Request, expect

from conftest import ROOT, TIMEOUT_S
from waiting import wait_until as wait_for

from .conftest import OpenPage, load_axe, violations, wait_until

PLANNERS = ["random", "safest", "survival"]
MAPS = ["corner-shop", "snail"]
SAMPLES = 4
INVALID_ACTIONS = """
import json, sys
for line in sys.stdin:
    tick = json.loads(line)["tick"]
    print(json.dumps({"type": "COMMAND", "tick": tick, "actions": [{"type": "LEFT"}]}), flush=True)
"""


def run(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], cwd=ROOT, check=True, capture_output=True, text=True, timeout=TIMEOUT_S).stdout


@pytest.fixture(scope="module")
def evaluation(getaway_program: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    file = tmp_path_factory.mktemp("report") / "eval.html"
    planners = [argument for planner in PLANNERS for argument in ("--planner", planner)]
    maps = [word for name in MAPS for word in ("--map", name)]
    options = ["--samples", str(SAMPLES), "--budget-ticks", "2000", "--report", str(file), "--json"]
    return file, json.loads(run(getaway_program, "eval", *maps, *planners, *options))


def test_standing_is_sorted_best_first(page: Page, evaluation: tuple[Path, Any]) -> None:
    file, numbers = evaluation
    page.goto(file.as_uri())
    expect(page).to_have_title(f"getaway: evaluation of {', '.join(PLANNERS)}")
    rows = page.locator("#standing tbody tr")
    expect(rows).to_have_count(len(PLANNERS))
    expect(rows.first).to_contain_text("survival")
    expect(rows.first).to_contain_text("10,005")
    overall = {planner["planner"]: planner["overall"] for planner in numbers["planners"]}
    for row in rows.all():
        cells = row.locator("th, td").all_inner_texts()
        mean = overall[cells[1]]["score_mean"]
        assert abs(float(cells[2].split("\n")[0].replace(",", "")) - mean) <= 0.5


def test_every_chart_is_drawn_for_every_planner(page: Page, evaluation: tuple[Path, Any]) -> None:
    page.goto(evaluation[0].as_uri())
    curves = page.locator("#curves path.curve")
    expect(curves).to_have_count(len(PLANNERS))
    survival = page.locator("#curves path[data-planner=survival]")
    random = page.locator("#curves path[data-planner=random]")
    drawn = [curve.evaluate("curve => [curve.getBBox().width, curve.getBBox().height]") for curve in (survival, random)]
    assert drawn[0][0] > 500 and drawn[0][1] == 0, "survival loses no game"
    assert drawn[1][1] > 150, "random loses every game"
    starts = [(curve.get_attribute("d") or "").partition("H")[0] for curve in curves.all()]
    assert len(set(starts)) == len(PLANNERS), "each curve starts in its own place, so that equal curves do not hide each other"
    page.locator("#distributions summary").click()
    for chart in ("#scores", "#times"):
        expect(page.locator(f"{chart} svg")).to_have_count(len(PLANNERS))
        for facet in page.locator(f"{chart} svg").all():
            assert facet.locator("rect").count() >= 1
    assert all(chart.get_attribute("aria-label") for chart in page.locator("svg[role=img]").all())


def test_selecting_a_map_filters_the_report(page: Page, evaluation: tuple[Path, Any]) -> None:
    file, numbers = evaluation
    page.goto(file.as_uri())
    expect(page.locator("#count")).to_have_text(f"{len(PLANNERS) * len(MAPS) * SAMPLES} games")
    page.get_by_role("combobox", name="Map").select_option("snail")
    expect(page.locator("#count")).to_have_text(f"{len(PLANNERS) * SAMPLES} games")
    safest = next(planner for planner in numbers["planners"] if planner["planner"] == "safest")
    on_snail = next(summary for summary in safest["maps"] if summary["map"] == "snail")
    row = page.locator("#standing tbody tr", has_text="safest")
    expect(row.locator("td").nth(1)).to_contain_text(f"{round(on_snail['score_mean']):,}")


def test_matrix_counts_pairs_by_map(page: Page, evaluation: tuple[Path, Any]) -> None:
    page.goto(evaluation[0].as_uri())
    # Rows and columns are sorted from best to worst: `survival` is first, and `random` is last.
    survival, random = page.locator("#cross tbody tr").first, page.locator("#cross tbody tr").last
    pairs = len(MAPS) * SAMPLES
    expect(survival.locator("td").last).to_have_text(f"{pairs} – 0 – 0 *")
    expect(random.locator("td").first).to_have_text(f"0 – 0 – {pairs} *")
    expect(page.locator("#cross tbody tr")).to_have_count(len(PLANNERS))
    page.get_by_role("combobox", name="Map").select_option("snail")
    expect(survival.locator("td").last).to_have_text(f"{SAMPLES} – 0 – 0")


def test_command_of_a_game_reproduces_its_score(
    page: Page, evaluation: tuple[Path, Any], getaway_program: Path
) -> None:
    page.goto(evaluation[0].as_uri())
    page.locator("#order").select_option("lowest score")
    row = page.locator("#games tbody tr").first
    score, _ = score_and_end(row)
    command = shlex.split(row.locator("code").inner_text())
    assert command[0] == "getaway"
    played = json.loads(run(getaway_program, *command[1:], "--json"))
    assert f"{played['score']:,}" == score
    page.locator("#player").select_option("safest")
    expect(page.locator("#games tbody tr")).to_have_count(len(MAPS) * SAMPLES)


def score_and_end(row: Locator) -> tuple[str, str]:
    cell = row.locator("td").nth(3)
    return cell.evaluate("cell => cell.firstChild.textContent"), cell.locator("small").inner_text()


def watched(page: Page) -> FrameLocator:
    """Waits until the report's viewer shows a game, and returns the viewer's iframe."""
    viewer = page.frame_locator("#watch-frame")
    expect(viewer.locator("#tick")).not_to_have_text("–")
    return viewer


def test_every_game_can_be_watched_from_the_file_alone(page: Page, evaluation: tuple[Path, Any], tmp_path: Path) -> None:
    file = tmp_path / "sent.html"
    file.write_bytes(evaluation[0].read_bytes())
    page.goto(file.as_uri())
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#games a", has_text="watch")).to_have_count(len(PLANNERS) * len(MAPS) * SAMPLES)
    expect(page.locator("#replay-note")).to_contain_text("Every game can be watched here as it was played.")
    page.locator("#order").select_option("lowest score")
    row = page.locator("#games tbody tr").first
    score, ending = score_and_end(row)
    row.get_by_role("link").click()
    viewer = watched(page)
    expect(page.locator("#watch-title")).to_contain_text(score)
    expect(viewer.locator("#sentence")).to_contain_text("Lost at tick")
    viewer.get_by_role("button", name="To the end").click()
    expect(viewer.locator("#tick")).to_have_text(ending.removeprefix("tick "))
    expect(viewer.locator("#score")).to_have_text(f"{int(score.replace(',', '')):,}")
    expect(viewer.locator("#outcome")).to_contain_text("caught by")
    viewer.get_by_role("button", name="Show the surviving line").click()
    expect(viewer.locator("#other-title")).to_contain_text("the surviving line")
    page.get_by_role("button", name="close").click()
    expect(page.locator("#watch")).to_be_hidden()
    wait_until(page, "location.hash === ''")
    page.locator("#player").select_option("survival")
    page.locator("#games a").first.click()
    viewer = watched(page)
    viewer.get_by_role("button", name="To the end").click()
    expect(viewer.locator("#outcome")).to_have_text("survived: 10,005")


def test_address_opens_a_game_at_a_tick_beside_another(page: Page, evaluation: tuple[Path, Any]) -> None:
    page.goto(f"{evaluation[0].as_uri()}#game=3&tick=25")
    viewer = watched(page)
    expect(page.locator("#watch-title")).to_contain_text("survival on corner-shop, sample 1")
    expect(viewer.locator("#tick")).to_have_text("25")
    expect(viewer.locator("#other")).to_be_hidden()
    beside = page.get_by_role("combobox", name="beside")
    assert [text.split(":")[0] for text in beside.locator("option").all_inner_texts()] == ["no other game", "random", "safest"]
    beside.select_option(index=1)
    viewer = watched(page)
    expect(viewer.locator("#other-title")).to_contain_text("random: ")
    expect(viewer.locator("#other-title")).to_contain_text("first difference at tick")
    assert page.evaluate("location.hash") == "#game=3&tick=25&beside=1"
    page.go_back()
    expect(watched(page).locator("#other")).to_be_hidden()
    page.evaluate("location.hash = '#games'")
    expect(page.locator("#watch")).to_be_hidden()


def test_equal_games_are_stored_once(page: Page, evaluation: tuple[Path, Any]) -> None:
    file, numbers = evaluation
    page.goto(file.as_uri())
    distinct = sum(planner["overall"]["distinct_games"] for planner in numbers["planners"])
    assert distinct < len(PLANNERS) * len(MAPS) * SAMPLES
    expect(page.locator("script[id^=replay-]")).to_have_count(distinct)
    assert file.stat().st_size < 1_000_000


def test_game_of_an_external_bot_can_be_watched(page: Page, getaway_program: Path, tmp_path: Path) -> None:
    file = tmp_path / "battle.html"
    bot = tmp_path / "bot.py"
    bot.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    tick = json.loads(line)['tick']\n"
        "    if tick == 6: sys.exit(3)\n"
        "    print(json.dumps({'type': 'COMMAND', 'tick': tick, 'actions': []}), flush=True)\n"
    )
    options = ["--samples", "1", "--threads", "1", "--tick-ms", "5000", "--report", str(file), "--allow-failures"]
    run(getaway_program, "battle", f"pipe:{sys.executable} {bot}", "safest", "--map", "snail", *options)
    page.goto(file.as_uri())
    sentence = page.locator("#sentence")
    expect(sentence).to_contain_text("bot.py crashed in 1 of 1 game; first: crashed on snail, sample 1, tick 6: exit code 3")
    expect(sentence).to_have_class("sentence broken")
    box = sentence.bounding_box()
    assert box is not None and box["y"] + box["height"] < 400, "the first screen says what broke"
    expect(page.locator("#standing tbody tr", has_text="bot.py").locator("td.bad")).to_have_text("1 of 1")
    page.locator("#distributions summary").click()
    bar = page.locator("#scores > div", has_text="bot.py").locator("rect title")
    expect(bar).to_have_text("0 to 500 points: 100.0%")
    row = page.locator("#games tbody tr").first
    expect(row).to_contain_text("failed")
    row.get_by_role("link").click()
    viewer = watched(page)
    expect(viewer.locator("#note")).to_contain_text("The bot failed at tick")
    viewer.get_by_role("button", name="To the end").click()
    expect(viewer.locator("#outcome")).to_contain_text("caught by")


def test_entrant_without_games_has_no_score(page: Page, getaway_program: Path, tmp_path: Path) -> None:
    file, games = tmp_path / "tournament.html", tmp_path / "games.jsonl"
    options = ["--map", "snail", "--threads", "1", "--tick-ms", "60000", "--resume", str(games), "--report", str(file)]
    process = subprocess.Popen(
        [getaway_program, "tournament", "safest", "pipe:sleep 600", "random", *options],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for("one game", lambda: games.exists() and games.read_bytes().count(b"\n") == 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=TIMEOUT_S) == 130
    page.goto(file.as_uri())
    rows = page.locator("#standing tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="random").locator("td").nth(2)).to_have_text("–")


def test_battle_report_shows_the_verdict(page: Page, getaway_program: Path, tmp_path: Path) -> None:
    file = tmp_path / "battle.html"
    expression = "step(repeat(2, simulate(greedy)))"
    output = run(
        getaway_program, "battle", "random", expression, "--map", "corner-shop", "--budget-ticks", "2", "--report", str(file)
    )
    page.goto(file.as_uri())
    expect(page.locator("#sentence")).to_have_text(output.splitlines()[-1])
    expect(page.locator("h1")).to_have_text(f"random against {expression}")
    assert f"'{expression}'" in page.locator("#command").inner_text()


def test_battle_on_all_maps_is_short_and_its_labels_do_not_collide(page: Page, getaway_program: Path, tmp_path: Path) -> None:
    file = tmp_path / "battle.html"
    run(getaway_program, "battle", "random", "safest", "--samples", "1", "--budget-ticks", "1", "--report", str(file))
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(file.as_uri())
    expect(page.locator("#by-map tbody tr")).to_have_count(15)
    assert page.evaluate("document.documentElement.scrollHeight") <= 3000
    names = page.locator("#contents a").all_inner_texts()
    assert names == ["Standing", "Pairs", "Maps", "Survival", "Games", "About this run"]
    page.locator("#distributions summary").click()
    boxes = "[...document.querySelectorAll('svg')].map(svg => [...svg.querySelectorAll('text')].map(text => text.getBoundingClientRect()).map(({left, right, top, bottom}) => [left, right, top, bottom]))"
    for chart in page.evaluate(boxes):
        for index, (left, right, top, bottom) in enumerate(chart):
            for other in chart[:index]:
                assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top, (chart[index], other)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report_is_readable_on_a_phone_and_in_dark_mode(
    open_page: OpenPage, evaluation: tuple[Path, Any], dark: bool
) -> None:
    page = open_page(dark=dark, phone=True)
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))
    page.goto(evaluation[0].as_uri())
    expect(page.locator("#curves path.curve")).to_have_count(len(PLANNERS))
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, f"the page is {width} pixels wide; only tables may scroll, each inside its own frame"
    row = page.locator("#games tbody tr").first
    row.scroll_into_view_if_needed()
    for column in (0, 3):
        box = row.locator("td").nth(column).bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390, "score and watch are visible"
    colours = page.evaluate("(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))")
    lightness = [sum(map(int, colour[4:-1].split(","))) / 3 for colour in colours]
    assert (lightness[0] > lightness[1]) == dark
    assert abs(lightness[0] - lightness[1]) > 150
    assert [request.url for request in requests if request.url.startswith("http")] == [], "the report must not use the network"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_a_report(open_page: OpenPage, evaluation: tuple[Path, Any], dark: bool) -> None:
    page = open_page(dark=dark)
    load_axe(page)
    page.goto(evaluation[0].as_uri())
    page.locator("#distributions summary").click()
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations(page)] == []


def test_report_names_the_mistakes_of_a_bot(page: Page, getaway_program: Path, tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text(INVALID_ACTIONS)
    file = tmp_path / "battle.html"
    options = ["--map", "corner-shop", "--samples", "1", "--budget-ticks", "1", "--report", str(file)]
    run(getaway_program, "battle", "random", f"wrong=pipe:{sys.executable} {bot}", *options)
    page.goto(file.as_uri())
    expect(page.locator("#mistakes li")).to_contain_text('invalid actions, the first {"type":"LEFT"} at tick 1: expected {"type": T}, where T is MOVE_LEFT')
