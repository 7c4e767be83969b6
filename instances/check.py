#!/usr/bin/env python3
"""Check records of the pursuit benchmark, or certificates: replay lines and repeat proofs.

    python3 check.py                    every record of the benchmark
    python3 check.py FILE...            these records, or every record in these folders
    python3 check.py --lines            replay the lines, but skip the proofs
    python3 check.py --map MAP FILE...  certificates for any map, a text file, under their own rules

This file needs only Python 3.10 or newer. It implements the rules (docs/rules.md) and the checks of
certificates (CERTIFICATES.md) independently: it shares no code with the solver or with `getaway
benchmark check`. That command is faster, but limits the steps and the memory of a check.

Exit codes: 0 if no record is refused or the output pipe is closed, 1 if a record is refused, 2 for
an invalid option, a file that does not exist, or output that cannot be written for another reason.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import math
import multiprocessing
import os
import operator
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

SERVER_RULES = {
    "no_jump": False,
    "period_ticks": {"lazy": 5, "tease": 4, "awake": 3, "hungry": 2, "insane": 1},
    "phase_clocks": {"tease": 300, "awake": 500, "hungry": 700, "insane": 900},
    "option_order": ["left", "right", "up", "down"],
    "shared_path_order": ["left", "right", "up", "down"],
    "shark_path_order": ["right", "down", "up", "left"],
    "spawn_order": ["up", "down", "left", "right"],
    "first_seed": 0,
    "pick_scale": 10000.0,
    "deer_shy_distance_squared": 36,
    "deer_view": "stale",
    "shark_view": "stale",
    "owl_minute_ticks": 60,
    "owl_window_ticks": 10,
    "owl_view": "present",
    "hawk_patience_moves": 5,
    "hawk_rest_moves": 5,
    "hawk_posts": 10,
    "hawk_view": "present",
    "wire": {"style_names": "server", "personalities": "server"},
}
LAST_TICK = 2000
STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
LETTERS = {"L": "left", "R": "right", "U": "up", "D": "down"}
STYLES = {"B": "bull", "G": "goldfish", "S": "shark", "O": "owl", "D": "deer", "H": "hawk"}
NOWHERE = (-1, -1)


class Refused(Exception):
    """Raised if a record fails a check, or if a file is not a record."""


class TooSlow(Exception):
    """Raised if a proof needs more steps than `--max-steps` allows."""


def require(holds, message):
    if not holds:
        raise Refused(message)


def union(sets):
    return functools.reduce(operator.or_, sets, 0)


class Map:
    """A map, and the threats' shortest paths on it under given rules. A tile is a pair (x, y)."""

    def __init__(self, text, rules):
        rows = [row for row in text.split("\n") if row]
        require(len({len(row) for row in rows}) == 1, "the map is empty, or its rows have different lengths")
        self.rules = rules
        self.width, self.height = len(rows[0]), len(rows)
        self.open = set()
        self.see_through = set()
        self.player = None
        self.threats = []
        for y, row in enumerate(rows):
            for x, letter in enumerate(row):
                if letter == "#":
                    continue
                self.open.add((x, y))
                if letter == "~":
                    self.see_through.add((x, y))
                elif letter == "P":
                    self.player = (x, y)
                elif letter in STYLES:
                    self.threats.append((STYLES[letter], (x, y)))
                else:
                    require(letter == ".", f"unknown letter {letter!r} in the map")
        require(self.player, "the map has no player: expected a P")
        self.options = {tile: self.neighbours(tile, rules["option_order"]) for tile in self.open}
        for name in ("distances", "shark_steps", "visible_from"):
            setattr(self, name, functools.cache(getattr(self, name)))
        self.posts = self.best_intersections()

    def neighbours(self, tile, order):
        return [name for name in order if step(tile, name) in self.open]

    def after_command(self, tile, letter):
        to = step(tile, LETTERS[letter]) if letter != "." else tile
        return to if to in self.open and to not in self.see_through else tile

    def shared_step(self, tile, target):
        """Returns the next tile of an owl's or hawk's path to `target`, or None if `tile` is the
        target or has no path to it."""
        if target not in self.open or target == tile:
            return None
        distances = self.distances(target)
        if tile not in distances:
            return None
        ways = (step(tile, name) for name in self.neighbours(tile, self.rules["shared_path_order"]))
        return next(to for to in ways if distances[to] == distances[tile] - 1)

    def distances(self, target):
        """Returns the number of steps to `target` from each tile that has a path to it."""
        distances = {target: 0}
        for tile, to in self.search(target, self.rules["option_order"]):
            distances[to] = distances[tile] + 1
        return distances

    def search(self, start, order):
        """Yields (predecessor, tile) for each tile found by a breadth-first search from `start`."""
        found, queue = {start}, [start]
        for tile in queue:
            for name in self.neighbours(tile, order):
                to = step(tile, name)
                if to not in found:
                    found.add(to)
                    queue.append(to)
                    yield tile, to

    def shark_step(self, tile, target):
        """Returns the next tile of a shark's path to `target`, or None if `tile` is the target or
        has no path to it."""
        return self.shark_steps(tile).get(target)

    def shark_steps(self, tile):
        steps = {}
        for at, to in self.search(tile, self.rules["shark_path_order"]):
            steps[to] = steps.get(at, to)
        return steps

    def visible_from(self, tile):
        """Returns `tile` and the open tiles in its row and column with no wall in between."""
        seen = {tile}
        for name in STEPS:
            at = step(tile, name)
            while at in self.open:
                seen.add(at)
                at = step(at, name)
        return seen

    def best_intersections(self):
        tiles = [
            (x, y)
            for x in range(1, self.width - 1)
            for y in range(1, self.height - 1)
            if (x, y) in self.open and len(self.options[(x, y)]) >= 3
        ]
        tiles.sort(key=lambda tile: -len(self.visible_from(tile)))
        return tiles[: self.rules["hawk_posts"]]


