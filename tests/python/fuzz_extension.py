"""Tests the extension with random calls from several threads, and with forks while threads run:
`.venv/bin/python tests/python/fuzz_extension.py calls|forks --count 1000000 --seed 1`.

`calls` makes re-entrant, interrupted and concurrent calls with odd values, in child processes. Each
call must return or raise an expected exception, and must not suppress an interruption. Apart from
timing, process N depends only on the number `seed + N`, which a failure prints. `forks` forks a
process while its threads step batches and call bots. A forked child, or a call that does not play a
whole game, may take at most a second of processor time.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import gc
import itertools
import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import getaway
from getaway import Batch, Bot, Game, Map, State
from getaway._getaway import Single
from getaway.arena import evaluate

LIMIT_S = 1.0
"""Maximum processor time of a call or of a forked child."""
GRACE_S = 60.0
"""Wall time after which a call or a child counts as hanging, even on a busy machine."""
CALLS_PER_PROCESS = 5000
CASES = 43
"""Number of kinds of calls: the cases of `Objects.call`."""
WHOLE_GAME = 19
"""The kind of call that plays a game: up to 2,000 decisions, which may exceed `LIMIT_S`."""
THREADS = 3
DRAWINGS = ["P....\n.#.#.\n.H.~O\n.#.#.\n....D", "P...\n.##.\n...S", "P..B\n....", "PS", "P"]
MAPS = [Map(drawing) for drawing in DRAWINGS]
SHORT_GAMES = [Map("PS"), Map("P..B")]
PLANNERS = ["safest", "random", "cautious", "paranoid:2", "lookahead:3", "step(repeat(3, simulate))", "survival"]
CLEAN_ERRORS = (ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError, LookupError, OSError)


class Interruption(BaseException):
    """A BaseException, but not an Exception, that planners and values raise."""


class HostileSequence:
    """A sequence that claims a length of 2**62, and calls `act` when read, converted or called."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def __len__(self) -> int:
        return 1 << 62

    def __iter__(self) -> Iterator[Any]:
        self.act()
        return iter(["P", 1, 2])

    def __getitem__(self, index: int) -> Any:
        self.act()
        if index > 3:
            raise IndexError
        return index

    def __index__(self) -> int:
        self.act()
        return 1

    def __float__(self) -> float:
        self.act()
        return 1.5

    def __str__(self) -> str:
        self.act()
        return "lying"

    def __fspath__(self) -> str:
        self.act()
        return "roundabout"

    def __call__(self, state: State) -> Any:
        self.act()
        return state.legal_moves[0] if state.legal_moves else 4


