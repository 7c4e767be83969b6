// Lists recorded games, and adds recordings that the user drops onto the page.

/** The reason for a loss in a few words, by its kind; `T` stands for the last savable tick. */
const REASONS = {
  bot_gone: "the bot was gone",
  late_command: "late command in tick T",
  missing_command: "no command in tick T",
  unreadable_command: "unreadable command in tick T",
  ignored_command: "command not played in tick T",
  misprediction: "misprediction in tick T",
  doomed_map: "no line survives this map",
  last_tick: "wrong move in the last tick, T",
  blunder: "blunder in tick T",
  undecided: "reason not found",
};

class Library {
  /** `games`: the list of a gallery, or null to list the games of the server. */
  constructor(player, panel, games) {
    this.player = player;
    this.panel = panel;
    this.isGallery = games !== null;
    this.games = games ?? [];
    this.shown = null;
    this.order = { field: "game", isDescending: false };
    element("library-filter").addEventListener("input", () => this.render());
    for (const button of element("library").querySelectorAll("th button")) {
      button.addEventListener("click", () => this.sort(button.dataset.field));
    }
    element("library-button").addEventListener("click", () => this.toggle(element("library").hidden));
    if (!this.isGallery) addEventListener("hashchange", (event) => this.openAddress(event.newURL));
  }

  async start() {
    await this.refresh();
    document.body.classList.add("list-only");
    if (this.isGallery) element("library").setAttribute("role", "main");
    if (!this.isGallery && (await this.openAddress(location.href))) return;
    if (!this.isGallery && this.games.length === 1) return this.open(this.games[0]);
    this.toggle(true);
  }

  async refresh() {
    if (!this.isGallery) this.games = await (await ask("games")).json();
    element("library-button").hidden = this.isGallery || this.games.length < 2;
    for (const game of this.games) game.end = this.endOf(game);
    this.render();
  }

  toggle(isShown) {
    element("library").hidden = !isShown;
    element("library-button").setAttribute("aria-expanded", String(isShown));
    if (!isShown) return;
    element("library-filter").focus();
    this.findReasons();
  }

  /** While the list is open, requests the analyses of lost games, one after the other. */
  async findReasons() {
    if (this.isGallery || this.isAsking) return;
    this.isAsking = true;
    const next = () => this.games.find((game) => game.catchers?.length && game.analysis === undefined);
    for (let game = next(); game && !element("library").hidden; game = next()) {
      const answer = await ask(`analysis/${game.game}`).catch(() => null);
      game.analysis = answer?.ok ? await answer.json() : null;
      game.end = this.endOf(game);
      if (game.endCell) game.endCell.textContent = game.end;
    }
    this.isAsking = false;
  }

  endOf({ error, status, catchers, tick, analysis }) {
    if (error) return error;
    if (status === "complete") return "survived";
    if (status !== "caught") return `ends in tick ${tick}`;
    const reason = REASONS[analysis?.kind]?.replace("T", analysis.last_savable_tick);
    return `caught by ${catchers.length ? `the ${catchers.join(" and the ")}` : "a threat"} in tick ${tick}${reason ? `: ${reason}` : ""}`;
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
    element("library-count").textContent = `${games.length} of ${this.games.length} games`;
  }

  row(game) {
    const row = document.createElement("tr");
    const cell = (...content) => {
      const cell = document.createElement("td");
      cell.append(...content);
      row.append(cell);
      return cell;
    };
    if (game.error) {
      cell();
      cell(game.error).colSpan = 4;
      cell(game.name);
      cell();
      return row;
    }
    const link = document.createElement("a");
    link.href = this.isGallery ? `${encodeURIComponent(game.name)}.html` : `#${new URLSearchParams({ game: game.name })}`;
    link.textContent = game.map;
    link.setAttribute("aria-label", `Open ${game.map}, ${game.player}, ${game.name}`);
    // If the address already names this game, the link does nothing, so the click closes the list.
    if (!this.isGallery) link.addEventListener("click", () => game.name === this.shown?.name && this.toggle(false));
    cell(thumbnail(game));
    cell(link);
    cell(game.player);
    cell(game.score.toLocaleString("en"));
    game.endCell = cell(game.end);
    cell(game.name);
    const beside = cell();
    if (!this.isGallery) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "text";
      button.textContent = "beside";
      button.setAttribute("aria-label", `Show ${game.name} beside the open game`);
      button.addEventListener("click", () => this.openBeside(game));
      beside.append(button);
    }
    row.classList.toggle("open", game.game === this.shown?.game);
    return row;
  }

  async openAddress(address) {
    const name = new URLSearchParams(new URL(address).hash.slice(1)).get("game");
    if (name === null) return false;
    const game = this.games.find((game) => game.name === name && !game.error);
    if (!game) {
      showBanner(`This folder does not contain a game ${name}.`);
      return false;
    }
    if (game.game !== this.shown?.game) await this.open(game, address);
    return true;
  }

  async fetchReplay({ game }) {
    const answer = await ask(`replay/${game}/0`);
    if (!answer.ok) throw new Error(answer.statusText);
    return Replay.fromAnswer(await answer.arrayBuffer());
  }

  async open(game, address = location.href) {
    const replay = await this.fetchReplay(game).catch(() => showBanner("The server does not respond."));
    if (!replay) return;
    this.shown = game;
    document.body.classList.remove("list-only");
    this.player.gameName = this.games.length > 1 ? game.name : null;
    this.player.show(replay);
    this.panel.attach({ game: game.game });
    this.player.followHash(address);
    this.toggle(false);
    this.render();
  }

  async openBeside(game) {
    if (this.shown === null) return this.open(game);
    const replay = await this.fetchReplay(game).catch(() => showBanner("The server does not respond."));
    if (!replay) return;
    this.toggle(false);
    this.panel.openBeside({ replay, offset: 0, title: `${game.map}, ${game.player}` });
  }
}

function listenToDrops(library) {
  receiveDrops(async (files) => {
    if (!library) return showBanner(`This page cannot read recordings without a server: open ${files[0].name} with "getaway view ${files[0].name}".`);
    let [last, problem] = [0, ""];
    for (const file of files) {
      const answer = await ask("open", { headers: { "x-file-name": file.name.replace(/[^\x20-\x7e]/g, "_") }, body: file }).catch(() => null);
      if (answer?.ok) last = Number(await answer.text());
      else problem = `Cannot open ${file.name}: ${answer ? await answer.text() : "the server does not respond"}.`;
    }
    showBanner(problem);
    if (!last) return;
    await library.refresh();
    library.open(library.games[last - 1], "about:blank");
  });
}
