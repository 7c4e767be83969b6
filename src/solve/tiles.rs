//! Sets of tiles as bits, and the player's steps on them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::game::Position;

/// A set of places of a [`Board`]. Places must be less than `64 * N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TileSet<const N: usize>([u64; N]);

impl<const N: usize> TileSet<N> {
    pub const EMPTY: Self = Self([0; N]);

    #[inline]
    pub fn of(place: u16) -> Self {
        // The compiler keeps sets in registers only if no run-time value indexes the array.
        Self(std::array::from_fn(|word| u64::from(usize::from(place) / 64 == word) << (place % 64)))
    }

    #[inline]
    pub fn insert(&mut self, place: u16) {
        *self = self.or(&Self::of(place));
    }

    #[inline]
    pub fn remove(&mut self, place: u16) {
        *self = self.without(&Self::of(place));
    }

    #[inline]
    pub fn contains(&self, place: u16) -> bool {
        self.0[usize::from(place) / 64] >> (place % 64) & 1 == 1
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |any, word| any | word) == 0
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
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

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<N> {
        let words = self.0;
        (0..N).flat_map(move |index| {
            let mut word = words[index];
            std::iter::from_fn(move || {
                let place = word.trailing_zeros();
                (word != 0).then(|| {
                    word &= word - 1;
                    (index * 64) as u16 + place as u16
                })
            })
        })
    }

    /// Adds `by` to each place. `by` must be from 1 to 63.
    #[inline]
    fn up(&self, by: u32) -> Self {
        Self(std::array::from_fn(|index| {
            let below = index.checked_sub(1).map_or(0, |below| self.0[below]);
            self.0[index] << by | below >> (64 - by)
        }))
    }

    #[inline]
    fn down(&self, by: u32) -> Self {
        Self(std::array::from_fn(|index| {
            let above = self.0.get(index + 1).copied().unwrap_or(0);
            self.0[index] >> by | above << (64 - by)
        }))
    }

    /// Returns the places of the set and all their neighbours.
    #[inline]
    pub fn spread(&self, stride: u32) -> Self {
        let (up, down, left, right) = (self.up(1), self.down(1), self.down(stride), self.up(stride));
        Self(std::array::from_fn(|word| self.0[word] | up.0[word] | down.0[word] | left.0[word] | right.0[word]))
    }
}

impl<const N: usize> Serialize for TileSet<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(serializer)
    }
}

impl<'de, const N: usize> Deserialize<'de> for TileSet<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<u64>::deserialize(deserializer)?.try_into();
        words.map(Self).map_err(|_| de::Error::custom("a set of places of another size"))
    }
}

/// The next key of a threat if the player's place is in `when`.
#[derive(Clone, Debug)]
pub(super) struct Branch<const N: usize> {
    pub when: TileSet<N>,
    pub key: u32,
}

/// Places (bits of [`TileSet`]s) are numbered by column, or by row if the bounding box of the open
/// tiles is taller than it is wide. After each column (or row), one number is unused, so that a
/// step past its end leads to no tile.
#[derive(Clone, Debug)]
pub(super) struct Board<const N: usize> {
    pub positions: Vec<Position>,
    pub places: Vec<u16>,
    pub tiles: Vec<u16>,
    pub stride: u32,
    pub open: TileSet<N>,
    /// The player's place at the model's first tick.
    pub player: u16,
    pub no_jump: bool,
}

impl<const N: usize> Board<N> {
    /// Groups the player's places by a threat's next key, which `next` returns for a player tile.
    pub fn branches(&self, next: impl Fn(usize) -> u32) -> Vec<Branch<N>> {
        let mut branches: Vec<Branch<N>> = Vec::new();
        for (target, &place) in self.places.iter().enumerate() {
            if !self.open.contains(place) {
                continue;
            }
            let key = next(target);
            match branches.iter_mut().find(|branch| branch.key == key) {
                Some(branch) => branch.when.insert(place),
                None => branches.push(Branch { when: TileSet::of(place), key }),
            }
        }
        branches
    }

    /// Returns the places that the player can reach from the places `from` in one tick.
    #[inline]
    pub fn reach(&self, from: &TileSet<N>) -> TileSet<N> {
        from.spread(self.stride).and(&self.open)
    }
}
