// Judges the moves of every position of the game: first the displayed position, then the others
// from the end of the game backwards. The trainer asks the user to find better moves.

const NAMES = { L: "Left", R: "Right", U: "Up", D: "Down", ".": "Stay" };
const nameOf = (letter) => NAMES[letter].toLowerCase();
const SURVIVES = "#00694d";
const DOOMED = "#b00020";
const OPEN = "#57616f";

function words({ outcome, final_tick: finalTick, bound_tick: bound }) {
  if (outcome === "survives") return "survives to the end";
  if (outcome !== "doomed") return `survives at least to tick ${finalTick}; the end is open`;
  return finalTick < bound ? `doomed, proven: caught at tick ${finalTick} to ${bound}` : `doomed, proven: caught by tick ${finalTick}`;
}

function short({ outcome, final_tick: finalTick }) {
  return { survives: "✓ safe", doomed: `✗ ${finalTick}` }[outcome] ?? `≥ ${finalTick}`;
}

const isSaving = ({ outcome, is_blocked: isBlocked }) => outcome === "survives" && !isBlocked;

function fault({ tick, moves }, letter) {
  const { outcome, bound_tick: finalTick } = moves.find((move) => move.letter === letter);
  if (outcome !== "doomed") return null;
  const found = { tick, letter, finalTick };
  const saving = moves.filter(isSaving);
  if (saving.length) return { ...found, isDecisive: true, better: saving.map((move) => nameOf(move.letter)) };
  const best = Math.max(...moves.map((move) => move.final_tick));
  if (best <= finalTick) return null;
  const longest = moves.filter((move) => move.final_tick === best && !move.is_blocked).map((move) => nameOf(move.letter));
  return { ...found, isDecisive: false, cost: best - finalTick, better: longest };
}

/** Marks the tiles of the moves, and draws the longest line as an arrow with its length. */
function drawJudgement(view, positions, moves) {
  const { context, tile } = view;
  const ink = (outcome) => ({ survives: SURVIVES, doomed: DOOMED })[outcome] ?? OPEN;
  const rank = (move) => move.final_tick + (move.outcome === "survives") - move.is_blocked;
  const best = moves.reduce((one, two) => (rank(two) > rank(one) ? two : one));
  const length = best.final_tick > 2000 ? "survives" : `to tick ${toText(best.final_tick)}`;
  view.drawLine(positions, best.line, ink(best.outcome), length);
  for (const { letter, outcome, is_blocked: isBlocked } of moves) {
    if (isBlocked || letter === ".") continue;
    const [dx, dy] = STEP[MOVES.indexOf(letter)];
    const [x, y] = view.center(positions[0] + dx * 0.78, positions[1] + dy * 0.78);
    const radius = tile * 0.14;
    disc(context, [x, y], radius * 1.8, theme().pale);
    Object.assign(context, { lineWidth: Math.max(2, tile * 0.09), lineCap: "round", strokeStyle: ink(outcome) });
    context.beginPath();
    if (outcome !== "doomed") context.arc(x, y, radius, 0, 2 * Math.PI);
    else {
      for (const side of [-1, 1]) {
        context.moveTo(x - radius, y - side * radius);
        context.lineTo(x + radius, y + side * radius);
      }
    }
    context.stroke();
  }
}

class Judge {
  constructor(session, client) {
    Object.assign(this, { session, client, isOn: false, faults: [] });
    /** Maps the moves before a position to the judgement of the position. */
    this.judgements = new Map();
    /** The moves before the position that is being judged, or null. */
    this.asked = null;
    this.trainer = new Trainer(session, this);
    element("judge-switch").addEventListener("change", (event) => this.turn(event.target.checked));
    session.addEventListener("game", () => this.forget());
    session.addEventListener("moves", () => this.update());
    session.board.addEventListener("position", () => this.update());
    const isAsked = new URLSearchParams(location.hash.slice(1)).get("judge");
    if (isAsked ? isAsked === "1" : memory.get("judge")) this.turn(true);
  }

