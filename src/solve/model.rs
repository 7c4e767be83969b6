//! Automata: tables that give a threat's possible next keys for its current key and the player's
//! place.

use std::sync::Arc;

use super::combination::{Combination, DRAW_BITS, Memories, MemorySlots, Slot, put_widest_last};
use super::tiles::{Board, Branch, TileSet};
use crate::game::{FIRST_TICK, State, Style, World};

pub(super) const DIRECTIONS: usize = 4;
pub(super) const OWL_SHIFT: u32 = 42;
/// Maximum number of bits that the threats take in a combination.
const SLOT_BITS: u32 = 115;
/// Minimum bits for a hawk. The verifier needs this many.
const HAWK_BITS_MIN: u32 = 26;

/// The first and last number of a hawk's idle rounds. It is negative while the hawk rests on a post.
pub(super) const IDLE_FIRST: i8 = -5;
pub(super) const IDLE_LAST: i8 = 5;
pub(super) const POSTS_MAX: usize = 10;

/// The automaton of a threat that sees the player. `index` is the threat's index in the map.
#[derive(Clone, Debug)]
pub(super) enum Automaton<const N: usize> {
    /// A shark (keys are tiles) or a deer (keys are poses: `tile * DIRECTIONS + direction`).
    /// Branches depend on the player's place before the player's move. In tick 1, the threat does
    /// not see the player, and takes the branch that `first` holds for its key.
    Chaser { index: usize, style: Style, branches: Vec<Vec<Branch<N>>>, first: Vec<Branch<N>> },
    /// Keys are `tile * (tiles + 1) + end`, where `end` is the tile that the owl will have reached
    /// before its next look, or `tiles` if it looks when it next moves or does not move again.
    Owl { index: usize },
    /// Keys are `tile << bits | memory`, with `bits` from [`Hawks`]. The memory is the tile where
    /// the hawk last saw the player, its post, its number of idle rounds, or a set of such
    /// memories.
    Hawk { index: usize },
}

impl<const N: usize> Automaton<N> {
    pub fn index(&self) -> usize {
        match *self {
            Self::Chaser { index, .. } | Self::Owl { index } | Self::Hawk { index } => index,
        }
    }

