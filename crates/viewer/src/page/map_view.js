// Draws a frame: the streets, the layers, and the sprites on their way to the next frame.

const STEP = [[-1, 0], [1, 0], [0, -1], [0, 1]];
const TURN = [Math.PI, 0, -Math.PI / 2, Math.PI / 2];
const LAYERS = DRAWING.layers;

for (const sprite of Object.values(DRAWING.sprites)) for (const part of sprite.parts) part.path = new Path2D(part.d);

const dark = matchMedia("(prefers-color-scheme: dark)");
const still = matchMedia("(prefers-reduced-motion: reduce)");
/** The theme of an embedding page, if any, overrides the system's. */
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
const theme = () => DRAWING.themes[isDark() ? "dark" : "light"];
const spriteOf = (name) => DRAWING.sprites[name] ?? DRAWING.sprites.unknown;

/** The lines of a sprite's part from bottom to top, as `[width, colour]`. */
function strokes({ paint, line }, color) {
  const { pale, outline } = theme();
  const { ink_halo: inkHalo, body_halo: bodyHalo, body, pale: paleWidth } = LAYERS.outlines;
  // A halo keeps thin dark lines visible on dark streets.
  if (line) return paint === "ink" ? [[line + inkHalo, pale], [line, color]] : [[line, color]];
  return { body: [[bodyHalo, pale], [body, outline]], pale: [[paleWidth, outline]], ink: [] }[paint];
}

function drawSprite(context, name, x, y, side, angle) {
  const { color, parts } = spriteOf(name);
  const colors = { ...theme(), body: color };
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.scale(side / 100, side / 100);
  context.lineJoin = context.lineCap = "round";
  for (const part of parts) {
    context.fillStyle = colors[part.paint];
    for (const [width, ink] of strokes(part, colors[part.paint])) {
      context.strokeStyle = ink;
      context.lineWidth = width;
      context.stroke(part.path);
    }
    if (!part.line) context.fill(part.path);
  }
  context.restore();
}

