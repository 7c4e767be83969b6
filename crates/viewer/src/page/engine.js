// Sends the page's requests to its engine: natively in the page's server, or as WebAssembly in a
// worker. No request needs the earlier ones, so a request can be stopped at any time.

class Stopped extends Error {}

/** Answers over HTTP in parts: a kind, the length, the bytes. */
class ServerLane {
  constructor() {
    this.stopper = new AbortController();
  }

  async ask(name, args, { file, report }) {
    const { signal } = this.stopper;
    const body = new Blob([JSON.stringify(args), "\n", file ?? ""]);
    try {
      const answer = await fetch(`engine/${name}`, { method: "POST", body, signal });
      if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
      return await this.read(answer.body.getReader(), report);
    } catch (error) {
      if (signal.aborted) throw new Stopped();
      throw error instanceof TypeError ? new Error("the server does not respond") : error;
    }
  }

  async read(reader, report) {
    let bytes = new Uint8Array();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new TypeError("incomplete");
      const joined = new Uint8Array(bytes.length + value.length);
      joined.set(bytes);
      joined.set(value, bytes.length);
      bytes = joined;
      for (let length; bytes.length >= 5 && bytes.length >= 5 + (length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1, true)); bytes = bytes.slice(5 + length)) {
        const content = bytes.slice(5, 5 + length);
        const kind = String.fromCharCode(bytes[0]);
        if (kind === "a") return content;
        const text = new TextDecoder().decode(content);
        if (kind === "e") throw new Error(text);
        report(JSON.parse(text));
      }
    }
  }

  stop() {
    this.stopper.abort();
    this.stopper = new AbortController();
  }
}

class WorkerLane {
  static module = null;

  static load() {
    WorkerLane.module ??= fetch("engine.bin").then(({ body }) => {
      const packed = body.pipeThrough(new DecompressionStream("gzip"));
      return WebAssembly.compileStreaming(new Response(packed, { headers: { "Content-Type": "application/wasm" } }));
    });
    return WorkerLane.module;
  }

  constructor() {
    this.pending = new Map();
    this.count = 0;
    this.worker = null;
  }

  async ask(name, args, { file, report }) {
    // The worker loads its script while the engine loads.
    this.worker ??= this.start();
    const module = await WorkerLane.load();
    this.worker ??= this.start();
    if (!this.hasModule) this.worker.postMessage({ module });
    this.hasModule = true;
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, report });
      this.worker.postMessage({ id, name, args, file });
    });
  }

  start() {
    this.hasModule = false;
    const worker = new Worker("worker.mjs", { type: "module" });
    worker.addEventListener("message", ({ data }) => this.receive(data));
    return worker;
  }

  receive({ id, report, answer, error, isBroken }) {
    const request = this.pending.get(id);
    if (!request) return;
    if (report !== undefined) return request.report(JSON.parse(report));
    this.pending.delete(id);
    if (answer) return request.resolve(answer);
    request.reject(new Error(isBroken ? `the engine stopped: ${error}` : error));
    // After a trap, the module is in an unknown state, so its worker is replaced.
    if (isBroken) this.replace();
  }

  stop() {
    if (this.pending.size) this.replace();
  }

  replace() {
    this.worker?.terminate();
    this.worker = null;
    const requests = [...this.pending.values()];
    this.pending.clear();
    for (const { reject } of requests) reject(new Stopped());
  }
}

/** One of the page's lanes to the engine. Stopping it stops its requests only. */
class EngineClient {
  constructor(kind) {
    this.lane = kind === "server" ? new ServerLane() : new WorkerLane();
  }

  /** Resolves with the bytes of the answer. `report` is called with each intermediate answer. */
  ask(name, args = null, { file, report = () => {} } = {}) {
    return this.lane.ask(name, args, { file, report });
  }

  async text(...request) {
    return new TextDecoder().decode(await this.ask(...request));
  }

  async json(...request) {
    return JSON.parse(await this.text(...request));
  }

  async replay(name, args, options) {
    return Object.assign(Replay.fromAnswer((await this.ask(name, args, options)).buffer), { moves: args.game?.moves });
  }

  stop() {
    this.lane.stop();
  }
}
