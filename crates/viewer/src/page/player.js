// Plays a replay: clock, controls, keyboard, pointer, texts.

const ARROWS = ["←", "→", "↑", "↓"];
/** Minimum interval between text updates, so that the text can be read. */
const TEXT_INTERVAL_MS = 100;

class Player {
  constructor() {
    this.mapView = new MapView(element("canvas"));
    this.timeline = new Timeline(element("marks"), element("scrub"), element("mark-text"));
    this.replay = null;
    this.playhead = 0;
    this.playing = false;
    this.speed = 1;
    /** Whether playback follows the end of a live game. */
    this.following = false;
    this.layers = {};
    this.hovered = null;
    this.pinned = null;
    this.lastTime = null;
    this.textUpdatedAt = 0;
    this.requested = false;
    this.listen();
  }

  get index() {
    return Math.max(0, Math.min(Math.floor(this.playhead + 1e-6), this.replay.last));
  }

  get chosen() {
    return this.hovered ?? this.pinned;
  }

  show(replay) {
    this.replay = replay;
    this.playhead = 0;
    this.hovered = this.pinned = null;
    const { title, subtitle, note, width, height, styles, noJump } = replay.header;
    element("title").textContent = title;
    element("subtitle").textContent = subtitle + (noJump ? " · no jumping" : "");
    document.title = `${title} – getaway`;
    element("note").hidden = !note;
    element("note").textContent = note ?? "";
    document.documentElement.style.setProperty("--ratio", `${width} / ${height}`);
    element("threats").replaceChildren(...styles.map((style, i) => this.threatRow(style, i)));
    this.timeline.key = "";
    this.refresh();
  }

  /** Redraws everything after a change of theme. */
  recolor() {
    const { playhead, pinned } = this;
    this.show(this.replay);
    this.playhead = playhead;
    this.pin(pinned);
  }

