"""The game as a vector environment for Stable-Baselines3, stepped in Rust.

    from sb3_contrib import MaskablePPO
    from getaway.stable_baselines3 import ChaseVecEnv

    envs = ChaseVecEnv(1024, "roundabout", observation="features")
    model = MaskablePPO("MlpPolicy", envs)

Install with `pip install '.[gymnasium]' stable-baselines3`; the example also needs
`sb3-contrib`. `getaway.gymnasium` describes the spaces and the options. The step that ends an
episode also resets the game, as Stable-Baselines3 expects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise ImportError("getaway.stable_baselines3 needs Stable-Baselines3: pip install stable-baselines3")

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from getaway.gymnasium import ChaseVectorEnv

__all__ = ["ChaseVecEnv"]


class ChaseVecEnv(VecEnv):  # type: ignore[misc]
    """Games for Stable-Baselines3.

    num_envs, map, options: as for `getaway.gymnasium.ChaseVectorEnv`; `autoreset_mode` is fixed.

    A step returns one info dict per game. If the step ended an episode, the dict contains
    `terminal_observation`, `TimeLimit.truncated`, `episode` with the return `r` and the length `l`,
    and the infos `tick`, `score` and, if present, `regret` of `getaway.gymnasium`. Otherwise, the
    dict is empty.
    """

    def __init__(self, num_envs: int, map: Any = None, **options: Any) -> None:
        self.envs = ChaseVectorEnv(num_envs, map, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self._actions: Any = None
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> npt.NDArray[Any]:
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        options = self._options[0]
        if any(each is not options and each != options for each in self._options):
            raise ValueError("options: expected the same options for all games")
        observations, infos = self.envs.reset(seed=seeds, options=options or None)
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0, 0
        self.reset_infos = [{key: infos[key][game] for key in ("tick", "score", "action_mask")} for game in range(self.num_envs)]
        return observations

    def step_async(self, actions: npt.NDArray[np.integer[Any]]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], list[dict[str, Any]]]:
        observations, rewards, terminations, truncations, infos = self.envs.step(self._actions)
        dones = terminations | truncations
        self._returns += rewards
        self._lengths += 1
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for game in np.flatnonzero(dones):
            each[game] = self._final(int(game), infos, is_truncated=bool(truncations[game] and not terminations[game]))
        self._returns[dones], self._lengths[dones] = 0, 0
        return observations, rewards, dones, each

    def _final(self, game: int, infos: dict[str, Any], *, is_truncated: bool) -> dict[str, Any]:
        final = infos["final_info"]
        info = {key: final[key][game] for key in ("tick", "score", "regret") if key in final and final[f"_{key}"][game]}
        info |= {"terminal_observation": infos["final_obs"][game], "TimeLimit.truncated": is_truncated}
        return info | {"episode": {"r": float(self._returns[game]), "l": int(self._lengths[game])}}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return a mask of shape (num_envs, 5): True for each action that is not blocked."""
        return self.envs.action_masks()

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        values = self.envs.get_attr(attr_name)
        return [values[game] for game in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        values = list(self.envs.get_attr(attr_name))
        for game in self._get_indices(indices):
            values[game] = value
        self.envs.set_attr(attr_name, values)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        if method_name == "action_masks":
            # MaskablePPO requests the masks in every step. One call for all games is fastest.
            return list(self.action_masks()[list(self._get_indices(indices))])
        methods = self.get_attr(method_name, indices)
        return [method(*method_args, **method_kwargs) for method in methods]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Iterable[npt.NDArray[np.uint8]]:
        return list(self.envs.render())
