//! Throws broken pictures at the map loader: each is an error or a map, never a panic, and never takes more than 100 MB.
//!
//! `cargo run --release --example png_fuzz -- --count 100000 --seed 1`. Picture N is made of the number `seed + N` alone, so a failure is
//! shown again by `--seed NUMBER --count 1`. The fuzzer's own target, which learns from the code's coverage, is `fuzz/`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;
use flate2::Crc;
use getaway::game::{Layout, World};
use getaway::map::{decode_layout, encode_layout};
use getaway::reference::lockstep::{Dice, random_layout};
use png::{BitDepth, ColorType};

#[path = "../tests/common/counting.rs"]
mod counting;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// Reads pictures that are not what they should be
#[derive(Parser)]
struct Args {
    /// How many pictures
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// The number of the first picture
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What reading one picture may take at most.
const MAX_PEAK_BYTES: usize = 100_000_000;
/// The eight bytes before the first chunk.
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Bytes of a chunk besides its data: length, name and checksum.
const CHUNK_FRAME: usize = 12;

fn main() -> ExitCode {
    let args = Args::parse();
    let (mut maps, mut errors, mut peak) = (0, 0, 0);
    for seed in args.seed..args.seed.saturating_add(args.count) {
        let bytes = picture(&mut Dice::from_seed(seed));
        let (result, taken) = counting::measure(|| catch_unwind(AssertUnwindSafe(|| decode_layout(&bytes))));
        peak = peak.max(taken.peak_bytes);
        let verdict = match result {
            Ok(_) if taken.peak_bytes > MAX_PEAK_BYTES => Err(format!("took {} bytes", taken.peak_bytes)),
            Ok(Ok(layout)) => {
                maps += 1;
                check(&layout)
            }
            Ok(Err(_)) => {
                errors += 1;
                Ok(())
            }
            Err(_) => Err("the loader panicked".to_owned()),
        };
        if let Err(what) = verdict {
            println!("picture {seed}: {what}");
            println!("to see it again: cargo run --release --example png_fuzz -- --seed {seed} --count 1");
            return ExitCode::FAILURE;
        }
    }
    println!("{} pictures: {maps} maps, {errors} errors, at most {peak} bytes for one", args.count);
    ExitCode::SUCCESS
}

/// What was read can be played, and written and read once more it is the same.
fn check(layout: &Layout) -> Result<(), String> {
    World::new(layout, false).map_err(|error| format!("the map cannot be played: {error}"))?;
    let picture = encode_layout(layout).map_err(|error| format!("the map cannot be written: {error}"))?;
    match decode_layout(&picture) {
        Ok(again) if again == *layout => Ok(()),
        Ok(_) => Err("written and read again it is another map".to_owned()),
        Err(error) => Err(format!("what was written cannot be read: {error}")),
    }
}

/// Noise, or a picture of some kind that is then damaged.
fn picture(dice: &mut Dice) -> Vec<u8> {
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
        damage(&mut bytes, dice);
    }
    // With its checksums mended, a damaged picture gets further into the decoder.
    if dice.one_in(2) {
        mend_checksums(&mut bytes);
    }
    bytes
}

/// A picture of random samples of any kind that PNG knows.
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
        // A palette of one player, walls and streets; too short a one is among the things that can be wrong.
        let entries = dice.pick(&[3, 16, 256]);
        let palette: Vec<u8> =
            [[0, 0, 255], [0, 0, 0], [255, 255, 255]].into_iter().cycle().take(entries).flatten().collect();
        encoder.set_palette(palette);
        if dice.one_in(2) {
            encoder.set_trns(vec![255, 255, 0]);
        }
    }
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&samples));
    // What the encoder refuses is a picture that stops after its header.
    drop(written);
    bytes
}

/// One damage: bytes changed, taken away, put in, given twice, or the end cut off.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    let at = dice.below(bytes.len());
    let end = (at + 1 + dice.below(16)).min(bytes.len());
    match dice.below(7) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes[at] = dice.pick(&[0, 1, 16, 127, 128, 255]),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let twice = bytes[at..end].to_vec();
            bytes.splice(at..at, twice);
        }
        5 => {
            let noise: Vec<u8> = (0..end - at).map(|_| dice.below(256) as u8).collect();
            bytes.splice(at..end, noise);
        }
        // The header: size, depth, colour, interlacing.
        _ => {
            let header = SIGNATURE.len() + 8;
            if let Some(byte) = bytes.get_mut(header + dice.below(13)) {
                *byte = dice.pick(&[0, 1, 2, 3, 4, 6, 8, 16, 64, 255]);
            }
        }
    }
}

/// Gives every chunk that is whole the checksum of what it now holds.
fn mend_checksums(bytes: &mut [u8]) {
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
