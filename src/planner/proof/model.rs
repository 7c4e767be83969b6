//! The game as a product of small automata: one for each threat that sees the player, and fixed
//! paths for those that do not.
//!
//! Threats do not see one another. The moves of bulls and goldfish are known for the whole game;
//! those of any other threat depend on its own few numbers and on the player. Here each of these
//! threats is a table from its *key* (those numbers in one) to the next.

use std::collections::HashMap;
use std::sync::Arc;

use super::tile_set::TileSet;
use crate::game::{Direction, LAST_TICK, Position, Rules, State, Style, Threat, World};
use crate::search::BudgetMeter;

/// Directions of a deer's pose.
const DIRECTIONS: usize = 4;
/// Idle rounds of a hawk, from -5 to 5.
const IDLE_ROUNDS: usize = 11;
const IDLE_FIRST: i8 = -5;
const IDLE_LAST: i8 = 5;
const POSTS: usize = 10;
/// The power of two of the reciprocal with which owls' keys are divided.
const OWL_SHIFT: u32 = 42;

/// A step of a threat that depends on the player: taken if the player's place is in the set.
#[derive(Clone, Debug)]
pub(super) struct Branch<const N: usize> {
    pub when: TileSet<N>,
    pub key: u32,
}

/// The streets, with a place for every open tile: columns one after the other, a closed place
/// between two.
#[derive(Clone, Debug)]
pub(super) struct Board<const N: usize> {
    pub positions: Vec<Position>,
    /// Tile -> place.
    pub places: Vec<u16>,
    /// Place -> tile.
    pub tiles: Vec<u16>,
    pub stride: u32,
    /// Where the player can stand.
    pub open: TileSet<N>,
}

impl<const N: usize> Board<N> {
    /// A threat's step by the player's tile: `next` gives a key for each tile.
    fn branches(&self, next: impl Fn(usize) -> u32) -> Vec<Branch<N>> {
        let mut branches: Vec<Branch<N>> = Vec::new();
        for (target, &place) in self.places.iter().enumerate() {
            if !self.open.contains(place) {
                continue;
            }
            let key = next(target);
            match branches.iter_mut().find(|branch| branch.key == key) {
                Some(branch) => branch.when.insert(place),
                None => branches.push(Branch { when: TileSet::of(place), key }),
            }
        }
        branches
    }

    /// The places where the player can be after a move from one of these.
    #[inline]
    pub fn reach(&self, from: &TileSet<N>) -> TileSet<N> {
        from.spread(self.stride).and(&self.open)
    }
}

/// The composition of a threat's key, and how the threat moves.
#[derive(Clone, Debug)]
pub(super) enum Automaton<const N: usize> {
    /// Keys are tiles (shark) or poses (deer); the branch depends on the player's place before its
    /// move.
    Chaser { index: usize, style: Style, branches: Vec<Vec<Branch<N>>> },
    /// Keys are `tile * (tiles + 1) + end`, with the tile where it next looks; `tiles` if no move
    /// comes before.
    Owl { index: usize },
    /// Keys are `tile << hawk_bits | memory`: a seen tile, a post, idle rounds, or a set of these of
    /// which it may have any.
    Hawk { index: usize },
}

impl<const N: usize> Automaton<N> {
    pub fn index(&self) -> usize {
        match *self {
            Self::Chaser { index, .. } | Self::Owl { index } | Self::Hawk { index } => index,
        }
    }
}

/// A map's game, from a state on.
#[derive(Clone, Debug)]
pub(super) struct Model<const N: usize> {
    pub board: Board<N>,
    pub rules: Rules,
    pub first_tick: usize,
    pub player: u16,
    /// By tick: whether threats move.
    pub moves: Vec<bool>,
    /// By tick: how often threats have moved since the first tick.
    pub moves_before: Vec<usize>,
    /// By tick: whether an owl that moves looks.
    pub looks: Vec<bool>,
    /// By tick: how often owls move before they look again.
    owl_moves: Vec<u16>,
    /// By tick: the places of the threats that do not see the player.
    pub taken: Vec<TileSet<N>>,
    pub automata: Vec<Automaton<N>>,
    /// Each automaton's key in the first state.
    pub start: Vec<u32>,
    /// How often each of them had drawn at random by then.
    pub start_draws: Vec<u16>,
    pub tiles: usize,
    /// One over the number of keys of an owl per tile, times a power of two.
    owl_reciprocal: u64,
    /// `tile * (tiles + 1) + target` -> the next tile on the shared path.
    pub shared_next: Vec<u16>,
    /// Tile -> the next step of an owl that looks from there.
    pub owl_branches: Vec<Vec<Branch<N>>>,
    /// Tile -> places seen from there.
    pub sees: Vec<TileSet<N>>,
    pub posts: Vec<u16>,
    /// By the number of draws that a hawk has made: the index of the post that it draws next.
    hawk_picks: Vec<u8>,
    /// What hawks may remember.
    pub memories: Arc<Memories>,
    /// Bits of a hawk's memory in its key.
    pub hawk_bits: u32,
}

