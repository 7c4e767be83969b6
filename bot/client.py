"""The network side of the bot: plays one game over a websocket and records it.

Guarantees: while the connection is open, each state is answered with exactly one command, which
carries the state's tick, even if the bot raises an exception. A message that is not a state is
logged and ignored. When the connection ends for any reason, the game is over and no error is
raised. A server may send any text; `printable` turns such text into one line that is safe for a
terminal.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

MAX_FRAME_BYTES = 16 << 20
"""Maximum size of a message. The largest map that the bot accepts needs about 13 MB."""
CONNECT_TIMEOUT_S = 30.0
"""Time limit for connecting to a server that may not be up yet."""
INITIAL_PAUSE_S = 0.1
MAX_PAUSE_S = 4.0
GZIP_LEVEL = 3
"""A low level: the bot compresses states during the game, and higher levels save little space."""
POINTS_PER_TICK = 5
MAX_TICK = 2**32 - 1
MAX_ERROR_CHARS = 300
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]")
"""Characters that control a terminal, end a line, change the text's direction, or have no UTF-8
encoding."""

log = logging.getLogger("bot")


class Decision(Protocol):
    @property
    def tick(self) -> int: ...

    @property
    def source(self) -> str: ...

    @property
    def planned_tick(self) -> int | None: ...

    @property
    def elapsed_ms(self) -> float: ...


class DecisionMaker(Protocol):
    """The part of `getaway.Bot` that the client requires."""

    @property
    def last_decision(self) -> Decision | None: ...

    def next_action(self, game_message: str | bytes, /) -> dict[str, Any] | None: ...


@dataclass
class Summary:
    last_tick: int = 0
    """The highest tick of all states so far; 0 before the first state."""
    errors: int = 0
    decision_times_s: list[float] = field(default_factory=list)
    """Seconds from receiving each state to sending its command."""
    close: str = ""

    @property
    def score(self) -> int:
        """The score of a game that ends in the tick after `last_tick`; 0 before the first state.
        The server does not send the final state. In the no-jump variant, stepping onto a threat's
        tile scores 5 less."""
        return POINTS_PER_TICK * (self.last_tick + 1) if self.last_tick else 0

    def quantile_ms(self, q: float) -> float:
        """Returns the quantile `q` (0 to 1) of the decision times in milliseconds, or 0 without any
        decisions."""
        times = sorted(self.decision_times_s)
        return times[min(int(q * len(times)), len(times) - 1)] * 1e3 if times else 0.0

    def __str__(self) -> str:
        if not self.last_tick:
            return f"no game was played ({self.close})"
        text = (
            f"score {self.score}, last tick {self.last_tick} ({self.close}); decisions: p50 {self.quantile_ms(0.5):.2f} ms, "
            f"p99 {self.quantile_ms(0.99):.2f} ms, max {self.quantile_ms(1.0):.2f} ms"
        )
        return f"{text}; states without a decision: {self.errors}" if self.errors else text


class Recorder:
    """Writes each state to a file as one line before the next state is read, so only the line of
    the last state can be lost if the bot is killed. The file is gzipped if its name ends in .gz."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Creates the file and its parent folders. Raises FileExistsError if the file exists,
        because two games must not share a file, and another OSError or a ValueError if the file
        cannot be created."""
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            # The parent is a file. FileExistsError would mean that the recording itself exists.
            raise NotADirectoryError(errno.ENOTDIR, "is not a folder", str(self.path.parent)) from error
        self._file = open(self.path, "xb")
        self._gzip = zlib.compressobj(GZIP_LEVEL, wbits=zlib.MAX_WBITS | 16) if self.path.suffix == ".gz" else None
        self._is_empty = True

    def write(self, frame: str, actions: list[dict[str, Any]], notes: dict[str, Any] | None = None) -> None:
        """Appends a state, its actions and `notes` as a line. An OSError ends the recording."""
        if self._file.closed:
            return
        # JSON has line breaks only between tokens, where a space has the same meaning.
        frame = frame.translate({ord("\n"): " ", ord("\r"): " "})
        try:
            fields = "".join(f",{json.dumps(name)}:{json.dumps(note)}" for name, note in (notes or {}).items())
            line = f'{{"game_message":{frame},"actions":{json.dumps(actions)}{fields}}}\n'.encode()
            if self._gzip:
                line = self._gzip.compress(line) + self._gzip.flush(zlib.Z_SYNC_FLUSH)
            self._file.write(line)
            self._file.flush()
            self._is_empty = False
        except OSError as error:
            log.error("%s: %s; recording stopped, the game continues", self.path, error)
            self._drop(is_logged=True)

    def close(self) -> None:
        self._drop()
        if self._is_empty:
            self.path.unlink(missing_ok=True)

    def _drop(self, is_logged: bool = False) -> None:
        try:
            if self._gzip and not (self._file.closed or is_logged):
                self._file.write(self._gzip.flush())
            self._file.close()
        except OSError as error:
            # After a failed write, closing may fail too, because it tries to write the same data.
            if not is_logged:
                log.error("%s: %s", self.path, error)


def printable(text: object) -> str:
    """Returns the text as one line: the characters in CONTROLS are escaped as in JSON."""
    short = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
    return CONTROLS.sub(lambda found: short.get(found[0], f"\\u{ord(found[0]):04x}"), str(text))


def register_frame(token: str | None, team_name: str) -> str:
    identity = {"token": token} if token else {"teamName": team_name}
    return json.dumps({"type": "REGISTER", **identity})


def open_connection(url: str, timeout_s: float = CONNECT_TIMEOUT_S) -> ClientConnection:
    """Connects. After an OSError, such as a refused connection, retries with growing pauses.

    Raises the last OSError if the next attempt would start more than `timeout_s` after the call.
    Raises ValueError or an exception of `websockets` if the URL is invalid or the server speaks
    another protocol.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = INITIAL_PAUSE_S
    while True:
        try:
            # The server is local or nearby, so the connection needs no proxy or compression. No
            # keepalive pings: if the server stalled, a ping timeout would end the game.
            return connect(url, max_size=MAX_FRAME_BYTES, compression=None, proxy=None, ping_interval=None, close_timeout=1)
        except OSError as error:
            if time.monotonic() + pause_s > deadline:
                raise
            log.info("%s: %s; trying again in %.1f s", url, error, pause_s)
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)


