//! Layers, and lookups of combinations in them.

use std::ops::Range;

use super::combination::{Combination, MemorySlots, Slot};
use super::tile_set::TileSet;
use crate::search::{BudgetMeter, StopReason};

#[derive(Clone, Debug, Default)]
pub(super) struct Layer<const N: usize> {
    pub keys: Vec<Combination>,
    /// For each combination, the set of the player's places, which is not empty.
    pub sets: Vec<TileSet<N>>,
}

impl<const N: usize> Layer<N> {
    pub const KEY_BYTES: usize = size_of::<Combination>() + size_of::<TileSet<N>>();

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn states(&self) -> u64 {
        self.sets.iter().map(|set| u64::from(set.len())).sum()
    }

    pub fn places(&self) -> TileSet<N> {
        self.sets.iter().fold(TileSet::EMPTY, |any, set| any.or(set))
    }

    pub fn truncate(&mut self, len: usize) {
        self.keys.truncate(len);
        self.sets.truncate(len);
    }

    pub fn clear(&mut self) {
        self.keys.clear();
        self.sets.clear();
    }

    pub fn push(&mut self, key: Combination, set: TileSet<N>) {
        self.keys.push(key);
        self.sets.push(set);
    }

    pub fn within(&self, places: &TileSet<N>) -> Self {
        let mut layer = Self::default();
        for (&key, set) in self.keys.iter().zip(&self.sets) {
            let set = set.and(places);
            if !set.is_empty() {
                layer.push(key, set);
            }
        }
        layer
    }

    /// Keeps only the places that `keep` returns for each combination, and removes combinations
    /// without places. If the deadline passes, the unprocessed combinations stay as they are.
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(Combination) -> TileSet<N>,
        meter: &mut BudgetMeter,
    ) -> Result<(), StopReason> {
        let (mut kept, mut result) = (0, Ok(()));
        for place in 0..self.keys.len() {
            result = result.and_then(|()| meter.step(1));
            let mut set = self.sets[place];
            if result.is_ok() {
                set = set.and(&keep(self.keys[place]));
            }
            if !set.is_empty() {
                (self.keys[kept], self.sets[kept]) = (self.keys[place], set);
                kept += 1;
            }
        }
        self.truncate(kept);
        result
    }

    /// Returns the end of the run at `start`. Combinations of a *run* differ only in `run_mask`.
    pub fn run_end(&self, start: usize, run_mask: Combination, end: usize) -> usize {
        let rest = self.keys[start] & !run_mask;
        (start + 1..end).find(|&place| self.keys[place] & !run_mask != rest).unwrap_or(end)
    }

    /// Sorts the layer so that runs are contiguous. If the deadline passes first, nothing changes.
    pub fn arrange(&mut self, run_mask: Combination, meter: &mut BudgetMeter) -> Result<(), StopReason> {
        let rank = |key: Combination| (key & !run_mask, key);
        if self.keys.is_sorted_by_key(|&key| rank(key)) {
            return Ok(());
        }
        let order = sorted(self.len(), |place| rank(self.keys[place as usize]), meter)?;
        self.keys = order.iter().map(|&place| self.keys[place as usize]).collect();
        self.sets = order.iter().map(|&place| self.sets[place as usize]).collect();
        Ok(())
    }

    /// Joins a threat to the layer, with all of `keys`. Each key comes with the places where the
    /// player can be while the threat has this key. Returns `None` if the result would exceed
    /// `max_len` combinations.
    pub fn widen(
        &self,
        slot: Slot,
        keys: &[(u32, TileSet<N>)],
        max_len: usize,
        meter: &mut BudgetMeter,
    ) -> Result<Option<Self>, StopReason> {
        let mut wide = Self::default();
        for (&key, set) in self.keys.iter().zip(&self.sets) {
            meter.step(1 + keys.len() / 16)?;
            for (counted, lives) in keys {
                let set = set.and(lives);
                if set.is_empty() {
                    continue;
                }
                if wide.len() == max_len {
                    return Ok(None);
                }
                wide.push(key | slot.place(*counted), set);
            }
        }
        Ok(Some(wide))
    }
}