impl<const N: usize> Model<N> {
    /// The game from `state` on, without the tables, or `None` if the map does not fit into sets of
    /// `64 * N` places.
    fn without_tables(world: &World, state: &State) -> Option<Self> {
        if !is_modelled(world.rules()) {
            return None;
        }
        let layout = world.layout();
        let positions: Vec<Position> = layout.open_positions().collect();
        let tiles = positions.len();
        let (left, right) = (positions.iter().map(|p| p.x).min()?, positions.iter().map(|p| p.x).max()?);
        let (top, bottom) = (positions.iter().map(|p| p.y).min()?, positions.iter().map(|p| p.y).max()?);
        let (width, height) = (right - left + 1, bottom - top + 1);
        let upright = height <= width;
        let stride = width.min(height) + 1;
        if stride > 63 || stride * width.max(height) > 64 * N as i32 {
            return None;
        }
        let place_of = |p: &Position| {
            let (x, y) = (p.x - left, p.y - top);
            (if upright { x * stride + y } else { y * stride + x }) as u16
        };
        let places: Vec<u16> = positions.iter().map(place_of).collect();
        let mut tile_at = vec![u16::MAX; 64 * N];
        let mut open = TileSet::EMPTY;
        for (tile, &place) in places.iter().enumerate() {
            tile_at[usize::from(place)] = tile as u16;
            if layout.tile(positions[tile]) == crate::game::Tile::Open {
                open.insert(place);
            }
        }
        let tile_of = |p: Position| positions.binary_search(&p).ok().map(|tile| tile as u16);
        let player = places[usize::from(tile_of(world.player(state))?)];

        let last = usize::from(LAST_TICK);
        let (mut moves, mut looks) = (vec![false; last + 2], vec![false; last + 2]);
        for tick in 1..=last {
            moves[tick] = world.clock().threats_move(tick as u16);
            looks[tick] = world.clock().owls_look(tick as u16);
        }
        let first_tick = usize::from(state.tick());
        let mut moves_before = vec![0; last + 2];
        for tick in first_tick..=last {
            moves_before[tick + 1] = moves_before[tick] + usize::from(moves[tick]);
        }
        let mut owl_moves = vec![0; last + 2];
        for tick in (1..=last).rev() {
            let looks = moves[tick] && looks[tick];
            owl_moves[tick] = if looks { 0 } else { owl_moves[tick + 1] + u16::from(moves[tick]) };
        }
        let posts: Vec<u16> = world.best_intersections().into_iter().filter_map(tile_of).collect();
        let post_drawn = |draws| {
            let tile = world.hawk_post_drawn(draws);
            posts.iter().position(|&post| post == tile).unwrap_or(0) as u8
        };
        let hawk_picks = (0..=LAST_TICK).map(post_drawn).collect();
        Some(Self {
            board: Board { places, tiles: tile_at, stride: stride as u32, open, positions },
            rules: *world.rules(),
            first_tick,
            player,
            moves,
            moves_before,
            looks,
            owl_moves,
            taken: vec![TileSet::EMPTY; last + 2],
            automata: Vec::new(),
            start: Vec::new(),
            start_draws: Vec::new(),
            tiles,
            owl_reciprocal: (1u64 << OWL_SHIFT).div_ceil(tiles as u64 + 1),
            shared_next: Vec::new(),
            owl_branches: Vec::new(),
            sees: Vec::new(),
            posts,
            hawk_picks,
            memories: Arc::default(),
            // With hawks, not until their memories are found.
            hawk_bits: 0,
        })
    }

