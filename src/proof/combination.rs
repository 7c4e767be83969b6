//! Combinations of keys. If a combination omits a threat, the threat's bits are 0.

use std::sync::Arc;

use super::memories::Memories;
use super::model::{Automaton, Model};
use crate::game::{State, World};

pub(super) type Combination = u128;

/// The bits of one threat in a combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub automaton: usize,
    pub shift: u32,
    pub bits: u32,
    memory_bits: Combination,
    /// For a hawk: the lowest bit of its number of draws since the model's first tick.
    draws_shift: Option<u32>,
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
    fn draws_place(&self, draws: impl FnOnce() -> u16) -> Combination {
        self.draws_shift.map_or(0, |shift| Combination::from(draws()) << shift)
    }

    pub fn draws_mask(&self) -> Combination {
        self.draws_shift.map_or(0, |shift| ((1 << DRAW_BITS) - 1) << shift)
    }

    pub fn counted_mask(&self) -> Combination {
        self.mask() | if self.draws.is_some() { self.draws_mask() } else { 0 }
    }

    pub fn part_of<const N: usize>(&self, model: &Model<N>, world: &World, state: &State) -> Combination {
        let automaton = &model.automata[self.automaton];
        let draws_since = || world.threat(state, automaton.index()).draws - model.origins[self.automaton].draws;
        // Without posts, draws have no effect and are not counted.
        let draws = || if model.hawks.posts.is_empty() { 0 } else { draws_since() };
        self.place(model.key_in(world, state, automaton)) | self.draws_place(draws)
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

/// Maximum number of bits that the threats take in a combination.
const SLOT_BITS: u32 = 115;
/// Minimum bits for a hawk. The verifier needs this many.
const HAWK_BITS_MIN: u32 = 26;

/// Returns slots for the automata. Omits those that do not fit into the remaining bits.
pub(super) fn slots_of<const N: usize>(model: &Model<N>) -> Vec<Slot> {
    let mut shift = 0;
    let mut slots = Vec::new();
    for (automaton, kind) in model.automata.iter().enumerate() {
        let bits = usize::BITS - model.keys(kind).leading_zeros();
        let is_hawk = matches!(kind, Automaton::Hawk { .. });
        let needed = if is_hawk { (bits + DRAW_BITS).max(HAWK_BITS_MIN) } else { bits };
        if shift + needed <= SLOT_BITS {
            let memory_bits = if is_hawk { Combination::from(model.memory_mask()) << shift } else { 0 };
            let draws_shift = is_hawk.then_some(shift + bits);
            slots.push(Slot { automaton, shift, bits, memory_bits, draws_shift, draws: None });
            shift += needed;
        }
    }
    slots
}

pub(super) fn put_widest_last(slots: &mut [Slot]) {
    slots.sort_by_key(|slot| slot.bits);
}

pub(super) fn run_mask(slots: &[Slot], mask: Combination) -> Combination {
    let widest = slots.iter().filter(|slot| slot.mask() & mask != 0).max_by_key(|slot| slot.bits);
    widest.map_or(0, |slot| (slot.mask() | slot.draws_mask()) & mask)
}
