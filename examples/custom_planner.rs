//! Compares a custom planner with four of the library's planners. All planners have the same budget
//! of simulated ticks per decision.

use std::error::Error;

use getaway::game::{Layout, Move, Rules, State, World};
use getaway::planner::{Choice, Planner, PlannerError, by_name};
use getaway::search::{Budget, BudgetMeter};

const MAP: &str = "
    ###########
    #P........#
    #.###.###.#
    #...#.#...#
    #.#.....#.#
    #....S..G.#
    ###########";

/// Simulates each move, followed by standing still, until the game ends or the budget is used up.
/// Plays the move with which the player survives longest.
struct Patient;

impl Planner for Patient {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerError> {
        let mut meter = BudgetMeter::new(budget);
        let mut best = (Move::Stay, state.tick());
        for first in world.legal_moves(state) {
            let (mut ahead, mut next) = (state.clone(), first);
            while !ahead.is_over() && meter.tick().is_ok() {
                world.step_unchecked(&mut ahead, next);
                next = Move::Stay;
            }
            if ahead.tick() > best.1 {
                best = (first, ahead.tick());
            }
        }
        let (player_move, tick) = best;
        Ok(Choice { planned_tick: Some(tick), simulated_ticks: meter.ticks(), ..player_move.into() })
    }
}

fn score(world: &World, planner: &mut dyn Planner) -> Result<u32, PlannerError> {
    let mut state = world.start();
    while !state.is_over() {
        let choice = planner.decide(world, &state, Budget::ticks(2_000))?;
        world.step_unchecked(&mut state, choice.player_move);
    }
    Ok(world.score(&state))
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let world = World::new(&Layout::parse(MAP)?, &Rules::BLITZ_2025)?;
    println!("patient: {} points", score(&world, &mut Patient)?);
    for name in ["random", "safest", "uct-greedy", "survival"] {
        println!("{name}: {} points", score(&world, by_name(name, 1)?.as_mut())?);
    }
    Ok(())
}
