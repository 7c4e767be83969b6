"""The game as Gymnasium environments: `gymnasium.make("getaway/Chase-v0", map="roundabout")`.

Importing this module registers the id; `gymnasium.make("getaway.gymnasium:getaway/Chase-v0")` does
both. Needs the extra `getaway[gymnasium]`.

**Actions**: `Discrete(5)`: 0 left, 1 right, 2 up, 3 down, 4 stay. A step into a wall counts as
staying.

**Observations** have one of three forms. In a batch of maps, the shape fits the largest one.

- `"compact"`: `Box(-1, 4096, (9 + 5 * threats,), int16)`. The tick (1 to 2001); the ticks until the
  threats move (0: in the next step); the player's x and y (tiles); for each action in order, the
  steps along the streets from the nearest threat to the action's target tile (-1 if the action is
  blocked, 4096 if no threat can arrive). Then for each threat, in map order: x, y, direction (0 to
  3, as actions), style (0 bull, 1 goldfish, 2 shark, 3 owl, 4 deer, 5 hawk), and its steps to the
  player. Missing threats are -1.
- `"planes"`: `Box(0, 255, (15, height, width), uint8)`. Tiles open to the player; tiles open to
  threats; the player; threats by style (six planes, as above); threats by direction (four planes);
  the ticks until the threats move, on every tile; the tick, scaled to 0 to 255, on every tile.
- `"state"`: `Box(-32768, 32767, (4 + 9 * threats,), int16)`. Everything that determines the future:
  the tick, the ticks since the threats moved, the player's x and y; for each threat x, y,
  direction, style, random numbers drawn, the kind of position that it remembers (0 none, 1 the
  player's, 2 a hawk's post), that position's x and y (-1 for none), and idle rounds.

**Rewards**: the number of ticks gained by a step: 1, or 0 if the player was caught within the tick
(no-jump variant). An episode's return plus 1 is the tick reached, and 5 times that tick the score.

**Ends**: an episode is terminated when the player is caught or tick 2000, the last of the game, has
been played. It is truncated only by `max_episode_steps`.

**Resets**: only generated maps are random. Without a map, each reset generates the map of its seed,
or of a random seed. The options `map`, `no_jump` and `rules` of `reset` replace the map and the
rules from then on. The option `reset_mask`, an array of bool, resets only the marked games of a
vector environment, each on its own map; with another option, all games are reset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

try:
    import gymnasium
    import numpy as np
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise ImportError("getaway.gymnasium needs Gymnasium and NumPy: pip install 'getaway[gymnasium]'")

import numpy.typing as npt

import getaway
from getaway._getaway import Single

__all__ = ["ChaseEnv", "ChaseVectorEnv"]

MapLike = str | PathLike[str] | getaway.Map
"""A map: its name, its folder, or the map itself."""

_FAR_STEPS = 4096
_RENDER_MODES = ["rgb_array", "ansi"]


def _space(observation: str, shape: tuple[int, ...]) -> spaces.Box:
    """The space of one game's observation."""
    if observation == "planes":
        return spaces.Box(0, 255, shape, np.uint8)
    if observation == "compact":
        return spaces.Box(-1, _FAR_STEPS, shape, np.int16)
    return spaces.Box(-32768, 32767, shape, np.int16)


def _games(map: MapLike | Sequence[MapLike] | None, seed: int, **rules: Any) -> list[getaway.Game]:
    """The games of one map, of several maps, or of a generated map."""
    if map is None:
        return [getaway.Game(getaway.generate_map(seed), **rules)]
    if isinstance(map, (str, PathLike, getaway.Map)):
        return [getaway.Game(map, **rules)]
    games = [getaway.Game(each, **rules) for each in map]
    if not games:
        raise ValueError("map: expected a map, or a list of at least one")
    return games


def _check_render_mode(render_mode: str | None) -> None:
    if render_mode is not None and render_mode not in _RENDER_MODES:
        raise ValueError(f"render_mode: expected None, 'rgb_array' or 'ansi', found {render_mode!r}")


def _check_options(options: dict[str, Any], expected: str) -> None:
    """Checks the option names of `reset`, without `reset_mask`."""
    unknown = sorted(options.keys() - {"map", "no_jump", "rules"})
    if unknown:
        raise ValueError(f"options: expected {expected}, found {', '.join(unknown)}")


