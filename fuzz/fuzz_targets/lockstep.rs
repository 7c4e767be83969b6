//! Compares `game` with the reference model: `cargo +nightly fuzz run lockstep`. Without nightly
//! Rust, `cargo run --release --example lockstep` compares them on games drawn from a seed.
#![no_main]

use getaway_reference::lockstep::{Coverage, Dice, RulesDraw, play};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(divergence) = play(&mut Dice::from_bytes(bytes), RulesDraw::Any, &mut Coverage::default()) {
        panic!("{divergence}");
    }
});
