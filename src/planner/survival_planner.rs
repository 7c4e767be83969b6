//! `survival`, the default planner: solves the whole game, then plays the solution; until the
//! solution is complete, it keeps solving on every tick.

use super::follower::PlanFollower;
use super::safest::SafestPlanner;
use super::{Budget, Choice, Outcome, Planner, Solution, Source, SurvivalOptions, SurvivalSearch};
use crate::game::{Move, State, World};

/// Plays the result of [`SurvivalSearch`]: a line to the end of the game, the longest line if
/// surviving is impossible, or the longest found so far.
#[derive(Debug)]
pub struct SurvivalPlanner {
    search: SurvivalSearch,
    /// The final answer, if there is one, and the last tick of its line.
    follower: Option<(PlanFollower, u16)>,
    safest: SafestPlanner,
}

impl SurvivalPlanner {
    /// Creates the planner.
    pub fn new(options: SurvivalOptions) -> Self {
        Self { search: SurvivalSearch::new(options), follower: None, safest: SafestPlanner::new() }
    }

    /// The next move of the final answer, if there is one and the game follows it.
    fn follow(&mut self, world: &World, state: &State) -> Option<Choice> {
        let (follower, final_tick) = self.follower.as_mut()?;
        let player_move = follower.next_move(world, state)?;
        Some(Choice { player_move, source: Source::Plan, planned_tick: Some(*final_tick), simulated_ticks: 0 })
    }

    /// The remaining moves of the line that is played from `state`, if it is the final answer.
    pub(super) fn remaining(&self, state: &State) -> Option<&[Move]> {
        self.follower.as_ref()?.0.remaining(state)
    }

    /// Replaces the plan: plays `moves` from `state` on, which must end in `final_tick`.
    pub(super) fn set_plan(&mut self, state: &State, moves: Vec<Move>, final_tick: u16) {
        self.follower = Some((PlanFollower::new(state, moves), final_tick));
    }
}

impl Planner for SurvivalPlanner {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice {
        if let Some(choice) = self.follow(world, state) {
            return choice;
        }
        self.follower = None;
        let Solution { outcome, moves, final_tick, simulated_ticks, .. } = self.search.solve(world, state, budget);
        let Some(&player_move) = moves.first() else {
            return self.safest.fall_back(world, state, simulated_ticks);
        };
        if outcome != Outcome::Undecided {
            self.set_plan(state, moves, final_tick);
            self.follow(world, state);
        }
        let source = if simulated_ticks > 0 { Source::Search } else { Source::Plan };
        Choice { player_move, source, planned_tick: Some(final_tick), simulated_ticks }
    }
}
