// A list of recorded games, and recordings dropped onto the page.

class Library {
  constructor(player, panel) {
    this.player = player;
    this.panel = panel;
    this.games = [];
    this.shown = null;
    this.order = { field: "game", isDescending: false };
    element("library-filter").addEventListener("input", () => this.render());
    for (const button of element("library").querySelectorAll("th button")) {
      button.addEventListener("click", () => this.sort(button.dataset.field));
    }
    element("library-button").addEventListener("click", () => this.toggle(element("library").hidden));
  }

  async start() {
    await this.refresh();
    if (this.games.length === 1) return this.open(1);
    this.toggle(true);
  }

  async refresh() {
    this.games = await (await ask("games")).json();
    element("library-button").hidden = this.games.length < 2;
    this.render();
  }

  toggle(isShown) {
    element("library").hidden = !isShown;
    element("library-button").setAttribute("aria-expanded", String(isShown));
    if (isShown) element("library-filter").focus();
  }

  sort(field) {
    this.order = { field, isDescending: this.order.field === field && !this.order.isDescending };
    this.render();
  }

  render() {
    const words = element("library-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (game) => [game.title, game.map, game.planner, game.end, game.has_incidents ? "incidents" : ""].join(" ").toLowerCase();
    const { field, isDescending } = this.order;
    const compare = (a, b) => (typeof a[field] === "number" ? a[field] - b[field] : String(a[field] ?? "").localeCompare(String(b[field] ?? "")));
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
    };
    const button = (text, label, action) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "text";
      button.textContent = text;
      button.setAttribute("aria-label", label);
      button.addEventListener("click", action);
      return button;
    };
    cell(thumbnail(game));
    cell(button(game.title, `Open ${game.title}`, () => this.open(game.game)));
    cell(game.map ?? "–");
    cell(game.planner ?? "–");
    cell(game.score.toLocaleString("en"));
    cell({ caught: `caught in tick ${game.tick}`, complete: "survived", unfinished: `ends in tick ${game.tick}` }[game.end]);
    cell(button("beside", `Show ${game.title} beside the open game`, () => this.openBeside(game)));
    row.classList.toggle("open", game.game === this.shown);
    return row;
  }

  async fetchReplay(game) {
    const answer = await ask(`replay/${game}/0`);
    if (!answer.ok) throw new Error(answer.statusText);
    return Replay.fromAnswer(await answer.arrayBuffer());
  }

  async open(game) {
    const replay = await this.fetchReplay(game).catch(() => showBanner("The server does not respond."));
    if (!replay) return;
    this.shown = game;
    this.player.show(replay);
    this.panel.attach({ game });
    this.player.followHash();
    this.toggle(false);
    this.render();
  }

  async openBeside({ game, title }) {
    if (this.shown === null) return this.open(game);
    const replay = await this.fetchReplay(game).catch(() => showBanner("The server does not respond."));
    if (!replay) return;
    this.toggle(false);
    this.panel.openBeside({ replay, offset: 0, title });
  }
}

/** Opens recordings that are dropped onto the page, if a server can read them. */
function listenToDrops(library) {
  receiveDrops(async (files) => {
    if (!library) return showBanner(`This page cannot read recordings by itself: open ${files[0].name} with "getaway view ${files[0].name}".`);
    let last = null;
    for (const file of files) {
      const answer = await ask("open", { headers: { "x-file-name": file.name.replace(/[^\x20-\x7e]/g, "_") }, body: file }).catch(() => null);
      if (!answer?.ok) return showBanner(`Cannot open ${file.name}: ${answer ? await answer.text() : "the server does not respond"}.`);
      last = Number(await answer.text());
    }
    showBanner("");
    await library.refresh();
    library.open(last);
  });
}
