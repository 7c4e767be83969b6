//! The example runs without an error.

#[path = "../examples/own_problem.rs"]
mod own_problem;

#[test]
fn discovery_works_for_a_custom_problem() {
    own_problem::main().expect("a ranking");
}
