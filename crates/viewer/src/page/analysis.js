// The analysis of a game, the surviving line, and branches played from any tick.

const LETTERS = { ArrowLeft: "L", ArrowRight: "R", ArrowUp: "U", ArrowDown: "D", ".": "." };
const KEYS_HINT = "Arrow keys or the pad move, a dot stays, Backspace takes back. You can go back to any tick and continue differently.";

class AnalysisPanel {
  constructor(player) {
    this.player = player;
    /** `{ analysis, line }` in a self-contained page, `{ game }` on a server, or null. */
    this.source = null;
    /** True if the user plays from the first tick, so there is no recorded game to go back to. */
    this.isGameOfUser = false;
    /**
     * The displayed branch: `{ index, moves, wanted, replay, game, analysis, hadPlan, history }`.
     * It starts in frame `index` of the replay `game`, whose analysis is `analysis`. `wanted` holds
     * the moves of a request that the server has not answered yet, or null. `hadPlan` is true if
     * the plan was shown before the branch. `history` holds the earlier `{ index, moves }`, for
     * undoing.
     */
    this.branch = null;
    player.takeOver = this;
    const click = (id, action) => element(id).addEventListener("click", action);
    click("analyse", () => this.load());
    click("show-line", () => this.showLine());
    click("go-decisive", () => player.seek(player.replay.indexOfMove(this.analysis.last_savable_tick)));
    click("take-over", () => this.start(player.index));
    click("let-play", () => this.letPlay());
    click("undo", () => this.undo());
    click("leave-branch", () => this.leave());
    click("one-board", () => this.openBeside(null));
    for (const button of element("pad").querySelectorAll("button")) {
      button.addEventListener("click", () => this.move(button.dataset.letter));
    }
  }

  get analysis() {
    return this.player.analysis;
  }

  attach(source) {
    this.source = source;
    this.endBranch();
    const isServed = Boolean(source?.game);
    element("analysis").hidden = !source;
    element("take-over-controls").hidden = !isServed;
    element("take-over-hint").hidden = isServed;
    this.render(source?.analysis ?? null);
    if (isServed && !this.player.replay.header.isLive) this.load();
  }

  async load() {
    const { branch, source } = this;
    element("analyse").hidden = true;
    element("sentence").textContent = "Looking for the tick that decided the game…";
    const moves = branch?.moves;
    const answer = await ask(`analysis/${source.game}${branch ? `/${branch.index}/m${moves}` : ""}`).catch(() => null);
    if (this.source !== source || this.branch !== branch || branch?.moves !== moves) return;
    if (!answer?.ok) {
      element("sentence").textContent = answer?.status === 409 ? "The game is being played: ask again when it is over." : "The server does not respond.";
      element("analyse").hidden = false;
      return;
    }
    this.render(await answer.json());
  }

  render(analysis) {
    const { player, branch, source } = this;
    player.analysis = analysis;
    player.timeline.key = "";
    const isLost = Boolean(analysis?.kind);
    const hasLine = Boolean(isLost && analysis.line);
    const isOver = Boolean(player.replay?.isOver);
    element("analysis-title").textContent = branch ? "your game" : player.replay?.header.isLive ? "play on" : "why it ended";
    element("take-over").hidden = Boolean(branch);
    element("analyse").hidden = !branch || !isOver || Boolean(analysis);
    element("show-line").hidden = !hasLine || !(source.line || source.game);
    element("go-decisive").hidden = !hasLine;
    element("curve-text").hidden = !analysis?.room.length;
    element("sentence").textContent = analysis?.sentence ?? (branch && !isOver ? KEYS_HINT : "");
    element("sentence").dataset.lost = String(isLost);
    element("verdict").textContent = "";
    if (analysis) {
      const tick = analysis.last_savable_tick;
      element("go-decisive").textContent = `tick ${tick}`;
      const proof = analysis.proven ? "proven" : "a line was found; a later tick is not excluded";
      if (hasLine) element("verdict").textContent = `Last tick from which survival was possible: ${tick} (${proof}).`;
      element("curve-text").textContent = `Curve: tiles where the car can be alive ${analysis.room_ticks} ticks later. Red: the move that lost the game; orange: moves after which a third or less was left.`;
    }
    player.refresh();
  }

  async showLine() {
    const { player, source, analysis, branch } = this;
    const index = player.replay.indexOfMove(analysis.last_savable_tick);
    // The server can start only from frames of the game, so the branch's moves are sent as well.
    const start = Math.min(index, branch?.index ?? index);
    const moves = (branch?.moves.slice(0, index - start) ?? "") + analysis.line;
    const replay = source.line ? await Replay.fromPage(source.line) : await this.fetchBranch(start, moves, "-");
    if (!replay) return;
    this.openBeside({ replay, offset: start, title: "a surviving line" });
    player.seek(index);
  }

  openBeside(other) {
    const { player } = this;
    player.compare(other);
    element("one-board").hidden = !other;
    if (player.divergence !== null) player.seek(player.divergence);
  }

  async fetchBranch(index, moves, planner) {
    const answer = await ask(`branch/${this.source.game}/${index}/m${moves}/${encodeURIComponent(planner)}`).catch(() => null);
    if (answer?.status === 200) return Replay.fromAnswer(await answer.arrayBuffer());
    const reasons = {
      404: "the recorded game does not follow the rules here",
      409: "the game is being played: take over when it is over",
      422: await answer?.text(),
    };
    showBanner(`Cannot play from here: ${reasons[answer?.status] ?? "the server does not respond"}.`);
    return null;
  }

