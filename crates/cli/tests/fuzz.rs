//! Promise: no input makes anything panic, late or large, and none of it reaches a game that goes on beside it. These are short runs, the same
//! every time; the long ones are `cargo run --release --example fuzz -- messages`, and so on.

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
    // Neighbours in the same process take their time: what is late is judged by the long run.
    let tally = fuzzing::messages::run(FIRST_SEED, 4000, false).unwrap();
    println!("{tally}");
    assert!(tally.read > 1000 && tally.decisions > 800, "hardly anything was tested: {tally}");
}

#[test]
fn any_text_is_an_expression_or_a_clean_error() {
    let tally = fuzzing::expressions::run(FIRST_SEED, 20_000, false).unwrap();
    println!("{tally}");
    assert!(tally.expressions > 4000 && tally.decisions > 80, "hardly anything was tested: {tally}");
}

#[test]
fn any_file_is_read_or_a_clean_error() {
    let tally = fuzzing::files::run(FIRST_SEED, 3000, Path::new(env!("CARGO_BIN_EXE_getaway")), 30).unwrap();
    println!("{tally}");
    assert!(
        tally.good_maps > 200 && tally.good_recordings > 200 && tally.runs == 100,
        "hardly anything was tested: {tally}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_frame_leaves_the_game_of_another_alone() {
    let tally = fuzzing::frames::run(FIRST_SEED, 5000).await.unwrap();
    println!("{tally}");
    assert!(tally.games > 0 && tally.connections > 50, "hardly anything was tested: {tally}");
}
