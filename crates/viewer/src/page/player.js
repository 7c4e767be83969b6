// Plays a replay: the clock, the controls, keyboard and pointer input, and the texts.

const ORDINALS = ["th", "st", "nd", "rd"];
const ordinal = (number) => `${number}${(number % 100 > 10 && number % 100 < 14 ? null : ORDINALS[number % 10]) ?? "th"}`;
const ARROWS = ["←", "→", "↑", "↓"];
const PASSING = "who swap tiles pass through each other, except in the no-jump variant";
/** Minimum interval between text updates, so that the text stays readable. */
const TEXT_INTERVAL_MS = 100;
const GLIDE_TICKS_PER_SECOND = 12;
/** A pointer that moves less than this, in CSS pixels, is a tap. */
const TAP = 12;

/** What the page remembers in this browser. Some hosts forbid it. */
const memory = {
  get(name) {
    try {
      return JSON.parse(localStorage.getItem(`getaway.${name}`));
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`getaway.${name}`, JSON.stringify(value));
    } catch {}
  },
};

/** Shows a sentence above the map. An empty text removes it. */
function showBanner(text) {
  element("banner-text").textContent = text;
  element("banner").hidden = !text;
}

function receiveDrops(receive) {
  const isFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const listen = (name, isOver, act = () => {}) =>
    addEventListener(name, (event) => {
      if (name !== "dragleave" && !isFile(event)) return;
      event.preventDefault();
      document.body.classList.toggle("dropping", isOver);
      act(event);
    });
  listen("dragover", true);
  listen("dragleave", false);
  listen("drop", false, (event) => receive([...event.dataTransfer.files]));
}

/** Emits `position` when the displayed tick changes, unless the picture moves on its own. */
class Player extends EventTarget {
  constructor() {
    super();
    this.mapView = new MapView(element("canvas"));
    this.otherView = new MapView(element("other-canvas"));
    /** The second replay, `{ replay, offset, title }`. It starts in frame `offset` of the first. */
    this.other = null;
    /** The index of the first frame in which the two replays differ, or null. */
    this.divergence = null;
    this.analysis = null;
    this.timeline = new Timeline(element("marks"), element("scrub"), element("mark-text"));
    this.replay = null;
    this.playhead = 0;
    this.playing = false;
    /** The index to which the actors are gliding after a move or a pause of the user, or null. */
    this.target = null;
    this.speed = 1;
    /** True if playback follows the end of a live game. */
    this.following = false;
    this.layers = {};
    this.hovered = null;
    this.pinned = null;
    this.lastTime = null;
    this.textUpdatedAt = 0;
    this.requested = false;
    this.noticed = -1;
    /** Drives the car, and draws over the map, on a page with an engine. */
    this.driver = null;
    this.listen();
  }

  get index() {
    return Math.max(0, Math.min(this.position, this.replay.last));
  }

  /** The index of the playhead. It exceeds `replay.last` while only the second replay goes on. */
  get position() {
    return Math.floor(this.playhead + 1e-6);
  }

  get end() {
    return Math.max(this.replay.last, this.other ? this.other.offset + this.other.replay.last : 0);
  }

  get tick() {
    const { position, replay, other } = this;
    if (position > replay.last && other) return other.replay.frames[Math.min(other.replay.last, position - other.offset)].tick;
    return replay.frames[this.index].tick;
  }

  /** True if the picture moves without user input. The play button then pauses it. */
  get isRunning() {
    return this.playing || (this.following && this.replay.header.isLive);
  }

  get chosen() {
    return this.hovered ?? this.pinned;
  }

  compare(other) {
    this.other = other;
    this.divergence = other ? this.findDivergence() : null;
    element("boards").classList.toggle("two", Boolean(other));
    element("other").hidden = element("one-board").hidden = element("why-one-board").hidden = !other;
    if (other) {
      const tick = this.divergence === null ? null : this.replay.frames[Math.min(this.replay.last, this.divergence)].tick;
      element("other-title").textContent = `${other.title}${tick === null ? "" : ` · first difference at tick ${tick}`}`;
      this.otherView.streetsKey = "";
    }
    this.playhead = Math.min(this.playhead, this.end);
    this.changeTimeline();
  }

