//! Sets of states. A set maps combinations of the threats' states to the player's possible tiles.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::pursuer::Pursuer;
use super::tiles::Tiles;

/// The state IDs of some threats, each in its own bits. The bits of other threats are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Combination<const W: usize>([u64; W]);

/// The bits of one threat in a combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    shift: u32,
    bits: u32,
}

impl Slot {
    pub fn adjacent(bits: impl IntoIterator<Item = u32>) -> Vec<Self> {
        let mut end = 0;
        let next = |bits: u32| {
            end += bits;
            Self { shift: end - bits, bits }
        };
        bits.into_iter().map(next).collect()
    }

    pub fn upper(self, bits: u32) -> Self {
        Self { shift: self.end() - bits, bits }
    }

    pub fn end(self) -> u32 {
        self.shift + self.bits
    }
}

impl<const W: usize> Combination<W> {
    pub const EMPTY: Self = Self([0; W]);
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

    pub fn mask(slots: impl IntoIterator<Item = Slot>) -> Self {
        slots.into_iter().fold(Self::EMPTY, |mask, slot| mask.with(slot, ((1_u64 << slot.bits) - 1) as u32))
    }

    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    pub fn is_within(&self, other: &Self) -> bool {
        self.without(other).is_empty()
    }

    fn hash(&self) -> u64 {
        let mix = |hash: u64, word: u64| {
            let product = u128::from(hash ^ word) * 0xff51_afd7_ed55_8ccd_u128;
            product as u64 ^ (product >> 64) as u64
        };
        self.0.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, &word| mix(hash, word))
    }
}

pub(super) type Group<const N: usize, const W: usize> = (Combination<W>, Tiles<N>);

/// A set of states in one tick. The combinations are distinct, and each has at least one tile.
#[derive(Clone, Debug)]
pub(super) struct Layer<const N: usize, const W: usize> {
    pub mask: Combination<W>,
    pub groups: Vec<Group<N, W>>,
}

impl<const N: usize, const W: usize> Layer<N, W> {
    pub fn players(tiles: Tiles<N>) -> Self {
        let groups = if tiles.is_empty() { Vec::new() } else { vec![(Combination::EMPTY, tiles)] };
        Self { mask: Combination::EMPTY, groups }
    }

    #[cfg(test)]
    pub fn states(&self) -> usize {
        self.groups.iter().map(|(_, tiles)| tiles.len()).sum()
    }

    pub fn bytes(&self) -> usize {
        self.groups.len() * size_of::<Group<N, W>>()
    }

    pub fn tiles(&self) -> Tiles<N> {
        self.groups.iter().fold(Tiles::EMPTY, |all, (_, tiles)| all.or(tiles))
    }

