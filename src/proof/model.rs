//! Automata: tables from a threat's key and the player's place to the threat's next key.

use super::board::{Board, Branch};
use super::memories::Hawks;
use super::tile_set::TileSet;
use crate::game::{FIRST_TICK, Rules, State, Style, World};

pub(super) const DIRECTIONS: usize = 4;
pub(super) const OWL_SHIFT: u32 = 42;

/// A threat that sees the player. `index` is its index in the map.
#[derive(Clone, Debug)]
pub(super) enum Automaton<const N: usize> {
    /// Keys are tiles (shark) or poses (deer). Branches depend on the player's place before its
    /// move. In tick 1, the threat does not see the player, so each key has one branch, in `first`.
    Chaser { index: usize, style: Style, branches: Vec<Vec<Branch<N>>>, first: Vec<Branch<N>> },
    /// Keys are `tile * (tiles + 1) + end`, where `end` is the tile on which the owl will look
    /// next, or `tiles` if it looks before it moves.
    Owl { index: usize },
    /// Keys are `tile << bits | memory`, with `bits` from [`Hawks`]. The memory is a seen tile, a
    /// post, a number of idle rounds, or a set of these.
    Hawk { index: usize },
}

impl<const N: usize> Automaton<N> {
    pub fn index(&self) -> usize {
        match *self {
            Self::Chaser { index, .. } | Self::Owl { index } | Self::Hawk { index } => index,
        }
    }

    /// Empty for threats other than sharks and deer. Threats must move in the tick.
    #[inline]
    pub fn branches(&self, tick: usize, key: u32) -> &[Branch<N>] {
        match self {
            Self::Chaser { first, .. } if tick == usize::from(FIRST_TICK) => std::slice::from_ref(&first[key as usize]),
            Self::Chaser { branches, .. } => &branches[key as usize],
            Self::Owl { .. } | Self::Hawk { .. } => &[],
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Timetable<const N: usize> {
    pub moves: Vec<bool>,
    pub moves_before: Vec<usize>,
    /// True if owls look at the player when they move.
    pub looks: Vec<bool>,
    /// The number of moves that an owl makes before its next look.
    pub owl_moves: Vec<u16>,
    pub taken: Vec<TileSet<N>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Paths<const N: usize> {
    /// Index `tile * (tiles + 1) + target`: the next tile on the shared path.
    pub next: Vec<u16>,
    pub owl_branches: Vec<Vec<Branch<N>>>,
    /// For each tile, the places that a hawk sees from the tile.
    pub sees: Vec<TileSet<N>>,
    /// `2^OWL_SHIFT` divided by the number of an owl's keys per tile, rounded up.
    pub owl_reciprocal: u64,
}

/// By number of moves. Each move of a shark or deer changes the colour of its tile, as on a
/// chessboard, so each layer holds about half of the tiles.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    /// The keys before the first move. `None` if `layers[0]` holds them.
    pub first: Option<Vec<u32>>,
    /// For each number of moves, the keys. `first` is not counted.
    pub layers: Vec<Vec<u32>>,
    /// After the last layer, the sequence of layers continues from this index.
    pub repeats_from: usize,
}

impl Closure {
    /// Maximum number of layers found step by step. The layer after them holds all possible keys.
    pub const LAYERS_MAX: usize = 256;

    pub fn after(&self, moves: usize) -> &[u32] {
        let moves = match &self.first {
            Some(first) if moves == 0 => return first,
            Some(_) => moves - 1,
            None => moves,
        };
        let period = self.layers.len() - self.repeats_from;
        let layer =
            if moves < self.layers.len() { moves } else { self.repeats_from + (moves - self.repeats_from) % period };
        &self.layers[layer]
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub key: u32,
    pub draws: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Model<const N: usize> {
    pub board: Board<N>,
    pub rules: Rules,
    pub first_tick: usize,
    pub player: u16,
    pub times: Timetable<N>,
    pub paths: Paths<N>,
    pub hawks: Hawks,
    pub automata: Vec<Automaton<N>>,
    /// One per automaton, in the same order as `automata` and `closures`.
    pub origins: Vec<Origin>,
    pub closures: Vec<Closure>,
}

impl<const N: usize> Model<N> {
    #[inline]
    pub fn tiles(&self) -> usize {
        self.board.positions.len()
    }

    pub fn free_places(&self) -> Vec<TileSet<N>> {
        self.times.taken.iter().map(|taken| self.board.open.without(taken)).collect()
    }

    /// For each place, the player's distance in moves; `u32::MAX` if the place is out of reach.
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

    #[inline]
    pub fn key_in(&self, world: &World, state: &State, automaton: &Automaton<N>) -> u32 {
        let numbers = world.threat_numbers(state, automaton.index());
        let tile = u32::from(numbers.pose) / DIRECTIONS as u32;
        match automaton {
            Automaton::Chaser { style: Style::Deer, .. } => u32::from(numbers.pose),
            Automaton::Chaser { .. } => tile,
            Automaton::Owl { .. } => self.owl_key(tile, numbers.target.into(), state.tick().into()),
            Automaton::Hawk { .. } => {
                let memory = if usize::from(numbers.target) == self.tiles() {
                    self.idle_memory(numbers.idle_rounds)
                } else if numbers.is_post {
                    let post = self.hawks.posts.iter().position(|&post| post == numbers.target);
                    (self.tiles() + post.expect("hawks are sent to posts only")) as u32
                } else {
                    u32::from(numbers.target)
                };
                self.hawk_key(tile as usize, memory)
            }
        }
    }

    pub fn keys(&self, automaton: &Automaton<N>) -> usize {
        match automaton {
            Automaton::Chaser { branches, .. } => branches.len(),
            Automaton::Owl { .. } => self.tiles() * (self.tiles() + 1),
            Automaton::Hawk { .. } => self.tiles() << self.hawks.bits,
        }
    }

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
            Automaton::Hawk { .. } => key >> self.hawks.bits,
        }
    }

    /// True if an owl looks at its next move, which overwrites its memory.
    #[inline]
    pub fn forgets(&self, tick: usize) -> bool {
        self.times.owl_moves[tick] == 0
    }

    /// The key of an owl at the start of a tick. Only its moves until the next look matter, so the
    /// key holds the tile where they end, instead of the remembered tile. The shared paths to both
    /// tiles begin with the same moves.
    #[inline]
    pub fn owl_key(&self, tile: u32, remembered: u32, tick: usize) -> u32 {
        let row = self.tiles() as u32 + 1;
        if self.forgets(tick) {
            return tile * row + self.tiles() as u32;
        }
        let mut end = tile;
        for _ in 0..self.times.owl_moves[tick] {
            let next = u32::from(self.paths.next[(end * row + remembered) as usize]);
            if next == end {
                break;
            }
            end = next;
        }
        tile * row + end
    }

    #[inline]
    pub fn owl_tile(&self, key: u32) -> usize {
        // Division by `tiles + 1`. It is exact because keys are below the square of `tiles + 1`.
        ((u64::from(key) * self.paths.owl_reciprocal) >> OWL_SHIFT) as usize
    }

    /// The step of an owl that does not look. `forgets` is true if the owl looks at its next move.
    #[inline]
    pub fn owl_step(&self, key: u32, forgets: bool) -> u32 {
        let row = self.tiles() as u32 + 1;
        let remembered = if forgets { self.tiles() as u32 } else { key - self.owl_tile(key) as u32 * row };
        u32::from(self.paths.next[key as usize]) * row + remembered
    }
}
