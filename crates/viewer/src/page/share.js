// The share box: links, challenges, pictures, animations and code to embed the board.

const PICTURE_TILE = 28;
const PICTURE_SIDE_MAX = 1400;
const CAPTION = 34;
const ANIMATION_TICKS = 60;
const ANIMATION_SIDE_MAX = 400;

class ShareBox {
  constructor(session, address, kind) {
    Object.assign(this, { session, address });
    const say = (text) => (element("share-status").textContent = text);
    click("copy", () => this.copy(say));
    click("device-share", async () => navigator.share({ title: document.title, url: await this.link() }).catch(() => {}));
    click("share-png", async () => this.savePicture());
    click("share-gif", () => this.saveAnimation(say).catch((error) => say(error.message)));
    click("end-share", () => {
      element("tab-share").click();
      this.show();
    });
    click("tab-share", () => this.show());
    for (const id of ["challenge", "beat"]) element(id).addEventListener("input", () => this.show());
    for (const id of ["address", "embed-code"]) element(id).addEventListener("focus", ({ target }) => target.select());
    session.board.addEventListener("position", () => element("panel-share").hidden || this.show());
    element("device-share").hidden = !navigator.share;
    // The server forbids other pages to embed its page.
    element("embed-code").parentElement.hidden = kind === "server";
  }

  async link() {
    const { session, address } = this;
    session.isDemo = false;
    const fragment = await address.fragment();
    const beat = element("challenge").checked ? `&beat=${Math.max(1, Math.round(Number(element("beat").value)) || 1)}` : "";
    return location.href.split(/[?#]/)[0] + fragment + beat;
  }

  async show() {
    const link = await this.link().catch((error) => (element("share-status").textContent = error.message));
    element("address").value = link;
    const [page, fragment = ""] = link.split("#");
    element("embed-code").value = `<iframe src="${page}?embed#${fragment}" title="A car chase" width="640" height="520" style="border:0" allow="fullscreen"></iframe>`;
  }

  async copy(say) {
    await this.show();
    const { value } = element("address");
    try {
      await navigator.clipboard.writeText(value);
      say(`Copied: ${toText(value.length)} characters.`);
    } catch {
      element("address").select();
      say("The browser refuses to copy; the address is selected.");
    }
  }

  /** A view of the displayed game outside the page, with room for a caption. */
  picture(sideMax) {
    const { header } = this.session.board.replay;
    const tile = Math.max(4, Math.min(PICTURE_TILE, Math.floor(sideMax / Math.max(header.width, header.height))));
    const size = [tile * header.width, tile * header.height];
    const view = new MapView(make("canvas"), size);
    view.zoom = 1;
    const canvas = make("canvas", { width: size[0], height: size[1] + CAPTION });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const draw = (index) => {
      const { board } = this.session;
      view.draw(board.replay, index, board.layers, null);
      context.fillStyle = theme().paper;
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(view.canvas, 0, 0);
      context.fillStyle = theme().text;
      context.font = "600 15px system-ui, sans-serif";
      context.textBaseline = "middle";
      const { tick } = board.replay.frames[index];
      const end = index === board.replay.last ? board.replay.outcome : "";
      context.fillText(`${header.title} · ${end || `tick ${toText(tick)}`}`, 8, size[1] + CAPTION / 2, canvas.width - 16);
      return context;
    };
    return { canvas, draw };
  }

  savePicture() {
    const { board } = this.session;
    const { canvas, draw } = this.picture(PICTURE_SIDE_MAX);
    draw(board.index);
    canvas.toBlob((blob) => save(`${board.replay.header.title}-${board.tick}.png`, blob, "image/png"));
  }

  async saveAnimation(say) {
    const { board } = this.session;
    const { canvas, draw } = this.picture(ANIMATION_SIDE_MAX);
    const { index } = board;
    const first = Math.max(0, index - ANIMATION_TICKS);
    const frames = [];
    for (let at = first; at <= index; at++) frames.push(draw(at).getImageData(0, 0, canvas.width, canvas.height).data);
    say("Packing…");
    const file = new Uint8Array(await new Blob(frames).arrayBuffer());
    const { width, height } = canvas;
    save(`${board.replay.header.title}-${board.tick}.gif`, await this.session.tasks.ask("gif", { width, height }, { file }), "image/gif");
    say("Saved.");
  }
}
