"""`misbehaving_bot.py well|crash|quit|drop|hang|garbage|late [FILE]` plays over a websocket if
SERVER_URL is set, and otherwise on standard input and output. Over a websocket, it appends the
server's port to FILE, if given."""

import json
import os
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

LATE_S = float(os.environ.get("LATE_S", "0.15"))


def answers(messages: Iterator[str], what: str) -> Iterator[str]:
    """Yields the answers to the messages. From tick 10 on, the bot behaves as `what` says."""
    for message in messages:
        tick = json.loads(message)["tick"]
        if tick >= 10:
            if what == "crash":
                print("a bug at tick", tick, file=sys.stderr)
                sys.exit(3)
            if what in ("quit", "drop"):
                return
            if what == "hang":
                time.sleep(1e6)
            if what == "late" and tick % 10 == 0:
                time.sleep(LATE_S)
        is_garbage = what == "garbage" and tick >= 10
        yield "where am I?" if is_garbage else json.dumps({"type": "COMMAND", "tick": tick, "actions": []})


def main(what: str, ports: str | None = None) -> None:
    url = os.environ.get("SERVER_URL")
    if not url:
        for answer in answers(iter(sys.stdin), what):
            print(answer, flush=True)
        return
    from websockets.sync.client import connect

    if ports:
        with open(ports, "a") as file:
            file.write(f"{urlsplit(url).port}\n")
    with connect(url, max_size=None) as socket:
        socket.send(json.dumps({"type": "REGISTER", "teamName": what}))
        for answer in answers((str(message) for message in socket), what):
            socket.send(answer)
    if what == "drop":
        time.sleep(1e6)


if __name__ == "__main__":
    main(*sys.argv[1:])
