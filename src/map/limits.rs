//! The limits of a map, and the errors of invalid images and layouts.

use thiserror::Error;

use crate::game::{Layout, MAX_OPEN_TILES, MAX_THREATS, Position};

/// Maximum side of an image in pixels: enough for a winding street of [`MAX_OPEN_TILES`] tiles,
/// while the largest image (16-bit RGBA) decompresses to 8 MB.
pub const MAX_SIDE: u32 = 1024;
/// Minimum number of open tiles: with one tile the player cannot move.
pub const MIN_OPEN_TILES: usize = 2;

/// The reason an image or a text is not a map, or a layout cannot be drawn.
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
    /// An animated PNG whose first frame does not cover the whole image.
    #[error("invalid PNG: the first frame does not cover the image")]
    PartialFrame,
    /// A side exceeds [`MAX_SIDE`]; an image was not decoded.
    #[error("map too large: {width}x{height} tiles, expected at most {MAX_SIDE} per side")]
    TooLarge {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// No pixel spawns the player. The server accepts such a map.
    #[error("no player: expected an opaque pixel of colour 0,0,255")]
    NoPlayer,
    /// Fewer than [`MIN_OPEN_TILES`].
    #[error("too few open tiles: {open_tiles}, expected at least {MIN_OPEN_TILES}")]
    TooFewOpenTiles {
        /// The number of open tiles.
        open_tiles: usize,
    },
    /// More than [`MAX_OPEN_TILES`].
    #[error("too many open tiles ({open_tiles}): expected at most {MAX_OPEN_TILES}")]
    TooManyOpenTiles {
        /// The number of open tiles.
        open_tiles: usize,
    },
    /// More than [`MAX_THREATS`].
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

/// Also checks the sides, which the header of an image states.
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