    /// Adds the rows of a tile to the tables that are the same for all threats.
    fn add_tile(&mut self, world: &World, tile: usize) {
        let (positions, tiles) = (&self.board.positions, self.tiles);
        let tile_of = |p: Position| positions.binary_search(&p).ok();
        let from = positions[tile];
        let next: Vec<u16> = (0..=tiles)
            .map(|target| {
                let step = positions.get(target).and_then(|&to| world.shared_step(from, to));
                step.map_or(tile, |direction| tile_of(from.towards(direction)).expect("a path keeps to open tiles"))
                    as u16
            })
            .collect();
        let seen = (0..tiles).filter(|&other| world.sees(from, positions[other]));
        let seen = seen.fold(TileSet::EMPTY, |set, other| set.or(&TileSet::of(self.board.places[other])));
        self.owl_branches.push(self.board.branches(|target| u32::from(next[target])));
        self.sees.push(seen);
        self.shared_next.extend(next);
    }

    /// An automaton for a threat that sees the player, without branches.
    fn automaton(index: usize, style: Style) -> Automaton<N> {
        match style {
            Style::Shark | Style::Deer => Automaton::Chaser { index, style, branches: Vec::new() },
            Style::Owl => Automaton::Owl { index },
            Style::Hawk => Automaton::Hawk { index },
            Style::Bull | Style::Goldfish => unreachable!("bulls and goldfish do not see the player"),
        }
    }

    /// The branches of a shark's or deer's keys on a tile.
    fn branches_on(&self, world: &World, threat: Threat, home: Position, tile: usize) -> Vec<Vec<Branch<N>>> {
        let positions = &self.board.positions;
        let tile_of = |p: Position| positions.binary_search(&p).expect("threats keep to open tiles") as u32;
        let from = positions[tile];
        if threat.style == Style::Shark {
            let step = |to: Position| {
                world.shark_step(from, to).map_or(tile as u32, |direction| tile_of(from.towards(direction)))
            };
            return vec![self.board.branches(|target| step(positions[target]))];
        }
        // The step does not depend on the tick, as long as threats move in it.
        let tick = self.moves.iter().rposition(|&moves| moves).unwrap_or(1) as u16;
        let step = |direction: Direction, stale: Position| {
            let deer = Threat { position: from, direction, ..threat };
            let next = world.deer_after(&deer, home, tick, stale, stale).expect("open tiles");
            tile_of(next.position) * DIRECTIONS as u32 + next.direction as u32
        };
        Direction::ALL.map(|direction| self.board.branches(|target| step(direction, positions[target]))).into()
    }

    /// Adds the path of a threat that does not see the player. It stops where the rules fail, which
    /// leaves the threat out from there on.
    fn add_fixed(&mut self, world: &World, index: usize, mut threat: Threat) {
        let player = self.board.positions[usize::from(self.board.tiles[usize::from(self.player)])];
        for tick in self.first_tick..=usize::from(LAST_TICK) + 1 {
            let Ok(tile) = self.board.positions.binary_search(&threat.position) else { return };
            self.taken[tick].insert(self.board.places[tile]);
            if tick <= usize::from(LAST_TICK) {
                let Ok(next) = world.threat_after(index, &threat, tick as u16, player, player) else { return };
                threat = next;
            }
        }
    }

    /// By tick, the places where no threat stands that does not see the player.
    pub fn free_places(&self) -> Vec<TileSet<N>> {
        self.taken.iter().map(|taken| self.board.open.without(taken)).collect()
    }

    /// By place, the moves that the player needs to get there; the maximum where it cannot.
    pub fn distances(&self, from: u16) -> Vec<u32> {
        let mut distances = vec![u32::MAX; 64 * N];
        let (mut reached, mut distance) = (TileSet::EMPTY, 0);
        let mut newly = TileSet::of(from);
        while !newly.is_empty() {
            newly.iter().for_each(|place| distances[usize::from(place)] = distance);
            reached = reached.or(&newly);
            newly = self.board.reach(&newly).without(&reached);
            distance += 1;
        }
        distances
    }

    /// The bits of a hawk's memory, all set: no memory has this number.
    pub fn memory_mask(&self) -> u32 {
        (1 << self.hawk_bits) - 1
    }

    fn hawk_key(&self, tile: usize, memory: u32) -> u32 {
        (tile as u32) << self.hawk_bits | memory
    }

    pub fn idle_memory(&self, rounds: i8) -> u32 {
        (self.tiles + POSTS) as u32 + (rounds - IDLE_FIRST) as u32
    }

