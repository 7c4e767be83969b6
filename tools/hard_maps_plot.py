"""Draws the results of `cargo bench --package getaway-benches --bench hard_maps`:
`python tools/hard_maps_plot.py benches/hard_maps.csv benches/generated_maps.csv docs/hardness.svg
"23 November 2026"`, with the date of the measurements.

The plots cover only no-jump maps. The left plot shows the shares of the verdicts by the number of
loops in the streets. The other two show the median and the upper quartile of the time to decide a
map: one by the number of open tiles, the other by the number of threats. For an undecided map, this
is the time of its whole search.
"""

from __future__ import annotations

import csv
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

Row = dict[str, str]
WIDTH, HEIGHT, LEFT, TOP = 250, 190, 52, 34
PANEL_WIDTH, PANEL_HEIGHT = WIDTH + 90, TOP + HEIGHT + 62
COLOURS = {"survives": "#4c9f70", "doomed": "#c8553d", "undecided": "#b8b8b8"}
LOOPS = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (6, 8), (9, 12), (13, 20), (21, 99)]
TILES = [(20, 29), (30, 44), (45, 64), (65, 94), (95, 139), (140, 200)]


def group(rows: list[Row], column: str, buckets: list[tuple[int, int]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for first, last in buckets:
        own = [row for row in rows if first <= int(row[column]) <= last]
        if len(own) >= 5:
            found[str(first) if first == last else f"{first}+" if last == 99 else f"{first}-{last}"] = own
    return found


def verdict(row: Row) -> str:
    """Returns the map's verdict, where `optimal` (doomed, with a proven score) becomes `doomed`."""
    return "doomed" if row["verdict"] == "optimal" else row["verdict"]


def text(x: float, y: float, words: str, anchor: str = "middle", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def panel(index: int, title: str, axis: str, names: list[str]) -> list[str]:
    left = LEFT + index * PANEL_WIDTH
    step = WIDTH / len(names)
    parts = [text(left + WIDTH / 2, TOP - 14, title, size=13), text(left + WIDTH / 2, TOP + HEIGHT + 36, axis)]
    parts += [text(left + step * (place + 0.5), TOP + HEIGHT + 16, name, size=9) for place, name in enumerate(names)]
    parts.append(f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#777"/>')
    return parts


def curve(points: list[tuple[float, float]], colour: str, dash: str = "") -> list[str]:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>']
    return parts + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]


def write(out: Path, columns: int, rows: int, parts: list[str]) -> None:
    """Writes an SVG file with room for this many panels."""
    body = "\n".join(parts)
    out.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * PANEL_WIDTH} {rows * PANEL_HEIGHT}" font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n',
        "utf-8",
    )


def shares(index: int, groups: dict[str, list[Row]]) -> list[str]:
    left, step = LEFT + index * PANEL_WIDTH, WIDTH / len(groups)
    parts = []
    for place, rows in enumerate(groups.values()):
        base = float(TOP + HEIGHT)
        for name, colour in COLOURS.items():
            height = HEIGHT * sum(verdict(row) == name for row in rows) / len(rows)
            base -= height
            x = left + place * step + 2
            parts.append(f'<rect x="{x:.1f}" y="{base:.1f}" width="{step - 4:.1f}" height="{height:.1f}" fill="{colour}"/>')
        parts.append(text(left + (place + 0.5) * step, TOP - 2, f"{len(rows)}", size=8))
    for place, (name, colour) in enumerate(COLOURS.items()):
        parts.append(f'<text x="{left + 4 + 80 * place}" y="{TOP + HEIGHT + 55}" font-size="10" fill="{colour}">■ {name}</text>')
    parts += [text(left - 6, TOP + HEIGHT * (1 - share) + 4, f"{share:.0%}", "end", 10) for share in (0, 0.5, 1)]
    return parts + panel(index, "share of maps", "loops of the streets", list(groups))


def times(index: int, title: str, axis: str, groups: dict[str, list[Row]]) -> list[str]:
    """Draws the median and upper quartile of each group on a logarithmic axis from 1 ms to 10 s."""
    left, step = LEFT + index * PANEL_WIDTH, WIDTH / len(groups)

    def height(time_ms: float) -> float:
        return TOP + HEIGHT * (1 - math.log10(max(time_ms, 1)) / 4)

    parts = []
    for label, quantile, colour in (("median", 0.5, "#2f4b7c"), ("upper quartile", 0.75, "#a05195")):
        points = []
        for place, rows in enumerate(groups.values()):
            taken = sorted(float(row["decided_ms"] or row["elapsed_ms"]) for row in rows)
            value = statistics.median(taken) if quantile == 0.5 else taken[int(quantile * (len(taken) - 1))]
            points.append((left + step * (place + 0.5), height(value)))
        parts += curve(points, colour)
        parts.append(f'<text x="{left + 6}" y="{TOP + 14 + 13 * (quantile > 0.5)}" font-size="10" fill="{colour}">{label}</text>')
    ticks = {1: "1 ms", 10: "10 ms", 100: "0.1 s", 1000: "1 s", 10000: "10 s"}
    parts += [text(left - 6, height(time_ms) + 4, name, "end", 10) for time_ms, name in ticks.items()]
    return parts + panel(index, title, axis, list(groups))


def main(hard_maps: Path, generated: Path, out: Path, date: str) -> None:
    """Draws the shares of the verdicts from both files, and the times from `generated` only."""
    read: Callable[[Path], list[Row]] = lambda path: list(csv.DictReader(path.open()))
    maps = [row for row in read(hard_maps) if row["set"] == "no-jump"]
    rows = read(generated)
    no_jump = [row for row in rows if row["set"].endswith("no-jump")]
    threats: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(no_jump, key=lambda row: int(row["threats"])):
        threats[row["threats"]].append(row)
    parts = shares(0, group(maps + no_jump, "loops", LOOPS))
    parts += times(1, "time until decided", "open tiles", group(no_jump, "tiles", TILES))
    parts += times(2, "time until decided", "threats", dict(threats))
    parts.append(text(LEFT + 2 * PANEL_WIDTH + WIDTH, TOP + HEIGHT + 55, f"measured on {date}", "end", 10))
    write(out, 3, 1, parts)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
