use flate2::Crc;
use getaway::map::encode_layout;
use getaway_reference::lockstep::{Dice, random_layout};
use png::{BitDepth, ColorType};

use super::damage;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Number of bytes of a PNG chunk without its data: length, type and checksum.
const CHUNK_FRAME: usize = 12;

pub fn picture(dice: &mut Dice) -> Vec<u8> {
    if dice.one_in(10) {
        let mut bytes = if dice.one_in(2) { SIGNATURE.to_vec() } else { Vec::new() };
        bytes.extend((0..dice.below(200)).map(|_| dice.below(256) as u8));
        return bytes;
    }
    let mut bytes = match dice.below(3) {
        0 => encode_layout(&random_layout(dice)).unwrap_or_default(),
        _ => any_kind(dice),
    };
    for _ in 0..dice.below(5) {
        if dice.one_in(7) {
            damage_header(&mut bytes, dice);
        } else {
            damage(&mut bytes, dice);
        }
    }
    if dice.one_in(2) {
        fix_checksums(&mut bytes);
    }
    bytes
}

fn any_kind(dice: &mut Dice) -> Vec<u8> {
    let (color, depths): (ColorType, &[BitDepth]) = match dice.below(5) {
        0 => {
            (ColorType::Grayscale, &[BitDepth::One, BitDepth::Two, BitDepth::Four, BitDepth::Eight, BitDepth::Sixteen])
        }
        1 => (ColorType::Indexed, &[BitDepth::One, BitDepth::Two, BitDepth::Four, BitDepth::Eight]),
        2 => (ColorType::GrayscaleAlpha, &[BitDepth::Eight, BitDepth::Sixteen]),
        3 => (ColorType::Rgb, &[BitDepth::Eight, BitDepth::Sixteen]),
        _ => (ColorType::Rgba, &[BitDepth::Eight, BitDepth::Sixteen]),
    };
    let depth = dice.pick(depths);
    let (width, height) = (1 + dice.below(24), 1 + dice.below(24));
    let row_bytes = (width * color.samples() * depth as usize).div_ceil(8);
    let samples: Vec<u8> = (0..row_bytes * height).map(|_| dice.pick(&[0, 0, 255, 255, 255, 125, 85])).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        // The palette repeats the colours of the player, walls and streets. If it is short, some
        // pixels have no entry.
        let entries = dice.pick(&[3, 16, 256]);
        let palette: Vec<u8> =
            [[0, 0, 255], [0, 0, 0], [255, 255, 255]].into_iter().cycle().take(entries).flatten().collect();
        encoder.set_palette(palette);
        if dice.one_in(2) {
            encoder.set_trns(vec![255, 255, 0]);
        }
    }
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&samples));
    drop(written);
    bytes
}

fn damage_header(bytes: &mut [u8], dice: &mut Dice) {
    let header = SIGNATURE.len() + 8;
    if let Some(byte) = bytes.get_mut(header + dice.below(13)) {
        *byte = dice.pick(&[0, 1, 2, 3, 4, 6, 8, 16, 64, 255]);
    }
}

fn fix_checksums(bytes: &mut [u8]) {
    let mut at = SIGNATURE.len();
    while let Some(length) = bytes.get(at..at + 4) {
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let Some(chunk) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..length.saturating_add(CHUNK_FRAME)))
        else {
            return;
        };
        let (data, checksum) = chunk.split_at_mut(length + 8);
        let mut crc = Crc::new();
        crc.update(&data[4..]);
        checksum.copy_from_slice(&crc.sum().to_be_bytes());
        at += length + CHUNK_FRAME;
    }
}
