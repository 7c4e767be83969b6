// The long tasks, which share one lane to the engine: starting a task stops the previous one.

const EXPRESSION = "expression";

class Task {
  constructor(client, start, stop) {
    Object.assign(this, { client, start: element(start), stop: element(stop) });
    click(stop, () => client.stop());
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

class Autopilot {
  constructor(session, client, planners) {
    Object.assign(this, { session, client, task: new Task(client, "let-play", "stop-play") });
    const option = ({ name }) => make("option", { value: name, selected: name === "survival" }, name);
    element("planner").append(...planners.map(option), make("option", { value: EXPRESSION }, "an expression…"));
    const describe = () => {
      const isExpression = element("planner").value === EXPRESSION;
      element("expression-field").hidden = !isExpression;
      element("planner-about").textContent = isExpression ? "an expression of the search grammar" : planners.find(({ name }) => name === element("planner").value).about;
    };
    element("planner").addEventListener("change", describe);
    describe();
    click("let-play", () => this.play());
    // The status describes the previous game.
    session.addEventListener("game", () => (element("play-status").textContent = ""));
  }

  async play() {
    const { session } = this;
    const { game, index } = session;
    const status = element("play-status");
    if (!game || index > game.moves.length) return showBanner("There is no game to continue here.");
    const { value } = element("planner");
    const planner = value === EXPRESSION ? element("expression").value.trim() : value;
    const request = { game: { ...game }, index, planner, seed: Number(element("planner-seed").value), budget_ticks: Number(element("planner-budget").value) };
    const say = (text) => (status.textContent = text);
    session.isDemo = false;
    session.setClock(false);
    say(`${planner} thinks…`);
    if (element("beside").checked) return this.playBeside(request, say);
    if (session.recording) await session.leaveRecording(game.moves.slice(0, index), index);
    else session.remember();
    await this.continue(request, say);
  }

  async continue({ game, index, planner, ...request }, say) {
    const { session } = this;
    const { board } = session;
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
      if (isGrowing) say(`${planner} drives: tick ${toText(index + moves.length + 1)}`);
      board.request();
    };
    session.wasTaken = false;
    session.takenAt = null;
    const moves = await this.task.run((client) => client.json("play", { game, index, planner, ...request }, { report: (part) => extend(part, true) }), say);
    if (moves) extend(moves, false);
    session.endGrowth();
    if (!moves || !isFollowed) return;
    const replay = await this.client.replay("replay", { game: { ...game, moves: before + moves }, shown: null });
    say(`${planner}: ${replay.outcome}.`);
  }

  async playBeside(request, say) {
    const { board } = this.session;
    const report = (part) => say(`${request.planner} drives: tick ${toText(request.index + part.length + 1)}`);
    const replay = await this.task.run(async (client) => {
      const moves = await client.json("play", request, { report });
      return client.replay("replay", { game: { ...request.game, moves: request.game.moves.slice(0, request.index) + moves }, shown: null });
    }, say);
    if (!replay) return;
    say(`${request.planner}: ${replay.outcome}.`);
    board.compare({ replay, offset: 0, title: `${request.planner}: ${replay.outcome}` });
    board.seek(request.index);
    board.toggle();
  }
}

/** Shows an analysis: of the embedded game, or of the game on a page with an engine. */
class Why {
  constructor(board, session, client) {
    Object.assign(this, { board, session, task: client && new Task(client, "why", "why-stop") });
    const open = (act) => () => {
      element("tab-why").click();
      return this.analysis ? act() : this.ask().then(act);
    };
    click("why", () => this.ask());
    click("go-decisive", () => board.seek(board.replay.indexOfMove(this.analysis.last_savable_tick)));
    click("show-line", () => this.showLine());
    click("take-line", () => session.putMoves(this.moves, this.index));
    click("end-why", open(() => {}));
    click("end-line", open(() => this.analysis?.line && this.showLine()));
    for (const name of ["game", "moves"]) session?.addEventListener(name, () => this.clear());
    this.clear();
  }

  clear() {
    // An analysis of other moves is of no use.
    if (this.asked) this.task.client.stop();
    if (this.analysis) this.board.explain(null);
    this.analysis = this.asked = this.line = null;
    for (const id of ["sentence", "verdict"]) element(id).textContent = "";
    for (const id of ["go-decisive", "show-line", "take-line", "curve-text"]) element(id).hidden = true;
  }

  async ask() {
    const { game, recording } = this.session;
    if (!game && !recording) return showBanner("There is no game to explain.");
    const say = (text) => (element("sentence").textContent = text);
    say("Looking for the tick that decided the game…");
    const request = recording?.args ? ["recording_analysis", recording.args] : ["analyse", game];
    const options = { file: recording?.file, report: (ticks) => say(`Looking for the tick that decided the game… (${toText(ticks)} simulated ticks)`) };
    this.asked = request;
    // The game may change in the meantime.
    const isAsked = () => this.asked === request;
    const analysis = await this.task.run((client) => client.json(...request, options), (text) => isAsked() && say(text));
    if (!isAsked()) return;
    this.asked = null;
    if (analysis) this.render(analysis);
  }

