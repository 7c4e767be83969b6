//! Sets of the map's tiles as bits.

/// A set of at most `64 * N` tiles, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiles<const N: usize>([u64; N]);

impl<const N: usize> Tiles<N> {
    pub const EMPTY: Self = Self([0; N]);

    pub fn of(tile: u16) -> Self {
        let mut set = Self::EMPTY;
        set.insert(tile);
        set
    }

    pub fn insert(&mut self, tile: u16) {
        self.0[usize::from(tile / 64)] |= 1 << (tile % 64);
    }

    pub fn remove(&mut self, tile: u16) {
        self.0[usize::from(tile / 64)] &= !(1 << (tile % 64));
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
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

    /// The tiles in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        (0..N).flat_map(move |word| {
            let mut bits = self.0[word];
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as u16;
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    word as u16 * 64 + bit
                })
            })
        })
    }
}

impl<const N: usize> FromIterator<u16> for Tiles<N> {
    fn from_iter<I: IntoIterator<Item = u16>>(tiles: I) -> Self {
        let mut set = Self::EMPTY;
        tiles.into_iter().for_each(|tile| set.insert(tile));
        set
    }
}
