//! Builds the next layer: collects edges from the runs of a layer to the runs of the next layer,
//! and then fills the next runs one by one from the edges that lead to them. The combinations of a
//! *run* differ only in the widest threat, the one with the most bits.

use std::ops::Range;

use super::combination::{Combination, Slot};
use super::layer::{Index, Layer};
use super::moves::{Group, JoinContext, extend};
use super::tile_set::TileSet;

/// A step from a run to a run of the next layer, by all threats except the widest.
#[derive(Clone, Copy, Debug)]
struct Edge<const N: usize> {
    /// The edge leaves the run at `start..end` in the layer.
    start: u32,
    end: u32,
    /// The index of the latest earlier edge to the same next run, or `NO_EDGE`.
    before: u32,
    from: TileSet<N>,
    to: TileSet<N>,
}

#[derive(Debug, Default)]
struct Table<const N: usize> {
    /// Hash table of stamps and indices into `keys` and `sets`. Entries with an old stamp are free.
    entries: Vec<(u32, u32)>,
    stamp: u32,
    is_hashed: bool,
    keys: Vec<u32>,
    sets: Vec<TileSet<N>>,
    is_ascending: bool,
    order: Vec<u64>,
}

impl<const N: usize> Table<N> {
    /// Counted keys of at most this many bits are not hashed.
    const DIRECT_BITS: u32 = 16;
    const HASHED_LEN: usize = 1 << 10;

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
        self.keys.clear();
        self.sets.clear();
        self.is_ascending = true;
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.entries.fill((0, 0));
            self.stamp = 1;
        }
    }

    /// Returns a key's index in `keys`. The error is the index of the free entry for a new key.
    #[inline(always)]
    fn find(&self, key: u32) -> Result<usize, usize> {
        let mask = self.entries.len() - 1;
        let hash = if self.is_hashed { (key.wrapping_mul(0x9e37_79b1) >> 7) as usize } else { key as usize };
        let mut at = hash & mask;
        loop {
            let (stamp, place) = self.entries[at];
            if stamp != self.stamp {
                return Err(at);
            }
            if self.keys[place as usize] == key {
                return Ok(place as usize);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline(always)]
    fn add(&mut self, key: u32, set: TileSet<N>) {
        match self.find(key) {
            Ok(place) => self.sets[place] = self.sets[place].or(&set),
            Err(at) => {
                self.is_ascending &= self.keys.last().is_none_or(|last| *last < key);
                self.entries[at] = (self.stamp, self.keys.len() as u32);
                self.keys.push(key);
                self.sets.push(set);
                if self.is_hashed && 2 * self.keys.len() > self.entries.len() {
                    self.grow();
                }
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.reserve(2 * self.entries.len());
        self.stamp += 1;
        for place in 0..self.keys.len() {
            if let Err(at) = self.find(self.keys[place]) {
                self.entries[at] = (self.stamp, place as u32);
            }
        }
    }

    fn drain(&mut self, mut push: impl FnMut(u32, TileSet<N>)) {
        if self.is_ascending {
            self.keys.iter().zip(&self.sets).for_each(|(key, set)| push(*key, *set));
            return;
        }
        self.order.clear();
        self.order.extend(self.keys.iter().zip(0..).map(|(key, place): (_, u64)| u64::from(*key) << 32 | place));
        self.order.sort_unstable();
        self.order.iter().for_each(|entry| push((entry >> 32) as u32, self.sets[(entry & 0xffff_ffff) as usize]));
    }
}

#[derive(Debug, Default)]
struct Keys<const N: usize> {
    counted: Vec<u32>,
    sets: Vec<TileSet<N>>,
}

impl<const N: usize> Keys<N> {
    fn clear(&mut self) {
        self.counted.clear();
        self.sets.clear();
    }
}

#[derive(Debug, Default)]
struct Progress {
    followed: usize,
    old_end: usize,
    next_edge: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Builder<const N: usize> {
    index: Index,
    runs: Vec<Combination>,
    /// Cleared once all edges are followed. For each next run, `heads` holds the index of the last
    /// edge to the run, or `NO_EDGE`.
    edges: Vec<Edge<N>>,
    heads: Vec<u32>,
    keys: Keys<N>,
    ends: Vec<u32>,
    /// True while edges are followed. `old` then holds the combinations found earlier.
    is_following: bool,
    progress: Progress,
    old: Keys<N>,
    table: Table<N>,
}

impl<const N: usize> Builder<N> {
    const NO_EDGE: u32 = u32::MAX;
    const EDGES_MIN: usize = 1 << 16;

    /// Bytes per combination under construction, in addition to [`Layer::KEY_BYTES`].
    pub const KEY_BYTES: usize = 2 * (size_of::<TileSet<N>>() + size_of::<u32>()) + size_of::<Edge<N>>() / 2;

    pub fn len(&self) -> usize {
        self.keys.counted.len()
    }

    pub fn is_following(&self) -> bool {
        self.is_following
    }

    pub fn begin(&mut self) {
        self.index.clear(0);
        self.runs.clear();
        self.edges.clear();
        self.heads.clear();
        self.keys.clear();
        self.ends.clear();
        self.is_following = false;
    }

    pub fn add(&mut self, group: &Group<N>, places: &Range<usize>) {
        let run = self.index.place(group.key, &mut self.runs);
        self.heads.resize(self.runs.len(), Self::NO_EDGE);
        let before = std::mem::replace(&mut self.heads[run], self.edges.len() as u32);
        let (start, end) = (places.start as u32, places.end as u32);
        self.edges.push(Edge { start, end, before, from: group.from, to: group.to });
    }

    pub fn is_full(&self) -> bool {
        self.edges.len() > Self::EDGES_MIN.max(self.len() / 2)
    }

    pub fn begin_following(&mut self, context: &JoinContext<'_, N>) {
        self.table.begin(context.widest().map_or(0, Slot::counted_bits));
        std::mem::swap(&mut self.keys, &mut self.old);
        self.keys.clear();
        self.ends.resize(self.runs.len(), self.old.counted.len() as u32);
        self.progress = Progress::default();
        self.is_following = true;
    }

    /// Follows edges for about `slice` combinations of the layer. Returns true if no edge is left.
    pub fn follow(&mut self, context: &JoinContext<'_, N>, layer: &Layer<N>, slice: usize) -> bool {
        let widest = context.widest();
        let mut work = 0;
        while work < slice {
            let run = self.progress.followed;
            if run == self.runs.len() {
                self.edges.clear();
                self.is_following = false;
                return true;
            }
            let old = self.progress.old_end..self.ends[run] as usize;
            let mut at = self.progress.next_edge.take().unwrap_or_else(|| {
                let head = std::mem::replace(&mut self.heads[run], Self::NO_EDGE);
                work += 1 + old.len() / 8;
                if head == Self::NO_EDGE {
                    self.keys.counted.extend_from_slice(&self.old.counted[old.clone()]);
                    self.keys.sets.extend_from_slice(&self.old.sets[old.clone()]);
                } else {
                    self.table.clear();
                    old.clone().for_each(|place| self.table.add(self.old.counted[place], self.old.sets[place]));
                }
                head
            });
            if at != Self::NO_EDGE {
                while let Some(edge) = self.edges.get(at as usize) {
                    if work >= slice {
                        self.progress.next_edge = Some(at);
                        return false;
                    }
                    let places = edge.start as usize..edge.end as usize;
                    work += places.len();
                    let combinations = (&layer.keys[places.clone()], &layer.sets[places]);
                    extend(context, widest, (&edge.from, &edge.to), combinations, |_, key, _, to| {
                        self.table.add(key, to);
                    });
                    at = edge.before;
                }
                self.table.drain(|key, set| {
                    self.keys.counted.push(key);
                    self.keys.sets.push(set);
                });
            }
            self.progress.old_end = old.end;
            self.ends[run] = self.len() as u32;
            self.progress.followed += 1;
        }
        false
    }

    /// Adds the combinations to a layer. `shift` is the widest threat's lowest bit.
    pub fn finish(&mut self, shift: u32, layer: &mut Layer<N>) {
        let mut start = 0;
        for (run, &end) in self.runs.iter().zip(&self.ends) {
            let keys = self.keys.counted[start..end as usize].iter();
            layer.keys.extend(keys.map(|&key| run | Combination::from(key) << shift));
            start = end as usize;
        }
        layer.sets.extend_from_slice(&self.keys.sets);
    }
}
