//! `game` against the reference: map, rules and commands are made of the fuzzer's bytes. `cargo +nightly fuzz run lockstep`.
//! Without nightly, the same games by seed: `cargo run --release --example lockstep`.
#![no_main]

use getaway_reference::lockstep::{Coverage, Dice, RulesDraw, play};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(divergence) = play(&mut Dice::from_bytes(bytes), RulesDraw::Any, &mut Coverage::default()) {
        panic!("{divergence}");
    }
});
