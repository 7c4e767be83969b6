// Plays a replay: the clock, the controls, keyboard and pointer input, and the texts.

const ORDINALS = ["th", "st", "nd", "rd"];
const ordinal = (number) => `${number}${(number % 100 > 10 && number % 100 < 14 ? null : ORDINALS[number % 10]) ?? "th"}`;
const ARROWS = ["←", "→", "↑", "↓"];
/** Minimum interval between text updates, so that the text stays readable. */
const TEXT_INTERVAL_MS = 100;
const GLIDE_TICKS_PER_SECOND = 12;

/** Shows a sentence above the map. An empty text removes it. */
function showBanner(text) {
  element("banner-text").textContent = text;
  element("banner").hidden = !text;
}

function receiveDrops(receive) {
  const isFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    receive([...event.dataTransfer.files]);
  });
}

class Player {
  constructor() {
    this.mapView = new MapView(element("canvas"));
    this.otherView = new MapView(element("other-canvas"));
    /** The second replay, `{ replay, offset, title }`. It starts in frame `offset` of the first. */
    this.other = null;
    /** The index of the first frame in which the two replays differ, or null. */
    this.divergence = null;
    this.analysis = null;
    this.timeline = new Timeline(element("marks"), element("scrub"), element("mark-text"));
    this.replay = null;
    this.gameName = null;
    this.playhead = 0;
    this.playing = false;
    /** The index to which the actors are gliding after a move of the user, or null. */
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
    this.onTexts = () => {};
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

  compare(other) {
    this.other = other;
    this.divergence = other ? this.findDivergence() : null;
    element("boards").classList.toggle("two", Boolean(other));
    element("other").hidden = !other;
    if (other) {
      const tick = this.divergence === null ? null : this.replay.frames[Math.min(this.replay.last, this.divergence)].tick;
      element("other-title").textContent = `${other.title}${tick === null ? "" : ` · first difference in tick ${tick}`}`;
      this.otherView.streetsKey = "";
    }
    this.playhead = Math.min(this.playhead, this.end);
    this.timeline.key = "";
    this.refresh();
  }

  findDivergence() {
    const { replay, other } = this;
    for (let i = Math.max(0, other.offset); i <= this.end; i++) {
      const [one, two] = [replay.frames[i], other.replay.frames[i - other.offset]];
      if (!one || !two || String(one.positions) !== String(two.positions)) return i;
    }
    return null;
  }

  get chosen() {
    return this.hovered ?? this.pinned;
  }

  show(replay) {
    this.replay = replay;
    this.playhead = 0;
    this.hovered = this.pinned = null;
    this.compare(null);
    this.analysis = null;
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
    this.timeline.key = "";
    this.refresh();
  }

  exchange(replay, analysis, other = null) {
    const { playhead, pinned } = this;
    this.show(replay);
    this.compare(other);
    this.analysis = analysis;
    this.playhead = Math.min(playhead, this.end);
    this.pin(pinned);
  }

  setLayer(name, isShown) {
    const box = element("layers").querySelector(`[name=${name}]`);
    const wasShown = box.checked;
    box.checked = this.layers[name] = isShown;
    this.refresh();
    return wasShown;
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
      ["length", status === "running" ? null : `${last} ticks`],
      ["score", status === "running" ? null : (last * pointsPerTick).toLocaleString("en")],
    ];
    element("about").replaceChildren(
      ...facts.filter(([, fact]) => fact).map(([name, fact]) => {
        const [row, term, value] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
        [term.textContent, value.textContent] = [name, fact];
        row.append(term, value);
        return row;
      }),
    );
  }

