//! Feeds arbitrary bytes to the map loader, which must return an error or a playable map:
//! `cargo +nightly fuzz run png -- -rss_limit_mb=200 -malloc_limit_mb=100`. The two options limit
//! each allocation to 100 MiB, and the process, including the fuzzer, to 200 MiB. Without nightly
//! Rust, run `cargo run --release --example png_fuzz`.
#![no_main]

use getaway::game::{World, Rules};
use getaway::map::decode_layout;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(layout) = decode_layout(bytes) {
        World::new(&layout, &Rules::BLITZ_2025).expect("a loaded map can be played");
    }
});