def step(tile, name):
    dx, dy = STEPS[name]
    return (tile[0] + dx, tile[1] + dy)


def moving_ticks(rules):
    """Returns, for each tick, True if threats move in it."""
    moves, since = [False], 0
    for clock in range(LAST_TICK):
        begun = [name for name in ("insane", "hungry", "awake", "tease") if clock > rules["phase_clocks"][name]]
        since += 1
        moves.append(since >= rules["period_ticks"][begun[0] if begun else "lazy"])
        since = 0 if moves[-1] else since
    return moves


def owl_looks(rules, tick):
    return (tick - 1) % rules["owl_minute_ticks"] < rules["owl_window_ticks"]


def pick_index(rules, seed, length):
    number = math.sin(seed) * rules["pick_scale"]
    # With a tiny scale, the difference can round to 1, which picks the last entry.
    return min(math.floor((number - math.floor(number)) * length), length - 1)


# The state of a threat is a tuple whose first element is its tile:
#   bull, goldfish   (tile, direction, seed)
#   shark            (tile,)
#   deer             (tile, direction)
#   owl              (tile, remembered tile or None)
#   hawk             (tile, the player's last seen tile or None, post or None, idle moves, seed)
def start_state(rules, style, tile):
    direction = rules["spawn_order"][pick_index(rules, rules["first_seed"], 4)]
    seed = rules["first_seed"] + 1
    if style in ("bull", "goldfish"):
        return (tile, direction, seed)
    return {"shark": (tile,), "deer": (tile, direction), "owl": (tile, None), "hawk": (tile, None, None, 0, seed)}[style]


def move_threat(chart, style, spawn, state, tick, stale, present):
    """Returns the threat's next state. `stale` is the player's tile before its command (NOWHERE in
    tick 1), and `present` is its tile after the command."""
    rules = chart.rules
    tile = state[0]
    if style in ("bull", "goldfish"):
        _, direction, seed = state
        options = chart.options[tile]
        if style == "goldfish" or direction not in options:
            chosen = options[pick_index(rules, seed, len(options))] if options else None
            seed += 1
        else:
            chosen = direction
        return (step(tile, chosen), chosen, seed) if chosen else (tile, direction, seed)
    view = stale if rules[style + "_view"] == "stale" else present
    if style == "shark":
        return (chart.shark_step(tile, view) or tile,)
    if style == "deer":
        return move_deer(chart, spawn, state, view)
    if style == "owl":
        remembered = state[1]
        if owl_looks(rules, tick):
            remembered = view
        to = chart.shared_step(tile, remembered) if remembered else None
        return (to or tile, remembered)
    return move_hawk(chart, state, view)


def move_deer(chart, spawn, state, view):
    tile, direction = state
    options = chart.options[tile]
    if len(options) == 1:
        chosen = options[0]
    else:
        reverse = {"left": "right", "right": "left", "up": "down", "down": "up"}[direction]
        shy = squared_distance(tile, view) <= chart.rules["deer_shy_distance_squared"]
        target = spawn if shy else view
        forward = [name for name in options if name != reverse]
        if not forward:
            return state
        chosen = min(forward, key=lambda name: squared_distance(step(tile, name), target))
    return (step(tile, chosen), chosen)


def squared_distance(one, other):
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2


def move_hawk(chart, state, view):
    tile, seen, post, idle, seed = state
    rules = chart.rules
    if view in chart.visible_from(tile):
        seen, post, idle = view, None, 0
    if seen is not None:
        if seen == tile:
            return (tile, None, post, 0, seed)
        return (chart.shared_step(tile, seen) or tile, seen, post, idle, seed)
    if post is not None:
        if post == tile:
            return (tile, None, None, -rules["hawk_rest_moves"], seed)
        return (chart.shared_step(tile, post) or tile, None, post, idle, seed)
    idle += 1
    if idle > rules["hawk_patience_moves"]:
        if chart.posts:
            post = chart.posts[pick_index(rules, seed, len(chart.posts))]
        seed += 1
        idle = 0
    return (tile, None, post, idle, seed)


class Game:
    def __init__(self, chart):
        self.chart = chart
        self.moves = moving_ticks(chart.rules)
        self.tick = 1
        self.player, self.stale = chart.player, NOWHERE
        self.states = [start_state(chart.rules, style, tile) for style, tile in chart.threats]
        self.is_caught = False

    def is_over(self):
        return self.is_caught or self.tick > LAST_TICK

    def step(self, letter):
        """Plays one tick. `letter` is the move: `L`, `R`, `U`, `D`, or `.` to stay."""
        chart = self.chart
        self.player = chart.after_command(self.player, letter)
        if chart.rules["no_jump"] and self.is_on_player():
            self.is_caught = True
            return
        if self.moves[self.tick]:
            self.states = [
                move_threat(chart, style, spawn, state, self.tick, self.stale, self.player)
                for (style, spawn), state in zip(chart.threats, self.states)
            ]
        self.stale = self.player
        self.tick += 1
        self.is_caught = self.is_on_player()

    def is_on_player(self):
        return any(state[0] == self.player for state in self.states)