    /// The key of a threat as it stands at the start of a tick; `None` for a hawk on its way to a
    /// post that it is never sent to, which occurs only in states built by hand.
    fn key_of(&self, threat: &Threat, tick: usize) -> Option<u32> {
        let tile_of = |p: Position| self.board.positions.binary_search(&p).expect("an open tile") as u32;
        let tile = tile_of(threat.position);
        Some(match threat.style {
            Style::Shark | Style::Bull | Style::Goldfish => tile,
            Style::Deer => tile * DIRECTIONS as u32 + threat.direction as u32,
            Style::Owl => self.owl_key(tile, threat.remembered.map_or(self.tiles as u32, tile_of), tick),
            Style::Hawk => {
                let memory = match (threat.seen, threat.post) {
                    (Some(seen), _) => tile_of(seen),
                    (None, Some(post)) => {
                        let post = tile_of(post) as u16;
                        (self.tiles + self.posts.iter().position(|&other| other == post)?) as u32
                    }
                    (None, None) => self.idle_memory(threat.idle_rounds),
                };
                self.hawk_key(tile as usize, memory)
            }
        })
    }

    /// The key of a threat in a state.
    #[inline]
    pub fn key_in(&self, world: &World, state: &State, automaton: &Automaton<N>) -> u32 {
        let numbers = world.threat_numbers(state, automaton.index());
        let tile = u32::from(numbers.pose) / DIRECTIONS as u32;
        match automaton {
            Automaton::Chaser { style: Style::Deer, .. } => u32::from(numbers.pose),
            Automaton::Chaser { .. } => tile,
            Automaton::Owl { .. } => self.owl_key(tile, numbers.target.into(), state.tick().into()),
            Automaton::Hawk { .. } => {
                let memory = if usize::from(numbers.target) == self.tiles {
                    self.idle_memory(numbers.idle_rounds)
                } else if numbers.is_post {
                    let post = self.posts.iter().position(|&post| post == numbers.target);
                    (self.tiles + post.expect("hawks are sent to posts only")) as u32
                } else {
                    u32::from(numbers.target)
                };
                self.hawk_key(tile as usize, memory)
            }
        }
    }

    /// The number of keys of an automaton.
    pub fn keys(&self, automaton: &Automaton<N>) -> usize {
        match automaton {
            Automaton::Chaser { branches, .. } => branches.len(),
            Automaton::Owl { .. } => self.tiles * (self.tiles + 1),
            Automaton::Hawk { .. } => self.tiles << self.hawk_bits,
        }
    }

    /// The place of a threat with this key.
    #[inline]
    pub fn place(&self, automaton: &Automaton<N>, key: u32) -> u16 {
        self.board.places[self.tile(automaton, key)]
    }

    #[inline]
    pub fn tile(&self, automaton: &Automaton<N>, key: u32) -> usize {
        let key = key as usize;
        match automaton {
            Automaton::Chaser { style: Style::Deer, .. } => key / DIRECTIONS,
            Automaton::Chaser { .. } => key,
            Automaton::Owl { .. } => self.owl_tile(key as u32),
            Automaton::Hawk { .. } => key >> self.hawk_bits,
        }
    }

    /// Whether what owls remember is overwritten before they use it.
    #[inline]
    pub fn forgets(&self, tick: usize) -> bool {
        self.owl_moves[tick] == 0
    }

    /// The key of an owl that stands on a tile and remembers the player on another at the start of a
    /// tick. Of its memory only the next moves matter, until it looks again, so the key has the tile
    /// that these lead to; the shared path to that one is the same.
    #[inline]
    pub fn owl_key(&self, tile: u32, remembered: u32, tick: usize) -> u32 {
        let row = self.tiles as u32 + 1;
        if self.forgets(tick) {
            return tile * row + self.tiles as u32;
        }
        let mut end = tile;
        for _ in 0..self.owl_moves[tick] {
            let next = u32::from(self.shared_next[(end * row + remembered) as usize]);
            if next == end {
                break;
            }
            end = next;
        }
        tile * row + end
    }

    #[inline]
    pub fn owl_tile(&self, key: u32) -> usize {
        // The quotient by `tiles + 1`, without a division. It is exact, as keys are below that number squared.
        ((u64::from(key) * self.owl_reciprocal) >> OWL_SHIFT) as usize
    }

    /// The step of an owl that does not look, and whether its memory matters afterwards.
    #[inline]
    pub fn owl_step(&self, key: u32, forgets: bool) -> u32 {
        let row = self.tiles as u32 + 1;
        let remembered = if forgets { self.tiles as u32 } else { key - self.owl_tile(key) as u32 * row };
        u32::from(self.shared_next[key as usize]) * row + remembered
    }

    #[inline]
    pub fn hawk_tile(&self, key: u32) -> usize {
        (key >> self.hawk_bits) as usize
    }

