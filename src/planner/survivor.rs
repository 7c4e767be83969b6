//! `survival`, the default: solves the whole game, then plays the solution; while it is not complete, goes on solving in every tick.

use super::course::Course;
use super::safest::Safest;
use super::{Budget, Choice, Outcome, Planner, Solution, Source, Survival, SurvivalOptions};
use crate::game::{Move, State, World};

/// Plays what [`Survival`] finds: a line to the end of the game, or the longest life if nobody survives, or the longest found so far.
#[derive(Debug)]
pub struct Survivor {
    survival: Survival,
    /// The answer, once it is final, and the tick in which its line ends.
    course: Option<(Course, u16)>,
    safest: Safest,
}

impl Survivor {
    /// A planner that has not begun.
    pub fn new(options: SurvivalOptions) -> Self {
        Self { survival: Survival::new(options), course: None, safest: Safest::new() }
    }

    /// The next move of the final answer, if there is one and the game follows it.
    fn follow(&mut self, world: &World, state: &State) -> Option<Choice> {
        let (course, final_tick) = self.course.as_mut()?;
        let player_move = course.take(world, state)?;
        Some(Choice { player_move, source: Source::Plan, planned_tick: Some(*final_tick), simulated_ticks: 0 })
    }

    /// What is left of the line that is being played from `state`, if it is the final answer.
    pub(super) fn rest(&self, state: &State) -> Option<&[Move]> {
        self.course.as_ref()?.0.rest(state)
    }

    /// Plays `moves` from `state` on instead: they must end in `final_tick`.
    pub(super) fn set_course(&mut self, state: &State, moves: Vec<Move>, final_tick: u16) {
        self.course = Some((Course::new(state, moves), final_tick));
    }
}

impl Planner for Survivor {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice {
        if let Some(choice) = self.follow(world, state) {
            return choice;
        }
        self.course = None;
        let Solution { outcome, moves, final_tick, simulated_ticks } = self.survival.solve(world, state, budget);
        let Some(&player_move) = moves.first() else {
            return self.safest.fall_back(world, state, simulated_ticks);
        };
        if outcome != Outcome::Undecided {
            self.set_course(state, moves, final_tick);
            self.follow(world, state);
        }
        let source = if simulated_ticks > 0 { Source::Search } else { Source::Plan };
        Choice { player_move, source, planned_tick: Some(final_tick), simulated_ticks }
    }
}
