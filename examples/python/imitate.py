"""Imitates safe moves with a small neural network, and learns from its own mistakes (DAgger).

    pip install torch
    python examples/python/imitate.py [--rounds 12] [--states 3000] [--seed 1] [--model FILE.json] [MAP...]

DAgger (Ross, Gordon and Bagnell, 2011) works in rounds. In each round, the policy plays generated
maps; in the first round, its moves are random. An exact search then judges every open (not blocked)
move in some of the states reached, most of them shortly before the end of a game. From the
verdicts of all rounds, except undecided ones, the network learns the probability that the game can
be survived after a move. The policy plays the open move with the highest probability.

`getaway play roundabout --planner model:FILE.json` plays a game with the saved model.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import policy

import getaway

try:
    import torch
    from torch import nn
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: pip install torch") from None

GAMES_PER_ROUND = 64
HIDDEN = 64
LAST_TICKS = 40
"""Most of the judged states are fewer than this many ticks before the end of their game."""
JUDGED_TICKS = 30_000
"""Limit on the simulated ticks of the exact search per move."""
EPOCHS = 30
BATCH = 1024

Arrays = tuple[policy.Floats, policy.Floats, policy.Floats]
"""Inputs, targets and weights. The first axis is the state, the second the action."""


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(policy.INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))


def act(model: nn.Module, features: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    values, is_open = policy.inputs(features)
    with torch.no_grad():
        scores = model(torch.from_numpy(values)).squeeze(-1).numpy()
    return np.asarray(np.where(is_open, scores, -np.inf).argmax(axis=1), np.int64)


def states_reached(model: nn.Module | None, seed: int, wanted: int) -> tuple[getaway.Batch, float]:
    """Plays with `model`, or plays random moves if `model` is None. Returns a batch of `wanted`
    states of these games, and the mean final tick of the games."""
    rng = np.random.default_rng(seed)
    games = [getaway.Game(map) for map in policy.generated_maps(GAMES_PER_ROUND, "train", seed)]
    batch = getaway.Batch(games, observation="features")
    history: list[npt.NDArray[np.int16]] = []
    final_ticks = np.zeros(len(games), np.int64)
    while not final_ticks.all():
        history.append(batch.get_state())
        chosen = rng.integers(5, size=len(games)) if model is None else act(model, batch.observations)
        _, _, terminations = batch.step(chosen)
        ended = terminations & (final_ticks == 0)
        final_ticks[ended] = batch.ticks[ended]
    picked = rng.integers(len(games), size=wanted)
    ages = np.where(rng.random(wanted) < 0.7, rng.integers(1, LAST_TICKS, size=wanted), rng.integers(1, 2000, size=wanted))
    rows = np.maximum(final_ticks[picked] - 1 - ages, 0)
    order = np.argsort(picked, kind="stable")
    reached = getaway.Batch([games[game] for game in picked[order]], observation="features")
    width = reached.get_state().shape[1]
    reached.set_state(np.stack([history[row][game, :width] for row, game in zip(rows[order], picked[order])]))
    return reached, float(final_ticks.mean())


def judged(reached: getaway.Batch, threads: int) -> Arrays:
    """Returns inputs, targets (1 for survival) and weights (0 for an undecided or blocked move)."""
    values, is_open = policy.inputs(reached.observations)
    outcomes = reached.judge_moves(threads=threads, budget_ticks=JUDGED_TICKS).outcomes
    known = is_open & ((outcomes == 0) | (outcomes == 2))
    return values, (outcomes == 2).astype(np.float32), known.astype(np.float32)


def train(model: nn.Module, data: list[Arrays], generator: torch.Generator) -> float:
    values, targets, weights = (torch.from_numpy(np.concatenate(parts)) for parts in zip(*data))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    total = 0.0
    for _ in range(EPOCHS):
        total = 0.0
        for rows in torch.randperm(len(values), generator=generator).split(BATCH):
            scores = model(values[rows]).squeeze(-1)
            loss = nn.functional.binary_cross_entropy_with_logits(scores, targets[rows], weights[rows], reduction="sum")
            loss = loss / weights[rows].sum().clamp(min=1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
    return total / len(values)


def main() -> None:
    parser = policy.arguments(__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--states", type=int, default=3000, help="states judged per round")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    generator = torch.Generator().manual_seed(options.seed)
    model = network()
    data: list[Arrays] = []
    begin = time.perf_counter()
    for number in range(options.rounds):
        reached, mean_tick = states_reached(model if data else None, options.seed * 1000 + number, options.states)
        data.append(judged(reached, options.threads))
        loss = train(model, data, generator)
        doomed = float((data[-1][2] * (1 - data[-1][1])).sum() / data[-1][2].sum())
        elapsed = time.perf_counter() - begin
        print(f"round {number:2}: mean final tick {mean_tick:7.1f}, {doomed:.0%} of decided moves doomed, loss {loss:.3f}, {elapsed:5.0f} s", flush=True)
    if options.model:
        linear = [layer for layer in model if isinstance(layer, nn.Linear)]
        policy.save([(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear], options.model)
    policy.report(lambda features: act(model, features), options.maps)


if __name__ == "__main__":
    main()
