"""Makes random calls on environments, and compares each result with that of a plain model.

    .venv/bin/python tests/python/environment_runs.py --count 10000 --seed 1

A sequence creates a single or a vector environment with random options, and makes 25 random calls
on it: steps, resets, copies, pickles, and calls that set or get states. The plain model has a
`getaway.State` for each game. For each game of a vector environment, it also has the number of
steps, and a flag that is set if the episode is over. Sequence N depends only on the number
`seed + N`, which a failure prints. The test suite runs 100 sequences.
"""

from __future__ import annotations

import argparse
import copy
import pickle
import random
import sys
from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

import getaway
from getaway import Batch, Game, Map, State
from getaway.gymnasium import ChaseEnv, ChaseVectorEnv

DRAWINGS = ["P....\n.#.#.\n.H.~O\n.#.#.\n....D", "P...\n.##.\n...S", "P..B\n....", "P.G"]
OBSERVATIONS = ["compact", "features", "planes", "state", "window"]
CALLS = 25


def observed(state: State, shaped_like: list[Game], observation: str) -> npt.NDArray[Any]:
    games = [Game(state.map, rules=state.rules), *shaped_like]
    batch = Batch(games, len(games), observation=observation, window=5)
    batch[0] = state
    return np.array(batch.observations[0])


def check_infos(infos: dict[str, Any], state: State, game: int | None) -> None:
    def value(key: str) -> Any:
        return infos[key] if game is None else infos[key][game]

    assert value("tick") == state.tick and value("score") == state.score
    if not state.is_over:
        assert [int(each) for each in value("action_mask")] == [int(move in [int(m) for m in state.legal_moves]) for move in range(5)]
    if game is not None:
        assert infos["_tick"][game] and infos["_score"][game] and infos["_action_mask"][game]


class SingleRun:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.observation = rng.choice(OBSERVATIONS)
        self.games = [Game(Map(rng.choice(DRAWINGS)), no_jump=rng.choice([True, False]))]
        options: dict[str, Any] = {"no_jump": self.games[0].rules["no_jump"]}
        self.env = ChaseEnv(self.games[0].map, observation=self.observation, window=5, **options)
        self.state: State | None = None

    def check(self, result: tuple[Any, dict[str, Any]]) -> None:
        assert self.state is not None and self.env.state == self.state == self.env.get_state()
        assert np.array_equal(result[0], observed(self.state, self.games, self.observation))
        assert result[0] in self.env.observation_space
        check_infos(result[1], self.state, None)

    def call(self) -> str:
        kind = self.rng.choice(["step"] * 6 + ["reset", "moves", "set", "copy", "deepcopy", "pickle"])
        match kind:
            case "step":
                action = self.rng.randrange(5)
                if self.state is None or self.state.is_over:
                    try:
                        self.env.step(action)
                    except gymnasium.error.ResetNeeded:
                        return "refused step"
                    raise AssertionError("a step before the first reset or after the end was accepted")
                before = self.state
                self.state = before.after(action)
                observation, reward, terminated, truncated, info = self.env.step(action)
                assert (reward, terminated, truncated) == (self.state.tick - before.tick, self.state.is_over, False)
                self.check((observation, info))
            case "reset":
                self.state = self.games[0].state
                self.check(self.env.reset(seed=self.rng.randrange(9)))
            case "moves":
                moves = "".join(self.rng.choice("LRUD.") for _ in range(self.rng.randrange(30)))
                self.state = self.games[0].state.play(moves)
                self.check(self.env.reset(options={"moves": moves}))
            case "set":
                self.state = self.games[0].state.play("".join(self.rng.choice("LRUD.") for _ in range(20)))
                if self.rng.random() < 0.5:
                    self.check(self.env.reset(options={"state": self.state}))
                else:
                    self.check(self.env.set_state(self.state))
            case _:
                self.env = copied(self.env, kind, self.rng)
        return kind


def copied(env: Any, kind: str, rng: random.Random) -> Any:
    """Returns a copy of the environment. The original is reset, which must not affect the copy."""
    if kind == "pickle":
        other = pickle.loads(pickle.dumps(env))
    else:
        other = copy.copy(env) if kind == "copy" else copy.deepcopy(env)
    env.reset(options={"moves": "R" * rng.randrange(5)})
    return other


