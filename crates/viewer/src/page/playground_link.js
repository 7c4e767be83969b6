// The link that opens the game in the playground. crates/playground/src/address.rs decodes it.

class PlaygroundLink {
  constructor(player) {
    this.player = player;
    this.link = element("playground-link");
    /** The frames that `data` encodes, and their number, which grows during a live game. */
    this.frames = null;
    this.count = 0;
    this.data = null;
    player.onTexts = () => this.update();
  }

  update() {
    const { player, link } = this;
    const { replay, index } = player;
    const { shareable } = replay.header;
    const isShown = Boolean(link.dataset.url && shareable) && index <= (shareable.move_count ?? index) && !player.isRunning;
    link.parentElement.hidden = !isShown;
    if (!isShown) return;
    if (this.frames !== replay.frames || this.count !== replay.frames.length) this.pack();
    if (this.data) link.href = `${link.dataset.url}#game=${this.data}&tick=${index + 1}`;
    else link.removeAttribute("href");
  }

  async pack() {
    const { replay } = this.player;
    const { frames } = replay;
    const count = frames.length;
    Object.assign(this, { frames, count, data: null });
    const { move_count: moveCount, ...game } = replay.header.shareable;
    const moves = replay.movesFrom(0).slice(0, moveCount);
    const stream = new Blob([JSON.stringify({ ...game, moves })]).stream().pipeThrough(new CompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    if (this.frames !== frames || this.count !== count) return;
    // Browsers set these two bytes of the gzip header, the compression level and the system, to
    // different values. The playground expects 2 and 255.
    bytes.set([2, 255], 8);
    this.data = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    this.update();
  }
}
