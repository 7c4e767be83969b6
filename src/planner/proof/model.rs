//! The game as a product of small automata: one for each threat that sees the player, and fixed
//! paths for those that do not.
//!
//! Threats do not see one another. The moves of bulls and goldfish are known for the whole game;
//! those of any other threat depend on its own few numbers and on the player. Here each of these
//! threats is a table from its *key* (those numbers in one) to the next.

use std::ops::Range;

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
    /// Keys are `tile * (tiles + 1) + remembered`; `tiles` if the memory does not matter.
    Owl { index: usize },
    /// Keys are `tile << hawk_bits | memory`: a seen tile, a post, idle rounds, or unknown (all
    /// ones), which stands for every memory.
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
    /// By tick: whether an owl that moves looks.
    pub looks: Vec<bool>,
    /// By tick: whether what owls remember is overwritten before it is used.
    pub forgets: Vec<bool>,
    /// By tick: the places of the threats that do not see the player.
    pub taken: Vec<TileSet<N>>,
    pub automata: Vec<Automaton<N>>,
    /// Each automaton's key in the first state.
    pub start: Vec<u32>,
    pub tiles: usize,
    /// `tile * (tiles + 1) + target` -> the next tile on the shared path.
    pub shared_next: Vec<u16>,
    /// Tile -> the next step of an owl that looks from there.
    pub owl_branches: Vec<Vec<Branch<N>>>,
    /// Tile -> places seen from there.
    pub sees: Vec<TileSet<N>>,
    pub posts: Vec<u16>,
    /// By the number of draws that a hawk has made: the index of the post that it draws next.
    hawk_picks: Vec<u8>,
    /// Bits of a hawk's memory in its key.
    pub hawk_bits: u32,
    /// Tile -> the keys that can follow on a hawk there that does not see the player and whose
    /// memory is unknown.
    pub hawk_wanders: Vec<Vec<u32>>,
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
        if stride > 64 || stride * width.max(height) > 64 * N as i32 {
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
        let mut forgets = vec![true; last + 2];
        for tick in (1..=last).rev() {
            forgets[tick] = if moves[tick] { looks[tick] } else { forgets[tick + 1] };
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
            first_tick: usize::from(state.tick()),
            player,
            moves,
            looks,
            forgets,
            taken: vec![TileSet::EMPTY; last + 2],
            automata: Vec::new(),
            start: Vec::new(),
            tiles,
            shared_next: Vec::new(),
            owl_branches: Vec::new(),
            sees: Vec::new(),
            posts,
            hawk_picks,
            // The value of all ones is left for the unknown memory.
            hawk_bits: u32::BITS - ((tiles + POSTS + IDLE_ROUNDS) as u32).leading_zeros(),
            hawk_wanders: Vec::new(),
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
        let unknown = |tile: usize| self.hawk_key(tile, self.unknown_memory());
        let steps = Direction::ALL.into_iter().filter_map(|direction| tile_of(from.towards(direction)));
        let wanders = steps.chain([tile]).map(unknown).collect();
        self.owl_branches.push(self.board.branches(|target| u32::from(next[target])));
        self.sees.push(seen);
        self.hawk_wanders.push(wanders);
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

    /// A hawk's memory that stands for every memory.
    pub fn unknown_memory(&self) -> u32 {
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
            Style::Owl => {
                let remembered = threat.remembered.filter(|_| !self.forgets[tick]).map_or(self.tiles as u32, tile_of);
                tile * (self.tiles as u32 + 1) + remembered
            }
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
            Automaton::Owl { .. } => {
                let forgets = self.forgets[usize::from(state.tick())];
                let remembered = if forgets { self.tiles as u32 } else { u32::from(numbers.target) };
                tile * (self.tiles as u32 + 1) + remembered
            }
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
            Automaton::Owl { .. } => key / (self.tiles + 1),
            Automaton::Hawk { .. } => key >> self.hawk_bits,
        }
    }

    /// The key of an owl on a tile that remembers the player at a place, or nothing that matters.
    #[inline]
    pub fn owl_key(&self, tile: u32, remembered: Option<u16>) -> u32 {
        let row = self.tiles as u32 + 1;
        let remembered = remembered.map_or(self.tiles as u32, |place| u32::from(self.board.tiles[usize::from(place)]));
        tile * row + remembered
    }

    #[inline]
    pub fn owl_tile(&self, key: u32) -> usize {
        key as usize / (self.tiles + 1)
    }

    /// The step of an owl that does not look, and whether its memory matters afterwards.
    #[inline]
    pub fn owl_step(&self, key: u32, forgets: bool) -> u32 {
        let row = self.tiles as u32 + 1;
        let remembered = if forgets { self.tiles as u32 } else { key % row };
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

    /// The steps of a hawk that does not see the player: one key, or one for each post, as if the
    /// player could choose, because the seed that decides is not part of the key; with an unknown
    /// memory, every step that a threat can take.
    pub fn hawk_blind(&self, key: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let (tile, memory) = (self.hawk_tile(key), key & self.unknown_memory());
        let is_unknown = memory == self.unknown_memory();
        let known = if is_unknown { 0..0 } else { self.hawk_blind_known(tile, memory as usize) };
        let wanders: &[u32] = if is_unknown { &self.hawk_wanders[tile] } else { &[] };
        known.chain(wanders.iter().copied())
    }

    /// Whether a hawk that does not see the player draws a post now.
    #[inline]
    pub fn hawk_draws(&self, key: u32) -> bool {
        !self.posts.is_empty() && key & self.unknown_memory() == self.idle_memory(IDLE_LAST)
    }

    /// The step of a hawk that draws a post after this number of draws.
    #[inline]
    pub fn hawk_drawing(&self, key: u32, draws: u16) -> u32 {
        let post = self.hawk_picks.get(usize::from(draws)).copied().unwrap_or(0);
        self.hawk_key(self.hawk_tile(key), (self.tiles + usize::from(post)) as u32)
    }

    fn hawk_blind_known(&self, tile: usize, memory: usize) -> Range<u32> {
        let only = |key: u32| key..key + 1;
        if memory < self.tiles + POSTS {
            let is_post = memory >= self.tiles;
            let target = if is_post { usize::from(self.posts[memory - self.tiles]) } else { memory };
            if target == tile {
                return only(self.hawk_key(tile, self.idle_memory(if is_post { IDLE_FIRST } else { 0 })));
            }
            let next = usize::from(self.shared_next[tile * (self.tiles + 1) + target]);
            return only(self.hawk_key(next, memory as u32));
        }
        let rounds = (memory - self.tiles - POSTS) as i8 + IDLE_FIRST;
        if rounds < IDLE_LAST {
            only(self.hawk_key(tile, memory as u32) + 1)
        } else if self.posts.is_empty() {
            only(self.hawk_key(tile, self.idle_memory(0)))
        } else {
            let first = self.hawk_key(tile, self.tiles as u32);
            first..first + self.posts.len() as u32
        }
    }

    /// Keys that cover all that an automaton can have at any time, wherever the player goes; for an
    /// owl, those that do not remember anything, and for a hawk, those with an unknown memory.
    pub fn closure(&self, automaton: &Automaton<N>, start: u32) -> Vec<u32> {
        let branches = match automaton {
            Automaton::Owl { .. } => return (0..self.tiles as u32).map(|tile| self.owl_key(tile, None)).collect(),
            Automaton::Hawk { .. } => {
                return (0..self.tiles).map(|tile| self.hawk_key(tile, self.unknown_memory())).collect();
            }
            Automaton::Chaser { branches, .. } => branches,
        };
        let mut is_known = vec![false; self.keys(automaton)];
        is_known[start as usize] = true;
        let mut found = vec![start];
        let mut at = 0;
        while at < found.len() {
            for branch in &branches[found[at] as usize] {
                if !std::mem::replace(&mut is_known[branch.key as usize], true) {
                    found.push(branch.key);
                }
            }
            at += 1;
        }
        found.sort_unstable();
        found
    }
}

/// Builds a model in slices: on large maps this takes longer than a decision may.
#[derive(Debug)]
pub(super) struct ModelBuilder<const N: usize> {
    model: Model<N>,
    /// The state from which on the game is modelled.
    root: State,
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
        Some(Self { model, root: state.clone(), threats: 0, is_branching: false })
    }

    /// Continues until the budget is used up; returns true once the model is complete.
    pub fn advance(&mut self, world: &World, meter: &mut BudgetMeter) -> bool {
        while meter.check().is_ok() {
            let (model, threats) = (&mut self.model, world.threat_count());
            if model.sees.len() < model.tiles {
                model.add_tile(world, model.sees.len());
                meter.add_ticks((model.tiles / 8) as u64);
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
