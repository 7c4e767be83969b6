// Compares the WebAssembly engine with the native program, byte for byte.
// Usage: node compare.mjs MODULE.wasm GETAWAY

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";

import { Engine, EngineError } from "../engine.mjs";

const [wasm, program] = process.argv.slice(2);
const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "getaway-playground-"));
after(() => rmSync(folder, { recursive: true }));

const engine = new Engine(new WebAssembly.Module(readFileSync(wasm)));
const { maps: bundled, rules: server } = engine.askJson("start");
const getaway = (...args) => execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28 });
// One hour, which no search needs: results at a time limit would depend on the machine.
const UNLIMITED = ["--time-limit-ms", "3600000"];

const MAPS = 60;
const CERTIFICATES = 12;
const BUDGET_TICKS = 3_000_000;

/** Games on bundled and generated maps whose line and bound meet within the budget. */
function solvedGames() {
  const found = [];
  const solve = (name, map, noJump) => {
    const game = { name, map, rules: { ...server, no_jump: noJump } };
    const solved = engine.askJson("solve", { game, seed: 0, budget_ticks: BUDGET_TICKS });
    if (solved.is_optimal) found.push({ game, ...solved });
  };
  for (const { name, tiles, player, threats } of bundled) solve(name, { tiles, player, threats }, false);
  for (let seed = 0; found.length < MAPS; seed++) {
    assert(seed < 10 * MAPS, "too few maps are decided");
    // Every second map is hard. Most hard maps are doomed.
    const hard = { kind: "labyrinth", width: 15, height: 13, threats: 6, braid_permille: 0 };
    const options = seed % 2 ? { kind: ["maze", "city"][(seed >> 1) % 2], width: 21, height: 17, threats: 5, braid_permille: 700 } : hard;
    const { name, tiles, player, threats } = engine.askJson("generate", { ...options, styles: [], seed });
    solve(name, { tiles, player, threats }, seed % 2 === 0);
  }
  return found;
}

const games = solvedGames();

function save({ name, map }) {
  const path = join(folder, "maps", name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "layout.png"), engine.ask("encode_png", map));
  writeFileSync(join(path, "meta.json"), '{"type": "challenge", "difficulty": "easy"}\n');
  return path;
}

test("the search signature is the native one on 32 bits, too", () => {
  assert.equal(engine.askText("signature"), readFileSync(join(root, "tests/signature.txt"), "utf8").trim());
});

test("maps survive their images", () => {
  for (const { game } of games) assert.deepEqual(engine.askJson("map_file", null, engine.ask("encode_png", game.map)), game.map);
});

test(`${MAPS} maps get the same lines, bounds and work`, () => {
  assert.equal(games.length, MAPS);
  for (const noJump of [false, true]) {
    const chosen = games.filter(({ game }) => game.rules.no_jump === noJump);
    const paths = chosen.map(({ game }) => save(game));
    const lines = getaway("solve", "--json", ...UNLIMITED, ...(noJump ? ["--no-jump"] : []), ...paths).trim().split("\n");
    assert.equal(lines.length, chosen.length);
    lines.forEach((line, i) => {
      const { outcome, score, bound, actions, simulated_ticks } = JSON.parse(line);
      const { solution } = chosen[i];
      const mine = { outcome: solution.outcome, moves: solution.moves, final_tick: solution.final_tick, bound: solution.bound, simulated_ticks: solution.simulated_ticks };
      assert.deepEqual(mine, { outcome, moves: actions, final_tick: score / 5, bound: bound / 5, simulated_ticks }, chosen[i].game.name);
    });
  }
});

test(`${CERTIFICATES} certificates are the same bytes, and each program accepts the other's`, () => {
  const doomed = games.filter(({ solution }) => solution.outcome === "doomed").sort((a, b) => b.certificate.length - a.certificate.length).slice(0, CERTIFICATES);
  assert.equal(doomed.length, CERTIFICATES);
  const sweeps = doomed.map(({ certificate }) => certificate.trim().split("\n").length - 2);
  assert(Math.max(...sweeps) > 0, "no certificate has a sweep");
  for (const { game, certificate, solution } of doomed) {
    const [map, native, mine] = [save(game), join(folder, "native.proof"), join(folder, "mine.proof")];
    rmSync(native, { force: true });
    getaway("solve", map, ...UNLIMITED, ...(game.rules.no_jump ? ["--no-jump"] : []), "--certificate", native);
    assert.equal(certificate, readFileSync(native, "utf8"), game.name);
    writeFileSync(mine, certificate);
    assert.match(getaway("verify", mine, map), /verified: doomed/);
    const verified = engine.askJson("verify", game, readFileSync(native));
    assert.deepEqual([verified.final_tick, verified.bound_tick], [solution.final_tick, solution.bound]);
  }
});

test("a certificate with a false claim is refused in one sentence", () => {
  const { game, certificate } = games.find(({ solution }) => solution.outcome === "doomed");
  const claim = certificate.replace(/"bound_tick":(\d+)/, (_, tick) => `"bound_tick":${tick - 1}`);
  for (const text of [claim, "", "not a certificate", certificate.split("\n")[0]]) {
    assert.throws(() => engine.ask("verify", game, new TextEncoder().encode(text)), EngineError);
  }
});

