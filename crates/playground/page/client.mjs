// Sends requests to an engine in a worker. No request needs the worker's earlier requests, so the
// worker can be terminated and replaced at any time.

export class Stopped extends Error {}

export class EngineClient {
  constructor(module) {
    this.module = module;
    this.pending = new Map();
    this.count = 0;
    this.worker = null;
  }

  start() {
    this.worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
    this.worker.addEventListener("message", ({ data }) => this.receive(data));
    this.worker.postMessage({ module: this.module });
  }

  receive({ id, report, answer, error, isBroken }) {
    const request = this.pending.get(id);
    if (!request) return;
    if (report !== undefined) return request.report(JSON.parse(report));
    this.pending.delete(id);
    if (answer) return request.resolve(answer);
    request.reject(new Error(isBroken ? `The engine stopped: ${error}.` : error));
    // After a trap, the module is in an unknown state, so its worker is replaced.
    if (isBroken) this.stop();
  }

  /** Resolves with the bytes of the answer. `report` is called with each intermediate answer. */
  ask(name, args = null, { file, report = () => {} } = {}) {
    if (!this.worker) this.start();
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, report });
      this.worker.postMessage({ id, name, args, file });
    });
  }

  async text(...request) {
    return new TextDecoder().decode(await this.ask(...request));
  }

  async json(...request) {
    return JSON.parse(await this.text(...request));
  }

  stop() {
    this.worker?.terminate();
    this.worker = null;
    const requests = [...this.pending.values()];
    this.pending.clear();
    for (const { reject } of requests) reject(new Stopped());
  }
}
