//! Combinations of keys. If a combination omits a threat, the threat's bits are 0.

use std::sync::Arc;

pub(super) type Combination = u128;

/// The bits of one threat in a combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub automaton: usize,
    pub shift: u32,
    pub bits: u32,
    pub memory_bits: Combination,
    /// For a hawk: the lowest bit of its number of draws since the model's first tick.
    pub draws_shift: Option<u32>,
    /// For a hawk whose draws are counted: its number of draws before the model's first tick.
    pub draws: Option<u16>,
}

/// Bits of a hawk's number of draws since the first tick. On a map with posts, under the server's
/// rules, a hawk draws fewer than 200 times per game: it makes fewer than 1,400 moves, and at least
/// seven per draw.
pub(super) const DRAW_BITS: u32 = 8;

impl Slot {
    #[inline]
    pub fn key(&self, combination: Combination) -> u32 {
        (combination >> self.shift & ((1 << self.bits) - 1)) as u32
    }

    #[inline]
    pub fn place(&self, key: u32) -> Combination {
        Combination::from(key) << self.shift
    }

    #[inline]
    pub fn counted_bits(&self) -> u32 {
        self.bits + if self.draws.is_some() { DRAW_BITS } else { 0 }
    }

    /// Returns the *counted key*: the threat's key and, above it, its draw count if draws are
    /// counted.
    #[inline]
    pub fn counted_key(&self, combination: Combination) -> u32 {
        (combination >> self.shift) as u32 & ((1 << self.counted_bits()) - 1)
    }

    #[inline]
    pub fn key_of(&self, counted: u32) -> u32 {
        counted & ((1 << self.bits) - 1)
    }

    pub fn mask(&self) -> Combination {
        ((1 << self.bits) - 1) << self.shift
    }

    /// Returns a hawk's draw count since the first tick, shifted to its bits; 0 for other threats.
    #[inline]
    pub fn draws_place(&self, draws: impl FnOnce() -> u16) -> Combination {
        self.draws_shift.map_or(0, |shift| Combination::from(draws()) << shift)
    }

    pub fn draws_mask(&self) -> Combination {
        self.draws_shift.map_or(0, |shift| ((1 << DRAW_BITS) - 1) << shift)
    }

    pub fn counted_mask(&self) -> Combination {
        self.mask() | if self.draws.is_some() { self.draws_mask() } else { 0 }
    }

    pub fn counting(self, at_root: u16) -> Self {
        Self { draws: self.draws_shift.map(|_| at_root), ..self }
    }
}

/// The bits of a combination that hold memories of hawks. A memory may be a set of exact memories.
#[derive(Clone, Debug, Default)]
pub(super) struct MemorySlots {
    slots: Vec<(u32, Combination)>,
    memories: Arc<Memories>,
}

impl MemorySlots {
    /// Omits hawks whose draws `mask` includes, because their memories are exact.
    pub fn new(memories: &Arc<Memories>, slots: &[Slot], mask: Combination) -> Self {
        let slots = slots.iter().filter(|slot| slot.memory_bits & mask != 0 && slot.draws_mask() & mask == 0);
        Self { slots: slots.map(|slot| (slot.shift, slot.memory_bits)).collect(), memories: memories.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Sets all bits of each memory, so combinations that differ only in memories become equal.
    #[inline]
    pub fn without(&self, key: Combination) -> Combination {
        self.slots.iter().fold(key, |key, (_, bits)| key | bits)
    }

    /// True if two combinations that differ only in memories can stand for the same game state.
    #[inline]
    pub fn overlap(&self, one: Combination, other: Combination) -> bool {
        let memory = |key: Combination, &(shift, bits): &(u32, Combination)| ((key & bits) >> shift) as u32;
        self.slots.iter().all(|slot| self.memories.overlap(memory(one, slot), memory(other, slot)))
    }
}

pub(super) fn put_widest_last(slots: &mut [Slot]) {
    slots.sort_by_key(|slot| slot.bits);
}

pub(super) fn run_mask(slots: &[Slot], mask: Combination) -> Combination {
    let widest = slots.iter().filter(|slot| slot.mask() & mask != 0).max_by_key(|slot| slot.bits);
    widest.map_or(0, |slot| (slot.mask() | slot.draws_mask()) & mask)
}

/// The numbered memories of hawks. The lowest numbers are *exact* memories: a tile, a post or a
/// number of idle rounds. The others are sets: the exact memories that fit a hawk's moves since it
/// joined a layer or drew a post. Without these sets, a hawk whose memory is unknown could wait
/// longer than in the game, or turn back on its way to a post.
#[derive(Clone, Debug, Default)]
pub(super) struct Memories {
    pub tiles: usize,
    pub exact: usize,
    pub words: usize,
    /// For each memory, its exact memories as a bit set of `words` words.
    pub sets: Vec<u64>,
    /// For each tile, the memory that stands for all memories that a hawk on the tile can have.
    pub on: Vec<u16>,
    /// The memory of a hawk that has drawn a post; it stands for all posts.
    pub any_post: usize,
    /// At index `(set - exact) * tiles + tile`: the range of the next tiles and memories in `next`.
    pub rows: Vec<(u32, u32)>,
    pub next: Vec<(u16, u16)>,
}

impl Memories {
    /// Maximum number of memories, unless the exact memories, `on` and `any_post` already exceed
    /// it. Beyond the maximum, memories in `on` replace new sets.
    pub const MAX: usize = 1 << 12;

    pub fn set(&self, memory: usize) -> &[u64] {
        &self.sets[memory * self.words..][..self.words]
    }

    #[inline]
    pub fn overlap(&self, one: u32, other: u32) -> bool {
        one == other || {
            let (one, other) = (self.set(one as usize), self.set(other as usize));
            one.iter().zip(other).any(|(one, other)| one & other != 0)
        }
    }

    pub fn successors(&self, memory: usize, tile: usize) -> &[(u16, u16)] {
        let (start, end) = self.rows[(memory - self.exact) * self.tiles + tile];
        &self.next[start as usize..end as usize]
    }
}
