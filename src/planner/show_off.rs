//! `show-off`: tries to survive, and lets the threats come close. Once it has a plan that survives
//! the game, it tries variations of the plan in each tick: the first moves of the plan, then moves
//! that mostly approach a threat, then the line that a survival search finds. A surviving variation
//! replaces the plan if it brings the threats closer.

use super::lookahead::threat_distance;
use super::problem::SurvivalProblem;
use super::survival_planner::SurvivalPlanner;
use super::{Budget, Choice, Planner, PlannerError, Source, meter_with_default};
use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{BudgetMeter, Problem, Random};
use crate::solve::{Outcome, SolverOptions, SurvivalSearch};

const HORIZON_TICKS: usize = 48;
const PREFIX_TICKS_MAX: usize = 24;
const DARE_TICKS_MAX: usize = 24;
const PROOF_TICKS_MAX: u64 = 12_000;
const RANDOM_TICK_INTERVAL: usize = 6;

/// Plays a plan that survives, if it finds one, and lets the threats come close.
#[derive(Debug)]
pub struct ShowOffPlanner {
    survival: SurvivalPlanner,
    random: Random,
}

impl ShowOffPlanner {
    /// Creates a planner. The `options` apply to the search for a plan. The searches for variations
    /// have default options with seeds derived from `options.seed`.
    pub fn new(options: SolverOptions) -> Self {
        Self { survival: SurvivalPlanner::new(options), random: Random::from_seed(options.seed) }
    }

    fn vary(&mut self, world: &World, state: &State, plan: &[Move], meter: &mut BudgetMeter) -> Option<Vec<Move>> {
        let mut state = state.clone();
        let mut moves = plan[..self.random.below(PREFIX_TICKS_MAX.min(plan.len()))].to_vec();
        for &player_move in &moves {
            meter.tick().ok()?;
            world.step_unchecked(&mut state, player_move);
        }
        for _ in 0..1 + self.random.below(DARE_TICKS_MAX) {
            if state.is_over() {
                break;
            }
            let player_move = self.closest_safe_move(world, &state, meter)?;
            world.step_unchecked(&mut state, player_move);
            moves.push(player_move);
        }
        if state.is_caught() {
            return None;
        }
        let options = SolverOptions { seed: self.random.next_u32().into(), ..SolverOptions::default() };
        let budget = meter.remaining().and(Budget::ticks(PROOF_TICKS_MAX));
        let solution = SurvivalSearch::new(options).solve(world, &state, budget);
        meter.add_search(solution.simulated_ticks);
        moves.extend(solution.moves);
        (solution.outcome == Outcome::Survives).then_some(moves)
    }

    /// Returns the move without an immediate catch that brings a threat closest. With probability
    /// 1/6, returns a random move without an immediate catch. If all moves lead to an immediate
    /// catch, returns one of them. Returns `None` if the budget is used up.
    fn closest_safe_move(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Option<Move> {
        meter.tick().ok()?;
        if self.random.below(RANDOM_TICK_INTERVAL) == 0 {
            let mut trial_ticks = 0;
            let player_move =
                SurvivalProblem::new(world).greedy(state, &mut Vec::new(), &mut self.random, &mut trial_ticks);
            meter.add_ticks(trial_ticks);
            return Some(player_move);
        }
        let mut nearest: Option<(i32, Move)> = None;
        for player_move in world.legal_moves(state) {
            meter.tick().ok()?;
            let state = world.after(state, player_move);
            let distance = threat_distance(world, &state);
            if !state.is_caught() && nearest.is_none_or(|(other, _)| distance < other) {
                nearest = Some((distance, player_move));
            }
        }
        Some(nearest.map_or(Move::Stay, |(_, player_move)| player_move))
    }
}

/// Scores the first `HORIZON_TICKS` ticks of `plan`: the closer the nearest threat in each tick,
/// the higher the score. Returns `None` if the budget is used up.
fn closeness(world: &World, state: &State, plan: &[Move], meter: &mut BudgetMeter) -> Option<u32> {
    const NEAR: i32 = 840;
    let mut state = state.clone();
    let mut sum = 0;
    for &player_move in plan.iter().take(HORIZON_TICKS) {
        meter.tick().ok()?;
        world.step_unchecked(&mut state, player_move);
        sum += (NEAR / threat_distance(world, &state).saturating_add(1)) as u32;
    }
    Some(sum)
}

impl Planner for ShowOffPlanner {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerError> {
        let survives = |plan: &&[Move]| plan.len() == usize::from(LAST_TICK + 1 - state.tick());
        let Some(mut plan) = self.survival.remaining(state).filter(survives).map(<[Move]>::to_vec) else {
            return self.survival.decide(world, state, budget);
        };
        let mut meter = meter_with_default(budget);
        let mut best = closeness(world, state, &plan, &mut meter).unwrap_or(u32::MAX);
        let mut source = Source::Plan;
        while meter.check().is_ok() {
            let variation = self.vary(world, state, &plan, &mut meter);
            // Count an extra tick, so that the loop ends even if variations simulate no ticks.
            let _ = meter.tick();
            let Some(variation) = variation else { continue };
            if let Some(closer) = closeness(world, state, &variation, &mut meter).filter(|&closer| closer > best) {
                (best, plan, source) = (closer, variation, Source::Search);
            }
        }
        self.survival.set_plan(state, plan, LAST_TICK + 1);
        Ok(Choice { source, simulated_ticks: meter.ticks(), ..self.survival.decide(world, state, budget)? })
    }
}