class Objects:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.games = [Game(each) for each in MAPS]
        self.bots = [self.bot() for _ in range(4)]
        self.batches = [self.batch() for _ in range(3)]
        self.arrays: list[Any] = [np.zeros(8, dtype) for dtype in (bool, "i1", "u1", "i4", "i8", "u8", "f4", "O")]
        self.outcomes: Counter[str] = Counter()
        # `is_interrupted` is true if the thread's current call has raised an `Interruption`.
        self.local = threading.local()

    def pick(self, items: list[Any]) -> Any:
        return items[self.rng.randrange(len(items))]

    def batch(self) -> Batch:
        kind = self.pick(["compact", "features", "planes", "state", "window", None])
        maps = self.pick([MAPS[0], MAPS[1:3], MAPS[0]])
        return Batch(maps, self.pick([1, 2, 8, 300, 600]), observation=kind, threads=self.pick([1, 1, 2, 3]))

    def bot(self) -> Bot:
        planner = self.pick([*PLANNERS, self.planner, self.planner, HostileSequence(self.disturb), Player])
        return Bot(planner, budget_ms=self.pick([0, 1, 2]), budget_ticks=self.pick([0, 10, 100]), no_jump=self.pick([True, False]))

    def planner(self, state: State) -> Any:
        self.disturb()
        return self.pick([0, 1, 2, 3, 4, "L", ".", getaway.Move.UP, state.legal_moves[0], self.odd()])

    def disturb(self) -> None:
        """Performs a random action or none, as planners and values may do during a call."""
        rng = self.rng
        match rng.randrange(16):
            case 0:
                repr(self.pick(self.bots))
            case 1:
                self.pick(self.bots).next_action(self.pick(self.games).frame())
            case 2:
                self.pick(self.batches).step(np.full(8, 4))
            case 3:
                self.pick(self.games).step()
            case 4:
                self.spoil_array()
            case 5:
                error = self.pick([ZeroDivisionError("here"), Interruption(), KeyboardInterrupt(), SystemExit(3), MemoryError(), StopIteration()])
                if isinstance(error, Interruption):
                    self.local.is_interrupted = True
                raise error
            case 6:
                gc.collect(0)
            case 7:
                self.pick(self.bots).last_decision
            case 8:
                self.bots[rng.randrange(len(self.bots))] = Bot("random")
            case 9:
                self.pick(self.bots).play(Game(SHORT_GAMES[0]))
            case _:
                pass

    def spoil_array(self) -> None:
        batch = self.pick(self.batches)
        array = self.pick([batch.observations, self.pick(self.arrays), *batch.step(np.full(len(batch), 4))])
        if array.dtype == object:
            # With strides of 0, NumPy would release the array's first object several times.
            return
        match self.rng.randrange(8):
            case 0:
                array.resize((self.rng.randrange(1000),), refcheck=False)
            case 1:
                array.flags.writeable = False
            case 2:
                array.flags.writeable = True
            case 3:
                array.dtype = self.pick(["u1", "i2", "f4", bool, "i8"])
            case 4:
                array.shape = (-1,)
            case 5:
                array.strides = (0,) * array.ndim
            case 6:
                array.data = bytearray(array.nbytes)
            case 7:
                array.view("u1")[...] = self.rng.randrange(256)

    def odd(self, depth: int = 0) -> Any:
        rng = self.rng
        match rng.randrange(22):
            case 0:
                loop: list[Any] = []
                loop.append(self.pick([loop, {"tick": loop}, (loop, loop)]))
                return loop
            case 1:
                rules: dict[str, Any] = {}
                rules["period_ticks"] = self.pick([rules, [rules], {"lazy": rules}])
                return rules
            case 2:
                nested: Any = 1
                for _ in range(self.pick([3, 100, 130, 5000])):
                    nested = self.pick([[nested], {"lazy": nested}, (nested, nested)])
                return nested
            case 3:
                return itertools.repeat(self.pick([1, "R", None, "P"]))
            case 4:
                return itertools.cycle(self.pick(["LRUD", [HostileSequence(self.disturb)], [{"type": "MOVE_UP"}]]))
            case 5:
                return HostileSequence(self.disturb)
            case 6:
                return range(1 << 62)
            case 7:
                return self.pick(self.arrays)
            case 8:
                return self.pick(self.batches).observations
            case 9:
                return self.pick([0, 1, -1, 2**31, 2**63, -(2**63), 2**64, 10**5000])
            case 10:
                return self.pick([float("nan"), float("inf"), -1e308, 0.5, -0.0])
            case 11:
                return self.pick(["", "P", "\ud800", "roundabout", "x" * 1000, "L" * 100, "P" * 99 + "\n.", "survival", "a:b", "\0"])
            case 12:
                return self.pick([b"", b"\xff", bytearray(b"{}"), memoryview(b"abc"), object(), 1j, Ellipsis, NotImplemented])
            case 13:
                return self.pick(self.games)
            case 14:
                return self.pick(self.games).state
            case 15:
                return self.pick(self.games).message()
            case 16:
                return {"period_ticks": {"lazy": HostileSequence(self.disturb)}, "hawk_posts": self.pick([1, HostileSequence(self.disturb)])}
            case 17:
                return self.planner
            case 18 if depth < 3:
                return [self.odd(depth + 1) for _ in range(rng.randrange(4))]
            case 19 if depth < 3:
                return {self.pick(["tick", "type", "position", "no_jump", 1, None]): self.odd(depth + 1) for _ in range(rng.randrange(4))}
            case 20:
                return self.pick(MAPS)
            case _:
                return None

    def maybe(self, right: Any) -> Any:
        """Returns the valid value `right`, or in 3 of 10 cases an odd value."""
        return right if self.rng.random() < 0.7 else self.odd()

    def message(self) -> Any:
        game = self.pick(self.games)
        message = self.pick([game.frame(), game.frame().encode(), game.message()])
        if isinstance(message, dict) and self.rng.random() < 0.5:
            message[self.pick(list(message))] = self.odd()
        return self.maybe(message)

    def call(self, case: int) -> Any:
        rng, odd, maybe, pick = self.rng, self.odd, self.maybe, self.pick
        game, bot, batch = pick(self.games), pick(self.bots), pick(self.batches)
        state: State = game.state
        match case:
            case 0:
                self.games[rng.randrange(len(self.games))] = Game(maybe(pick(MAPS)), no_jump=maybe(False), rules=maybe(None), moves=maybe("LR"))
            case 1:
                return Game(Map(maybe(pick(DRAWINGS))), rules=odd())
            case 2:
                return game.step(maybe(pick([0, "L", None, {"type": "MOVE_LEFT"}])))
            case 3:
                return game.play(maybe("LRUD." * 3))
            case 4:
                return game.reset()
            case 5:
                return pickle.loads(pickle.dumps(pick([game, state, state.map, state.threats])))
            case 6:
                return repr(pick([game, state, state.map, bot, batch])), hash(state), hash(state.map)
            case 7:
                return copy.deepcopy(game) == game, copy.copy(state) == state, state.map == pick(MAPS)
            case 8:
                return game.frame(maybe("team")), game.message()
            case 9:
                return State(maybe(game), tick=maybe(5), player=maybe((0, 0)), threats=maybe(state.threats), rules=maybe(None))
            case 10:
                return state.after(maybe(1)).play(maybe("L.R"))
            case 11:
                return Map(odd(), name=maybe("x"), difficulty=maybe(""))
            case 12:
                threats = maybe(2)
                return getaway.generate_map(maybe(rng.randrange(99)), width=maybe(9), height=maybe(9), threats=threats, styles=maybe(["owl"]))
            case 13:
                self.bots[rng.randrange(len(self.bots))] = self.bot()
            case 14:
                return Bot(maybe("safest"), budget_ms=maybe(1), budget_ticks=maybe(5), seed=maybe(1), rules=odd())
            case 15 | 16 | 17 | 18:
                return bot.next_action(self.message())
            case 19:  # WHOLE_GAME
                return bot.play(maybe(Game(pick(SHORT_GAMES), moves=".")))
            case 20:
                return bot.last_decision, bot.mispredictions, repr(bot)
            case 21:
                self.batches[rng.randrange(len(self.batches))] = self.batch()
            case 22 | 23 | 24 | 25:
                return batch.step(maybe(np.full(len(batch), rng.randrange(5), pick(["u1", "i4", "i8", "u8", "i2"]))))
            case 26:
                return batch.step(pick([batch.step(np.full(len(batch), 4))[2].view("u1"), pick(self.arrays), batch.observations.ravel()]))
            case 27:
                return batch.reset(maybe(pick([None, np.full(len(batch), rng.random() < 0.5)])))
            case 28:
                return batch.reset(np.full(len(batch), rng.randrange(256), "u1").view(bool))
            case 29:
                return batch[maybe(0)], batch.ticks, batch.rules, len(batch)
            case 30:
                batch[maybe(0)] = maybe(batch[0])
            case 31 | 32:
                return self.spoil_array()
            case 33:
                return Batch(maybe([pick(MAPS)]), maybe(4), observation=maybe("state"), threads=maybe(2), rules=maybe(None))
            case 34:
                # With an odd memory limit, the time limit must end the search.
                limits: dict[str, Any] = pick([{"budget_ms": odd()}, {"budget_ms": 1, "memory_max_bytes": odd()}])
                solution = getaway.solve(maybe(pick(MAPS)), seed=maybe(1), **limits)
                return repr(solution)
            case 35 if rng.random() < 0.1:
                return evaluate([maybe(self.planner), "random"], pick(SHORT_GAMES), samples=1, budget_ticks=5, threads=2)
            case 36 if rng.random() < 0.1:
                return getaway.Replay(game, title=maybe("t")).html(), getaway.Replay(game).svg(speed=maybe(1.0))
            case 37:
                return state._repr_svg_(), game._repr_svg_(), pick(MAPS)._repr_svg_()
            case 38:
                single = Single(maybe([game]), maybe("compact"), maybe(9))
                return single.reset(maybe(0)), single.step(maybe(1)), single.set_state(maybe(state)), single.state
            case 39:
                return pick(self.batches).set_state(maybe(pick(self.batches).get_state()), maybe(None))
            case 40:
                return copy.copy(pick(self.batches)), pickle.loads(pickle.dumps(pick(self.batches))).observations
            case 41:
                # All budgets are small, because these calls have no time limit.
                budget_ticks = pick([0, 5, 50, -1, 0.5, "5"])
                pick(self.batches).judge_moves(threads=maybe(2), budget_ticks=budget_ticks)
                return getaway.judge_moves(maybe(state), budget_ticks=budget_ticks)
            case _:
                return self.disturb()
        return None

    def attempt(self, case: int) -> None:
        self.local.is_interrupted = False
        try:
            self.call(case)
            self.outcomes["returned"] += 1
        except (KeyboardInterrupt, SystemExit, Interruption):
            self.outcomes["interrupted"] += 1
            return
        except CLEAN_ERRORS as error:
            self.outcomes["refused"] += 1
            cause: BaseException | None = error
            while cause is not None:
                assert "a bug in getaway" not in str(cause), repr(cause)
                cause = cause.__cause__ or cause.__context__
        except RuntimeError as error:
            self.outcomes["refused"] += 1
            text = str(error)
            assert any(each in text for each in ("lready", "the bot is deciding", "no change while", "recursion")), repr(error)
        except (ZeroDivisionError, MemoryError, StopIteration):
            self.outcomes["own errors"] += 1
        assert not self.local.is_interrupted, f"kind {case}: an interruption did not reach the caller"


