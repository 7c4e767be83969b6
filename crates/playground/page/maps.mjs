// Chooses, generates and draws maps, and opens files.

/* global MapView, Replay, element, receiveDrops, showBanner, spriteOf, drawSprite, theme, thumbnail, dark */

const STYLES = ["bull", "goldfish", "shark", "owl", "deer", "hawk"];
const NAME_CHARS_MAX = 60;
const FILE_BYTES_MAX = 64 << 20;
const SIDE_MAX = 64;

const nameOf = (file) => file.name.replace(/\.(png|txt|map|jsonl|gz)$/i, "").slice(0, NAME_CHARS_MAX) || "map";

export function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export class Maps {
  /** `verify` is called with the bytes of a certificate. */
  constructor(session, client, rulesOf, verify) {
    Object.assign(this, { session, client, rulesOf, verify });
    this.bundled = [];
    const click = (id, action) => element(id).addEventListener("click", action);
    click("generate", () => this.generate());
    click("surprise", () => {
      element("map-seed").value = Number(element("map-seed").value) + 1;
      this.generate();
    });
    click("save-png", () => this.save("encode_png", () => "layout.png", "image/png"));
    click("save-text", () => this.save("encode_drawing", (name) => `${name}.txt`, "text/plain"));
    element("map-braid").addEventListener("input", ({ target }) => target.setAttribute("aria-valuetext", `${target.value} of 1000 dead ends are opened`));
    element("file").addEventListener("change", ({ target }) => {
      if (target.files.length) this.openFile(target.files[0]);
      target.value = "";
    });
    receiveDrops((files) => this.openFile(files[0]));
    dark.addEventListener("change", () => this.show(this.bundled));
  }

  show(maps) {
    this.bundled = maps;
    element("bundled").replaceChildren(
      ...maps.map(({ name, difficulty, tiles, player, threats }) => {
        const [button, label] = ["button", "span"].map((tag) => document.createElement(tag));
        button.type = "button";
        button.dataset.map = name;
        label.textContent = name;
        button.title = `${difficulty}, ${threats.length} threats`;
        button.append(thumbnail({ rows: tiles, place: player }), label);
        button.addEventListener("click", () => this.play(name, { tiles, player, threats }));
        return button;
      }),
    );
  }

  async play(name, map) {
    try {
      await this.session.open({ name, map, rules: this.rulesOf(), moves: "" });
      this.session.isDemo = false;
      showBanner("");
      this.session.emit("position");
      return true;
    } catch (error) {
      showBanner(error.message);
      return false;
    }
  }

  async generate() {
    const number = (id) => Number(element(id).value);
    const request = {
      kind: element("kind").value,
      width: number("map-width"),
      height: number("map-height"),
      threats: number("map-threats"),
      styles: [],
      braid_permille: number("map-braid"),
      seed: number("map-seed"),
    };
    try {
      const { name, tiles, player, threats } = await this.client.json("generate", request);
      await this.play(name, { tiles, player, threats });
    } catch (error) {
      showBanner(error.message);
    }
  }

  async save(request, fileName, type) {
    const { game } = this.session;
    if (!game) return showBanner("There is no map to save.");
    try {
      save(fileName(game.name), await this.client.ask(request, game.map), type);
    } catch (error) {
      showBanner(error.message);
    }
  }

  /** Opens a PNG, certificate, recording or text map. The first bytes decide the type. */
  async openFile(file) {
    if (file.size > FILE_BYTES_MAX) return showBanner(`${file.name} has ${file.size} bytes: expected at most ${FILE_BYTES_MAX}.`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    // Without the byte order mark and the zero bytes of UTF-16.
    const start = new TextDecoder("latin1").decode(bytes.subarray(0, 200)).replace(/^[^\x00-\x7f]+|\0/g, "").trimStart();
    try {
      if (start.startsWith('{"certificate"')) this.verify(bytes);
      else if (start.startsWith("{") || (bytes[0] === 0x1f && bytes[1] === 0x8b)) await this.openRecording(file, bytes);
      else await this.play(nameOf(file), await this.client.json("map_file", null, { file: bytes }));
    } catch (error) {
      showBanner(`Cannot open ${file.name}: ${error.message}`);
    }
  }

  async openRecording(file, bytes) {
    const request = (name) => this.client.ask(name, file.name, { file: bytes });
    const [replay, game] = await Promise.all([request("recording_replay"), request("recording_game")]);
    showBanner("");
    this.session.isDemo = false;
    this.session.openRecording({ file: bytes, name: file.name }, Replay.fromAnswer(replay.buffer), JSON.parse(new TextDecoder().decode(game)));
  }
}

const PALETTE = [
  ["wall", "wall"],
  ["street", "street"],
  ["see_through", "see-through: threats pass, the player does not"],
  ["player", "the player"],
  ...STYLES.map((style) => [style, `a ${style}`]),
];

export class Editor {
  constructor(session, maps) {
    this.session = session;
    this.maps = maps;
    this.view = new MapView(element("editor-canvas"));
    this.tool = "street";
    /** The tile that the keyboard edits. */
    this.cursor = [1, 1];
    this.isOpen = false;
    const click = (id, action) => element(id).addEventListener("click", action);
    click("draw", () => this.open(this.session.game));
    click("draw-new", () => this.open(null));
    click("editor-play", () => this.play());
    click("editor-cancel", () => this.close());
    for (const id of ["editor-width", "editor-height"]) element(id).addEventListener("change", () => this.resize());
    new ResizeObserver(() => this.draw()).observe(element("map"));
    dark.addEventListener("change", () => {
      this.showPalette();
      this.draw();
    });
    session.addEventListener("game", () => this.close());
    this.listen();
    this.showPalette();
  }

  showPalette() {
    element("palette").replaceChildren(
      ...PALETTE.map(([tool, name], number) => {
        const [label, radio, icon, text, key] = ["label", "input", "canvas", "span", "kbd"].map((tag) => document.createElement(tag));
        radio.type = "radio";
        radio.name = "tool";
        radio.value = tool;
        radio.checked = tool === this.tool;
        radio.addEventListener("change", () => (this.tool = tool));
        icon.width = icon.height = 56;
        icon.setAttribute("aria-hidden", "true");
        const context = icon.getContext("2d");
        context.fillStyle = theme()[tool] ?? theme().street;
        context.fillRect(0, 0, 56, 56);
        if (theme()[tool] === undefined || tool === "player") drawSprite(context, tool, 28, 28, 46, 0);
        text.textContent = name.split(":")[0].replace(/^(a|the) /, "");
        key.textContent = number;
        label.title = name;
        label.append(radio, icon, text, key);
        return label;
      }),
    );
  }

  open(game) {
    const blank = { tiles: ["#".repeat(17), ...Array(11).fill(`#${".".repeat(15)}#`), "#".repeat(17)], player: null, threats: [] };
    const { tiles, player, threats } = game?.map ?? blank;
    this.rows = tiles.map((row) => [...row]);
    this.player = player && [...player];
    this.threats = threats.map((threat) => [...threat]);
    element("editor-name").value = game ? `${game.name} (changed)`.slice(0, NAME_CHARS_MAX) : "my map";
    this.toggle(true);
    this.showSize();
    element("editor-canvas").focus();
    this.draw();
  }

  close() {
    if (this.isOpen) this.toggle(false);
  }

  toggle(isOpen) {
    this.isOpen = isOpen;
    document.body.classList.toggle("editing", isOpen);
    element("editor").hidden = element("editor-tools").hidden = !isOpen;
    element("boards").hidden = element("map-tools").hidden = isOpen;
    element("card").hidden = true;
    element("title").textContent = isOpen ? "Draw a map" : (this.session.board.replay?.header.title ?? "getaway");
    element("tabs").parentElement.scrollTop = 0;
    if (!isOpen) this.session.board.refresh();
  }

  get map() {
    // Maps list their threats row by row.
    const threats = this.threats.toSorted(([, ax, ay], [, bx, by]) => ay - by || ax - bx);
    return { tiles: this.rows.map((row) => row.join("")), player: this.player, threats };
  }

  async play() {
    if (!this.player) return showBanner("The map has no player: expected one, put it on a street.");
    const name = element("editor-name").value.trim() || "my map";
    if (!(await this.maps.play(name, this.map))) return;
    this.close();
    element("tab-play").click();
  }

  showSize() {
    element("editor-width").value = this.rows[0].length;
    element("editor-height").value = this.rows.length;
  }

  /** Changes the size. If a wall surrounds the whole map, it also surrounds the resized map. */
  resize() {
    const side = (id) => Math.max(3, Math.min(SIDE_MAX, Math.round(Number(element(id).value)) || 3));
    const [width, height] = [side("editor-width"), side("editor-height")];
    const { rows } = this;
    const isBorder = (x, y, columns, lines) => x === 0 || y === 0 || x >= columns - 1 || y >= lines - 1;
    const [columns, lines] = [rows[0].length, rows.length];
    const isWalled = rows.every((row, y) => row.every((tile, x) => tile === "#" || !isBorder(x, y, columns, lines)));
    const tileAt = (x, y) => {
      if (!isWalled) return rows[y]?.[x] ?? ".";
      if (isBorder(x, y, width, height)) return "#";
      return isBorder(x, y, columns, lines) ? "." : rows[y][x];
    };
    this.rows = Array.from({ length: height }, (_, y) => Array.from({ length: width }, (_, x) => tileAt(x, y)));
    const isOpen = ([x, y]) => (this.rows[y]?.[x] ?? "#") !== "#";
    if (this.player && !isOpen(this.player)) this.player = null;
    this.threats = this.threats.filter(([, ...place]) => isOpen(place));
    this.cursor = [Math.min(this.cursor[0], width - 1), Math.min(this.cursor[1], height - 1)];
    this.showSize();
    this.draw();
  }

  put([x, y]) {
    const { tool } = this;
    const isHere = ([a, b]) => a === x && b === y;
    this.threats = this.threats.filter(([, ...place]) => !isHere(place));
    if (this.player && isHere(this.player)) this.player = null;
    this.rows[y][x] = { wall: "#", see_through: "~" }[tool] ?? ".";
    showBanner("");
    if (tool === "player") this.player = [x, y];
    else if (STYLES.includes(tool)) this.threats.push([tool, x, y]);
    this.draw();
  }

  replay() {
    const { rows, player, threats } = this;
    const header = { width: rows[0].length, height: rows.length, rows: rows.map((row) => row.join("")), styles: threats.map(([style]) => style), status: "running", from: 0 };
    const replay = new Replay(header);
    // If the map has no player yet, the player is drawn outside the map.
    const places = threats.flatMap(([, x, y]) => [x, y, 2]);
    replay.append(header, { frames: [{ tick: 1, positions: Int16Array.of(...(player ?? [-99, -99]), ...places), annotation: null }], forecast: [] });
    return replay;
  }

  draw() {
    if (!this.isOpen) return;
    this.view.draw(this.replay(), 0, {}, null);
    const { context, tile } = this.view;
    const [left, top] = [this.view.left + this.cursor[0] * tile, this.view.top + this.cursor[1] * tile];
    context.strokeStyle = theme().death;
    context.lineWidth = Math.max(2, tile / 12);
    context.strokeRect(left, top, tile, tile);
    const [x, y] = this.cursor;
    const here = this.player?.[0] === x && this.player?.[1] === y ? "the player" : this.threats.find(([, a, b]) => a === x && b === y)?.[0];
    const kind = { "#": "wall", "~": "see-through", ".": "street" }[this.rows[y][x]];
    element("editor-canvas").setAttribute("aria-label", `Map editor, tile ${x}, ${y}: ${here ?? kind}`);
  }

  listen() {
    const canvas = element("editor-canvas");
    const paint = (event) => {
      const tile = this.view.tileAt(event.clientX, event.clientY, { width: this.rows[0].length, height: this.rows.length });
      if (!tile || String(tile) === this.painted) return;
      this.painted = String(tile);
      this.cursor = tile;
      this.put(tile);
    };
    canvas.addEventListener("pointerdown", (event) => {
      this.painted = "";
      canvas.setPointerCapture(event.pointerId);
      paint(event);
    });
    canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && paint(event));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const number = event.key.length === 1 ? "0123456789".indexOf(event.key) : -1;
      if (step) {
        const inside = (at, count) => Math.max(0, Math.min(count - 1, at));
        this.cursor = [inside(this.cursor[0] + step[0], this.rows[0].length), inside(this.cursor[1] + step[1], this.rows.length)];
        this.draw();
      } else if (event.key === "Enter" || event.key === " ") this.put(this.cursor);
      else if (number >= 0) {
        this.tool = PALETTE[number][0];
        element("palette").querySelectorAll("input")[number].checked = true;
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
}