class VectorRun:
    """A vector environment and its model: the state, step count and end flag of each game."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.observation = rng.choice(OBSERVATIONS)
        count = rng.randrange(1, 6)
        maps = [Map(drawing) for drawing in rng.sample(DRAWINGS, rng.randrange(1, 3))]
        self.limit = rng.choice([None, 3, 12])
        self.mode = rng.choice(list(AutoresetMode))
        no_jump = rng.choice([True, False])
        options: dict[str, Any] = {"no_jump": no_jump, "threads": rng.choice([1, 1, 2]), "copy": rng.choice([True, False])}
        options |= {"observation": self.observation, "window": 5, "max_episode_steps": self.limit}
        self.env = ChaseVectorEnv(count, maps, autoreset_mode=self.mode, **options)
        self.boards = [Game(each, no_jump=no_jump) for each in maps]
        self.starts = [self.boards[game * len(maps) // count].state for game in range(count)]
        self.states = list(self.starts)
        self.steps = [0] * count
        self.over = [False] * count
        self.is_started = False

    def check(self, observations: Any, infos: dict[str, Any], games: list[int] | None = None) -> None:
        assert [self.env.batch[game] for game in range(len(self.states))] == self.states
        for game, state in enumerate(self.states):
            assert np.array_equal(observations[game], observed(state, self.boards, self.observation)), game
            if games is None or game in games:
                check_infos(infos, state, game)
            else:
                assert not infos["_tick"][game]

    def marks(self) -> npt.NDArray[np.bool_]:
        marks = np.array([self.rng.random() < 0.5 for _ in self.states])
        marks[self.rng.randrange(len(marks))] = True
        return marks

    def place(self, game: int, state: State) -> None:
        self.states[game], self.over[game] = state, state.is_over

    def call(self) -> str:
        kind = self.rng.choice(["step"] * 7 + ["reset", "reset", "mask", "moves", "set", "states", "get", "copy", "deepcopy", "pickle"])
        if not self.is_started and kind not in ("step", "copy", "deepcopy", "pickle"):
            kind = "reset"
        match kind:
            case "step":
                return self.step()
            case "reset":
                self.is_started = True
                for game, start in enumerate(self.starts):
                    self.place(game, start)
                    self.steps[game] = 0
                self.check(*self.env.reset(seed=self.rng.choice([None, 3, [5] * len(self.states)])))
            case "mask" | "moves":
                marks = self.marks()
                moves = "".join(self.rng.choice("LRUD.") for _ in range(self.rng.randrange(1, 15))) if kind == "moves" else ""
                for game in np.flatnonzero(marks).tolist():
                    self.place(game, self.starts[game].play(moves))
                    self.steps[game] = 0
                options = {"reset_mask": marks} | ({"moves": moves} if moves else {})
                self.check(*self.env.reset(options=options), np.flatnonzero(marks).tolist())
            case "set":
                marks = self.marks()
                numbers = self.env.get_state()
                for game in np.flatnonzero(marks).tolist():
                    state = self.starts[game].play("".join(self.rng.choice("LRUD.") for _ in range(20)))
                    helper = Batch([Game(state.map, rules=state.rules), *self.boards], 1 + len(self.boards), observation=None)
                    helper[0] = state
                    numbers[game] = helper.get_state()[0]
                    self.place(game, state)
                self.check(*self.env.set_state(numbers, marks))
            case "states":
                for game, start in enumerate(self.starts):
                    self.place(game, start.play(self.rng.choice("LRUD.") * 4))
                self.env.set_attr("state", list(self.states))
                assert self.env.get_attr("state") == tuple(self.states)
            case "get":
                assert self.env.call("get_state") == tuple(self.states)
                assert self.env.get_attr("player") == tuple(state.player for state in self.states)
                self.check(*self.env.set_state(self.env.get_state()))
                # Setting the state of a truncated game ends the truncation.
                for game, state in enumerate(self.states):
                    self.place(game, state)
            case _:
                self.env = copied(self.env, kind, self.rng)
        return kind

    def step(self) -> str:
        actions = np.array([self.rng.randrange(5) for _ in self.states])
        if not self.is_started or (self.mode is not AutoresetMode.NEXT_STEP and any(self.over)):
            try:
                self.env.step(actions)
            except gymnasium.error.ResetNeeded:
                return "refused step"
            raise AssertionError("a step before the first reset or after the end was accepted")
        count = len(self.states)
        rewards, terminations, truncations = [0] * count, [False] * count, [False] * count
        final: dict[int, State] = {}
        for game, state in enumerate(self.states):
            if self.over[game]:
                self.states[game], self.steps[game], self.over[game] = self.starts[game], 0, False
                continue
            after = state.after(actions[game])
            rewards[game], terminations[game] = after.tick - state.tick, after.is_over
            self.steps[game] += 1
            truncations[game] = self.limit is not None and self.steps[game] >= self.limit
            self.states[game], self.over[game] = after, terminations[game] or truncations[game]
            if self.over[game] and self.mode is AutoresetMode.SAME_STEP:
                final[game] = after
                self.states[game], self.steps[game], self.over[game] = self.starts[game], 0, False
        observations, *results, infos = self.env.step(actions)
        assert [each.tolist() for each in results] == [rewards, terminations, truncations]
        self.check(observations, infos)
        assert ("final_obs" in infos) == bool(final)
        for game, state in final.items():
            assert infos["_final_obs"][game] and infos["_final_info"][game]
            assert np.array_equal(infos["final_obs"][game], observed(state, self.boards, self.observation))
            check_infos(infos["final_info"], state, game)
        return "step"


def run(seed: int, count: int) -> Counter[str]:
    """Runs `count` sequences; returns how often each kind of call was made."""
    made: Counter[str] = Counter()
    for number in range(seed, seed + count):
        rng = random.Random(number)
        try:
            sequence: SingleRun | VectorRun = SingleRun(rng) if rng.random() < 0.5 else VectorRun(rng)
            made.update(sequence.call() for _ in range(CALLS))
        except Exception:
            print(f"sequence {number} failed", file=sys.stderr)
            raise
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    made = run(options.seed, options.count)
    calls = ", ".join(f"{count} {kind}" for kind, count in sorted(made.items()))
    print(f"{options.count} sequences agree with the model: {calls}")


if __name__ == "__main__":
    main()
