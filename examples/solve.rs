//! Solves a game before its first move, and verifies the solution by playing it.

use std::error::Error;

use getaway::game::{Layout, Rules, World};
use getaway::planner::{Budget, Outcome, Solution, SurvivalOptions, SurvivalSearch};

const MAP: &str = "
    ###########
    #P........#
    #.###.###.#
    #...#.#...#
    #.#.....#.#
    #....S..G.#
    ###########";

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let world = World::new(&Layout::parse(MAP)?, &Rules::NO_JUMP)?;
    let options = SurvivalOptions { seed: 1, ..SurvivalOptions::default() };
    let solution = SurvivalSearch::new(options).solve(&world, &world.start(), Budget::ticks(1_000_000));
    println!("{}: tick {}, {} ticks simulated", solution.outcome, solution.final_tick, solution.simulated_ticks);

    // A solution can be converted to one line of text and back.
    let solution: Solution = solution.to_string().parse()?;
    let mut state = world.start();
    for &player_move in &solution.moves {
        world.step(&mut state, player_move);
    }
    assert_eq!(state.tick(), solution.final_tick);
    assert_eq!(state.is_complete(), solution.outcome == Outcome::Survives);
    println!("{} points", world.score(&state));
    Ok(())
}