def replay(chart, actions):
    """Plays a line and returns the game's tick at its end. Raises Refused if a move comes after the
    end of the game."""
    game = Game(chart)
    for at, letter in enumerate(actions):
        require(not game.is_over(), f"the game is over at tick {game.tick}, before move {at + 1}")
        game.step(letter)
    return game.tick


# Proofs. A set of player tiles is an integer: tile (x, y) is bit y * stride + x. The stride is one
# more than the width, so that a shift by one bit never leads to a tile of another row. A key is
# (tile,) for sharks, (tile, direction) for deer, (tile, path until the next look) for owls, and
# (tile, set of possible memories) for hawks. A mask is a sorted tuple of indices of threats. A
# layer maps tuples of keys, one per threat of the layer's mask, to sets of player tiles.


class Threat:
    """A threat that sees the player: its keys, and the moves that lead from key to key."""

    def __init__(self, chart, board, index):
        self.chart = chart
        self.board = board
        self.index = index
        self.style, self.spawn = chart.threats[index]
        self.sees_present = chart.rules[self.style + "_view"] == "present"
        self._moves = {}
        self._keys = []
        self._ticks = [tick for tick in range(1, LAST_TICK + 1) if board.moves[tick]]

    def start_key(self, counts_draws):
        state = start_state(self.chart.rules, self.style, self.spawn)
        if self.style == "owl":
            return (self.spawn, ())
        if self.style == "hawk":
            memory = state[1:4] + (state[4] if counts_draws else None,)
            return (self.spawn, frozenset([memory]))
        return state

    def all_keys(self, tick):
        """Returns the keys with which the threat joins in `tick` (after tick 1) if no known set of
        `tick` has the threat in its mask."""
        chart, tiles = self.chart, sorted(self.chart.open)
        if self.style == "owl":
            looks = not self.board.moves_before_look(tick)
            require(looks, f"an owl cannot join at tick {tick}: it does not look in its next move")
            return [(tile, ()) for tile in tiles]
        if self.style == "hawk":
            return [(tile, self.all_memories(tile)) for tile in tiles]
        return self.keys_after(sum(self.board.moves[:tick]))

    def all_memories(self, tile):
        """Returns all memories that a hawk on `tile` may have, with unknown seeds."""
        rules, posts = self.chart.rules, self.chart.posts
        memories = [(seen, None, 0, None) for seen in self.chart.visible_from(tile)]
        memories += [(None, post, 0, None) for post in posts]
        first = -rules["hawk_rest_moves"] if tile in posts else 0
        memories += [(None, None, idle, None) for idle in range(first, rules["hawk_patience_moves"] + 1)]
        return frozenset(memories)

    def keys_after(self, moves):
        """Returns a superset of the keys that a shark or deer can have after `moves` moves."""
        if not self._keys:
            self._keys.append([self.start_key(False)])
        while len(self._keys) <= moves:
            tick = self._ticks[len(self._keys) - 1]
            after = {}
            for key in self._keys[-1]:
                elsewhere = self.board.everywhere
                if not self.sees_present or self.chart.rules["no_jump"]:
                    elsewhere &= ~self.board.bit(key[0])
                nowhere = tick == 1 and not self.sees_present
                after |= {to: None for to, seen in self.moves(key, tick) if nowhere or seen & elsewhere}
            self._keys.append(list(after))
        return self._keys[moves]

    def owl_key(self, tile, target, tick):
        """Returns the key, at the start of `tick`, of an owl on `tile` that remembers `target`."""
        path, at = [], tile
        for _ in range(self.board.moves_before_look(tick)):
            at = self.chart.shared_step(at, target) if target else None
            if at is None:
                break
            path.append(at)
        return (tile, tuple(path))

    def moves(self, key, tick):
        """Returns pairs (next key, player tiles that lead to it). `tick` must be one in which
        threats move."""
        rules = self.chart.rules
        kind = tick == 1 and not self.sees_present
        if self.style == "owl":
            if not owl_looks(rules, tick):
                tile, path = key
                return [((path[0], path[1:]) if path else key, self.board.everywhere)]
            kind = (kind, self.board.moves_before_look(tick + 1))
        if (key, kind) not in self._moves:
            self._moves[key, kind] = self.find_moves(key, tick)
        return self._moves[key, kind]

    def find_moves(self, key, tick):
        by_key = {}
        if tick == 1 and not self.sees_present:
            views = [(NOWHERE, self.board.everywhere)]
        else:
            views = [(tile, self.board.bit(tile)) for tile in self.board.player_tiles]
        for view, bit in views:
            for to in self.after(key, tick, view):
                by_key[to] = by_key.get(to, 0) | bit
        return list(by_key.items())

    def after(self, key, tick, view):
        tile = key[0]
        if self.style == "shark":
            return [(self.chart.shark_step(tile, view) or tile,)]
        if self.style == "deer":
            return [move_deer(self.chart, self.spawn, key, view)]
        if self.style == "owl":
            to = self.chart.shared_step(tile, view) or tile
            return [self.owl_key(to, view, tick + 1)]
        by_tile = {}
        for memory in key[1]:
            for state in self.hawk_after((tile,) + memory, view):
                by_tile.setdefault(state[0], set()).add(state[1:])
        return [(to, frozenset(memories)) for to, memories in by_tile.items()]

    def hawk_after(self, state, view):
        """Returns the hawk's possible next states: one per post if it picks a post and its seed is
        unknown, otherwise one."""
        seed = state[4]
        to = move_hawk(self.chart, state[:4] + (0 if seed is None else seed,), view)
        if seed is not None:
            return [to]
        picked = to[4] == 1
        posts = self.chart.posts if picked and self.chart.posts else [to[2]]
        return [(to[0], to[1], post, to[3], None) for post in posts]


