// The games of the page's server or gallery, recordings that the user drops, and the running game.

const POLL_INTERVAL_MS = 150;
const FAILURES_MAX = 3;

/** The reason for a loss in a few words, by its kind; `T` stands for the last savable tick. */
const REASONS = {
  bot_gone: "the bot was gone",
  late_command: "late command at tick T",
  missing_command: "no command at tick T",
  unreadable_command: "unreadable command at tick T",
  ignored_command: "command not played at tick T",
  misprediction: "misprediction at tick T",
  doomed_map: "no line survives this map",
  last_tick: "wrong move at the last tick, T",
  blunder: "blunder at tick T",
  undecided: "reason not found",
};

class Library {
  /** `session` is null without an engine. The games of a gallery have pages of their own. */
  constructor(board, session, tasks) {
    Object.assign(this, { board, session, tasks, games: [], shown: null, why: null, order: { field: "game", isDescending: false } });
    element("library-filter").addEventListener("input", () => this.render());
    for (const button of element("library").querySelectorAll("th button")) button.addEventListener("click", () => this.sort(button.dataset.field));
    click("library-button", () => this.toggle(element("library").hidden));
  }

  add(games) {
    for (const game of games) {
      game.end = this.endOf(game);
      game.game = this.games.length + 1;
      this.games.push(game);
    }
    element("library-button").hidden = !this.session || this.games.length < 2;
    this.render();
  }

  toggle(isShown) {
    element("library").hidden = !isShown;
    element("library-button").setAttribute("aria-expanded", String(isShown));
    document.body.classList.toggle("list-only", isShown && !this.shown);
    if (!isShown) return;
    element("library-filter").focus();
    this.findReasons();
  }

  /** While the list is open, requests the analyses of lost games, one after the other. */
  async findReasons() {
    if (!this.session || this.isAsking) return;
    this.isAsking = true;
    const next = () => this.games.find((game) => game.catchers?.length && game.analysis === undefined);
    for (let game = next(); game && !element("library").hidden; game = next()) {
      const { args, file } = game.source;
      game.analysis = await this.tasks.json("recording_analysis", args, { file }).catch((error) => (error instanceof Stopped ? undefined : null));
      game.end = this.endOf(game);
      if (game.endCell) game.endCell.textContent = game.end;
    }
    this.isAsking = false;
  }

  endOf({ error, status, catchers, tick, analysis }) {
    if (error) return error;
    if (status === "complete") return "survived";
    if (status !== "caught") return `ends at tick ${tick}`;
    const reason = REASONS[analysis?.kind]?.replace("T", analysis.last_savable_tick);
    return `caught by ${catchers.length ? `the ${catchers.join(" and the ")}` : "a threat"} at tick ${tick}${reason ? `: ${reason}` : ""}`;
  }

  sort(field) {
    this.order = { field, isDescending: this.order.field === field && !this.order.isDescending };
    this.render();
  }