function disc(context, [x, y], radius, color) {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/** Writes a text centred on a point. */
function write(context, text, [x, y], size, color, weight = "") {
  Object.assign(context, { fillStyle: color, font: `${weight} ${Math.round(size)}px system-ui, sans-serif`, textAlign: "center", textBaseline: "middle" });
  context.fillText(text, x, y);
}

/** A sprite as an SVG element. The style sheet colours all parts but the body. */
function sprite(name) {
  const { color, parts } = spriteOf(name);
  const paint = (part) => `${part.line ? `fill="none" stroke-width="${part.line}" stroke` : "fill"}="${part.paint === "body" ? color : `var(--${part.paint})`}"`;
  const icon = make("span", { className: "sprite", aria: { hidden: "true" } });
  icon.innerHTML = `<svg viewBox="-52 -52 104 104">${parts.map((part) => `<path d="${part.d}" ${paint(part)}${part.paint === "body" ? ' class="body"' : ""}/>`).join("")}</svg>`;
  return icon;
}

function thumbnail({ rows, place }) {
  const side = 3;
  const canvas = make("canvas", { width: rows[0].length * side, height: rows.length * side, aria: { hidden: "true" } });
  const context = canvas.getContext("2d");
  const fill = (color, ...box) => {
    context.fillStyle = color;
    context.fillRect(...box);
  };
  const { wall, street, death } = theme();
  fill(wall, 0, 0, canvas.width, canvas.height);
  rows.forEach((row, y) => [...row].forEach((tile, x) => tile !== "#" && fill(street, x * side, y * side, side, side)));
  fill(death, place[0] * side - 1, place[1] * side - 1, side + 2, side + 2);
  return canvas;
}

/** For each threat: its `shift` from others on its tile, in tiles; `all`: their number, 0 after the first. */
function shifts(positions) {
  const count = (positions.length - 2) / 3;
  const isHere = (i, j) => positions[2 + 3 * i] === positions[2 + 3 * j] && positions[3 + 3 * i] === positions[3 + 3 * j];
  return Array.from({ length: count }, (_, i) => {
    let [before, all] = [0, 0];
    for (let j = 0; j < count; j++) if (isHere(i, j)) [before, all] = [before + (j < i), all + 1];
    return { shift: ((before + 0.5) / all - 0.5) * 0.5, all: before ? 0 : all };
  });
}

class MapView {
  /** A canvas outside the page has a fixed `size` in pixels. */
  constructor(canvas, size = null) {
    this.size = size;
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.streets = document.createElement("canvas");
    this.streetsKey = "";
    /** The positions at which the threats were last drawn, for hit testing. */
    this.drawn = [];
    /** How many times larger than the whole map; null chooses by the size of a tile. */
    this.zoom = null;
    /** The tile in the middle of a zoomed map; null follows the car. */
    this.focus = null;
  }

  fit(replay, car) {
    const ratio = this.size ? 1 : devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    const [width, height] = this.size ?? [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const { header } = replay;
    this.ratio = ratio;
    const whole = Math.min(width / header.width, height / header.height);
    this.scale = this.zoom ?? (whole < 13 * ratio ? (22 * ratio) / whole : 1);
    this.tile = Math.max(2, Math.floor(whole * this.scale));
    const [x, y] = this.focus ?? car;
    const start = (size, count, middle) => {
      const rest = size - this.tile * count;
      return Math.floor(rest >= 0 ? rest / 2 : Math.max(rest, Math.min(0, size / 2 - (middle + 0.5) * this.tile)));
    };
    this.left = start(width, header.width, x);
    this.top = start(height, header.height, y);
  }

  zoomBy(factor) {
    this.zoom = Math.max(1, Math.min(8, (this.zoom ?? this.scale) * factor));
    if (this.zoom === 1) this.focus = null;
  }

  /** Moves a zoomed map by a distance in CSS pixels. */
  pan(x, y) {
    const { width, height } = this.canvas;
    const middle = [(width / 2 - this.left) / this.tile - 0.5, (height / 2 - this.top) / this.tile - 0.5];
    this.focus = [middle[0] - (x * this.ratio) / this.tile, middle[1] - (y * this.ratio) / this.tile];
  }

  center(x, y) {
    return [this.left + (x + 0.5) * this.tile, this.top + (y + 0.5) * this.tile];
  }

  drawStreets(replay) {
    const { width, height, rows } = replay.header;
    const colors = theme();
    const key = [this.tile, isDark(), rows.join()].join();
    if (key === this.streetsKey) return;
    this.streetsKey = key;
    const tile = this.tile;
    this.streets.width = width * tile;
    this.streets.height = height * tile;
    const context = this.streets.getContext("2d");
    context.fillStyle = colors.wall;
    context.fillRect(0, 0, width * tile, height * tile);
    const isOpen = (x, y) => (rows[y]?.[x] ?? "#") !== "#";
    const edge = Math.max(1, Math.round(tile / 24));
    for (const [x, y] of replay.tiles) {
      context.fillStyle = rows[y][x] === "~" ? colors.see_through : colors.street;
      context.fillRect(x * tile, y * tile, tile, tile);
      context.fillStyle = colors.line;
      const dot = Math.max(1, Math.round(tile / 16));
      context.fillRect(x * tile + ((tile - dot) >> 1), y * tile + ((tile - dot) >> 1), dot, dot);
      if (!isOpen(x - 1, y)) context.fillRect(x * tile, y * tile, edge, tile);
      if (!isOpen(x + 1, y)) context.fillRect((x + 1) * tile - edge, y * tile, edge, tile);
      if (!isOpen(x, y - 1)) context.fillRect(x * tile, y * tile, tile, edge);
      if (!isOpen(x, y + 1)) context.fillRect(x * tile, (y + 1) * tile - edge, tile, edge);
    }
    this.drawCoordinates(context, replay.header);
  }

  drawCoordinates(context, { width, height, rows }) {
    const { tile } = this;
    if (tile / this.ratio < 14) return;
    const size = Math.min(tile * 0.4, 14 * this.ratio);
    const label = (text, x, y) => rows[y][x] === "#" && write(context, text, [(x + 0.5) * tile, (y + 0.5) * tile], size, theme().text);
    for (let x = 0; x < width; x += 5) label(x, x, 0);
    for (let y = 5; y < height; y += 5) label(y, 0, y);
  }

  tileAt(clientX, clientY, { width, height }) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const x = Math.floor(((clientX - left) * this.ratio - this.left) / this.tile);
    const y = Math.floor(((clientY - top) * this.ratio - this.top) / this.tile);
    return x >= 0 && y >= 0 && x < width && y < height ? [x, y] : null;
  }

  draw(replay, playhead, layers, chosen) {
    // A hidden board has no size.
    if (!this.size && !this.canvas.clientWidth) return;
    const index = Math.min(Math.floor(playhead), replay.last);
    const { annotation, positions } = replay.frames[index];
    const next = index < replay.last ? replay.frames[index + 1].positions : positions;
    // If the user prefers reduced motion, the actors jump from tile to tile.
    const fraction = still.matches ? 0 : playhead - index;
    this.fit(replay, [0, 1].map((i) => positions[i] + (next[i] - positions[i]) * fraction));
    this.drawStreets(replay);
    const { context, canvas } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(this.streets, this.left, this.top);
    if (annotation && layers.arrival) this.drawArrivals(replay, annotation);
    if (annotation && layers.deadly) this.drawDeadly(annotation);
    if (layers.trail) this.drawTrail(replay, index);
    if (layers.paths) replay.header.styles.forEach((_, i) => this.drawPath(replay, index, i));
    if (layers.plan) this.drawPlan(replay, index);
    if (annotation && layers.arrival) this.drawArrivalNumbers(replay, annotation);
    if (chosen !== null) this.drawChosen(replay, index, chosen);
    const catchers = replay.catchers(index);
    const [now, then] = [shifts(positions), shifts(next)];
    this.drawn = replay.header.styles.map((style, i) => {
      // A catcher is drawn aside, so that the car stays visible.
      const shift = catchers.includes(i) ? -0.2 : now[i].shift + (then[i].shift - now[i].shift) * fraction;
      const drawn = this.drawActor(style, positions, next, 2 + 3 * i, fraction, null, shift);
      if (catchers.includes(i)) this.drawRing(drawn);
      if (now[i].all > 1 && fraction === 0) this.drawCount(now[i].all, positions[2 + 3 * i], positions[3 + 3 * i]);
      return drawn;
    });
    this.drawActor("player", positions, next, 0, fraction, this.playerDirection(replay, index), catchers.length ? 0.14 : 0);
  }

  drawCount(count, tileX, tileY) {
    const { context, tile } = this;
    const place = this.center(tileX + 0.36, tileY - 0.36);
    disc(context, place, tile * 0.2, theme().text);
    write(context, count, place, tile * 0.28, theme().paper, "bold");
  }

  /** Draws a line of moves as an arrow, with a text at its end. */
  drawLine(positions, moves, color, text) {
    const { context, tile } = this;
    let [x, y] = positions;
    const way = [[x, y]];
    for (const letter of moves) {
      const [dx, dy] = STEP["LRUD".indexOf(letter)] ?? [0, 0];
      [x, y] = [x + dx, y + dy];
      if (letter !== ".") way.push([x, y]);
    }
    if (way.length < 2) return;
    const points = way.map(([a, b]) => this.center(a, b));
    const [end, before] = [points.at(-1), points.at(-2)];
    const angle = Math.atan2(end[1] - before[1], end[0] - before[0]);
    const head = (turn) => [end[0] - tile * 0.3 * Math.cos(angle + turn), end[1] - tile * 0.3 * Math.sin(angle + turn)];
    context.lineJoin = context.lineCap = "round";
    for (const [ink, width] of [[theme().pale, 0.2], [color, 0.11]]) {
      context.strokeStyle = ink;
      context.lineWidth = Math.max(2, tile * width);
      context.beginPath();
      points.forEach((point) => context.lineTo(...point));
      context.moveTo(...head(0.6));
      context.lineTo(...end);
      context.lineTo(...head(-0.6));
      context.stroke();
    }
    const size = Math.max(11 * this.ratio, tile * 0.34);
    const width = size * (0.56 * text.length + 0.6);
    const left = Math.max(0, Math.min(this.canvas.width - width, end[0] - width / 2));
    const middle = end[1] + (end[1] > tile ? -0.75 : 0.75) * tile;
    context.fillStyle = color;
    context.fillRect(left, middle - size * 0.7, width, size * 1.4);
    write(context, text, [left + width / 2, middle], size, theme().pale, "bold");
  }

  drawRing({ x, y }) {
    const { context, tile } = this;
    for (const [color, width] of [[theme().pale, 0.2], [theme().death, 0.12]]) {
      context.strokeStyle = color;
      context.lineWidth = Math.max(3, tile * width);
      context.beginPath();
      context.arc(x, y, tile * 0.66, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  /** Draws an actor between two frames. Only a move to an adjacent tile is interpolated. */
  drawActor(name, positions, next, at, fraction, directions, shift) {
    const [dx, dy] = [next[at] - positions[at], next[at + 1] - positions[at + 1]];
    const stepFraction = Math.abs(dx) + Math.abs(dy) === 1 ? fraction : 0;
    const [x, y] = this.center(positions[at] + dx * stepFraction + shift, positions[at + 1] + dy * stepFraction + shift);
    const [from, to] = directions ?? [TURN[positions[at + 2]], TURN[next[at + 2]]];
    const turn = Math.atan2(Math.sin(to - from), Math.cos(to - from));
    drawSprite(this.context, name, x, y, this.tile * (name === "player" ? LAYERS.player_size : LAYERS.threat_size), from + turn * Math.min(1, fraction * 3));
    return { x, y };
  }

  playerDirection(replay, index) {
    const heading = (from) => {
      for (let i = from; i > Math.max(0, from - 60); i--) {
        const [a, b] = [replay.frames[i - 1].positions, replay.frames[i].positions];
        const direction = STEP.findIndex(([dx, dy]) => b[0] - a[0] === dx && b[1] - a[1] === dy);
        if (direction >= 0) return TURN[direction];
      }
      return 0;
    };
    return [heading(index), heading(Math.min(index + 1, replay.last))];
  }

  drawArrivals(replay, { arrivals }) {
    const { context, tile } = this;
    const { heat } = theme();
    replay.tiles.forEach(([x, y], i) => {
      context.globalAlpha = LAYERS.heat_opacity * Math.max(0, 1 - arrivals[i] / LAYERS.heat_ticks);
      context.fillStyle = heat;
      context.fillRect(this.left + x * tile, this.top + y * tile, tile, tile);
    });
    context.globalAlpha = 1;
  }

  drawArrivalNumbers(replay, { arrivals }) {
    const { context, tile } = this;
    if (tile / this.ratio < 22) return;
    const { text, street } = theme();
    const size = Math.round(tile * 0.34);
    replay.tiles.forEach(([x, y], i) => {
      const ticks = arrivals[i];
      if (ticks >= replay.header.never) return;
      const place = this.center(x, y);
      const width = size * (0.6 * String(ticks).length + 0.3);
      context.fillStyle = street;
      context.fillRect(place[0] - width / 2, place[1] - size * 0.55, width, size * 1.1);
      write(context, ticks, place, size, text);
    });
  }

  /** Draws a square and a cross, which are recognisable without colour. */
  drawDeadly({ deadly }) {
    const { context, tile } = this;
    context.strokeStyle = theme().death;
    context.lineWidth = Math.max(1.5, tile * LAYERS.deadly_width);
    context.lineCap = "butt";
    context.beginPath();
    for (let i = 0; i < deadly.length; i += 2) {
      const [left, top] = [this.left + deadly[i] * tile, this.top + deadly[i + 1] * tile];
      const inset = tile * LAYERS.deadly_inset;
      const [a, b] = [inset, tile - inset];
      context.rect(left + a, top + a, b - a, b - a);
      context.moveTo(left + a, top + a);
      context.lineTo(left + b, top + b);
      context.moveTo(left + b, top + a);
      context.lineTo(left + a, top + b);
    }
    context.stroke();
  }

  drawTrail(replay, index) {
    const { context, tile } = this;
    const [smallest, growth] = LAYERS.trail_radius;
    for (let i = Math.max(0, index - LAYERS.trail_ticks); i < index; i++) {
      const age = (index - i) / (LAYERS.trail_ticks + 1);
      context.globalAlpha = LAYERS.trail_opacity * (1 - age);
      disc(context, this.center(...replay.frames[i].positions), tile * (smallest + growth * (1 - age)), theme().trail);
    }
    context.globalAlpha = 1;
  }

  /** Draws a line through future positions. The shift keeps lines in the same street apart. */
  drawFuturePath(replay, index, at, ticks, color, width, shift, dash) {
    const { context } = this;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.lineJoin = context.lineCap = "round";
    context.setLineDash(dash);
    context.beginPath();
    let last = null;
    for (let i = 0; i <= ticks; i++) {
      const positions = replay.positionsAfter(index, i);
      if (!positions) break;
      last = this.center(positions[at], positions[at + 1]).map((side) => side + shift);
      context.lineTo(...last);
    }
    context.stroke();
    context.setLineDash([]);
    return last;
  }

  drawPlan(replay, index) {
    const { context, tile } = this;
    const unit = Math.max(1.5, tile * LAYERS.plan_width);
    const { outline, plan } = theme();
    const dash = LAYERS.plan_dash.map((length) => unit * length);
    this.drawFuturePath(replay, index, 0, LAYERS.plan_ticks, outline, unit * LAYERS.plan_outline, 0, dash);
    const last = this.drawFuturePath(replay, index, 0, LAYERS.plan_ticks, plan, unit, 0, dash);
    if (!last) return;
    disc(context, last, tile * 0.14 + unit * 0.4, outline);
    disc(context, last, tile * 0.14, plan);
  }

  drawPath(replay, index, threat) {
    const { context, tile } = this;
    const count = replay.header.styles.length;
    const shift = ((threat + 0.5) / count - 0.5) * tile * 0.5;
    const { color } = spriteOf(replay.header.styles[threat]);
    const last = this.drawFuturePath(replay, index, 2 + 3 * threat, LAYERS.path_ticks, color, Math.max(1.5, tile * LAYERS.path_width), shift, []);
    if (last) disc(context, last, tile * 0.11, color);
  }

  drawChosen(replay, index, threat) {
    const { context, tile } = this;
    const { annotation, positions } = replay.frames[index];
    const { color } = spriteOf(replay.header.styles[threat]);
    const at = 2 + 3 * threat;
    this.drawPath(replay, index, threat);
    const [x, y] = this.center(positions[at], positions[at + 1]);
    context.strokeStyle = color;
    context.lineWidth = Math.max(2, tile / 12);
    context.beginPath();
    context.arc(x, y, tile * 0.62, 0, 2 * Math.PI);
    context.stroke();
    const intent = annotation?.intents[threat];
    if (!intent || intent.x < 0) return;
    context.setLineDash([tile / 6, tile / 6]);
    context.beginPath();
    context.moveTo(x, y);
    let [tx, ty] = [positions[at], positions[at + 1]];
    for (const step of intent.path) {
      tx += STEP[step][0];
      ty += STEP[step][1];
      context.lineTo(...this.center(tx, ty));
    }
    context.stroke();
    context.setLineDash([]);
    const [cx, cy] = this.center(intent.x, intent.y);
    const arm = tile * 0.42;
    context.strokeRect(cx - arm, cy - arm, 2 * arm, 2 * arm);
  }

  threatAt(clientX, clientY) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = [(clientX - left) * this.ratio, (clientY - top) * this.ratio];
    const reach = Math.max(this.tile * 0.5, 10 * this.ratio);
    const distances = this.drawn.map((place) => Math.hypot(place.x - x, place.y - y));
    const nearest = distances.indexOf(Math.min(...distances));
    return distances[nearest] < reach ? nearest : null;
  }
}

/** Gives the style sheet the colours of the drawing. */
function showTheme() {
  const root = document.documentElement;
  root.style.colorScheme = isDark() ? "dark" : "light";
  for (const [name, color] of Object.entries(theme())) root.style.setProperty(`--${name}`, color);
}

dark.addEventListener("change", showTheme);
showTheme();
