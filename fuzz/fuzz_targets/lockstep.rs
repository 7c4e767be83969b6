//! Compares `getaway::game` with the reference model in games that the fuzzer's bytes determine:
//! `cargo +nightly fuzz run lockstep`. Without nightly Rust, run
//! `cargo run --release --example lockstep`, which draws the games from seeds.
#![no_main]

use getaway_reference::lockstep::{Coverage, Dice, RulesDraw, play};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(divergence) = play(&mut Dice::from_bytes(bytes), RulesDraw::Any, &mut Coverage::default()) {
        panic!("{divergence}");
    }
});
