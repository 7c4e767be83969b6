//! Guarantees: no input causes a panic, a late answer or excessive memory use, or affects another
//! game. These are short, reproducible runs; the long ones are `cargo run --release --example fuzz
//! -- messages`, and so on.

use std::path::Path;

#[path = "../../../tests/common/counting.rs"]
mod counting;
mod fuzzing;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// Far from the first seed of the long runs.
const FIRST_SEED: u64 = 1_000_000_000;

#[test]
fn any_message_gets_an_action_or_a_clean_error() {
    // Other tests run in parallel, so lateness is tested by the long run only.
    let tally = fuzzing::messages::run(FIRST_SEED, 4000, false).unwrap();
    println!("{tally}");
    assert!(tally.read > 1000 && tally.decisions > 800, "too little was tested: {tally}");
}

#[test]
fn any_text_is_an_expression_or_a_clean_error() {
    let tally = fuzzing::expressions::run(FIRST_SEED, 20_000, false).unwrap();
    println!("{tally}");
    assert!(tally.expressions > 4000 && tally.decisions > 80, "too little was tested: {tally}");
}

#[test]
fn any_file_is_read_or_gives_a_clear_error() {
    let tally = fuzzing::files::run(FIRST_SEED, 3000, Path::new(env!("CARGO_BIN_EXE_getaway")), 30).unwrap();
    println!("{tally}");
    assert!(
        tally.good_maps > 200 && tally.good_recordings > 200 && tally.runs == 100,
        "too little was tested: {tally}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arbitrary_frames_do_not_affect_another_game() {
    let tally = fuzzing::frames::run(FIRST_SEED, 5000).await.unwrap();
    println!("{tally}");
    assert!(tally.games > 0 && tally.connections > 50, "too little was tested: {tally}");
}
