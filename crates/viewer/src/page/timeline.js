// The scrub bar and its marks.

/** Each kind of mark differs in height and shape as well as in colour. */
const MARKS = {
  phase: { color: "#8a95a5", draw: (context, x, h) => context.fillRect(x - 1, 0, 2, h) },
  close_call: { color: "#e69f00", draw: (context, x, h) => context.fillRect(x - 0.75, h * 0.55, 1.5, h * 0.45) },
  jump: { color: "#0072b2", draw: (context, x, h) => peakMark(context, x, h) },
  catch: { color: "#d55e00", draw: (context, x, h) => crossMark(context, x, h) },
  complete: { color: "#009e73", draw: (context, x, h) => discMark(context, x, h) },
};

function peakMark(context, x, h) {
  context.beginPath();
  context.moveTo(x - 3.5, h);
  context.lineTo(x, h * 0.4);
  context.lineTo(x + 3.5, h);
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
  }

  /** Half the width of the range input's thumb: its track is inset by this at both ends. */
  static INSET = 8;

  x(index, last) {
    return Timeline.INSET + (index / Math.max(1, last)) * (this.canvas.clientWidth - 2 * Timeline.INSET);
  }

  draw(replay) {
    const { canvas } = this;
    const ratio = devicePixelRatio || 1;
    const key = [replay.last, replay.header.marks.length, canvas.clientWidth, ratio, dark.matches].join();
    if (key === this.key) return;
    this.key = key;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    // Draw rare marks above common ones.
    const order = Object.keys(MARKS);
    const marks = [...replay.header.marks].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
    for (const { index, kind } of marks) {
      const mark = MARKS[kind];
      if (!mark) continue;
      context.fillStyle = context.strokeStyle = mark.color;
      mark.draw(context, this.x(index, replay.last), canvas.clientHeight);
    }
  }

  set(replay, index, tick) {
    const { input } = this;
    input.max = replay.last;
    input.value = index;
    const mark = replay.header.marks.findLast((mark) => mark.index === index);
    input.setAttribute("aria-valuetext", `tick ${tick}${mark ? `, ${mark.text}` : ""}`);
  }

  /** Shows the text of the mark nearest to the pointer. */
  showMark(replay, clientX) {
    const { left } = this.canvas.getBoundingClientRect();
    const x = clientX === null ? NaN : clientX - left;
    let [best, nearest] = [null, 7];
    for (const mark of replay.header.marks) {
      const distance = Math.abs(this.x(mark.index, replay.last) - x);
      if (distance < nearest || (distance === nearest && mark.kind !== "close_call")) [best, nearest] = [mark, distance];
    }
    this.output.textContent = best ? `tick ${replay.frames[best.index]?.tick}: ${best.text}` : "";
    const room = this.canvas.clientWidth - this.output.offsetWidth;
    this.output.style.left = `${Math.max(0, Math.min(room, x - this.output.offsetWidth / 2))}px`;
  }
}
