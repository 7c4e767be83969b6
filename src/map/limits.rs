use thiserror::Error;

use crate::game::{Layout, MAX_OPEN_TILES, MAX_THREATS, Position};

/// Maximum width and height of a map, in tiles. The largest image (16-bit RGBA) takes 8 MiB
/// without compression.
pub const MAX_SIDE: u32 = 1024;
/// Minimum number of open tiles. With a single open tile, the player could never move.
const MIN_OPEN_TILES: usize = 2;

/// The error for an image or text that is not a valid map, or for a layout that no image can show.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The file cannot be decoded as a PNG, for example because it is damaged or truncated.
    #[error("invalid PNG: {0}")]
    Png(String),
    /// A pixel of an indexed PNG has a colour index that is not in the palette.
    #[error("invalid PNG: colour {index} at {position} is not in its palette")]
    NotInPalette {
        /// The pixel's colour index.
        index: u16,
        /// The pixel's position.
        position: Position,
    },
    /// The first frame of an animated PNG does not cover the entire image.
    #[error("invalid PNG: the first frame does not cover the image")]
    PartialFrame,
    /// The width or height exceeds [`MAX_SIDE`].
    #[error("map too large: {width}x{height} tiles, expected at most {MAX_SIDE} per side")]
    TooLarge {
        /// The number of columns.
        width: u32,
        /// The number of rows.
        height: u32,
    },
    /// No opaque pixel has the player's colour. The server, in contrast, accepts such an image.
    #[error("no player: expected an opaque pixel of colour 0,0,255")]
    NoPlayer,
    /// The map has fewer than two open tiles.
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
        "cannot be saved as an image: expected one tile per cell, the player and every threat on an open opaque tile \
         of its own, and threats listed row by row"
    )]
    NotDrawable,
}

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
