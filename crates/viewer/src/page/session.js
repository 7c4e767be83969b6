// The displayed game: its map, rules and moves, and the user's changes. The user drives move by
// move, or in real time.

const LETTERS = { arrowleft: "L", arrowright: "R", arrowup: "U", arrowdown: "D", a: "L", d: "R", w: "U", s: "D", ".": "." };
const MOVES = "LRUD.";
const HISTORY_MAX = 5000;
/** The interval of moves while a button is held. A held key may be 20 ms faster. */
const HOLD_INTERVAL_MS = 110;
const ROUTE_MAX = 40;
const AGAIN_TICKS = 5;

/**
 * Events: `game` after a change of the map or the rules, `moves` after a change of the moves,
 * `history` after `remember` and `undo`. The board emits `position`.
 */
class Session extends EventTarget {
  /** `client` answers at once; long tasks use the lane `tasks`. */
  constructor(board, client, tasks) {
    super();
    Object.assign(this, { board, client, tasks });
    board.driver = this;
    /** `{ name, map, rules, moves }`; null without a game that the user can continue. */
    this.game = null;
    /** The displayed recording: `{ args, file, name }`; `{ isLive }` for a running game; or null. */
    this.recording = null;
    /** True if the displayed game need not be remembered when another is opened. */
    this.isFirst = true;
    this.wasTaken = false;
    /** The position at which the user took over, or null. */
    this.takenAt = null;
    /** `{ from, ticks }`: the ticks to survive from a position on, or null. */
    this.challenge = null;
    this.history = [];
    this.opened = 0;
    this.isSending = this.isDirty = false;
    /**
     * The index to show after the next answer, and the number of moves that lead there. With
     * `isGrowing`, playback goes on instead, because the moves are a planner's. With `isLive`,
     * playback waits at the end for further moves.
     */
    this.wanted = { index: 0, count: 1, isGrowing: false, isLive: false };
    /** Receives a move instead of the game, or null. */
    this.trainer = null;
    this.judgement = null;
    /** In real time: the direction in which the car drives, the one that the user wants, a route. */
    this.heading = this.turn = ".";
    this.route = "";
    this.timer = null;
    this.hold = { at: 0, isOver: false, timer: null };
    this.closedEnd = null;
    this.listen();
  }

