// The long tasks. They share one worker, which is terminated when a task starts or is stopped.

/* global Replay, element, showBanner, theme, dark */

import { Stopped } from "./client.mjs";
import { save } from "./maps.mjs";

const click = (id, action) => element(id).addEventListener("click", action);
const toText = (number) => number.toLocaleString("en");

class Task {
  constructor(client, start, stop) {
    Object.assign(this, { client, start: element(start), stop: element(stop) });
    this.stop.addEventListener("click", () => client.stop());
  }

  /** Calls `work` with the client. On an error, calls `fail` with a sentence and returns null. */
  async run(work, fail) {
    this.client.stop();
    this.start.disabled = true;
    this.stop.hidden = false;
    try {
      return await work(this.client);
    } catch (error) {
      fail(error instanceof Stopped ? "Stopped." : error.message);
      return null;
    } finally {
      this.start.disabled = false;
      this.stop.hidden = true;
    }
  }
}

export class Autopilot {
  constructor(session, client, planners) {
    this.session = session;
    this.client = client;
    this.task = new Task(client, "let-play", "stop-play");
    this.planners = new Map(planners.map(({ name, about }) => [name, about]));
    element("planners").append(
      ...planners.map(({ name, about }) => {
        const option = document.createElement("option");
        option.value = name;
        option.label = about;
        return option;
      }),
    );
    click("let-play", () => this.play());
    click("one-board", () => this.leave());
    element("planner").addEventListener("input", () => this.describe());
    session.addEventListener("game", () => (element("one-board").hidden = true));
    this.describe();
  }

  describe() {
    const name = element("planner").value.trim();
    element("planner-about").textContent = this.planners.get(name.split(":")[0]) ?? "an expression of the search grammar";
  }

  leave() {
    element("one-board").hidden = true;
    this.session.board.compare(null);
  }

  async play() {
    const { session } = this;
    const { game, index } = session;
    if (!game || session.recording) return showBanner(game ? "Move once to continue the recording as a game of your own." : "There is no game to continue.");
    const planner = element("planner").value.trim() || "survival";
    const request = { game: { ...game }, index, planner, seed: Number(element("planner-seed").value), budget_ticks: Number(element("planner-budget").value) };
    session.isDemo = false;
    if (element("beside").checked) return this.playBeside(request);
    session.remember();
    await this.continue(request);
  }

  async continue(request) {
    const { session } = this;
    const { board } = session;
    const { game, index } = request;
    const status = element("play-status");
    const before = game.moves.slice(0, index);
    const { opened } = session;
    let isFollowed = true;
    const extend = (moves, isGrowing) => {
      // Stops following if the user has moved, or opened another game.
      isFollowed &&= opened === session.opened && !session.wasTaken;
      if (!isFollowed) return this.client.stop();
      session.setMoves(before + moves, index, { isGrowing: true });
      board.target = null;
      board.playing = true;
      status.textContent = isGrowing ? `${request.planner} plays: tick ${toText(index + moves.length + 1)}` : "";
      board.request();
    };
    session.wasTaken = false;
    status.textContent = `${request.planner} thinks…`;
    const moves = await this.task.run((client) => client.json("play", request, { report: (part) => extend(part, true) }), (text) => (status.textContent = text));
    if (moves) extend(moves, false);
    session.endGrowth();
  }

  async playBeside(request) {
    const { session } = this;
    const status = element("play-status");
    status.textContent = `${request.planner} plays…`;
    const report = (part) => (status.textContent = `${request.planner} plays: tick ${toText(request.index + part.length + 1)}`);
    const answer = await this.task.run(async (client) => {
      const moves = await client.json("play", request, { report });
      return client.ask("replay", { game: { ...request.game, moves: request.game.moves.slice(0, request.index) + moves }, is_whole: true });
    }, (text) => (status.textContent = text));
    if (!answer) return;
    const replay = Replay.fromAnswer(answer.buffer);
    status.textContent = `${request.planner}: ${replay.outcome}`;
    session.board.compare({ replay, offset: 0, title: `${request.planner}: ${replay.outcome}` });
    element("one-board").hidden = false;
    session.board.seek(request.index);
    session.board.toggle();
  }
}