  async start(index) {
    const { player, source } = this;
    if (!source?.game || this.branch) return;
    const answer = await this.fetchBranch(index, "", "-");
    if (!answer || this.source !== source || this.branch) return;
    // Hide the plan layer, which would show the user which moves to make.
    const hadPlan = player.setLayer("plan", false);
    this.branch = { index, moves: "", wanted: null, replay: null, game: player.replay, analysis: this.analysis, hadPlan, history: [] };
    this.leaveGame(index, answer);
    element("drive").hidden = false;
    element("leave-branch").hidden = this.isGameOfUser;
    element("map").scrollIntoView({ block: "nearest" });
  }

  leaveGame(index, answer) {
    const { branch, player } = this;
    const replay = branch.game.upTo(index);
    if (index) replay.header.subtitle = `you, from tick ${replay.frames[index].tick} on`;
    Object.assign(branch, { index, moves: "", replay });
    element("one-board").hidden = true;
    player.exchange(replay, null);
    player.playhead = index;
    this.adopt("", answer);
  }

  /** Shows the branch with other moves. `answer` is the replay of the branch, from its start. */
  adopt(moves, answer) {
    const { branch, player } = this;
    let kept = 0;
    while (kept < moves.length && moves[kept] === branch.moves[kept]) kept++;
    branch.replay.continueWith(answer, branch.index, branch.index + kept);
    // The server does not play moves after the end of the game.
    branch.moves = moves.slice(0, answer.last);
    player.showAbout();
    player.showFilters();
    player.compare(null);
    element("one-board").hidden = true;
    this.render(null);
    element("undo").disabled = !branch.history.length;
  }

  async letPlay() {
    const { player, branch, source } = this;
    const planner = element("branch-planner").value.trim() || "survival";
    const index = this.indexOnShow;
    const moves = branch?.moves.slice(0, Math.max(0, index - branch.index)) ?? "";
    const start = Math.min(index, branch?.index ?? index);
    element("let-play").disabled = true;
    const answer = await this.fetchBranch(start, moves, planner);
    element("let-play").disabled = false;
    if (!answer || this.source !== source || this.branch !== branch) return;
    const { tick } = player.replay.frames[index];
    if (!branch) {
      this.openBeside({ replay: answer, offset: start, title: `${planner} from tick ${tick} on: ${answer.outcome || "still alive"}` });
      return player.seek(index);
    }
    this.remember();
    if (start < branch.index) this.leaveGame(start, answer);
    this.adopt(answer.movesFrom(0), answer);
    element("sentence").textContent = `${planner} from tick ${tick} on: ${answer.outcome || "still alive"}.`;
    player.seek(index);
  }

  /** Handles a key while a branch is in progress. Returns true if the branch uses the key. */
  key(event) {
    if (!this.branch || event.shiftKey) return false;
    if (event.key === "Escape") this.leave();
    else if (event.key === "Backspace") this.undo();
    else if (event.key === " " && event.target.tagName !== "BUTTON") this.move(".");
    else if (LETTERS[event.key] && event.target.id !== "scrub") this.move(LETTERS[event.key]);
    else return false;
    return true;
  }

  get indexOnShow() {
    const { player, branch } = this;
    return branch?.wanted != null ? branch.index + branch.wanted.length : (player.target ?? player.index);
  }

  async move(letter) {
    const { branch, player } = this;
    if (!branch) return;
    const index = this.indexOnShow;
    if (index === branch.replay.last && branch.replay.isOver) return;
    if (index < branch.index) {
      const answer = await this.fetchBranch(index, letter, "-");
      if (!answer || this.branch !== branch) return;
      this.remember();
      this.leaveGame(index, answer);
      this.adopt(letter, answer);
      return player.glide(index + 1);
    }
    const place = index - branch.index;
    if (branch.wanted === null && branch.moves[place] === letter) return player.glide(index + 1);
    this.remember();
    this.play((branch.wanted ?? branch.moves).slice(0, place) + letter);
  }

  remember() {
    const { index, moves, wanted, history } = this.branch;
    history.push({ index, moves: wanted ?? moves });
  }

  async undo() {
    const { branch } = this;
    const last = branch?.history.pop();
    if (!last) return;
    if (last.index !== branch.index) {
      const answer = await this.fetchBranch(last.index, "", "-");
      if (!answer || this.branch !== branch) return;
      this.leaveGame(last.index, answer);
    }
    this.play(last.moves);
  }

  async play(moves) {
    const { player, branch } = this;
    branch.wanted = moves;
    const answer = await this.fetchBranch(branch.index, moves, "-");
    if (this.branch !== branch || branch.wanted !== moves) return;
    branch.wanted = null;
    if (!answer) return;
    this.adopt(moves, answer);
    player.glide(branch.index + branch.moves.length);
  }

  leave() {
    const { branch, player } = this;
    if (!branch || this.isGameOfUser) return;
    this.endBranch();
    player.exchange(branch.game, branch.analysis);
    this.render(branch.analysis);
    player.seek(branch.index);
  }

  endBranch() {
    if (this.branch) this.player.setLayer("plan", this.branch.hadPlan);
    this.branch = null;
    element("drive").hidden = element("one-board").hidden = true;
  }
}