class Board:
    """Sets of player tiles as bit masks, the clock, and the paths of bulls and goldfish."""

    def __init__(self, chart):
        self.chart = chart
        self.stride = chart.width + 1
        tiles = sorted(chart.open - chart.see_through)
        self.player_tiles = [tile for tile in tiles if chart.options[tile] or tile == chart.player]
        self.everywhere = union(map(self.bit, self.player_tiles))
        self.moves = moving_ticks(chart.rules)
        self.obstacles = self.follow_obstacles()
        self.moves_before_look = functools.cache(self.moves_before_look)

    def bit(self, tile):
        return 1 << (tile[1] * self.stride + tile[0])

    def spread(self, tiles):
        moved = tiles | tiles << 1 | tiles >> 1 | tiles << self.stride | tiles >> self.stride
        return moved & self.everywhere

    def follow_obstacles(self):
        """Returns the tiles of all bulls and goldfish at the start of each tick."""
        chart = self.chart
        blind = [threat for threat in chart.threats if threat[0] in ("bull", "goldfish")]
        states = [start_state(chart.rules, style, tile) for style, tile in blind]
        ticks = [0]
        for tick in range(1, LAST_TICK + 2):
            ticks.append(union(self.bit(state[0]) for state in states))
            if tick <= LAST_TICK and self.moves[tick]:
                states = [
                    move_threat(chart, style, spawn, state, tick, NOWHERE, NOWHERE)
                    for (style, spawn), state in zip(blind, states)
                ]
        return ticks

    def moves_before_look(self, tick):
        """Returns the number of moves of an owl from `tick` on before it looks again."""
        ticks = [at for at in range(tick, LAST_TICK + 1) if self.moves[at]]
        return next((count for count, at in enumerate(ticks) if owl_looks(self.chart.rules, at)), len(ticks))


class Known:
    """A known set: a layer over the threats of `mask`. `detail` has two entries per threat, but
    only one for a hawk whose seed is unknown in a state of the layer."""

    def __init__(self, prover, mask, layer):
        self.mask, self.layer = mask, layer
        self.detail = {(index, "tile") for index in mask}
        for at, index in enumerate(mask):
            is_hawk = prover.threats[index].style == "hawk"
            if not is_hawk or all(memory[3] is not None for keys in layer for memory in keys[at][1]):
                self.detail.add((index, "draws"))
        self._tables = {}

    def table(self, prover, shared, joined=None):
        """Returns the layer's player tiles in nested dictionaries. An outer key consists of the
        keys of the `shared` threats without hawks' memories, because keys that agree may differ in
        these memories. An inner key is a pair: the same keys with all memories, and the key of the
        threat `joined` (None if `joined` is None)."""
        if (shared, joined) not in self._tables:
            places = [self.mask.index(index) for index in shared]
            last = None if joined is None else self.mask.index(joined)
            table = {}
            for keys, tiles in self.layer.items():
                exact = tuple(keys[at] for at in places)
                full = (exact, None if last is None else keys[last])
                entry = table.setdefault(prover.without_memories(shared, exact), {})
                entry[full] = entry.get(full, 0) | tiles
            self._tables[shared, joined] = table
        return self._tables[shared, joined]

    def matches(self, prover, mask, keys, joined=None):
        """Yields the key of `joined` and the player tiles of states that agree with `keys` in the
        threats that `mask` and this set share."""
        shared = tuple(index for index in mask if index in self.mask)
        part = tuple(key for index, key in zip(mask, keys) if index in self.mask)
        for (exact, key), tiles in self.table(prover, shared, joined).get(prover.without_memories(shared, part), {}).items():
            if prover.agree(shared, part, exact):
                yield key, tiles