class ChaseEnv(gymnasium.Env[npt.NDArray[Any], int]):
    """One game. See the module for spaces, rewards, ends and resets.

    map: a name, a folder or a `getaway.Map`. Each reset draws a map from a list, or generates one
        for None.
    no_jump, rules: as for `getaway.Game`.
    observation: "compact", "planes" or "state".
    render_mode: None, "rgb_array" or "ansi".
    """

    metadata = {"render_modes": _RENDER_MODES, "render_fps": 10}

    def __init__(
        self,
        map: MapLike | Sequence[MapLike] | None = None,
        *,
        no_jump: bool = False,
        rules: dict[str, Any] | None = None,
        observation: str = "compact",
        render_mode: str | None = None,
    ) -> None:
        _check_render_mode(render_mode)
        self.render_mode = render_mode
        self._observation = observation
        self._map = map
        self._rules: dict[str, Any] = {"no_jump": no_jump, "rules": rules}
        self._closed = False
        self._use(_games(map, 0, **self._rules))
        self._started = False
        self.action_space = spaces.Discrete(5)  # type: ignore[assignment]
        self.observation_space = _space(observation, self._single.shape)

    def _use(self, games: list[getaway.Game]) -> None:
        self._games = games
        self._singles = [Single(game, self._observation, games) for game in games]
        self._single = self._singles[0]
        self._step = self._single.step

    @property
    def state(self) -> getaway.State:
        """The current state."""
        return self._single.state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        self._check_open()
        super().reset(seed=seed)
        if options:
            self._take_options(options)
        if self._map is None:
            self._use(_games(None, self._map_seed(seed), **self._rules))
        if len(self._singles) > 1:
            self._single = self._singles[int(self.np_random.integers(len(self._singles)))]
            self._step = self._single.step
        self._started = True
        return self._single.reset()

    def _map_seed(self, seed: int | None) -> int:
        """The seed of a generated map: that of the reset, or a random one."""
        return int(self.np_random.integers(1 << 32)) if seed is None else seed

    def _take_options(self, options: dict[str, Any]) -> None:
        _check_options(options, "map, no_jump or rules")
        self._map = options.get("map", self._map)
        self._rules |= {name: options[name] for name in ("no_jump", "rules") if name in options}
        if self._map is not None:
            self._use(_games(self._map, 0, **self._rules))
        shape = self._single.shape
        if shape != self.observation_space.shape:
            self.observation_space = _space(self._observation, shape)

    def step(self, action: int) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        if self._closed or not self._started:
            self._check_open()
            raise gymnasium.error.ResetNeeded("the environment was stepped before its first reset")
        return self._step(action)

    def render(self) -> Any:
        self._check_open()
        draw = _renderer(self.render_mode)
        return None if draw is None else draw(self._single.state)

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed: make another one")


