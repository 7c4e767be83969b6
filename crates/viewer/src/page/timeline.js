// The scrub bar, its marks, and the curve of the room left.

/**
 * The marks of each kind, which differ in shape or size, not only in colour. In a path, `x` is
 * around 0, and `y` from 0 to 22. A path with a `width` is a line.
 */
const MARKS = DRAWING.marks;
for (const mark of Object.values(MARKS)) mark.path = new Path2D(mark.d);

function drawMark(context, kind, x) {
  const { path, color, width } = MARKS[kind];
  context.save();
  context.translate(x, 0);
  context.fillStyle = context.strokeStyle = color;
  context.lineWidth = width;
  context[width ? "stroke" : "fill"](path);
  context.restore();
}

class Timeline {
  constructor(canvas, input, output) {
    this.canvas = canvas;
    this.input = input;
    this.output = output;
    this.key = "";
    this.hidden = new Set();
    this.curve = element("curve");
  }

  marks(replay) {
    return replay.header.marks.filter(({ kind }) => !this.hidden.has(kind));
  }

  /** Space at both ends of the range input's track, in pixels: half the width of its thumb. */
  static INSET = 8;

  /** Marks of one kind within this width, in pixels, are joined. */
  static CLUSTER = 14;

  /** A kind with more marks than this is drawn as a strip, whose density shows how many there are. */
  static STRIP = 40;

  /** The index at a place on the screen. */
  indexAt(clientX, last) {
    const { left, width } = this.canvas.getBoundingClientRect();
    const share = (clientX - left - Timeline.INSET) / (width - 2 * Timeline.INSET);
    return Math.round(Math.max(0, Math.min(1, share)) * last);
  }

  x(index, last) {
    return Timeline.INSET + (index / Math.max(1, last)) * (this.canvas.clientWidth - 2 * Timeline.INSET);
  }

  /** Joins close marks of the same kind into clusters: `{ kind, text, index, last, count }`. */
  clusters(marks, end) {
    const clusters = [];
    const open = {};
    for (const { kind, index, text } of [...marks].sort((a, b) => a.index - b.index)) {
      const cluster = open[kind];
      if (cluster && this.x(index, end) - this.x(cluster.index, end) < Timeline.CLUSTER) {
        cluster.last = index;
        cluster.count++;
      } else clusters.push((open[kind] = { kind, text, index, last: index, count: 1 }));
    }
    const order = Object.keys(MARKS);
    return clusters.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  }

  /** `end` is the last index of the bar. `analysis` and the index `divergence` may be null. */
  draw(replay, end, analysis, divergence) {
    const { canvas } = this;
    const ratio = devicePixelRatio || 1;
    const key = [end, replay.last, replay.header.marks.length, canvas.clientWidth, ratio, isDark(), [...this.hidden], Boolean(analysis), divergence].join();
    if (key === this.key) return;
    this.key = key;
    this.drawCurve(replay, end, analysis, ratio);
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const marks = this.marks(replay).filter(({ kind }) => MARKS[kind]);
    const counts = Object.groupBy(marks, ({ kind }) => kind);
    const isStrip = (kind) => counts[kind].length > Timeline.STRIP;
    for (const { kind, index } of marks.filter((mark) => isStrip(mark.kind))) {
      context.globalAlpha = 0.35;
      context.fillStyle = MARKS[kind].color;
      context.fillRect(this.x(index, end) - 1.5, 15, 3, 7);
    }
    context.globalAlpha = 1;
    for (const { kind, index, last, count } of this.clusters(marks.filter((mark) => !isStrip(mark.kind)), end)) {
      const [from, to] = [this.x(index, end), this.x(last, end)];
      drawMark(context, kind, (from + to) / 2);
      context.fillStyle = MARKS[kind].color;
      if (count > 1) context.fillRect(from - 1, 19, to - from + 2, 3);
    }
    if (divergence !== null) {
      context.fillStyle = "#7b2fbf";
      context.fillRect(this.x(divergence, end) - 1.5, 0, 3, canvas.clientHeight);
    }
  }

  drawCurve(replay, end, analysis, ratio) {
    const { curve } = this;
    curve.hidden = !analysis?.room.length;
    if (curve.hidden) return;
    curve.width = Math.round(curve.clientWidth * ratio);
    curve.height = Math.round(curve.clientHeight * ratio);
    const context = curve.getContext("2d");
    context.scale(ratio, ratio);
    const height = curve.clientHeight;
    const most = Math.max(1, ...analysis.room);
    const at = (tick) => this.x(replay.indexOfMove(tick), end);
    const y = (room) => height - 2 - (room / most) * (height - 4);
    context.beginPath();
    // In the playground, frames that have not been judged yet have no room value.
    analysis.room.forEach((room, i) => {
      const isKnown = (index) => (analysis.room[index] ?? null) !== null;
      if (!isKnown(i)) return;
      if (!isKnown(i - 1)) context.moveTo(this.x(i, end), height);
      context.lineTo(this.x(i, end), y(room));
      if (!isKnown(i + 1)) context.lineTo(this.x(i + (isKnown(i - 1) ? 0 : 1), end), height);
    });
    context.globalAlpha = 0.35;
    context.fillStyle = "#009e73";
    context.fill();
    context.globalAlpha = 1;
    for (const { tick, is_decisive: isDecisive } of analysis.falls) {
      context.fillStyle = isDecisive ? theme().death : "#e69f00";
      const width = isDecisive ? 3 : 1.5;
      context.fillRect(at(tick) - width / 2, isDecisive ? 0 : height * 0.5, width, height);
    }
  }

  set(replay, index, end, tick, lastTick) {
    const { input } = this;
    input.max = end;
    input.value = index;
    const mark = replay.header.marks.findLast((mark) => mark.index === index);
    input.setAttribute("aria-valuetext", `tick ${tick} of ${lastTick}${mark ? `, ${mark.text}` : ""}`);
  }

  /** Describes the place under the pointer: the nearest mark, and the room or surviving moves. */
  showMark(replay, end, clientX, analysis) {
    const { left } = this.canvas.getBoundingClientRect();
    const x = clientX === null ? NaN : clientX - left;
    let [best, nearest] = [null, Timeline.CLUSTER / 2];
    for (const cluster of this.clusters(this.marks(replay), end)) {
      const distance = Math.max(this.x(cluster.index, end) - x, x - this.x(cluster.last, end), 0);
      if (distance < nearest || (distance === nearest && cluster.kind !== "close_call")) [best, nearest] = [cluster, distance];
    }
    const index = clientX === null ? 0 : this.indexAt(clientX, end);
    const { tick } = replay.frames[Math.min(index, replay.last)];
    const room = analysis?.room[analysis.isJudged ? index : tick - analysis.first_tick];
    const whole = analysis?.isJudged ? `${room} of ${analysis.open[index]} moves survive${room === 1 ? "s" : ""}` : `room for ${room} tiles`;
    const texts = [best && this.clusterText(best, replay), room != null && `tick ${tick}: ${whole}`].filter(Boolean);
    this.output.textContent = clientX === null ? "" : texts.join(" · ") || `tick ${tick}`;
    const space = this.canvas.clientWidth - this.output.offsetWidth;
    this.output.style.left = `${Math.max(0, Math.min(space, x - this.output.offsetWidth / 2))}px`;
  }

  clusterText({ kind, text, index, last, count }, { frames }) {
    const tick = frames[index]?.tick;
    return count === 1 ? `tick ${tick}: ${text}` : `ticks ${tick} to ${frames[last]?.tick}: ${MARKS[kind].name} (${count})`;
  }
}