  turn(isOn) {
    this.isOn = isOn;
    element("judge-switch").checked = isOn;
    memory.set("judge", isOn);
    if (isOn) {
      this.session.setClock(false);
      if (this.session.board.playing) this.session.board.pause();
    } else this.stop();
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
    const { session } = this;
    const { index, board } = session;
    const judgement = (this.isOn && index < this.count && this.judgements.get(this.before(index))) || null;
    session.judgement = judgement;
    const isHidden = session.trainer?.isTrying;
    for (const button of element("pad").querySelectorAll("[data-letter]")) {
      const move = isHidden ? null : judgement?.moves.find(({ letter }) => letter === button.dataset.letter);
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
    element("faults-section").hidden = !this.isOn;
    if (!this.isOn || !game) {
      this.faults = [];
      if (board.analysis?.isJudged) board.explain(null);
      return;
    }
    const judged = Array.from({ length: this.count }, (_, at) => this.judgements.get(this.before(at)) ?? null);
    const room = judged.map((found) => found && found.moves.filter(isSaving).length);
    const open = judged.map((found) => found && found.moves.filter((move) => !move.is_blocked).length);
    this.faults = judged.map((found, at) => found && at < game.moves.length && fault(found, game.moves[at])).filter(Boolean);
    const known = judged.filter(Boolean).length;
    const end = known === judged.length && !this.faults.length ? "No move threw the game away. " : "";
    element("judge-status").textContent = `${end}${toText(known)} of ${toText(judged.length)} positions judged. The curve shows how many moves survive to the end; red marks a move that threw the game away, orange one that cost ticks.`;
    board.explain({ isJudged: true, first_tick: 1, room, open, falls: this.faults.map(({ tick, isDecisive }) => ({ tick, is_decisive: isDecisive })) });
    element("train").hidden = !this.faults.length || Boolean(this.session.trainer);
    element("faults").replaceChildren(...(this.session.trainer ? [] : this.faults.map((found) => this.faultRow(found))));
  }

  faultRow({ tick, letter, isDecisive, cost, finalTick, better }) {
    const { board } = this.session;
    const effect = isDecisive ? `threw the game away: caught by tick ${finalTick}` : `cost ${cost} tick${cost === 1 ? "" : "s"}: caught by tick ${finalTick}`;
    const button = make("button", { type: "button", className: isDecisive ? "fault decisive" : "fault" }, `Tick ${tick}, ${nameOf(letter)}: ${effect}. Better: ${better.join(", ")}.`);
    button.addEventListener("click", () => board.seek(board.replay.indexOfMove(tick)));
    return make("li", {}, button);
  }
}

/** Shows the positions before the faults, one after the other. A move is judged, and not played. */
class Trainer {
  constructor(session, judge) {
    Object.assign(this, { session, judge, faults: [], at: 0, isTrying: false });
    click("train", () => this.start());
    click("next-fault", () => this.go(this.at + 1));
    click("stop-training", () => this.stop());
    session.addEventListener("game", () => this.stop());
  }

  start() {
    this.faults = this.judge.faults.toSorted((one, two) => one.tick - two.tick);
    this.session.trainer = this;
    closeSheet();
    this.go(0);
  }

  go(at) {
    if (at >= this.faults.length) return this.stop();
    const { board } = this.session;
    Object.assign(this, { at, isTrying: true, tried: null });
    board.seek(board.replay.indexOfMove(this.faults[at].tick));
    const { tick, isDecisive } = this.faults[at];
    this.say(`${at + 1} of ${this.faults.length}, tick ${tick}: ${isDecisive ? "your move threw the game away. Which one survives" : "your move cost ticks. Which one lasts longer"}? Drive.`, "");
  }

  try(letter) {
    const { board } = this.session;
    const { tick } = this.faults[this.at];
    board.seek(board.replay.indexOfMove(tick));
    const move = this.judge.judgements.get(this.judge.before(board.index))?.moves.find((judged) => judged.letter === letter);
    if (!move) return;
    const { better, isDecisive } = this.faults[this.at];
    const isRight = better.includes(nameOf(letter)) && !move.is_blocked;
    this.isTrying = false;
    const verdict = move.is_blocked ? "a wall is in the way" : words(move);
    this.say(`${NAMES[letter]}: ${verdict}. ${isRight ? "Right." : `${isDecisive ? "Survives" : "Lasts longest"}: ${better.join(", ")}.`}`, isRight ? "right" : "wrong");
    this.judge.show();
  }

  say(text, kind) {
    element("trainer").textContent = text;
    element("training").dataset.kind = kind;
    element("training").hidden = false;
    element("next-fault").textContent = this.at + 1 < this.faults.length ? "Next one" : this.isTrying ? "Skip" : "Done";
    this.judge.show();
  }

  stop() {
    this.session.trainer = null;
    element("training").hidden = true;
    this.isTrying = false;
    this.judge.show();
  }
}
