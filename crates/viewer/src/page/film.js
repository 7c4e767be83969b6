// Unpacks a film as pack.rs packs it. Nothing about the game is computed here.

const element = (id) => document.getElementById(id);
const CAST = JSON.parse(element("cast").textContent);

/** Numbers as differences: zigzag, seven bits a byte. */
class Differences {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  byte() {
    return this.bytes[this.at++];
  }

  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1);
    }
  }

  /** Adds a number to each of these. Nearly all of a film is read here, so that it is written out. */
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

function readInsight(reader, doingsLast, timingsLast) {
  const doings = [];
  for (let i = 0; i < doingsLast.length; i += 5) {
    for (let j = i; j < i + 5; j++) doingsLast[j] += reader.number();
    const path = new Uint8Array(doingsLast[i + 4]);
    for (let step = 0, bits = 0; step < path.length; step++, bits >>= 2) {
      if (step % 4 === 0) bits = reader.byte();
      path[step] = bits & 3;
    }
    doings.push({ mode: doingsLast[i], count: doingsLast[i + 1], x: doingsLast[i + 2], y: doingsLast[i + 3], path });
  }
  const deadly = new Int16Array(2 * reader.number());
  for (let i = 0; i < deadly.length; i++) deadly[i] = reader.number();
  reader.advance(timingsLast);
  return { doings, deadly, timings: timingsLast.slice() };
}

/** The moments and the frames ahead. A frame is the player's x and y, then each threat's x, y and direction. */
function unpack(header, bytes) {
  const reader = new Differences(bytes);
  const open = header.rows.join("").replaceAll("#", "").length;
  const frame = new Int16Array(2 + 3 * header.styles.length);
  const doings = new Int16Array(5 * header.styles.length);
  const timings = new Uint16Array(open);
  let tick = 0;
  const moments = [];
  for (let i = 0; i < header.count; i++) {
    const hasInsight = reader.byte() & 1;
    tick += reader.number();
    reader.advance(frame);
    moments.push({ tick, frame: frame.slice(), insight: hasInsight ? readInsight(reader, doings, timings) : null });
  }
  const ahead = [];
  for (let i = 0; i < header.ahead; i++) {
    reader.advance(frame);
    ahead.push(frame.slice());
  }
  return { moments, ahead };
}

/** A game: what is known of it so far. */
class Film {
  constructor(header) {
    this.moments = [];
    this.ahead = [];
    this.take(header, { moments: [], ahead: [] });
    this.tiles = [];
    for (let x = 0; x < header.width; x++) {
      for (let y = 0; y < header.height; y++) if (header.rows[y][x] !== "#") this.tiles.push([x, y]);
    }
  }

  static async fromPage({ header, data }) {
    const letters = atob(data);
    const zipped = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) zipped[i] = letters.charCodeAt(i);
    const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
    const film = new Film(header);
    film.take(header, unpack(header, new Uint8Array(await new Response(stream).arrayBuffer())));
    return film;
  }

  /** From `GET /film/GAME/FROM`. */
  static parts(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    return { header, ...unpack(header, new Uint8Array(buffer, 4 + length)) };
  }

  /** Takes in a stretch: what was known of these moments before is replaced. */
  take(header, { moments, ahead }) {
    this.header = header;
    moments.forEach((moment, i) => (this.moments[header.from + i] = moment));
    this.ahead = ahead;
    this.aheadFrom = header.from + moments.length;
  }

  get last() {
    return this.moments.length - 1;
  }

  /** The frame so many ticks after a moment: played, or expected if the game has gone as expected so far. */
  frameAfter(index, ticks) {
    const at = index + ticks;
    if (at <= this.last) return this.moments[at].frame;
    const known = this.last - this.aheadFrom;
    const follows = known < 0 || String(this.ahead[known]) === String(this.moments[this.last].frame);
    return follows ? this.ahead[at - this.aheadFrom] : undefined;
  }

  get isOver() {
    return this.header.ending === "caught" || this.header.ending === "complete";
  }
}