class Prover:
    """Repeats the sweeps of a certificate, and keeps their results for the current target.

    In every game in which the player is still alive at the start of the target tick, these
    statements hold at the start of each `tick` up to the target. The player is on a tile of
    `allowed[tick]`. If shark `index` has a stale view and is on `tile`, the player is on a tile of
    `alone[index][tick][tile]`. Each set in `known[tick]` contains a state that agrees with the
    game's state.
    """

    def __init__(self, chart, max_steps=None):
        self.chart = chart
        self.board = Board(chart)
        self.threats = {
            index: Threat(chart, self.board, index)
            for index, (style, _) in enumerate(chart.threats)
            if style not in ("bull", "goldfish")
        }
        self.target = 0
        self.allowed = []
        self.alone = {}
        self.known = {}
        self.steps = 0
        self.max_steps = max_steps

    def count(self):
        self.steps += 1
        if self.max_steps is not None and self.steps > self.max_steps:
            raise TooSlow(f"the proof takes more than {self.max_steps} steps")

    def start_target(self, target):
        """Changes the target. Keeps the known sets if the new target is later, and drops them if it
        is earlier."""
        if target == self.target:
            return
        earlier = self.allowed[: self.target + 1] if target > self.target else []
        if not earlier:
            self.known = {}
        board = self.board
        self.target, self.alone = target, {}
        self.allowed = [board.everywhere & ~taken for taken in board.obstacles]
        self.allowed[1] &= board.bit(self.chart.player)
        for tick in range(target - 1, 0, -1):
            self.allowed[tick] &= board.spread(self.landing(tick))
        for index, threat in self.threats.items():
            if threat.style == "shark" and not threat.sees_present:
                self.project(index)
        for tick, tiles in enumerate(earlier):
            self.allowed[tick] &= tiles

    def landing(self, tick):
        """Returns `allowed[tick + 1]`. In the no-jump variant, leaves out the tiles that bulls and
        goldfish occupy at the start of `tick`."""
        tiles = self.allowed[tick + 1]
        return tiles & ~self.board.obstacles[tick] if self.chart.rules["no_jump"] else tiles

    def project(self, index):
        """Computes `alone[index]`: for each tick and each tile of this shark, the tiles from which
        the player can evade it until the target. Restricts `allowed` accordingly."""
        threat, board = self.threats[index], self.board
        tiles = sorted(self.chart.open)
        layers = {self.target: {tile: self.allowed[self.target] & ~board.bit(tile) for tile in tiles}}
        for tick in range(self.target - 1, 0, -1):
            after, landing, layer = layers[tick + 1], self.landing(tick), {}
            for tile in tiles:
                self.count()
                steps = [(tile, board.everywhere)]
                if board.moves[tick]:
                    steps = [(key[0], seen) for key, seen in threat.moves((tile,), tick)]
                lives = 0
                for moved, seen in steps:
                    to = after[moved] & landing
                    if self.chart.rules["no_jump"]:
                        to &= ~board.bit(tile)
                    lives |= board.spread(to) & seen
                layer[tile] = lives & self.allowed[tick] & ~board.bit(tile)
            layers[tick] = layer
            self.allowed[tick] = union(layer.values())
        self.alone[index] = layers

    def lives(self, tick, index, tile):
        if index in self.alone and tick in self.alone[index]:
            return self.alone[index][tick][tile]
        return self.allowed[tick] & ~self.board.bit(tile)

    def refutes(self, sweep):
        """Repeats a sweep. Returns True if it shows that no game is alive at the sweep's target."""
        self.start_target(sweep["target_tick"])
        from_tick, until_tick = sweep["from_tick"], sweep["until_tick"]
        mask, layer = (), {(): self.allowed[from_tick]}
        layers = {}
        for tick in range(from_tick, until_tick + 1):
            if tick > from_tick:
                layer = self.forward(tick - 1, mask, layer)
            layer = self.restrict(tick, mask, layer)
            for at, index in sweep["joins"]:
                if at == tick:
                    mask, layer = self.join(tick, mask, layer, index, sweep["counts_draws"])
                    layer = self.restrict(tick, mask, layer)
            if not layer:
                return True
            layers[tick] = (mask, layer)
        for tick in range(until_tick, min(sweep["known"], default=until_tick + 1) - 1, -1):
            if tick < until_tick:
                next_mask, after = mask, layer
                mask, layer = layers.pop(tick)
                layer = self.with_successor(tick, mask, layer, next_mask, after)
            self.allowed[tick] &= union(layer.values())
            if tick in sweep["known"]:
                self.learn(tick, mask, layer)
        return False

    def join(self, tick, mask, layer, index, counts_draws):
        """Adds a threat to a layer, unless the mask contains it. Returns the new mask and layer."""
        require(index in self.threats, f"threat {index} does not see the player or does not exist")
        if index in mask:
            return mask, layer
        threat, joined = self.threats[index], {}
        position = sum(other < index for other in mask)

        def use(known):
            return ((index, "draws") in known.detail, len(set(mask) & set(known.mask)))

        candidates = [known for known in reversed(self.known.get(tick, [])) if tick > 1 and index in known.mask]
        if candidates:
            known = max(candidates, key=use)
        else:
            keys = [threat.start_key(counts_draws)] if tick == 1 else threat.all_keys(tick)
            known = Known(self, (index,), {(key,): self.lives(tick, index, key[0]) for key in keys})
        for keys, tiles in layer.items():
            for key, where in known.matches(self, mask, keys, index):
                self.count()
                if both := tiles & where:
                    wide = keys[:position] + (key,) + keys[position:]
                    joined[wide] = joined.get(wide, 0) | both
        return mask[:position] + (index,) + mask[position:], joined

    def without_memories(self, mask, keys):
        return tuple(
            key[0] if self.threats[index].style == "hawk" else key for index, key in zip(mask, keys)
        )

    def agree(self, mask, some, others):
        """Returns True if two tuples of keys agree. Each tuple has one key per threat of `mask`.
        Apart from the memories of hawks, the tuples must be equal."""
        return some == others or all(
            self.threats[index].style != "hawk" or overlap(one[1], other[1])
            for index, one, other in zip(mask, some, others)
        )

    def restrict(self, tick, mask, layer):
        allowed = self.allowed[tick]
        layer = {keys: both for keys, tiles in layer.items() if (both := tiles & allowed)}
        for known in self.known.get(tick, []):
            layer = self.restricted(mask, layer, known)
        return layer

    def restricted(self, mask, layer, known):
        if not set(mask) & set(known.mask):
            return layer
        kept = {}
        for keys, tiles in layer.items():
            self.count()
            if where := tiles & union(lives for _, lives in known.matches(self, mask, keys)):
                kept[keys] = where
        return kept

    def forward(self, tick, mask, layer):
        after = {}
        for keys, tiles in layer.items():
            for to_keys, to_tiles, _ in self.successors(tick, mask, keys, tiles):
                after[to_keys] = after.get(to_keys, 0) | to_tiles
        return after

    def with_successor(self, tick, mask, layer, next_mask, next_layer):
        """Returns the states of `layer` with a successor that agrees with a state of
        `next_layer`."""
        after, kept = Known(self, next_mask, next_layer), {}
        for keys, tiles in layer.items():
            alive = 0
            for to_keys, to_tiles, before in self.successors(tick, mask, keys, tiles):
                good = to_tiles & union(lives for _, lives in after.matches(self, mask, to_keys))
                alive |= self.board.spread(good) & before
            if alive:
                kept[keys] = alive
        return kept

    def successors(self, tick, mask, keys, tiles):
        """Returns triples of the next keys, the player's next tiles, and its tiles in this tick."""
        self.count()
        board = self.board
        free = self.landing(tick)
        if self.chart.rules["no_jump"]:
            for key in keys:
                free &= ~board.bit(key[0])
        if not board.moves[tick]:
            for index, key in zip(mask, keys):
                free &= self.lives(tick + 1, index, key[0])
            to = board.spread(tiles) & free
            return [(keys, to, tiles)] if to else []
        # The next keys of threats with a stale view depend on the player's tile before its move,
        # and those of the other threats on its tile after the move.
        parts = [({}, tiles, free)]
        for is_present in (False, True):
            if is_present:
                parts = [(done, before, to & board.spread(before)) for done, before, to in parts]
            for index, key in zip(mask, keys):
                if self.threats[index].sees_present == is_present:
                    parts = [
                        (done | {index: after}, both, left)
                        for done, before, to in parts
                        for after, seen in self.threats[index].moves(key, tick)
                        if (both := before if is_present else before & seen)
                        and (left := (to & seen if is_present else to) & self.lives(tick + 1, index, after[0]))
                    ]
        return [(tuple(map(done.get, mask)), to, before) for done, before, to in parts if to]

    def learn(self, tick, mask, layer):
        """Updates the known sets of a tick."""
        new, kept, is_covered = Known(self, mask, layer), [], False
        for known in self.known.get(tick, []):
            if known.detail <= new.detail:
                continue
            if new.detail <= known.detail:
                is_covered = True
                known = Known(self, known.mask, self.restricted(known.mask, known.layer, new))
            kept.append(known)
        if not is_covered:
            kept.append(new)
        self.known[tick] = kept


