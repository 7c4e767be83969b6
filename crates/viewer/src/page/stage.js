// Draws a moment: streets, layers, and everybody between two frames.

const STEP = [[-1, 0], [1, 0], [0, -1], [0, 1]];
const TURN = [Math.PI, 0, -Math.PI / 2, Math.PI / 2];
const PLAN_TICKS = 40;
const PATH_TICKS = 30;
const TRAIL_TICKS = 50;
/** Timings from here on are all the same to the eye. */
const HEAT_TICKS = 24;

for (const shape of Object.values(CAST.shapes)) for (const part of shape.parts) part.path = new Path2D(part.d);

const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => CAST.themes[dark.matches ? "dark" : "light"];
const shapeOf = (name) => CAST.shapes[name] ?? CAST.shapes.unknown;

/** Draws a shape of a side's length around a point, turned by an angle. */
function drawShape(context, name, x, y, side, angle) {
  const { color, parts } = shapeOf(name);
  const { ink, pale, outline } = theme();
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.scale(side / 100, side / 100);
  context.lineJoin = context.lineCap = "round";
  for (const { path, paint, line } of parts) {
    const paintColor = paint === "body" ? color : paint === "ink" ? ink : pale;
    if (line) {
      // A halo keeps thin dark lines visible on dark streets.
      context.strokeStyle = pale;
      context.lineWidth = line + 3;
      if (paint === "ink") context.stroke(path);
      context.strokeStyle = paintColor;
      context.lineWidth = line;
      context.stroke(path);
      continue;
    }
    context.fillStyle = paintColor;
    if (paint === "body") {
      context.strokeStyle = pale;
      context.lineWidth = 11;
      context.stroke(path);
      context.strokeStyle = outline;
      context.lineWidth = 6;
      context.stroke(path);
    } else if (paint === "pale") {
      context.strokeStyle = outline;
      context.lineWidth = 5;
      context.stroke(path);
    }
    context.fill(path);
  }
  context.restore();
}