    /// The step of a hawk that sees the player at a place.
    #[inline]
    pub fn hawk_seeing(&self, key: u32, place: u16) -> u32 {
        let target = usize::from(self.board.tiles[usize::from(place)]);
        let next = usize::from(self.shared_next[self.hawk_tile(key) * (self.tiles + 1) + target]);
        self.hawk_key(next, target as u32)
    }

    /// The steps of a hawk that does not see the player: one key, or one for each tile where it can
    /// be if only some of its memory is known. A post that it draws is not known, because the seed
    /// that decides is not part of the key.
    pub fn hawk_blind(&self, key: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let (tile, memory) = (self.hawk_tile(key), (key & self.memory_mask()) as usize);
        let is_exact = memory < self.exact_memories();
        let only = is_exact.then(|| {
            let (tile, memory) = self.hawk_blind_exact(tile, memory).unwrap_or((tile, self.memories.any_post));
            self.hawk_key(tile, memory as u32)
        });
        let several = if is_exact { &[] } else { self.memories.successors(memory, tile) };
        only.into_iter().chain(several.iter().map(|&(tile, memory)| self.hawk_key(tile.into(), memory.into())))
    }

    /// Whether a hawk that does not see the player draws a post now.
    #[inline]
    pub fn hawk_draws(&self, key: u32) -> bool {
        !self.posts.is_empty() && key & self.memory_mask() == self.idle_memory(IDLE_LAST)
    }

    /// The step of a hawk that draws a post after this number of draws.
    #[inline]
    pub fn hawk_drawing(&self, key: u32, draws: u16) -> u32 {
        let post = self.hawk_picks.get(usize::from(draws)).copied().unwrap_or(0);
        self.hawk_key(self.hawk_tile(key), (self.tiles + usize::from(post)) as u32)
    }

    /// The number of memories that are fully known.
    fn exact_memories(&self) -> usize {
        self.tiles + POSTS + IDLE_ROUNDS
    }

    /// Tile and memory of a hawk after a step without seeing the player; `None` if it draws a post.
    fn hawk_blind_exact(&self, tile: usize, memory: usize) -> Option<(usize, usize)> {
        if memory < self.tiles + POSTS {
            let is_post = memory >= self.tiles;
            let target = if is_post { usize::from(self.posts[memory - self.tiles]) } else { memory };
            if target == tile {
                return Some((tile, self.idle_memory(if is_post { IDLE_FIRST } else { 0 }) as usize));
            }
            return Some((usize::from(self.shared_next[tile * (self.tiles + 1) + target]), memory));
        }
        let rounds = (memory - self.tiles - POSTS) as i8 + IDLE_FIRST;
        if rounds < IDLE_LAST {
            Some((tile, memory + 1))
        } else if self.posts.is_empty() {
            Some((tile, self.idle_memory(0) as usize))
        } else {
            None
        }
    }

    /// The memories that a hawk on a tile can have: it has seen the player in a straight line from
    /// there, it is sent to a post, or it rests, after a post for longer.
    fn memories_on(&self, tile: usize) -> impl Iterator<Item = usize> + '_ {
        let seen = self.sees[tile].iter().map(|place| usize::from(self.board.tiles[usize::from(place)]));
        let posts = (0..self.posts.len()).map(|post| self.tiles + post);
        let first = if self.posts.iter().any(|&post| usize::from(post) == tile) { IDLE_FIRST } else { 0 };
        let idle = (first..=IDLE_LAST).map(|rounds| self.idle_memory(rounds) as usize);
        seen.chain([tile]).chain(posts).chain(idle)
    }

    /// The keys that an automaton can have, wherever the player goes; for an owl, those that do not
    /// remember anything, and for a hawk, those that may
    /// have any memory that it can have on a tile.
    pub fn closure(&self, automaton: &Automaton<N>, start: u32) -> Closure {
        let branches = match automaton {
            Automaton::Owl { .. } => {
                let key = |tile: u32| tile * (self.tiles as u32 + 1) + self.tiles as u32;
                return Closure::constant((0..self.tiles as u32).map(key).collect());
            }
            Automaton::Hawk { .. } => {
                let keys = self.memories.on.iter().enumerate();
                return Closure::constant(keys.map(|(tile, &memory)| self.hawk_key(tile, memory.into())).collect());
            }
            Automaton::Chaser { branches, .. } => branches,
        };
        // A player on the threat's tile is caught.
        let next = |key: u32| {
            let own = TileSet::of(self.place(automaton, key));
            let branches = branches[key as usize].iter();
            branches.filter(move |branch| !branch.when.without(&own).is_empty()).map(|branch| branch.key)
        };
        Closure::layered(start, branches.len(), next)
    }
}

