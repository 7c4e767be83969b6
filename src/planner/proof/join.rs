//! Several threats at once: layers of the states in which the player can be, for each combination
//! of their keys.
//!
//! A combination holds the keys of some threats, each at its own bits, which are the same in every
//! layer: a threat is left out by clearing its bits.
//!
//! Combinations that differ only in the key of one threat, the one with the most keys, stand side by
//! side in a layer, a *run*: what the other threats do is found once for all of them, and their
//! successors are looked up in the same small part of the next layer.

#[cfg(test)]
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::model::{Automaton, Memories, Model};
use super::projection::Projection;
use super::tile_set::TileSet;
use crate::search::BudgetMeter;

/// Combinations between two checks of the budget: about a hundred microseconds.
pub(super) const CHUNK: usize = 512;
/// Combinations followed between two checks.
const FOLLOWED_SLICE: usize = 2 * CHUNK;

/// The keys of some threats, each at its own bits.
pub(super) type Combination = u128;

/// The position of a threat's key in a combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The automaton's index in the model.
    pub automaton: usize,
    shift: u32,
    bits: u32,
    /// The bits of a memory of which only a part may be known; none for most threats.
    memory_bits: Combination,
    /// For a hawk: the position of the number of its random draws since the root.
    draws_shift: Option<u32>,
    /// For a hawk whose draws are counted: how many it had made at the root. Otherwise a draw counts
    /// as any.
    draws: Option<u16>,
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
    fn own_bits(&self) -> u32 {
        self.bits + if self.draws.is_some() { DRAW_BITS } else { 0 }
    }

    /// The threat's key, and above it a hawk's number of draws if they are counted.
    #[inline]
    fn own(&self, combination: Combination) -> u32 {
        (combination >> self.shift) as u32 & ((1 << self.own_bits()) - 1)
    }

    /// The key in such a number.
    #[inline]
    fn own_key(&self, own: u32) -> u32 {
        own & ((1 << self.bits) - 1)
    }

    /// The bits of the slot.
    pub fn mask(&self) -> Combination {
        ((1 << self.bits) - 1) << self.shift
    }

    /// A hawk's number of draws since the root at its place; other threats have none.
    #[inline]
    pub fn draws_place(&self, draws: impl FnOnce() -> u16) -> Combination {
        self.draws_shift.map_or(0, |shift| Combination::from(draws()) << shift)
    }

    /// The bits of a hawk's number of draws; none for other threats.
    pub fn draws_mask(&self) -> Combination {
        self.draws_shift.map_or(0, |shift| ((1 << DRAW_BITS) - 1) << shift)
    }

    /// The bits of the threat's key, with a hawk's number of draws if they are counted.
    fn own_mask(&self) -> Combination {
        self.mask() | if self.draws.is_some() { self.draws_mask() } else { 0 }
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

    /// The combination with every memory left out.
    #[inline]
    fn without(&self, key: Combination) -> Combination {
        self.slots.iter().fold(key, |key, (_, bits)| key | bits)
    }

    /// Whether two combinations that differ only in memories can stand for the same state.
    #[inline]
    fn overlap(&self, one: Combination, other: Combination) -> bool {
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

/// The states of a tick: for each combination of keys, the places of the player.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer<const N: usize> {
    /// Distinct combinations.
    pub keys: Vec<Combination>,
    /// For each of them the places, at least one.
    pub sets: Vec<TileSet<N>>,
}

impl<const N: usize> Layer<N> {
    /// Bytes of a combination with its places.
    pub const KEY_BYTES: usize = size_of::<Combination>() + size_of::<TileSet<N>>();

    /// The number of combinations.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no state is left.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The number of states.
    pub fn states(&self) -> u64 {
        self.sets.iter().map(|set| u64::from(set.len())).sum()
    }

    /// Every place that occurs in a state.
    pub fn places(&self) -> TileSet<N> {
        self.sets.iter().fold(TileSet::EMPTY, |any, set| any.or(set))
    }

    /// Keeps the first combinations.
    pub fn truncate(&mut self, len: usize) {
        self.keys.truncate(len);
        self.sets.truncate(len);
    }

    /// Removes everything but keeps the allocation.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.sets.clear();
    }

    fn push(&mut self, key: Combination, set: TileSet<N>) {
        self.keys.push(key);
        self.sets.push(set);
    }

    /// Restricts the places of each combination to those that `keep` returns.
    pub fn retain(&mut self, mut keep: impl FnMut(Combination) -> TileSet<N>) {
        let mut kept = 0;
        for place in 0..self.keys.len() {
            let set = self.sets[place].and(&keep(self.keys[place]));
            if !set.is_empty() {
                (self.keys[kept], self.sets[kept]) = (self.keys[place], set);
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// The end of the run that begins at a place: the combinations that differ only in these bits.
    fn run_end(&self, start: usize, run_mask: Combination, end: usize) -> usize {
        let rest = self.keys[start] & !run_mask;
        (start + 1..end).find(|&place| self.keys[place] & !run_mask != rest).unwrap_or(end)
    }

    /// Puts the combinations of each run side by side, in ascending order.
    pub fn arrange(&mut self, run_mask: Combination) {
        let rank = |key: Combination| (key & !run_mask, key);
        if self.keys.is_sorted_by_key(|&key| rank(key)) {
            return;
        }
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by_key(|&place| rank(self.keys[place as usize]));
        self.keys = order.iter().map(|&place| self.keys[place as usize]).collect();
        self.sets = order.iter().map(|&place| self.sets[place as usize]).collect();
    }

    /// Adds a threat in each of these keys, with the places from which the player can survive
    /// against it; `None` if there would be more than `max_len` combinations.
    pub fn widen(&self, slot: Slot, keys: &[(u32, TileSet<N>)], max_len: usize) -> Option<Self> {
        let mut wide = Self::default();
        for (&key, set) in self.keys.iter().zip(&self.sets) {
            for (own, lives) in keys {
                let set = set.and(lives);
                if set.is_empty() {
                    continue;
                }
                if wide.len() == max_len {
                    return None;
                }
                wide.push(key | slot.place(*own), set);
            }
        }
        Some(wide)
    }
}

/// A layer with an index for lookups.
#[derive(Debug, Default)]
pub(super) struct Lookup<const N: usize> {
    layer: Layer<N>,
    runs: Runs,
    /// Where combinations can stand for the same state without being equal.
    chains: Option<Chains>,
}

/// The runs of a layer whose combinations are in order.
#[derive(Debug, Default)]
struct Runs {
    /// The bits in which the combinations of a run differ.
    mask: Combination,
    index: Index,
    /// What the combinations of each run have in common, and where the run ends.
    keys: Vec<Combination>,
    ends: Vec<u32>,
}

impl Runs {
    fn new(keys: &[Combination], mask: Combination) -> Self {
        let mut runs = Self { mask, ..Self::default() };
        runs.index.clear(0);
        for (place, key) in keys.iter().enumerate() {
            let rest = key & !mask;
            if runs.keys.last() == Some(&rest) {
                *runs.ends.last_mut().expect("one for each run") = place as u32 + 1;
            } else {
                runs.index.place(rest, &mut runs.keys);
                runs.ends.push(place as u32 + 1);
            }
        }
        runs.keys.shrink_to_fit();
        runs.ends.shrink_to_fit();
        runs
    }

    /// The places of the run that has this in common; none if there is no such run.
    #[inline]
    fn find(&self, rest: Combination) -> Range<usize> {
        match self.index.find(rest, &self.keys) {
            Ok(run) => {
                let start = run.checked_sub(1).map_or(0, |before| self.ends[before]);
                start as usize..self.ends[run] as usize
            }
            Err(_) => 0..0,
        }
    }

    fn bytes(&self) -> usize {
        self.keys.len() * (size_of::<Combination>() + size_of::<u32>()) + self.index.bytes()
    }
}

/// The combinations of a layer that are equal in some bits but for their memories.
#[derive(Debug)]
struct Chains {
    /// The first combination of each chain.
    entries: Vec<u32>,
    /// The bits by which combinations are looked up.
    mask: Combination,
    memories: MemorySlots,
    /// By combination, the next one of its chain.
    next: Vec<u32>,
}

impl Chains {
    const FREE: u32 = u32::MAX;

    fn new(keys: &[Combination], mask: Combination, memories: MemorySlots) -> Self {
        let entries = vec![Self::FREE; (3 * keys.len() / 2 + 1).next_power_of_two()];
        let mut chains = Self { entries, mask, memories, next: vec![Self::FREE; keys.len()] };
        for (place, &key) in keys.iter().enumerate() {
            let at = chains.entry(chains.coarse(key), keys);
            chains.next[place] = std::mem::replace(&mut chains.entries[at], place as u32);
        }
        chains
    }

    /// What the combinations of a chain have in common.
    #[inline]
    fn coarse(&self, key: Combination) -> Combination {
        self.memories.without(key & self.mask)
    }

    /// The entry of what the combinations of a chain have in common, or the free one for it.
    #[inline]
    fn entry(&self, key: Combination, keys: &[Combination]) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = hash(key) & mask;
        loop {
            match self.entries[at] {
                Self::FREE => return at,
                place if self.coarse(keys[place as usize]) == key => return at,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The places of every combination that can stand for the same state of the game as this one in
    /// the bits by which they are looked up.
    fn matches(&self, key: Combination, keys: &[Combination]) -> impl Iterator<Item = usize> {
        let first = self.entries[self.entry(self.coarse(key), keys)];
        let next = |&at: &u32| Some(self.next[at as usize]).filter(|&at| at != Self::FREE);
        let places = std::iter::successors(Some(first).filter(|&at| at != Self::FREE), next);
        places.map(|at| at as usize).filter(move |&at| self.memories.overlap(key, keys[at]))
    }

    fn bytes(&self) -> usize {
        (self.entries.len() + self.next.len()) * size_of::<u32>()
    }
}

impl<const N: usize> Lookup<N> {
    /// `run_mask` is that of the layer's threats.
    pub fn new(mut layer: Layer<N>, run_mask: Combination, memories: MemorySlots) -> Self {
        layer.arrange(run_mask);
        layer.keys.shrink_to_fit();
        layer.sets.shrink_to_fit();
        let runs = Runs::new(&layer.keys, run_mask);
        let chains = (!memories.slots.is_empty()).then(|| Chains::new(&layer.keys, Combination::MAX, memories));
        Self { layer, runs, chains }
    }

    pub fn layer(&self) -> &Layer<N> {
        &self.layer
    }

    /// The bytes in use.
    pub fn bytes(&self) -> usize {
        let chains = self.chains.as_ref().map_or(0, Chains::bytes);
        self.layer.len() * Layer::<N>::KEY_BYTES + self.runs.bytes() + chains
    }

    /// The places of the combinations that can stand for the same state of the game as this one.
    pub fn places(&self, key: Combination) -> TileSet<N> {
        Cursor::new(self).places(key)
    }
}

/// Looks up one combination after the other, often of the same run.
#[derive(Debug)]
pub(super) struct Cursor<'a, const N: usize> {
    lookup: &'a Lookup<N>,
    /// The last combination, and its places.
    last: Option<(Combination, TileSet<N>)>,
    /// What the last run has in common, and its places in the layer.
    run: Option<(Combination, Range<usize>)>,
    /// The place in the layer after the one that was found last.
    next: usize,
}

impl<'a, const N: usize> Cursor<'a, N> {
    pub fn new(lookup: &'a Lookup<N>) -> Self {
        Self { lookup, last: None, run: None, next: 0 }
    }

    /// The places of the combinations that can stand for the same state of the game as this one.
    #[inline]
    pub fn places(&mut self, key: Combination) -> TileSet<N> {
        if let Some((last, places)) = &self.last
            && *last == key
        {
            return *places;
        }
        let layer = &self.lookup.layer;
        let places = if let Some(chains) = &self.lookup.chains {
            let matches = chains.matches(key, &layer.keys);
            matches.fold(TileSet::EMPTY, |places, at| places.or(&layer.sets[at]))
        } else {
            let rest = key & !self.lookup.runs.mask;
            let run = match &self.run {
                Some((last, run)) if *last == rest => run.clone(),
                _ => {
                    let run = self.lookup.runs.find(rest);
                    self.run = Some((rest, run.clone()));
                    run
                }
            };
            // Combinations are often looked up in their order.
            let at = if layer.keys.get(self.next) == Some(&key) {
                Some(self.next)
            } else {
                layer.keys[run.clone()].binary_search(&key).ok().map(|at| run.start + at)
            };
            self.next = at.map_or(self.next, |at| at + 1);
            at.map_or(TileSet::EMPTY, |at| layer.sets[at])
        };
        self.last = Some((key, places));
        places
    }
}

/// Finds a combination in a list: open addressing; an entry is valid if it has the list's stamp.
#[derive(Debug, Default)]
struct Index {
    entries: Vec<(u32, u32)>,
    stamp: u32,
}

impl Index {
    fn clear(&mut self, len: usize) {
        self.stamp = self.stamp.wrapping_add(1);
        let entries = (2 * len).next_power_of_two().max(16);
        if self.entries.len() < entries || self.stamp == 0 {
            self.entries = vec![(0, 0); entries];
            self.stamp = 1;
        }
    }

    fn bytes(&self) -> usize {
        self.entries.len() * size_of::<(u32, u32)>()
    }

    /// The place of a combination in the list, or the entry for a new one.
    #[inline]
    fn find(&self, key: Combination, keys: &[Combination]) -> Result<usize, usize> {
        let Some(mask) = self.entries.len().checked_sub(1) else { return Err(0) };
        let mut at = hash(key) & mask;
        loop {
            let (stamp, place) = self.entries[at];
            if stamp != self.stamp {
                return Err(at);
            }
            if keys[place as usize] == key {
                return Ok(place as usize);
            }
            at = (at + 1) & mask;
        }
    }

    /// The place of a combination in the list, to which it is added if it is new.
    #[inline]
    fn place(&mut self, key: Combination, keys: &mut Vec<Combination>) -> usize {
        self.find(key, keys).unwrap_or_else(|at| {
            self.entries[at] = (self.stamp, keys.len() as u32);
            keys.push(key);
            if 2 * keys.len() > self.entries.len() {
                self.grow(keys);
            }
            keys.len() - 1
        })
    }

    /// Adds places to a combination of a layer.
    #[inline]
    fn add<const N: usize>(&mut self, key: Combination, set: &TileSet<N>, layer: &mut Layer<N>) {
        // Equal combinations often come one after the other.
        if layer.keys.last() == Some(&key) {
            let place = layer.len() - 1;
            layer.sets[place] = layer.sets[place].or(set);
            return;
        }
        let place = self.place(key, &mut layer.keys);
        if place < layer.sets.len() {
            layer.sets[place] = layer.sets[place].or(set);
        } else {
            layer.sets.push(*set);
        }
    }

    #[cold]
    fn grow(&mut self, keys: &[Combination]) {
        self.clear(2 * keys.len());
        for (place, &key) in keys.iter().enumerate() {
            if let Err(at) = self.find(key, keys) {
                self.entries[at] = (self.stamp, place as u32);
            }
        }
    }
}

#[inline]
fn hash(key: Combination) -> usize {
    let (low, high) = (key as u64 ^ 0x9e37_79b9_7f4a_7c15, (key >> 64) as u64 ^ 0xe703_7ed1_a0b4_28db);
    let product = u128::from(low) * u128::from(high);
    (product as u64 ^ (product >> 64) as u64) as usize
}

/// The data shared by all combinations of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinContext<'a, const N: usize> {
    pub model: &'a Model<N>,
    /// The slots of the layer's threats.
    pub slots: &'a [Slot],
    /// The tick of the layer.
    pub tick: usize,
    /// By tick, the places where the player can be.
    pub allowed: &'a [TileSet<N>],
    /// By automaton, its projection; empty for those without one.
    pub projections: &'a [Projection<N>],
}

/// What leads from a run of a layer to one of the next layer: the moves of the threats but the widest.
#[derive(Clone, Copy, Debug)]
struct Edge<const N: usize> {
    /// The places of the run's combinations in the layer.
    start: u32,
    end: u32,
    /// The edge to the same run that was added before.
    before: u32,
    from: TileSet<N>,
    to: TileSet<N>,
}

/// The combinations of a run, by what each has of its own.
#[derive(Debug, Default)]
struct Table<const N: usize> {
    /// Open addressing: a stamp and a place in the lists. An entry is valid if it has the table's stamp.
    entries: Vec<(u32, u32)>,
    stamp: u32,
    /// Keys of so few bits that each has its own entry are not hashed.
    is_hashed: bool,
    own: Vec<u32>,
    sets: Vec<TileSet<N>>,
    is_ascending: bool,
    order: Vec<u64>,
}

impl<const N: usize> Table<N> {
    /// Keys of at most this many bits are not hashed.
    const DIRECT_BITS: u32 = 16;
    const HASHED_LEN: usize = 1 << 10;

    /// Starts anew for keys of this many bits.
    fn begin(&mut self, bits: u32) {
        self.is_hashed = bits > Self::DIRECT_BITS;
        self.reserve(if self.is_hashed { Self::HASHED_LEN } else { 1 << bits });
        self.clear();
    }

    fn reserve(&mut self, len: usize) {
        if self.entries.len() < len {
            self.entries = vec![(0, 0); len];
            self.stamp = 0;
        }
    }

    fn clear(&mut self) {
        self.own.clear();
        self.sets.clear();
        self.is_ascending = true;
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.entries.fill((0, 0));
            self.stamp = 1;
        }
    }

    /// The place of a key in the lists, or the entry for a new one.
    #[inline(always)]
    fn find(&self, own: u32) -> Result<usize, usize> {
        let mask = self.entries.len() - 1;
        let hash = if self.is_hashed { (own.wrapping_mul(0x9e37_79b1) >> 7) as usize } else { own as usize };
        let mut at = hash & mask;
        loop {
            let (stamp, place) = self.entries[at];
            if stamp != self.stamp {
                return Err(at);
            }
            if self.own[place as usize] == own {
                return Ok(place as usize);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds places to a key.
    #[inline(always)]
    fn add(&mut self, own: u32, set: TileSet<N>) {
        match self.find(own) {
            Ok(place) => self.sets[place] = self.sets[place].or(&set),
            Err(at) => {
                self.is_ascending &= self.own.last().is_none_or(|last| *last < own);
                self.entries[at] = (self.stamp, self.own.len() as u32);
                self.own.push(own);
                self.sets.push(set);
                if self.is_hashed && 2 * self.own.len() > self.entries.len() {
                    self.grow();
                }
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.reserve(2 * self.entries.len());
        self.stamp += 1;
        for place in 0..self.own.len() {
            if let Err(at) = self.find(self.own[place]) {
                self.entries[at] = (self.stamp, place as u32);
            }
        }
    }

    /// Every key in ascending order.
    fn drain(&mut self, mut push: impl FnMut(u32, TileSet<N>)) {
        if self.is_ascending {
            self.own.iter().zip(&self.sets).for_each(|(own, set)| push(*own, *set));
            return;
        }
        self.order.clear();
        self.order.extend(self.own.iter().zip(0..).map(|(own, place): (_, u64)| u64::from(*own) << 32 | place));
        self.order.sort_unstable();
        self.order.iter().for_each(|entry| push((entry >> 32) as u32, self.sets[(entry & 0xffff_ffff) as usize]));
    }
}

/// Collects the combinations of a new layer, run by run.
#[derive(Debug, Default)]
struct Builder<const N: usize> {
    index: Index,
    /// What the combinations of each run have in common.
    runs: Vec<Combination>,
    /// The edges that are still to be followed, and by run the last one.
    edges: Vec<Edge<N>>,
    heads: Vec<u32>,
    /// What each combination so far has of its own, its places, and the end of each run.
    own: Vec<u32>,
    sets: Vec<TileSet<N>>,
    ends: Vec<u32>,
    /// Whether edges are being followed; how many runs of the new layer have all of theirs, and the
    /// combinations from before, with the end of those that have been used.
    is_following: bool,
    followed: usize,
    old_own: Vec<u32>,
    old_sets: Vec<TileSet<N>>,
    old_end: usize,
    table: Table<N>,
}

impl<const N: usize> Builder<N> {
    const NO_EDGE: u32 = u32::MAX;
    /// Edges that are added before they are followed, or half the number of combinations so far.
    const EDGES_MIN: usize = 1 << 16;

    fn begin(&mut self) {
        self.index.clear(0);
        self.runs.clear();
        self.edges.clear();
        self.heads.clear();
        self.own.clear();
        self.sets.clear();
        self.ends.clear();
        self.is_following = false;
    }

    /// Adds what leads from some of the layer's combinations to a run.
    fn add(&mut self, group: &Group<N>, places: &Range<usize>) {
        let run = self.index.place(group.key, &mut self.runs);
        self.heads.resize(self.runs.len(), Self::NO_EDGE);
        let before = std::mem::replace(&mut self.heads[run], self.edges.len() as u32);
        let (start, end) = (places.start as u32, places.end as u32);
        self.edges.push(Edge { start, end, before, from: group.from, to: group.to });
    }

    /// Whether there are so many edges that they should be followed before more are added.
    fn is_full(&self) -> bool {
        self.edges.len() > Self::EDGES_MIN.max(self.own.len() / 2)
    }

    /// Begins to follow the edges from a layer.
    fn begin_following(&mut self, context: &JoinContext<'_, N>) {
        self.table.begin(context.widest().map_or(0, Slot::own_bits));
        std::mem::swap(&mut self.own, &mut self.old_own);
        std::mem::swap(&mut self.sets, &mut self.old_sets);
        self.own.clear();
        self.sets.clear();
        self.ends.resize(self.runs.len(), self.old_own.len() as u32);
        (self.followed, self.old_end) = (0, 0);
        self.is_following = true;
    }

    /// Adds the combinations to which the edges lead, run by run, for about this many combinations of
    /// the layer that they come from; each call continues with the next runs. Returns true once all
    /// edges have been followed.
    fn follow(&mut self, context: &JoinContext<'_, N>, layer: &Layer<N>, slice: usize) -> bool {
        let widest = context.widest();
        let mut work = 0;
        while work < slice {
            let run = self.followed;
            if run == self.runs.len() {
                self.edges.clear();
                self.is_following = false;
                return true;
            }
            let old = self.old_end..self.ends[run] as usize;
            self.old_end = old.end;
            let mut at = std::mem::replace(&mut self.heads[run], Self::NO_EDGE);
            work += 1 + old.len() / 8;
            if at == Self::NO_EDGE {
                self.own.extend_from_slice(&self.old_own[old.clone()]);
                self.sets.extend_from_slice(&self.old_sets[old]);
            } else {
                self.table.clear();
                old.for_each(|place| self.table.add(self.old_own[place], self.old_sets[place]));
                while let Some(edge) = self.edges.get(at as usize) {
                    let places = edge.start as usize..edge.end as usize;
                    work += places.len();
                    let combinations = (&layer.keys[places.clone()], &layer.sets[places]);
                    extend(context, widest, (&edge.from, &edge.to), combinations, |_, own, _, to| {
                        self.table.add(own, to);
                    });
                    at = edge.before;
                }
                self.table.drain(|own, set| {
                    self.own.push(own);
                    self.sets.push(set);
                });
            }
            self.ends[run] = self.own.len() as u32;
            self.followed += 1;
        }
        false
    }

    /// Moves everything to a layer. `shift` is the place of what the combinations of a run have of
    /// their own.
    fn finish(&mut self, shift: u32, layer: &mut Layer<N>) {
        let mut start = 0;
        for (run, &end) in self.runs.iter().zip(&self.ends) {
            let own = self.own[start..end as usize].iter();
            layer.keys.extend(own.map(|&own| run | Combination::from(own) << shift));
            start = end as usize;
        }
        layer.sets.extend_from_slice(&self.sets);
        self.begin();
    }
}

/// The buffers of joins, kept from layer to layer.
#[derive(Debug, Default)]
pub(super) struct Join<const N: usize> {
    index: Index,
    builder: Builder<N>,
    groups: Vec<Group<N>>,
    spare: Vec<Group<N>>,
    /// What is left of each combination of a run.
    lives: Vec<TileSet<N>>,
    /// How many combinations of a layer have been advanced, and how many of these are left if the
    /// threats do not move.
    done: usize,
    kept: usize,
}

impl<const N: usize> Join<N> {
    /// Bytes of a combination of a new layer while it is under construction, beside those in the
    /// layer itself.
    pub const KEY_BYTES: usize = 2 * (size_of::<TileSet<N>>() + size_of::<u32>()) + size_of::<Edge<N>>() / 2;

    /// The number of combinations that the layer under construction has at least.
    pub fn len(&self) -> usize {
        self.builder.own.len()
    }

    /// Whether a part of a layer has been advanced.
    pub fn is_advancing(&self) -> bool {
        self.done > 0
    }

    /// Drops the layer under construction.
    pub fn restart(&mut self) {
        (self.done, self.kept, self.builder.is_following) = (0, 0, false);
    }

    /// Replaces a part of a layer by its successors: each call continues with the next part, or follows
    /// more of the edges to the next layer. Returns true once the layer is that of the next tick; it may
    /// not be used before.
    pub fn advance(&mut self, context: &JoinContext<'_, N>, layer: &mut Layer<N>, meter: &mut BudgetMeter) -> bool {
        let has_moves = context.model.moves[context.tick];
        if has_moves && self.done == 0 {
            self.builder.begin();
        }
        if !self.builder.is_following {
            let end = layer.len().min(self.done + CHUNK);
            if has_moves {
                self.step(context, layer, self.done..end);
            } else {
                self.wait(context, layer, self.done..end);
            }
            meter.add_ticks((end - self.done) as u64);
            self.done = end;
            if has_moves && (end == layer.len() || self.builder.is_full()) {
                self.builder.begin_following(context);
            }
        }
        if self.builder.is_following && !self.builder.follow(context, layer, FOLLOWED_SLICE) {
            return false;
        }
        if self.done < layer.len() {
            return false;
        }
        if has_moves {
            layer.clear();
            self.builder.finish(context.widest().map_or(0, |slot| slot.shift), layer);
        } else {
            layer.truncate(self.kept);
        }
        self.restart();
        true
    }

    /// Adds the edges from some of the layer's combinations to the layer under construction.
    fn step(&mut self, context: &JoinContext<'_, N>, layer: &Layer<N>, places: Range<usize>) {
        let mut start = places.start;
        while start < places.end {
            let end = self.branch(context, layer, start..places.end);
            self.groups.iter().for_each(|group| self.builder.add(group, &(start..end)));
            start = end;
        }
    }

    /// Moves the player in some of the layer's combinations in a tick in which the threats do not
    /// move. The combinations stay as they are; those that are left come first.
    fn wait(&mut self, context: &JoinContext<'_, N>, layer: &mut Layer<N>, places: Range<usize>) {
        let mut start = places.start;
        while start < places.end {
            let end = self.branch(context, layer, start..places.end);
            self.leave(context, layer, start..end, |_, _, to| to);
            for (place, lives) in (start..end).zip(&self.lives) {
                if !lives.is_empty() {
                    (layer.keys[self.kept], layer.sets[self.kept]) = (layer.keys[place], *lives);
                    self.kept += 1;
                }
            }
            start = end;
        }
    }

    /// Finds what is left of each combination of a run, whose other threats have been branched:
    /// `leave` returns the places for a next combination and the player's places before and after.
    fn leave(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        run: Range<usize>,
        mut leave: impl FnMut(Combination, TileSet<N>, TileSet<N>) -> TileSet<N>,
    ) {
        let (widest, _) = context.split();
        let shift = widest.map_or(0, |slot| slot.shift);
        let combinations = (&layer.keys[run.clone()], &layer.sets[run.clone()]);
        self.lives.clear();
        self.lives.resize(run.len(), TileSet::EMPTY);
        for group in &self.groups {
            extend(context, widest, (&group.from, &group.to), combinations, |number, own, from, to| {
                let lives = leave(group.key | Combination::from(own) << shift, from, to);
                self.lives[number] = self.lives[number].or(&lives);
            });
        }
    }

    /// Finds what the threats but the widest do, for all combinations of the first run of a part of
    /// the layer; returns its end.
    fn branch(&mut self, context: &JoinContext<'_, N>, layer: &Layer<N>, places: Range<usize>) -> usize {
        let (widest, others) = context.split();
        let run_mask = widest.map_or(0, Slot::own_mask);
        let end = layer.run_end(places.start, run_mask, places.end);
        let landing = context.model.landing(context.tick, context.allowed);
        let any = layer.sets[places.start..end].iter().fold(TileSet::EMPTY, |any, set| any.or(set));
        let rest = layer.keys[places.start] & !run_mask;
        successors(context, others, &landing, rest, &any, &mut self.groups, &mut self.spare);
        end
    }

    /// Adds those of some of the layer's states to `left` that lead into the layer after it.
    pub fn trim(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        places: Range<usize>,
        after: &Lookup<N>,
        left: &mut Layer<N>,
    ) {
        let mut after = Cursor::new(after);
        let mut start = places.start;
        while start < places.end {
            let end = self.branch(context, layer, start..places.end);
            self.leave(context, layer, start..end, |key, from, to| {
                let to = to.and(&after.places(key));
                if to.is_empty() { to } else { context.model.board.reach(&to).and(&from) }
            });
            for (place, lives) in (start..end).zip(&self.lives) {
                if !lives.is_empty() {
                    left.push(layer.keys[place], *lives);
                }
            }
            start = end;
        }
    }

    /// A state in this part of a layer that leads to a state of the next layer, which is given by
    /// its combination and the player's place.
    pub fn predecessor(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        places: Range<usize>,
        (key, place): (Combination, u16),
    ) -> Option<(Combination, u16)> {
        let landing = context.model.landing(context.tick, context.allowed);
        let near = context.model.board.reach(&TileSet::of(place));
        for index in places {
            let (own, set) = (layer.keys[index], &layer.sets[index]);
            successors(context, context.slots, &landing, own, set, &mut self.groups, &mut self.spare);
            let group = self.groups.iter().find(|group| group.key == key && group.to.contains(place));
            if let Some(from) = group.and_then(|group| group.from.and(&near).iter().next()) {
                return Some((own, from));
            }
        }
        None
    }

    /// The layer after another one, and of that one the states that lead into `after`: each
    /// combination by itself. The slow twin of [`Self::step`], [`Self::wait`] and [`Self::trim`].
    #[cfg(test)]
    pub fn step_each(
        &mut self,
        context: &JoinContext<'_, N>,
        layer: &Layer<N>,
        after: &Lookup<N>,
    ) -> [HashMap<Combination, TileSet<N>>; 2] {
        let landing = context.model.landing(context.tick, context.allowed);
        let (mut next, mut left) = (HashMap::new(), HashMap::new());
        let add = |layer: &mut HashMap<_, TileSet<N>>, key, set: TileSet<N>| {
            let own = layer.entry(key).or_insert(TileSet::EMPTY);
            *own = own.or(&set);
        };
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            successors(context, context.slots, &landing, key, set, &mut self.groups, &mut self.spare);
            for group in &self.groups {
                add(&mut next, group.key, group.to);
                let to = group.to.and(&after.places(group.key));
                if !to.is_empty() {
                    add(&mut left, key, context.model.board.reach(&to).and(&group.from));
                }
            }
        }
        [next, left]
    }

    /// The layer without the threats whose bits are not in the mask.
    pub fn project(&mut self, layer: &Layer<N>, mask: Combination) -> Layer<N> {
        let mut narrow = Layer::default();
        self.index.clear(0);
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            self.index.add(key & mask, set, &mut narrow);
        }
        narrow
    }

    /// The states of a layer with one more threat, whose bits are `added`, in each key for which
    /// `known` has a state that can be the same; `None` if there would be more than `max_len`
    /// combinations. `memories` are those in what both have in common, `common`.
    pub fn natural(
        &mut self,
        layer: &Layer<N>,
        known: &Layer<N>,
        (common, added): (Combination, Combination),
        memories: MemorySlots,
        max_len: usize,
    ) -> Option<Layer<N>> {
        let chains = Chains::new(&known.keys, common, memories);
        let mut both = Layer::default();
        self.index.clear(layer.len());
        for (&key, set) in layer.keys.iter().zip(&layer.sets) {
            for at in chains.matches(key & common, &known.keys) {
                let set = set.and(&known.sets[at]);
                if !set.is_empty() {
                    self.index.add(key | known.keys[at] & added, &set, &mut both);
                }
            }
            if both.len() > max_len {
                return None;
            }
        }
        Some(both)
    }
}

/// Places that lead from one combination to another.
#[derive(Clone, Copy, Debug)]
struct Group<const N: usize> {
    key: Combination,
    /// Where the player was.
    from: TileSet<N>,
    /// Where it is then.
    to: TileSet<N>,
}

impl<const N: usize> JoinContext<'_, N> {
    /// The threat with the most keys.
    fn widest(&self) -> Option<&Slot> {
        self.slots.last()
    }

    /// The threat with the most keys, and the others.
    fn split(&self) -> (Option<&Slot>, &[Slot]) {
        self.slots.split_last().map_or((None, &[]), |(slot, others)| (Some(slot), others))
    }

    fn automaton(&self, slot: &Slot) -> &Automaton<N> {
        &self.model.automata[slot.automaton]
    }

    /// Whether the player may not step onto the place of a threat before its move.
    #[inline]
    fn leaves_own(&self) -> bool {
        self.model.rules.no_jump || !self.model.moves[self.tick]
    }

    /// Takes the place of a threat before its move from those where the player can go, if it may
    /// not.
    #[inline]
    fn leave_own(&self, slot: &Slot, key: u32, to: &mut TileSet<N>) {
        if self.leaves_own() {
            to.remove(self.model.place(self.automaton(slot), key));
        }
    }

    /// Keeps the places that a threat's next key leaves to the player.
    #[inline]
    fn leave_next(&self, slot: &Slot, key_next: u32, to: &mut TileSet<N>) {
        match self.projections[slot.automaton].get(self.tick + 1) {
            Some(layer) => *to = to.and(&layer[key_next as usize]),
            None => to.remove(self.model.place(self.automaton(slot), key_next)),
        }
    }
}

/// Every next combination of the keys of some threats with the places where the player can be then,
/// into `groups`.
fn successors<const N: usize>(
    context: &JoinContext<'_, N>,
    slots: &[Slot],
    landing: &TileSet<N>,
    key: Combination,
    set: &TileSet<N>,
    groups: &mut Vec<Group<N>>,
    spare: &mut Vec<Group<N>>,
) {
    let &JoinContext { model, tick, .. } = context;
    groups.clear();
    let (mut free, mut fixed) = (*landing, 0);
    // By slot, one bit each: the threats that use the player's previous position, and those whose
    // moves depend on its next one.
    let (mut chasers, mut watchers) = (0u32, 0u32);
    for (index, slot) in slots.iter().enumerate() {
        let key_now = slot.key(key);
        context.leave_own(slot, key_now, &mut free);
        match context.automaton(slot) {
            _ if !model.moves[tick] => {
                fixed |= key & slot.own_mask();
                context.leave_next(slot, key_now, &mut free);
            }
            Automaton::Owl { .. } if !model.looks[tick] => {
                let key_next = model.owl_step(key_now, model.forgets(tick + 1));
                fixed |= slot.place(key_next);
                context.leave_next(slot, key_next, &mut free);
            }
            Automaton::Chaser { .. } => chasers |= 1 << index,
            Automaton::Owl { .. } | Automaton::Hawk { .. } => watchers |= 1 << index,
        }
    }
    let those = |bits: u32| slots.iter().enumerate().filter(move |(index, _)| bits >> index & 1 == 1).map(|(_, s)| s);
    groups.push(Group { key: fixed, from: *set, to: free });
    for slot in those(chasers) {
        let Automaton::Chaser { branches, .. } = context.automaton(slot) else { continue };
        spare.clear();
        for group in groups.iter() {
            for branch in &branches[slot.key(key) as usize] {
                let from = group.from.and(&branch.when);
                if !from.is_empty() {
                    let mut to = group.to;
                    context.leave_next(slot, branch.key, &mut to);
                    spare.push(Group { key: group.key | slot.place(branch.key), from, to });
                }
            }
        }
        std::mem::swap(groups, spare);
    }
    groups.retain_mut(|group| {
        group.to = group.from.spread(model.board.stride).and(&group.to);
        !group.to.is_empty()
    });
    for slot in those(watchers) {
        spare.clear();
        for group in groups.iter() {
            land(context, slot, slot.own(key), &group.to, |own, to| {
                spare.push(Group { key: group.key | slot.place(own), from: group.from, to });
            });
        }
        std::mem::swap(groups, spare);
    }
}

/// Adds the widest threat to a group of the others, for the combinations of a run: `push` gets the
/// number in the run, the threat's next key with a hawk's draws, and the player's places before and
/// after.
#[inline]
fn extend<const N: usize>(
    context: &JoinContext<'_, N>,
    widest: Option<&Slot>,
    (group_from, group_to): (&TileSet<N>, &TileSet<N>),
    (keys, sets): (&[Combination], &[TileSet<N>]),
    mut push: impl FnMut(usize, u32, TileSet<N>, TileSet<N>),
) {
    let &JoinContext { model, tick, .. } = context;
    let places = &model.board.places[..];
    let reach = |from: &TileSet<N>| from.spread(model.board.stride).and(group_to);
    let Some(slot) = widest else {
        for (number, set) in sets.iter().enumerate() {
            let from = group_from.and(set);
            let to = reach(&from);
            if !to.is_empty() {
                push(number, 0, from, to);
            }
        }
        return;
    };
    let leaves_own = context.leaves_own();
    let projection = context.projections[slot.automaton].get(tick + 1).map(|layer| &layer[..]);
    // What is left of the places where the player can go, with the threat on these tiles before and
    // after its move.
    let leave = |to: &mut TileSet<N>, key_next: u32, tile: usize, tile_next: usize| {
        if leaves_own {
            to.remove(places[tile]);
        }
        match projection {
            Some(layer) => *to = to.and(&layer[key_next as usize]),
            None => to.remove(places[tile_next]),
        }
    };
    let automaton = context.automaton(slot);
    let starts = keys.iter().zip(sets).enumerate();
    match automaton {
        _ if !model.moves[tick] => {
            for (number, (&key, set)) in starts {
                let from = group_from.and(set);
                let mut to = reach(&from);
                if to.is_empty() {
                    continue;
                }
                let own = slot.own(key);
                let tile = model.tile(automaton, slot.own_key(own));
                leave(&mut to, slot.own_key(own), tile, tile);
                if !to.is_empty() {
                    push(number, own, from, to);
                }
            }
        }
        Automaton::Chaser { branches, .. } => {
            for (number, (&key, set)) in starts {
                let from = group_from.and(set);
                if from.is_empty() {
                    continue;
                }
                let key = slot.own(key);
                let tile = model.tile(automaton, key);
                for branch in &branches[key as usize] {
                    let from = from.and(&branch.when);
                    let mut to = reach(&from);
                    if to.is_empty() {
                        continue;
                    }
                    leave(&mut to, branch.key, tile, model.tile(automaton, branch.key));
                    if !to.is_empty() {
                        push(number, branch.key, from, to);
                    }
                }
            }
        }
        Automaton::Owl { .. } if !model.looks[tick] => {
            let forgets = model.forgets(tick + 1);
            for (number, (&key, set)) in starts {
                let from = group_from.and(set);
                let mut to = reach(&from);
                if to.is_empty() {
                    continue;
                }
                let key = slot.own(key);
                let key_next = model.owl_step(key, forgets);
                leave(&mut to, key_next, model.owl_tile(key), model.owl_tile(key_next));
                if !to.is_empty() {
                    push(number, key_next, from, to);
                }
            }
        }
        Automaton::Owl { .. } | Automaton::Hawk { .. } => {
            for (number, (&key, set)) in starts {
                let from = group_from.and(set);
                let mut to = reach(&from);
                if to.is_empty() {
                    continue;
                }
                let own = slot.own(key);
                if leaves_own {
                    to.remove(places[model.tile(automaton, slot.own_key(own))]);
                }
                land(context, slot, own, &to, |own, to| push(number, own, from, to));
            }
        }
    }
}

/// Every next key of an owl that looks, or of a hawk with its draws, with the places of the player
/// for it.
#[inline]
fn land<const N: usize>(
    context: &JoinContext<'_, N>,
    slot: &Slot,
    own: u32,
    to: &TileSet<N>,
    mut push: impl FnMut(u32, TileSet<N>),
) {
    let &JoinContext { model, tick, .. } = context;
    let key = slot.own_key(own);
    let mut push = |key: u32, draws: u32, mut to: TileSet<N>| {
        context.leave_next(slot, key, &mut to);
        if !to.is_empty() {
            push(key | draws, to);
        }
    };
    match context.automaton(slot) {
        Automaton::Chaser { .. } => unreachable!("sharks and deer have moved before the player"),
        Automaton::Owl { .. } => {
            for branch in &model.owl_branches[model.owl_tile(key)] {
                let to = to.and(&branch.when);
                if model.forgets(tick + 1) {
                    push(model.owl_key(branch.key, 0, tick + 1), 0, to);
                    continue;
                }
                // Memories that lead to the same moves are one.
                let mut ends: Vec<(u32, TileSet<N>)> = Vec::new();
                for place in to.iter() {
                    let seen = model.board.tiles[usize::from(place)];
                    let next = model.owl_key(branch.key, seen.into(), tick + 1);
                    match ends.iter_mut().find(|(key, _)| *key == next) {
                        Some((_, places)) => places.insert(place),
                        None => ends.push((next, TileSet::of(place))),
                    }
                }
                ends.into_iter().for_each(|(key, places)| push(key, 0, places));
            }
        }
        Automaton::Hawk { .. } => {
            let (sees, draws) = (&model.sees[model.hawk_tile(key)], own - key);
            for place in to.and(sees).iter() {
                push(model.hawk_seeing(key, place), draws, TileSet::of(place));
            }
            let hidden = to.without(sees);
            if hidden.is_empty() {
                return;
            }
            match slot.draws.filter(|_| model.hawk_draws(key)) {
                Some(at_root) => {
                    let next = model.hawk_drawing(key, at_root + (draws >> slot.bits) as u16);
                    push(next, draws + (1 << slot.bits), hidden);
                }
                None => model.hawk_blind(key).for_each(|next| push(next, draws, hidden)),
            }
        }
    }
}
