"""Measures the track *large* of the benchmark and draws the result:
`python tools/large_plot.py target/release/getaway docs/large.svg`.

The panels show the processor time and the peak memory of `getaway solve`, of `getaway benchmark
check` and of `benchmark/check.py`, by the size of the map and the number of threats.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bank_plot import BOTTOM, HEIGHT, LEFT, PANEL_WIDTH, TOP, WIDTH, panel, text

BENCHMARK = Path(__file__).resolve().parents[1] / "benchmark"
SOLVE_MS = 15_000
TOOLS = {"solve": "#2f4b7c", "benchmark check": "#4c9f70", "check.py": "#c8553d"}
DASHES = {"maze": "", "labyrinth": ' stroke-dasharray="5 3"'}
SIZES, THREATS = ("41x31", "61x49"), ("06", "24", "62")
ROWS = {
    "processor time": {0.01: "10 ms", 0.1: "0.1 s", 1.0: "1 s", 10.0: "10 s", 100.0: "100 s"},
    "peak memory": {10.0: "10 MB", 100.0: "100 MB", 1000.0: "1 GB"},
}


def measure(command: list[str]) -> tuple[float, float]:
    """Runs a command. Returns its processor time in seconds and its peak memory in megabytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read() if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}: {errors}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def curve(left: float, points: list[tuple[float, float]], colour: str, dash: str) -> list[str]:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>']
    return parts + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]


def main(program: str, out: Path) -> None:
    measured: dict[tuple[str, str, str, str], tuple[float, float]] = {}
    for line in (BENCHMARK / "instances.jsonl").read_text("utf-8").splitlines():
        track, _, name = json.loads(line).get("instance", "").partition("/")
        if track != "large":
            continue
        record = str(BENCHMARK / "records" / track / f"{name}.txt")
        kind, size, _, _, threats, _ = name.split("-", 5)
        with tempfile.TemporaryDirectory() as folder:
            map_file = str(BENCHMARK / json.loads(line)["map"])
            commands = {
                "solve": [program, "solve", map_file, "--no-jump", "--time-limit-ms", str(SOLVE_MS)],
                "benchmark check": [program, "benchmark", "check", "--benchmark", str(BENCHMARK), record],
                "check.py": [sys.executable, str(BENCHMARK / "check.py"), record],
            }
            for tool, command in commands.items():
                measured[tool, kind, size, threats] = measure(command)
                print(name, tool, *(f"{value:.2f}" for value in measured[tool, kind, size, threats]), flush=True)
    body: list[str] = []
    for row, (quantity, ticks) in enumerate(ROWS.items()):
        low, high = math.log10(min(ticks)), math.log10(max(ticks))

        def height(value: float, low: float = low, high: float = high) -> float:
            return TOP + HEIGHT * (1 - (math.log10(max(value, 10**low)) - low) / (high - low))

        body.append(f'<g transform="translate(0 {row * (TOP + HEIGHT + BOTTOM)})">')
        for column, size in enumerate(SIZES):
            left, step = LEFT + column * PANEL_WIDTH, WIDTH / len(THREATS)
            body += panel(column, f"{quantity}, {size}", "threats", [str(int(count)) for count in THREATS])
            body += [text(left - 6, height(value) + 4, label, "end", 10) for value, label in ticks.items()]
            for tool, colour in TOOLS.items():
                for kind, dash in DASHES.items():
                    values = [measured[tool, kind, size, count][row] for count in THREATS]
                    points = [(left + step * (place + 0.5), height(value)) for place, value in enumerate(values)]
                    body += curve(left, points, colour, dash)
        body.append("</g>")
    for place, (tool, colour) in enumerate(TOOLS.items()):
        body.append(f'<text x="{LEFT + 6}" y="{TOP + 14 + 13 * place}" font-size="10" fill="{colour}">{tool}</text>')
    body.append(f'<text x="{LEFT + 6}" y="{TOP + 53}" font-size="10">solid: mazes; dashed: labyrinths</text>')
    width, total = 2 * PANEL_WIDTH, 2 * (TOP + HEIGHT + BOTTOM)
    lines = "\n".join(body)
    out.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{lines}\n</svg>\n',
        "utf-8",
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]))