test("12 recordings get the same analysis, plain and gzipped", () => {
  const files = readdirSync(join(root, "games")).filter((name) => name.endsWith(".jsonl.gz")).map((name) => join(root, "games", name));
  for (const planner of ["random", "safest"]) {
    for (const map of ["snail", "cul-de-sacs", "harbour", "old-town"]) {
      const file = join(folder, `${map}-${planner}.jsonl`);
      getaway("play", map, "--no-jump", "--planner", planner, "--budget-ticks", "1000", "--save", file);
      files.push(file);
    }
  }
  assert(files.length >= 12, `${files.length} recordings`);
  for (const file of files) {
    const native = getaway("analyse", file, "--json", ...UNLIMITED).trim();
    const name = file.split("/").at(-1);
    const bytes = readFileSync(file);
    const mine = engine.askText("recording_analysis", name, bytes);
    assert.equal(`{"file":${JSON.stringify(file)},${mine.slice(1)}`, native, name);
    if (name.endsWith(".gz")) assert.equal(engine.askText("recording_analysis", name, gunzipSync(bytes)), mine, name);
  }
});

test("planners play the same moves as natively", () => {
  for (const planner of ["survival", "safest", "paranoid:4", "step(repeat(10, simulate(greedy)))"]) {
    const file = join(folder, `${planner.replace(/\W/g, "-")}.jsonl`);
    getaway("play", "snail", "--no-jump", "--planner", planner, "--seed", "7", "--budget-ticks", "2000", "--save", file);
    const recorded = engine.askJson("recording_game", file, readFileSync(file));
    const game = { ...recorded, moves: "" };
    const reports = [];
    engine.report = (text) => reports.push(JSON.parse(text));
    const moves = engine.askJson("play", { game, index: 0, planner, seed: 7, budget_ticks: 2000 });
    engine.report = () => {};
    assert(moves.length > 0 && reports.every((part) => moves.startsWith(part)), planner);
    // `getaway play` plans with slack for late commands, so the moves of `survival` differ.
    if (planner !== "survival") assert.equal(moves, recorded.moves, planner);
  }
});

test("replays send only the frames that changed", () => {
  const fresh = new Engine(new WebAssembly.Module(readFileSync(wasm)));
  const { name, tiles, player, threats } = bundled[0];
  const header = (moves, isWhole) => {
    const answer = fresh.ask("replay", { game: { name, map: { tiles, player, threats }, moves }, is_whole: isWhole });
    const length = new DataView(answer.buffer).getUint32(0, true);
    return JSON.parse(new TextDecoder().decode(answer.subarray(4, 4 + length)));
  };
  assert.deepEqual([header("..", false), header("..L", false), header(".L", false), header(".L", true)].map(({ from, count }) => [from, count]), [[0, 3], [3, 1], [2, 1], [0, 3]]);
});

test("judged moves come with lines and proofs", () => {
  const { game, solution } = games.find(({ solution }) => solution.outcome === "survives");
  const { tick, moves } = engine.askJson("judge", { game, index: 0 });
  assert.deepEqual([tick, moves.map(({ letter }) => letter).sort().join("")], [1, ".DLRU"]);
  assert.equal(moves.find(({ letter }) => letter === solution.moves[0]).outcome, "survives");
  for (const { outcome, final_tick, bound } of moves) assert(final_tick <= bound && (outcome !== "survives" || final_tick === 2001));
});

test("a whole game fits into an address, and a damaged address gives one sentence", () => {
  const { tiles, player, threats } = bundled[0];
  const survivor = games.find(({ solution, game }) => solution.outcome === "survives" && game.name === bundled[0].name);
  const game = { name: "a map of my own", map: { tiles, player, threats }, rules: { ...server, wire: { ...server.wire, personalities: "missing" } }, moves: survivor.solution.moves };
  const address = engine.askText("encode", { game, index: 911 });
  assert(address.length <= 2000, `${address.length} characters`);
  assert.deepEqual(engine.askJson("decode", address), { game, index: 911 });
  const damaged = address.replace(/.{5}&/, "&");
  assert.throws(() => engine.ask("decode", damaged), (error) => /^This address does not open a game: [^.\n]+\.$/.test(error.message));
});

test("hostile requests are refused in one sentence", () => {
  for (const [name, args] of [["none", null], ["solve", 3], ["generate", {}], ["encode_png", { tiles: [], player: [0, 0], threats: [] }], ["judge", { game: games[0].game, index: 99 }]]) {
    assert.throws(() => engine.ask(name, args), EngineError, name);
  }
  for (const file of [new Uint8Array(), new Uint8Array(100).fill(255)]) {
    for (const name of ["map_file", "recording_replay"]) assert.throws(() => engine.ask(name, name === "map_file" ? null : "x", file), EngineError);
  }
});
