// Starts the engine, the board and the tools, and keeps the page's address up to date.

/* global drawLegend, element, showBanner, still */

import { EngineClient } from "./client.mjs";
import { Judge } from "./judge.mjs";
import { Editor, Maps } from "./maps.mjs";
import { RulesForm } from "./rules.mjs";
import { Session } from "./session.mjs";
import { Autopilot, Prove, Why } from "./tasks.mjs";

/** The demonstration's game. It opens just after threats have begun to move in every tick. */
const DEMO = { map: "market-square", planner: "show-off", budget_ticks: 2000, index: 904 };
const ADDRESS_DELAY_MS = 400;

class Tabs {
  constructor(tabs) {
    this.tabs = [...tabs.querySelectorAll("[role=tab]")];
    for (const tab of this.tabs) tab.addEventListener("click", () => this.open(tab));
    tabs.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const { length } = this.tabs;
      const tab = this.tabs[(this.tabs.indexOf(event.target) + step + length) % length];
      this.open(tab);
      tab.focus();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  open(opened) {
    for (const tab of this.tabs) {
      const isOpen = tab === opened;
      tab.setAttribute("aria-selected", String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
      element(tab.getAttribute("aria-controls")).hidden = !isOpen;
    }
  }
}

class Address {
  constructor(session, client) {
    Object.assign(this, { session, client, timer: null });
    /** The last fragment that the page has written or opened. */
    this.written = location.hash;
    for (const name of ["game", "moves", "position"]) session.addEventListener(name, () => this.plan());
    // `newURL` is used because the page may have overwritten the current address by now.
    addEventListener("hashchange", ({ newURL }) => {
      const { hash } = new URL(newURL);
      if (hash !== this.written) this.open(hash);
    });
    element("copy").addEventListener("click", () => this.copy());
    element("address").addEventListener("focus", ({ target }) => target.select());
  }

  plan() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), ADDRESS_DELAY_MS);
  }

  async write() {
    const { game, index, isDemo } = this.session;
    let fragment = "";
    if (game && !isDemo) {
      try {
        fragment = `#${await this.client.text("encode", { game, index: Math.min(index, game.moves.length) })}`;
      } catch (error) {
        element("share-status").textContent = error.message;
      }
    }
    const page = location.href.split("#")[0];
    element("address").value = page + fragment;
    this.written = fragment;
    try {
      if (location.hash !== fragment) history.replaceState(null, "", page + fragment);
    } catch {
      // Ignored: some hosts forbid changing the address, and browsers limit how often it changes.
    }
  }

  async open(fragment) {
    clearTimeout(this.timer);
    this.written = fragment;
    try {
      const { game, index } = await this.client.json("decode", fragment.slice(1));
      this.session.isDemo = false;
      await this.session.open(game, index);
      showBanner("");
    } catch (error) {
      this.session.close();
      showBanner(error.message);
    }
  }

  async copy() {
    clearTimeout(this.timer);
    this.session.isDemo = false;
    await this.write();
    const { value } = element("address");
    try {
      await navigator.clipboard.writeText(value);
      element("share-status").textContent = `Copied: ${value.length} characters.`;
    } catch {
      element("address").select();
      element("share-status").textContent = "The browser refuses to copy; the address is selected.";
    }
  }
}

async function showDemo(session, client, { maps, rules }) {
  const { tiles, player, threats } = maps.find(({ name }) => name === DEMO.map) ?? maps[0];
  const game = { name: DEMO.map, map: { tiles, player, threats }, rules, moves: "" };
  const { planner, budget_ticks, index } = DEMO;
  const moves = await client.json("play", { game, index: 0, planner, seed: 0, budget_ticks });
  session.isDemo = true;
  await session.open({ ...game, moves }, index);
  if (!still.matches) session.board.toggle();
}

async function start() {
  const packed = (await fetch("engine.bin")).body.pipeThrough(new DecompressionStream("gzip"));
  const module = await WebAssembly.compileStreaming(new Response(packed, { headers: { "Content-Type": "application/wasm" } }));
  const [client, tasks, judging] = Array.from({ length: 3 }, () => new EngineClient(module));
  const answer = await client.json("start");
  element("message").textContent = "";
  const session = new Session(client);
  // For tests and debugging.
  window.session = session;
  const rules = new RulesForm(session, client, answer.rules);
  const prove = new Prove(session, tasks);
  const maps = new Maps(session, client, () => rules.rules, (bytes) => prove.verify(bytes));
  const address = new Address(session, client);
  new Tabs(element("tabs"));
  new Editor(session, maps);
  new Autopilot(session, tasks, answer.planners);
  new Why(session, tasks);
  new Judge(session, judging);
  maps.show(answer.maps);
  rules.show(answer.rules);
  drawLegend();
  for (const button of element("pad").querySelectorAll("button")) button.addEventListener("click", () => session.move(button.dataset.letter));
  element("new-game").addEventListener("click", () => session.restart());
  element("undo").addEventListener("click", () => session.undo());
  element("banner-close").addEventListener("click", () => showBanner(""));
  const showUndo = () => (element("undo").disabled = session.history.length === 0);
  for (const name of ["game", "history"]) session.addEventListener(name, showUndo);
  showUndo();
  if (location.hash.length > 1) await address.open(location.hash);
  else await showDemo(session, client, answer);
  document.body.dataset.ready = "";
}

start().catch((error) => {
  element("message").textContent = "";
  showBanner(`The engine did not start: ${error.message}. The page needs WebAssembly, and a web server.`);
});
