//! Solves a game before its first move, and verifies the solution by playing it.

use std::error::Error;

use getaway::game::{Layout, Rules, World};
use getaway::search::Budget;
use getaway::solve::{Outcome, solve};

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
    let solution = solve(&world, &world.start(), Budget::ticks(1_000_000));
    println!("{}: tick {} of at most {}", solution.outcome, solution.final_tick, solution.bound_tick);

    let mut state = world.start();
    for &player_move in &solution.moves {
        world.step(&mut state, player_move)?;
    }
    assert_eq!(state.tick(), solution.final_tick);
    assert_eq!(state.is_complete(), solution.outcome == Outcome::Survives);
    println!("{} points", world.score(&state));
    Ok(())
}