/// The keys that a threat can have after a number of moves. A shark that is not on the player's
/// tile moves, and so does a deer: half of their tiles are possible at a time.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    /// By number of moves.
    layers: Vec<Vec<u32>>,
    /// After the last of them, those from this one on repeat.
    repeats_from: usize,
}

impl Closure {
    /// Most layers that are told apart. Beyond them, any of their keys is possible.
    const LAYERS_MAX: usize = 256;

    fn constant(keys: Vec<u32>) -> Self {
        Self { layers: vec![keys], repeats_from: 0 }
    }

    fn layered<I: Iterator<Item = u32>>(start: u32, keys: usize, next: impl Fn(u32) -> I) -> Self {
        let mut layers = vec![vec![start]];
        let mut added = vec![0; keys];
        loop {
            let moves = layers.len();
            let mut layer = Vec::new();
            for key in layers[moves - 1].iter().flat_map(|&key| next(key)) {
                if std::mem::replace(&mut added[key as usize], moves) != moves {
                    layer.push(key);
                }
            }
            layer.sort_unstable();
            if let Some(repeats_from) = layers.iter().rposition(|earlier| *earlier == layer) {
                return Self { layers, repeats_from };
            }
            layers.push(layer);
            if layers.len() == Self::LAYERS_MAX {
                let mut any: Vec<u32> = layers.iter().flatten().copied().collect();
                let mut at = 0;
                added.fill(0);
                any.retain(|&key| std::mem::replace(&mut added[key as usize], 1) == 0);
                while at < any.len() {
                    for key in next(any[at]) {
                        if std::mem::replace(&mut added[key as usize], 1) == 0 {
                            any.push(key);
                        }
                    }
                    at += 1;
                }
                any.sort_unstable();
                layers.push(any);
                return Self { repeats_from: layers.len() - 1, layers };
            }
        }
    }

    /// The keys after a number of moves.
    pub fn after(&self, moves: usize) -> &[u32] {
        let period = self.layers.len() - self.repeats_from;
        let layer =
            if moves < self.layers.len() { moves } else { self.repeats_from + (moves - self.repeats_from) % period };
        &self.layers[layer]
    }
}

/// What hawks may remember: numbers from the exact memories on stand for sets of these.
///
/// A hawk out of sight shows only its tiles. A set holds what it may remember after these tiles, so
/// that it cannot wait for longer than a hawk does, or turn back on its way to a post.
#[derive(Clone, Debug, Default)]
pub(super) struct Memories {
    tiles: usize,
    exact: usize,
    /// Words of a set.
    words: usize,
    /// The sets, those of the exact memories included.
    sets: Vec<u64>,
    /// By tile: all memories that a hawk can have there.
    on: Vec<u16>,
    /// The memory of a hawk that has drawn a post.
    any_post: usize,
    /// By memory that is not exact, by tile: where its steps are in `next`.
    rows: Vec<(u32, u32)>,
    /// Tiles and memories.
    next: Vec<(u16, u16)>,
}

impl Memories {
    /// Maximum number of memories. Beyond it, all that a hawk can have on a tile replace a set.
    const MAX: usize = 1 << 12;

    fn set(&self, memory: usize) -> &[u64] {
        &self.sets[memory * self.words..][..self.words]
    }

    /// Whether a hawk may have both.
    #[inline]
    pub fn overlap(&self, one: u32, other: u32) -> bool {
        one == other || {
            let (one, other) = (self.set(one as usize), self.set(other as usize));
            one.iter().zip(other).any(|(one, other)| one & other != 0)
        }
    }

    /// The number of pairs of a set and a tile on which it occurs, each after checking that every
    /// step of every memory in the set is covered.
    #[cfg(test)]
    pub fn check<const N: usize>(&self, model: &Model<N>) -> usize {
        let mut checked = 0;
        for (row, &(start, end)) in self.rows.iter().enumerate().filter(|(_, row)| **row != (0, 0)) {
            let (set, tile) = (self.set(self.exact + row / self.tiles), row % self.tiles);
            for memory in (0..self.exact).filter(|memory| set[memory / 64] >> (memory % 64) & 1 == 1) {
                let posts = (0..model.posts.len()).map(|post| (tile, self.tiles + post));
                let exact = model.hawk_blind_exact(tile, memory);
                for (to, memory) in exact.into_iter().chain(posts.filter(|_| exact.is_none())) {
                    let next = &self.next[start as usize..end as usize];
                    let is_covered = next
                        .iter()
                        .any(|&(tile, after)| usize::from(tile) == to && self.overlap(after.into(), memory as u32));
                    assert!(is_covered, "tile {tile}, memory {memory}");
                }
            }
            checked += 1;
        }
        checked
    }

