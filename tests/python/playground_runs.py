"""Long runs of the playground in Chromium:

    .venv/bin/python tests/python/playground_runs.py addresses --count 200 --seed 1
    .venv/bin/python tests/python/playground_runs.py damaged --count 10000 --seed 1
    .venv/bin/python tests/python/playground_runs.py speed --maps DIR
    .venv/bin/python tests/python/playground_runs.py memory --minutes 60

For a damaged address, the page must show an error and keep its game, or show the original game.
`speed` measures how long judging and solving take, and the frame rate at tenfold speed with all
layers shown.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from browser.conftest import CHROMIUM_NAMES, CHROMIUM_OPTIONS, start, wait_until
from browser.test_playground import FOLDER, Files, open_game
from conftest import ROOT, TARGET

BUDGET_TICKS = 3_000_000
SAME = "opens the game that it was made from"
STATE = "JSON.stringify([session.game, session.index, [...board.replay.frames[board.index].positions]])"


@contextmanager
def browser_and_url() -> Iterator[tuple[Browser, str]]:
    program = next(filter(None, map(shutil.which, CHROMIUM_NAMES)))
    # Chromium's flooding protection would delay a page that changes its address hundreds of times.
    options = [*CHROMIUM_OPTIONS, "--disable-ipc-flooding-protection", "--enable-precise-memory-info"]
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(FOLDER))) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser, f"http://127.0.0.1:{server.server_address[1]}/"
        browser.close()
        server.shutdown()


def generated(page: Page, seed: int) -> Any:
    """Returns a generated map. Even seeds give labyrinths, in which survival is hard."""
    kinds = ["maze", "city"]
    options = (
        {"kind": kinds[(seed >> 1) % 2], "width": 21, "height": 17, "threats": 5, "braid_permille": 700}
        if seed % 2
        else {"kind": "labyrinth", "width": 15, "height": 13, "threats": 6, "braid_permille": 0}
    )
    return page.evaluate("(options) => session.client.json('generate', options)", {**options, "styles": [], "seed": seed})


def run_addresses(browser: Browser, url: str, count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    first = start(browser.new_page(), url)
    names = first.evaluate("session.client.json('start').then(({ maps }) => maps.map(({ name }) => name))")
    longest = 0
    for number in range(count):
        moves = "".join(rng.choice("LRUD.") for _ in range(rng.randrange(2000)))
        if number % 2:
            first.evaluate(
                """async ([{ name, tiles, player, threats }, moves, noJump]) => {
                  const { rules } = await session.client.json("start");
                  session.isDemo = false;
                  await session.open({ name, map: { tiles, player, threats }, rules: { ...rules, no_jump: noJump }, moves });
                }""",
                [generated(first, rng.randrange(1000)), moves, rng.random() < 0.5],
            )
        else:
            open_game(first, rng.choice(names), moves)
        first.evaluate("(share) => board.seek(Math.floor(share * board.replay.last))", rng.random())
        address = first.evaluate("session.client.text('encode', { game: session.game, index: session.index })")
        longest = max(longest, len(url) + 1 + len(address))
        context = browser.new_context()
        second = start(context.new_page(), f"{url}#{address}")
        assert second.evaluate(STATE) == first.evaluate(STATE), address
        context.close()
    assert longest <= 2000
    return [f"{count} games opened to the same state in fresh browser contexts; the longest address has {longest} characters"]


def run_damaged(browser: Browser, url: str, count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    page = start(browser.new_page(), url)
    sentences: dict[str, int] = {}
    while sum(sentences.values()) < count:
        open_game(page, rng.choice(["roundabout", "snail", "metropolis"]), "".join(rng.choice("LRUD.") for _ in range(300)))
        address = page.evaluate("session.client.text('encode', { game: session.game, index: session.index })")
        game = page.evaluate("session.game")
        data, tick = address.split("&")
        damaged: list[str] = []
        while len(damaged) < min(100, count - sum(sentences.values())):
            at = rng.randrange(len(data))
            kind = rng.randrange(5)
            changed = [
                data[:at] + rng.choice("ABCxyz019-_=%<\"'é ") + data[at + 1 :],
                data[:at] + data[at + rng.randrange(1, 9) :],
                data[:at],
                data[:at] + rng.choice(["A", "%", "%00", "<script>"]) + data[at:],
                data,
            ][kind]
            later = rng.choice(["", "&tick=0", "&tick=99999", "&tick=-1", "&tick=1e3", "&tick=1&tick=2", "&tick=<b>"]) if kind == 4 else f"&{tick}"
            # The page ignores an address that equals the current one.
            if changed + later not in ("", address, *damaged[-1:]):
                damaged.append(changed + later)
        # The loop runs in the page, because each call from Playwright takes milliseconds.
        found = page.evaluate(
            """async (damaged) => {
              const banner = document.getElementById("banner");
              const found = [];
              for (const fragment of damaged) {
                banner.hidden = true;
                const { opened } = session;
                location.hash = "#" + fragment;
                const deadline = performance.now() + 60000;
                while (banner.hidden && session.opened === opened && performance.now() < deadline) await new Promise((done) => setTimeout(done));
                found.push([fragment, banner.hidden ? "" : document.getElementById("banner-text").textContent, session.opened === opened ? null : session.game]);
              }
              return found;
            }""",
            damaged,
        )
        for fragment, sentence, opened in found:
            if opened == game:
                # The damage hit unused bits in the last byte of the compressed game.
                sentences[SAME] = sentences.get(SAME, 0) + 1
                continue
            assert opened is None, (fragment, address)
            assert sentence.startswith("This address does not open a game: "), (fragment, sentence)
            assert sentence.endswith(". The board shows another game.") and "\n" not in sentence, (fragment, sentence)
            sentences[sentence] = sentences.get(sentence, 0) + 1
    assert sentences.get(SAME, 0) < count / 100
    return [f"{count} damaged addresses:", *(f"  {number} times: {sentence}" for sentence, number in sentences.items())]


def games(page: Page) -> Iterator[Any]:
    """Yields games on the bundled maps, then on generated maps: no-jump games for even seeds."""
    first = page.evaluate("session.client.json('start')")
    for entry in first["maps"]:
        yield {"name": entry["name"], "map": {key: entry[key] for key in ("tiles", "player", "threats")}, "rules": first["rules"]}
    for seed in range(10_000):
        entry = generated(page, seed)
        layout = {key: entry[key] for key in ("tiles", "player", "threats")}
        yield {"name": entry["name"], "map": layout, "rules": {**first["rules"], "no_jump": seed % 2 == 0}}


def run_speed(page: Page, program: Path, maps: Path | None) -> list[str]:
    lines = []
    for game in games(page) if maps is None else []:
        if game["rules"]["no_jump"]:
            break
        lines.append(speed_of(page, program, game, game["name"]))
    for folder in sorted(maps.resolve().iterdir()) if maps else []:
        layout = page.evaluate(
            "(bytes) => session.client.json('map_file', null, { file: Uint8Array.from(bytes) })", list((folder / "layout.png").read_bytes())
        )
        rules = page.evaluate("session.client.json('start').then(({ rules }) => rules)")
        lines.append(speed_of(page, program, {"name": folder.name, "map": layout, "rules": rules}, str(folder)))
    moves = page.evaluate(
        """async () => {
          const { maps, rules } = await session.client.json("start");
          const { name, tiles, player, threats } = maps.find(({ name }) => name === "market-square");
          return session.client.json("play", { game: { name, map: { tiles, player, threats }, rules }, index: 0, planner: "survival", seed: 0, budget_ticks: 2000 });
        }"""
    )
    open_game(page, "market-square", moves)
    for layer in ("plan", "paths", "arrival", "deadly", "trail"):
        page.evaluate("(layer) => board.setLayer(layer, true)", layer)
    page.locator("#speed").select_option("10")
    frames, work = page.evaluate(
        """async () => {
          board.seek(0);
          board.toggle();
          const times = [], work = [];
          const animate = board.animate.bind(board);
          board.animate = (time) => { const start = performance.now(); animate(time); work.push(performance.now() - start); };
          while (times.length < 600) times.push(await new Promise(requestAnimationFrame));
          board.pause();
          delete board.animate;
          return [times.slice(1).map((time, i) => time - times[i]), work];
        }"""
    )
    lines.append(
        f"{1000 / statistics.mean(frames):.1f} frames per second with all layers at tenfold speed; the page spends {statistics.median(work):.1f} ms"
        f" on a frame (median), {statistics.quantiles(work, n=20)[18]:.1f} ms (95th percentile)"
    )
    return lines


def speed_of(page: Page, program: Path, game: Any, name: str) -> str:
    """Returns a line of times: each is the shortest of three, because load only slows runs down."""
    timed = """async ([name, request]) => {
      let best = Infinity;
      for (let i = 0; i < 3; i++) {
        const start = performance.now();
        await session.client.ask(name, request);
        best = Math.min(best, performance.now() - start);
      }
      return best;
    }"""
    judged_ms = page.evaluate(timed, ["judge", {"game": {**game, "moves": ""}, "index": 0}])
    solved_ms = page.evaluate(timed, ["solve", {"game": game, "seed": 0, "budget_ticks": BUDGET_TICKS}])
    native_ms = min(
        json.loads(subprocess.run([program, "solve", name, "--json"], cwd=ROOT, check=True, capture_output=True, text=True).stdout)["elapsed_ms"]
        for _ in range(3)
    )
    return f"{game['name']}: judged in {judged_ms:.0f} ms, solved in {solved_ms:.0f} ms, natively in {native_ms:.1f} ms after the map is loaded"


def run_memory(browser: Browser, url: str, minutes: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    page = start(browser.new_page(), url)
    page.locator("#judge-switch").check()
    names = page.evaluate("session.client.json('start').then(({ maps }) => maps.map(({ name }) => name))")
    session = browser.new_browser_cdp_session()
    # Use one profiler session, because Chromium frees a session's memory only when it ends.
    profiler = page.context.new_cdp_session(page)
    heaps, resident = [], []

    def measure() -> None:
        profiler.send("HeapProfiler.collectGarbage")
        heaps.append(page.evaluate("performance.memory.usedJSHeapSize"))
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        pids = [process["id"] for process in processes if process["type"] == "renderer"]
        statuses = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
        resident.append(sum(int(status.split("VmRSS:")[1].split()[0]) << 10 for status in statuses))

    end = time.monotonic() + 60 * minutes
    games_played = 0
    while time.monotonic() < end:
        open_game(page, rng.choice(names))
        for _ in range(60):
            page.keyboard.press(rng.choice(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "."]))
            page.wait_for_timeout(20)
        page.locator("#let-play").click()
        wait_until(page, "document.getElementById('stop-play').hidden")
        page.evaluate("(share) => board.seek(Math.floor(share * board.replay.last))", rng.random())
        page.wait_for_timeout(500)
        games_played += 1
        measure()
    mib = [f"{number / (1 << 20):.0f}" for number in (heaps[0], heaps[-1], resident[0], resident[len(resident) // 2], resident[-1], max(resident))]
    return [
        f"{games_played} games in {minutes} minutes; heap: {mib[0]} MiB after the first game, {mib[1]} MiB after the last;"
        f" renderer processes: {mib[2]} MiB after the first game, {mib[3]} MiB after half of the games, {mib[4]} MiB after the last, at most {mib[5]} MiB"
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Long runs of the playground in Chromium.")
    parser.add_argument("what", choices=["addresses", "damaged", "speed", "memory"])
    parser.add_argument("--count", type=int, default=200, help="number of games (addresses) or of addresses (damaged)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="duration of the run of `memory`")
    parser.add_argument("--maps", type=Path, help="folder of maps for `speed` [default: the bundled maps]")
    parser.add_argument("--program", type=Path, default=TARGET / "release" / "getaway")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with browser_and_url() as (browser, url):
        if options.what == "addresses":
            lines = run_addresses(browser, url, options.count, options.seed)
        elif options.what == "damaged":
            lines = run_damaged(browser, url, options.count, options.seed)
        elif options.what == "memory":
            lines = run_memory(browser, url, options.minutes, options.seed)
        else:
            lines = run_speed(start(browser.new_page(), url), options.program, options.maps)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
