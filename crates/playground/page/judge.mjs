// Judges the moves of every position of the game in a separate worker: first the displayed
// position, then the others from the end of the game backwards.

/* global element */

import { Stopped } from "./client.mjs";

const NAMES = { L: "Left", R: "Right", U: "Up", D: "Down", ".": "Stay" };

function words({ outcome, final_tick: finalTick, bound }) {
  if (outcome === "survives") return "survives to the end";
  if (outcome !== "doomed") return `survives at least to tick ${finalTick}; the end is open`;
  return finalTick < bound ? `doomed, proven: caught in tick ${finalTick} to ${bound}` : `doomed, proven: caught by tick ${finalTick}`;
}

function short({ outcome, final_tick: finalTick }) {
  return { survives: "✓ safe", doomed: `✗ ${finalTick}` }[outcome] ?? `≥ ${finalTick}`;
}

function fault({ tick, moves }, letter) {
  const played = moves.find((move) => move.letter === letter);
  if (played.outcome !== "doomed") return null;
  const saving = moves.filter(({ outcome, is_blocked: isBlocked }) => outcome === "survives" && !isBlocked);
  if (saving.length) return { tick, letter, isDecisive: true, finalTick: played.bound, better: saving.map((move) => NAMES[move.letter].toLowerCase()) };
  const best = Math.max(...moves.map((move) => move.final_tick));
  if (best <= played.bound) return null;
  const longest = moves.filter((move) => move.final_tick === best && !move.is_blocked).map((move) => NAMES[move.letter].toLowerCase());
  return { tick, letter, isDecisive: false, cost: best - played.bound, finalTick: played.bound, better: longest };
}

export class Judge {
  constructor(session, client) {
    this.session = session;
    this.client = client;
    this.isOn = false;
    /** Maps the moves before a position to the judgement of the position. */
    this.judgements = new Map();
    /** The moves before the position that is being judged, or null. */
    this.asked = null;
    element("judge-switch").addEventListener("change", (event) => this.turn(event.target.checked));
    session.addEventListener("game", () => this.forget());
    for (const name of ["moves", "position"]) session.addEventListener(name, () => this.update());
  }

  turn(isOn) {
    this.isOn = isOn;
    element("judge-switch").checked = isOn;
    if (!isOn) this.stop();
    this.update();
  }

  forget() {
    this.stop();
    this.judgements.clear();
  }

  stop() {
    this.asked = null;
    this.client.stop();
  }

  before(index) {
    return this.session.game?.moves.slice(0, index) ?? "";
  }

  /** The number of positions of the game that can be judged. */
  get count() {
    const { board, game } = this.session;
    if (!game || !board.replay) return 0;
    const isOver = board.replay.isOver && game.moves.length === board.replay.last;
    return game.moves.length + (isOver ? 0 : 1);
  }

  next() {
    const { index } = this.session;
    const isOpen = (at) => !this.judgements.get(this.before(at))?.isFinal;
    if (index < this.count && isOpen(index)) return index;
    for (let at = this.count - 1; at >= 0; at--) if (isOpen(at)) return at;
    return null;
  }

  update() {
    if (this.isOn) this.work();
    this.show();
  }

  async work() {
    const at = this.next();
    if (at === null) return this.stop();
    const key = this.before(at);
    if (this.asked !== null) {
      // Interrupt the judgement of another position only to judge the displayed one.
      if (this.asked === key || at !== this.session.index) return;
      this.stop();
    }
    this.asked = key;
    const { game } = this.session;
    const keep = (judgement, isFinal) => {
      this.judgements.set(key, { ...judgement, isFinal });
      if (at === this.session.index || isFinal) this.show();
    };
    try {
      const request = { game: { ...game, moves: key }, index: at };
      const judgement = await this.client.json("judge", request, { report: (found) => this.asked === key && keep(found, false) });
      if (this.asked !== key) return;
      this.asked = null;
      keep(judgement, true);
    } catch (error) {
      if (error instanceof Stopped) return;
      this.asked = null;
      // Ignore the error if the position is gone: moves after a catch may have been dropped.
      if (at < this.count && this.before(at) === key) {
        element("judge-status").textContent = error.message;
        return;
      }
    }
    if (this.isOn) this.work();
  }

  show() {
    const { board, index } = this.session;
    const judgement = (this.isOn && index < this.count && this.judgements.get(this.before(index))) || null;
    board.judgement = judgement;
    for (const button of element("pad").querySelectorAll("[data-letter]")) {
      const move = judgement?.moves.find(({ letter }) => letter === button.dataset.letter);
      button.dataset.outcome = move && !move.is_blocked ? move.outcome : "";
      button.querySelector("small").textContent = move ? (move.is_blocked ? "wall" : short(move)) : "";
      const name = NAMES[button.dataset.letter];
      const explanation = move && (move.is_blocked ? "a wall is in the way" : words(move));
      button.setAttribute("aria-label", explanation ? `${name}: ${explanation}` : name);
      button.title = explanation ?? "";
    }
    this.showFaults();
    board.request();
  }

  showFaults() {
    const { board, game } = this.session;
    element("faults").replaceChildren();
    element("faults-section").hidden = !this.isOn;
    if (!this.isOn || !game) {
      if (board.analysis?.isJudged) this.setCurve(null);
      return;
    }
    const judged = Array.from({ length: this.count }, (_, at) => this.judgements.get(this.before(at)) ?? null);
    const room = judged.map((found) => found && found.moves.filter(({ outcome, is_blocked: isBlocked }) => outcome === "survives" && !isBlocked).length);
    const faults = judged.map((found, at) => found && at < game.moves.length && fault(found, game.moves[at])).filter(Boolean);
    const known = judged.filter(Boolean).length;
    element("judge-status").textContent = `${known} of ${judged.length} positions judged. The curve shows how many moves survive to the end; red marks a move that threw the game away, orange one that cost ticks.`;
    this.setCurve({ isJudged: true, first_tick: 1, room, falls: faults.map(({ tick, isDecisive }) => ({ tick, is_decisive: isDecisive })) });
    element("faults").append(...faults.map((found) => this.faultRow(found)));
    const now = this.judgements.get(this.before(this.session.index));
    element("faults-empty").textContent = faults.length ? "" : known === judged.length && now ? "No move threw the game away." : "";
  }

  setCurve(analysis) {
    this.session.board.analysis = analysis;
    this.session.board.timeline.key = "";
    this.session.board.request();
  }

  faultRow({ tick, letter, isDecisive, cost, finalTick, better }) {
    const { board } = this.session;
    const [row, button] = ["li", "button"].map((tag) => document.createElement(tag));
    button.type = "button";
    button.className = isDecisive ? "fault decisive" : "fault";
    const effect = isDecisive ? `threw the game away: caught by tick ${finalTick}` : `cost ${cost} tick${cost === 1 ? "" : "s"}: caught by tick ${finalTick}`;
    button.textContent = `Tick ${tick}, ${NAMES[letter].toLowerCase()}: ${effect}. Better: ${better.join(", ")}.`;
    button.addEventListener("click", () => board.seek(board.replay.indexOfMove(tick)));
    row.append(button);
    return row;
  }
}
