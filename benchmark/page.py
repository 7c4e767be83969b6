#!/usr/bin/env python3
"""Write RECORDS.md and records.html for a folder of instances and records (default: this folder)."""

import json
import re
import sys
from pathlib import Path

import check

OPEN, GAP, DOOMED, SURVIVES = "undecided", "doomed, gap", "doomed, best score proven", "survives"
NONE = "no record"
ORDER = [OPEN, NONE, GAP, DOOMED, SURVIVES]


def rows(folder):
    """Returns one row per instance, sorted by state (in the order of ORDER), then by the gap
    between line and bound (widest first), then by name."""
    found = []
    for line in (folder / "instances.jsonl").read_text("utf-8-sig").splitlines():
        instance = json.loads(line)
        name = instance["instance"]
        row = {"name": name, "map": instance["map"], "state": NONE, "final": 0, "bound": 2001, "by": ["-", "-"]}
        path = folder / "records" / f"{name}.txt"
        if path.exists():
            _, line_by, bound_by, text = path.read_text("utf-8-sig").split("\n", 3)
            certificate = check.Certificate(text, 4)
            row["final"], row["bound"] = certificate.final_tick, certificate.bound_tick
            row["by"] = [line_by.removeprefix("line by: "), bound_by.removeprefix("bound by: ")]
            row["state"] = state(certificate.final_tick, certificate.bound_tick)
        row["tiles"] = (folder / instance["map"]).read_text("utf-8-sig").split()
        found.append(row)
    found.sort(key=lambda row: (ORDER.index(row["state"]), row["final"] - row["bound"], row["name"]))
    return found


def state(final, bound):
    if final > check.LAST_TICK:
        return SURVIVES
    if bound > check.LAST_TICK:
        return OPEN
    return DOOMED if final == bound else GAP


def escaped(text):
    """Returns text that Markdown shows as it is, even if the text looks like a table, a tag or a link."""
    return re.sub(r"[^\w\s.,:;/+-]", lambda match: f"&#{ord(match[0])};", text)


def markdown(found):
    tracks = list(dict.fromkeys(sorted(row["name"].split("/")[0] for row in found)))
    text = "# Records\n\n`page.py` writes this page and [records.html](records.html) from `records/`.\n"
    text += "On getaway's documentation site, `benchmark/records.html` can open any record in the playground.\n\n"
    text += "| track | instances | " + " | ".join(ORDER) + " |\n|---|" + "---|" * (len(ORDER) + 1) + "\n"
    for track in tracks:
        own = [row for row in found if row["name"].startswith(track + "/")]
        counts = [str(sum(row["state"] == name for row in own)) for name in ORDER]
        text += f"| {track} | {len(own)} | {' | '.join(counts)} |\n"
    text += "\nThe instances without a proven best score, in the order of the columns above. *Line* and *bound* are ticks.\n\n"
    text += "| instance | state | line | bound | line by | bound by |\n|---|---|---|---|---|---|\n"
    for row in found:
        if row["state"] not in (DOOMED, SURVIVES):
            line_by, bound_by = (escaped(by) for by in row["by"])
            link = f"[{row['name']}](records/{row['name']}.txt)"
            text += f"| {link} | {row['state']} | {row['final']} | {row['bound']} | {line_by} | {bound_by} |\n"
    return text


# The colours of all pages of the project.
TOKENS = check.HERE.parent / "crates/viewer/src/page/tokens.css"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>Pursuit benchmark: records</title>
<style>
TOKENS
body { font: 15px/1.5 system-ui, sans-serif; margin: 1rem auto; max-width: 80rem; padding: 0 1rem;
  color: var(--text); background: var(--paper); }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; margin: 1rem 0; }
select, input, button { font: inherit; color: inherit; max-width: 100%; min-height: 36px; padding: 0 8px;
  border: 1px solid var(--rule); border-radius: var(--radius); background: var(--panel); }
button { cursor: pointer; }
button:hover { border-color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; list-style: none; padding: 0; }
li { border: 1px solid var(--rule); border-radius: var(--radius); padding: .75rem; overflow-wrap: anywhere; background: var(--panel); }
li svg { width: 100%; height: 9rem; }
small { color: var(--soft); }
a { color: var(--accent); }
@media (max-width: 600px) {
  li { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .75rem; font-size: 14px; }
  li svg { height: 6.5rem; }
}
</style></head><body><main>
<h1>Pursuit benchmark: records</h1>
<p>Line and bound are ticks; 2,001 is the end of the game. A record holds the line and the certificate of the bound. The
widest gap between the two comes first: there, a better line or bound is most likely.</p>
<form>
<label>Track <select id="track"><option value="">all</option></select></label>
<label>State <select id="state"><option value="">all</option></select></label>
<label>Name <input id="name" type="search"></label>
<output id="count"></output>
</form>
<ul id="list"></ul>
<p><button id="more" type="button">Show more</button></p></main>
<script type="application/json" id="rows">ROWS</script>
<script>
const rows = JSON.parse(document.getElementById("rows").textContent);
const field = name => document.getElementById(name);
// Each kind has a shape of its own beside its colour.
const kinds = {
  P: ["the car", "M.1 .25H.9V.75H.1Z"], B: ["bull", "M.5 .08A.42 .42 0 1 1 .49 .08Z"],
  G: ["goldfish", "M.5 .05L.95 .5L.5 .95L.05 .5Z"], S: ["shark", "M.5 .05L.95 .9H.05Z"],
  O: ["owl", "M.12 .12H.88V.88H.12Z"], D: ["deer", "M.35 .05H.65V.35H.95V.65H.65V.95H.35V.65H.05V.35H.35Z"],
  H: ["hawk", "M.05 .1L.5 .35L.95 .1L.5 .95Z"],
};
const PAGE = 24;
const trackOf = row => row.name.split("/")[0];
for (const [name, value] of [["track", trackOf], ["state", row => row.state]])
  for (const text of new Set(rows.map(value))) field(name).append(new Option(text));