    /// Returns the states projected to the threats of `mask`.
    pub fn project(&self, mask: Combination<W>, merger: &mut Merger) -> Self {
        let mut groups = Vec::new();
        merger.begin();
        for (ids, tiles) in &self.groups {
            merger.add(ids.and(&mask), *tiles, &mut groups);
        }
        Self { mask, groups }
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

/// Merges groups with equal combinations, with a hash table of their places in the list of groups.
#[derive(Default)]
pub(super) struct Merger(HashTable<u32>);

impl Merger {
    /// Forgets all groups.
    pub fn begin(&mut self) {
        self.0.clear();
    }

    pub fn add<const N: usize, const W: usize>(
        &mut self,
        ids: Combination<W>,
        tiles: Tiles<N>,
        groups: &mut Vec<Group<N, W>>,
    ) {
        let ids_at = |at: &u32| &groups[*at as usize].0;
        match self.0.entry(ids.hash(), |at| *ids_at(at) == ids, |at| ids_at(at).hash()) {
            Entry::Occupied(entry) => {
                let group = &mut groups[*entry.get() as usize];
                group.1 = group.1.or(&tiles);
            }
            Entry::Vacant(entry) => {
                entry.insert(groups.len() as u32);
                groups.push((ids, tiles));
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hawk {
    pub threat: usize,
    pub slot: Slot,
}

/// A layer whose states can be looked up by the state IDs of some threats. Two state IDs of a hawk
/// match if they may stand for the same state. State IDs of other threats match only if equal.
#[derive(Clone, Debug)]
pub(super) struct Cover<const N: usize, const W: usize> {
    layer: Layer<N, W>,
    /// The bits of the threats by which states are looked up. `hawks` are the hawks among these
    /// threats.
    by: Combination<W>,
    hawks: Vec<Hawk>,
    /// The places of the first groups of chains. The groups of a chain have the same *key*: the bits
    /// `by` of their combinations, with tiles in place of hawks' state IDs.
    heads: HashTable<u32>,
    /// For each group, the place of the next group of its chain, or its own place if it is the last.
    next: Vec<u32>,
}

pub(super) type Pursuers<const N: usize> = [Option<Pursuer<N>>];

fn with_hawk_tiles<const N: usize, const W: usize>(
    ids: Combination<W>,
    hawks: &[Hawk],
    pursuers: &Pursuers<N>,
) -> Combination<W> {
    hawks.iter().fold(ids, |ids, hawk| {
        let tile = pursuers[hawk.threat].as_ref().expect("a hawk").tile(ids.id(hawk.slot));
        ids.without(&Combination::mask([hawk.slot])).with(hawk.slot, tile.into())
    })
}

impl<const N: usize, const W: usize> Cover<N, W> {
    /// Lookups compare the state IDs of the threats in `by`. `hawks` must be the hawks among these
    /// threats.
    pub fn new(mut layer: Layer<N, W>, by: Combination<W>, hawks: Vec<Hawk>, pursuers: &Pursuers<N>) -> Self {
        layer.groups.shrink_to_fit();
        let key_at = |at: &u32| with_hawk_tiles(layer.groups[*at as usize].0.and(&by), &hawks, pursuers);
        let (mut heads, mut next) = (HashTable::new(), Vec::with_capacity(layer.groups.len()));
        for place in 0..layer.groups.len() as u32 {
            let key = key_at(&place);
            match heads.entry(key.hash(), |at| key_at(at) == key, |at| key_at(at).hash()) {
                Entry::Occupied(mut head) => next.push(std::mem::replace(head.get_mut(), place)),
                Entry::Vacant(free) => {
                    free.insert(place);
                    next.push(place);
                }
            }
        }
        Self { layer, by, hawks, heads, next }
    }

    pub fn layer(&self) -> &Layer<N, W> {
        &self.layer
    }

    /// Returns the groups whose state IDs match `ids` in the bits `by`.
    pub fn matches(&self, ids: &Combination<W>, pursuers: &Pursuers<N>) -> impl Iterator<Item = &Group<N, W>> {
        let key_of = |ids: &Combination<W>| with_hawk_tiles(ids.and(&self.by), &self.hawks, pursuers);
        let key = key_of(ids);
        let head = self.heads.find(key.hash(), |&at| key_of(&self.layer.groups[at as usize].0) == key).copied();
        let next = |&at: &u32| Some(self.next[at as usize]).filter(|&after| after != at);
        let chain = std::iter::successors(head, next).map(|at| &self.layer.groups[at as usize]);
        chain.filter(|(other, _)| {
            self.hawks.iter().all(|hawk| {
                let pursuer = pursuers[hawk.threat].as_ref().expect("a hawk");
                pursuer.overlap(ids.id(hawk.slot), other.id(hawk.slot))
            })
        })
    }

    pub fn tiles(&self, ids: &Combination<W>, pursuers: &Pursuers<N>) -> Tiles<N> {
        self.matches(ids, pursuers).fold(Tiles::EMPTY, |all, (_, tiles)| all.or(tiles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combination_returns_the_numbers_that_it_was_given() {
        let slots = Slot::adjacent([18, 26, 26, 7, 0, 26, 20]);
        assert_eq!(slots.last().expect("seven").end(), 123);
        let ids: Vec<u32> = slots.iter().map(|slot| (0x2f35_a9c1_u64 & ((1 << slot.bits) - 1)) as u32).collect();
        let all = slots.iter().zip(&ids);
        let combination = all.fold(Combination::<2>::EMPTY, |all, (&slot, &id)| all.with(slot, id));
        for (&slot, &id) in slots.iter().zip(&ids) {
            assert_eq!(combination.id(slot), id, "{slot:?}");
            let others = combination.without(&Combination::mask([slot]));
            assert_eq!(others.id(slot), 0, "{slot:?}");
            assert_eq!(others.with(slot, id), combination, "{slot:?}");
        }
    }

    #[test]
    fn merger_collects_the_tiles_of_each_combination() {
        let slot = Slot::adjacent([20])[0];
        let (mut merger, mut groups) = (Merger::default(), Vec::new());
        merger.begin();
        for id in (0..1000).chain(500..1500) {
            let tile = if groups.len() < 1000 { 3 } else { 70 };
            merger.add(Combination::<1>::EMPTY.with(slot, id), Tiles::<2>::single(tile), &mut groups);
        }
        let layer = Layer { mask: Combination::mask([slot]), groups };
        assert_eq!((layer.groups.len(), layer.states()), (1500, 2000));
        let cover = Cover::new(layer, Combination::mask([slot]), Vec::new(), &[]);
        let tiles =
            |id: u32| -> Vec<u16> { cover.tiles(&Combination::<1>::EMPTY.with(slot, id), &[]).iter().collect() };
        assert_eq!([tiles(499), tiles(999), tiles(1499), tiles(1500)], [vec![3], vec![3, 70], vec![70], vec![]]);
    }
}
