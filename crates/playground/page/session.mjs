// The displayed game: its map, rules and moves, and the user's changes.

/* global Player, Replay, element, showBanner, theme, STEP */

const LETTERS = { ArrowLeft: "L", ArrowRight: "R", ArrowUp: "U", ArrowDown: "D", ".": "." };
const MOVES = "LRUD.";
const HISTORY_MAX = 5000;

/** The viewer's `Player`, with marks for judged moves. It does not change the page's address. */
class Board extends Player {
  constructor() {
    super();
    this.judgement = null;
  }

  updateHash() {}

  followHash() {}

  showAbout() {}

  animate(time) {
    super.animate(time);
    if (this.judgement && this.replay?.last >= 0 && this.target === null && !this.playing) this.drawJudgement();
  }

  drawJudgement() {
    const { context, tile } = this.mapView;
    const [x, y] = this.replay.frames[this.index].positions;
    for (const { letter, outcome, is_blocked: isBlocked } of this.judgement.moves) {
      if (isBlocked || letter === ".") continue;
      const [dx, dy] = STEP[MOVES.indexOf(letter)];
      const [cx, cy] = this.mapView.center(x + dx * 0.78, y + dy * 0.78);
      const radius = tile * 0.17;
      context.lineWidth = Math.max(2, tile * 0.09);
      context.lineCap = "round";
      context.beginPath();
      context.arc(cx, cy, radius * 1.5, 0, 2 * Math.PI);
      context.fillStyle = theme().pale;
      context.fill();
      context.strokeStyle = { survives: "#00694d", doomed: "#b00020" }[outcome] ?? "#6b7280";
      context.beginPath();
      if (outcome === "doomed") {
        context.moveTo(cx - radius * 0.8, cy - radius * 0.8);
        context.lineTo(cx + radius * 0.8, cy + radius * 0.8);
        context.moveTo(cx + radius * 0.8, cy - radius * 0.8);
        context.lineTo(cx - radius * 0.8, cy + radius * 0.8);
      } else {
        context.arc(cx, cy, radius * 0.8, 0, 2 * Math.PI);
      }
      context.stroke();
    }
  }
}

/**
 * Events: `game` after a change of the map or the rules, `moves` after a change of the moves,
 * `position` after a change of the tick, `history` after `remember` and `undo`.
 */
export class Session extends EventTarget {
  constructor(client) {
    super();
    this.client = client;
    this.board = new Board();
    this.board.takeOver = this;
    // The plan layer would show the user the game's next moves.
    this.board.setLayer("plan", false);
    this.board.onTexts = () => this.notice();
    /** `{ name, map, rules, moves }`; null for an empty board or a recording that starts late. */
    this.game = null;
    /** The displayed recording, `{ file, name }`, or null. A move replaces it with a game. */
    this.recording = null;
    /** True for the demonstration until the user acts. Until then, the address has no fragment. */
    this.isDemo = false;
    this.wasTaken = false;
    this.history = [];
    this.opened = 0;
    this.isSending = this.isDirty = false;
    /**
     * The index to show after the next answer. With `isGrowing`, playback goes on instead, because
     * the moves are a planner's. With `isLive`, playback waits at the end for further moves.
     */
    this.wanted = { index: 0, isGrowing: false, isLive: false };
    this.noticed = -1;
  }

  /** The number of moves before the displayed position, or before the one being requested. */
  get index() {
    const { board } = this;
    if (this.isSending && !this.wanted.isGrowing) return this.wanted.index;
    return board.replay ? (board.target ?? board.index) : 0;
  }

  emit(name) {
    this.dispatchEvent(new Event(name));
  }

  notice() {
    const { index } = this;
    if (index === this.noticed || this.board.isRunning) return;
    this.noticed = index;
    this.emit("position");
  }

  /** Shows a position of a game. Rejects with a sentence if the engine refuses the game. */
  async open(game, index = 0) {
    const opened = ++this.opened;
    const answer = await this.client.ask("replay", { game, is_whole: true });
    if (opened !== this.opened) return;
    const replay = Replay.fromAnswer(answer.buffer);
    this.recording = null;
    // The engine plays no moves after the end of the game.
    this.adopt({ ...game, moves: game.moves.slice(0, replay.last) }, replay, index);
  }

