"""Tests a replay that is embedded in a page, as in a notebook."""

from __future__ import annotations

from playwright.sync_api import Page, expect

import getaway
from conftest import MAPS


def test_a_replay_plays_in_its_frame(page: Page) -> None:
    game = getaway.Game(MAPS / "roundabout")
    game.play(getaway.solve(game, budget_ms=20_000).moves)
    page.set_content(f"<!doctype html><title>a notebook</title>{getaway.Replay(game)._repr_html_()}")
    frame = page.frame_locator("iframe")
    expect(frame.locator("#title")).to_have_text("roundabout")
    expect(frame.locator("#tick")).to_have_text("1")
    frame.locator("#to-end").click()
    expect(frame.locator("#tick")).to_have_text("2,001")
    frame.locator("#home").click()
    frame.locator("#speed").select_option("100")
    frame.locator("#play").click()
    expect(frame.locator("#tick")).not_to_have_text("1")