class Stage {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.streets = document.createElement("canvas");
    this.streetsKey = "";
    /** Where the threats were drawn last, for the pointer. */
    this.drawn = [];
  }

  /** Fits the canvas to its place, a whole number of device pixels a tile. */
  fit(film) {
    const ratio = devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    const [width, height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const { header } = film;
    this.ratio = ratio;
    this.tile = Math.max(2, Math.floor(Math.min(width / header.width, height / header.height)));
    this.left = Math.floor((width - this.tile * header.width) / 2);
    this.top = Math.floor((height - this.tile * header.height) / 2);
  }

  center(x, y) {
    return [this.left + (x + 0.5) * this.tile, this.top + (y + 0.5) * this.tile];
  }

  /** The streets change only with the size and the theme. */
  drawStreets(film) {
    const { width, height, rows } = film.header;
    const colors = theme();
    const key = [this.tile, dark.matches, rows.join()].join();
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
    for (const [x, y] of film.tiles) {
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
  }

  draw(film, playhead, layers, chosen) {
    this.fit(film);
    this.drawStreets(film);
    const { context, canvas } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(this.streets, this.left, this.top);
    const index = Math.min(Math.floor(playhead), film.last);
    const { insight, frame } = film.moments[index];
    const next = film.frameAfter(index, 1) && index < film.last ? film.moments[index + 1].frame : frame;
    const share = playhead - index;
    if (insight && layers.timing) this.drawTimings(film, insight);
    if (insight && layers.deadly) this.drawDeadly(insight);
    if (layers.trail) this.drawTrail(film, index);
    if (layers.paths) film.header.styles.forEach((_, i) => this.drawPath(film, index, i));
    if (layers.plan) this.drawPlan(film, index);
    if (chosen !== null) this.drawChosen(film, index, chosen);
    this.drawn = film.header.styles.map((style, i) => this.drawActor(style, frame, next, 2 + 3 * i, share));
    this.drawActor("player", frame, next, 0, share, this.playerDirection(film, index));
  }

  /** Between two frames: along the way if it is one step, at once if it is a leap. */
  drawActor(name, frame, next, at, share, turns) {
    const [dx, dy] = [next[at] - frame[at], next[at + 1] - frame[at + 1]];
    const moves = Math.abs(dx) + Math.abs(dy) === 1;
    const ease = moves ? share : 0;
    const [x, y] = this.center(frame[at] + dx * ease, frame[at + 1] + dy * ease);
    const [from, to] = turns ?? [TURN[frame[at + 2]], TURN[next[at + 2]]];
    let turn = (to - from) % (2 * Math.PI);
    if (turn > Math.PI) turn -= 2 * Math.PI;
    if (turn < -Math.PI) turn += 2 * Math.PI;
    drawShape(this.context, name, x, y, this.tile * (name === "player" ? 0.9 : 0.98), from + turn * Math.min(1, share * 3));
    return { x, y };
  }

  /** Which way the player's car looked when it last moved, and where it looks next. */
  playerDirection(film, index) {
    const heading = (from) => {
      for (let i = from; i > Math.max(0, from - 60); i--) {
        const [a, b] = [film.moments[i - 1].frame, film.moments[i].frame];
        const direction = STEP.findIndex(([dx, dy]) => b[0] - a[0] === dx && b[1] - a[1] === dy);
        if (direction >= 0) return TURN[direction];
      }
      return 0;
    };
    return [heading(index), heading(Math.min(index + 1, film.last))];
  }

  drawTimings(film, { timings }) {
    const { context, tile } = this;
    const { heat, text } = theme();
    context.font = `${Math.round(tile * 0.34)}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    film.tiles.forEach(([x, y], i) => {
      const ticks = timings[i];
      const closeness = Math.max(0, 1 - ticks / HEAT_TICKS);
      context.globalAlpha = 0.72 * closeness;
      context.fillStyle = heat;
      context.fillRect(this.left + x * tile, this.top + y * tile, tile, tile);
      if (tile / this.ratio >= 22 && ticks < film.header.never) {
        context.globalAlpha = 0.85;
        context.fillStyle = text;
        context.fillText(ticks, ...this.center(x, y));
      }
    });
    context.globalAlpha = 1;
  }

  /** A frame and a cross: seen without its colour too. */
  drawDeadly({ deadly }) {
    const { context, tile } = this;
    context.strokeStyle = theme().death;
    context.lineWidth = Math.max(1.5, tile / 14);
    context.lineCap = "butt";
    context.beginPath();
    for (let i = 0; i < deadly.length; i += 2) {
      const [left, top] = [this.left + deadly[i] * tile, this.top + deadly[i + 1] * tile];
      const inset = tile * 0.1;
      const [a, b] = [inset, tile - inset];
      context.rect(left + a, top + a, b - a, b - a);
      context.moveTo(left + a, top + a);
      context.lineTo(left + b, top + b);
      context.moveTo(left + b, top + a);
      context.lineTo(left + a, top + b);
    }
    context.stroke();
  }

  drawTrail(film, index) {
    const { context, tile } = this;
    context.fillStyle = theme().trail;
    for (let i = Math.max(0, index - TRAIL_TICKS); i < index; i++) {
      const age = (index - i) / (TRAIL_TICKS + 1);
      const [x, y] = this.center(...film.moments[i].frame);
      context.globalAlpha = 0.6 * (1 - age);
      context.beginPath();
      context.arc(x, y, tile * (0.05 + 0.1 * (1 - age)), 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  /** A line through the places of somebody in the ticks to come. Each is beside the others where they share a street. */
  drawWay(film, index, at, ticks, color, width, shift, dash) {
    const { context } = this;
    context.strokeStyle = color;
    context.lineWidth = width;
    context.lineJoin = context.lineCap = "round";
    context.setLineDash(dash);
    context.beginPath();
    let last = null;
    for (let i = 0; i <= ticks; i++) {
      const frame = film.frameAfter(index, i);
      if (!frame) break;
      const [x, y] = this.center(frame[at], frame[at + 1]);
      if (last) context.lineTo(x + shift, y + shift);
      else context.moveTo(x + shift, y + shift);
      last = [x + shift, y + shift];
    }
    context.stroke();
    context.setLineDash([]);
    return last;
  }

  drawPlan(film, index) {
    const { context, tile } = this;
    const unit = Math.max(1.5, tile / 11);
    const { outline, plan } = theme();
    this.drawWay(film, index, 0, PLAN_TICKS, outline, unit * 1.7, 0, [unit * 0.1, unit * 2.6]);
    const last = this.drawWay(film, index, 0, PLAN_TICKS, plan, unit, 0, [unit * 0.1, unit * 2.6]);
    if (!last) return;
    context.fillStyle = plan;
    context.strokeStyle = outline;
    context.lineWidth = unit * 0.4;
    context.beginPath();
    context.arc(...last, tile * 0.14, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  drawPath(film, index, threat) {
    const { context, tile } = this;
    const count = film.header.styles.length;
    const shift = ((threat + 0.5) / count - 0.5) * tile * 0.5;
    const { color } = shapeOf(film.header.styles[threat]);
    const last = this.drawWay(film, index, 2 + 3 * threat, PATH_TICKS, color, Math.max(1.5, tile / 12), shift, []);
    context.fillStyle = color;
    context.beginPath();
    if (last) context.arc(...last, tile * 0.11, 0, 2 * Math.PI);
    context.fill();
  }

  /** Where a threat wants to be and how it gets there, and what it will really do. */
  drawChosen(film, index, threat) {
    const { context, tile } = this;
    const { insight, frame } = film.moments[index];
    const { color } = shapeOf(film.header.styles[threat]);
    const at = 2 + 3 * threat;
    this.drawPath(film, index, threat);
    const [x, y] = this.center(frame[at], frame[at + 1]);
    context.strokeStyle = color;
    context.lineWidth = Math.max(2, tile / 12);
    context.beginPath();
    context.arc(x, y, tile * 0.62, 0, 2 * Math.PI);
    context.stroke();
    const doing = insight?.doings[threat];
    if (!doing || doing.x < 0) return;
    context.setLineDash([tile / 6, tile / 6]);
    context.beginPath();
    context.moveTo(x, y);
    let [tx, ty] = [frame[at], frame[at + 1]];
    for (const step of doing.path) {
      tx += STEP[step][0];
      ty += STEP[step][1];
      context.lineTo(...this.center(tx, ty));
    }
    context.stroke();
    context.setLineDash([]);
    const [cx, cy] = this.center(doing.x, doing.y);
    const arm = tile * 0.42;
    context.strokeRect(cx - arm, cy - arm, 2 * arm, 2 * arm);
  }

  /** The threat at a place of the page, if there is one. */
  threatAt(clientX, clientY) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = [(clientX - left) * this.ratio, (clientY - top) * this.ratio];
    const reach = Math.max(this.tile * 0.7, 16 * this.ratio);
    let [best, nearest] = [null, reach];
    this.drawn.forEach((place, i) => {
      const distance = Math.hypot(place.x - x, place.y - y);
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    return best;
  }
}
