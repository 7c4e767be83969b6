"""A bot that misbehaves on purpose, over a websocket or over pipes (its standard input and output).
`tournament_runs.py` tests the arena with it.

    hostile_bot.py drip LIMIT_MS FILE   sends each answer in pieces, over 0.3 to 1.7 times LIMIT_MS.
                                        Appends one line per answer to FILE: the tick, the time at
                                        which the state had arrived, and the time just before the
                                        last byte of the answer is sent, both in nanoseconds
    hostile_bot.py trickle              begins an answer and never ends it
    hostile_bot.py greet                never completes the handshake (over pipes: the first answer)
    hostile_bot.py flood                sends pings (over pipes: blank lines) without end
    hostile_bot.py deaf                 never reads (over a websocket: after the handshake)
    hostile_bot.py mute                 never connects and never answers
    hostile_bot.py linger               plays, and does not exit at the end
    hostile_bot.py setsid|daemon|bare|respawn|hop|thread|subreaper [crash]
                                        starts processes that outlive the bot, in the named way,
                                        and plays; with `crash`, exits with an error at tick 3

Except for `drip`, the bot ignores all signals but SIGKILL, SIGSTOP and SIGCHLD. It needs only the
standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

PR_SET_CHILD_SUBREAPER = 36
SYS_EXIT = {"x86_64": 60, "aarch64": 93}
LIFE_S = 600
"""Most processes that are left behind exit after this time, if the arena fails to kill them."""
END_S = time.monotonic() + LIFE_S
# The test finds this process by the value of MARK in its arguments, because its environment may
# lack MARK.
SLEEP = ["sleep", f"{LIFE_S}." + os.environ.get("MARK", "")]


class Connection:
    def __init__(self, greet: Callable[[socket.socket, bytes], None] = socket.socket.sendall) -> None:
        url = os.environ.get("SERVER_URL")
        self.socket = None
        self.received = b""
        if url:
            address = urlsplit(url)
            self.socket = socket.create_connection((str(address.hostname), address.port or 80))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            lines = ["GET / HTTP/1.1", f"Host: {address.netloc}", "Upgrade: websocket", "Connection: Upgrade"]
            lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", ""]
            greet(self.socket, "\r\n".join(lines).encode())
            while b"\r\n\r\n" not in self.received:
                self.receive()
            self.received = self.received.partition(b"\r\n\r\n")[2]
            self.send(self.frame({"type": "REGISTER", "teamName": "hostile"}))

    def receive(self) -> None:
        more = self.socket.recv(1 << 16) if self.socket else os.read(0, 1 << 16)
        if not more:
            sys.exit()
        self.received += more

    def message(self) -> bytes | None:
        """Returns the next message, or `None` if none is complete. A close frame ends the bot."""
        if self.socket is None:
            line, newline, rest = self.received.partition(b"\n")
            if not newline:
                return None
            self.received = rest
            return line
        if len(self.received) < 10:
            return None
        if self.received[0] & 0x0F == 8:
            sys.exit()
        length, start = self.received[1], 2
        if length >= 126:
            start = 4 if length == 126 else 10
            length = int.from_bytes(self.received[2:start], "big")
        if len(self.received) < start + length:
            return None
        found, self.received = self.received[start : start + length], self.received[start + length :]
        return found

    def frame(self, message: object) -> bytes:
        text = json.dumps(message).encode()
        if self.socket is None:
            return text + b"\n"
        length = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + len(text).to_bytes(2, "big")
        return b"\x81" + length + bytes(4) + text

    def send(self, data: bytes) -> None:
        try:
            while data:
                data = data[self.socket.send(data) if self.socket else os.write(1, data) :]
        except OSError:
            sys.exit()

    def wait(self, until_s: float) -> None:
        source = self.socket or sys.stdin
        while (left_s := until_s - time.monotonic()) > 0:
            if select.select([source], [], [], left_s)[0]:
                self.receive()
                return


def tick_of(message: bytes) -> int:
    found = re.search(rb'"tick":\s*(\d+)', message)
    assert found, message
    return int(found.group(1))


def drip(limit_ms: float, notes: Path) -> None:
    rng = random.Random(os.environ.get("SEED"))
    limit_s = limit_ms / 1000

    def in_pieces(connection: socket.socket, data: bytes) -> None:
        for start in range(0, len(data), 20):
            time.sleep(0.2 * limit_s)
            connection.sendall(data[start : start + 20])

    connection = Connection(in_pieces)
    states: list[tuple[int, int]] = []
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def wait(until_s: float) -> None:
        connection.wait(until_s)
        while (message := connection.message()) is not None:
            states.append((tick_of(message), time.monotonic_ns()))

    while True:
        while not states:
            wait(time.monotonic() + 1)
        tick, received_ns = states[-1]
        states.clear()
        answer = connection.frame({"type": "COMMAND", "tick": tick, "actions": []})
        cuts = sorted(rng.sample(range(1, len(answer) - 1), rng.randint(1, 12))) + [len(answer) - 1]
        duration_s = rng.uniform(0.3, 1.7) * limit_s
        sent = 0
        for number, cut in enumerate(cuts, 1):
            connection.send(answer[sent:cut])
            sent = cut
            until_s = received_ns / 1e9 + duration_s * number / len(cuts)
            while time.monotonic() < until_s:
                wait(until_s)
        os.write(file, f"{tick} {received_ns} {time.monotonic_ns()}\n".encode())
        connection.send(answer[sent:])


def trickle() -> None:
    connection = Connection()
    connection.send(b"\x81\xfe\xf0\x00\0\0\0\0" if connection.socket else b"")
    while True:
        connection.send(b" ")
        time.sleep(0.02)


def greet() -> None:
    """Begins the handshake (over pipes: the first answer) and never completes it."""

    def slowly(connection: socket.socket, data: bytes) -> None:
        connection.sendall(data[:-2] + b"A: ")
        while True:
            time.sleep(0.1)
            connection.sendall(b"a")

    Connection(slowly)
    trickle()


def flood() -> None:
    connection = Connection()
    data = (b"\x89\x80\0\0\0\0" if connection.socket else b"\n") * 1000
    while True:
        connection.send(data)


def deaf() -> None:
    Connection()
    while True:
        time.sleep(1000)


def mute() -> None:
    while True:
        time.sleep(1000)


def play(last_tick: int | None = None) -> None:
    connection = Connection()
    while True:
        while (message := connection.message()) is None:
            connection.receive()
        tick = tick_of(message)
        if tick == last_tick:
            sys.exit(3)
        connection.send(connection.frame({"type": "COMMAND", "tick": tick, "actions": []}))


def linger() -> None:
    try:
        play()
    except SystemExit:
        mute()


def in_child(run: Callable[[], object]) -> None:
    if os.fork() == 0:
        try:
            run()
        finally:
            os._exit(0)


def sleeper(environment: dict[str, str] | None = None) -> None:
    """Becomes a `sleep` in a new session, without the file descriptors of the bot."""
    os.setsid()
    os.closerange(0, 1000)
    os.execvpe(SLEEP[0], SLEEP, os.environ if environment is None else environment)


def respawn() -> None:
    while time.monotonic() < END_S:
        in_child(lambda: in_child(sleeper))
        time.sleep(0.005)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


def hop() -> None:
    """Repeatedly forks and continues in the child, with a pause after every hundredth fork."""
    count = 0
    while time.monotonic() < END_S:
        count += 1
        if os.fork():
            os._exit(0)
        os.setsid()
        if count % 100 == 0:
            time.sleep(0.001)


def thread() -> None:
    """Ends the main thread, so the process looks dead, while another thread starts processes."""

    def starts() -> None:
        while time.monotonic() < END_S:
            in_child(sleeper)
            time.sleep(0.05)

    threading.Thread(target=starts).start()
    ctypes.CDLL(None).syscall(SYS_EXIT[os.uname().machine], 0)


def subreaper() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for _ in range(3):
        in_child(lambda: in_child(sleeper))
    while True:
        time.sleep(1000)


STRAYS: dict[str, Callable[[], object]] = {
    "setsid": lambda: subprocess.Popen(SLEEP, start_new_session=True),
    "daemon": lambda: in_child(lambda: in_child(sleeper)),
    "bare": lambda: in_child(lambda: in_child(lambda: sleeper({"PATH": os.environ["PATH"]}))),
    "respawn": lambda: in_child(respawn),
    "hop": lambda: in_child(hop),
    "thread": lambda: in_child(thread),
    "subreaper": lambda: in_child(subreaper),
}
ATTACKS = {"trickle": trickle, "greet": greet, "flood": flood, "deaf": deaf, "mute": mute, "linger": linger}


def main(what: str, *more: str) -> None:
    if what == "drip":
        drip(float(more[0]), Path(more[1]))
        return
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        signal.signal(number, signal.SIG_IGN)
    if what in STRAYS:
        STRAYS[what]()
        play(3 if more else None)
    else:
        ATTACKS[what]()


if __name__ == "__main__":
    main(*sys.argv[1:])