  findDivergence() {
    const { replay, other } = this;
    for (let i = Math.max(0, other.offset); i <= this.end; i++) {
      const [one, two] = [replay.frames[i], other.replay.frames[i - other.offset]];
      if (!one || !two || String(one.positions) !== String(two.positions)) return i;
    }
    return null;
  }

  show(replay) {
    this.replay = replay;
    this.playhead = 0;
    this.playing = false;
    this.target = null;
    this.hovered = this.pinned = this.analysis = null;
    this.mapView.focus = this.mapView.zoom = null;
    this.noticed = -1;
    this.compare(null);
    const { title, subtitle, note, width, height, styles, noJump } = replay.header;
    element("title").textContent = title;
    this.showAbout();
    this.showFilters();
    element("subtitle").textContent = [subtitle, noJump && "no jumping"].filter(Boolean).join(" · ");
    document.title = `${[title, subtitle].filter(Boolean).join(", ")} – getaway`;
    element("note").hidden = !note;
    element("note").textContent = note ?? "";
    document.documentElement.style.setProperty("--ratio", `${width} / ${height}`);
    element("threats").replaceChildren(...styles.map((style, i) => this.threatRow(style, i)));
  }

  /** Shows an analysis in the curve below the timeline. */
  explain(analysis) {
    this.analysis = analysis;
    this.changeTimeline();
  }

  changeTimeline() {
    this.timeline.key = "";
    this.refresh();
  }

  setLayer(name, isShown) {
    element("layers").querySelector(`[name=${name}]`).checked = this.layers[name] = isShown;
    this.refresh();
  }

  showAbout() {
    const { about, noJump, status, pointsPerTick } = this.replay.header;
    const last = this.replay.frames[this.replay.last]?.tick ?? 0;
    const facts = [
      ["map", about.map],
      ["rules", noJump ? "no jumping" : "server's"],
      ["planner", about.planner],
      ["file", about.file],
      ["recorded by", about.recorder],
      ["server", about.tickMs && `waits ${about.tickMs} ms for a command`],
      ["length", status === "running" ? null : `${toText(last)} ticks`],
      ["score", status === "running" ? null : toText(last * pointsPerTick)],
    ];
    const row = ([name, fact]) => make("div", {}, make("dt", {}, name), make("dd", {}, fact));
    element("about").replaceChildren(...facts.filter(([, fact]) => fact).map(row));
  }

  showFilters() {
    const { marks } = this.replay.header;
    const counts = Object.keys(MARKS).map((kind) => [kind, marks.filter((mark) => mark.kind === kind).length]);
    const kinds = counts.filter(([, count]) => count);
    if (String(kinds) === this.filterKinds) return;
    this.filterKinds = String(kinds);
    element("filters").hidden = !kinds.length;
    const focused = document.activeElement?.closest("#filter-boxes") && document.activeElement.name;
    element("filter-boxes").replaceChildren(...kinds.map(([kind, count]) => this.filter(kind, count)));
    if (focused) element("filter-boxes").querySelector(`[name=${focused}]`)?.focus();
  }

  filter(kind, count) {
    const { hidden } = this.timeline;
    const box = make("input", { type: "checkbox", name: `mark-${kind}`, checked: !hidden.has(kind) });
    box.addEventListener("change", () => {
      hidden[box.checked ? "delete" : "add"](kind);
      this.refresh();
    });
    const icon = make("canvas", { width: 28, height: 44, aria: { hidden: "true" } });
    const context = icon.getContext("2d");
    context.scale(2, 2);
    drawMark(context, kind, 7);
    return make("label", {}, box, icon, make("span", {}, `${MARKS[kind].name} (${toText(count)})`));
  }