  showFilters() {
    const { marks } = this.replay.header;
    const counts = Object.keys(MARKS).map((kind) => [kind, marks.filter((mark) => mark.kind === kind).length]);
    const kinds = counts.filter(([, count]) => count);
    if (String(kinds) === this.filterKinds) return;
    this.filterKinds = String(kinds);
    element("filters").hidden = !kinds.length;
    const focused = document.activeElement?.closest("#filter-boxes") && document.activeElement.name;
    element("filter-boxes").replaceChildren(
      ...kinds.map(([kind, count]) => {
        const [label, box, icon, name] = ["label", "input", "canvas", "span"].map((tag) => document.createElement(tag));
        box.type = "checkbox";
        box.name = `mark-${kind}`;
        box.checked = !this.timeline.hidden.has(kind);
        box.addEventListener("change", () => {
          this.timeline.hidden[box.checked ? "delete" : "add"](kind);
          this.refresh();
        });
        [icon.width, icon.height] = [28, 36];
        icon.setAttribute("aria-hidden", "true");
        const context = icon.getContext("2d");
        context.scale(2, 2);
        context.fillStyle = context.strokeStyle = MARKS[kind].color;
        MARKS[kind].draw(context, 7, 18);
        name.textContent = `${MARKS[kind].name} (${count})`;
        label.append(box, icon, name);
        return label;
      }),
    );
    if (focused) element("filter-boxes").querySelector(`[name=${focused}]`)?.focus();
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
      // Before the tick in which the branch starts, both boards show the same game.
      if (at < 0) this.otherView.draw(this.replay, this.playhead, this.layers, this.chosen);
      else this.otherView.draw(replay, Math.min(at, replay.last), this.layers, this.chosen);
    }
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
      this.playhead = Math.min(this.target, this.playhead + seconds * GLIDE_TICKS_PER_SECOND);
      if (this.playhead >= this.target) this.target = null;
    } else if (this.following) {
      // The display lags behind the game: the larger the lag, the faster the display catches up.
      this.playhead = Math.min(last, this.playhead + Math.max((last - this.playhead) * Math.min(1, seconds * 8), seconds * 2));
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
    element("tick").textContent = tick;
    element("total").textContent = ` of ${header.lastTick}`;
    element("score").textContent = tick * header.pointsPerTick;
    const now = header.phases.findLast(([start]) => start <= tick);
    const next = header.phases.find(([start]) => start > tick);
    element("phase").textContent = now ? now[1] : "–";
    const every = now && (now[2] === 1 ? "every tick" : `every ${ordinal(now[2])} tick`);
    element("next-phase").textContent = now ? `(threats move ${every})${next ? `; ${next[1]} in ${next[0] - tick} ticks` : ""}` : "";
    this.timeline.set(this.replay, Math.min(this.position, this.end), this.end, tick, header.lastTick);
  }

  updateTexts() {
    const { header, frames } = this.replay;
    const last = this.end;
    const { positions, annotation } = frames[this.index];
    const rows = element("threats").querySelectorAll("span");
    rows.forEach((row, i) => (row.textContent = this.intentText(annotation?.intents[i])));
    const places = header.styles.map((style, i) => `${style} at ${positions[2 + 3 * i]}, ${positions[3 + 3 * i]}`);
    this.mapView.canvas.setAttribute("aria-label", `The map. The player is at ${positions[0]}, ${positions[1]}; ${places.join("; ")}.`);
    element("back").disabled = element("home").disabled = this.playhead <= 0;
    element("step").disabled = element("end").disabled = this.playhead >= last;
    const atEnd = this.index === this.replay.last && this.replay.isOver;
    const { isRunning } = this;
    element("play").setAttribute("aria-label", isRunning ? "Pause" : "Play");
    element("play-icon").setAttribute("d", isRunning ? "M7 4v16h3V4zM15 4v16h3V4z" : "M7 4l13 8-13 8z");
    element("outcome").textContent = atEnd ? this.replay.outcome : "";
    element("outcome").dataset.status = header.status;
    const decision = header.about.decisions?.[this.index];
    const command = header.about.commands?.[this.index];
    const facts = [];
    if (decision) facts.push(`decision: ${decision[1]}, ${decision[0].toFixed(1)} ms`);
    if (command != null) facts.push(`command after ${command.toFixed(1)} ms`);
    facts.push(...header.marks.filter((mark) => mark.index === this.index).map((mark) => mark.text));
    element("tick-notes").textContent = facts.join(" · ");
    const learnt = header.about.learnt?.findLast(([index]) => index <= this.index);
    element("learnt").textContent = learnt ? `learnt: ${learnt[1].join("; ")}` : "";
    this.updateHash();
    this.updateCard();
    this.onTexts();
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
      // A narrow map has no room beside the threat, so the card moves to the map's other half.
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
    return moves.length ? `next moves, by tick: ${moves.join(" ")}` : "next moves, by tick: none known";
  }

  /** True if the picture moves without user input. The play button then pauses it. */
  get isRunning() {
    return this.playing || (this.following && this.replay.header.isLive);
  }

  updateHash() {
    if (this.isRunning || this.following) return;
    const hash = `#${new URLSearchParams({ ...(this.gameName && { game: this.gameName }), tick: this.tick })}`;
    try {
      if (location.hash !== hash) history.replaceState(null, "", hash);
    } catch {
      // Ignored: some hosts forbid changing the address, and browsers limit how often it changes.
    }
  }

  followHash(address = location.href) {
    const parameters = new URLSearchParams(new URL(address).hash.slice(1));
    const [game, tick] = [parameters.get("game"), parameters.get("tick")];
    if (!this.replay || (game !== null && game !== this.gameName)) return;
    if (/^\d+$/.test(tick)) this.seekTick(Number(tick));
  }

  seekTick(tick) {
    const { other, replay } = this;
    const isBeyond = other && tick > replay.frames[replay.last].tick;
    this.seek(isBeyond ? other.offset + other.replay.indexOfTick(tick) : replay.indexOfTick(tick));
  }

  pause() {
    this.playing = false;
    this.refresh();
  }

  toggle() {
    if (!this.replay) return;
    // While the page follows a live game, `toggle` pauses at the displayed frame.
    const wasFollowing = this.following && this.replay.header.isLive;
    this.follow(false);
    if (wasFollowing) {
      this.playhead = this.index;
      this.playing = false;
      return this.refresh();
    }
    this.target = null;
    if (!this.playing && this.playhead >= this.end) this.playhead = 0;
    this.playing = !this.playing;
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

  /** Glides to `index`. The playhead first jumps to `index - 1`, unless it lies between the two. */
  glide(index) {
    this.seek(Math.abs(index - 0.5 - this.playhead) <= 0.5 ? this.playhead : index - 1);
    this.target = index;
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
    const marks = this.replay ? this.timeline.marks(this.replay) : [];
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
    element("go").addEventListener("change", (event) => {
      if (this.replay && event.target.value) this.seekTick(Number(event.target.value));
      event.target.value = "";
    });
    click("help-button", () => element("help").showModal());
    click("help-close", () => element("help").close());
    // `newURL` is used because `updateHash` may have changed the current address again by now.
    addEventListener("hashchange", (event) => this.followHash(event.newURL));
    still.addEventListener("change", () => this.refresh());
    addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.refresh()).observe(element("map"));
    dark.addEventListener("change", () => this.replay && this.exchange(this.replay, this.analysis, this.other));
    this.listenToPointer();
  }

  listenToPointer() {
    const { canvas } = this.mapView;
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "mouse" || !this.replay) return;
      this.hover(this.mapView.threatAt(event.clientX, event.clientY));
      const tile = this.mapView.tileAt(event.clientX, event.clientY, this.replay.header);
      element("coordinates").textContent = tile ? `(${tile.join(", ")})` : "";
    });
    canvas.addEventListener("pointerleave", () => {
      this.hover(null);
      element("coordinates").textContent = "";
    });
    canvas.addEventListener("click", (event) => this.replay && this.pin(this.mapView.threatAt(event.clientX, event.clientY)));
    const timeline = element("timeline");
    timeline.addEventListener("pointermove", (event) => this.replay && this.timeline.showMark(this.replay, this.end, event.clientX));
    timeline.addEventListener("pointerleave", () => this.replay && this.timeline.showMark(this.replay, this.end, null));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    if (element("help").open || ["number", "search", "text"].includes(event.target.type)) return;
    if (this.takeOver?.key(event)) return event.preventDefault();
    const box = element("layers").querySelectorAll("input")[Number(event.key) - 1];
    // If a button or checkbox has the focus, the space key operates it.
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
      "?": () => element("help").showModal(),
      Escape: () => this.pin(null),
    };
    const action = box ? () => box.click() : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}
