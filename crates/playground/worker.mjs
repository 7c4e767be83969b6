// A worker with its own engine. Only terminating the worker stops a request.

import { Engine, EngineError } from "./engine.mjs";

let engine = null;

onmessage = ({ data }) => {
  if (data.module) {
    engine = new Engine(data.module);
    return;
  }
  const { id, name, args, file } = data;
  engine.report = (text) => postMessage({ id, report: text });
  try {
    const answer = engine.ask(name, args, file);
    postMessage({ id, answer }, [answer.buffer]);
  } catch (error) {
    postMessage({ id, error: error.message, isBroken: !(error instanceof EngineError) });
  }
};
