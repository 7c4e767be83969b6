use crate::game::{LAST_TICK, State, World};
use crate::search::{Budget, BudgetMeter};
use crate::solve::{Outcome, SurvivalSearch};

/// Returns the final tick of the longest line found, at most `target_tick`, or `LAST_TICK + 1` if
/// the line survives the game.
pub(super) fn longest_survival(
    world: &World,
    state: &State,
    target_tick: u16,
    (states_max, seed): (u64, u64),
    meter: &mut BudgetMeter,
) -> u16 {
    let budget = meter.remaining().and(Budget::ticks(states_max));
    let solution = SurvivalSearch::for_play(seed).solve_until(world, state, target_tick, budget);
    meter.add_search(solution.simulated_ticks);
    if solution.outcome == Outcome::Survives { LAST_TICK + 1 } else { solution.final_tick.min(target_tick) }
}
