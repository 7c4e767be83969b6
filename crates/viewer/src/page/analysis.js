// The analysis of a lost game, the surviving line, and branches played from any tick. The
// server, or the program that wrote the page, computes everything about the game.

const LETTERS = { ArrowLeft: "L", ArrowRight: "R", ArrowUp: "U", ArrowDown: "D", ".": "." };

class AnalysisPanel {
  /** `source`: `{ analysis, line }` in a self-contained page, `{ game }` on a server, or null. */
  constructor(player) {
    this.player = player;
    this.source = null;
    /** The branch in progress: `{ index, moves }`. */
    this.branch = null;
    this.request = 0;
    player.takeOver = this;
    const click = (id, action) => element(id).addEventListener("click", action);
    click("analyse", () => this.load());
    click("show-line", () => this.showLine());
    click("go-decisive", () => player.seekTick(this.analysis.last_savable_tick));
    click("take-over", () => this.start(player.index));
    click("let-play", () => this.letPlay());
    click("leave-branch", () => this.leave());
    for (const button of element("pad").querySelectorAll("button")) {
      button.addEventListener("click", () => this.move(button.dataset.letter));
    }
  }

  get analysis() {
    return this.player.analysis;
  }

  attach(source) {
    this.source = source;
    this.branch = null;
    const isServed = Boolean(source?.game);
    element("analysis").hidden = !source;
    element("take-over-controls").hidden = !isServed;
    element("take-over-hint").hidden = isServed;
    element("pad").hidden = element("leave-branch").hidden = true;
    element("analyse").hidden = true;
    element("sentence").textContent = "";
    element("verdict").textContent = "";
    this.render(null);
    if (!source) return;
    if (source.analysis) this.render(source.analysis);
    else if (this.player.replay.header.isLive) element("analyse").hidden = true;
    else this.load();
  }

  async load() {
    const { game } = this.source;
    element("analyse").hidden = true;
    element("sentence").textContent = "Looking for the tick that decided the game…";
    const answer = await ask(`analysis/${game}`).catch(() => null);
    if (this.source?.game !== game) return;
    if (!answer?.ok) {
      element("sentence").textContent = answer?.status === 409 ? "The game is being played: ask again when it is over." : "The server does not respond.";
      element("analyse").hidden = false;
      return;
    }
    this.render(await answer.json());
  }

  render(analysis) {
    const { player } = this;
    player.analysis = analysis;
    player.timeline.key = "";
    const isLost = Boolean(analysis?.kind);
    const hasLine = Boolean(isLost && analysis.line);
    element("show-line").hidden = !hasLine || !(this.source.line || this.source.game);
    element("go-decisive").hidden = !hasLine;
    element("curve-text").hidden = !analysis?.room.length;
    if (analysis) {
      element("sentence").textContent = analysis.sentence;
      element("sentence").dataset.lost = String(isLost);
      const tick = analysis.last_savable_tick;
      element("go-decisive").textContent = `tick ${tick}`;
      const proof = analysis.proven ? "proven" : "a line was found; a later tick is not excluded";
      element("verdict").textContent = hasLine ? `Last tick from which survival was possible: ${tick} (${proof}).` : "";
      element("curve-text").textContent = `Curve: tiles where the car can be alive ${analysis.room_ticks} ticks later. Red: the move that lost the game; orange: moves after which a third or less was left.`;
    }
    player.refresh();
  }

  /** Shows the surviving line beside the game, from the tick that decided it. */
  async showLine() {
    const { player, source, analysis } = this;
    const index = player.replay.indexOfTick(analysis.last_savable_tick);
    const replay = source.line ? await Replay.fromPage(source.line) : await this.fetchBranch(index, analysis.line, "-");
    if (!replay) return;
    this.leave();
    player.compare({ replay, offset: index, title: "a surviving line" });
    element("leave-branch").hidden = false;
    player.seek(index);
  }

  /** Shows another game beside the current one, from the first tick in which they differ. */
  openBeside(replay, title) {
    const { player } = this;
    this.leave();
    player.compare({ replay, offset: 0, title });
    element("leave-branch").hidden = false;
    if (player.divergence !== null) player.seek(player.divergence);
  }

  async fetchBranch(index, moves, planner) {
    const answer = await ask(`branch/${this.source.game}/${index}/m${moves}/${encodeURIComponent(planner)}`).catch(() => null);
    if (answer?.status === 200) return Replay.fromAnswer(await answer.arrayBuffer());
    const reasons = { 409: "the game is being played: take over when it is over", 422: await answer?.text() };
    showBanner(`Cannot play from here: ${reasons[answer?.status] ?? "the server does not respond"}.`);
    return null;
  }

  start(index) {
    if (!this.source?.game) return;
    this.branch = { index, moves: "" };
    element("pad").hidden = element("leave-branch").hidden = false;
    this.update();
  }

  /** Lets a planner play a branch to its end. */
  async letPlay() {
    const { player } = this;
    const planner = element("branch-planner").value.trim() || "survival";
    const { index, moves } = this.branch ?? { index: player.index, moves: "" };
    element("let-play").disabled = true;
    const replay = await this.fetchBranch(index, moves, planner);
    element("let-play").disabled = false;
    if (!replay) return;
    this.branch = null;
    element("pad").hidden = true;
    element("leave-branch").hidden = false;
    player.compare({ replay, offset: index, title: `${planner} from tick ${player.replay.frames[index].tick} on: ${replay.outcome || "still alive"}` });
    player.seek(index + moves.length);
  }

  /** Handles a key while a branch is in progress; returns whether the branch uses it. */
  key(event) {
    if (!this.branch || event.shiftKey) return false;
    if (event.key === "Escape") this.leave();
    else if (event.key === "Backspace") this.undo();
    else if (event.key === " " && event.target.tagName !== "BUTTON") this.move(".");
    else if (LETTERS[event.key] && event.target.id !== "scrub") this.move(LETTERS[event.key]);
    else return false;
    return true;
  }

  move(letter) {
    if (!this.branch) return;
    if (letter === "undo") return this.undo();
    const { other } = this.player;
    if (other?.replay.isOver && this.branch.moves.length >= other.replay.last) return;
    this.branch.moves += letter;
    this.update();
  }

  undo() {
    this.branch.moves = this.branch.moves.slice(0, -1);
    this.update();
  }

  async update() {
    const { player, branch } = this;
    const request = ++this.request;
    const replay = await this.fetchBranch(branch.index, branch.moves, "-");
    // Only the latest response counts.
    if (!replay || request !== this.request || this.branch !== branch) return;
    const end = replay.outcome ? `: ${replay.outcome}` : ": arrows to move, . to stay, Backspace to undo, Escape to leave";
    // Moves after the end were not played.
    branch.moves = branch.moves.slice(0, replay.last);
    player.compare({ replay, offset: branch.index, title: `you${end}` });
    player.seek(branch.index + branch.moves.length);
  }

  leave() {
    this.branch = null;
    element("pad").hidden = element("leave-branch").hidden = true;
    if (this.player.other) this.player.compare(null);
  }
}
