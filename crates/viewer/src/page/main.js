// Starts the board and the tools of the page, and its engine, if it has one.

/** The demonstration. It opens just after threats have begun to move at every tick. */
const DEMO = { map: "market-square", planner: "show-off", budget_ticks: 2000, index: 904 };

const ENGINE_STARTS = "The page needs WebAssembly and a web server: run python3 -m http.server in its folder, or getaway view";

class Tabs {
  constructor(tabs) {
    this.tabs = [...tabs.querySelectorAll("[role=tab]")];
    for (const tab of this.tabs) tab.addEventListener("click", () => this.open(tab));
    tabs.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const shown = this.tabs.filter((tab) => tab.offsetParent);
      const tab = shown.at((shown.indexOf(event.target) + step) % shown.length);
      this.open(tab);
      tab.focus();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  open(opened) {
    const wasOpen = opened.getAttribute("aria-selected") === "true" && document.body.classList.contains("sheet");
    for (const tab of this.tabs) {
      const isOpen = tab === opened;
      tab.setAttribute("aria-selected", String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
      element(tab.getAttribute("aria-controls")).hidden = !isOpen;
    }
    // In small windows, the panel is a sheet. Its tab, or a click beside it, closes it.
    document.body.classList.toggle("sheet", !wasOpen);
  }
}

const closeSheet = () => document.body.classList.remove("sheet");

/** Follows the theme of the page that embeds this one, and takes the keys. */
function embed(parameters) {
  if (!parameters.has("embed")) return;
  document.body.classList.add("embed");
  const setTheme = (name) => {
    if (name !== "light" && name !== "dark") return;
    document.documentElement.dataset.theme = name;
    dark.dispatchEvent(new Event("change"));
  };
  setTheme(parameters.get("theme"));
  addEventListener("message", ({ data }) => setTheme(data?.theme));
  element("canvas").tabIndex = 0;
  element("canvas").addEventListener("pointerdown", () => focus());
}

async function showDemo(session, tasks, { maps, rules }) {
  const { tiles, player, threats } = maps.find(({ name }) => name === DEMO.map) ?? maps[0];
  const game = { name: DEMO.map, map: { tiles, player, threats }, rules, moves: "" };
  const { planner, budget_ticks, index } = DEMO;
  await session.open(game);
  session.isDemo = true;
  const { opened } = session;
  tasks.json("play", { game, index: 0, planner, seed: 0, budget_ticks }).then(async (moves) => {
    if (opened !== session.opened) return;
    session.isFirst = true;
    if (!(await session.open({ ...game, moves }, index))) return;
    session.isDemo = true;
    if (!still.matches) session.board.toggle();
  }).catch(() => {});
}

/** The link from a page without an engine to one with an engine. */
function linkToPlayground(board) {
  const link = element("playground-link");
  const { address } = board.replay.header;
  const isShown = Boolean(link.dataset.url && address) && board.index <= address.moves && !board.isRunning;
  link.parentElement.hidden = !isShown;
  if (isShown) link.href = `${link.dataset.url}#${address.data}&tick=${board.index + 1}`;
}

async function startWithoutEngine(board, source) {
  const library = new Library(board, null, null);
  const why = new Why(board, null, null);
  const address = new Address(board, null, library);
  element("tab-why").click();
  closeSheet();
  receiveDrops(([file]) => showBanner(`This page cannot read recordings without a server: open ${file.name} with "getaway view ${file.name}".`));
  if (source.gallery) {
    element("library").setAttribute("role", "main");
    document.querySelector("main").remove();
    library.add(source.gallery);
    return library.toggle(true);
  }
  if (source.isInGallery) {
    element("library-button").hidden = false;
    element("library-button").addEventListener("click", () => (location.href = "index.html"));
  }
  board.addEventListener("position", () => linkToPlayground(board));
  board.show(await Replay.fromPage(source));
  if (!location.hash.includes("layers=") && !memory.get("layers")) board.setLayer("plan", true);
  if (source.analysis) why.render(source.analysis, source.line && (await Replay.fromPage(source.line)));
  const { beside } = source;
  if (beside) board.compare({ replay: await Replay.fromPage(beside), offset: 0, title: beside.title });
  if (beside && board.divergence !== null) board.seek(board.divergence);
  if (source.tick) board.seekTick(source.tick);
  else await address.open(location.hash);
}

async function startWithEngine(board, source) {
  const freeze = (inert) => [element("drive"), document.querySelector("aside")].forEach((part) => (part.inert = inert));
  freeze(true);
  board.show(await Replay.fromPage(source));
  const [client, tasks, judging] = Array.from({ length: 3 }, () => new EngineClient(source.engine));
  const answer = await client.json("start");
  const session = new Session(board, client, tasks);
  session.addEventListener("game", () => tasks.stop());
  const library = new Library(board, session, tasks);
  const rules = new RulesForm(session, client, answer.rules);
  const prove = new Prove(session, tasks);
  const maps = new Maps(session, client, library, rules, prove);
  const editor = new Editor(session, maps);
  const autopilot = new Autopilot(session, tasks, answer.planners);
  const why = (library.why = new Why(board, session, tasks));
  const judge = new Judge(session, judging);
  const address = new Address(board, session, library);
  const share = new ShareBox(session, address, source.engine);
  // For tests and debugging.
  Object.assign(window, { session, library, maps, editor, autopilot, why, prove, judge, address, share });
  maps.show(answer.maps);
  rules.show(answer.rules);
  freeze(false);
  const { opening, game } = answer;
  const games = opening === "recorded" ? await client.json("games") : [];
  library.add(games.map((entry) => ({ ...entry, source: { args: { number: entry.game } } })));
  const isOpen = location.hash.length > 1 && (await address.open(location.hash));
  if (opening === "live") new Follower(session);
  else if (!isOpen && game) await session.open(game);
  else if (!session.recording && opening === "recorded") games.length === 1 ? await library.open(library.games[0]) : library.toggle(true);
  else if (!isOpen && !session.game) await showDemo(session, tasks, answer);
  if (opening === "recorded" && games.length === 1) await address.open(location.hash);
}

async function start() {
  const source = JSON.parse(element("replay").textContent);
  embed(new URLSearchParams(location.search));
  document.body.classList.toggle("offline", !source.engine);
  new Tabs(element("tabs"));
  addEventListener("click", ({ target }) => target === document.body && closeSheet());
  closeSheet();
  const board = new Player();
  window.board = board;
  if (source.engine) await startWithEngine(board, source);
  else await startWithoutEngine(board, source);
  document.body.dataset.ready = "";
}

start().catch((error) => showBanner(`The page did not start: ${error.message}. ${ENGINE_STARTS}.`));
