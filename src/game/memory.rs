//! What a threat remembers.

/// The position a threat remembers: a tile, or the tile count for none, and whether it is a hawk's
/// post rather than a place where the player was seen. [`Memory::tile`] is the only way to the
/// tile's number, so the mark of a post cannot reach a table's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(super) struct Memory(u16);

impl Memory {
    /// Marks a post; above every tile.
    const POST: u16 = 1 << 15;

    /// A place where the player was, or the number of tiles for none.
    #[inline(always)]
    pub const fn of_player(tile: u16) -> Self {
        Self(tile & !Self::POST)
    }

    /// An intersection that a hawk is sent to.
    pub const fn of_post(tile: u16) -> Self {
        Self(tile | Self::POST)
    }

    /// The tile, or the number of tiles for none.
    #[inline(always)]
    pub const fn tile(self) -> u16 {
        self.0 & !Self::POST
    }

    /// The tile and the mark in one number: to be hashed, not to index a table.
    #[inline(always)]
    pub const fn digest(self) -> u16 {
        self.0
    }

    /// Whether the tile is a post.
    #[inline(always)]
    pub const fn is_post(self) -> bool {
        self.0 & Self::POST != 0
    }
}