const PLAYGROUND = "../playground/index.html";
// The documentation site has the playground beside this page.
const playground = location.protocol === "file:" ? Promise.resolve(false)
  : fetch(PLAYGROUND, {method: "HEAD"}).then(answer => answer.ok, () => false);
async function openRecord(row, plays) {
  const record = await (await fetch(`records/${row.name}.txt`)).text();
  const {rules, actions} = JSON.parse(record.split("\\n")[3]);
  const spawns = row.tiles.flatMap((line, y) => [...line].map((letter, x) => [letter, x, y]));
  const isThreat = ([letter]) => kinds[letter] && letter !== "P";
  const threats = spawns.filter(isThreat).map(([letter, x, y]) => [kinds[letter][0], x, y]);
  const [, ...player] = spawns.find(([letter]) => letter === "P");
  const map = {tiles: row.tiles.map(line => line.replace(/[A-Z]/g, ".")), player, threats};
  const text = JSON.stringify({name: row.name.split("/")[1], map, rules, moves: plays ? "" : actions});
  const zipped = new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip")));
  const bytes = new Uint8Array(await zipped.arrayBuffer());
  // Browsers write different values into these two bytes of the gzip header; the playground expects these values.
  bytes.set([2, 255], 8);
  const data = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  // To beat a line that is caught, survive the tick of the catch.
  location.href = `${PLAYGROUND}#game=${data}&tick=1${plays && row.final < 2001 ? `&beat=${row.final}` : ""}`;
}
const element = (tag, text) => Object.assign(document.createElement(tag), {textContent: text});
const link = (text, href) => Object.assign(element("a", text), {href});
function picture({name, tiles}) {
  const draw = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const svg = draw("svg", {viewBox: `0 0 ${tiles[0].length} ${tiles.length}`, role: "img"});
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  const counts = Object.entries(kinds).slice(1).map(([letter, [kind]]) => [tiles.join("").split(letter).length - 1, kind]);
  title.textContent = `${name}: ${counts.filter(([count]) => count).map(([count, kind]) => `${kind} ${count}`).join(", ")}`;
  let walls = "";
  tiles.forEach((row, y) => [...row].forEach((letter, x) => {
    if (letter === "#") walls += `M${x} ${y}h1v1h-1z`;
    else if (kinds[letter]) svg.append(draw("path", {d: kinds[letter][1], fill: `var(--${letter === "P" ? "player" : kinds[letter][0]})`, stroke: "#16191d", "stroke-width": .06, transform: `translate(${x} ${y})`}));
  }));
  const streets = `M0 0H${tiles[0].length}V${tiles.length}H0z`;
  svg.prepend(title, draw("path", {d: streets, fill: "var(--street)"}), draw("path", {d: walls, fill: "var(--wall)"}));
  return svg;
}
const pictures = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) {
    entry.target.prepend(picture(entry.target.row));
    pictures.unobserve(entry.target);
  }
}, {rootMargin: "300px"});
const number = value => value.toLocaleString("en");
const gap = row => row.bound - row.final;
function show(count = PAGE) {
  const wanted = rows.filter(row => (!field("track").value || trackOf(row) === field("track").value)
    && (!field("state").value || row.state === field("state").value) && row.name.includes(field("name").value));
  wanted.sort((one, two) => gap(two) - gap(one));
  const shown = Math.min(count, wanted.length);
  field("count").textContent = `${number(shown)} of ${number(wanted.length)} instances`;
  field("more").hidden = shown === wanted.length;
  field("more").onclick = () => show(shown + PAGE);
  pictures.disconnect();
  field("list").replaceChildren(...wanted.slice(0, count).map(row => {
    const item = Object.assign(document.createElement("li"), {row});
    const text = document.createElement("div");
    text.append(element("strong", row.name), element("br"), `${row.state}: line ${number(row.final)}, bound ${number(row.bound)}`,
      element("br"), element("small", `line: ${row.by[0]}; bound: ${row.by[1]}`), element("br"), link("map", row.map), " ");
    if (row.state !== "no record") text.append(link("record", `records/${row.name}.txt`));
    playground.then(isThere => {
      if (!isThere || row.state === "no record") return;
      for (const [name, plays] of [["watch", false], ["beat this", true]]) {
        const open = Object.assign(element("button", name), {type: "button"});
        open.setAttribute("aria-label", `${name}: ${row.name}`);
        open.addEventListener("click", () => openRecord(row, plays));
        text.append(" ", open);
      }
    });
    item.append(text);
    pictures.observe(item);
    return item;
  }));
}
document.forms[0].addEventListener("input", () => show());
document.forms[0].addEventListener("submit", event => event.preventDefault());
show();
</script></body></html>
"""


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else check.HERE
    found = rows(folder)
    (folder / "RECORDS.md").write_text(markdown(found), "utf-8")
    data = json.dumps(found, separators=(",", ":")).replace("<", "\\u003c")
    page = PAGE.replace("TOKENS", TOKENS.read_text("utf-8").strip(), 1).replace("ROWS", data, 1)
    (folder / "records.html").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