class Player:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, state: State) -> int:
        self.calls += 1
        return self.calls % 5


class CallTimes:
    """Per thread: number of calls, start of the current call, longest times, and kind of the
    slowest call."""

    def __init__(self) -> None:
        self.calls = multiprocessing.Array("q", THREADS, lock=False)
        self.began = multiprocessing.Array("d", THREADS, lock=False)
        self.wall_s = multiprocessing.Array("d", THREADS, lock=False)
        self.cpu_s = multiprocessing.Array("d", THREADS, lock=False)
        self.slowest = multiprocessing.Array("q", THREADS, lock=False)

    @contextmanager
    def call(self, thread: int, case: int) -> Iterator[None]:
        wall, cpu = time.monotonic(), time.thread_time()
        self.began[thread] = wall
        try:
            yield
        finally:
            self.wall_s[thread] = max(self.wall_s[thread], time.monotonic() - wall)
            if case != WHOLE_GAME and time.thread_time() - cpu > self.cpu_s[thread]:
                self.cpu_s[thread], self.slowest[thread] = time.thread_time() - cpu, case
            self.calls[thread] += 1
            self.began[thread] = 0.0

    def is_hanging(self) -> bool:
        return any(began and time.monotonic() - began > GRACE_S for began in self.began)


def make_calls(seed: int, count: int, times: CallTimes) -> None:
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-4)
    objects = Objects(seed)
    errors: list[BaseException] = []

    def interrupt(signum: int, frame: Any) -> None:
        if times.began[0]:
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)

    def work(thread: int) -> None:
        rng = random.Random(seed * THREADS + thread)
        while times.calls[thread] < count // THREADS and not errors:
            try:
                case = rng.randrange(CASES)
                with times.call(thread, case):
                    if thread == 0 and rng.random() < 0.2:
                        signal.setitimer(signal.ITIMER_REAL, rng.random() * 1e-3)
                    objects.attempt(case)
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            except BaseException as error:
                errors.append(error)

    others = [threading.Thread(target=work, args=(thread,), daemon=True) for thread in range(1, THREADS)]
    for other in others:
        other.start()
    work(0)
    for other in others:
        other.join()
    if errors:
        raise errors[0]


