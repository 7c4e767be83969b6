//! Sets of states. A set maps combinations of the threats' states to the player's possible tiles.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::bits::{Bits, Tiles};
use super::pursuer::Pursuer;

/// The state IDs of some threats, each in its own bits. The bits of other threats are zero.
pub(super) type Combination<const W: usize> = Bits<W>;

/// The bits of one threat in a combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    shift: u32,
    pub bits: u32,
}

impl Slot {
    pub fn adjacent(bits: impl IntoIterator<Item = u32>) -> Vec<Self> {
        let next = |end: &mut u32, bits: u32| {
            *end += bits;
            Some(Self { shift: *end - bits, bits })
        };
        bits.into_iter().scan(0, next).collect()
    }

    pub fn upper(self, bits: u32) -> Self {
        Self { shift: self.shift + self.bits - bits, bits }
    }

    /// Returns true if a combination of `W` words has room for the threat.
    pub fn fits<const W: usize>(self) -> bool {
        self.shift + self.bits <= Combination::<W>::BITS
    }

    pub fn is_in<const W: usize>(self, mask: &Combination<W>) -> bool {
        self.fits::<W>() && self.mask().is_within(mask)
    }

    pub fn mask<const W: usize>(self) -> Combination<W> {
        Combination::EMPTY.with(self, ((1_u64 << self.bits) - 1) as u32)
    }
}

impl<const W: usize> Combination<W> {
    pub const BITS: u32 = W as u32 * u64::BITS;

    pub fn id(&self, slot: Slot) -> u32 {
        let (word, shift) = ((slot.shift / u64::BITS) as usize, slot.shift % u64::BITS);
        let low = self.0[word] >> shift;
        let is_split = shift + slot.bits > u64::BITS;
        let high = if is_split { self.0[word + 1] << (u64::BITS - shift) } else { 0 };
        ((low | high) & ((1 << slot.bits) - 1)) as u32
    }

    pub fn with(mut self, slot: Slot, id: u32) -> Self {
        let (word, shift) = ((slot.shift / u64::BITS) as usize, slot.shift % u64::BITS);
        self.0[word] |= u64::from(id) << shift;
        if shift + slot.bits > u64::BITS {
            self.0[word + 1] |= u64::from(id) >> (u64::BITS - shift);
        }
        self
    }
}

/// A fast hash. If an adversary provokes collisions, verification only takes longer to reach the
/// limit on steps.
#[derive(Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.chunks_exact(8) {
            let word = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
            let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xff51_afd7_ed55_8ccd_u128;
            self.0 = product as u64 ^ (product >> 64) as u64;
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The place of a group for each combination.
type Places<const W: usize> = HashMap<Combination<W>, u32, BuildHasherDefault<Mixer>>;

pub(super) type Group<const N: usize, const W: usize> = (Combination<W>, Tiles<N>);

/// A set of states in one tick. The combinations are distinct, and each has at least one tile.
#[derive(Clone, Debug)]
pub(super) struct Layer<const N: usize, const W: usize> {
    pub mask: Combination<W>,
    pub groups: Vec<Group<N, W>>,
}

impl<const N: usize, const W: usize> Layer<N, W> {
    pub fn bytes(&self) -> usize {
        self.groups.len() * size_of::<Group<N, W>>()
    }

    /// Returns the states projected to the threats of `mask`.
    pub fn project(&self, mask: Combination<W>, merger: &mut Merger<N, W>) -> Self {
        self.groups.iter().for_each(|(ids, tiles)| merger.add(ids.and(&mask), *tiles));
        Self { mask, groups: merger.take() }
    }

    /// Keeps only the player's tiles that `keep` returns. Returns true if this removes a state.
    pub fn retain(&mut self, mut keep: impl FnMut(&Combination<W>, Tiles<N>) -> Tiles<N>) -> bool {
        let mut is_changed = false;
        self.groups.retain_mut(|(ids, tiles)| {
            let kept = tiles.and(&keep(ids, *tiles));
            is_changed |= kept != *tiles;
            *tiles = kept;
            !kept.is_empty()
        });
        is_changed
    }
}

/// Merges groups with equal combinations.
#[derive(Default)]
pub(super) struct Merger<const N: usize, const W: usize> {
    places: Places<W>,
    pub groups: Vec<Group<N, W>>,
}

impl<const N: usize, const W: usize> Merger<N, W> {
    pub fn add(&mut self, ids: Combination<W>, tiles: Tiles<N>) {
        let place = *self.places.entry(ids).or_insert(self.groups.len() as u32) as usize;
        match self.groups.get_mut(place) {
            Some((_, all)) => *all = all.or(&tiles),
            None => self.groups.push((ids, tiles)),
        }
    }

    pub fn take(&mut self) -> Vec<Group<N, W>> {
        self.places.clear();
        std::mem::take(&mut self.groups)
    }
}

