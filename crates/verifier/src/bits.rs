//! Bit sets, which hold the player's tiles or the bits of state IDs.

/// A set of numbers below `64 * N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bits<const N: usize>(pub [u64; N]);

pub(super) type Tiles<const N: usize> = Bits<N>;

impl<const N: usize> Bits<N> {
    pub const EMPTY: Self = Self([0; N]);

    /// Returns the set that contains only `bit`. Compares word indices instead of indexing the
    /// array, so that the compiler can keep the set in registers.
    #[inline]
    pub fn single(bit: u16) -> Self {
        Self(std::array::from_fn(|word| u64::from(word == usize::from(bit / 64)) << (bit % 64)))
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }

    pub fn is_within(&self, other: &Self) -> bool {
        self.without(other).is_empty()
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

    /// Returns the union of `sets[bit]` over the bits of this set.
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
        (0..64 * N as u16).filter(move |&bit| self.0[usize::from(bit / 64)] >> (bit % 64) & 1 == 1)
    }
}
