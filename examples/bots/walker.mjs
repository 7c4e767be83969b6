// A bot that walks away from the nearest threat. Plays over a websocket if SERVER_URL is set (Node
// 22 or newer), otherwise over standard input and output, one line per message.

import { createInterface } from 'node:readline';

const MOVES = { MOVE_LEFT: [-1, 0], MOVE_RIGHT: [1, 0], MOVE_UP: [0, -1], MOVE_DOWN: [0, 1] };

function command(message) {
  const { tick, map, threats, yourCharacter: { position } } = JSON.parse(message);
  const margin = ([dx, dy]) => {
    const [x, y] = [position.x + dx, position.y + dy];
    if (map.tiles[x]?.[y] !== 'EMPTY') return -1;
    return Math.min(...threats.map(threat => Math.abs(threat.position.x - x) + Math.abs(threat.position.y - y)));
  };
  const best = Object.keys(MOVES).reduce((one, other) => (margin(MOVES[other]) > margin(MOVES[one]) ? other : one));
  return JSON.stringify({ type: 'COMMAND', tick, actions: [{ type: best }] });
}

if (process.env.SERVER_URL) {
  const socket = new WebSocket(process.env.SERVER_URL);
  socket.onopen = () => socket.send(JSON.stringify({ type: 'REGISTER', teamName: 'walker' }));
  socket.onmessage = event => socket.send(command(event.data));
} else {
  createInterface({ input: process.stdin }).on('line', line => console.log(command(line)));
}
