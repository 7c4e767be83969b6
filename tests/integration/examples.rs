//! The examples `solve` and `custom_planner` run without an error.

#[path = "../../examples/custom_planner.rs"]
mod custom_planner;
#[path = "../../examples/solve.rs"]
mod solve;

#[test]
fn solve_verifies_its_solution() {
    solve::main().expect("a solution that plays");
}

#[test]
fn custom_planner_plays_against_the_library() {
    custom_planner::main().expect("scores");
}