export class Why {
  constructor(session, client) {
    this.session = session;
    this.task = new Task(client, "why", "why-stop");
    click("why", () => this.ask());
    click("go-decisive", () => session.board.seek(session.board.replay.indexOfMove(this.analysis.last_savable_tick)));
    click("show-line", () => this.showLine());
    click("take-line", () => this.takeLine());
    for (const name of ["game", "moves"]) session.addEventListener(name, () => this.clear());
    this.clear();
  }

  clear() {
    this.analysis = this.asked = null;
    for (const id of ["sentence", "verdict"]) element(id).textContent = "";
    for (const id of ["go-decisive", "show-line", "take-line", "curve-text"]) element(id).hidden = true;
  }

  async ask() {
    const { session } = this;
    const { game, recording } = session;
    if (!game && !recording) return showBanner("There is no game to explain.");
    element("sentence").textContent = "Looking for the tick that decided the game…";
    const request = recording ? ["recording_analysis", recording.name, { file: recording.file }] : ["analyse", game];
    this.asked = request;
    const analysis = await this.task.run((client) => client.json(...request), (text) => (element("sentence").textContent = text));
    // The game may have changed in the meantime.
    if (analysis && this.asked === request) this.render(analysis);
  }

  render(analysis) {
    const { board, game } = this.session;
    this.analysis = analysis;
    const isLost = Boolean(analysis.kind);
    const hasLine = Boolean(isLost && analysis.line);
    const tick = analysis.last_savable_tick;
    element("sentence").textContent = analysis.sentence;
    element("sentence").dataset.lost = String(isLost);
    element("verdict").textContent = hasLine ? `Last tick from which survival was possible: ${tick} (${analysis.proven ? "proven" : "a line was found; a later tick is not excluded"}).` : "";
    element("go-decisive").hidden = !hasLine;
    element("go-decisive").textContent = `Go to tick ${tick}`;
    const isOwn = hasLine && game && board.replay.indexOfMove(tick) <= game.moves.length;
    element("show-line").hidden = element("take-line").hidden = !isOwn;
    element("curve-text").hidden = !analysis.room.length;
    element("curve-text").textContent = `Curve: tiles where the player can be alive ${analysis.room_ticks} ticks later. Red: the move that lost the game; orange: moves after which a third or less was left.`;
    board.analysis = analysis;
    board.timeline.key = "";
    board.refresh();
  }

  get line() {
    const { board, game } = this.session;
    const index = board.replay.indexOfMove(this.analysis.last_savable_tick);
    return { index, moves: game.moves.slice(0, index) + this.analysis.line };
  }

  async showLine() {
    const { index, moves } = this.line;
    const { analysis } = this;
    const { board, game } = this.session;
    const request = { game: { ...game, moves }, is_whole: true };
    const answer = await this.task.run((client) => client.ask("replay", request), (text) => (element("sentence").textContent = text));
    if (!answer || this.analysis !== analysis) return;
    board.compare({ replay: Replay.fromAnswer(answer.buffer), offset: 0, title: "a surviving line" });
    element("one-board").hidden = false;
    board.seek(index);
  }

  takeLine() {
    const { session } = this;
    const { index, moves } = this.line;
    if (session.recording) return session.leaveRecording(moves, index);
    session.remember();
    session.setMoves(moves, index);
  }
}

export class Prove {
  constructor(session, client) {
    this.session = session;
    this.client = client;
    this.task = new Task(client, "solve", "solve-stop");
    this.reports = [];
    click("solve", () => this.solve());
    click("take-solution", () => this.take());
    click("certificate", () => save(`${this.game.name}.proof`, this.solved.certificate, "text/plain"));
    element("verify-file").addEventListener("change", async ({ target }) => {
      if (target.files.length) this.verify(new Uint8Array(await target.files[0].arrayBuffer()));
      target.value = "";
    });
    session.addEventListener("game", () => this.clear());
    dark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(element("bounds"));
  }

  clear() {
    this.reports = [];
    this.solved = null;
    for (const id of ["take-solution", "certificate", "bounds"]) element(id).hidden = true;
    for (const id of ["solve-status", "verify-status"]) element(id).textContent = "";
  }

