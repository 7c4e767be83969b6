// Chooses, generates and draws maps, and opens files.

const STYLES = ["bull", "goldfish", "shark", "owl", "deer", "hawk"];
const NAME_CHARS_MAX = 60;
const FILE_BYTES_MAX = 64 << 20;
const SIDE_MAX = 64;
const DAY_MS = 86_400_000;
const FILES = "expected a PNG or text map, a recorded game (.jsonl, .jsonl.gz) or a certificate";

function save(name, content, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

class Maps {
  constructor(session, client, library, rules, prove) {
    Object.assign(this, { session, client, library, rules, prove });
    const number = (id) => Number(element(id).value);
    const generate = () =>
      this.generate({
        kind: element("kind").value,
        width: number("map-width"),
        height: number("map-height"),
        threats: number("map-threats"),
        braid_permille: number("map-braid"),
        seed: number("map-seed"),
      });
    click("generate", generate);
    click("surprise", () => {
      element("map-seed").value = number("map-seed") + 1;
      generate();
    });
    click("daily", () => this.daily());
    click("save-png", () => this.save("encode_png", () => "layout.png", "image/png"));
    click("save-text", () => this.save("encode_drawing", (name) => `${name}.txt`, "text/plain"));
    element("map-braid").addEventListener("input", ({ target }) => target.setAttribute("aria-valuetext", `${target.value / 10}% of dead ends removed`));
    element("file").addEventListener("change", async ({ target }) => {
      await this.openFiles([...target.files]);
      target.value = "";
    });
    receiveDrops((files) => this.openFiles(files));
    dark.addEventListener("change", () => this.show(this.bundled));
  }

  show(maps) {
    this.bundled = maps;
    const choice = ({ name, difficulty, tiles, player, threats }) => {
      const button = make("button", { type: "button", data: { map: name }, title: `${difficulty}, ${threats.length} threats` }, thumbnail({ rows: tiles, place: player }), make("span", {}, name));
      button.addEventListener("click", () => this.play(name, { tiles, player, threats }));
      return button;
    };
    element("bundled").replaceChildren(...maps.map(choice));
  }

  async play(name, map) {
    try {
      await this.session.open({ name, map, rules: this.rules.rules, moves: "" });
      this.session.isDemo = false;
      showBanner("");
      element("map").scrollIntoView({ block: "nearest" });
      closeSheet();
      return true;
    } catch (error) {
      showBanner(error.message);
      return false;
    }
  }

  async generate(request, rename = (name) => name) {
    try {
      const { name, tiles, player, threats } = await this.client.json("generate", { styles: [], ...request });
      await this.play(rename(name), { tiles, player, threats });
    } catch (error) {
      showBanner(error.message);
    }
  }

  /** Generates the map of the day (in UTC), which is the same for everyone. */
  daily() {
    const day = Math.floor(Date.now() / DAY_MS);
    const [kind, braid] = [["city", 700], ["maze", 900], ["city", 900]][day % 3];
    const date = new Date(day * DAY_MS).toISOString().slice(0, 10);
    this.generate({ kind, width: 21, height: 15, threats: 4 + (day % 3), braid_permille: braid, seed: day }, () => `map of ${date}`);
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

  /** Opens the last file that can be read; all recordings are added to the list. */
  async openFiles(files) {
    if (this.editor.isOpen && !this.editor.mayDiscard()) return;
    const problems = [];
    for (const file of files) {
      showBanner(`Reading ${file.name} (${(file.size / 1e6).toFixed(1)} MB)…`);
      await this.openFile(file).catch((error) => problems.push(`Cannot open ${file.name}: ${error.message.replace(/[.]$/, "")}; ${FILES}.`));
    }
    showBanner(problems.join(" "));
  }

  /** The first bytes decide the type. */
  async openFile(file) {
    if (file.size > FILE_BYTES_MAX) throw new Error(`it has ${toText(file.size)} bytes, and at most ${toText(FILE_BYTES_MAX)} are read`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    // Without the byte order mark and the zero bytes of UTF-16.
    const start = new TextDecoder("latin1").decode(bytes.subarray(0, 200)).replace(/^[^\x00-\x7f]+|\0/g, "").trimStart();
    if (start.startsWith('{"certificate"')) return this.prove.verify(bytes);
    if (start.startsWith("{") || (bytes[0] === 0x1f && bytes[1] === 0x8b)) {
      const source = { args: { number: null, name: file.name }, file: bytes };
      const [game] = await this.client.json("games", source.args, { file: bytes });
      this.library.add([{ ...game, source }]);
      return this.library.open(this.library.games.at(-1));
    }
    const map = await this.client.json("map_file", null, { file: bytes });
    await this.play(file.name.replace(/\.(png|txt|map)$/i, "").slice(0, NAME_CHARS_MAX) || "map", map);
  }
}

const PALETTE = [
  ["wall", "wall"],
  ["street", "street"],
  ["see_through", "see-through: threats pass, the car does not"],
  ["player", "the car"],
  ...STYLES.map((style) => [style, `a ${style}`]),
  ["erase", "eraser: takes away a threat or the car"],
];

/** A mode: while it is open, it owns the keys and the board. */
class Editor {
  constructor(session, maps) {
    Object.assign(this, { session, maps, view: new MapView(element("editor-canvas")), tool: "street", cursor: [1, 1], isOpen: false, past: [], future: [] });
    click("draw", () => this.open(this.session.game));
    click("draw-new", () => this.open(null));
    click("editor-play", () => this.play());
    click("editor-cancel", () => this.mayDiscard() && this.close());
    click("editor-undo", () => this.step(this.past, this.future));
    click("editor-redo", () => this.step(this.future, this.past));
    for (const id of ["editor-width", "editor-height"]) element(id).addEventListener("change", () => this.resize());
    this.view.zoom = 1;
    maps.editor = this;
    new ResizeObserver(() => this.draw()).observe(element("map"));
    dark.addEventListener("change", () => this.draw());
    addEventListener("beforeunload", (event) => this.isOpen && this.past.length && event.preventDefault());
    session.addEventListener("game", () => this.close());
    this.listen();
    this.showPalette();
  }

  showPalette() {
    const item = ([tool, title], number) => {
      const radio = make("input", { type: "radio", name: "tool", value: tool, checked: tool === this.tool });
      radio.addEventListener("change", () => (this.tool = tool));
      const icon = DRAWING.sprites[tool] ? sprite(tool) : make("span", { className: "sprite tile", data: { tool } });
      const name = title.split(":")[0].replace(/^(a|the) /, "");
      return make("label", { title }, radio, icon, make("span", {}, name), make("kbd", {}, tool === "erase" ? "E" : String(number)));
    };
    element("palette").replaceChildren(...PALETTE.map(item));
  }

  open(game) {
    const blank = { tiles: ["#".repeat(17), ...Array(11).fill(`#${".".repeat(15)}#`), "#".repeat(17)], player: null, threats: [] };
    const { tiles, player, threats } = game?.map ?? blank;
    this.rows = tiles.map((row) => [...row]);
    this.player = player && [...player];
    this.threats = threats.map((threat) => [...threat]);
    this.past = [];
    this.future = [];
    this.cursor = [1, 1];
    this.session.isDemo = false;
    element("editor-name").value = game ? `${game.name} (changed)`.slice(0, NAME_CHARS_MAX) : "my map";
    this.toggle(true);
    this.showState();
    element("editor-canvas").focus();
  }

  mayDiscard() {
    return !this.past.length || confirm("Discard the changes to this map?");
  }

  close() {
    if (this.isOpen) this.toggle(false);
  }

  toggle(isOpen) {
    this.isOpen = isOpen;
    this.session.setClock(false);
    this.session.board.pause();
    document.body.classList.toggle("editing", isOpen);
    element("editor").hidden = element("editor-tools").hidden = !isOpen;
    element("boards").hidden = element("map-tools").hidden = isOpen;
    element("card").hidden = element("end").hidden = true;
    element("title").textContent = isOpen ? "Draw a map" : (this.session.board.replay?.header.title ?? "getaway");
    element("tabs").parentElement.scrollTop = 0;
    if (!isOpen) this.session.board.refresh();
  }

  get map() {
    // Maps list their threats row by row.
    const threats = this.threats.toSorted(([, ax, ay], [, bx, by]) => ay - by || ax - bx);
    return { tiles: this.rows.map((row) => row.join("")), player: this.player, threats };
  }

  get snapshot() {
    const { rows, player, threats } = this;
    return structuredClone({ rows, player, threats });
  }

  /** Keeps the map before a change. */
  remember() {
    this.past.push(this.snapshot);
    this.future = [];
  }

  /** Takes back a change, or makes it again. */
  step(from, to) {
    if (!from.length) return;
    to.push(this.snapshot);
    Object.assign(this, from.pop());
    this.cursor = [Math.min(this.cursor[0], this.rows[0].length - 1), Math.min(this.cursor[1], this.rows.length - 1)];
    this.showState();
  }

  async play() {
    if (!this.player) return showBanner("The map has no car: expected one, put it on a street.");
    const name = element("editor-name").value.trim() || "my map";
    if (!(await this.maps.play(name, this.map))) return;
    this.close();
    element("tab-play").click();
  }

  showState() {
    element("editor-width").value = this.rows[0].length;
    element("editor-height").value = this.rows.length;
    element("editor-undo").disabled = !this.past.length;
    element("editor-redo").disabled = !this.future.length;
    this.draw();
  }

  /** Changes the size. If a wall surrounds the whole map, it also surrounds the resized map. */
  resize() {
    const side = (id) => Math.max(3, Math.min(SIDE_MAX, Math.round(Number(element(id).value)) || 3));
    const [width, height] = [side("editor-width"), side("editor-height")];
    this.remember();
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
    this.showState();
  }

  put([x, y]) {
    const { tool, rows } = this;
    const tile = { wall: "#", see_through: "~" }[tool] ?? ".";
    const old = rows[y][x];
    this.set([x, y], tile);
    if (element("fill").checked && ["wall", "street", "see_through"].includes(tool) && old !== tile) {
      const open = [[x, y]];
      for (const [a, b] of open) {
        for (const [dx, dy] of STEP) {
          if (rows[b + dy]?.[a + dx] !== old) continue;
          this.set([a + dx, b + dy], tile);
          open.push([a + dx, b + dy]);
        }
      }
    }
    showBanner("");
    if (tool === "player") this.player = [x, y];
    else if (STYLES.includes(tool)) this.threats.push([tool, x, y]);
    this.showState();
  }

  set([x, y], tile) {
    const isHere = ([a, b]) => a === x && b === y;
    this.threats = this.threats.filter(([, ...place]) => !isHere(place));
    if (this.player && isHere(this.player)) this.player = null;
    if (this.tool !== "erase") this.rows[y][x] = tile;
  }

  replay() {
    const { rows, player, threats } = this;
    const header = { width: rows[0].length, height: rows.length, rows: rows.map((row) => row.join("")), styles: threats.map(([style]) => style), status: "running", from: 0 };
    // If the map has no car yet, the car is drawn outside the map.
    const places = threats.flatMap(([, x, y]) => [x, y, 2]);
    return new Replay(header, { frames: [{ tick: 1, positions: Int16Array.of(...(player ?? [-99, -99]), ...places), annotation: null }], forecast: [] });
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
    const here = this.player?.[0] === x && this.player?.[1] === y ? "the car" : this.threats.find(([, a, b]) => a === x && b === y)?.[0];
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
      this.remember();
      canvas.setPointerCapture(event.pointerId);
      paint(event);
    });
    canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && paint(event));
    addEventListener("keydown", (event) => {
      const isModified = event.ctrlKey || event.metaKey;
      const isControl = ["INPUT", "BUTTON", "SELECT"].includes(event.target.tagName);
      if (!this.isOpen || (isControl && !isModified)) return;
      const letter = event.key.toLowerCase();
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const number = event.key.length === 1 ? "0123456789e".indexOf(letter) : -1;
      if (isModified) {
        if (!"zy".includes(letter)) return;
        if (letter === "y" || event.shiftKey) this.step(this.future, this.past);
        else this.step(this.past, this.future);
      } else if (step) {
        const inside = (at, count) => Math.max(0, Math.min(count - 1, at));
        this.cursor = [inside(this.cursor[0] + step[0], this.rows[0].length), inside(this.cursor[1] + step[1], this.rows.length)];
        this.draw();
      } else if (event.key === "Enter" || event.key === " ") {
        this.remember();
        this.put(this.cursor);
      } else if (letter === "f") element("fill").click();
      else if (number >= 0) {
        this.tool = PALETTE[number][0];
        element("palette").querySelectorAll("input")[number].checked = true;
      } else return;
      event.preventDefault();
    });
  }
}