    /// Returns no branches for owls and hawks. `tick` must be a tick in which threats move.
    #[inline]
    pub fn branches(&self, tick: usize, key: u32) -> &[Branch<N>] {
        match self {
            Self::Chaser { first, .. } if tick == usize::from(FIRST_TICK) => std::slice::from_ref(&first[key as usize]),
            Self::Chaser { branches, .. } => &branches[key as usize],
            Self::Owl { .. } | Self::Hawk { .. } => &[],
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Hawks {
    pub posts: Vec<u16>,
    /// For each number of draws so far, the index of the post that a hawk draws next.
    pub picks: Vec<u8>,
    pub memories: Arc<Memories>,
    /// The number of bits of a memory in a hawk's key; 0 until all memories have been found.
    pub bits: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Timetable<const N: usize> {
    pub first_tick: usize,
    /// The first tick from which threats move in every tick.
    pub always_from: usize,
    pub moves: Vec<bool>,
    /// For each tick: how often threats move before it, from the model's first tick on.
    pub moves_before: Vec<usize>,
    /// For each tick: true if owls look at the player when they move in this tick.
    pub looks: Vec<bool>,
    /// For each tick: how often an owl moves, from this tick on, before it looks again or the game
    /// ends.
    pub owl_moves: Vec<u16>,
    /// For each tick: the places of bulls and goldfish at its start.
    pub taken: Vec<TileSet<N>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Paths<const N: usize> {
    /// At index `tile * (tiles + 1) + target`: the next tile of the shared path to `target`, or
    /// `tile` if the threat has no step to make.
    pub next: Vec<u16>,
    pub owl_branches: Vec<Vec<Branch<N>>>,
    /// For each tile, the places that a hawk on this tile sees.
    pub sees: Vec<TileSet<N>>,
    /// `2^OWL_SHIFT / (tiles + 1)`, rounded up.
    pub owl_reciprocal: u64,
}

/// At index `[tick][key]`: the places from which the player can survive a shark until the target.
pub(super) type Projection<const N: usize> = Vec<Vec<TileSet<N>>>;

/// The keys that a threat can have after each number of moves. Each step of a shark or deer leads
/// to a tile of the other chessboard colour, so a layer usually holds about half of the threat's
/// keys or fewer.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    /// For a shark or deer whose first move is in tick 1: the keys before this move.
    pub first: Option<Vec<u32>>,
    /// The keys after each number of moves: from 0 moves on, or from 1 on if `first` is present.
    pub layers: Vec<Vec<u32>>,
    /// The layers from this index on repeat after the last layer.
    pub repeats_from: usize,
}

impl Closure {
    /// After this many layers without repetition, a last layer holds all keys that can occur later.
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

/// The key and the number of draws of a threat at the model's first tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub key: u32,
    pub draws: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Model<const N: usize> {
    pub board: Board<N>,
    pub times: Timetable<N>,
    pub paths: Paths<N>,
    pub hawks: Hawks,
    pub automata: Vec<Automaton<N>>,
    pub origins: Vec<Origin>,
    pub closures: Vec<Closure>,
    /// One slot per automaton, without those that do not fit into a combination.
    pub slots: Vec<Slot>,
}

/// The inputs of a step of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepContext<'a, const N: usize> {
    pub model: &'a Model<N>,
    pub slots: &'a [Slot],
    pub tick: usize,
    /// The places to which the player may move (see [`Model::landing`]).
    pub landing: TileSet<N>,
    pub projections: &'a [Projection<N>],
}

impl<const N: usize> Model<N> {
    #[inline]
    pub fn tiles(&self) -> usize {
        self.board.positions.len()
    }

    pub fn free_places(&self) -> Vec<TileSet<N>> {
        self.times.taken.iter().map(|taken| self.board.open.without(taken)).collect()
    }

    /// Returns `None` for a hawk whose post is not in `posts`. Only states built by hand have such
    /// hawks.
    #[inline]
    pub fn key_in(&self, world: &World, state: &State, automaton: &Automaton<N>) -> Option<u32> {
        let numbers = world.threat_numbers(state, automaton.index());
        let tile = u32::from(numbers.pose) / DIRECTIONS as u32;
        Some(match automaton {
            Automaton::Chaser { style: Style::Deer, .. } => u32::from(numbers.pose),
            Automaton::Chaser { .. } => tile,
            Automaton::Owl { .. } => self.owl_key(tile, numbers.target.into(), state.tick().into()),
            Automaton::Hawk { .. } => {
                let memory = if usize::from(numbers.target) == self.tiles() {
                    self.idle_memory(numbers.idle_rounds)
                } else if numbers.is_post {
                    let post = self.hawks.posts.iter().position(|&post| post == numbers.target)?;
                    (self.tiles() + post) as u32
                } else {
                    u32::from(numbers.target)
                };
                self.hawk_key(tile as usize, memory)
            }
        })
    }

    pub fn keys(&self, automaton: &Automaton<N>) -> usize {
        match automaton {
            Automaton::Chaser { branches, .. } => branches.len(),
            Automaton::Owl { .. } => self.tiles() * (self.tiles() + 1),
            Automaton::Hawk { .. } => self.tiles() << self.hawks.bits,
        }
    }

    /// Returns true if the key lies within the tables, so that looking up its next keys cannot
    /// panic.
    pub fn has_key(&self, automaton: &Automaton<N>, key: u32) -> bool {
        let is_hawk = matches!(automaton, Automaton::Hawk { .. });
        let has_memory = || self.has_memory(self.hawk_tile(key), (key & self.memory_mask()) as usize);
        (key as usize) < self.keys(automaton) && (!is_hawk || has_memory())
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

    /// True if owls look when they next move, in or after `tick`, or if they do not move again. A
    /// look overwrites their memory.
    #[inline]
    pub fn forgets(&self, tick: usize) -> bool {
        self.times.owl_moves[tick] == 0
    }

    /// Returns the key of an owl at the start of a tick. Only the owl's moves before its next look
    /// matter, so the key holds the tile where they end instead of the remembered tile. The shared
    /// paths to these two tiles begin with the same moves.
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
        // Equals `key / (tiles + 1)`: keys are below `(tiles + 1)^2 < 2^OWL_SHIFT / (tiles + 1)`.
        ((u64::from(key) * self.paths.owl_reciprocal) >> OWL_SHIFT) as usize
    }

    /// Moves an owl that does not look. `forgets` is the result of [`Self::forgets`] for the next
    /// tick.
    #[inline]
    pub fn owl_step(&self, key: u32, forgets: bool) -> u32 {
        let row = self.tiles() as u32 + 1;
        let remembered = if forgets { self.tiles() as u32 } else { key - self.owl_tile(key) as u32 * row };
        u32::from(self.paths.next[key as usize]) * row + remembered
    }

    pub fn hawk_key(&self, tile: usize, memory: u32) -> u32 {
        (tile as u32) << self.hawks.bits | memory
    }

    pub fn idle_memory(&self, rounds: i8) -> u32 {
        (self.tiles() + POSTS_MAX) as u32 + (rounds - IDLE_FIRST) as u32
    }

    #[inline]
    pub fn hawk_tile(&self, key: u32) -> usize {
        (key >> self.hawks.bits) as usize
    }

    pub fn has_memory(&self, tile: usize, memory: usize) -> bool {
        match memory.checked_sub(self.exact_memories()) {
            Some(set) => set * self.tiles() + tile < self.hawks.memories.rows.len(),
            None => memory < self.tiles() + self.hawks.posts.len() || memory >= self.tiles() + POSTS_MAX,
        }
    }

    pub fn exact_memories(&self) -> usize {
        self.tiles() + POSTS_MAX + (IDLE_LAST - IDLE_FIRST) as usize + 1
    }

    pub fn part_of(&self, slot: &Slot, world: &World, state: &State) -> Combination {
        let automaton = &self.automata[slot.automaton];
        let draws_since = || world.threat(state, automaton.index()).draws - self.origins[slot.automaton].draws;
        // Without posts, draws have no effect and are not counted.
        let draws = || if self.hawks.posts.is_empty() { 0 } else { draws_since() };
        let key = self.key_in(world, state, automaton).expect("hawks are sent to posts only");
        slot.place(key) | slot.draws_place(draws)
    }

    /// Returns the slots in a mask, the widest last. Draws are counted if the mask has their bits.
    pub fn slots_in(&self, mask: Combination) -> Vec<Slot> {
        let slots = self.slots.iter().filter(|slot| slot.mask() & mask != 0);
        let counted = |slot: &Slot| match slot.draws_mask() & mask {
            0 => *slot,
            _ => slot.counting(self.origins[slot.automaton].draws),
        };
        let mut slots: Vec<Slot> = slots.map(counted).collect();
        put_widest_last(&mut slots);
        slots
    }

    /// Returns two masks: the bits of all threats' keys, and the bits of all hawks' draw counts.
    pub fn masks(&self) -> (Combination, Combination) {
        let bits = self.slots.iter().map(|slot| (slot.mask(), slot.draws_mask()));
        bits.fold((0, 0), |(all, draws), (own, own_draws)| (all | own, draws | own_draws))
    }

    pub fn memory_slots(&self, mask: Combination) -> MemorySlots {
        MemorySlots::new(&self.hawks.memories, &self.slots, mask)
    }

    /// Returns each key that a threat can have in a tick (see [`Closure`]).
    pub fn closure(&self, slot: Slot, tick: usize) -> &[u32] {
        self.closures[slot.automaton].after(self.times.moves_before[tick])
    }

    /// True if one combination cannot hold the keys of all threats.
    pub fn has_excess_threats(&self) -> bool {
        self.slots.len() < self.automata.len()
    }

    pub fn add_slots(&mut self) {
        let mut shift = 0;
        for (automaton, kind) in self.automata.iter().enumerate() {
            let bits = usize::BITS - self.keys(kind).leading_zeros();
            let is_hawk = matches!(kind, Automaton::Hawk { .. });
            let needed = if is_hawk { (bits + DRAW_BITS).max(HAWK_BITS_MIN) } else { bits };
            if shift + needed <= SLOT_BITS {
                let memory_bits = if is_hawk { Combination::from(self.memory_mask()) << shift } else { 0 };
                let draws_shift = is_hawk.then_some(shift + bits);
                self.slots.push(Slot { automaton, shift, bits, memory_bits, draws_shift, draws: None });
                shift += needed;
            }
        }
    }

    /// Returns the mask of the memory in a hawk's key. No memory has all of these bits set.
    pub fn memory_mask(&self) -> u32 {
        (1 << self.hawks.bits) - 1
    }
}