  threatRow(style, threat) {
    const button = make("button", { type: "button", aria: { pressed: "false" } }, sprite(style), make("b", {}, style), make("span", { className: "intent" }));
    button.addEventListener("click", () => this.pin(this.pinned === threat ? null : threat));
    button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && this.hover(threat));
    button.addEventListener("pointerleave", () => this.hover(null));
    return make("li", {}, button);
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
    const moves = this.playing || this.target !== null || (this.following && this.playhead < this.replay.last);
    this.lastTime = moves ? time : null;
    this.mapView.draw(this.replay, Math.min(this.playhead, this.replay.last), this.layers, this.chosen);
    if (this.other) {
      const { replay, offset } = this.other;
      const at = this.playhead - offset;
      // Before the tick in which the second replay starts, both boards show the same game.
      if (at < 0) this.otherView.draw(this.replay, this.playhead, this.layers, this.chosen);
      else this.otherView.draw(replay, Math.min(at, replay.last), this.layers, this.chosen);
    }
    if (!moves) this.driver?.drawOver(this.mapView);
    this.timeline.draw(this.replay, this.end, this.analysis, this.divergence);
    if (time - this.textUpdatedAt >= TEXT_INTERVAL_MS || !moves) {
      this.textUpdatedAt = time;
      this.updateTexts();
    }
    this.updateNumbers();
    if (moves) this.request();
  }

  advance(seconds) {
    const { last } = this.replay;
    const { end } = this;
    if (this.target !== null) {
      this.playhead = Math.min(this.target, this.playhead + seconds * Math.max(GLIDE_TICKS_PER_SECOND, this.driver?.pace ?? 0));
      if (this.playhead >= this.target) this.target = null;
    } else if (this.following) {
      // The display lags behind the game: the larger the lag, the faster the display catches up.
      this.playhead = Math.min(last, this.playhead + Math.max((last - this.playhead) * Math.min(1, seconds * 4), seconds * 2));
    } else if (this.playing) {
      this.playhead += seconds * LAYERS.ticks_per_second * this.speed;
      if (this.playhead >= end) {
        this.playhead = end;
        if (!this.replay.header.isLive) this.pause();
      }
    }
  }

  updateNumbers() {
    const { header } = this.replay;
    const { tick } = this;
    element("tick").textContent = toText(tick);
    element("total").textContent = ` of ${toText(header.lastTick)}`;
    element("score").textContent = toText(tick * header.pointsPerTick);
    const now = header.phases.findLast(([start]) => start <= tick);
    const next = header.phases.find(([start]) => start > tick);
    element("phase").textContent = now ? now[1] : "–";
    const every = now && (now[2] === 1 ? "every tick" : `every ${ordinal(now[2])} tick`);
    element("next-phase").textContent = now ? `(threats move ${every})${next ? `; ${next[1]} in ${next[0] - tick} ticks` : ""}` : "";
    this.timeline.set(this.replay, Math.min(this.position, this.end), this.end, tick, header.lastTick);
  }

  updateTexts() {
    const { header, frames } = this.replay;
    const { positions, annotation } = frames[this.index];
    const rows = element("threats").querySelectorAll(".intent");
    rows.forEach((row, i) => (row.textContent = this.intentText(annotation?.intents[i])));
    const places = header.styles.map((style, i) => `${style} at ${positions[2 + 3 * i]}, ${positions[3 + 3 * i]}`);
    this.mapView.canvas.setAttribute("aria-label", `The map. The car is at ${positions[0]}, ${positions[1]}; ${places.join("; ")}.`);
    element("back").disabled = element("home").disabled = this.playhead <= 0;
    element("step").disabled = element("to-end").disabled = this.playhead >= this.end;
    const isAtEnd = this.index === this.replay.last && this.replay.isOver;
    const { isRunning } = this;
    element("play").setAttribute("aria-label", isRunning ? "Pause" : "Run");
    element("play-icon").setAttribute("d", isRunning ? "M7 4v16h3V4zM15 4v16h3V4z" : "M7 4l13 8-13 8z");
    element("outcome").textContent = isAtEnd ? this.replay.outcome : "";
    element("outcome").dataset.status = header.status;
    const decision = header.about.decisions?.[this.index];
    const command = header.about.commands?.[this.index];
    const marks = header.marks.filter((mark) => mark.index === this.index);
    const facts = marks.map(({ kind, text }) => (kind === "jump" ? `${text} (two ${PASSING})` : text));
    if (command != null) facts.unshift(`command after ${command.toFixed(1)} ms`);
    if (decision) facts.unshift(`decision: ${decision[1]}, ${decision[0].toFixed(1)} ms`);
    element("tick-notes").textContent = facts.join(" · ");
    const learnt = header.about.learnt?.findLast(([index]) => index <= this.index);
    element("learnt").textContent = learnt ? `learnt: ${learnt[1].join("; ")}` : "";
    this.updateCard();
    this.driver?.showEnd(isAtEnd && this.target === null && !isRunning && !this.other);
    if (this.noticed === this.index || isRunning) return;
    this.noticed = this.index;
    this.dispatchEvent(new Event("position"));
  }

  intentText(intent) {
    if (!intent) return "";
    return this.replay.header.intentTexts[intent.kind].replace("{n}", intent.count);
  }

  updateCard() {
    const card = element("card");
    const threat = this.chosen;
    card.hidden = threat === null;
    if (threat === null) return;
    const { header, frames } = this.replay;
    const intent = frames[this.index].annotation?.intents[threat];
    const lines = [make("strong", {}, header.styles[threat])];
    if (intent) lines.push(make("p", {}, this.intentText(intent)));
    if (intent && intent.x >= 0) {
      const steps = intent.path.length ? `, ${intent.path.length} steps` : "";
      lines.push(make("p", { className: "soft" }, `target (${intent.x}, ${intent.y})${steps}`));
    }
    card.replaceChildren(...lines, make("p", { className: "soft" }, this.nextMoves(threat)));
    const place = this.mapView.drawn[threat];
    if (!place) return;
    const { ratio, canvas, tile } = this.mapView;
    const [x, y, reach] = [place.x / ratio, place.y / ratio, tile / ratio];
    // A narrow map has no room beside the threat, so the card moves to the map's other half.
    const isNarrow = canvas.clientWidth < 480;
    const left = x + reach + card.offsetWidth < canvas.clientWidth ? x + reach : Math.max(0, x - reach - card.offsetWidth);
    const top = Math.max(0, Math.min(canvas.clientHeight - card.offsetHeight, y - card.offsetHeight / 2));
    const other = y > canvas.clientHeight / 2 ? 0 : canvas.clientHeight - card.offsetHeight;
    card.style.transform = isNarrow ? `translate(0, ${other}px)` : `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
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
    return moves.length ? `next moves, by tick: ${moves.join(" ")}` : "next moves, by tick: none known";
  }

  seekTick(tick) {
    const { other, replay } = this;
    const isBeyond = other && tick > replay.frames[replay.last].tick;
    this.seek(isBeyond ? other.offset + other.replay.indexOfTick(tick) : replay.indexOfTick(tick));
  }

  /** With one board, playback goes on to a whole tick before it stops. */
  pause() {
    if (this.playing && !this.other) this.target = Math.ceil(this.playhead - 1e-6);
    this.playing = false;
    this.refresh();
  }

  toggle() {
    if (!this.replay) return;
    if (this.playing) return this.pause();
    // While the page follows a live game, `toggle` pauses at the displayed frame.
    const wasFollowing = this.following && this.replay.header.isLive;
    this.follow(false);
    if (wasFollowing) this.playhead = this.index;
    else if (this.playhead >= this.end) this.playhead = 0;
    this.target = null;
    this.playing = !wasFollowing;
    this.refresh();
  }

  seek(index) {
    if (!this.replay) return;
    this.follow(false);
    this.playing = false;
    this.target = null;
    this.playhead = Math.max(0, Math.min(this.end, index));
    this.refresh();
  }

  step(ticks) {
    this.seek((ticks < 0 ? Math.ceil(this.playhead) : Math.floor(this.playhead)) + ticks);
  }

  /** Glides to `index`. The playhead first jumps to `index - count`, unless it is between the two. */
  glide(index, count = 1) {
    const isBetween = this.playhead >= index - count - 1e-6 && this.playhead <= index;
    this.seek(isBetween ? this.playhead : index - count);
    this.target = index;
  }

  follow(follows) {
    this.following = follows;
    if (follows) this.playing = false;
    element("follow").setAttribute("aria-pressed", String(follows));
    this.refresh();
  }

  setSpeed(speed) {
    if (![...element("speed").options].some(({ value }) => Number(value) === speed)) return;
    this.speed = speed;
    element("speed").value = String(speed);
    memory.set("speed", speed);
  }

  seekMark(step) {
    const marks = this.replay ? this.timeline.marks(this.replay) : [];
    const mark = step > 0 ? marks.find((mark) => mark.index > this.index) : marks.findLast((mark) => mark.index < this.index);
    if (mark) this.seek(mark.index);
  }

  changeSpeed(step) {
    const { options, selectedIndex } = element("speed");
    this.setSpeed(Number(options[Math.max(0, Math.min(options.length - 1, selectedIndex + step))].value));
  }

  zoom(factor) {
    this.mapView.zoomBy(factor);
    this.refresh();
  }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen?.().catch(() => showBanner("Full screen is refused."));
  }

  listen() {
    click("play", () => (this.driver?.isRealTime ? this.driver.setClock(this.driver.timer === null) : this.toggle()));
    click("home", () => this.seek(0));
    click("to-end", () => this.seek(Infinity));
    click("back", () => this.step(-1));
    click("step", () => this.step(1));
    click("previous-mark", () => this.seekMark(-1));
    click("next-mark", () => this.seekMark(1));
    click("follow", () => this.follow(!this.following));
    for (const id of ["one-board", "why-one-board"]) click(id, () => this.compare(null));
    click("zoom-in", () => this.zoom(1.5));
    click("zoom-out", () => this.zoom(1 / 1.5));
    click("full", () => this.fullScreen());
    element("speed").addEventListener("change", (event) => this.setSpeed(Number(event.target.value)));
    element("scrub").addEventListener("input", (event) => this.seek(Number(event.target.value)));
    const parameters = new URLSearchParams(location.hash.slice(1));
    const layers = parameters.get("layers")?.match(/\w+/g) ?? memory.get("layers");
    this.setSpeed(Number(parameters.get("speed") ?? memory.get("speed") ?? 1));
    for (const box of element("layers").querySelectorAll("input")) {
      box.checked = this.layers[box.name] = layers ? layers.includes(box.name) : box.checked;
      box.addEventListener("change", () => {
        this.layers[box.name] = box.checked;
        memory.set("layers", Object.keys(this.layers).filter((name) => this.layers[name]));
        this.refresh();
      });
    }
    element("go").addEventListener("change", (event) => {
      if (this.replay && event.target.value) this.seekTick(Number(event.target.value));
      event.target.value = "";
    });
    click("help-button", () => element("help").showModal());
    click("help-close", () => element("help").close());
    click("banner-close", () => showBanner(""));
    for (const media of [still, dark]) media.addEventListener("change", () => this.refresh());
    addEventListener("keydown", (event) => this.key(event));
    // A clicked button or checkbox loses the focus, so that the space key works for the game again.
    addEventListener("click", ({ detail, target }) => detail && target.closest("button,[type=checkbox]")?.blur());
    addEventListener("keyup", () => this.driver?.release());
    new ResizeObserver(() => this.refresh()).observe(element("map"));
    this.listenToPointer();
    this.listenToTimeline();
  }

  listenToTimeline() {
    const timeline = element("timeline");
    const seek = (event) => this.seek(this.timeline.indexAt(event.clientX, this.end));
    timeline.addEventListener("pointerdown", (event) => {
      if (!this.replay || event.target.tagName !== "CANVAS") return;
      timeline.setPointerCapture(event.pointerId);
      seek(event);
    });
    timeline.addEventListener("pointermove", (event) => {
      if (!this.replay) return;
      if (timeline.hasPointerCapture(event.pointerId)) seek(event);
      this.timeline.showMark(this.replay, this.end, event.clientX, this.analysis);
    });
    timeline.addEventListener("pointerleave", () => this.replay && this.timeline.showMark(this.replay, this.end, null));
  }

  /** A tap chooses a threat or drives to a tile; a swipe drives; two fingers, or the wheel, zoom. */
  listenToPointer() {
    const { canvas } = this.mapView;
    const fingers = new Map();
    let [start, wasPinched] = [null, false];
    const span = () => {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    };
    canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
      if (fingers.size === 1) [start, wasPinched] = [event, false];
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.replay) return;
      const before = fingers.get(event.pointerId);
      if (!before) return event.pointerType === "mouse" && this.point(event);
      const old = fingers.size === 2 && span();
      fingers.set(event.pointerId, event);
      const isDrag = event.pointerType === "mouse" && this.mapView.scale > 1;
      if (old) [wasPinched] = [true, this.mapView.zoomBy(span() / old)];
      if (old || isDrag) this.mapView.pan((event.clientX - before.clientX) / fingers.size, (event.clientY - before.clientY) / fingers.size);
      if (old || isDrag) this.refresh();
    });
    canvas.addEventListener("pointerup", (event) => {
      fingers.delete(event.pointerId);
      if (!this.replay || wasPinched || !start) return;
      const [dx, dy] = [event.clientX - start.clientX, event.clientY - start.clientY];
      if (Math.hypot(dx, dy) < TAP) return this.tap(event);
      if (event.pointerType !== "mouse") this.driver?.run(Math.abs(dx) > Math.abs(dy) ? (dx < 0 ? "L" : "R") : dy < 0 ? "U" : "D");
    });
    canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => {
      if (document.body.classList.contains("embed") && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15);
    }, { passive: false });
    canvas.addEventListener("pointerleave", () => {
      this.hover(null);
      element("coordinates").textContent = "";
    });
  }

  point(event) {
    this.hover(this.mapView.threatAt(event.clientX, event.clientY));
    const tile = this.mapView.tileAt(event.clientX, event.clientY, this.replay.header);
    element("coordinates").textContent = tile ? `(${tile.join(", ")})` : "";
  }

  tap(event) {
    const threat = this.mapView.threatAt(event.clientX, event.clientY);
    const tile = this.mapView.tileAt(event.clientX, event.clientY, this.replay.header);
    if (threat !== null || !tile || this.pinned !== null) return this.pin(threat);
    this.driver?.driveTo(tile);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    if (element("help").open || ["number", "search", "text", "textarea"].includes(event.target.type)) return;
    // The editor owns the keys.
    if (document.body.classList.contains("editing") || !this.replay) return;
    const { target, shiftKey } = event;
    const isScrub = target.id === "scrub";
    const isControl = ["BUTTON", "INPUT"].includes(target.tagName) && !isScrub;
    if (!isScrub && !(isControl && event.key.startsWith("Arrow") && target.type !== "button" && target.type !== "checkbox") && this.driver?.key(event)) return event.preventDefault();
    const box = element("layers").querySelectorAll("input")[Number(event.key) - 1];
    const ticks = shiftKey ? 10 : 1;
    const actions = {
      // If a button or checkbox has the focus, the space key operates it.
      " ": isControl ? null : () => element("play").click(),
      ArrowLeft: () => this.step(-ticks),
      ArrowRight: () => this.step(ticks),
      j: () => this.step(-ticks),
      k: () => this.step(ticks),
      "+": () => this.changeSpeed(1),
      "=": () => this.changeSpeed(1),
      "-": () => this.changeSpeed(-1),
      Home: () => this.seek(0),
      End: () => this.seek(Infinity),
      n: () => this.seekMark(1),
      p: () => this.seekMark(-1),
      z: () => this.zoom(1.5),
      x: () => this.zoom(1 / 1.5),
      f: () => this.fullScreen(),
      l: () => element("follow").hidden || this.follow(!this.following),
      "?": () => element("help").showModal(),
      Escape: () => this.pin(null),
    };
    const action = box ? () => box.click() : actions[event.key.length === 1 ? event.key.toLowerCase().replace("−", "-") : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}
