//! Layers, and lookups of combinations in them.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use serde::{Deserialize, Serialize};

use super::combination::{Combination, MemorySlots, Slot};
use super::tiles::TileSet;
use crate::search::{BudgetMeter, StopReason};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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

    pub fn bytes(&self) -> usize {
        self.len() * Self::KEY_BYTES
    }

    pub fn states(&self) -> u64 {
        self.sets.iter().map(|set| u64::from(set.len())).sum()
    }

    pub fn places(&self) -> TileSet<N> {
        self.sets.iter().fold(TileSet::EMPTY, |any, set| any.or(set))
    }

    pub fn push(&mut self, key: Combination, set: TileSet<N>) {
        self.keys.push(key);
        self.sets.push(set);
    }

    /// Keeps only the places that `keep` returns for each combination, and removes combinations
    /// without places.
    pub fn retain(&mut self, mut keep: impl FnMut(Combination) -> TileSet<N>) {
        let mut kept = 0;
        for place in 0..self.keys.len() {
            let set = self.sets[place].and(&keep(self.keys[place]));
            if !set.is_empty() {
                (self.keys[kept], self.sets[kept]) = (self.keys[place], set);
                kept += 1;
            }
        }
        self.keys.truncate(kept);
        self.sets.truncate(kept);
    }

    /// Returns the end of the run at `start`. Combinations of a *run* differ only in `run_mask`.
    pub fn run_end(&self, start: usize, run_mask: Combination, end: usize) -> usize {
        let rest = self.keys[start] & !run_mask;
        (start + 1..end).find(|&place| self.keys[place] & !run_mask != rest).unwrap_or(end)
    }

    /// Sorts the layer so that runs are contiguous.
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

    /// Returns the layer without the bits outside `mask`.
    pub fn project(&self, mask: Combination) -> Self {
        let (mut narrow, mut index) = (Self::default(), Index::default());
        for (&key, set) in self.keys.iter().zip(&self.sets) {
            index.add(key & mask, set, &mut narrow.keys, &mut narrow.sets);
        }
        narrow
    }

    /// Joins the threat with the bits `added`. Each state gets the threat's keys in those states of
    /// `known` that have the same place and the same bits in `common` (`memories` need only
    /// overlap). Returns `None` if the result would exceed `max_len` combinations.
    pub fn join_known(
        &self,
        known: &Self,
        (common, added): (Combination, Combination),
        memories: MemorySlots,
        max_len: usize,
        meter: &mut BudgetMeter,
    ) -> Result<Option<Self>, StopReason> {
        let chains = Chains::new(&known.keys, common, memories);
        let (mut both, mut index) = (Self::default(), Index::default());
        for (&key, set) in self.keys.iter().zip(&self.sets) {
            for at in chains.matches(key & common, &known.keys) {
                meter.step(1)?;
                let set = set.and(&known.sets[at]);
                if !set.is_empty() {
                    index.add(key | known.keys[at] & added, &set, &mut both.keys, &mut both.sets);
                }
            }
            if both.len() > max_len {
                return Ok(None);
            }
        }
        Ok(Some(both))
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

/// The states of one tick over the threats in `mask`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Front<const N: usize> {
    pub tick: usize,
    pub mask: Combination,
    pub layer: Layer<N>,
}

/// A chain links the combinations that are equal within a mask, apart from their memories.
#[derive(Clone, Debug)]
struct Chains {
    heads: HashTable<u32>,
    mask: Combination,
    memories: MemorySlots,
    /// For each combination, the next one of its chain; its own index if it is the last.
    next: Vec<u32>,
}

impl Chains {
    fn new(keys: &[Combination], mask: Combination, memories: MemorySlots) -> Self {
        let without = |at: &u32| memories.without(keys[*at as usize] & mask);
        let (mut heads, mut next) = (HashTable::new(), Vec::with_capacity(keys.len()));
        for place in 0..keys.len() as u32 {
            let key = without(&place);
            match heads.entry(hash(key), |at| without(at) == key, |at| hash(without(at))) {
                Entry::Occupied(mut head) => next.push(std::mem::replace(head.get_mut(), place)),
                Entry::Vacant(free) => {
                    free.insert(place);
                    next.push(place);
                }
            }
        }
        Self { heads, mask, memories, next }
    }

    /// Returns the index of each combination in `key`'s chain whose memories overlap with `key`'s.
    fn matches(&self, key: Combination, keys: &[Combination]) -> impl Iterator<Item = usize> {
        let without = |key: Combination| self.memories.without(key & self.mask);
        let first = self.heads.find(hash(without(key)), |&at| without(keys[at as usize]) == without(key));
        let next = |&at: &u32| Some(self.next[at as usize]).filter(|&after| after != at);
        let places = std::iter::successors(first.copied(), next).map(|at| at as usize);
        places.filter(move |&at| self.memories.overlap(key, keys[at]))
    }

