"""A bot that walks away from the nearest threat. Plays over a websocket if SERVER_URL is set (needs
the package `websockets`), otherwise over standard input and output, one line per message."""

import json, os, sys

MOVES = {"MOVE_LEFT": (-1, 0), "MOVE_RIGHT": (1, 0), "MOVE_UP": (0, -1), "MOVE_DOWN": (0, 1)}


def command(message):
    state = json.loads(message)
    tiles, here = state["map"]["tiles"], state["yourCharacter"]["position"]

    def margin(move):
        x, y = here["x"] + MOVES[move][0], here["y"] + MOVES[move][1]
        if not (0 <= x < len(tiles) and 0 <= y < len(tiles[x])) or tiles[x][y] != "EMPTY":
            return -1
        return min((abs(threat["position"]["x"] - x) + abs(threat["position"]["y"] - y) for threat in state["threats"]), default=0)

    return json.dumps({"type": "COMMAND", "tick": state["tick"], "actions": [{"type": max(MOVES, key=margin)}]})


if os.environ.get("SERVER_URL"):
    from websockets.sync.client import connect

    with connect(os.environ["SERVER_URL"], max_size=None) as socket:
        socket.send(json.dumps({"type": "REGISTER", "teamName": "walker"}))
        for message in socket:
            socket.send(command(message))
else:
    for message in sys.stdin:
        print(command(message), flush=True)
