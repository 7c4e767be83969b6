// Runs the WebAssembly engine in Node.js, in pages and in workers.

export class EngineError extends Error {}

export class Engine {
  /** `module`: a compiled module. `report` is called with each intermediate answer, as text. */
  constructor(module, report = () => {}) {
    this.report = report;
    const page = { report: (start, length) => this.report(this.text(start, length)) };
    this.exports = new WebAssembly.Instance(module, { page }).exports;
  }

  // Do not keep the returned view: its buffer is replaced when the memory grows.
  bytes(start, length) {
    return new Uint8Array(this.exports.memory.buffer, start, length);
  }

  text(start, length) {
    return new TextDecoder().decode(this.bytes(start, length));
  }

  /** Returns the answer as bytes, or throws an `EngineError`. `file` is the attachment. */
  ask(name, args = null, file = new Uint8Array()) {
    const head = new TextEncoder().encode(`${name}\n${JSON.stringify(args)}\n`);
    const length = head.length + file.length;
    const start = this.exports.reserve_request(length);
    this.bytes(start, length).set(head);
    this.bytes(start, length).set(file, head.length);
    const code = this.exports.answer();
    const answer = this.bytes(this.exports.answer_start(), this.exports.answer_length()).slice();
    if (code !== 0) throw new EngineError(new TextDecoder().decode(answer));
    return answer;
  }

  askText(name, args, file) {
    return new TextDecoder().decode(this.ask(name, args, file));
  }

  askJson(name, args, file) {
    return JSON.parse(this.askText(name, args, file));
  }
}