/// Returns the numbers below `len`, sorted by `rank`. The merge sort can stop at the deadline.
fn sorted<R: Ord>(len: usize, rank: impl Fn(u32) -> R, meter: &mut BudgetMeter) -> Result<Vec<u32>, StopReason> {
    const PART_LEN: usize = 1024;
    let mut order: Vec<u32> = (0..len as u32).collect();
    for part in order.chunks_mut(PART_LEN) {
        part.sort_unstable_by_key(|&number| rank(number));
        meter.step(part.len())?;
    }
    let mut part_len = PART_LEN;
    while part_len < len {
        let mut merged = Vec::with_capacity(len);
        for parts in order.chunks(2 * part_len) {
            let (mut left, mut right) = parts.split_at(part_len.min(parts.len()));
            while let (Some(one), Some(other)) = (left.first(), right.first()) {
                meter.step(1)?;
                let from = if rank(*other) < rank(*one) { &mut right } else { &mut left };
                merged.push(from[0]);
                *from = &from[1..];
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        order = merged;
        part_len *= 2;
    }
    Ok(order)
}

#[derive(Debug, Default)]
pub(super) struct Lookup<const N: usize> {
    layer: Layer<N>,
    runs: Runs,
    /// Present if several combinations of the layer can stand for the same state of the game.
    chains: Option<Chains>,
}

#[derive(Debug, Default)]
struct Runs {
    mask: Combination,
    index: Index,
    /// For each run, the bits that its combinations share.
    keys: Vec<Combination>,
    ends: Vec<u32>,
}

impl Runs {
    fn new(keys: &[Combination], mask: Combination, meter: &mut BudgetMeter) -> Result<Self, StopReason> {
        let mut runs = Self { mask, ..Self::default() };
        runs.index.clear(0);
        for (place, key) in keys.iter().enumerate() {
            meter.step(1)?;
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
        Ok(runs)
    }

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

/// A chain links the combinations that are equal within a mask, apart from their memories.
#[derive(Debug)]
pub(super) struct Chains {
    entries: Vec<u32>,
    mask: Combination,
    memories: MemorySlots,
    next: Vec<u32>,
}

impl Chains {
    const FREE: u32 = u32::MAX;

    pub fn new(
        keys: &[Combination],
        mask: Combination,
        memories: MemorySlots,
        meter: &mut BudgetMeter,
    ) -> Result<Self, StopReason> {
        let entries = vec![Self::FREE; (3 * keys.len() / 2 + 1).next_power_of_two()];
        let mut chains = Self { entries, mask, memories, next: vec![Self::FREE; keys.len()] };
        for (place, &key) in keys.iter().enumerate() {
            meter.step(1)?;
            let at = chains.entry(chains.without_memories(key), keys);
            chains.next[place] = std::mem::replace(&mut chains.entries[at], place as u32);
        }
        Ok(chains)
    }

    #[inline]
    fn without_memories(&self, key: Combination) -> Combination {
        self.memories.without(key & self.mask)
    }

    /// Returns the entry of the chain for `key`, or the free entry for a new chain.
    #[inline]
    fn entry(&self, key: Combination, keys: &[Combination]) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = hash(key) & mask;
        loop {
            match self.entries[at] {
                Self::FREE => return at,
                place if self.without_memories(keys[place as usize]) == key => return at,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Returns the index of each combination in `key`'s chain whose memories overlap with `key`'s.
    pub fn matches(&self, key: Combination, keys: &[Combination]) -> impl Iterator<Item = usize> {
        let first = self.entries[self.entry(self.without_memories(key), keys)];
        let next = |&at: &u32| Some(self.next[at as usize]).filter(|&at| at != Self::FREE);
        let places = std::iter::successors(Some(first).filter(|&at| at != Self::FREE), next);
        places.map(|at| at as usize).filter(move |&at| self.memories.overlap(key, keys[at]))
    }

    fn bytes(&self) -> usize {
        (self.entries.len() + self.next.len()) * size_of::<u32>()
    }
}

impl<const N: usize> Lookup<N> {
    /// Moves the combinations of `layer` into a lookup, unless the deadline passes first.
    pub fn new(
        layer: &mut Layer<N>,
        run_mask: Combination,
        memories: MemorySlots,
        meter: &mut BudgetMeter,
    ) -> Result<Self, StopReason> {
        layer.arrange(run_mask, meter)?;
        let runs = Runs::new(&layer.keys, run_mask, meter)?;
        let has_memories = !memories.is_empty();
        let chains =
            if has_memories { Some(Chains::new(&layer.keys, Combination::MAX, memories, meter)?) } else { None };
        let mut layer = std::mem::take(layer);
        layer.keys.shrink_to_fit();
        layer.sets.shrink_to_fit();
        Ok(Self { layer, runs, chains })
    }

    pub fn layer(&self) -> &Layer<N> {
        &self.layer
    }

    pub fn bytes(&self) -> usize {
        let chains = self.chains.as_ref().map_or(0, Chains::bytes);
        self.layer.len() * Layer::<N>::KEY_BYTES + self.runs.bytes() + chains
    }

    pub fn places(&self, key: Combination) -> TileSet<N> {
        Cursor::new(self).places(key)
    }
}

/// Looks up combinations one by one. Without chains, a lookup in the same run as the previous
/// lookup is faster.
#[derive(Debug)]
pub(super) struct Cursor<'a, const N: usize> {
    lookup: &'a Lookup<N>,
    last: Option<(Combination, TileSet<N>)>,
    run: Option<(Combination, Range<usize>)>,
    next: usize,
}

impl<'a, const N: usize> Cursor<'a, N> {
    pub fn new(lookup: &'a Lookup<N>) -> Self {
        Self { lookup, last: None, run: None, next: 0 }
    }

    /// Returns the places of all combinations that can stand for the same game state as `key`.
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
            // Try the next combination first: lookups are often in the order of the layer.
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

/// Hash table of stamps and indices of combinations. Entries with an old stamp are free.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Vec<(u32, u32)>,
    stamp: u32,
}

impl Index {
    pub fn clear(&mut self, len: usize) {
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

    /// Returns the index of a combination in `keys`. A new combination is appended.
    #[inline]
    pub fn place(&mut self, key: Combination, keys: &mut Vec<Combination>) -> usize {
        self.find(key, keys).unwrap_or_else(|at| {
            self.entries[at] = (self.stamp, keys.len() as u32);
            keys.push(key);
            if 2 * keys.len() > self.entries.len() {
                self.grow(keys);
            }
            keys.len() - 1
        })
    }

    #[inline]
    pub fn add<const N: usize>(&mut self, key: Combination, set: &TileSet<N>, layer: &mut Layer<N>) {
        // Equal combinations are often adjacent.
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
