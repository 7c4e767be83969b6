"""PPO with CleanRL's conventions, on a vector environment that is stepped in Rust.

    pip install '.[gymnasium]' torch
    python examples/python/ppo.py [--steps 5000000] [--seed 1] [--model FILE.json] [MAP...]

The actor scores each action separately (see `policy.py`), and blocked actions are masked. The
critic gets the inputs that all actions share. The step after the end of a game only resets the
game, so learning ignores this step.

`getaway play roundabout --planner model:FILE.json` plays a game with the saved model.
"""

from __future__ import annotations

import time

import gymnasium
import numpy as np
import numpy.typing as npt
import policy

from getaway.gymnasium import spawn_seeds

try:
    import torch
    from torch import nn
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: pip install torch") from None

GAMES = 512
ROLLOUT_STEPS = 128
EPOCHS = 3
MINIBATCHES = 8
HIDDEN = 32
DISCOUNT = 0.99
TRACE = 0.95
CLIP = 0.2
ENTROPY = 0.005
LEARNING_RATE = 1e-3
REWARD_SCALE = 0.1


class Agent(nn.Module):  # type: ignore[misc]
    """Computes the logits of the actions, and the value of a state."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(policy.INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
        self.critic = nn.Sequential(nn.Linear(policy.INPUTS - policy.OWN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

    def forward(self, values: torch.Tensor, is_open: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = self.actor(values).squeeze(-1).masked_fill(~is_open, -1e9)
        # The shared inputs are the same for all five actions, so those of any action will do.
        return logits, self.critic(values[:, 4, policy.OWN :]).squeeze(-1)


def act(agent: Agent, features: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    values, is_open = (torch.from_numpy(each) for each in policy.inputs(features))
    with torch.no_grad():
        return np.asarray(agent(values, is_open)[0].argmax(dim=1), np.int64)


def advantages(rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor) -> torch.Tensor:
    """Returns generalised advantage estimates. `values` has one more row than `rewards`, for the
    states after the last step."""
    found, last = torch.zeros_like(rewards), torch.zeros_like(rewards[0])
    for step in reversed(range(len(rewards))):
        alive = 1 - dones[step]
        delta = rewards[step] + DISCOUNT * values[step + 1] * alive - values[step]
        found[step] = last = delta + DISCOUNT * TRACE * alive * last
    return found


def main() -> None:
    parser = policy.arguments(__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=5_000_000)
    parser.add_argument("--training-maps", type=int, default=64)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    maps = policy.generated_maps(options.training_maps, "train", options.seed)
    envs = gymnasium.make_vec("getaway/Chase-v0", num_envs=GAMES, vectorization_mode="vector_entry_point", map=maps, observation="features")
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), LEARNING_RATE)
    features, _ = envs.reset(seed=spawn_seeds(options.seed, GAMES))  # type: ignore[arg-type]
    was_over = np.zeros(GAMES, np.bool_)
    iterations = max(options.steps // (GAMES * ROLLOUT_STEPS), 1)
    begin = time.perf_counter()
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - iteration / iterations)
        steps: list[tuple[torch.Tensor, ...]] = []
        ended: list[int] = []
        for _ in range(ROLLOUT_STEPS):
            values, is_open = (torch.from_numpy(each) for each in policy.inputs(features))
            with torch.no_grad():
                logits, value = agent(values, is_open)
            choices = torch.distributions.Categorical(logits=logits)
            action = choices.sample()
            features, rewards, terminations, truncations, infos = envs.step(action.numpy())
            ended += infos["tick"][terminations].tolist()
            numbers = [rewards * REWARD_SCALE, terminations.astype(np.float32), was_over]
            steps.append((values, is_open, action, choices.log_prob(action), value, *(torch.from_numpy(each) for each in numbers)))
            was_over = terminations
        with torch.no_grad():
            next_value = agent(*(torch.from_numpy(each) for each in policy.inputs(features)))[1]
        inputs, masks, actions, old_logs, values, rewards, dones, resets = (torch.stack(each) for each in zip(*steps))
        gains = advantages(rewards, torch.cat([values, next_value[None]]), dones)
        returns, kept = (gains + values).flatten(), torch.nonzero(~resets.flatten()).squeeze(1)
        inputs, masks, actions, old_logs, gains = (each.flatten(0, 1) for each in (inputs, masks, actions, old_logs, gains))
        for _ in range(EPOCHS):
            for rows in kept[torch.randperm(len(kept))].chunk(MINIBATCHES):
                logits, value = agent(inputs[rows], masks[rows])
                choices = torch.distributions.Categorical(logits=logits)
                ratio = (choices.log_prob(actions[rows]) - old_logs[rows]).exp()
                gain = (gains[rows] - gains[rows].mean()) / (gains[rows].std() + 1e-8)
                actor_loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
                critic_loss = 0.5 * (value - returns[rows]).square().mean()
                optimizer.zero_grad()
                (actor_loss + 0.5 * critic_loss - ENTROPY * choices.entropy().mean()).backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        if iteration % 10 == 0 or iteration == iterations - 1:
            played = (iteration + 1) * GAMES * ROLLOUT_STEPS
            mean_tick = np.mean(ended) if ended else float("nan")
            print(f"{played / 1e6:6.2f} million steps: mean final tick {mean_tick:7.1f}, {time.perf_counter() - begin:5.0f} s", flush=True)
    if options.model:
        linear = [layer for layer in agent.actor if isinstance(layer, nn.Linear)]
        policy.save([(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear], options.model)
    policy.report(lambda features: act(agent, features), options.maps)


if __name__ == "__main__":
    main()
