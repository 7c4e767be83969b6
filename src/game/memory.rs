/// The number of the tile that a threat remembers, or the tile count if it remembers none. A mark
/// distinguishes a hawk's post from a tile where the hawk saw the player. For table indices,
/// [`Memory::tile`] returns the number without the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(super) struct Memory(u16);

impl Memory {
    /// The bit that marks a post. It is larger than every tile number.
    const POST: u16 = 1 << 15;

    #[inline(always)]
    pub const fn of_player(tile: u16) -> Self {
        Self(tile & !Self::POST)
    }

    pub const fn of_post(tile: u16) -> Self {
        Self(tile | Self::POST)
    }

    /// The tile number without the mark; the tile count means no tile.
    #[inline(always)]
    pub const fn tile(self) -> u16 {
        self.0 & !Self::POST
    }

    /// The tile number with the mark, if any, for hashing.
    #[inline(always)]
    pub const fn digest(self) -> u16 {
        self.0
    }

    #[inline(always)]
    pub const fn is_post(self) -> bool {
        self.0 & Self::POST != 0
    }
}
