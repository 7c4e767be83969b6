// Unpacks a replay that pack.rs packed. The page itself never simulates the game.

const element = (id) => document.getElementById(id);
const DRAWING = JSON.parse(element("drawing").textContent);

const click = (id, action) => element(id).addEventListener("click", action);
const toText = (number) => number.toLocaleString("en");

/** Makes an element with these properties; `data` and `aria` hold attributes of these kinds. */
function make(tag, { data = {}, aria = {}, ...properties } = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  Object.assign(made.dataset, data);
  for (const [name, value] of Object.entries(aria)) made.setAttribute(`aria-${name}`, value);
  made.append(...children);
  return made;
}

/** Decodes zigzag varints, which hold numbers or differences. */
class DifferenceReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  byte() {
    return this.bytes[this.at++];
  }

  number() {
    const number = [0];
    this.advance(number);
    return number[0];
  }

  /** Adds a decoded difference to each number. Inlines the decoding for speed. */
  advance(last) {
    const { bytes } = this;
    let { at } = this;
    for (let i = 0; i < last.length; i++) {
      let byte = bytes[at++];
      let value = byte & 0x7f;
      for (let shift = 7; byte >= 0x80; shift += 7) {
        byte = bytes[at++];
        value |= (byte & 0x7f) << shift;
      }
      last[i] += (value >>> 1) ^ -(value & 1);
    }
    this.at = at;
  }
}

function readAnnotation(reader, previousIntents, previousArrivals) {
  const intents = [];
  for (let i = 0; i < previousIntents.length; i += 5) {
    for (let j = i; j < i + 5; j++) previousIntents[j] += reader.number();
    const path = new Uint8Array(previousIntents[i + 4]);
    for (let step = 0, bits = 0; step < path.length; step++, bits >>= 2) {
      if (step % 4 === 0) bits = reader.byte();
      path[step] = bits & 3;
    }
    intents.push({ kind: previousIntents[i], count: previousIntents[i + 1], x: previousIntents[i + 2], y: previousIntents[i + 3], path });
  }
  const deadly = new Int16Array(2 * reader.number());
  for (let i = 0; i < deadly.length; i++) deadly[i] = reader.number();
  reader.advance(previousArrivals);
  return { intents, deadly, arrivals: previousArrivals.slice() };
}

/** Decodes frames and forecast. Positions: the player's x and y; each threat's x, y, direction. */
function unpack(header, bytes) {
  const reader = new DifferenceReader(bytes);
  const open = header.rows.join("").replaceAll("#", "").length;
  const positions = new Int16Array(2 + 3 * header.styles.length);
  const intents = new Int16Array(5 * header.styles.length);
  const arrivals = new Uint16Array(open);
  let tick = 0;
  const frames = [];
  for (let i = 0; i < header.count; i++) {
    const hasAnnotation = reader.byte() & 1;
    tick += reader.number();
    reader.advance(positions);
    frames.push({ tick, positions: positions.slice(), annotation: hasAnnotation ? readAnnotation(reader, intents, arrivals) : null });
  }
  const forecast = [];
  for (let i = 0; i < header.forecast; i++) {
    reader.advance(positions);
    forecast.push(positions.slice());
  }
  return { frames, forecast };
}

class Replay {
  constructor(header, parts) {
    this.frames = [];
    this.append(header, parts);
    this.tiles = [];
    for (let x = 0; x < header.width; x++) {
      for (let y = 0; y < header.height; y++) if (header.rows[y][x] !== "#") this.tiles.push([x, y]);
    }
  }

  static fromAnswer(buffer) {
    const { header, ...parts } = Replay.parts(buffer);
    return new Replay(header, parts);
  }

  static async fromPage({ header, data }) {
    const zipped = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Replay(header, unpack(header, new Uint8Array(await new Response(stream).arrayBuffer())));
  }

  static parts(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    return { header, ...unpack(header, new Uint8Array(buffer, 4 + length)) };
  }

  append(header, { frames, forecast }) {
    this.header = header;
    frames.forEach((frame, i) => (this.frames[header.from + i] = frame));
    this.forecast = forecast;
    this.forecastFrom = header.from + frames.length;
  }

  get last() {
    return this.frames.length - 1;
  }

  /** The positions some ticks after a frame: played, or forecast if the forecast still holds. */
  positionsAfter(index, ticks) {
    const at = index + ticks;
    if (at <= this.last) return this.frames[at].positions;
    const forecastIndex = this.last - this.forecastFrom;
    const follows = forecastIndex < 0 || String(this.forecast[forecastIndex]) === String(this.frames[this.last].positions);
    return follows ? this.forecast[at - this.forecastFrom] : undefined;
  }

  get isOver() {
    return this.header.status !== "running";
  }

  catchers(index) {
    if (index !== this.last || this.header.status !== "caught") return [];
    const { positions } = this.frames[index];
    return this.header.styles.map((_, i) => i).filter((i) => positions[2 + 3 * i] === positions[0] && positions[3 + 3 * i] === positions[1]);
  }

  get outcome() {
    const { status, pointsPerTick } = this.header;
    const { tick } = this.frames[this.last];
    if (status === "complete") return `survived: ${toText(tick * pointsPerTick)}`;
    if (status !== "caught") return "";
    const names = [...new Set(this.catchers(this.last).map((i) => this.header.styles[i]))];
    return `caught by ${names.length ? `the ${names.join(" and the ")}` : "a threat"} at tick ${tick}`;
  }

  /** The index of the last frame that is not after a tick; 0 if all frames are after it. */
  indexOfTick(tick) {
    const index = this.frames.findLastIndex((frame) => frame.tick <= tick);
    return Math.max(0, index);
  }

  /**
   * The index of the frame before the player's move in a tick. In the no-jump variant, a move onto
   * a threat ends the game within its tick, so the last two frames have the same tick.
   */
  indexOfMove(tick) {
    const index = this.indexOfTick(tick);
    return this.frames[index - 1]?.tick === tick ? index - 1 : index;
  }
}
