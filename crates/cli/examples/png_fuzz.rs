//! Throws broken pictures at the map loader: each is an error or a map, never a panic, and never takes more than 100 MB.
//!
//! `cargo run --release --example png_fuzz -- --count 100000 --seed 1`. Picture N is made of the number `seed + N` alone, so a failure is
//! shown again by `--seed NUMBER --count 1`. The fuzzer's own target, which learns from the code's coverage, is `fuzz/`.

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
    World::new(layout, &Rules::BLITZ_2025).map_err(|error| format!("the map cannot be played: {error}"))?;
    let picture = encode_layout(layout).map_err(|error| format!("the map cannot be written: {error}"))?;
    match decode_layout(&picture) {
        Ok(again) if again == *layout => Ok(()),
        Ok(_) => Err("written and read again it is another map".to_owned()),
        Err(error) => Err(format!("what was written cannot be read: {error}")),
    }
}