  listen() {
    for (const button of element("pad").querySelectorAll("button")) {
      const { letter } = button.dataset;
      button.addEventListener("pointerdown", () => {
        this.press(letter, false);
        this.hold.timer = setInterval(() => this.press(letter, true), HOLD_INTERVAL_MS);
      });
      for (const name of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(name, () => this.release());
      // Clicks of a keyboard or a screen reader have no pointer.
      button.addEventListener("click", (event) => event.detail === 0 && this.press(letter, false));
    }
    click("new-game", () => this.restart());
    click("undo", () => this.undo());
    click("again", () => this.again());
    click("end-close", () => this.closeEnd());
    element("real-time").addEventListener("change", () => this.setClock(false));
    element("pace").addEventListener("change", () => this.setClock(this.timer !== null));
    element("start-at").addEventListener("change", ({ target }) => this.startAt(Number(target.value)));
    document.addEventListener("visibilitychange", () => document.hidden && this.setClock(false));
    const showUndo = () => (element("undo").disabled = this.history.length === 0);
    for (const name of ["game", "history"]) this.addEventListener(name, showUndo);
    this.addEventListener("game", () => this.showStarts());
  }

  /** True for the demonstration until the user acts. Until then, the address has no fragment. */
  get isDemo() {
    return document.body.classList.contains("demo");
  }

  set isDemo(isDemo) {
    // The demonstration may still be opening a game, which would replace what the user does.
    if (this.isDemo && !isDemo) this.opened++;
    document.body.classList.toggle("demo", isDemo);
  }

  /** The number of moves before the displayed position, or before the one being requested. */
  get index() {
    const { board } = this;
    if (this.isSending && !this.wanted.isGrowing) return this.wanted.index;
    return board.replay ? (board.target ?? board.index) : 0;
  }

  get isAtEnd() {
    const { board, index } = this;
    return index === board.replay.last && board.replay.isOver;
  }

  get isRealTime() {
    return element("real-time").checked;
  }

  get pace() {
    return this.timer === null ? 0 : Number(element("pace").value);
  }

  emit(name) {
    this.dispatchEvent(new Event(name));
  }

  /**
   * Shows a position of a game. Resolves to false if something else was opened in the meantime.
   * Rejects with a sentence if the engine refuses the game.
   */
  async open(game, index = 0) {
    const opened = ++this.opened;
    const replay = await this.client.replay("replay", { game, shown: null });
    if (opened !== this.opened) return false;
    if (this.board.replay && !this.isFirst) this.remember();
    // The engine plays no moves after the end of the game.
    this.adopt({ ...game, moves: game.moves.slice(0, replay.last) }, null, replay, index);
    return true;
  }

  /** Shows a recorded or a running game. Its part that follows the rules can be continued. */
  async openRecording(recording, replay, index = 0) {
    const opened = ++this.opened;
    if (this.board.replay && !this.isFirst) this.remember();
    this.adopt(null, recording, replay, index);
    const game = await this.gameOf(replay);
    if (opened !== this.opened) return;
    this.game = game;
    this.emit("game");
    this.emit("moves");
  }

  async gameOf({ header: { address } }) {
    return address ? (await this.client.json("decode", `${address.data}&tick=1`)).game : null;
  }

  adopt(game, recording, replay, index) {
    Object.assign(this, { game, recording, takenAt: null, challenge: null, judgement: null, isFirst: false, wasTaken: true });
    this.setClock(false);
    this.heading = this.turn = ".";
    replay.moves = game?.moves;
    this.board.show(replay);
    this.board.seek(index);
    this.emit("game");
    this.emit("moves");
  }

  showStarts() {
    const { phases } = this.board.replay.header;
    const option = ([tick, name]) => make("option", { value: tick }, tick === 1 ? "the first tick" : `${name}: tick ${tick}`);
    element("start-at").replaceChildren(...phases.map(option));
  }

  /** Starts at a later tick of the map: a planner drives until then. */
  async startAt(tick) {
    if (tick === 1 || !this.game) return this.restart();
    const { opened } = this;
    const game = { ...this.game, moves: "" };
    const request = { game, index: 0, planner: "survival", seed: 0, budget_ticks: 2000 };
    showBanner(`A planner drives to tick ${tick}…`);
    let driven = "";
    this.tasks.stop();
    const report = (moves) => {
      driven = moves;
      if (moves.length >= tick - 1) this.tasks.stop();
    };
    await this.tasks.json("play", request, { report }).then(report).catch((error) => error instanceof Stopped || showBanner(error.message));
    if (opened !== this.opened || !driven) return;
    const moves = driven.slice(0, tick - 1);
    showBanner(moves.length < tick - 1 ? `No start at tick ${tick}: the planner was caught at tick ${moves.length + 1}.` : "");
    this.isDemo = false;
    await this.open({ ...game, moves }, moves.length - (moves.length < tick - 1 ? 2 * AGAIN_TICKS : 0));
  }

  isOpen(x, y) {
    return this.board.replay.header.rows[y]?.[x] === ".";
  }

  after([x, y], letter) {
    const [dx, dy] = STEP[MOVES.indexOf(letter)] ?? [0, 0];
    return this.isOpen(x + dx, y + dy) ? [x + dx, y + dy] : [x, y];
  }

  /** The car's tile in the position `index`. The engine may not have answered for it yet. */
  get place() {
    const { board, game, index } = this;
    const known = Math.min(index, this.isSending ? this.sure : index, board.replay.last);
    return [...(game?.moves.slice(known, index) ?? "")].reduce((at, letter) => this.after(at, letter), [...board.replay.frames[known].positions.slice(0, 2)]);
  }

  isJunction(place) {
    return STEP.filter(([dx, dy]) => this.isOpen(place[0] + dx, place[1] + dy)).length > 2;
  }

  /** A key or a button of the pad. While it is held, the car drives on to the next junction. */
  press(letter, isRepeated) {
    const { hold } = this;
    if (this.isRealTime && !this.trainer) return isRepeated || this.steer(letter);
    if (!isRepeated) hold.isOver = false;
    if (hold.isOver || (isRepeated && performance.now() - hold.at < HOLD_INTERVAL_MS - 20)) return;
    hold.at = performance.now();
    this.move(letter);
    if (!this.board.replay) return;
    const { place } = this;
    hold.isOver = letter !== "." && (this.isJunction(place) || String(this.after(place, letter)) === String(place));
  }

  release() {
    clearInterval(this.hold.timer);
    this.hold.timer = null;
  }

  /** Drives to the next junction or wall. */
  run(letter) {
    if (this.isRealTime) return this.steer(letter);
    let at = this.place;
    let letters = "";
    do {
      const next = this.after(at, letter);
      if (String(next) === String(at)) break;
      [at, letters] = [next, letters + letter];
    } while (!this.isJunction(at) && letters.length < ROUTE_MAX);
    this.drive(letters || letter);
  }

  /** Drives to a tile on a shortest path. */
  driveTo(tile) {
    const start = this.place;
    const ways = new Map([[String(start), ""]]);
    for (const [at, way] of ways) {
      if (at === String(tile)) return this.drive(way || ".");
      for (const letter of "LRUD") {
        const next = String(this.after(at.split(",").map(Number), letter));
        if (!ways.has(next) && way.length < ROUTE_MAX) ways.set(next, way + letter);
      }
    }
  }

  drive(letters) {
    if (!this.isRealTime) return this.move(letters);
    this.route = letters;
    this.setClock(true);
  }

  steer(letter) {
    this.turn = letter;
    this.route = "";
    if (letter === ".") this.heading = ".";
    this.setClock(true);
  }

  setClock(isRunning) {
    clearInterval(this.timer);
    this.timer = null;
    if (isRunning && this.isRealTime && this.game && !this.isAtEnd) {
      this.timer = setInterval(() => this.tick(), 1000 / Number(element("pace").value));
    }
    document.body.classList.toggle("real-time", this.timer !== null);
    this.board.refresh();
  }

  /** One tick in real time: turns as soon as it can, and otherwise drives on. */
  tick() {
    const { board, place } = this;
    if (this.isAtEnd) return this.setClock(false);
    if (this.isSending) return;
    if (this.route) [this.turn, this.route] = [this.route[0], this.route.slice(1)];
    const isFree = (letter) => letter !== "." && String(this.after(place, letter)) !== String(place);
    if (isFree(this.turn)) this.heading = this.turn;
    if (!this.route && !isFree(this.heading)) this.heading = ".";
    this.move(this.heading);
  }

  /** Moves in the displayed position. Drops later moves, unless `letters` are the next moves. */
  move(letters) {
    const { board, game, index } = this;
    if (!board.replay) return;
    if (this.trainer) return this.trainer.try(letters[0]);
    if (!game || index > game.moves.length) {
      return showBanner(board.replay.header.isLive ? "A bot is playing: drive on when its game is over." : "The recorded game cannot be continued from this tick, but perhaps from an earlier one.");
    }
    if (this.isAtEnd) return board.compare(null);
    // A slip against a wall spends no tick.
    const isSlip = letters[0] !== "." && String(this.after(this.place, letters[0])) === String(this.place);
    this.isDemo = false;
    this.wasTaken = true;
    this.takenAt = Math.min(this.takenAt ?? index, index);
    if (isSlip) return board.seek(index);
    const next = index + letters.length;
    if (!this.recording && game.moves.slice(index, next) === letters) return board.glide(next, letters.length);
    this.remember();
    const moves = game.moves.slice(0, index) + letters;
    if (this.recording) return this.leaveRecording(moves, next);
    this.setMoves(moves, next, { count: letters.length });
  }

  async leaveRecording(moves, index) {
    const { takenAt } = this;
    // `move` has already remembered the recording.
    this.isFirst = true;
    await this.open({ ...this.game, moves }, index).catch((error) => showBanner(error.message));
    this.takenAt = takenAt;
    this.board.glide(index);
  }

  /** Keeps the displayed game for `undo`. */
  remember() {
    const { game, recording, board, index, takenAt, challenge } = this;
    this.history.push({ game: game && { ...game }, recording, replay: recording && board.replay, index, takenAt, challenge });
    if (this.history.length > HISTORY_MAX) this.history.shift();
    this.emit("history");
  }

  async undo() {
    const last = this.history.pop();
    if (!last) return;
    const { game, recording, replay, index, takenAt, challenge } = last;
    this.wasTaken = this.isFirst = true;
    this.setClock(false);
    if (!recording && !this.recording && game.map === this.game?.map && game.rules === this.game.rules) this.setMoves(game.moves, index);
    else if (recording) this.adopt(game, recording, replay, index);
    else await this.open(game, index);
    Object.assign(this, { takenAt, challenge });
    this.isFirst = false;
    this.emit("history");
  }

  restart() {
    if (!this.game) return;
    this.isDemo = false;
    this.wasTaken = true;
    this.setClock(false);
    if (this.recording) return this.leaveRecording("", 0);
    if (this.game.moves) this.remember();
    this.setMoves("", 0);
    this.takenAt = null;
    this.board.seek(0);
  }

  /** Goes back some ticks. The next move drops the later moves. */
  again(ticks = AGAIN_TICKS) {
    if (!this.game) return;
    this.setClock(false);
    this.heading = this.turn = ".";
    this.board.compare(null);
    this.board.seek(Math.max(0, Math.min(this.index, this.game.moves.length) - ticks));
  }

  /** Replaces all moves of the game. */
  putMoves(moves, index) {
    this.isDemo = false;
    if (this.recording) return this.leaveRecording(moves, index);
    this.remember();
    this.setMoves(moves, index);
  }

  setMoves(moves, index, { count = 1, isGrowing = false } = {}) {
    const same = [...moves].findIndex((letter, i) => letter !== this.game.moves[i]);
    this.sure = Math.min(same < 0 ? moves.length : same, this.isSending ? this.sure : Infinity);
    this.game.moves = moves;
    this.wanted = { index, count, isGrowing, isLive: isGrowing };
    // Otherwise playback could pause before the first answer adds frames.
    if (isGrowing && this.board.replay) this.board.replay.header.isLive = true;
    this.send();
  }

  /** Lets playback pause at the end, because the planner adds no further moves. */
  endGrowth() {
    this.wanted.isLive = false;
    // A pending answer still adds frames, and then sets `isLive` itself.
    if (this.board.replay && !this.isSending) this.board.replay.header.isLive = false;
  }

  /** Requests the changed frames: one request at a time, always for the latest moves. */
  async send() {
    this.isDirty = true;
    if (this.isSending) return;
    this.isSending = true;
    while (this.isDirty) {
      this.isDirty = false;
      const { opened, game, wanted } = this;
      const { moves } = game;
      const request = { game: { ...game }, shown: this.board.replay.moves ?? null };
      const answer = await this.client.ask("replay", request).catch((error) => showBanner(error.message));
      if (answer && opened === this.opened) this.apply(answer.buffer, moves, wanted);
    }
    this.isSending = false;
    this.emit("moves");
  }

  /** `moves` are the moves that the request contained. */
  apply(buffer, moves, { index, count, isGrowing, isLive }) {
    const { board } = this;
    const { header, ...parts } = Replay.parts(buffer);
    header.isLive = isLive;
    board.replay.append(header, parts);
    board.replay.frames.length = header.from + header.count;
    if (!this.isDirty) this.game.moves = this.game.moves.slice(0, board.replay.last);
    board.replay.moves = moves.slice(0, board.replay.last);
    board.showFilters();
    board.compare(null);
    if (!isGrowing) board.glide(Math.min(index, board.replay.last), count);
    board.noticed = -1;
  }

  drawOver(view) {
    if (!this.judgement || this.trainer?.isTrying) return;
    const { positions } = this.board.replay.frames[this.board.index];
    drawJudgement(view, positions, this.judgement.moves);
  }

  /** Shows the ticks since the user took over, and the card at the end. */
  showEnd(isOver) {
    const { board, game, takenAt, challenge } = this;
    const yours = takenAt === null ? null : board.index - takenAt;
    element("yours-cell").hidden = yours === null || yours < 0;
    const bests = memory.get("best") ?? {};
    const best = Math.max(yours ?? 0, bests[game?.name] ?? 0);
    if (yours > (bests[game?.name] ?? 0)) memory.set("best", { ...bests, [game.name]: yours });
    element("yours").textContent = toText(yours ?? 0);
    element("best").textContent = best ? ` best ${toText(best)}` : "";
    const isShown = isOver && this.closedEnd !== board.replay && !this.trainer;
    if (!isOver) this.closedEnd = null;
    const wasShown = !element("end").hidden;
    element("end").hidden = !isShown;
    if (challenge && yours !== null && board.index - challenge.from >= challenge.ticks && !challenge.isMet) {
      challenge.isMet = true;
      showBanner(`Challenge met: you survived ${toText(challenge.ticks)} ticks.`);
    }
    if (!isShown || wasShown) return;
    closeSheet();
    const { positions, tick } = board.replay.frames[board.index];
    const { outcome } = board.replay;
    element("end-title").textContent = `${outcome[0].toUpperCase()}${outcome.slice(1)}`;
    const texts = [
      yours === null ? `${toText(tick)} ticks` : `Yours: ${toText(yours)} tick${yours === 1 ? "" : "s"} since you took over; best on this map: ${toText(best)}`,
      challenge && `challenge: ${toText(Math.min(challenge.ticks, board.index - challenge.from))} of ${toText(challenge.ticks)} ticks`,
    ];
    element("end-text").textContent = `${texts.filter(Boolean).join("; ")}.`;
    element("again").hidden = !game;
    element("end-line").hidden = element("end-why").hidden = board.replay.header.status !== "caught";
    element("end").classList.toggle("above", positions[1] > board.replay.header.height / 2);
  }

  closeEnd() {
    this.closedEnd = this.board.replay;
    this.board.refresh();
  }

  /** Handles a key before the board does. Returns true if it used the key. */
  key(event) {
    const key = event.key.toLowerCase();
    const letter = LETTERS[key];
    if (event.shiftKey && letter !== ".") return false;
    if (key === "backspace") this.undo();
    else if (key === "r") this.again();
    else if (key === "c") element("judge-switch").click();
    else if (key === "escape" && !element("end").hidden) this.closeEnd();
    else if (letter) this.press(letter, event.repeat);
    else return false;
    return true;
  }
}