    fn successors(&self, memory: usize, tile: usize) -> &[(u16, u16)] {
        let (start, end) = self.rows[(memory - self.exact) * self.tiles + tile];
        &self.next[start as usize..end as usize]
    }
}

/// Finds the sets of memories that occur, by steps from those of all tiles.
#[derive(Debug, Default)]
struct MemoriesBuilder {
    memories: Memories,
    numbers: HashMap<Box<[u64]>, u16>,
    /// Tiles and memories, and how many of them have been stepped.
    found: Vec<(u16, u16)>,
    done: usize,
}

impl MemoriesBuilder {
    fn new<const N: usize>(model: &Model<N>) -> Self {
        let (tiles, exact) = (model.tiles, model.exact_memories());
        let words = exact.div_ceil(64);
        let mut builder = Self { memories: Memories { tiles, exact, words, ..Memories::default() }, ..Self::default() };
        for memory in 0..exact {
            builder.number(builder.set_of([memory]));
        }
        for tile in 0..tiles {
            let on = builder.number(builder.set_of(model.memories_on(tile))).expect("one per tile");
            builder.memories.on.push(on);
        }
        let posts = (0..model.posts.len()).map(|post| tiles + post);
        builder.memories.any_post = builder.number(builder.set_of(posts)).expect("one more").into();
        for tile in 0..tiles {
            builder.find(tile, builder.memories.on[tile]);
            builder.find(tile, builder.memories.any_post as u16);
        }
        builder
    }

    fn set_of(&self, memories: impl IntoIterator<Item = usize>) -> Box<[u64]> {
        let mut set = vec![0; self.memories.words];
        memories.into_iter().for_each(|memory| set[memory / 64] |= 1 << (memory % 64));
        set.into()
    }

    /// The number of a set, or `None` if it would be too many.
    fn number(&mut self, set: Box<[u64]>) -> Option<u16> {
        let count = self.numbers.len();
        if let Some(&number) = self.numbers.get(&set) {
            return Some(number);
        }
        if count >= Memories::MAX.max(self.memories.exact + self.memories.tiles + 1) {
            return None;
        }
        self.memories.sets.extend(&set);
        self.numbers.insert(set, count as u16);
        Some(count as u16)
    }

    fn find(&mut self, tile: usize, memory: u16) {
        let Some(row) = usize::from(memory).checked_sub(self.memories.exact) else { return };
        let row = row * self.memories.tiles + tile;
        if self.memories.rows.len() <= row {
            self.memories.rows.resize((row / self.memories.tiles + 1) * self.memories.tiles, (0, 0));
        }
        if self.memories.rows[row] == (0, 0) {
            // Marks it as found until it is stepped.
            self.memories.rows[row] = (0, 1);
            self.found.push((tile as u16, memory));
        }
    }

    /// Finds the steps of a memory on a tile; returns true once there are none left.
    fn advance<const N: usize>(&mut self, model: &Model<N>) -> bool {
        let Some(&(tile, memory)) = self.found.get(self.done) else { return true };
        self.done += 1;
        let words = self.memories.words;
        // Hawks take at most one step.
        let mut sets: Vec<(usize, Box<[u64]>)> = Vec::new();
        let mut add = |to: usize, memory: usize| {
            let place = sets.iter().position(|(tile, _)| *tile == to).unwrap_or_else(|| {
                sets.push((to, vec![0; words].into()));
                sets.len() - 1
            });
            sets[place].1[memory / 64] |= 1 << (memory % 64);
        };
        for (word, &bits) in self.memories.set(memory.into()).iter().enumerate() {
            let exact = (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 64 + bit);
            for memory in exact {
                match model.hawk_blind_exact(tile.into(), memory) {
                    Some((to, memory)) => add(to, memory),
                    None => (0..model.posts.len()).for_each(|post| add(tile.into(), model.tiles + post)),
                }
            }
        }
        let start = self.memories.next.len() as u32;
        for (to, set) in sets {
            let memory = self.number(set).unwrap_or(self.memories.on[to]);
            self.memories.next.push((to as u16, memory));
            self.find(to, memory);
        }
        let row = (usize::from(memory) - self.memories.exact) * self.memories.tiles + usize::from(tile);
        self.memories.rows[row] = (start, self.memories.next.len() as u32);
        false
    }
}