def calls(seed: int, count: int) -> str:
    done, wall_s, cpu_s, slow = 0, 0.0, 0.0, []
    context = multiprocessing.get_context("spawn")
    while done < count:
        times = CallTimes()
        process = context.Process(target=make_calls, args=(seed, min(CALLS_PER_PROCESS, count), times))
        process.start()
        while process.is_alive() and not times.is_hanging():
            process.join(0.2)
        if process.is_alive():
            os.kill(process.pid or 0, signal.SIGUSR1)
            time.sleep(1)
            process.kill()
            raise AssertionError(f"seed {seed}: a call did not end within {GRACE_S:.0f} s")
        assert process.exitcode == 0, f"seed {seed}: exit code {process.exitcode} after {sum(times.calls)} calls"
        done, wall_s, cpu_s = done + sum(times.calls), max(wall_s, *times.wall_s), max(cpu_s, *times.cpu_s)
        slow += [f"seed {seed}, kind {kind}: {used:.2f} s" for kind, used in zip(times.slowest, times.cpu_s) if used > LIMIT_S]
        seed += 1
    assert not slow, f"some calls took over {LIMIT_S:.0f} s of processor time ({done} calls were made): {slow}"
    return f"{done} calls: no signal, no hang; a call took at most {wall_s:.2f} s of wall-clock time, and {cpu_s:.2f} s of processor time (except whole games)"


