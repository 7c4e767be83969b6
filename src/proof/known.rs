use std::sync::Arc;

use super::combination::Combination;
use super::layer::Lookup;

#[derive(Debug)]
pub(super) struct Known<const N: usize> {
    pub mask: Combination,
    pub states: u64,
    /// Number of states after projection to the target's first slot; `states` if the threat of this
    /// slot is not in `mask`.
    pub first_states: u64,
    pub lookup: Arc<Lookup<N>>,
}

#[derive(Clone, Debug)]
pub(super) struct Knowledge<const N: usize> {
    by_tick: Vec<Vec<Arc<Known<N>>>>,
    bytes: usize,
    max_bytes: usize,
}

impl<const N: usize> Knowledge<N> {
    pub fn new(until_tick: usize, max_bytes: usize) -> Self {
        Self { by_tick: vec![Vec::new(); until_tick + 1], bytes: 0, max_bytes }
    }

    pub fn extend(&mut self, until_tick: usize) {
        self.by_tick.resize(until_tick + 1, Vec::new());
    }

    /// Returns the known sets of a tick; none for ticks after the target.
    pub fn at(&self, tick: usize) -> &[Arc<Known<N>>] {
        self.by_tick.get(tick).map_or(&[], |sets| &sets[..])
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Arc<Known<N>>)> {
        self.by_tick.iter().enumerate().flat_map(|(tick, sets)| sets.iter().map(move |known| (tick, known)))
    }

    /// Adds a set, and removes the sets of this tick whose masks lie within the new set's mask.
    /// Returns false, and changes nothing, if the sets would exceed the memory limit.
    pub fn keep(&mut self, tick: usize, known: Arc<Known<N>>) -> bool {
        let is_replaced = |other: &Arc<Known<N>>| other.mask & !known.mask == 0;
        let replaced = self.by_tick[tick].iter().filter(|other| is_replaced(other));
        let replaced_bytes: usize = replaced.map(|other| other.lookup.bytes()).sum();
        let bytes = self.bytes + known.lookup.bytes() - replaced_bytes;
        let has_room = bytes <= self.max_bytes;
        if has_room {
            self.bytes = bytes;
            self.by_tick[tick].retain(|other| !is_replaced(other));
            self.by_tick[tick].push(known);
        }
        has_room
    }

    /// Adds each set of `other` that fits into the memory limit, unless its mask lies within the
    /// mask of a set of `self` for the same tick. Returns true if any set was added.
    pub fn adopt(&mut self, other: &Self) -> bool {
        let mut is_adopted = false;
        for (tick, sets) in other.by_tick.iter().enumerate() {
            for known in sets {
                let is_new = self.by_tick[tick].iter().all(|own| known.mask & !own.mask != 0);
                is_adopted |= is_new && self.keep(tick, known.clone());
            }
        }
        is_adopted
    }

    pub fn restrict(&mut self, tick: usize, place: usize, known: Known<N>) {
        let before = &mut self.by_tick[tick][place];
        self.bytes = self.bytes + known.lookup.bytes() - before.lookup.bytes();
        *before = Arc::new(known);
    }
}
