/// A set of tiles whose numbers are below `64 * N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiles<const N: usize>([u64; N]);

impl<const N: usize> Tiles<N> {
    pub const EMPTY: Self = Self([0; N]);

    /// Returns the set that contains only `tile`. Compares word indices instead of indexing the
    /// array, so that the compiler can keep the set in registers.
    #[inline]
    pub fn single(tile: u16) -> Self {
        Self(std::array::from_fn(|word| u64::from(word == usize::from(tile / 64)) << (tile % 64)))
    }

    #[inline]
    pub fn insert(&mut self, tile: u16) {
        *self = self.or(&Self::single(tile));
    }

    #[inline]
    pub fn remove(&mut self, tile: u16) {
        *self = self.without(&Self::single(tile));
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline]
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    #[inline]
    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    #[inline]
    pub fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Returns the union of `sets[tile]` over the tiles of this set.
    #[inline]
    pub fn union(&self, sets: &[Self]) -> Self {
        let mut union = Self::EMPTY;
        for (word, &bits) in self.0.iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                union = union.or(&sets[word * 64 + left.trailing_zeros() as usize]);
                left &= left - 1;
            }
        }
        union
    }

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
