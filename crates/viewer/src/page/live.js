// Starts the page with the data in the page itself, or with the server's games.

const POLL_INTERVAL_MS = 250;
/** Close code of the websocket after the server's last game, and when the server shuts down. */
const CLOSE_AWAY = 1001;
const RECONNECT_DELAY_MS = 1000;

/** Follows the server's game: the websocket delivers states; HTTP requests add annotations. */
class Follower {
  constructor(player, panel, { socket: hasSocket, human }) {
    this.player = player;
    this.panel = panel;
    this.isHuman = human;
    this.failures = 0;
    this.gameNumber = 0;
    /** Number of annotated frames; later frames come from the websocket. */
    this.annotatedCount = 0;
    this.hasEnded = false;
    /** True if the server has started the next game while the page displays the previous one. */
    this.isNextOn = false;
    this.hasNewState = true;
    element("follow").hidden = false;
    player.follow(true);
    if (hasSocket) this.connect();
    this.hasSocket = hasSocket;
    this.poll();
  }

  async poll() {
    try {
      const { following, replay } = this.player;
      // If the user plays a branch or looks back at a finished game, the page keeps showing it.
      const stays = this.panel.branch || (!following && replay && (replay.isOver || this.isNextOn));
      if (this.hasNewState && !stays && !this.hasEnded) {
        await this.fetch();
        this.succeed();
      }
    } catch {
      // The page still lacks the state for which it sent the request.
      this.hasNewState = true;
      this.fail();
    }
    if (!this.hasEnded) setTimeout(() => this.poll(), POLL_INTERVAL_MS);
  }

  async fetch() {
    this.hasNewState = !this.hasSocket;
    const answer = await ask(`replay/${this.gameNumber}/${this.annotatedCount}`);
    if (!answer.ok) throw new Error(answer.statusText);
    if (answer.status === 204) return this.showMessage(`Waiting for a game.\nThe server listens at ws://${location.host}. Start a bot, for example with\npython bot/application.py --url ws://${location.host}`);
    const { header, frames, forecast } = Replay.parts(await answer.arrayBuffer());
    const { player } = this;
    if (header.game !== this.gameNumber) {
      this.isNextOn = Boolean(player.replay) && !player.following;
      this.hasNewState = this.isNextOn || this.hasNewState;
      if (this.isNextOn) return;
      const replay = new Replay(header);
      replay.append(header, { frames, forecast });
      // The new game has no state yet. After its first state, a poll requests the game again.
      if (replay.last < 0) return;
      this.gameNumber = header.game;
      this.annotatedCount = replay.frames.length;
      player.show(replay);
      player.playhead = replay.last;
      this.panel.attach({ game: this.gameNumber });
      this.wasOver = replay.isOver;
      showBanner("");
      player.followHash();
      if (this.isHuman) {
        this.hasEnded = true;
        player.follow(false);
        element("follow").hidden = true;
        this.panel.isGameOfUser = true;
        await this.panel.start(0);
      }
    } else {
      player.replay.append(header, { frames, forecast });
      this.annotatedCount = header.from + frames.length;
      if (!header.isLive) player.replay.frames.length = this.annotatedCount;
    }
    // A server without a websocket plays only one game.
    if (!this.hasSocket && player.replay.isOver) this.hasEnded = true;
    if (player.replay.isOver && !this.wasOver) {
      this.wasOver = true;
      this.panel.attach({ game: this.gameNumber });
      const next = this.hasSocket ? " Start a bot for the next game." : "";
      showBanner(`The game is over: ${player.replay.outcome}.${next}`);
      player.showAbout();
    }
    player.showFilters();
    this.showMessage("");
    player.refresh();
  }

  connect() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/`);
    socket.addEventListener("open", () => socket.send(JSON.stringify({ type: "VIEWER" })));
    socket.addEventListener("message", (event) => this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", ({ code }) => {
      if (code === CLOSE_AWAY) return this.end();
      // Until the websocket is open again, polls show whether the server is still running.
      this.hasNewState = true;
      setTimeout(() => this.connect(), RECONNECT_DELAY_MS);
    });
  }

  end() {
    this.hasEnded = true;
    this.showMessage("The server has shut down.");
    showBanner("The server has shut down. The game so far can be played back here. Start the server again and reload the page for the next game.");
    element("follow").hidden = true;
    this.player.playing = false;
    if (this.player.replay) this.player.follow(false);
  }

  fail() {
    this.failures++;
    this.showMessage("The server does not respond.");
    if (this.failures < 3 || this.hasEnded) return;
    showBanner("The server does not respond. The game so far can be played back here. If the server was stopped, start it again; this page reconnects automatically.");
    if (this.player.replay) this.player.follow(false);
  }

  succeed() {
    if (this.failures >= 3) showBanner("");
    this.failures = 0;
  }

  /** Displays a state, received in the format for bots, until its annotated frame arrives. */
  receive(state) {
    this.hasNewState = true;
    const { replay } = this.player;
    if (!replay || this.panel.branch || replay.isOver || state.tick !== replay.frames[replay.last].tick + 1) return;
    const directions = ["left", "right", "up", "down"];
    const { x, y } = state.yourCharacter.position;
    const threats = state.threats.flatMap(({ position, direction }) => [position.x, position.y, directions.indexOf(direction)]);
    replay.frames.push({ tick: state.tick, positions: Int16Array.of(x, y, ...threats), annotation: null });
    this.player.request();
  }

  showMessage(text) {
    element("message").textContent = this.player.replay ? "" : text;
  }
}

async function start() {
  const player = new Player();
  const panel = new AnalysisPanel(player);
  const source = JSON.parse(element("replay").textContent);
  new PlaygroundLink(player);
  // For tests and debugging.
  window.viewer = player;
  window.panel = panel;
  element("banner-close").addEventListener("click", () => showBanner(""));
  drawLegend();
  if (source.live) {
    listenToDrops(null);
    return new Follower(player, panel, source.live);
  }
  if (source.library || source.gallery) {
    const library = new Library(player, panel, source.gallery ?? null);
    window.library = library;
    listenToDrops(source.library ? library : null);
    return library.start().catch(() => showBanner("The server does not respond."));
  }
  listenToDrops(null);
  if (source.isInGallery) {
    element("library-button").hidden = false;
    element("library-button").addEventListener("click", () => (location.href = "index.html"));
  }
  player.show(await Replay.fromPage(source));
  panel.attach(source.analysis ? { analysis: source.analysis, line: source.line } : null);
  const { beside } = source;
  if (beside) panel.openBeside({ replay: await Replay.fromPage(beside), offset: 0, title: beside.title });
  if (source.tick) player.seekTick(source.tick);
  else player.followHash();
}

start();
