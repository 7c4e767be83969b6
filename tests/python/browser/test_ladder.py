"""Tests of the pages that `getaway ladder` writes, opened from disk in a real browser."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from conftest import ROOT, TIMEOUT_S

from .conftest import OpenPage, load_axe, violations

ENTRANTS = ["random", "mine=safest", "mine=sampling", "broken=pipe:exit 3"]


@pytest.fixture(scope="module")
def ladder(getaway_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ladder") / "league"
    added = [word for entrant in ENTRANTS for word in ("--add", entrant)]
    options = ["--map", "corner-shop", "--map", "snail", "--budget-ticks", "30", "--samples", "6"]
    subprocess.run([getaway_program, "ladder", folder, *options, *added], cwd=ROOT, check=True, capture_output=True, timeout=TIMEOUT_S)
    return folder


def test_page_shows_places_versions_and_failures(page: Page, ladder: Path) -> None:
    page.goto((ladder / "index.html").as_uri())
    expect(page).to_have_title("getaway: ladder league")
    expect(page.locator("#standing tbody tr")).to_have_count(3)
    expect(page.locator("#sentence")).to_contain_text("broken is set aside; ")
    expect(page.locator("#out tbody tr")).to_contain_text("set aside: failed in 3 games in a row; last: crashed on")
    expect(page.locator("#versions tbody tr").first).to_contain_text("mine@2")
    expect(page.locator("#standing tbody tr").last).to_contain_text("random")


def test_every_listed_game_opens_in_the_viewer(page: Page, ladder: Path) -> None:
    page.goto((ladder / "index.html").as_uri())
    page.locator("#games a").last.click()
    viewer = page.frame_locator("#frame")
    expect(viewer.locator("#tick")).to_have_text("1")


def test_older_games_are_shown_on_demand_and_stay_after_a_reload(page: Page, ladder: Path) -> None:
    page.goto((ladder / "index.html").as_uri())
    rows = page.locator("#games tbody tr")
    expect(rows).to_have_count(15)
    page.locator("#all").click()
    expect(page.locator("#all")).to_be_hidden()
    shown = rows.count()
    assert shown > 15
    page.reload()
    expect(rows).to_have_count(shown)


def test_unknown_game_is_one_sentence(open_page: OpenPage, ladder: Path) -> None:
    page = open_page(logs_matter=False)
    page.goto((ladder / "game.html").as_uri() + "#99999")
    expect(page.locator("#status")).to_have_text("there is no game 99999")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_ladder_is_readable_on_a_phone(open_page: OpenPage, ladder: Path, dark: bool) -> None:
    page = open_page(dark=dark, phone=True)
    page.goto((ladder / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    link = page.locator("#games a").first.bounding_box()
    assert link is not None and link["x"] + link["width"] <= 390


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_a_ladder(open_page: OpenPage, ladder: Path, dark: bool) -> None:
    page = open_page(dark=dark)
    load_axe(page)
    page.goto((ladder / "index.html").as_uri())
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations(page)] == []


def test_page_of_a_running_ladder_updates_in_place(page: Page, ladder: Path, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    html = (ladder / "index.html").read_text()
    found = re.search(r'id="data">(.*?)</script>', html)
    assert found is not None

    def write(games: int, is_running: bool) -> None:
        data = json.loads(found[1])
        data["standing"]["games"] = games
        data["text"]["is_running"] = is_running
        file.write_text(html.replace(found[1], json.dumps(data).replace("<", "\\u003c")))

    write(1000, True)
    page.goto(file.as_uri())
    expect(page.locator("#sentence")).to_contain_text("after 1,000 games")
    page.evaluate("window.isSame = true")
    page.locator("#games a").nth(2).focus()
    link = page.evaluate("document.activeElement.href")
    write(1001, False)
    expect(page.locator("#sentence")).to_contain_text("after 1,001 games")
    assert page.evaluate("[window.isSame, document.activeElement.href, document.querySelectorAll('iframe').length]") == [True, link, 0]
