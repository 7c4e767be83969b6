use thiserror::Error;

use crate::game::{Layout, MAX_OPEN_TILES, MAX_THREATS, Position};

/// Maximum side in pixels. A winding street of [`MAX_OPEN_TILES`] tiles still fits, and the largest
/// image (16-bit RGBA) takes 8 MB.
pub const MAX_SIDE: u32 = 1024;
/// Minimum number of open tiles. On a single tile, the player could not move.
pub const MIN_OPEN_TILES: usize = 2;

/// The error for an image or text that is not a map, or a layout that cannot be drawn.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Not a PNG, or a damaged or truncated PNG.
    #[error("invalid PNG: {0}")]
    Png(#[from] png::DecodingError),
    /// An indexed PNG with a pixel outside its palette.
    #[error("invalid PNG: colour {index} at {position} is not in its palette")]
    NotInPalette {
        /// The index in the image.
        index: u16,
        /// The pixel's position.
        position: Position,
    },
    /// An animated PNG with a first frame that does not cover the entire image.
    #[error("invalid PNG: the first frame does not cover the image")]
    PartialFrame,
    /// A side exceeds [`MAX_SIDE`]. The image is not decoded.
    #[error("map too large: {width}x{height} tiles, expected at most {MAX_SIDE} per side")]
    TooLarge {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// No pixel spawns the player. The server accepts a map without a player.
    #[error("no player: expected an opaque pixel of colour 0,0,255")]
    NoPlayer,
    /// The map has fewer open tiles than [`MIN_OPEN_TILES`].
    #[error("too few open tiles: {open_tiles}, expected at least {MIN_OPEN_TILES}")]
    TooFewOpenTiles {
        /// The number of open tiles.
        open_tiles: usize,
    },
    /// The map has more open tiles than [`MAX_OPEN_TILES`].
    #[error("too many open tiles ({open_tiles}): expected at most {MAX_OPEN_TILES}")]
    TooManyOpenTiles {
        /// The number of open tiles.
        open_tiles: usize,
    },
    /// The map has more threats than [`MAX_THREATS`].
    #[error("too many threats ({threats}): expected at most {MAX_THREATS}")]
    TooManyThreats {
        /// The number of threats.
        threats: usize,
    },
    /// The layout cannot be represented by an image.
    #[error(
        "cannot be drawn: expected one tile per cell, the player and every threat on an open opaque tile of its own, \
         and threats listed row by row"
    )]
    NotDrawable,
}

/// Also checks the sides. For an image, the header has already been checked.
pub(super) fn check_text(layout: &Layout) -> Result<(), LayoutError> {
    let [width, height] = [layout.width, layout.height].map(|side| side.unsigned_abs());
    if width.max(height) > MAX_SIDE {
        return Err(LayoutError::TooLarge { width, height });
    }
    check_limits(layout)
}

pub(super) fn check_limits(layout: &Layout) -> Result<(), LayoutError> {
    let open_tiles = layout.tiles.iter().filter(|tile| tile.is_open()).count();
    let threats = layout.threats.len();
    if open_tiles < MIN_OPEN_TILES {
        return Err(LayoutError::TooFewOpenTiles { open_tiles });
    }
    if open_tiles > MAX_OPEN_TILES {
        return Err(LayoutError::TooManyOpenTiles { open_tiles });
    }
    if threats > MAX_THREATS {
        return Err(LayoutError::TooManyThreats { threats });
    }
    Ok(())
}
