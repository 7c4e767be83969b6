//! A threat's memory.

/// The remembered position of a threat: a tile, or the tile count for none. A mark distinguishes a
/// hawk's post from a place where the hawk saw the player. Only [`Memory::tile`] returns the number
/// of the tile, so the mark cannot become part of a table's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(super) struct Memory(u16);

impl Memory {
    /// The mark of a post; larger than every tile.
    const POST: u16 = 1 << 15;

    #[inline(always)]
    pub const fn of_player(tile: u16) -> Self {
        Self(tile & !Self::POST)
    }

    pub const fn of_post(tile: u16) -> Self {
        Self(tile | Self::POST)
    }

    /// The tile; the tile count means none.
    #[inline(always)]
    pub const fn tile(self) -> u16 {
        self.0 & !Self::POST
    }

    /// The tile and the mark, for hashing; not a valid table index.
    #[inline(always)]
    pub const fn digest(self) -> u16 {
        self.0
    }

    #[inline(always)]
    pub const fn is_post(self) -> bool {
        self.0 & Self::POST != 0
    }
}