    fn bytes(&self) -> usize {
        self.heads.allocation_size() + self.next.len() * size_of::<u32>()
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Lookup<const N: usize> {
    layer: Layer<N>,
    /// Empty if there are chains.
    index: Index,
    /// Present if several combinations of the layer can stand for the same state of the game.
    chains: Option<Chains>,
}

impl<const N: usize> Lookup<N> {
    pub fn new(mut layer: Layer<N>, run_mask: Combination, memories: MemorySlots) -> Self {
        layer.arrange(run_mask);
        layer.keys.shrink_to_fit();
        layer.sets.shrink_to_fit();
        let mut index = Index::default();
        let chains = (!memories.is_empty()).then(|| Chains::new(&layer.keys, Combination::MAX, memories));
        if chains.is_none() {
            index.fill(&layer.keys);
        }
        Self { layer, index, chains }
    }

    pub fn layer(&self) -> &Layer<N> {
        &self.layer
    }

    pub fn bytes(&self) -> usize {
        let chains = self.chains.as_ref().map_or(0, Chains::bytes);
        self.layer.bytes() + self.index.0.allocation_size() + chains
    }

    pub fn places(&self, key: Combination) -> TileSet<N> {
        Cursor::new(self).places(key)
    }
}

/// Looks up combinations one by one, fastest in the order of the layer.
#[derive(Debug)]
pub(super) struct Cursor<'a, const N: usize> {
    lookup: &'a Lookup<N>,
    last: Option<(Combination, TileSet<N>)>,
    next: usize,
}

impl<'a, const N: usize> Cursor<'a, N> {
    pub fn new(lookup: &'a Lookup<N>) -> Self {
        Self { lookup, last: None, next: 0 }
    }

    /// Returns the places of all combinations that can stand for the same game state as `key`.
    #[inline]
    pub fn places(&mut self, key: Combination) -> TileSet<N> {
        if let Some((last, places)) = &self.last
            && *last == key
        {
            return *places;
        }
        let Lookup { layer, index, chains } = self.lookup;
        let places = if let Some(chains) = chains {
            let matches = chains.matches(key, &layer.keys);
            matches.fold(TileSet::EMPTY, |places, at| places.or(&layer.sets[at]))
        } else {
            let is_next = layer.keys.get(self.next) == Some(&key);
            let at = if is_next { Some(self.next) } else { index.find(key, &layer.keys) };
            self.next = at.map_or(self.next, |at| at + 1);
            at.map_or(TileSet::EMPTY, |at| layer.sets[at])
        };
        self.last = Some((key, places));
        places
    }
}

/// The indices of keys in a list.
#[derive(Clone, Debug, Default)]
pub(super) struct Index(HashTable<u32>);

impl Index {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn fill(&mut self, keys: &[Combination]) {
        self.0.reserve(keys.len(), |&at| hash(keys[at as usize]));
        for (place, &key) in keys.iter().enumerate() {
            self.0.insert_unique(hash(key), place as u32, |&at| hash(keys[at as usize]));
        }
    }

    #[inline]
    fn find(&self, key: Combination, keys: &[Combination]) -> Option<usize> {
        self.0.find(hash(key), |&at| keys[at as usize] == key).map(|&at| at as usize)
    }

    /// Returns the index of a key in `keys`. A new key is appended.
    #[inline]
    pub fn place(&mut self, key: Combination, keys: &mut Vec<Combination>) -> usize {
        // Equal keys are often adjacent.
        if keys.last() == Some(&key) {
            return keys.len() - 1;
        }
        match self.0.entry(hash(key), |&at| keys[at as usize] == key, |&at| hash(keys[at as usize])) {
            Entry::Occupied(entry) => *entry.get() as usize,
            Entry::Vacant(entry) => {
                entry.insert(keys.len() as u32);
                keys.push(key);
                keys.len() - 1
            }
        }
    }

    /// Adds a set to that of its key.
    #[inline]
    pub fn add<const N: usize>(
        &mut self,
        key: Combination,
        set: &TileSet<N>,
        keys: &mut Vec<Combination>,
        sets: &mut Vec<TileSet<N>>,
    ) {
        let place = self.place(key, keys);
        match sets.get_mut(place) {
            Some(own) => *own = own.or(set),
            None => sets.push(*set),
        }
    }
}

#[inline]
fn hash(key: Combination) -> u64 {
    let (low, high) = (key as u64 ^ 0x9e37_79b9_7f4a_7c15, (key >> 64) as u64 ^ 0xe703_7ed1_a0b4_28db);
    let product = u128::from(low) * u128::from(high);
    product as u64 ^ (product >> 64) as u64
}