def overlap(some, others):
    """Returns True if two sets of a hawk's memories have a memory in common. A seed of None matches
    every seed."""
    if some is others or not some.isdisjoint(others):
        return True
    return any(
        one[:3] == other[:3] and (one[3] is None or other[3] is None)
        for one in some
        for other in others
    )


INTEGER_MAX = 2**16 - 1
HEADER_KEYS = {"certificate", "rules", "final_tick", "bound_tick", "actions"}
SWEEP_KEYS = {"target_tick", "from_tick", "until_tick", "counts_draws", "joins", "known"}
RECORD = "bench-1 record "
RULE_WORDS = {"style_names": ("server", "unknown"), "personalities": ("server", "missing", "mismatched")}
RULE_RANGES = {
    "period_ticks": (1, 255),
    "first_seed": (-(10**9), 10**9),
    "deer_shy_distance_squared": (0, 2**32 - 1),
    "owl_minute_ticks": (1, INTEGER_MAX),
    "hawk_patience_moves": (0, 100),
    "hawk_rest_moves": (0, 100),
}


def parse_object(text, line, keys):
    """Parses a line of JSON: an object with exactly these keys."""

    def unique(pairs):
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key occurs twice")
        return dict(pairs)

    def refuse(text):
        raise ValueError(f"{text} is not a number")

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Refused(f"line {line}: invalid JSON: {error}") from None
    is_complete = isinstance(value, dict) and value.keys() == keys
    require(is_complete, f"line {line}: expected an object with the keys {', '.join(sorted(keys))}")
    return value


def is_integer(value, low=0, high=INTEGER_MAX):
    return type(value) is int and low <= value <= high