  /** Shows a recorded game. `game` is its part that follows the rules, or null. */
  openRecording(recording, replay, game) {
    this.opened++;
    this.recording = recording;
    this.adopt(game, replay, 0);
  }

  adopt(game, replay, index) {
    this.game = game;
    this.history = [];
    this.noticed = -1;
    this.board.judgement = null;
    document.body.classList.remove("empty");
    this.board.show(replay);
    this.board.seek(index);
    this.emit("game");
    this.emit("moves");
  }

  close() {
    this.opened++;
    this.game = this.recording = null;
    this.board.replay = null;
    document.body.classList.add("empty");
    for (const id of ["title", "tick", "score"]) element(id).textContent = id === "title" ? "getaway" : "–";
    for (const id of ["subtitle", "phase", "next-phase", "total", "outcome"]) element(id).textContent = "";
    element("threats").replaceChildren();
    const { canvas, context } = this.board.mapView;
    context.clearRect(0, 0, canvas.width, canvas.height);
    this.emit("game");
  }

  /** Moves in the displayed position. Drops later moves, unless `letter` is the next move. */
  move(letter) {
    const { board, game, index } = this;
    if (!board.replay) return;
    if (!game || index > game.moves.length) {
      return showBanner("The recorded game does not follow the rules here, so it cannot be continued: go back to an earlier tick.");
    }
    if (index === board.replay.last && board.replay.isOver) return;
    this.isDemo = false;
    this.wasTaken = true;
    if (!this.recording && game.moves[index] === letter) return board.glide(index + 1);
    this.remember();
    if (this.recording) return this.leaveRecording(game.moves.slice(0, index) + letter, index + 1);
    this.setMoves(game.moves.slice(0, index) + letter, index + 1);
  }

  async leaveRecording(moves, index) {
    const { history } = this;
    await this.open({ ...this.game, moves }, index).catch((error) => showBanner(error.message));
    this.history = history;
    this.board.follow(false);
  }

  remember() {
    this.history.push({ moves: this.game.moves, index: this.index });
    if (this.history.length > HISTORY_MAX) this.history.shift();
    this.emit("history");
  }

  undo() {
    const last = this.history.pop();
    if (!last) return;
    this.emit("history");
    this.wasTaken = true;
    this.setMoves(last.moves, last.index);
  }

  restart() {
    if (!this.game) return;
    this.isDemo = false;
    this.wasTaken = true;
    if (this.recording) return this.leaveRecording("", 0);
    if (this.game.moves) this.remember();
    this.setMoves("", 0);
  }

  setMoves(moves, index, { isGrowing = false } = {}) {
    this.game.moves = moves;
    this.wanted = { index, isGrowing, isLive: isGrowing };
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
      const answer = await this.client.ask("replay", { game, is_whole: false }).catch((error) => showBanner(error.message));
      if (answer && opened === this.opened) this.apply(answer.buffer, wanted);
    }
    this.isSending = false;
  }

  apply(buffer, { index, isGrowing, isLive }) {
    const { board } = this;
    const { header, ...parts } = Replay.parts(buffer);
    header.isLive = isLive;
    board.replay.append(header, parts);
    board.replay.frames.length = header.from + header.count;
    if (!this.isDirty) this.game.moves = this.game.moves.slice(0, board.replay.last);
    board.timeline.key = "";
    board.showFilters();
    if (board.other) board.compare(board.other);
    if (!isGrowing) board.glide(Math.min(index, board.replay.last));
    board.refresh();
    this.noticed = -1;
    this.emit("moves");
  }

  /** Handles a key before the viewer does. Returns true if the session uses the key. */
  key(event) {
    if (event.shiftKey) return false;
    const { board } = this;
    if (event.key === "Backspace") this.undo();
    else if (event.key === "j") board.seek(Math.ceil(board.playhead) - 1);
    else if (event.key === "k") board.seek(Math.floor(board.playhead) + 1);
    else if (LETTERS[event.key] && event.target.id !== "scrub") this.move(LETTERS[event.key]);
    else return false;
    return true;
  }
}
