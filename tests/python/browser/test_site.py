"""Tests of the documentation's website, opened from disk in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from conftest import ROOT, build_site

from .conftest import TIMEOUT_MS, OpenPage, load_axe, violations


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build_site(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_search_finds_register_in_pages_on_a_disk(site: Path, open_page: OpenPage, phone: bool) -> None:
    page = open_page(phone=phone)
    page.goto((site / "index.html").as_uri())
    page.locator("label.md-header__button[for=__search]" if phone else "input[name=query]").first.click()
    page.locator("input[name=query]").press_sequentially("REGISTER")
    result = page.locator(".md-search-result__item a[href*='protocol.html'][href$='#register']").first
    expect(result).to_be_visible(timeout=TIMEOUT_MS)
    result.click()
    expect(page.locator("h2#register")).to_be_in_viewport()


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_pages_fit_their_screen_and_load_nothing_from_elsewhere(site: Path, open_page: OpenPage, phone: bool) -> None:
    page = open_page(phone=phone)
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url) if not request.url.startswith(("file:", "data:")) else None)
    # The 404 page has absolute links, which work only on a server.
    for file in sorted(set(site.rglob("*.html")) - {site / "404.html"}):
        page.goto(file.as_uri())
        width, screen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= screen, f"{file.name} is {width} pixels wide on a screen of {screen}"
        broken = page.evaluate("[...document.images].filter((image) => image.complete && !image.naturalWidth).map((image) => image.src)")
        assert broken == [], file.name
    assert elsewhere == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_on_the_site(site: Path, open_page: OpenPage, dark: bool) -> None:
    page = open_page(dark=dark)
    load_axe(page)
    files = sorted(set(site.rglob("*.html")) - {site / "404.html"})
    for file in [*files, ROOT / "instances" / "records.html"]:
        page.goto(file.as_uri())
        assert [(rule["id"], rule["nodes"][0]["html"]) for rule in violations(page)] == [], file.name
