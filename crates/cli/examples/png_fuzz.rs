//! Feeds random, mostly broken PNG files to the map loader. The loader must not panic, and must use
//! at most 100 MB of memory. A returned map must be playable, and unchanged after it is encoded and
//! decoded.
//!
//! Run `cargo run --release --example png_fuzz -- --count 100000 --seed 1`. Each picture depends
//! only on its seed. `fuzz/fuzz_targets/png.rs` makes similar checks in a coverage-guided fuzzer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;
use getaway::game::{Layout, Rules, World};
use getaway::map::{decode_layout, encode_layout};
use getaway_reference::lockstep::Dice;

use fuzzing::pictures::picture;

#[path = "../../../tests/common/counting.rs"]
mod counting;
#[path = "../tests/fuzzing/mod.rs"]
mod fuzzing;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// Feed random, mostly broken PNG files to the map loader
#[derive(Parser)]
struct Args {
    /// Number of pictures
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// Seed of the first picture
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const MAX_PEAK_BYTES: usize = 100_000_000;

fn main() -> ExitCode {
    let args = Args::parse();
    let (mut maps, mut errors, mut peak) = (0, 0, 0);
    for seed in args.seed..args.seed.saturating_add(args.count) {
        let bytes = picture(&mut Dice::from_seed(seed));
        let (result, usage) = counting::measure(|| catch_unwind(AssertUnwindSafe(|| decode_layout(&bytes))));
        peak = peak.max(usage.peak_bytes);
        let verdict = match result {
            Ok(_) if usage.peak_bytes > MAX_PEAK_BYTES => Err(format!("took {} bytes", usage.peak_bytes)),
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
        if let Err(failure) = verdict {
            println!("picture {seed}: {failure}");
            println!("reproduce with: cargo run --release --example png_fuzz -- --seed {seed} --count 1");
            return ExitCode::FAILURE;
        }
    }
    println!("{} pictures: {maps} maps, {errors} errors, peak memory {peak} bytes", args.count);
    ExitCode::SUCCESS
}

fn check(layout: &Layout) -> Result<(), String> {
    World::new(layout, &Rules::BLITZ_2025).map_err(|error| format!("the map cannot be played: {error}"))?;
    let picture = encode_layout(layout).map_err(|error| format!("the map cannot be encoded: {error}"))?;
    match decode_layout(&picture) {
        Ok(again) if again == *layout => Ok(()),
        Ok(_) => Err("the map changes when it is encoded and decoded".to_owned()),
        Err(error) => Err(format!("the encoded map cannot be decoded: {error}")),
    }
}
