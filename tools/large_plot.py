"""Measures the track *large* of the benchmark and draws the result:
`python tools/large_plot.py target/release/getaway docs/large.svg`.

The panels show the processor time and the peak memory of `getaway solve`, of `getaway benchmark
check` and of `instances/check.py`, by the size of the map and the number of threats.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

from hard_maps_plot import HEIGHT, LEFT, PANEL_HEIGHT, PANEL_WIDTH, TOP, WIDTH, curve, panel, text, write

BENCHMARK = Path(__file__).resolve().parents[1] / "instances"
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


def main(program: str, out: Path) -> None:
    measured: dict[tuple[str, str, str, str], tuple[float, float]] = {}
    for line in (BENCHMARK / "instances.jsonl").read_text("utf-8").splitlines():
        track, _, name = json.loads(line).get("instance", "").partition("/")
        if track != "large":
            continue
        record = str(BENCHMARK / "records" / track / f"{name}.txt")
        kind, size, _, _, threats, _ = name.split("-", 5)
        map_file = str(BENCHMARK / json.loads(line)["map"])
        commands = {
            "solve": [program, "solve", map_file, "--no-jump", "--budget-ms", str(SOLVE_MS)],
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

        body.append(f'<g transform="translate(0 {row * PANEL_HEIGHT})">')
        for column, size in enumerate(SIZES):
            left, step = LEFT + column * PANEL_WIDTH, WIDTH / len(THREATS)
            body += panel(column, f"{quantity}, {size}", "threats", [str(int(count)) for count in THREATS])
            body += [text(left - 6, height(value) + 4, label, "end", 10) for value, label in ticks.items()]
            for tool, colour in TOOLS.items():
                for kind, dash in DASHES.items():
                    values = [measured[tool, kind, size, count][row] for count in THREATS]
                    points = [(left + step * (place + 0.5), height(value)) for place, value in enumerate(values)]
                    body += curve(points, colour, dash)
        body.append("</g>")
    for place, (tool, colour) in enumerate(TOOLS.items()):
        body.append(f'<text x="{LEFT + 6}" y="{TOP + 14 + 13 * place}" font-size="10" fill="{colour}">{tool}</text>')
    body.append(f'<text x="{LEFT + 6}" y="{TOP + 53}" font-size="10">solid: mazes; dashed: labyrinths</text>')
    write(out, 2, 2, body)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]))