  /** `line` is the replay of the surviving line, if the page has no engine. */
  render(analysis, line = null) {
    const { board, session } = this;
    Object.assign(this, { analysis, line });
    const hasLine = Boolean(analysis.kind && analysis.line);
    const tick = analysis.last_savable_tick;
    element("sentence").textContent = analysis.sentence;
    element("sentence").dataset.lost = String(Boolean(analysis.kind));
    element("verdict").textContent = hasLine ? `Last tick from which survival was possible: ${tick} (${analysis.proven ? "proven" : "a line was found; a later tick is not excluded"}).` : "";
    element("go-decisive").hidden = !hasLine;
    element("go-decisive").textContent = `Go to tick ${tick}`;
    const isOwn = hasLine && session?.game && board.replay.indexOfMove(tick) <= session.game.moves.length;
    element("show-line").hidden = !isOwn && !(hasLine && line);
    element("take-line").hidden = !isOwn;
    element("curve-text").hidden = !analysis.room.length;
    element("curve-text").textContent = `Curve: tiles where the car can be alive ${analysis.room_ticks} ticks later. Red: the move that lost the game; orange: moves after which a third or less was left.`;
    board.explain(analysis);
  }

  get index() {
    return this.board.replay.indexOfMove(this.analysis.last_savable_tick);
  }

  get moves() {
    return this.session.game.moves.slice(0, this.index) + this.analysis.line;
  }

  async showLine() {
    const { board, analysis, index, session } = this;
    const title = "the surviving line";
    if (this.line) board.compare({ replay: this.line, offset: index, title });
    else {
      const request = { game: { ...session.game, moves: this.moves }, shown: null };
      const replay = await this.task.run((client) => client.replay("replay", request), (text) => (element("sentence").textContent = text));
      if (!replay || this.analysis !== analysis) return;
      board.compare({ replay, offset: 0, title });
    }
    // The sheet would cover the line.
    closeSheet();
    board.seek(index);
    board.toggle();
  }
}

class Prove {
  constructor(session, client) {
    Object.assign(this, { session, client, task: new Task(client, "solve", "solve-stop"), reports: [] });
    click("solve", () => this.solve());
    click("take-solution", () => session.putMoves(this.solved.solution.moves, 0));
    click("certificate", () => save(`${this.game.name}.proof`, this.solved.certificate, "text/plain"));
    element("verify-file").addEventListener("change", async ({ target }) => {
      if (target.files.length) this.verify(new Uint8Array(await target.files[0].arrayBuffer()));
      target.value = "";
    });
    session.addEventListener("game", () => this.clear());
  }

  clear() {
    this.reports = [];
    this.solved = null;
    for (const id of ["take-solution", "certificate"]) element(id).hidden = true;
    element("bounds").toggleAttribute("hidden", true);
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
    const { outcome, final_tick: finalTick, bound_tick: bound, simulated_ticks: ticks } = solution;
    this.reports.push({ ticks, finalTick, bound });
    const work = `${toText(ticks)} simulated ticks`;
    const texts = {
      survives: `Solved: a line survives to the end (${work}).`,
      doomed: isOptimal ? `Solved: doomed. The longest line ends at tick ${finalTick}, proven (${work}).` : `Doomed, proven. The longest line found ends at tick ${finalTick}; none passes tick ${bound} (${work}).`,
    };
    const open = `Line to tick ${finalTick}, bound ${bound} (${work})${certificate ? ": not decided within this work." : "…"}`;
    element("solve-status").textContent = texts[outcome] ?? open;
    this.draw();
  }

  draw() {
    const { reports } = this;
    const most = Math.max(1, reports.at(-1).ticks);
    const y = (tick) => 100 - (tick / 2001) * 90;
    // Each report holds until the next one.
    const path = (field) => reports.map((report, i) => `${i ? `H${36 + (report.ticks / most) * 258}V` : "M36 "}${y(report[field])}`).join("") + "H294";
    element("line-path").setAttribute("d", path("finalTick"));
    element("bound-path").setAttribute("d", path("bound"));
    element("work").textContent = `${toText(most)} simulated ticks`;
    element("bounds").toggleAttribute("hidden", false);
    const { finalTick, bound } = reports.at(-1);
    element("bounds").setAttribute("aria-label", `Line and bound by work: the line reaches tick ${finalTick}, the bound (dashed) is tick ${bound}`);
  }

  async verify(file) {
    const { game } = this.session;
    const status = element("verify-status");
    element("tab-prove").click();
    if (!game) return showBanner("There is no map to verify the certificate with: open one first.");
    status.textContent = "Verifying…";
    try {
      const { final_tick: finalTick, bound_tick: bound, steps } = await this.client.json("verify", game, { file });
      const claim = finalTick > 2000 ? "a line survives to the end" : bound > 2000 ? `a line reaches tick ${finalTick}` : `doomed: no line passes tick ${bound}, and one ends at tick ${finalTick}`;
      status.textContent = `Verified for ${game.name}: ${claim} (${toText(steps)} steps).`;
    } catch (error) {
      if (!(error instanceof Stopped)) status.textContent = `Refused: ${error.message}`;
    }
  }
}
