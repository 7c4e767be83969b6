// Where the film comes from: the page itself, or the game that is being played.

/** Time from one question to the server to the next. */
const ASK_PAUSE_MS = 250;
/** What a socket is closed with when the server has played its games. */
const SERVER_ENDS = 1001;
/** Time until a lost connection is tried again. */
const RETRY_PAUSE_MS = 1000;

/** Follows the game of the server that the page came from: the socket tells each state at once, what is known about it comes after. */
class Follower {
  constructor(player, hasSocket) {
    this.player = player;
    this.game = 0;
    /** Moments that are known in full; later ones are from the socket. */
    this.known = 0;
    this.hasEnded = false;
    /** The server plays the next game while this one is still looked at. */
    this.isNextOn = false;
    /** A state of the socket came since the server was asked last. */
    this.news = true;
    element("follow").hidden = false;
    player.follow(true);
    if (hasSocket) this.connect();
    this.hasSocket = hasSocket;
    this.ask();
  }

  async ask() {
    try {
      const { following, film } = this.player;
      // Somebody who looks at a game's end is not torn away from it by the next one.
      const stays = !following && film && (film.isOver || this.isNextOn);
      if (this.news && !stays && !this.hasEnded) await this.fetch();
    } catch {
      this.say("The server does not answer.");
    }
    if (!this.hasEnded) setTimeout(() => this.ask(), ASK_PAUSE_MS);
  }

  async fetch() {
    this.news = !this.hasSocket;
    const answer = await fetch(`film/${this.game}/${this.known}`);
    if (!answer.ok) throw new Error(answer.statusText);
    if (answer.status === 204) return this.say("Waiting for a game.");
    const { header, moments, ahead } = Film.parts(await answer.arrayBuffer());
    const { player } = this;
    if (header.game !== this.game) {
      this.isNextOn = Boolean(player.film) && !player.following;
      this.news = this.isNextOn || this.news;
      if (this.isNextOn) return;
      const film = new Film(header);
      film.take(header, { moments, ahead });
      // A game that has begun and has no state yet is asked for again, as a new one.
      if (film.last < 0) return;
      this.game = header.game;
      this.known = film.moments.length;
      player.show(film);
      player.playhead = film.last;
    } else {
      player.film.take(header, { moments, ahead });
      this.known = header.from + moments.length;
      if (header.ending !== "running") player.film.moments.length = this.known;
    }
    this.say("");
    player.refresh();
  }

  connect() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/`);
    socket.addEventListener("open", () => socket.send(JSON.stringify({ type: "VIEWER" })));
    socket.addEventListener("message", (event) => this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", ({ code }) => (code === SERVER_ENDS ? this.end() : setTimeout(() => this.connect(), RETRY_PAUSE_MS)));
  }

  /** The server has said goodbye: nothing will come any more. */
  end() {
    this.hasEnded = true;
    this.say("The server has ended.");
    element("follow").hidden = true;
    this.player.playing = false;
  }

  /** A state, as bots are sent it: shown until the server has said all about it. */
  receive(state) {
    this.news = true;
    const { film } = this.player;
    if (!film || film.isOver || state.tick !== film.moments[film.last].tick + 1) return;
    const directions = ["left", "right", "up", "down"];
    const { x, y } = state.yourCharacter.position;
    const threats = state.threats.flatMap(({ position, direction }) => [position.x, position.y, directions.indexOf(direction)]);
    film.moments.push({ tick: state.tick, frame: Int16Array.of(x, y, ...threats), insight: null });
    this.player.request();
  }

  say(text) {
    element("message").textContent = this.player.film ? "" : text;
  }
}

async function start() {
  const player = new Player();
  const source = JSON.parse(element("film").textContent);
  // For tests and the curious.
  window.viewer = player;
  if (source.live) return new Follower(player, source.live.socket);
  player.show(await Film.fromPage(source));
}

start();