class Game:
    """One game, from the registration until the connection ends."""

    def __init__(
        self,
        connection: ClientConnection,
        decision_maker: DecisionMaker,
        recorder: Recorder | None = None,
        header: dict[str, Any] | None = None,
    ) -> None:
        """`header` is recorded with each state up to and including the first state for which the
        bot raises no exception."""
        self.summary = Summary()
        self._header = header
        self._mispredictions = 0
        self._connection = connection
        self._decision_maker = decision_maker
        self._recorder = recorder

    def play(self, token: str | None, team_name: str) -> None:
        """Registers, then answers states until the connection ends. Keeps `summary` up to date."""
        try:
            self._connection.send(register_frame(token, team_name))
            while True:
                frame = self._connection.recv()
                # Some programs begin a text with a byte order mark, which is not JSON.
                frame = frame.removeprefix("\ufeff") if isinstance(frame, str) else frame.removeprefix(b"\xef\xbb\xbf")
                self._answer(frame, time.perf_counter())
        except ConnectionClosed as closed:
            self.summary.close = _describe(closed)

    def _answer(self, frame: str | bytes, arrival_s: float) -> None:
        failure = None
        try:
            action = self._decision_maker.next_action(frame)
            decision = self._decision_maker.last_decision
            tick = decision.tick if decision else _tick_of(frame)
        except Exception as error:  # noqa: BLE001: the game continues, whatever the bot raises
            action, decision, tick = None, None, _tick_of(frame)
            failure = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]
            if tick is not None:
                self._count_error(tick, failure)
        if tick is None:
            log.warning("ignored a message that is not a state: %.80r", frame[:80])
            return
        self.summary.last_tick = max(self.summary.last_tick, tick)
        actions = [] if action is None else [action]
        try:
            self._connection.send(json.dumps({"type": "COMMAND", "tick": tick, "actions": actions}))
            self.summary.decision_times_s.append(time.perf_counter() - arrival_s)
        finally:
            if self._recorder:
                self._recorder.write(frame if isinstance(frame, str) else frame.decode(errors="replace"), actions, self._notes(decision, failure))

    def _notes(self, decision: Decision | None, failure: str | None) -> dict[str, Any]:
        """Returns the notes for the next line of the recording: the header if it is still due, and
        the decision or the error."""
        notes: dict[str, Any] = {}
        if self._header:
            notes["game"] = self._header
        if failure is None:
            self._header = None
        else:
            # Readers of recordings skip a line with an error if its state is unreadable.
            notes["error"] = failure
        # Other bots and their decisions may lack attributes that this function reads.
        source = getattr(decision, "source", None)
        if decision and isinstance(source, str):
            note: dict[str, Any] = {"ms": round(decision.elapsed_ms, 3), "source": source}
            if decision.planned_tick is not None:
                note["planned_tick"] = decision.planned_tick
            mispredictions = sum(getattr(self._decision_maker, "mispredictions", []))
            if mispredictions > self._mispredictions:
                note["mispredictions"] = mispredictions - self._mispredictions
            self._mispredictions = mispredictions
            if learnt := getattr(decision, "learnt", None):
                note["learnt"] = learnt
            notes["decision"] = note
        return notes

    def _count_error(self, tick: int, failure: str) -> None:
        """Counts a state for which the bot raised an exception. Logs only the first exception."""
        if not self.summary.errors:
            log.error("tick %d: no decision, staying: %s (further errors are only counted)", tick, failure)
        self.summary.errors += 1


def _tick_of(frame: str | bytes) -> int | None:
    """Returns the tick of a state, or None if the frame is not a state."""
    try:
        # Refuse NaN and Infinity, which Python accepts, because the text is recorded as JSON.
        message = json.loads(frame.decode() if isinstance(frame, bytes) else frame, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or "yourCharacter" not in message:
        return None
    tick = message.get("tick")
    return tick if type(tick) is int and 0 <= tick <= MAX_TICK else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _describe(closed: ConnectionClosed) -> str:
    if closed.rcvd is None:
        return f"connection closed by the bot: {closed.sent.reason}" if closed.sent else "connection lost"
    return f"closed by the server: {closed.rcvd.code} {closed.rcvd.reason}".rstrip()