class ChaseVectorEnv(VectorEnv[npt.NDArray[Any], npt.NDArray[np.integer[Any]], npt.NDArray[Any]]):
    """Many games, stepped together in Rust. See the module for spaces, rewards, ends and resets.

    A finished game is reset by the next step, which ignores its action (next-step autoreset).

    map: as for `ChaseEnv`; the games are divided evenly among the maps of a list. None generates
        one map per game, from the reset's seed and the following seeds.
    threads: threads that step the games; they do not affect results.
    copy: whether to copy observations; otherwise each step overwrites the same array.
    """

    metadata = {
        "render_modes": _RENDER_MODES,
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        map: MapLike | Sequence[MapLike] | None = None,
        *,
        no_jump: bool = False,
        rules: dict[str, Any] | None = None,
        observation: str = "compact",
        threads: int = 1,
        copy: bool = True,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        _check_render_mode(render_mode)
        if max_episode_steps is not None and max_episode_steps < 1:
            raise ValueError(f"max_episode_steps: expected None or at least 1, found {max_episode_steps}")
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._max_episode_steps = max_episode_steps
        self._observation, self._threads, self._copy = observation, threads, copy
        self._map = map
        self._rules: dict[str, Any] = {"no_jump": no_jump, "rules": rules}
        self._truncations = np.zeros(num_envs, dtype=np.bool_)
        self._started = False
        self.single_action_space = spaces.Discrete(5)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._make(0)

    def _make(self, seed: int) -> None:
        if self._map is None:
            games = [game for each in range(self.num_envs) for game in _games(None, seed + each, **self._rules)]
        else:
            games = _games(self._map, 0, **self._rules)
        self._batch = getaway.Batch(games, self.num_envs, observation=self._observation, threads=self._threads)
        self.single_observation_space = _space(self._observation, self._batch.observation_shape)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    @property
    def batch(self) -> getaway.Batch:
        """The games."""
        return self._batch

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        self._check_open()
        super().reset(seed=seed)
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        _check_options(options, "map, no_jump, rules or reset_mask")
        is_changed = bool(options)
        self._map = options.pop("map", self._map)
        self._rules |= options
        if is_changed or (self._map is None and mask is None):
            is_drawn = self._map is None and seed is None
            self._make(int(self.np_random.integers(1 << 32)) if is_drawn else seed or 0)
            mask = None
        observations = self._batch.reset(mask)
        self._truncations[... if mask is None else mask] = False
        self._started = True
        return self._out(observations), {}

    def step(
        self, actions: npt.NDArray[np.integer[Any]]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        self._check_open()
        if not self._started:
            raise gymnasium.error.ResetNeeded("the environment was stepped before its first reset")
        if self._max_episode_steps is None:
            observations, rewards, terminations = self._batch.step(actions)
            return self._out(observations), rewards.copy(), terminations.copy(), np.zeros(self.num_envs, np.bool_), {}
        before = self._truncations.copy()
        observations, rewards, terminations = self._batch.step(actions)
        if before.any():
            observations = self._batch.reset(before)
            rewards[before], terminations[before] = 0, False
        played = self._batch.ticks.astype(np.int64) - 1
        self._truncations = (played >= self._max_episode_steps) & ~terminations
        return self._out(observations), rewards.copy(), terminations.copy(), self._truncations.copy(), {}

    def _out(self, observations: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return observations.copy() if self._copy else observations

    def render(self) -> Any:
        self._check_open()
        draw = _renderer(self.render_mode)
        return None if draw is None else tuple(draw(self._batch[game]) for game in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self._started = False

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed: make another one")


_TILE_PIXELS = 8
_COLOURS = {
    "#": (24, 26, 38),
    ".": (205, 208, 217),
    "~": (150, 170, 190),
    "P": (38, 110, 235),
    "B": (214, 40, 40),
    "G": (247, 127, 0),
    "S": (240, 200, 30),
    "O": (90, 120, 60),
    "D": (60, 190, 90),
    "H": (130, 120, 40),
}


def _rows(state: getaway.State) -> list[list[str]]:
    """The map with the current positions of the player and the threats."""
    rows = [[tile if tile in "#~" else "." for tile in row] for row in state.map.rows]
    x, y = state.player
    rows[y][x] = "P"
    for threat in state.threats:
        x, y = threat.position
        rows[y][x] = threat.style[0].upper()
    return rows


def _drawing(state: getaway.State) -> str:
    """The state as text, with the map as a drawing."""
    rows = "\n".join("".join(row) for row in _rows(state))
    return f"tick {state.tick}, score {state.score}, {state.status}\n{rows}\n"


def _picture(state: getaway.State) -> npt.NDArray[np.uint8]:
    """The state as an RGB image of shape (rows, columns, colours)."""
    pixels = np.array([[_COLOURS[letter] for letter in row] for row in _rows(state)], dtype=np.uint8)
    return np.repeat(np.repeat(pixels, _TILE_PIXELS, axis=0), _TILE_PIXELS, axis=1)


def _renderer(render_mode: str | None) -> Callable[[getaway.State], Any] | None:
    """The function that draws a state; warns and returns None if there is no mode."""
    if render_mode is None:
        gymnasium.logger.warn("render was called without a render_mode: expected 'rgb_array' or 'ansi' when the environment is made")
        return None
    return _picture if render_mode == "rgb_array" else _drawing


gymnasium.register(
    id="getaway/Chase-v0",
    entry_point="getaway.gymnasium:ChaseEnv",
    vector_entry_point="getaway.gymnasium:ChaseVectorEnv",
)
