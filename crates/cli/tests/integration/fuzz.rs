//! Short runs of all fuzzers except `flood`.
//!
//! `cargo run --release --example fuzz -- messages` starts a long run of the fuzzer `messages`.

use std::path::Path;

use crate::fuzzing;

/// Far from the default seed of long runs, so that these tests do not repeat cases of such runs.
const FIRST_SEED: u64 = 1_000_000_000;

#[test]
fn any_message_gets_an_action_or_a_clear_error() {
    // Tests that run in parallel delay answers, so this test does not check for late answers.
    let counts = fuzzing::messages::run(FIRST_SEED, 4000, false).unwrap();
    println!("{counts}");
    assert!(counts.read > 1000 && counts.decisions > 800, "too little was tested: {counts}");
}

#[test]
fn any_text_is_an_expression_or_gives_a_clear_error() {
    let counts = fuzzing::expressions::run(FIRST_SEED, 20_000, false).unwrap();
    println!("{counts}");
    assert!(counts.expressions > 4000 && counts.decisions > 80, "too little was tested: {counts}");
}

#[test]
fn any_file_is_read_or_gives_a_clear_error() {
    let counts = fuzzing::files::run(FIRST_SEED, 1500, Path::new(env!("CARGO_BIN_EXE_getaway")), 30).unwrap();
    println!("{counts}");
    assert!(
        counts.good_maps > 100 && counts.good_recordings > 100 && counts.runs == 50,
        "too little was tested: {counts}"
    );
}

#[test]
fn arbitrary_frames_do_not_affect_another_game() {
    let counts = fuzzing::frames::run(FIRST_SEED, 5000).unwrap();
    println!("{counts}");
    assert!(counts.games > 0 && counts.connections > 50, "too little was tested: {counts}");
}
