//! Layers: the states of a tick, as the places of the player for each combination of threats' keys.
//!
//! Combinations that differ only in the key of one threat, the one with the most keys, stand side by
//! side in a layer, a *run*.

use std::ops::Range;

use super::combination::{Combination, MemorySlots, Slot};
use super::tile_set::TileSet;

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

    pub fn push(&mut self, key: Combination, set: TileSet<N>) {
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
    pub fn run_end(&self, start: usize, run_mask: Combination, end: usize) -> usize {
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
pub(super) struct Chains {
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

    pub fn new(keys: &[Combination], mask: Combination, memories: MemorySlots) -> Self {
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
    pub fn matches(&self, key: Combination, keys: &[Combination]) -> impl Iterator<Item = usize> {
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
        let chains = (!memories.is_empty()).then(|| Chains::new(&layer.keys, Combination::MAX, memories));
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

    /// Adds places to a combination of a layer.
    #[inline]
    pub fn add<const N: usize>(&mut self, key: Combination, set: &TileSet<N>, layer: &mut Layer<N>) {
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
