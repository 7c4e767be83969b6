"""Tests of drawings and replays of games."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import getaway
from conftest import MAPS
from getaway import Game, Map, Replay

SVG = "{http://www.w3.org/2000/svg}"


def translations(drawing: str) -> list[str]:
    return re.findall(r'<g transform="translate\((\d+ \d+)\)">', drawing)


def test_games_states_and_maps_draw_themselves() -> None:
    game = Game(MAPS / "old-town")
    game.play("RL..R" * 3)
    drawing = game._repr_svg_()
    root = ElementTree.fromstring(drawing)
    assert root.tag == f"{SVG}svg" and "id=" not in drawing and "script" not in drawing
    expected = [threat.position for threat in game.threats] + [game.player]
    assert translations(drawing) == [f"{x} {y}" for x, y in expected]
    assert f"tick {game.tick}, score {game.score}, lazy" in drawing
    assert translations(game.state._repr_svg_()) == translations(drawing)
    start = getaway.load_map(MAPS / "old-town")._repr_svg_()
    assert start == Game(MAPS / "old-town").state._repr_svg_()
    assert Map("P" + 5000 * ".")._repr_svg_() is None, "drew a map that is too large to be played"


def test_a_replay_plays_in_a_notebook_and_as_a_file(tmp_path: Path) -> None:
    game = Game(MAPS / "roundabout")
    game.play(getaway.solve(game, budget_ms=20_000).moves)
    replay = Replay(game, title="my <game>", subtitle="solved")
    frame = replay._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts"') and frame.count('"') == 8 and frame.endswith("</iframe>")
    assert "my \\u003cgame>" in replay.html() and replay.html().startswith("<!doctype html>")
    drawing = replay.svg(speed=10)
    moving = ElementTree.fromstring(drawing).iter(f"{SVG}animateTransform")
    player = [each for each in moving if each.get("type") == "translate"][-1]
    values = (player.get("values") or "").split(";")
    assert len(values) == 2001 and values[-1] == "{} {}".format(*game.player) and player.get("dur") == "20.000s"
    for name, content in (("a.html", replay.html()), ("a.svg", replay.svg())):
        replay.save(tmp_path / name)
        assert (tmp_path / name).read_text() == content
    assert repr(replay) == "<Replay of my <game>, 2000 ticks>"


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda replay: replay.save("a.png"), ValueError, "file: expected a name that ends with .html or .svg, found a.png"),
        (lambda replay: replay.save("no/such/folder/a.svg"), OSError, "cannot write no/such/folder/a.svg: "),
        (lambda replay: replay.svg(speed=0), ValueError, "speed: expected a number from 0.1 to 100, found 0"),
        (lambda replay: Replay(3), TypeError, "game"),  # type: ignore[arg-type]
    ],
)
def test_errors_say_what_was_expected(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call(Replay(Game(MAPS / "roundabout")))
