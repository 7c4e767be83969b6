// Compares the two engines behind the page, byte for byte: the WebAssembly module, and the engine in
// the server of `getaway view`.
// Usage: node compare.mjs MODULE.wasm GETAWAY

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";

import { Engine, EngineError } from "../engine.mjs";

const [wasm, program] = process.argv.slice(2);
const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "getaway-playground-"));
const server = spawn(program, ["view", "--port", "0", "--no-open"], { cwd: root });
after(() => (server.kill(), rmSync(folder, { recursive: true })));
const { value: url } = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();

const engine = new Engine(new WebAssembly.Module(readFileSync(wasm)));
const { maps: bundled, rules } = engine.askJson("start");
const MAPS = 60;
const CERTIFICATES = 12;
const ADDRESSES = 200;
const BUDGET_TICKS = 3_000_000;

/** The parts of the native answer, as pairs of a kind and a text in Latin-1. */
async function askNative(name, args, file) {
  const body = new Blob([JSON.stringify(args), "\n", file]);
  const answer = await fetch(`${url}engine/${name}`, { method: "POST", body, headers: { origin: url.slice(0, -1) } });
  assert.equal(answer.status, 200, name);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const parts = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32LE(at + 1);
    parts.push([String.fromCharCode(bytes[at]), bytes.subarray(at + 5, end).toString("latin1")]);
    at = end;
  }
  return parts;
}

function askModule(name, args, file) {
  const parts = [];
  engine.report = (text) => parts.push(["r", Buffer.from(text).toString("latin1")]);
  try {
    parts.push(["a", Buffer.from(engine.ask(name, args, file)).toString("latin1")]);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    parts.push(["e", Buffer.from(error.message).toString("latin1")]);
  }
  return parts;
}