def forks(seed: int, count: int) -> str:
    """Forks `count` children while other threads run; returns a summary."""
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    actions = np.zeros(1024, int)
    batches = [Batch(MAPS[:3], 1024, threads=3) for _ in range(3)]
    bots = [Bot("step(repeat(30, simulate))"), Bot(lambda state: 4), Bot(Player), Bot("survival", budget_ticks=100)]
    game, is_over = Game(MAPS[0]), threading.Event()

    def use(batch: Batch, bot: Bot) -> None:
        batch.step(actions)
        bot.next_action(game.frame())
        Bot(Player).play(Game(MAPS[1], moves="." * 20))

    def work(thread: int) -> None:
        while not is_over.is_set():
            use(batches[thread], bots[rng.randrange(len(bots))])
            getaway.solve(MAPS[4], budget_ms=1)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(2)]
    for thread in threads:
        thread.start()
    longest_s = cpu_s = 0.0
    try:
        for number in range(count):
            use(batches[2], bots[number % len(bots)])
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    for batch in batches:
                        try:
                            batch.step(actions)
                        except RuntimeError as error:
                            # At the time of the fork, another thread was stepping this batch.
                            assert "lready" in str(error) and batch is not batches[2], error
                    for bot in bots:
                        repr(bot)
                        bot.next_action(game.frame())
                    if number % 50 == 0:
                        evaluate(["random", Player], MAPS[1], samples=1, budget_ticks=5, threads=2)
                    status = 0
                finally:
                    os._exit(status)
            began = time.monotonic()
            while True:
                # Computed before `wait4`: this process may stall, and the child may exit meanwhile.
                is_late = time.monotonic() - began > GRACE_S
                if (ended := os.wait4(child, os.WNOHANG))[0]:
                    break
                if is_late:
                    os.kill(child, signal.SIGKILL)
                    raise AssertionError(f"seed {seed}: child {number} did not exit within {GRACE_S:.0f} s")
                time.sleep(2e-4)
            assert os.waitstatus_to_exitcode(ended[1]) == 0, f"seed {seed}: child {number} ended with wait status {ended[1]}"
            longest_s = max(longest_s, time.monotonic() - began)
            cpu_s = max(cpu_s, ended[2].ru_utime + ended[2].ru_stime)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert cpu_s <= LIMIT_S, f"seed {seed}: a child took {cpu_s:.2f} s of processor time"
    return f"{count} forks: no hang; a child took at most {longest_s:.2f} s of wall-clock time, and {cpu_s:.2f} s of processor time"


def main() -> int:
    parser = argparse.ArgumentParser(description="Attack the extension with random calls, or with forks.")
    parser.add_argument("what", choices=["calls", "forks"])
    parser.add_argument("--count", type=int, default=1_000_000, help="number of calls, or of children")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.monotonic()
    summary = {"calls": calls, "forks": forks}[options.what](options.seed, options.count)
    print(f"{summary}; {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
