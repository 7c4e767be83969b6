// The scrub bar, its marks, and the curve of the room left.

/** All kinds differ in shape or size, not only in colour. */
const MARKS = {
  phase: { name: "threat speed", color: "#8a95a5", draw: (context, x, h) => context.fillRect(x - 1, 0, 2, h) },
  close_call: { name: "close calls", color: "#e69f00", draw: (context, x, h) => context.fillRect(x - 0.75, h * 0.55, 1.5, h * 0.45) },
  jump: { name: "jumps over a threat", color: "#0072b2", draw: (context, x, h) => peakMark(context, x, h) },
  missing: { name: "missing commands", color: "#cc79a7", draw: (context, x, h) => context.fillRect(x - 1, 0, 2, h * 0.45) },
  late: { name: "late commands", color: "#a14d86", draw: (context, x, h) => clockMark(context, x, h) },
  unreadable: { name: "unreadable commands", color: "#7a3b1d", draw: (context, x, h) => boxMark(context, x, h) },
  ignored: { name: "commands not played", color: "#a14d86", draw: (context, x, h) => hollowBoxMark(context, x, h) },
  misprediction: { name: "mispredictions", color: "#56b4e9", draw: (context, x, h) => diamondMark(context, x, h) },
  left: { name: "the bot left", color: "#b00020", draw: (context, x, h) => context.fillRect(x - 2, 0, 4, h) },
  catch: { name: "the catch", color: "#d55e00", draw: (context, x, h) => crossMark(context, x, h) },
  complete: { name: "the end", color: "#009e73", draw: (context, x, h) => discMark(context, x, h) },
};

function peakMark(context, x, h) {
  context.beginPath();
  context.moveTo(x - 3.5, h);
  context.lineTo(x, h * 0.4);
  context.lineTo(x + 3.5, h);
  context.fill();
}

function clockMark(context, x, h) {
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(x, h * 0.3, 4, 0, 2 * Math.PI);
  context.moveTo(x, h * 0.3 - 3);
  context.lineTo(x, h * 0.3);
  context.lineTo(x + 2, h * 0.3);
  context.stroke();
}

function boxMark(context, x, h) {
  context.fillRect(x - 3, h * 0.3 - 3, 6, 6);
}

function hollowBoxMark(context, x, h) {
  context.lineWidth = 2;
  context.strokeRect(x - 4, h * 0.3 - 4, 8, 8);
}

function diamondMark(context, x, h) {
  context.beginPath();
  context.moveTo(x, h * 0.1);
  context.lineTo(x + 4, h * 0.35);
  context.lineTo(x, h * 0.6);
  context.lineTo(x - 4, h * 0.35);
  context.fill();
}

function crossMark(context, x, h) {
  context.lineWidth = 3;
  context.beginPath();
  context.moveTo(x - 5, h * 0.25);
  context.lineTo(x + 5, h * 0.9);
  context.moveTo(x + 5, h * 0.25);
  context.lineTo(x - 5, h * 0.9);
  context.stroke();
}

function discMark(context, x, h) {
  context.beginPath();
  context.arc(x, h * 0.55, 5, 0, 2 * Math.PI);
  context.fill();
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
    const key = [end, replay.last, replay.header.marks.length, canvas.clientWidth, ratio, dark.matches, [...this.hidden], Boolean(analysis), divergence].join();
    if (key === this.key) return;
    this.key = key;
    this.drawCurve(replay, end, analysis, ratio);
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const marks = this.marks(replay);
    for (const { kind, index, last, count } of this.clusters(marks, end)) {
      const mark = MARKS[kind];
      if (!mark) continue;
      context.fillStyle = context.strokeStyle = mark.color;
      const [from, to] = [this.x(index, end), this.x(last, end)];
      mark.draw(context, (from + to) / 2, canvas.clientHeight);
      if (count > 1) context.fillRect(from - 1, canvas.clientHeight - 3, to - from + 2, 3);
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

  showMark(replay, end, clientX) {
    const { left } = this.canvas.getBoundingClientRect();
    const x = clientX === null ? NaN : clientX - left;
    let [best, nearest] = [null, Timeline.CLUSTER / 2];
    for (const cluster of this.clusters(this.marks(replay), end)) {
      const distance = Math.max(this.x(cluster.index, end) - x, x - this.x(cluster.last, end), 0);
      if (distance < nearest || (distance === nearest && cluster.kind !== "close_call")) [best, nearest] = [cluster, distance];
    }
    this.output.textContent = best ? this.clusterText(best, replay) : "";
    const room = this.canvas.clientWidth - this.output.offsetWidth;
    this.output.style.left = `${Math.max(0, Math.min(room, x - this.output.offsetWidth / 2))}px`;
  }

  clusterText({ kind, text, index, last, count }, { frames }) {
    const tick = frames[index]?.tick;
    return count === 1 ? `tick ${tick}: ${text}` : `ticks ${tick} to ${frames[last]?.tick}: ${MARKS[kind].name} (${count})`;
  }
}
