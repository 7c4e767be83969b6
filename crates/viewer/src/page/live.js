// The source of the replay: the page itself, or the game in progress.

/** Interval between two requests to the server. */
const POLL_INTERVAL_MS = 250;
/** Close code of the websocket when the server has played all its games. */
const CLOSE_AWAY = 1001;
/** Delay before reconnecting. */
const RECONNECT_DELAY_MS = 1000;

/**
 * Follows the server's game: the websocket pushes each state at once, annotations are requested
 * separately.
 */
class Follower {
  constructor(player, hasSocket) {
    this.player = player;
    this.gameNumber = 0;
    /** Number of annotated frames; later frames come from the websocket. */
    this.annotatedCount = 0;
    this.hasEnded = false;
    /** Whether the server has started the next game while this one is still displayed. */
    this.isNextOn = false;
    /** Whether a state has arrived since the last request. */
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
      // A user who is looking at the end of a game is not switched to the next one.
      const stays = !following && replay && (replay.isOver || this.isNextOn);
      if (this.hasNewState && !stays && !this.hasEnded) await this.fetch();
    } catch {
      this.showMessage("The server does not respond.");
    }
    if (!this.hasEnded) setTimeout(() => this.poll(), POLL_INTERVAL_MS);
  }

  async fetch() {
    this.hasNewState = !this.hasSocket;
    const answer = await fetch(`replay/${this.gameNumber}/${this.annotatedCount}`);
    if (!answer.ok) throw new Error(answer.statusText);
    if (answer.status === 204) return this.showMessage("Waiting for a game.");
    const { header, frames, forecast } = Replay.parts(await answer.arrayBuffer());
    const { player } = this;
    if (header.game !== this.gameNumber) {
      this.isNextOn = Boolean(player.replay) && !player.following;
      this.hasNewState = this.isNextOn || this.hasNewState;
      if (this.isNextOn) return;
      const replay = new Replay(header);
      replay.append(header, { frames, forecast });
      // If the new game has no state yet, request it again later as a new game.
      if (replay.last < 0) return;
      this.gameNumber = header.game;
      this.annotatedCount = replay.frames.length;
      player.show(replay);
      player.playhead = replay.last;
    } else {
      player.replay.append(header, { frames, forecast });
      this.annotatedCount = header.from + frames.length;
      if (!header.isLive) player.replay.frames.length = this.annotatedCount;
    }
    // Without a websocket the server plays a single game.
    if (!this.hasSocket && player.replay.isOver) this.hasEnded = true;
    this.showMessage("");
    player.refresh();
  }

  connect() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/`);
    socket.addEventListener("open", () => socket.send(JSON.stringify({ type: "VIEWER" })));
    socket.addEventListener("message", (event) => this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", ({ code }) => (code === CLOSE_AWAY ? this.end() : setTimeout(() => this.connect(), RECONNECT_DELAY_MS)));
  }

  /** The server has shut down: nothing more will arrive. */
  end() {
    this.hasEnded = true;
    this.showMessage("The server has shut down.");
    element("follow").hidden = true;
    this.player.playing = false;
  }

  /** A state as sent to bots; displayed until the annotated frame arrives. */
  receive(state) {
    this.hasNewState = true;
    const { replay } = this.player;
    if (!replay || replay.isOver || state.tick !== replay.frames[replay.last].tick + 1) return;
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
  const source = JSON.parse(element("replay").textContent);
  // For tests and debugging.
  window.viewer = player;
  if (source.live) return new Follower(player, source.live.socket);
  player.show(await Replay.fromPage(source));
}

start();
