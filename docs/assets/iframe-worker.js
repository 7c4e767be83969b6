// Browsers refuse to start workers in pages that are opened as files. In such pages, this script
// replaces `Worker` with a class that runs the site's search in a hidden frame. Without this
// script, Material for MkDocs would load a similar script from another host.
(() => {
  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      this.loaded = new Promise((resolve) => this.frame.addEventListener("load", resolve, { once: true }));
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      // Stand-ins for functions of a worker's global scope. Unlike a worker's, this `importScripts`
      // returns a promise.
      inside.postMessage = (data) => setTimeout(() => this.receive(data));
      inside.importScripts = (...urls) => urls.reduce((before, next) => before.then(() => this.load(next)), Promise.resolve());
      inside.document.close();
      this.loaded = this.loaded.then(() => this.load(url));
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`cannot load ${url}`));
        this.frame.contentDocument.body.append(script);
      });
    }

    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.Worker = FrameWorker;
})();
