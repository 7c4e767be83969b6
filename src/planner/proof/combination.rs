//! Combinations of the keys of some threats: each has its own bits, which are the same in every layer.
//! A threat is left out by clearing its bits.

use std::sync::Arc;

use super::model::{Automaton, Memories, Model};
use crate::game::{State, World};

/// The keys of some threats, each at its own bits.
pub(super) type Combination = u128;

/// The position of a threat's key in a combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The automaton's index in the model.
    pub automaton: usize,
    pub shift: u32,
    pub bits: u32,
    /// The bits of a memory of which only a part may be known; none for most threats.
    memory_bits: Combination,
    /// For a hawk: the position of the number of its random draws since the root.
    draws_shift: Option<u32>,
    /// For a hawk whose draws are counted: how many it had made at the root. Otherwise a draw counts
    /// as any.
    pub draws: Option<u16>,
}

/// Bits of a hawk's number of draws since the root: a hawk moves at most 1,300 times in a game, and
/// at least seven times for a draw.
const DRAW_BITS: u32 = 8;

impl Slot {
    /// The threat's key.
    #[inline]
    pub fn key(&self, combination: Combination) -> u32 {
        (combination >> self.shift & ((1 << self.bits) - 1)) as u32
    }

    /// The key at its place.
    #[inline]
    pub fn place(&self, key: u32) -> Combination {
        Combination::from(key) << self.shift
    }

    /// The bits of the key, and of a hawk's number of draws if they are counted.
    #[inline]
    pub fn own_bits(&self) -> u32 {
        self.bits + if self.draws.is_some() { DRAW_BITS } else { 0 }
    }

    /// The threat's key, and above it a hawk's number of draws if they are counted.
    #[inline]
    pub fn own(&self, combination: Combination) -> u32 {
        (combination >> self.shift) as u32 & ((1 << self.own_bits()) - 1)
    }

    /// The key in such a number.
    #[inline]
    pub fn own_key(&self, own: u32) -> u32 {
        own & ((1 << self.bits) - 1)
    }

    /// The bits of the slot.
    pub fn mask(&self) -> Combination {
        ((1 << self.bits) - 1) << self.shift
    }

    /// A hawk's number of draws since the root at its place; other threats have none.
    #[inline]
    fn draws_place(&self, draws: impl FnOnce() -> u16) -> Combination {
        self.draws_shift.map_or(0, |shift| Combination::from(draws()) << shift)
    }

    /// The bits of a hawk's number of draws; none for other threats.
    pub fn draws_mask(&self) -> Combination {
        self.draws_shift.map_or(0, |shift| ((1 << DRAW_BITS) - 1) << shift)
    }

    /// The bits of the threat's key, with a hawk's number of draws if they are counted.
    pub fn own_mask(&self) -> Combination {
        self.mask() | if self.draws.is_some() { self.draws_mask() } else { 0 }
    }

    /// The threat's part of the combination of a state, a hawk's draws since the first tick included.
    pub fn part_of<const N: usize>(&self, model: &Model<N>, world: &World, state: &State) -> Combination {
        let automaton = &model.automata[self.automaton];
        // Without posts, a hawk's draws do not matter and are not counted.
        let draws_since = || world.threat(state, automaton.index()).draws - model.start_draws[self.automaton];
        let draws = || if model.posts.is_empty() { 0 } else { draws_since() };
        self.place(model.key_in(world, state, automaton)) | self.draws_place(draws)
    }

    /// The slot with a hawk's draws counted as the game does: a random pick is then the one that it
    /// makes. `at_root` is the number that it had made at the root.
    pub fn counting(self, at_root: u16) -> Self {
        Self { draws: self.draws_shift.map(|_| at_root), ..self }
    }
}

/// The memories in a combination of which only a part may be known.
#[derive(Clone, Debug, Default)]
pub(super) struct MemorySlots {
    /// The position of each, and its bits.
    slots: Vec<(u32, Combination)>,
    memories: Arc<Memories>,
}

impl MemorySlots {
    /// Those in a mask. Where draws are counted, memories are fully known.
    pub fn new(memories: &Arc<Memories>, slots: &[Slot], mask: Combination) -> Self {
        let slots = slots.iter().filter(|slot| slot.memory_bits & mask != 0 && slot.draws_mask() & mask == 0);
        Self { slots: slots.map(|slot| (slot.shift, slot.memory_bits)).collect(), memories: memories.clone() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The combination with every memory left out.
    #[inline]
    pub fn without(&self, key: Combination) -> Combination {
        self.slots.iter().fold(key, |key, (_, bits)| key | bits)
    }

    /// Whether two combinations that differ only in memories can stand for the same state.
    #[inline]
    pub fn overlap(&self, one: Combination, other: Combination) -> bool {
        let memory = |key: Combination, &(shift, bits): &(u32, Combination)| ((key & bits) >> shift) as u32;
        self.slots.iter().all(|slot| self.memories.overlap(memory(one, slot), memory(other, slot)))
    }
}

/// Bits of a combination that threats share. The verifier needs the others for the player.
const SLOT_BITS: u32 = 115;
/// The fewest bits of a hawk: the verifier needs as many.
const HAWK_BITS_MIN: u32 = 26;

/// A slot for each automaton in this order that still fits, with room for the draws of hawks.
pub(super) fn slots_of<const N: usize>(model: &Model<N>, order: &[usize]) -> Vec<Slot> {
    let mut shift = 0;
    let mut slots = Vec::new();
    for &automaton in order {
        let bits = usize::BITS - model.keys(&model.automata[automaton]).leading_zeros();
        let is_hawk = matches!(model.automata[automaton], Automaton::Hawk { .. });
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

/// Puts the threat with the most keys last: combinations that differ only in its key form a run.
pub(super) fn put_widest_last(slots: &mut [Slot]) {
    slots.sort_by_key(|slot| slot.bits);
}

/// The bits in which the combinations of a run differ, for the threats whose bits are in a mask.
pub(super) fn run_mask(slots: &[Slot], mask: Combination) -> Combination {
    let widest = slots.iter().filter(|slot| slot.mask() & mask != 0).max_by_key(|slot| slot.bits);
    widest.map_or(0, |slot| (slot.mask() | slot.draws_mask()) & mask)
}