class Certificate:
    def __init__(self, text, first_line):
        lines = text.rstrip().split("\n")
        require(len(lines) >= 2, f"line {first_line}: expected a certificate of at least two lines")
        header = parse_object(lines[0], first_line, HEADER_KEYS)
        is_version_5 = is_integer(header["certificate"], 5, 5)
        require(is_version_5, f"line {first_line}: expected version 5 of the format")
        self.rules = full_rules(header["rules"], f"line {first_line}")
        self.final_tick, self.bound_tick = header["final_tick"], header["bound_tick"]
        self.actions = header["actions"]
        are_ticks = is_integer(self.final_tick) and is_integer(self.bound_tick)
        require(are_ticks, f"line {first_line}: final_tick and bound_tick: expected integers from 0 to {INTEGER_MAX}")
        are_moves = isinstance(self.actions, str) and set(self.actions) <= set("LRUD.")
        require(are_moves, f"line {first_line}: expected actions to consist of the characters L, R, U, D and '.'")
        self.sweeps = [self.parse_sweep(line, at) for at, line in enumerate(lines[1:-1], first_line + 1)]
        last_line = first_line + len(lines) - 1
        self.end = parse_object(lines[-1], last_line, {"end"})["end"]
        require(self.end in ("empty", "search", "none"), f"line {last_line}: expected end to be empty, search or none")

    @staticmethod
    def parse_sweep(text, line):
        sweep = parse_object(text, line, SWEEP_KEYS)
        ticks = [sweep[name] for name in ("from_tick", "until_tick", "target_tick")]
        require(all(map(is_integer, ticks)), f"line {line}: ticks: expected integers from 0 to {INTEGER_MAX}")
        require(type(sweep["counts_draws"]) is bool, f"line {line}: expected counts_draws to be true or false")
        joins = sweep["joins"]
        pairs = isinstance(joins, list) and all(isinstance(j, list) and len(j) == 2 for j in joins)
        are_pairs = pairs and all(is_integer(number) for join in joins for number in join)
        require(are_pairs, f"line {line}: expected joins to be pairs of a tick and a threat's index")
        sweep["known"] = known_ticks(sweep["known"], line)
        are_known = all(ticks[0] <= tick <= ticks[1] for tick in sweep["known"])
        require(are_known, f"line {line}: known: expected ticks from {ticks[0]} to {ticks[1]}")
        are_ordered = 1 <= ticks[0] <= ticks[1] <= ticks[2] <= LAST_TICK and ticks[2] > 1
        require(are_ordered, f"line {line}: expected 1 <= from <= until <= target, and a target from 2 to {LAST_TICK}")
        return sweep


def known_ticks(ranges, line):
    """Returns the ticks of ascending ranges `[first, last, interval]`."""
    ticks = set()
    for found in ranges if isinstance(ranges, list) else [ranges]:
        is_range = isinstance(found, list) and len(found) == 3 and all(map(is_integer, found))
        first, last, interval = found if is_range else (1, 0, 1)
        is_ascending = first <= last and interval and (last - first) % interval == 0 and first > max(ticks, default=-1)
        expected = "ascending ranges of a first tick, a last tick and an interval"
        require(is_ascending, f"line {line}: known: expected {expected}, found {found}")
        ticks.update(range(first, last + 1, interval))
    return ticks


def full_rules(given, where):
    """Returns the rules with the server's values for missing ones, if every value is valid."""
    is_known = isinstance(given, dict) and given.keys() <= SERVER_RULES.keys()
    require(is_known, f"{where}: the rules are not an object or have an unknown field")
    rules = SERVER_RULES | given
    for name, value in SERVER_RULES.items():
        if isinstance(value, dict) and isinstance(rules[name], dict):
            rules[name] = value | rules[name]
        require(is_rule(name, rules[name], value), f"{where}: rules: {name}: found an invalid value")
    are_ordered = sorted(rules["phase_clocks"].values()) == list(rules["phase_clocks"].values())
    require(are_ordered, f"{where}: rules: phase_clocks: expected an ascending order")
    fits = rules["owl_window_ticks"] <= rules["owl_minute_ticks"]
    require(fits, f"{where}: rules: owl_window_ticks: expected at most owl_minute_ticks")
    rules["pick_scale"] = float(rules["pick_scale"])
    return rules


def is_rule(name, value, server):
    """Returns True if the value has the type of the server's value, and is in range."""
    if isinstance(server, bool):
        return isinstance(value, bool)
    if isinstance(server, dict):
        inner = isinstance(value, dict) and value.keys() == server.keys()
        return inner and all(is_rule(key if name == "wire" else name, value[key], server[key]) for key in server)
    if isinstance(server, list):
        return isinstance(value, list) and all(isinstance(item, str) for item in value) and sorted(value) == sorted(server)
    if isinstance(server, str):
        return isinstance(value, str) and value in RULE_WORDS.get(name, ("present", "stale"))
    if isinstance(server, float):
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return is_integer(value, *RULE_RANGES.get(name, (0, INTEGER_MAX)))


def check_certificate(chart, certificate, is_proof_checked=True, max_steps=None):
    final_tick = replay(chart, certificate.actions)
    require(final_tick == certificate.final_tick, f"the line ends at tick {final_tick}, not at {certificate.final_tick}")
    bound_tick, end = certificate.bound_tick, certificate.end
    require(final_tick <= bound_tick, f"the line ends at tick {final_tick}, after the bound of {bound_tick}")
    if end == "none":
        is_last = bound_tick == LAST_TICK + 1
        require(is_last, f"end is none: expected a bound of {LAST_TICK + 1}, found {bound_tick}")
        return 0
    require(1 <= bound_tick <= LAST_TICK, f"bound_tick {bound_tick}: expected 1 to {LAST_TICK}")
    if not is_proof_checked:
        return 0
    prover = Prover(chart, max_steps)
    sweeps = list(certificate.sweeps)
    if end == "search":
        joins = [[1, index] for index in prover.threats]
        sweeps.append(
            {"target_tick": bound_tick, "from_tick": 1, "until_tick": bound_tick}
            | {"counts_draws": True, "joins": joins, "known": set()}
        )
    for sweep in sweeps:
        if prover.refutes(sweep) and sweep["target_tick"] <= bound_tick:
            return prover.steps
    raise Refused(f"no sweep proves a bound of {bound_tick}")


