//! The map loader on arbitrary bytes: an error or a map that can be played, and never more than 100 MB:
//! `cargo +nightly fuzz run png -- -rss_limit_mb=200 -malloc_limit_mb=100`, of which the fuzzer takes its own share.
//! Without nightly: `cargo run --release --example png_fuzz`.
#![no_main]

use getaway::game::{World, Rules};
use getaway::map::decode_layout;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(layout) = decode_layout(bytes) {
        World::new(&layout, &Rules::BLITZ_2025).expect("a map that is read can be played");
    }
});