  threatRow(style, threat) {
    const [row, button, icon, name, intent] = ["li", "button", "canvas", "b", "span"].map((tag) => document.createElement(tag));
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    icon.width = icon.height = 102;
    drawSprite(icon.getContext("2d"), style, 51, 51, 88, 0);
    name.textContent = style;
    button.append(icon, name, intent);
    button.addEventListener("click", () => this.pin(this.pinned === threat ? null : threat));
    button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && this.hover(threat));
    button.addEventListener("pointerleave", () => this.hover(null));
    row.append(button);
    return row;
  }

  hover(threat) {
    if (threat === this.hovered) return;
    this.hovered = threat;
    this.refresh();
  }

  pin(threat) {
    this.pinned = threat;
    this.hovered = null;
    [...element("threats").querySelectorAll("button")].forEach((button, i) => button.setAttribute("aria-pressed", String(i === threat)));
    this.refresh();
  }

  /** Schedules a redraw, with texts. */
  refresh() {
    this.textUpdatedAt = 0;
    this.request();
  }

  request() {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame((time) => {
      this.requested = false;
      this.animate(time);
    });
  }

  animate(time) {
    if (!this.replay || this.replay.last < 0) return;
    const seconds = this.lastTime === null ? 0 : Math.min(0.25, (time - this.lastTime) / 1000);
    this.advance(seconds);
    const moves = this.playing || (this.following && this.playhead < this.replay.last);
    this.lastTime = moves ? time : null;
    this.mapView.draw(this.replay, this.playhead, this.layers, this.chosen);
    this.timeline.draw(this.replay);
    if (time - this.textUpdatedAt >= TEXT_INTERVAL_MS || !moves) {
      this.textUpdatedAt = time;
      this.updateTexts();
    }
    this.updateNumbers();
    if (moves) this.request();
  }

  advance(seconds) {
    const { last } = this.replay;
    if (this.following) {
      // Stays about one tick behind the game; the further it falls behind, the faster it catches
      // up.
      this.playhead = Math.min(last, this.playhead + Math.max((last - this.playhead) * Math.min(1, seconds * 8), seconds * 2));
    } else if (this.playing) {
      this.playhead += seconds * LAYERS.ticks_per_second * this.speed;
      if (this.playhead >= last) {
        this.playhead = last;
        if (!this.replay.header.isLive) this.pause();
      }
    }
  }

  updateNumbers() {
    const { header, frames } = this.replay;
    const { tick } = frames[this.index];
    element("tick").textContent = tick;
    element("score").textContent = tick * header.pointsPerTick;
    const now = header.phases.findLast(([start]) => start <= tick);
    const next = header.phases.find(([start]) => start > tick);
    element("phase").textContent = now ? now[1] : "–";
    element("next-phase").textContent = next ? `${next[1]} in ${next[0] - tick}` : "last phase";
    this.timeline.set(this.replay, this.index, tick);
  }

  updateTexts() {
    const { header, frames, last } = this.replay;
    const { positions, annotation } = frames[this.index];
    const rows = element("threats").querySelectorAll("span");
    rows.forEach((row, i) => (row.textContent = this.intentText(annotation?.intents[i])));
    const places = header.styles.map((style, i) => `${style} at ${positions[2 + 3 * i]}, ${positions[3 + 3 * i]}`);
    this.mapView.canvas.setAttribute("aria-label", `The map. The player is at ${positions[0]}, ${positions[1]}; ${places.join("; ")}.`);
    element("back").disabled = element("home").disabled = this.playhead <= 0;
    element("step").disabled = element("end").disabled = this.playhead >= last;
    const atEnd = this.index === last && this.replay.isOver;
    const outcome = { caught: "caught", complete: "survived every tick" }[header.status];
    element("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
    element("play-icon").setAttribute("d", this.playing ? "M7 4v16h3V4zM15 4v16h3V4z" : "M7 4l13 8-13 8z");
    element("outcome").textContent = atEnd ? outcome : "";
    this.updateCard();
  }

  intentText(intent) {
    if (!intent) return "";
    return this.replay.header.intentTexts[intent.kind].replace("{n}", intent.count);
  }

  /** The info card next to a threat. */
  updateCard() {
    const card = element("card");
    const threat = this.chosen;
    card.hidden = threat === null;
    if (threat === null) return;
    const { header, frames } = this.replay;
    const intent = frames[this.index].annotation?.intents[threat];
    const line = (text, kind) => {
      const paragraph = document.createElement(kind === "name" ? "strong" : "p");
      if (kind === "soft") paragraph.className = kind;
      paragraph.textContent = text;
      return paragraph;
    };
    const lines = [line(header.styles[threat], "name")];
    if (intent) lines.push(line(this.intentText(intent)));
    if (intent && intent.x >= 0) {
      const steps = intent.path.length ? `, ${intent.path.length} steps` : "";
      lines.push(line(`target (${intent.x}, ${intent.y})${steps}`, "soft"));
    }
    lines.push(line(this.nextMoves(threat), "soft"));
    card.replaceChildren(...lines);
    const place = this.mapView.drawn[threat];
    if (!place) return;
    const { ratio, canvas, tile } = this.mapView;
    const [x, y, reach] = [place.x / ratio, place.y / ratio, tile / ratio];
    if (canvas.clientWidth < 480) {
      // Not enough room next to the threat: use the other half of the map.
      card.style.transform = `translate(0, ${y > canvas.clientHeight / 2 ? 0 : canvas.clientHeight - card.offsetHeight}px)`;
      return;
    }
    const left = x + reach + card.offsetWidth < canvas.clientWidth ? x + reach : Math.max(0, x - reach - card.offsetWidth);
    const top = Math.max(0, Math.min(canvas.clientHeight - card.offsetHeight, y - card.offsetHeight / 2));
    card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  nextMoves(threat) {
    const at = 2 + 3 * threat;
    const { tick } = this.replay.frames[this.index];
    const moves = [];
    let before = this.replay.frames[this.index].positions;
    for (let i = 1; i <= 60 && moves.length < 6; i++) {
      const positions = this.replay.positionsAfter(this.index, i);
      if (!positions) break;
      const step = STEP.findIndex(([dx, dy]) => positions[at] - before[at] === dx && positions[at + 1] - before[at + 1] === dy);
      if (step >= 0) moves.push(`${ARROWS[step]}\u00a0${tick + i - 1}`);
      before = positions;
    }
    return moves.length ? `next moves, by tick: ${moves.join(" ")}` : "next moves, by tick: none in the known ticks";
  }

  pause() {
    this.playing = false;
    this.refresh();
  }

  toggle() {
    if (!this.replay) return;
    this.follow(false);
    if (!this.playing && this.playhead >= this.replay.last) this.playhead = 0;
    this.playing = !this.playing;
    this.refresh();
  }

  seek(index) {
    if (!this.replay) return;
    this.follow(false);
    this.playing = false;
    this.playhead = Math.max(0, Math.min(this.replay.last, index));
    this.refresh();
  }

  follow(follows) {
    this.following = follows;
    if (follows) this.playing = false;
    element("follow").setAttribute("aria-pressed", String(follows));
    this.refresh();
  }

  setSpeed(speed) {
    this.speed = speed;
    element("speed").value = String(speed);
  }

  seekMark(step) {
    const marks = this.replay?.header.marks ?? [];
    const mark = step > 0 ? marks.find((mark) => mark.index > this.index) : marks.findLast((mark) => mark.index < this.index);
    if (mark) this.seek(mark.index);
  }

  changeSpeed(step) {
    const { options, selectedIndex } = element("speed");
    const option = options[Math.max(0, Math.min(options.length - 1, selectedIndex + step))];
    this.setSpeed(Number(option.value));
  }

  listen() {
    const click = (id, action) => element(id).addEventListener("click", action);
    click("play", () => this.toggle());
    click("home", () => this.seek(0));
    click("end", () => this.seek(Infinity));
    click("back", () => this.seek(Math.ceil(this.playhead) - 1));
    click("step", () => this.seek(Math.floor(this.playhead) + 1));
    click("previous-mark", () => this.seekMark(-1));
    click("next-mark", () => this.seekMark(1));
    click("follow", () => this.follow(!this.following));
    element("speed").addEventListener("change", (event) => this.setSpeed(Number(event.target.value)));
    element("scrub").addEventListener("input", (event) => this.seek(Number(event.target.value)));
    for (const box of element("layers").querySelectorAll("input")) {
      this.layers[box.name] = box.checked;
      box.addEventListener("change", () => {
        this.layers[box.name] = box.checked;
        this.refresh();
      });
    }
    addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.refresh()).observe(element("map"));
    dark.addEventListener("change", () => this.replay && this.recolor());
    this.listenToPointer();
  }

  listenToPointer() {
    const { canvas } = this.mapView;
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerType === "mouse" && this.replay) this.hover(this.mapView.threatAt(event.clientX, event.clientY));
    });
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => this.replay && this.pin(this.mapView.threatAt(event.clientX, event.clientY)));
    const timeline = element("timeline");
    timeline.addEventListener("pointermove", (event) => this.replay && this.timeline.showMark(this.replay, event.clientX));
    timeline.addEventListener("pointerleave", () => this.replay && this.timeline.showMark(this.replay, null));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const box = element("layers").querySelectorAll("input")[Number(event.key) - 1];
    // A focused button or checkbox keeps the space key.
    const controlHandlesKey = ["BUTTON", "INPUT"].includes(event.target.tagName) && event.target.id !== "scrub";
    const stride = event.shiftKey ? 10 : 1;
    const actions = {
      " ": controlHandlesKey ? null : () => this.toggle(),
      ArrowLeft: () => this.seek(Math.ceil(this.playhead) - stride),
      ArrowRight: () => this.seek(Math.floor(this.playhead) + stride),
      ArrowUp: () => this.changeSpeed(1),
      ArrowDown: () => this.changeSpeed(-1),
      Home: () => this.seek(0),
      End: () => this.seek(Infinity),
      n: () => this.seekMark(1),
      p: () => this.seekMark(-1),
      l: () => element("follow").hidden || this.follow(!this.following),
      Escape: () => this.pin(null),
    };
    const action = box ? () => box.click() : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}