/// A layer whose states can be looked up by the state IDs of some threats. Two state IDs of a hawk
/// match if they may stand for the same state. State IDs of other threats match only if equal.
#[derive(Clone, Debug)]
pub(super) struct Cover<const N: usize, const W: usize> {
    pub layer: Layer<N, W>,
    /// The bits of the threats by which states are looked up.
    by: Combination<W>,
    /// The hawks among these threats.
    hawks: Vec<usize>,
    /// The places of the first groups of chains. The groups of a chain have the same *key*: the bits
    /// `by` of their combinations, with tiles in place of hawks' state IDs.
    heads: Places<W>,
    /// For each group, the place of the next group of its chain, or its own place if it is the last.
    next: Vec<u32>,
}

impl<const N: usize, const W: usize> Cover<N, W> {
    /// Lookups compare the state IDs of the threats in `by`.
    pub fn new(mut layer: Layer<N, W>, by: Combination<W>, pursuers: &[Pursuer<N>]) -> Self {
        layer.groups.shrink_to_fit();
        let is_hawk = |&at: &usize| pursuers[at].is_hawk() && pursuers[at].slot.is_in(&by);
        let hawks = (0..pursuers.len()).filter(is_hawk).collect();
        let (heads, next) = (Places::default(), Vec::with_capacity(layer.groups.len()));
        let mut cover = Self { layer, by, hawks, heads, next };
        for place in 0..cover.layer.groups.len() as u32 {
            let key = cover.key(&cover.layer.groups[place as usize].0, pursuers);
            cover.next.push(cover.heads.insert(key, place).unwrap_or(place));
        }
        cover
    }

    fn key(&self, ids: &Combination<W>, pursuers: &[Pursuer<N>]) -> Combination<W> {
        self.hawks.iter().fold(ids.and(&self.by), |ids, &hawk| {
            let Pursuer { slot, .. } = pursuers[hawk];
            ids.without(&slot.mask()).with(slot, pursuers[hawk].tile(ids.id(slot)).into())
        })
    }

    /// Returns the groups whose state IDs match `ids` in the bits `by`.
    pub fn matches(&self, ids: &Combination<W>, pursuers: &[Pursuer<N>]) -> impl Iterator<Item = &Group<N, W>> {
        let head = self.heads.get(&self.key(ids, pursuers)).copied();
        let next = |&at: &u32| Some(self.next[at as usize]).filter(|&after| after != at);
        let chain = std::iter::successors(head, next).map(|at| &self.layer.groups[at as usize]);
        chain.filter(|(other, _)| {
            let mut hawks = self.hawks.iter().map(|&hawk| &pursuers[hawk]);
            hawks.all(|hawk| hawk.overlap(ids.id(hawk.slot), other.id(hawk.slot)))
        })
    }

    pub fn tiles(&self, ids: &Combination<W>, pursuers: &[Pursuer<N>]) -> Tiles<N> {
        self.matches(ids, pursuers).fold(Tiles::EMPTY, |all, (_, tiles)| all.or(tiles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combination_returns_the_numbers_that_it_was_given() {
        let slots = Slot::adjacent([18, 26, 26, 7, 0, 26, 20]);
        assert!(slots.iter().all(|slot| slot.fits::<2>()) && !slots[6].fits::<1>());
        let ids: Vec<u32> = slots.iter().map(|slot| (0x2f35_a9c1_u64 & ((1 << slot.bits) - 1)) as u32).collect();
        let all = slots.iter().zip(&ids);
        let combination = all.fold(Combination::<2>::EMPTY, |all, (&slot, &id)| all.with(slot, id));
        for (&slot, &id) in slots.iter().zip(&ids) {
            assert_eq!(combination.id(slot), id, "{slot:?}");
            let others = combination.without(&slot.mask());
            assert_eq!(others.id(slot), 0, "{slot:?}");
            assert_eq!(others.with(slot, id), combination, "{slot:?}");
        }
    }

    #[test]
    fn merger_collects_the_tiles_of_each_combination() {
        let slot = Slot::adjacent([20])[0];
        let mut merger = Merger::default();
        for id in (0..1000).chain(500..1500) {
            let tile = if merger.groups.len() < 1000 { 3 } else { 70 };
            merger.add(Combination::<1>::EMPTY.with(slot, id), Tiles::<2>::single(tile));
        }
        let layer = Layer { mask: slot.mask(), groups: merger.take() };
        let states: usize = layer.groups.iter().map(|(_, tiles)| tiles.iter().count()).sum();
        assert_eq!((layer.groups.len(), states), (1500, 2000));
        let cover = Cover::new(layer, slot.mask(), &[]);
        let tiles =
            |id: u32| -> Vec<u16> { cover.tiles(&Combination::<1>::EMPTY.with(slot, id), &[]).iter().collect() };
        assert_eq!([tiles(499), tiles(999), tiles(1499), tiles(1500)], [vec![3], vec![3, 70], vec![70], vec![]]);
    }
}