class Benchmark:
    def __init__(self, folder):
        self.folder = folder
        lines = (folder / "instances.jsonl").read_text("utf-8-sig").splitlines()
        self.instances = {instance["instance"]: instance for instance in map(json.loads, lines)}

    def chart(self, name):
        instance = self.instances[name]
        data = (self.folder / instance["map"]).read_text("utf-8-sig").encode()
        is_same = hashlib.sha256(data).hexdigest() == instance["sha256"]
        require(is_same, f"{instance['map']} is not the map of this benchmark: its hash differs")
        rules = {"no_jump": instance["no_jump"]} | instance.get("rules", {})
        return Map(data.decode("utf-8"), full_rules(rules, name))

    def check(self, path, is_proof_checked=True, max_steps=None):
        """Checks one record. Returns a sentence about it."""
        text = Path(path).read_text("utf-8-sig")
        first, *credits = text.split("\n", 3)[:3]
        is_record = first.startswith(RECORD) and len(credits) == 2
        require(is_record, f"line 1: expected {RECORD!r} and the name of an instance, then two more lines")
        for line, key in enumerate(("line by: ", "bound by: "), 2):
            require(credits[line - 2].startswith(key), f"line {line}: expected {key!r}")
        name = first[len(RECORD) :]
        require(name in self.instances, f"line 1: no instance of this benchmark is called {name!r}")
        certificate = Certificate("".join(text.split("\n", 3)[3:]), 4)
        chart = self.chart(name)
        is_same = certificate.rules | {"wire": None} == chart.rules | {"wire": None}
        require(is_same, "line 4: the rules are not those of the instance")
        steps = check_certificate(chart, certificate, is_proof_checked, max_steps)
        return sentence_about(name, certificate, steps, is_proof_checked)


def sentence_about(name, certificate, steps, is_proof_checked):
    what = f"{name}: the line ends at tick {certificate.final_tick}, the bound is {certificate.bound_tick}"
    if not is_proof_checked and certificate.end != "none":
        return f"{what} (not checked)"
    return what + (f", {steps} steps" if steps else "")


def check_file(job):
    """Checks one record, or one certificate for a map. Returns a sentence about it, and True if no check failed, False if the
    record is refused, or None if its proof takes too many steps."""
    path, map_path, is_proof_checked, max_steps = job
    begun = time.process_time()
    try:
        if map_path is None:
            sentence = Benchmark(HERE).check(path, is_proof_checked, max_steps)
        else:
            certificate = Certificate(path.read_text("utf-8-sig"), 1)
            chart = Map(map_path.read_text("utf-8-sig"), certificate.rules)
            steps = check_certificate(chart, certificate, is_proof_checked, max_steps)
            sentence = sentence_about(path, certificate, steps, is_proof_checked)
        return f"{sentence}, {time.process_time() - begun:.1f} s", True
    except TooSlow as error:
        return f"{path}: not checked: {error}", None
    except UnicodeDecodeError:
        return f"{path}: refused: expected text in UTF-8", False
    except (Refused, OSError) as error:
        return f"{path}: refused: {error}", False


def count(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, found {text}")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description="Check records of the pursuit benchmark.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="records, or folders of records (default: all)")
    parser.add_argument("--map", type=Path, metavar="MAP", help="check certificates for this map, a text file, instead of records")
    parser.add_argument("--lines", action="store_true", help="replay the lines, but skip the proofs")
    parser.add_argument("--max-steps", type=count, metavar="N", help="give up on a proof after N steps")
    parser.add_argument("--jobs", type=count, default=1, metavar="N", help="number of processes")
    args = parser.parse_args()
    if args.map and not args.map.is_file():
        parser.error(f"{args.map}: no such file: expected a map as text")
    paths = []
    for path in args.files or [HERE / "records"]:
        if path.is_dir():
            paths += sorted(file for file in path.rglob("*.txt") if not file.name.startswith("."))
        elif path.is_file():
            paths.append(path)
        else:
            parser.error(f"{path}: no such file")
    jobs = [(path, args.map, not args.lines, args.max_steps) for path in paths]
    counts = {True: 0, False: 0, None: 0}
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        try:
            for sentence, holds in pool.map(check_file, jobs):
                counts[holds] += 1
                print(sentence, flush=True)
        except OSError as error:
            # The reader, such as `head`, has closed the pipe, or the disk is full. A proof may take
            # hours, so the processes are stopped. A regular exit would write again.
            for process in multiprocessing.active_children():
                process.kill()
            if isinstance(error, BrokenPipeError):
                os._exit(0)
            os.write(2, f"check.py: cannot write to standard output: {error.strerror}\n".encode())
            os._exit(2)
    print(f"{counts[True]} confirmed, {counts[False]} refused, {counts[None]} not checked")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