/// Builds a model in slices: on large maps this takes longer than a decision may.
#[derive(Debug)]
pub(super) struct ModelBuilder<const N: usize> {
    model: Model<N>,
    /// The state from which on the game is modelled.
    root: State,
    /// Finds what hawks may remember; `None` before and after.
    memories: Option<MemoriesBuilder>,
    /// The threats that have been added.
    threats: usize,
    /// Whether the last of them waits for the branches of some tiles.
    is_branching: bool,
}

impl<const N: usize> ModelBuilder<N> {
    /// Starts with the game from `state` on, or returns `None` if the map does not fit into sets of
    /// `64 * N` places.
    pub fn new(world: &World, state: &State) -> Option<Self> {
        let model = Model::without_tables(world, state)?;
        Some(Self { model, root: state.clone(), memories: None, threats: 0, is_branching: false })
    }

    /// Continues until the budget is used up; returns true once the model is complete.
    pub fn advance(&mut self, world: &World, meter: &mut BudgetMeter) -> bool {
        while meter.check().is_ok() {
            let (model, threats) = (&mut self.model, world.threat_count());
            if model.sees.len() < model.tiles {
                model.add_tile(world, model.sees.len());
                meter.add_ticks((model.tiles / 8) as u64);
            } else if model.hawk_bits == 0 && world.layout().threats.iter().any(|spawn| spawn.style == Style::Hawk) {
                let memories = self.memories.get_or_insert_with(|| MemoriesBuilder::new(model));
                if memories.advance(model) {
                    let memories = self.memories.take().expect("just built").memories;
                    // The value of all ones is left out.
                    let count = memories.sets.len() / memories.words;
                    model.hawk_bits = u32::BITS - (count as u32).leading_zeros();
                    model.memories = Arc::new(memories);
                }
                meter.add_ticks(1);
            } else if self.is_branching {
                self.add_branches(world);
                meter.add_ticks((self.model.tiles / 8) as u64);
            } else if self.threats < threats {
                self.add_threat(world);
                meter.add_ticks(1);
            } else {
                return true;
            }
        }
        false
    }

    /// The complete model.
    pub fn finish(self) -> Model<N> {
        self.model
    }

    fn add_threat(&mut self, world: &World) {
        let (model, index) = (&mut self.model, self.threats);
        let threat = world.threat(&self.root, index);
        self.threats += 1;
        if matches!(threat.style, Style::Bull | Style::Goldfish) {
            model.add_fixed(world, index, threat);
        } else if let Some(key) = model.key_of(&threat, model.first_tick) {
            // A threat without a key is left out: this makes the game easier to survive, so
            // proofs stay valid.
            model.start.push(key);
            model.start_draws.push(threat.draws);
            model.automata.push(Model::automaton(index, threat.style));
            self.is_branching = matches!(threat.style, Style::Shark | Style::Deer);
        }
    }

    fn add_branches(&mut self, world: &World) {
        let index = self.threats - 1;
        let (threat, home) = (world.threat(&self.root, index), world.layout().threats[index].position);
        let keys_per_tile = if threat.style == Style::Deer { DIRECTIONS } else { 1 };
        let Some(Automaton::Chaser { branches, .. }) = self.model.automata.last() else { return };
        let tile = branches.len() / keys_per_tile;
        let rows = self.model.branches_on(world, threat, home, tile);
        if let Some(Automaton::Chaser { branches, .. }) = self.model.automata.last_mut() {
            branches.extend(rows);
        }
        self.is_branching = tile + 1 < self.model.tiles;
    }
}

/// Whether the automata follow these rules: the ticks of moves, the owls' window and the orders of
/// directions may differ from the server's.
fn is_modelled(rules: &Rules) -> bool {
    let server = Rules::BLITZ_2025;
    (rules.shark_view, rules.deer_view) == (server.shark_view, server.deer_view)
        && (rules.owl_view, rules.hawk_view) == (server.owl_view, server.hawk_view)
        && (rules.hawk_patience_moves, rules.hawk_rest_moves) == (server.hawk_patience_moves, server.hawk_rest_moves)
        && usize::from(rules.hawk_posts) <= POSTS
}
