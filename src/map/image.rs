//! Converts between `layout.png` and [`Layout`]. For any input, [`decode_layout`] returns an error
//! or the same tiles as the server. It never panics, and uses less than 100 MiB of memory. It
//! restores any layout that [`encode_layout`] has encoded.

use crate::game::{Layout, Position, Spawn, Style, Tile};

use super::limits::{LayoutError, MAX_SIDE, check_limits};
use super::picture::{Picture, decode_picture};

/// An opaque pixel matches the nearest palette colour if |dr|+|dg|+|db| is below this number, as on
/// the server. Otherwise, its tile is open.
const TOLERANCE: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pixel {
    Wall,
    Open,
    Player,
    Threat(Style),
}

/// The server's colours. Any two differ by at least twice the tolerance.
const PALETTE: [([u8; 3], Pixel); 3 + Style::ALL.len()] = {
    let mut palette = [([0, 0, 0], Pixel::Wall); 3 + Style::ALL.len()];
    palette[1] = ([255, 255, 255], Pixel::Open);
    palette[2] = ([0, 0, 255], Pixel::Player);
    let mut style = 0;
    while style < Style::ALL.len() {
        palette[3 + style] = (Style::ALL[style].color(), Pixel::Threat(Style::ALL[style]));
        style += 1;
    }
    palette
};

/// Decodes a PNG of any kind (grey or colour, indexed or not, with or without alpha, 1 to 16 bits,
/// interlaced or not). Checks the size before decompression, and tile and threat counts afterwards.
pub fn decode_layout(bytes: &[u8]) -> Result<Layout, LayoutError> {
    build_layout(&decode_picture(bytes)?)
}

/// Encodes a layout as an RGBA PNG, with the same bytes on every machine. Fails if the PNG would
/// not decode to the same layout.
pub fn encode_layout(layout: &Layout) -> Result<Vec<u8>, LayoutError> {
    check_limits(layout)?;
    let (Ok(width), Ok(height)) = (u32::try_from(layout.width), u32::try_from(layout.height)) else {
        return Err(LayoutError::NotDrawable);
    };
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(LayoutError::TooLarge { width, height });
    }
    if layout.tiles.len() != (width * height) as usize {
        return Err(LayoutError::NotDrawable);
    }

    let mut pixels: Vec<u8> = layout.tiles.iter().flat_map(|&tile| tile_rgba(tile)).collect();
    let spawns = layout.threats.iter().map(|spawn| (spawn.position, Pixel::Threat(spawn.style)));
    for (position, pixel) in spawns.chain([(layout.player, Pixel::Player)]) {
        if layout.tile(position) != Tile::Open {
            return Err(LayoutError::NotDrawable);
        }
        let at = 4 * (position.y * layout.width + position.x) as usize;
        pixels[at..at + 3].copy_from_slice(&color_of(pixel));
    }

    let mut bytes = Vec::new();
    // This fails only if a side is zero, which is impossible for a layout with open tiles.
    write_png(&mut bytes, width, height, &pixels).map_err(|_| LayoutError::NotDrawable)?;
    // An image cannot show two spawns on one tile, or threats that are not in the server's order.
    if decode_layout(&bytes)? != *layout {
        return Err(LayoutError::NotDrawable);
    }
    Ok(bytes)
}

/// Lists threats row by row. If several pixels have the player's colour, the last one counts.
fn build_layout(picture: &Picture) -> Result<Layout, LayoutError> {
    let &Picture { width, height, .. } = picture;
    let mut tiles = Vec::with_capacity(picture.pixels.len());
    let mut threats = Vec::new();
    let mut player = None;
    let positions = (0..height).flat_map(|y| (0..width).map(move |x| Position::new(x as i32, y as i32)));
    for (position, &[r, g, b, alpha]) in positions.zip(&picture.pixels) {
        if alpha < 255 {
            tiles.push(Tile::SeeThrough);
            continue;
        }
        let pixel = pixel_of([r, g, b]);
        match pixel {
            Pixel::Player => player = Some(position),
            Pixel::Threat(style) => threats.push(Spawn { style, position }),
            Pixel::Wall | Pixel::Open => {}
        }
        tiles.push(if pixel == Pixel::Wall { Tile::Wall } else { Tile::Open });
    }
    let player = player.ok_or(LayoutError::NoPlayer)?;
    let layout = Layout { width: width as i32, height: height as i32, tiles, player, threats };
    check_limits(&layout)?;
    Ok(layout)
}

fn pixel_of(color: [u8; 3]) -> Pixel {
    let distance = |other: [u8; 3]| -> u32 { color.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(b))).sum() };
    PALETTE
        .into_iter()
        .map(|(other, pixel)| (distance(other), pixel))
        .filter(|&(distance, _)| distance < TOLERANCE)
        .min_by_key(|&(distance, _)| distance)
        .map_or(Pixel::Open, |(_, pixel)| pixel)
}

fn color_of(pixel: Pixel) -> [u8; 3] {
    PALETTE.into_iter().find(|&(_, other)| other == pixel).map_or([255; 3], |(color, _)| color)
}

fn tile_rgba(tile: Tile) -> [u8; 4] {
    match tile {
        Tile::Wall => [0, 0, 0, 255],
        Tile::Open => [255, 255, 255, 255],
        Tile::SeeThrough => [255, 255, 255, 0],
    }
}

fn write_png(bytes: &mut Vec<u8>, width: u32, height: u32, pixels: &[u8]) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    // Uncompressed, so that the bytes do not depend on a compressor.
    encoder.set_compression(png::Compression::NoCompression);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn palette_colours_are_at_least_twice_the_tolerance_apart() {
        for (i, (a, _)) in PALETTE.iter().enumerate() {
            for (b, _) in &PALETTE[..i] {
                let distance: u32 = a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
                assert!(distance >= 2 * TOLERANCE, "{a:?} and {b:?} are only {distance} apart");
            }
        }
    }

    #[test]
    fn colour_matches_up_to_distance_19() {
        for (color, pixel) in PALETTE {
            assert_eq!(pixel_of(color), pixel);
            let away = |by: [u8; 3]| {
                let mut shifted = color;
                for (channel, by) in shifted.iter_mut().zip(by) {
                    *channel = channel.checked_sub(by).unwrap_or(channel.saturating_add(by));
                }
                shifted
            };
            for (near, far) in [([19, 0, 0], [20, 0, 0]), ([0, 0, 19], [0, 0, 20]), ([6, 6, 7], [7, 6, 7])] {
                assert_eq!(pixel_of(away(near)), pixel, "{near:?} away from {color:?}");
                assert_eq!(pixel_of(away(far)), Pixel::Open, "{far:?} away from {color:?}");
            }
        }
    }
}
