"""The game as Gymnasium environments: `gymnasium.make("getaway/Chase-v0", map="roundabout")`.

Import this module first to register the environment, or let Gymnasium import it:
`gymnasium.make("getaway.gymnasium:getaway/Chase-v0")`. The module needs the extra `gymnasium`:
`pip install '.[gymnasium]'` in a checkout.

**Actions**: `Discrete(5)`: 0 left, 1 right, 2 up, 3 down, 4 stay. An action is blocked if it leads
to a tile that the player may not enter. The player then stays.

**Observations** have one of five forms. With several maps, the shape fits all of them. All lengths
are in tiles, and all times are in ticks.

- `"compact"`: `Box(-1, 4096, (9 + 5 * threats,), int16)`. The tick (1 to 2001); the ticks until the
  threats move (0 if they move in the next step); the player's x and y; for each action in order,
  the steps along the streets from the nearest threat to the player's tile after the action (-1 if
  the action is blocked, 4096 if no threat can reach the tile). Then for each threat, in map order:
  x, y, direction (0 to 3, as for actions), style (0 bull, 1 goldfish, 2 shark, 3 owl, 4 deer, 5
  hawk), and its steps to the player (4096 without a path). If a map has fewer threats, the
  remaining elements are -1.
- `"features"`: `Box(-1, 16384, (68,), int16)`. The tick; the ticks until the threats move (as
  above); the ticks from one of their moves to the next. Then 13 numbers for each action in order.
  All 13 are -1 if the action is blocked or the game is over. Otherwise, they describe the exact
  state after the tick in which the action is played. If the player is caught in this tick, numbers
  1, 2, 5, 6 and 7 are 0. The numbers are:
    1. the steps from the nearest threat to the player; 4096 if no threat is within 254 steps;
    2. the number of tiles that the player can reach within 254 steps, and before every threat if
       the threats keep their current pace;
    3. the steps out of the player's dead end; 0 outside dead ends, 4096 on streets without a loop;
    4. the number of exits of the player's tile;
    5. the largest lead on any tile; the lead is the number of ticks by which the player can arrive
       before the first threat, 0 to 255;
    6. the sum of the leads on all tiles, where each lead counts at most 4;
    7. the number of further ticks, at most 4, that the player can survive, found by exact search;
       ticks after the end of the game count as survived;
    8. and the next five numbers, one per style in the order above: the steps from the nearest
       threat of this style to the player; 4096 if no such threat is within 254 steps.
- `"planes"`: `Box(0, 255, (15, height, width), uint8)`. One plane each for the tiles that the
  player may enter, the tiles that threats may enter, and the player; six planes, one per style in
  the order above, with the number of threats on each tile; four more, one per direction of the
  threats; a constant plane with the ticks until the threats move; and a constant plane with the
  tick, scaled to 0 to 255.
- `"window"`: `Box(0, 255, (14, window, window), uint8)`. The same planes without the player's
  plane, for a square of tiles with the player at its centre. The side length `window` is
  odd.
- `"state"`: `Box(-32768, 32767, (4 + 9 * threats,), int16)`. The complete state: the tick, the
  ticks since the threats last moved (before their first move, since the start), and the player's x
  and y. Then for each threat, in map order: x, y, direction, style, the number of its picks so far,
  the kind of the remembered position (0 none, 1 a position of the player, 2 a hawk's post),
  the x and y of this position (-1 for none), and `idle_rounds` as in `getaway.Threat`. If a map has
  fewer threats, the remaining elements are -1.

**Rewards**: 1 for each step, except that the reward is 0 if the player steps onto a threat in the
no-jump variant, or if the step ignores its action and resets the game (next-step autoreset). The
final tick of a whole game is its return plus 1. The score is 5 times the final tick.

**Ends**: an episode is terminated when the player is caught, or after tick 2000, the last of the
game. Only `max_episode_steps` truncates an episode. A step in a finished game raises
`gymnasium.error.ResetNeeded`, unless a vector environment resets the game (see `autoreset_mode`).

**Infos**: `reset` and `step` return a dict with these keys. In a vector environment, the value of a
key is an array with one element per game, or for `"final_info"` a dict of such arrays. A second key
with a leading underscore, such as `"_tick"`, holds a mask: True for the games that have a value.

- `"tick"`: the tick that is played next, 1 to 2000; after the end of an episode, its final tick.
- `"score"`: 5 times this tick.
- `"action_mask"`: int8 of shape (5,), 1 for each action that is not blocked (staying never is).
- `"regret"`: the number of ticks by which the best possible game is longer than this one. Only
  present in the step that terminates an episode on a `getaway.levels.Level`, and only if the
  episode began at the level's start, not in a given state.
- `"final_obs"`, `"final_info"`: for the games that ended in this step, the last observations, and a
  dict of the last infos. Only present if a game ended, in a vector environment with same-step
  autoreset.

**Resets**: without a map, each reset generates a map from its seed, or from a random seed if it has
none. With a list of maps, each reset draws one at random. Vector environments differ in both cases:
see `ChaseVectorEnv`. As in Gymnasium, `seed=1` gives their games the seeds 1, 2, 3 and so on, so
neighbouring seeds share maps; `spawn_seeds` returns seeds that do not. A seed may have 128 bits.
Nothing else is random. Options of `reset`:

- `map`, `no_jump`, `rules`: the map and the rules for this reset and all later resets.
- `state`: the `getaway.State` in which the episode begins. A `ChaseEnv` without a map then plays on
  the state's map. Vector environments accept one state for all games, a list with one per game, or
  an array that `get_state` returned.
- `moves`: moves to play before the episode begins, such as "RRDD". Vector environments accept one
  string for all games, or a list with one per game.
- `reset_mask`: for vector environments, an array of bool, true for each game to reset. These games
  keep their maps. With `map`, `no_jump` or `rules`, all games are reset despite the mask.

**Copies**: environments can be copied, deep-copied and pickled in the middle of an episode. A copy
is independent of the original, and its random generator continues from the same state.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

try:
    import gymnasium
    import numpy as np
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise ImportError("getaway.gymnasium needs Gymnasium and NumPy: in the checkout, pip install '.[gymnasium]'")

import numpy.typing as npt

import getaway
from getaway._getaway import Single, draw
from getaway.levels import Level

__all__ = ["ChaseEnv", "ChaseVectorEnv", "spawn_seeds"]

MapOrLevel = getaway.MapLike | Level
"""A map: its name, its path, the map itself, or a level."""

_FAR_STEPS = 4096
_LEADS_MAX = 4 * 4096
"""Four ticks for each tile of the largest map."""
_RENDER_MODES = ["rgb_array", "ansi"]
_BOARD_OPTIONS = ("map", "no_jump", "rules")


def spawn_seeds(seed: int | Sequence[int], count: int) -> list[int]:
    """Return `count` independent seeds of 128 bits, from NumPy's `SeedSequence.spawn`.

    Neighbouring seeds generate the same maps: game 1 of `envs.reset(seed=1)` and game 0 of
    `envs.reset(seed=2)` both have seed 2. Seeds from this function do not overlap with those from
    any other number as `seed`, whatever the `count`, so that training and test share no maps:

        envs.reset(seed=spawn_seeds(1, envs.num_envs))

    Raises:
        ValueError: if a number is negative.
    """
    if min([count, seed] if isinstance(seed, int) else [count, *seed]) < 0:
        raise ValueError(f"seed, count: expected numbers of at least 0, found {seed} and {count}")
    halves = (child.generate_state(2, np.uint64).tolist() for child in np.random.SeedSequence(seed).spawn(count))
    return [low | high << 64 for low, high in halves]


def _space(observation: str, shape: tuple[int, ...]) -> spaces.Box:
    if observation in ("planes", "window"):
        return spaces.Box(0, 255, shape, np.uint8)
    if observation == "compact":
        return spaces.Box(-1, _FAR_STEPS, shape, np.int16)
    if observation == "features":
        return spaces.Box(-1, _LEADS_MAX, shape, np.int16)
    return spaces.Box(-32768, 32767, shape, np.int16)


def _same_space(old: spaces.Space[Any] | None, observation: str, shape: tuple[int, ...]) -> spaces.Box:
    space = _space(observation, shape)
    if old not in (None, space):
        raise ValueError(f"map: expected observations in {old}, the environment's space, found {space}")
    return space


def _game(map: MapOrLevel, **rules: Any) -> getaway.Game:
    if not isinstance(map, Level):
        return getaway.Game(map, **rules)
    if rules["no_jump"] or rules["rules"] is not None:
        raise ValueError("no_jump, rules: expected none with a level, which has its own")
    return getaway.Game(map.map, no_jump=map.no_jump)


def _boards(map: MapOrLevel | Sequence[MapOrLevel] | None, seed: int, **rules: Any) -> tuple[list[getaway.Game], list[int | None]]:
    """Returns a game on each map, and each map's best tick, or None if the map is not a level."""
    maps: Sequence[MapOrLevel]
    if map is None:
        maps = [getaway.generate_map(seed)]
    elif isinstance(map, (str, PathLike, getaway.Map, Level)):
        maps = [map]
    else:
        maps = map
    if not len(maps):
        raise ValueError("map: expected a map, or a list of at least one")
    best = [each.best_tick if isinstance(each, Level) else None for each in maps]
    return [_game(each, **rules) for each in maps], best