  async solve() {
    const { game } = this.session;
    if (!game) return showBanner("There is no map to solve.");
    this.clear();
    this.game = { ...game, moves: "" };
    const status = element("solve-status");
    status.textContent = "Solving…";
    const request = { game: this.game, seed: 0, budget_ticks: Number(element("solve-budget").value) };
    // Keep showing the line and the bound found so far.
    const fail = (text) => (status.textContent = this.reports.length ? `${status.textContent} ${text}` : text);
    const solved = await this.task.run((client) => client.json("solve", request, { report: (found) => this.show(found) }), fail);
    if (!solved) return;
    this.solved = solved;
    this.show(solved);
    element("certificate").hidden = element("take-solution").hidden = false;
  }

  show({ solution, is_optimal: isOptimal, certificate }) {
    const { outcome, final_tick: finalTick, bound, simulated_ticks: ticks } = solution;
    this.reports.push({ ticks, finalTick, bound });
    const work = `${toText(ticks)} simulated ticks`;
    const texts = {
      survives: `Solved: a line survives to the end (${work}).`,
      doomed: isOptimal ? `Solved: doomed. The longest line ends in tick ${finalTick}, proven (${work}).` : `Doomed, proven. The longest line found ends in tick ${finalTick}; none passes tick ${bound} (${work}).`,
    };
    const open = `Line to tick ${finalTick}, bound ${bound} (${work})${certificate ? ": not decided within this work." : "…"}`;
    element("solve-status").textContent = texts[outcome] ?? open;
    element("bounds").hidden = false;
    this.draw();
  }

  draw() {
    const canvas = element("bounds");
    if (canvas.hidden || !this.reports.length) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const { text, line } = theme();
    const [left, right, top, bottom] = [36, width - 6, 12, height - 18];
    const most = Math.max(1, this.reports.at(-1).ticks);
    const x = (ticks) => left + (ticks / most) * (right - left);
    const y = (tick) => bottom - (tick / 2001) * (bottom - top);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = text;
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    for (const tick of [0, 1000, 2000]) {
      context.textAlign = "right";
      context.fillText(tick, left - 5, y(tick));
      context.beginPath();
      context.moveTo(left, y(tick));
      context.lineTo(right, y(tick));
      context.stroke();
    }
    context.textAlign = "right";
    context.fillText(`${toText(most)} simulated ticks`, right, height - 7);
    const draw = (field, color, dash) => {
      context.strokeStyle = color;
      context.lineWidth = 2.5;
      context.setLineDash(dash);
      context.beginPath();
      this.reports.forEach((report, i) => {
        if (i) context.lineTo(x(report.ticks), y(this.reports[i - 1][field]));
        else context.moveTo(left, y(report[field]));
        context.lineTo(x(report.ticks), y(report[field]));
      });
      context.stroke();
      context.setLineDash([]);
    };
    draw("bound", "#d55e00", [5, 4]);
    draw("finalTick", "#009e73", []);
    const { finalTick, bound } = this.reports.at(-1);
    canvas.setAttribute("aria-label", `Line and bound by work: the line reaches tick ${finalTick}, the bound (dashed) is tick ${bound}`);
  }

  take() {
    const { session } = this;
    const { moves } = this.solved.solution;
    session.isDemo = false;
    if (session.recording) return session.leaveRecording(moves, 0);
    session.remember();
    session.setMoves(moves, 0);
  }

  async verify(file) {
    const { game } = this.session;
    const status = element("verify-status");
    element("tab-prove").click();
    if (!game) return showBanner("There is no map to verify the certificate with: open one first.");
    status.textContent = "Verifying…";
    try {
      const { final_tick: finalTick, bound_tick: bound, steps } = await this.client.json("verify", game, { file });
      const claim = finalTick > 2000 ? "a line survives to the end" : bound > 2000 ? `a line reaches tick ${finalTick}` : `doomed: no line passes tick ${bound}, and one ends in tick ${finalTick}`;
      status.textContent = `Verified for ${game.name}: ${claim} (${toText(steps)} steps).`;
    } catch (error) {
      if (!(error instanceof Stopped)) status.textContent = `Refused: ${error.message}`;
    }
  }
}