/** Asks both engines, and returns the last part of their answer, parsed if it is JSON. */
async function same(name, args = null, file = new Uint8Array()) {
  const mine = askModule(name, args, file);
  assert.deepEqual(await askNative(name, args, file), mine, `${name} ${JSON.stringify(args).slice(0, 200)}`);
  const text = Buffer.from(mine.at(-1)[1], "latin1").toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const mapOf = ({ tiles, player, threats }) => ({ tiles, player, threats });
const generator = (seed) =>
  // Every second map is hard. Most hard maps are doomed.
  seed % 2
    ? { kind: ["maze", "city"][(seed >> 1) % 2], width: 21, height: 17, threats: 5, braid_permille: 700, styles: [], seed }
    : { kind: "labyrinth", width: 15, height: 13, threats: 6, braid_permille: 0, styles: [], seed };
const games = [];

test(`${MAPS} maps are solved with the same reports, lines, bounds and certificates`, async () => {
  const solve = async (name, map, noJump) => {
    const game = { name, map, rules: { ...rules, no_jump: noJump } };
    const solved = await same("solve", { game, seed: 0, budget_ticks: BUDGET_TICKS });
    if (solved.is_optimal) games.push({ game, ...solved });
  };
  for (const map of bundled) await solve(map.name, mapOf(map), false);
  for (let seed = 0; games.length < MAPS; seed++) {
    assert(seed < 10 * MAPS, "too few maps are decided");
    const map = await same("generate", generator(seed));
    await solve(map.name, mapOf(map), seed % 2 === 0);
  }
  for (const { game } of games) {
    const drawing = await same("encode_drawing", game.map);
    assert.deepEqual(await same("map_file", null, new TextEncoder().encode(drawing)), game.map);
    assert.deepEqual(engine.askJson("map_file", null, engine.ask("encode_png", game.map)), game.map);
    await same("encode_png", game.map);
  }
});

test(`${CERTIFICATES} certificates are accepted by both engines and by the program, false ones by none`, async () => {
  const doomed = games.filter(({ solution }) => solution.outcome === "doomed").sort((a, b) => b.certificate.length - a.certificate.length).slice(0, CERTIFICATES);
  assert.equal(doomed.length, CERTIFICATES);
  assert(doomed.some(({ certificate }) => certificate.trim().split("\n").length > 2), "no certificate has a sweep");
  const [map, proof] = [join(folder, "map.txt"), join(folder, "map.proof")];
  for (const { game, certificate, solution } of doomed) {
    const verified = await same("verify", game, new TextEncoder().encode(certificate));
    assert.deepEqual([verified.final_tick, verified.bound_tick], [solution.final_tick, solution.bound_tick]);
    writeFileSync(map, engine.ask("encode_drawing", game.map));
    writeFileSync(proof, certificate);
    assert.match(execFileSync(program, ["verify", proof, map], { encoding: "utf8" }), /verified: doomed/);
    const claim = certificate.replace(/"bound_tick":(\d+)/, (_, tick) => `"bound_tick":${tick - 1}`);
    for (const text of [claim, "", "not a certificate"]) assert.equal(askModule("verify", game, new TextEncoder().encode(text))[0][0], "e");
    await same("verify", game, new TextEncoder().encode(claim));
  }
});

test("12 recordings get the same replays and analyses, plain and gzipped", async () => {
  const files = readdirSync(join(root, "games")).filter((name) => name.endsWith(".jsonl.gz")).map((name) => join(root, "games", name));
  for (const planner of ["random", "safest"]) {
    for (const map of ["snail", "cul-de-sacs", "harbour", "old-town"]) {
      const file = join(folder, `${map}-${planner}.jsonl`);
      execFileSync(program, ["play", map, "--no-jump", "--planner", planner, "--budget-ticks", "1000", "--save", file]);
      files.push(file);
    }
  }
  assert(files.length >= 12, `${files.length} recordings`);
  for (const file of files) {
    const name = file.split("/").at(-1);
    const bytes = readFileSync(file);
    for (const request of ["recording", "recording_analysis", "games"]) {
      const answer = await same(request, { name }, bytes);
      if (name.endsWith(".gz")) assert.deepEqual(await same(request, { name }, gunzipSync(bytes)), answer, name);
    }
  }
});

test(`${ADDRESSES} addresses are the same and open to the same games`, async () => {
  for (let number = 0; number < ADDRESSES; number++) {
    const map = number % 2 ? bundled[number % bundled.length] : await same("generate", generator(number));
    const letters = Array.from({ length: (37 * number) % 900 }, (_, i) => "LRUD."[((number + 3) * (i + 7) * 2654435761) % 4294967296 % 5]);
    const game = { name: map.name, map: mapOf(map), rules: { ...rules, no_jump: number % 3 === 0 }, moves: letters.join("") };
    const replay = askModule("replay", { game, shown: null })[0][1];
    const header = JSON.parse(replay.slice(4, 4 + Buffer.from(replay, "latin1").readUInt32LE(0)));
    game.moves = game.moves.slice(0, header.count - 1);
    const address = await same("encode", { game, index: game.moves.length >> 1 });
    assert(address.length <= 2000, `${address.length} characters`);
    assert.deepEqual(await same("decode", address), { game, index: game.moves.length >> 1 });
    await same("decode", address.replace(/.{5}&/, "&"));
    await same("replay", { game, shown: game.moves.slice(0, 9) });
    if (number < 2) await same("analyse", game);
  }
});

test("moves are judged and planners play alike", async () => {
  for (const { game, solution } of games.slice(0, 20)) {
    const index = Math.min(solution.moves.length - 1, 30);
    const { moves } = await same("judge", { game: { ...game, moves: solution.moves }, index });
    for (const { outcome, final_tick, bound_tick } of moves) assert(final_tick <= bound_tick && (outcome !== "survives" || final_tick === 2001));
  }
  for (const planner of ["survival", "safest", "paranoid:4", "step(repeat(10, simulate(greedy)))", "clever"]) {
    await same("play", { game: games[0].game, index: 0, planner, seed: 7, budget_ticks: 500 });
  }
});

test("the other requests have the same answers, and hostile ones are refused in one sentence", async () => {
  assert.equal(await same("signature"), readFileSync(join(root, "tests/signature.txt"), "utf8").trim());
  await same("start");
  await same("rules", { ...rules, no_jump: true });
  await same("gif", { width: 4, height: 3 }, Uint8Array.from({ length: 4 * 4 * 3 * 5 }, (_, i) => i * 7));
  const hostile = [["none", null], ["solve", 3], ["generate", {}], ["encode_png", { tiles: [], player: [0, 0], threats: [] }], ["judge", { game: games[0].game, index: 99 }], ["gif", {}]];
  for (const [name, args] of hostile) assert.match(await same(name, args), /^[^\n]+$/, name);
  for (const file of [new Uint8Array(), new Uint8Array(100).fill(255)]) {
    for (const [name, args] of [["map_file", null], ["recording", { name: "x" }]]) assert.match(await same(name, args, file), /^[^\n]+$/);
  }
});