def _check_render(render_mode: str | None, render_tile: int) -> None:
    if render_mode is not None and render_mode not in _RENDER_MODES:
        raise ValueError(f"render_mode: expected None, 'rgb_array' or 'ansi', found {render_mode!r}")
    if not 1 <= render_tile <= 4096:
        raise ValueError(f"render_tile: expected 1 to 4096 pixels, found {render_tile}")


def _check_options(options: Iterable[str], expected: Sequence[str]) -> None:
    unknown = sorted(set(options) - set(expected))
    if unknown:
        raise ValueError(f"options: expected {', '.join(expected[:-1])} or {expected[-1]}, found {', '.join(unknown)}")


class ChaseEnv(gymnasium.Env[npt.NDArray[Any], int]):
    """One game. The docstring of `getaway.gymnasium` describes spaces, rewards, infos and resets.

    map: a name, a path, a `getaway.Map` or a `getaway.levels.Level`; a list of these, from
        which each reset draws one; or None to generate a map in each reset.
    no_jump, rules: as for `getaway.Game`.
    observation: "compact", "features", "planes", "state" or "window".
    window: the side length of "window" observations in tiles, an odd number up to 63.
    render_mode: None, "rgb_array" or "ansi".
    render_tile: the side of a tile in "rgb_array" pictures, in pixels.
    """

    metadata = {"render_modes": _RENDER_MODES, "render_fps": 10}

    def __init__(
        self,
        map: MapOrLevel | Sequence[MapOrLevel] | None = None,
        *,
        no_jump: bool = False,
        rules: getaway.Rules | None = None,
        observation: str = "compact",
        window: int = 9,
        render_mode: str | None = None,
        render_tile: int = 24,
    ) -> None:
        _check_render(render_mode, render_tile)
        self.render_mode = render_mode
        self._render_tile = render_tile
        self._observation, self._window = observation, window
        self._map = map
        self._rules: dict[str, Any] = {"no_jump": no_jump, "rules": rules}
        self._closed = False
        self._started = False
        self._begun = True
        """Whether the episode began at the start of its map, not in a given state."""
        self._use(*_boards(map, 0, **self._rules))
        self.action_space = spaces.Discrete(5)  # type: ignore[assignment]

    def _use(self, games: list[getaway.Game], best_ticks: list[int | None]) -> None:
        single = Single(games, self._observation, self._window)
        self.observation_space = _same_space(getattr(self, "observation_space", None), self._observation, single.shape)
        self._single, self._best_ticks = single, best_ticks

    @property
    def state(self) -> getaway.State:
        """The current state."""
        return self._single.state

    def get_state(self) -> getaway.State:
        """Return the current state, which `set_state` and the option `state` of `reset` accept."""
        return self._single.state

    def set_state(self, state: getaway.State) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Continue from a state, and return its observation and infos.

        Raises:
            ValueError: if the environment does not have the state's map and rules.
        """
        self._check_open()
        result = self._single.set_state(state)
        self._started, self._begun = True, False
        return result

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the mask that MaskablePPO expects: True for each action that is not blocked."""
        return self._single.action_mask().astype(np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        self._check_open()
        super().reset(seed=seed)
        options = options or {}
        _check_options(options, [*_BOARD_OPTIONS, "state", "moves"])
        self._take_options(options)
        state = options.get("state")
        if self._map is None:
            if state is None:
                self._use(*_boards(None, self._map_seed(seed), **self._rules))
            elif (state.map, state.rules) != (self.state.map, self.state.rules):
                self._use([getaway.Game(state.map, rules=state.rules)], [None])
        maps = len(self._best_ticks)
        result = self._single.reset(int(self.np_random.integers(maps)) if maps > 1 else 0)
        self._started, self._begun = True, state is None
        if state is not None:
            result = self._single.set_state(state)
        if options.get("moves"):
            result = self._single.set_state(self._single.state.play(options["moves"]))
        return result

    def _map_seed(self, seed: int | None) -> int:
        return int(self.np_random.integers(1 << 32)) if seed is None else seed

    def _take_options(self, options: dict[str, Any]) -> None:
        if not options.keys() & set(_BOARD_OPTIONS):
            return
        map = options.get("map", self._map)
        rules = self._rules | {name: options[name] for name in ("no_jump", "rules") if name in options}
        boards = _boards(map, 0, **rules)
        self._use(*boards)
        self._map, self._rules = map, rules

    def step(self, action: int) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        if self._closed or not self._started:
            self._check_open()
            raise gymnasium.error.ResetNeeded("the environment was stepped before its first reset")
        result = self._single.step(action)
        if result[2]:
            best_tick = self._best_ticks[self._single.map]
            if best_tick is not None and self._begun:
                result[4]["regret"] = best_tick - result[4]["tick"]
        return result

    def render(self) -> Any:
        self._check_open()
        return _rendered(self.render_mode, self._single.state, self._single.heading, self._render_tile)

    def close(self) -> None:
        self._closed = True

    def __copy__(self) -> ChaseEnv:
        return copy.deepcopy(self)

    def _check_open(self) -> None:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed: make another one")


class ChaseVectorEnv(VectorEnv[npt.NDArray[Any], npt.NDArray[np.integer[Any]], npt.NDArray[Any]]):
    """Many games, stepped together in Rust. `getaway.gymnasium` describes the spaces and rewards.

    map: as for `ChaseEnv`, but the games are divided as evenly as possible among the maps of a
        list. If None, each call of `reset` without `reset_mask` generates a map per game, from the
        seed of the game: the game's item in a list of seeds, such as that of `spawn_seeds`, or the
        reset's seed plus the game's index. A missing seed is drawn at random.
    no_jump, rules: as for `getaway.Game`.
    observation, window: as for `ChaseEnv`.
    threads: number of threads that step the games; it does not affect results.
    copy: whether each call returns a new array of observations instead of overwriting the last one.
    render_mode, render_tile: as for `ChaseEnv`.
    max_episode_steps: the number of steps after which an episode is truncated; None for no limit.
    autoreset_mode: when a game that ended is reset. "NextStep", the default: in the next step,
        which ignores the game's action. "SameStep": in the step in which it ends; the infos of
        this step have `final_obs` and `final_info`. "Disabled": only by `reset`.
    """

    metadata = {
        "render_modes": _RENDER_MODES,
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        map: MapOrLevel | Sequence[MapOrLevel] | None = None,
        *,
        no_jump: bool = False,
        rules: getaway.Rules | None = None,
        observation: str = "compact",
        window: int = 9,
        threads: int = 1,
        copy: bool = True,
        render_mode: str | None = None,
        render_tile: int = 24,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        _check_render(render_mode, render_tile)
        if max_episode_steps is not None and max_episode_steps < 1:
            raise ValueError(f"max_episode_steps: expected None or at least 1, found {max_episode_steps}")
        self.num_envs = num_envs
        self.render_mode, self._render_tile = render_mode, render_tile
        self._autoreset = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._autoreset}
        self._max_episode_steps = max_episode_steps
        self._observation, self._window = observation, window
        self._threads, self._copy = threads, copy
        self._elapsed = np.zeros(num_envs, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)
        self._begun = np.ones(num_envs, dtype=np.bool_)
        """Whether the episode began at the start of its map, not in a given state."""
        self._headings = np.ones(num_envs, dtype=np.int64)
        self._started = False
        self.single_action_space = spaces.Discrete(5)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._make(map, {"no_jump": no_jump, "rules": rules}, range(num_envs))

    def _make(self, map: MapOrLevel | Sequence[MapOrLevel] | None, rules: dict[str, Any], seeds: Iterable[int]) -> None:
        """Makes new games. After an error, the environment has not changed."""
        if map is None:
            boards = [_boards(None, seed, **rules) for seed in seeds]
            games, best = [games[0] for games, _ in boards], [best[0] for _, best in boards]
        else:
            games, best = _boards(map, 0, **rules)
        batch = getaway.Batch(
            games, self.num_envs, observation=self._observation, window=self._window, threads=self._threads, copy=False
        )
        space = getattr(self, "single_observation_space", None)
        self.single_observation_space = _same_space(space, self._observation, batch.observation_shape)
        self._batch, self._map, self._rules = batch, map, rules
        best_ticks = [-1 if tick is None else tick for tick in best]
        self._best_ticks = np.array([best_ticks[game * len(best) // self.num_envs] for game in range(self.num_envs)])
        self._has_best_ticks = bool((self._best_ticks >= 0).any())
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    @property
    def batch(self) -> getaway.Batch:
        """The games."""
        return self._batch

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        self._check_open()
        seeds = self._seeds(seed)
        options = options or {}
        _check_options(options, [*_BOARD_OPTIONS, "state", "moves", "reset_mask"])
        mask = options.get("reset_mask")
        is_changed = bool(options.keys() & set(_BOARD_OPTIONS))
        if is_changed or (self._map is None and mask is None):
            rules = self._rules | {name: options[name] for name in ("no_jump", "rules") if name in options}
            self._make(options.get("map", self._map), rules, seeds)
            mask = None
        self._batch.reset(mask)
        marked = ... if mask is None else mask
        self._elapsed[marked], self._over[marked], self._headings[marked], self._begun[marked] = 0, False, 1, True
        self._started = True
        if options.get("state") is not None:
            self._continue_from(options["state"], mask)
        if options.get("moves"):
            self._play(options["moves"], mask)
        return self._out(), self._infos(mask)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int]:
        if seed is None or isinstance(seed, (int, np.integer)):
            super().reset(seed=None if seed is None else int(seed))
            first = int(self.np_random.integers(1 << 32)) if seed is None else int(seed)
            return list(range(first, first + self.num_envs))
        if len(seed) != self.num_envs:
            raise ValueError(f"seed: expected a number or a list of {self.num_envs}, found {len(seed)}")
        return [int(self.np_random.integers(1 << 32)) if each is None else int(each) for each in seed]

    def get_state(self) -> npt.NDArray[np.int16]:
        """Return the states of all games, each as a "state" observation."""
        return self._batch.get_state()

    def set_state(
        self, states: npt.NDArray[np.int16], mask: npt.NDArray[np.bool_] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Continue each game, or each game where `mask` is true, from its row of states.

        Returns the observations and infos of all games. Does not change the number of steps until
        truncation. If a marked row is not a state of its game's map, raises ValueError and changes
        no game.
        """
        self._check_open()
        self._continue_from(states, mask)
        return self._out(), self._infos()

    def _continue_from(self, states: Any, mask: npt.NDArray[np.bool_] | None) -> None:
        """Continues the marked games from the states. After an error, no game has changed."""
        if isinstance(states, np.ndarray) and states.dtype != object:
            self._batch.set_state(states, mask)
        else:
            replaced: list[tuple[int, getaway.State]] = []
            try:
                for game, state in self._per_game("state", states, getaway.State, mask):
                    before = self._batch[game]
                    self._batch[game] = state
                    replaced.append((game, before))
            except Exception:
                for game, before in replaced:
                    self._batch[game] = before
                raise
        marked = ... if mask is None else mask
        self._over[marked], self._begun[marked] = self._batch.is_over[marked], False
        self._started = True

    def _play(self, moves: Any, mask: npt.NDArray[np.bool_] | None) -> None:
        states: list[getaway.State | None] = [None] * self.num_envs
        for game, each in self._per_game("moves", moves, str, mask):
            states[game] = self._batch[game].play(each)
        begun = self._begun.copy()
        self._continue_from(states, mask)
        self._begun = begun

    def _per_game(self, name: str, values: Any, single: type, mask: npt.NDArray[np.bool_] | None) -> list[tuple[int, Any]]:
        """Returns the index and the value of each marked game; without a mask, of every game."""
        each = [values] * self.num_envs if isinstance(values, single) else list(values)
        if len(each) != self.num_envs:
            raise ValueError(f"{name}: expected one value or a list of {self.num_envs} values, found a list of {len(each)}")
        return [(game, each[game]) for game in range(self.num_envs) if mask is None or mask[game]]

    def step(
        self, actions: npt.NDArray[np.integer[Any]]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        self._check_open()
        if not self._started:
            raise gymnasium.error.ResetNeeded("the environment was stepped before its first reset")
        over = self._over
        if self._autoreset is not AutoresetMode.NEXT_STEP and over.any():
            games = ", ".join(str(game) for game in np.flatnonzero(over)[:8])
            raise gymnasium.error.ResetNeeded(f"games are over: {games}: expected a reset with reset_mask before this step")
        _, rewards, terminations = self._batch.step(actions)
        if self._max_episode_steps is not None:
            self._elapsed += 1
        if over.any():
            # The batch resets only games that were terminated, so truncated games are reset here.
            if self._max_episode_steps is not None:
                self._batch.reset(over)
            rewards[over], terminations[over], self._elapsed[over], self._begun[over] = 0, False, 0, True
        if self.render_mode == "rgb_array":
            moved = np.asarray(actions) < getaway.Move.STAY
            self._headings[moved] = np.asarray(actions)[moved]
            self._headings[over] = 1
        terminations = terminations.copy()
        if self._max_episode_steps is None:
            truncations = np.zeros(self.num_envs, np.bool_)
        else:
            truncations = self._elapsed >= self._max_episode_steps
        ended = terminations | truncations
        rewards = rewards.copy()
        if self._autoreset is AutoresetMode.SAME_STEP and ended.any():
            infos = self._reset_within_step(ended, terminations)
        else:
            self._over = ended
            infos = self._infos()
            self._add_regret(infos, terminations)
        return self._out(), rewards, terminations, truncations, infos

    def _reset_within_step(self, ended: npt.NDArray[np.bool_], terminations: npt.NDArray[np.bool_]) -> dict[str, Any]:
        final_obs = np.full(self.num_envs, None, dtype=object)
        for game in np.flatnonzero(ended):
            final_obs[game] = self._batch.observations[game].copy()
        final_info = self._infos(ended)
        self._add_regret(final_info, terminations)
        self._batch.reset(ended)
        self._elapsed[ended], self._headings[ended], self._begun[ended] = 0, 1, True
        infos = self._infos()
        infos |= {"final_obs": final_obs, "_final_obs": ended.copy()}
        infos |= {"final_info": final_info, "_final_info": ended.copy()}
        return infos

    def _infos(self, games: npt.NDArray[np.bool_] | None = None) -> _Infos:
        return _Infos(self._batch, None if games is None else games.copy())

    def _add_regret(self, infos: dict[str, Any], terminations: npt.NDArray[np.bool_]) -> None:
        if not self._has_best_ticks:
            return
        known = terminations & self._begun & (self._best_ticks >= 0)
        if known.any():
            infos["regret"], infos["_regret"] = np.where(known, self._best_ticks - infos["tick"], 0), known

    def _out(self) -> npt.NDArray[Any]:
        observations = self._batch.observations
        return observations.copy() if self._copy else observations

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return a mask of shape (num_envs, 5): True for each action that is not blocked."""
        return self._batch.action_mask.astype(np.bool_)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every game, or get the values of an attribute that is not callable."""
        values = self.get_attr(name)
        return tuple(value(*args, **kwargs) if callable(value) else value for value in values)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every game, such as `state`, or of every state, such as `player`.

        Raises:
            AttributeError: for an unknown attribute.
        """
        return tuple(getattr(_GameView(self, game), name) for game in range(self.num_envs))

    def set_attr(self, name: str, values: Any) -> None:
        """Set the `state` of every game. `values` is one state, or a list with one per game.

        Raises:
            AttributeError: for any attribute other than `state`.
            ValueError: if a state does not have its game's map and rules. No game is then changed.
        """
        if name != "state":
            raise AttributeError(f"{name}: expected 'state', the only attribute of a game that can be set")
        self._continue_from(values, None)

    def render(self) -> Any:
        self._check_open()
        if self.render_mode is None:
            return _rendered(None, None, 0, 0)
        return tuple(self._rendered(game) for game in range(self.num_envs))

    def _rendered(self, game: int) -> Any:
        return _rendered(self.render_mode, self._batch[game], int(self._headings[game]), self._render_tile)

    def close_extras(self, **kwargs: Any) -> None:
        self._started = False

    def __copy__(self) -> ChaseVectorEnv:
        return copy.deepcopy(self)

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed: make another one")


class _Infos(dict[str, Any]):
    """A dict of infos. Its arrays of ticks, scores and action masks are made when the dict is first
    read, because many programs never read them."""

    def __init__(self, batch: getaway.Batch, games: npt.NDArray[np.bool_] | None) -> None:
        self._source: Any = (batch, games, batch.ticks, batch._player_tiles)

    def _fill(self) -> None:
        if self._source is None:
            return
        (batch, games, ticks, tiles), self._source = self._source, None
        ticks = ticks.astype(np.int64)
        values: dict[str, Any] = {"tick": ticks, "score": 5 * ticks, "action_mask": batch._action_masks_at(tiles)}
        games = np.ones(len(ticks), np.bool_) if games is None else games
        added = dict(super().items())
        super().clear()
        for key, value in values.items():
            value[~games] = 0
            super().__setitem__(key, value)
            super().__setitem__(f"_{key}", games.copy())
        super().update(added)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self),)


def _reader(name: str) -> Any:
    method = getattr(dict, name)

    @functools.wraps(method)
    def read(self: _Infos, *args: Any, **kwargs: Any) -> Any:
        self._fill()
        return method(self, *args, **kwargs)

    return read


for _name in (
    *("__contains__", "__delitem__", "__eq__", "__getitem__", "__ior__", "__iter__", "__len__", "__ne__", "__or__", "__repr__"),
    *("__reversed__", "__ror__", "clear", "copy", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"),
):
    setattr(_Infos, _name, _reader(_name))


class _GameView:
    """A game of a vector environment. Has some attributes of `ChaseEnv`, and all attributes of the
    game's state."""

    def __init__(self, envs: ChaseVectorEnv, game: int) -> None:
        self._envs, self._game = envs, game

    @property
    def state(self) -> getaway.State:
        return self._envs.batch[self._game]

    def get_state(self) -> getaway.State:
        return self.state

    def set_state(self, state: getaway.State) -> None:
        marks = np.arange(self._envs.num_envs) == self._game
        self._envs._continue_from(state, marks)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self._envs.action_masks()[self._game])

    def render(self) -> Any:
        return self._envs._rendered(self._game)

    @property
    def render_mode(self) -> str | None:
        return self._envs.render_mode

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return self._envs.single_action_space

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        return self._envs.single_observation_space

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)


def _rows(state: getaway.State) -> list[list[str]]:
    rows = [[tile if tile in "#~" else "." for tile in row] for row in state.map.rows]
    x, y = state.player
    rows[y][x] = "P"
    for threat in state.threats:
        x, y = threat.position
        rows[y][x] = threat.style[0].upper()
    return rows


def _drawing(state: getaway.State) -> str:
    rows = "\n".join("".join(row) for row in _rows(state))
    return f"tick {state.tick}, score {state.score}, {state.status}\n{rows}\n"


def _rendered(render_mode: str | None, state: getaway.State | None, heading: int, tile: int) -> Any:
    """Renders a state as a picture or as text. If the mode is None, warns and returns None."""
    if render_mode is None or state is None:
        gymnasium.logger.warn("render was called without a render_mode: expected 'rgb_array' or 'ansi' when the environment is made")
        return None
    return draw(state, heading, tile) if render_mode == "rgb_array" else _drawing(state)


gymnasium.register(
    id="getaway/Chase-v0",
    entry_point="getaway.gymnasium:ChaseEnv",
    vector_entry_point="getaway.gymnasium:ChaseVectorEnv",
)