  render() {
    const words = element("library-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (game) => [game.name, game.map, game.player, game.end, game.has_incidents ? "incidents" : ""].join(" ").toLowerCase();
    const { field, isDescending } = this.order;
    const key = (game) => game[field] ?? (field === "score" ? 0 : "");
    const compare = (a, b) => (typeof key(a) === "number" ? key(a) - key(b) : key(a).localeCompare(key(b)));
    const games = this.games.filter((game) => words.every((word) => text(game).includes(word))).sort(compare);
    if (isDescending) games.reverse();
    for (const button of element("library").querySelectorAll("th button")) {
      const direction = button.dataset.field === field ? (isDescending ? "descending" : "ascending") : "none";
      button.parentElement.setAttribute("aria-sort", direction);
    }
    element("library-rows").replaceChildren(...games.map((game) => this.row(game)));
    element("library-count").textContent = `${toText(games.length)} of ${toText(this.games.length)} games`;
  }

  row(game) {
    const cell = (...content) => make("td", {}, ...content);
    if (game.error) return make("tr", {}, cell(), make("td", { colSpan: 4 }, game.error), cell(game.name), cell());
    const href = this.session ? `#${new URLSearchParams({ recording: game.name })}` : `${encodeURIComponent(game.name)}.html`;
    const link = make("a", { href, aria: { label: `Open ${game.map}, ${game.player}, ${game.name}` } }, game.map);
    if (this.session) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.open(game);
      });
    }
    game.endCell = cell(game.end);
    const row = make("tr", { className: game === this.shown ? "open" : "" }, cell(thumbnail(game)), cell(link), cell(game.player), cell(toText(game.score)), game.endCell, cell(game.name));
    const beside = make("button", { type: "button", className: "text", aria: { label: `Show ${game.name} beside the open game` } }, "beside");
    beside.addEventListener("click", () => this.openBeside(game));
    row.append(this.session ? cell(beside) : cell());
    return row;
  }

  /** Opens the game with this name, if there is one. */
  async openNamed(name, tick) {
    const game = this.games.find((game) => game.name === name && !game.error);
    if (!game) return showBanner(`This page has no recording ${name}.`);
    if (game !== this.shown || !this.session.recording) await this.open(game);
    if (tick) this.board.seekTick(tick);
  }

  async fetch({ source: { args, file } }) {
    return this.session.client.replay("recording", args, { file }).catch((error) => showBanner(error.message));
  }

  async open(game) {
    const replay = await this.fetch(game);
    if (!replay) return;
    this.shown = game;
    this.toggle(false);
    this.session.isDemo = false;
    await this.session.openRecording({ ...game.source, name: game.name }, replay);
    this.render();
    element("tab-why").click();
    closeSheet();
    this.why.ask();
  }

  async openBeside(game) {
    if (this.shown === null) return this.open(game);
    const replay = await this.fetch(game);
    if (!replay) return;
    this.toggle(false);
    this.board.compare({ replay, offset: 0, title: `${game.map}, ${game.player}` });
    if (this.board.divergence !== null) this.board.seek(this.board.divergence);
  }
}

/** Follows the running game of the page's server. */
class Follower {
  constructor(session) {
    Object.assign(this, { session, failures: 0, game: 0, count: 0, hasNext: false });
    element("follow").hidden = false;
    session.board.follow(true);
    this.poll();
  }

  async poll() {
    const { board } = this.session;
    try {
      // The page keeps showing a game that the user drives, or looks back at after its end.
      const isOwn = board.replay && !this.session.recording?.isLive && this.game > 0;
      // The button *live* returns to the running game.
      if (isOwn && board.following) this.game = this.count = 0;
      if (board.following || (!isOwn && (board.following || !board.replay?.isOver || this.game === 0))) await this.fetch();
      if (this.failures >= FAILURES_MAX) showBanner("");
      this.failures = 0;
    } catch (error) {
      if (++this.failures === FAILURES_MAX) showBanner(`${error.message[0].toUpperCase()}${error.message.slice(1)}. The game so far can be watched here; the page reconnects when the server is back.`);
      if (this.failures === FAILURES_MAX && board.replay) board.replay.header.isLive = false;
    }
    setTimeout(() => this.poll(), POLL_INTERVAL_MS);
  }

  async fetch() {
    const { session } = this;
    const { board } = session;
    const answer = await session.client.ask("live", { number: this.game, from: this.count });
    const waiting = `Waiting for a game.\nThe server listens at ws://${location.host}. Start a bot, for example with\npython bot/application.py --url ws://${location.host}`;
    element("message").textContent = answer.length || this.game ? "" : waiting;
    if (!answer.length) return;
    const { header, ...parts } = Replay.parts(answer.buffer);
    if (header.game === this.game) {
      board.replay.append(header, parts);
      if (!header.isLive) board.replay.frames.length = header.from + header.count;
    } else {
      const replay = new Replay(header, parts);
      // A game that has just begun has no state yet.
      if (replay.last < 0) return;
      this.game = header.game;
      const follows = board.following;
      session.isDemo = false;
      await session.openRecording({ isLive: true }, replay, replay.last);
      board.follow(follows);
    }
    this.count = board.replay.frames.length;
    board.showFilters();
    board.changeTimeline();
    if (header.isLive || !header.address || session.game) return;
    session.game = await session.gameOf(board.replay);
    showBanner(`The game is over: ${board.replay.outcome}.`);
    board.showAbout();
    session.emit("game");
  }
}
