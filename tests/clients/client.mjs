// node client.mjs URL PLAN: a bot that connects with `ws`, like the organisers' TypeScript kit.
// PLAN has one character per tick: L, R, U, D, or . to stay. Prints the number of messages, the
// last tick and the close code as JSON. `ws` is looked up in the folder $NODE_MODULES.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.NODE_MODULES}/`);
const WebSocket = require("ws");

const [url, plan] = process.argv.slice(2);
const MOVES = { L: "MOVE_LEFT", R: "MOVE_RIGHT", U: "MOVE_UP", D: "MOVE_DOWN" };
const socket = new WebSocket(url);
let ticks = 0;
let lastTick = 0;

socket.on("open", () => socket.send(JSON.stringify({ type: "REGISTER", teamName: "node-ws" })));
socket.on("message", (data) => {
  const state = JSON.parse(data.toString());
  ticks += 1;
  lastTick = state.currentTickNumber;
  if (state.lastTickErrors.length > 0) throw new Error(`tick ${lastTick}: ${state.lastTickErrors}`);
  const move = MOVES[plan[lastTick - 1]];
  const actions = move ? [{ type: move }] : [];
  socket.send(JSON.stringify({ type: "COMMAND", tick: lastTick, actions }));
});
socket.on("close", (code) => console.log(JSON.stringify({ ticks, lastTick, code })));
socket.on("error", (error) => {
  console.error(error.message);
  process.exitCode = 1;
});
