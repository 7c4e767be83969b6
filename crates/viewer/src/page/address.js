// The page's address, which holds the game and the tick.

const ADDRESS_DELAY_MS = 400;

class Address {
  /** `session` is null on a page without an engine. */
  constructor(board, session, library) {
    Object.assign(this, { board, session, library, timer: null });
    /** The last fragment that the page has written or opened. */
    this.written = location.hash;
    board.addEventListener("position", () => this.plan());
    for (const name of ["game", "moves"]) session?.addEventListener(name, () => this.plan());
    // `newURL` is used because the page may have overwritten the current address by now.
    addEventListener("hashchange", ({ newURL }) => {
      const { hash } = new URL(newURL);
      if (hash !== this.written) this.open(hash);
    });
  }

  plan() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), ADDRESS_DELAY_MS);
  }

  /** The fragment for the displayed position; empty for the demonstration. */
  async fragment() {
    const { board, session, library } = this;
    if (session?.isDemo || !board.replay) return "";
    const { recording, game } = session ?? {};
    if (recording?.args?.number) return `#${new URLSearchParams({ recording: library.shown.name, tick: board.tick })}`;
    if (!game) return `#tick=${board.tick}`;
    // A second board may go on after the end of the game.
    const further = board.position > board.replay.last && board.other?.replay.moves;
    const [moves, index] = further ? [further, board.position] : [game.moves, Math.min(session.index, game.moves.length)];
    return `#${await session.client.text("encode", { game: { ...game, moves }, index })}`;
  }

  async write() {
    if (this.board.isRunning) return;
    const fragment = await this.fragment().catch(() => "");
    this.written = fragment;
    try {
      if (location.hash !== fragment) history.replaceState(null, "", location.href.split("#")[0] + fragment);
    } catch {
      // Ignored: some hosts forbid changing the address, and browsers limit how often it changes.
    }
  }

  /** Opens a fragment. Ignores what chat programs add. Resolves to true for a game or a tick. */
  async open(fragment) {
    clearTimeout(this.timer);
    this.written = fragment;
    const { board, session } = this;
    const [data, tick, ticks, recording] = ["game=([^&]*)", "tick=(\\d+)", "beat=(\\d+)", "recording=([^&]+)"].map((part) => fragment.match(`[#&]${part}`)?.[1]);
    if (session && recording) return this.library.openNamed(decodeURIComponent(recording.replaceAll("+", " ")), Number(tick));
    if (session && data !== undefined) {
      try {
        const { game, index } = await session.client.json("decode", `game=${data.replace(/[).,;!?]+$/, "")}&tick=${tick ?? ""}`);
        session.isDemo = false;
        await session.open(game, index);
        showBanner("");
        if (ticks) this.challenge(index, Number(ticks));
        return true;
      } catch (error) {
        showBanner(`${error.message} The board shows another game.`);
        return false;
      }
    }
    if (tick && board.replay) board.seekTick(Number(tick));
    return Boolean(tick);
  }

  challenge(from, ticks) {
    this.session.challenge = { from, ticks };
    showBanner(`A challenge: survive ${toText(ticks)} tick${ticks === 1 ? "" : "s"} from here.`);
  }
}
