"""Sends valid and broken messages to `getaway.Bot.next_action`:
`.venv/bin/python tests/python/fuzz_bot.py --count 1000000 --seed 1`.

Each call must return an action or None, or raise one of `CLEAN_ERRORS` with a one-line message.
Unless `--untimed` is given, calls with text or bytes of less than 1 MiB may exceed the budget by at
most `OVERRUN_MAX_MS`. A bot that is late gets `TRIALS` further runs, one of which must be in time.
Bot N has the seed `seed + N`. A failed assertion prints this seed; `--seed SEED --count 1` then
tests only this bot.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import getaway

MAPS = Path(__file__).resolve().parents[2] / "maps"
OVERRUN_MAX_MS = 5.0
TRIALS = 3
"""Number of times that a late bot is run again. A real slowdown recurs in every run."""
MESSAGES_PER_BOT = 100
CLEAN_ERRORS = (ValueError, TypeError)
"""Exceptions that `next_action` may raise. A Rust panic raises another type, such as
RuntimeError."""
PLANNERS = ["survival", "survival", "survival", "cautious", "uct-greedy", "lookahead", "safest", "show-off", "step(repeat(9, simulate))"]
ODD_VALUES: list[Callable[[random.Random], Any]] = [
    lambda rng: None,
    lambda rng: rng.choice([True, False]),
    lambda rng: rng.choice([0, 1, -1, 2000, 2001, 2**31, 2**63, -(2**63), 2**64, 10**400]),
    lambda rng: rng.choice([math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0, 7.0]),
    lambda rng: rng.choice(["", "WALL", "EMPTY", "ghost", "left", "\x00", "\ud800", "\U0010ffff", "x" * 5000]),
    lambda rng: rng.choice([b"bytes", {1, 2}, object(), 1j, range(3), bytearray(b"x"), int, print]),
    lambda rng: rng.choice([[], {}, (), [[]], {"": ""}, {1: 2}, {None: 1}, {(1, 2): 3}]),
    lambda rng: {"x": rng.randint(-3, 30), "y": rng.randint(-3, 30)},
    lambda rng: nested(rng.choice([2, 100, 500, 1500])),
]


class Subclass(dict[str, Any]):
    """A subclass of `dict`."""


class UnreadableDict(dict[str, Any]):
    """A dict whose method `items` raises an exception."""

    def items(self) -> Any:
        raise ValueError("not today")


@dataclass
class Counts:
    messages: int = 0
    actions: int = 0
    errors: int = 0
    retried: int = 0
    """Number of bots that were late in the first run, and were run again."""
    overrun_max_ms: float = 0.0
    """Largest overrun of the budget by a timed call. For a bot that was run again, the best of the
    further runs counts."""

    def __str__(self) -> str:
        return (
            f"{self.messages} messages: {self.actions} decisions, {self.errors} clean errors, at most {self.overrun_max_ms:.2f} ms over "
            f"the budget ({self.retried} bots were late at first, and in time in a further run)"
        )


def nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def mutate(value: Any, rng: random.Random) -> Any:
    if isinstance(value, list) and value and rng.random() < 0.88:
        index = rng.randrange(len(value))
        match rng.randrange(12):
            case 0:
                del value[index]
            case 1:
                value.append(value[index])
            case _:
                value[index] = mutate(value[index], rng)
        return value
    if isinstance(value, dict) and value and rng.random() < 0.92:
        key = rng.choice(list(value))
        if rng.random() < 0.08:
            del value[key]
        else:
            value[key] = mutate(value[key], rng)
        return value
    if type(value) is int and rng.random() < 0.6:
        return value + rng.randint(-2, 2)
    return rng.choice(ODD_VALUES)(rng)


def not_messages() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return [
        None, 3, 1.5, object(), [], ["tick"], loop, {"tick": loop}, {}, {"tick": 1}, Subclass(tick=1), UnreadableDict(tick=1), "", b"", "{", "[" * 200_000,
        b"\xff\xfe", "null", "\ud800", '{"tick":' * 300, "9" * 100_000, memoryview(b"{}"), bytearray(b"{}"), {"tick": nested(100_000)},
    ]  # fmt: skip


NOT_MESSAGES = not_messages()


def message(game: getaway.Game, rng: random.Random) -> Any:
    """Returns a valid, mutated or damaged message as a dict, text or bytes, or another value."""
    kind = rng.random()
    if kind < 0.08:
        return rng.choice(NOT_MESSAGES)
    if kind < 0.3:
        return game.frame() if rng.random() < 0.5 else game.frame().encode()
    if kind < 0.5:
        text = bytearray(game.frame().encode())
        for _ in range(rng.randint(1, 3)):
            index = rng.randrange(len(text))
            text[index : index + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        return bytes(text)
    value: Any = game.message()
    for _ in range(rng.randint(0, 3)):
        value = mutate(value, rng)
    if rng.random() < 0.2 and isinstance(value, dict):
        return Subclass(value)
    if rng.random() < 0.3:
        try:
            return json.dumps(value)
        except (ValueError, TypeError, RecursionError):
            pass
    return value


def play(seed: int, layouts: list[Path], clock: Callable[[], float]) -> Counts:
    rng = random.Random(seed)
    game = getaway.Game(rng.choice(layouts), no_jump=rng.random() < 0.5)
    budget_ms = rng.choice([0, 1, 10, 50])
    bot = getaway.Bot(rng.choice(PLANNERS), budget_ms=budget_ms, seed=seed, budget_ticks=rng.choice([0, 1, 30, 100]))
    counts = Counts()
    for _ in range(MESSAGES_PER_BOT):
        sent = message(game, rng)
        # The competition sends text, so other objects and very long messages are not timed.
        is_timed = isinstance(sent, (str, bytes)) and len(sent) < 1 << 20
        start = clock()
        action: Any = None
        try:
            action = bot.next_action(sent)
            counts.actions += 1
        except CLEAN_ERRORS as error:
            counts.errors += 1
            assert str(error) and "\n" not in str(error), f"bot {seed}: {error!r} has no one-line message"
        except BaseException as error:
            raise AssertionError(f"bot {seed}: {error!r}") from error
        overrun_ms = (clock() - start) * 1e3 - budget_ms
        assert action is None or set(action) == {"type"}, f"bot {seed}: {action!r} is not an action"
        if is_timed:
            counts.overrun_max_ms = max(counts.overrun_max_ms, overrun_ms)
        counts.messages += 1
        if game.is_over or rng.random() < 0.03:
            game.reset()
        elif rng.random() < 0.9:
            game.step(action)
    return counts


def run(seed: int, count: int, is_timed: bool) -> Counts:
    """Sends at least `count` messages: every bot, even the last, gets `MESSAGES_PER_BOT`."""
    layouts = sorted(path for path in MAPS.iterdir() if path.is_dir())
    total = Counts()
    while total.messages < count:
        counts = play(seed, layouts, time.perf_counter)
        if counts.overrun_max_ms > OVERRUN_MAX_MS and is_timed:
            # The further runs use the thread's CPU clock, which other processes hardly affect.
            total.retried += 1
            counts = min((play(seed, layouts, time.thread_time) for _ in range(TRIALS)), key=lambda counts: counts.overrun_max_ms)
            assert counts.overrun_max_ms <= OVERRUN_MAX_MS, f"bot {seed}: at least {counts.overrun_max_ms:.2f} ms over its budget in each of {TRIALS} further runs"
        total.messages += counts.messages
        total.actions += counts.actions
        total.errors += counts.errors
        total.overrun_max_ms = max(total.overrun_max_ms, counts.overrun_max_ms)
        seed += 1
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the bot with valid and broken messages.")
    parser.add_argument("--count", type=int, default=1_000_000, help="number of messages")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first bot")
    parser.add_argument("--untimed", action="store_true", help="do not fail on late answers (for a busy machine)")
    options = parser.parse_args()
    start = time.monotonic()
    counts = run(options.seed, options.count, not options.untimed)
    print(f"{counts}; {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
