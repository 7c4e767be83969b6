//! `show-off`: survives, and among survivals prefers those with threats close by.
//!
//! First it solves the game as `survival` does. From then on it spends each tick on variations of the plan it holds: along the plan for a while, then a
//! few daring ticks, then a survival search for the rest. A variation replaces the plan only if it survives to the end, proven by its moves, and the
//! threats are closer in the next ticks: survival, once proven, is never given up.

use rand_pcg::rand_core::SeedableRng;

use super::course::successor;
use super::lookahead::threat_distance;
use super::problem::Chase;
use super::spent::Spent;
use super::survivor::Survivor;
use super::{Choice, Limit, Outcome, Planner, Source, Survival, SurvivalOptions};
use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Generator, Problem, below};

/// Over how many ticks plans are compared.
const HORIZON_TICKS: usize = 48;
/// A variation leaves the plan within so many ticks.
const LEAVE_TICKS_MAX: usize = 24;
/// A variation is daring for at most so many ticks.
const DARE_TICKS_MAX: usize = 24;
/// States expanded to prove that a variation survives.
const PROOF_EXPANSIONS_MAX: u64 = 12_000;
/// One daring tick in so many is random instead.
const WHIM: usize = 6;

/// Plays plans that survive, varied for closeness.
#[derive(Debug)]
pub struct ShowOff {
    survivor: Survivor,
    random: Generator,
}

impl ShowOff {
    /// A planner that draws its variations from the options' seed.
    pub fn new(options: SurvivalOptions) -> Self {
        Self { survivor: Survivor::new(options), random: Generator::seed_from_u64(options.seed) }
    }

    /// A plan that leaves `plan` somewhere and still survives, if one is found.
    fn vary(&mut self, world: &World, state: &State, plan: &[Move], spent: &mut Spent) -> Option<Vec<Move>> {
        let mut state = state.clone();
        let mut moves = plan[..below(&mut self.random, LEAVE_TICKS_MAX.min(plan.len()))].to_vec();
        moves.iter().for_each(|&player_move| world.step(&mut state, player_move));
        for _ in 0..1 + below(&mut self.random, DARE_TICKS_MAX) {
            if state.is_over() {
                break;
            }
            let player_move = self.dare(world, &state);
            world.step(&mut state, player_move);
            spent.count();
            moves.push(player_move);
        }
        if state.is_caught() {
            return None;
        }
        let options = SurvivalOptions { seed: below(&mut self.random, 1 << 32) as u64, ..SurvivalOptions::default() };
        let solution = Survival::new(options).solve(world, &state, spent.at_most(PROOF_EXPANSIONS_MAX));
        spent.add(solution.expanded);
        moves.extend(solution.moves);
        (solution.outcome == Outcome::Survives).then_some(moves)
    }

    /// Mostly the move after which a threat is nearest, but not fatally so.
    fn dare(&mut self, world: &World, state: &State) -> Move {
        if below(&mut self.random, WHIM) == 0 {
            return Chase::new(world).greedy(state, &mut Vec::new(), &mut self.random);
        }
        let successors = world.moves(state).map(|player_move| (player_move, successor(world, state, player_move)));
        let alive = successors.filter(|(_, state)| !state.is_caught());
        let nearest = alive.min_by_key(|(_, state)| threat_distance(world, state));
        nearest.map_or(Move::Stay, |(player_move, _)| player_move)
    }
}

/// How close the threats come in the next ticks of a plan; the nearest one counts, and near counts much more than far.
fn closeness(world: &World, state: &State, plan: &[Move]) -> u32 {
    const NEAR: i32 = 840;
    let mut state = state.clone();
    let near = |&player_move: &Move| {
        world.step(&mut state, player_move);
        (NEAR / threat_distance(world, &state).saturating_add(1)) as u32
    };
    plan.iter().take(HORIZON_TICKS).map(near).sum()
}

impl Planner for ShowOff {
    fn decide(&mut self, world: &World, state: &State, limit: Limit) -> Choice {
        let mut spent = Spent::new(limit);
        let survives = |plan: &&[Move]| plan.len() == usize::from(LAST_TICK + 1 - state.tick());
        let Some(mut plan) = self.survivor.rest(state).filter(survives).map(<[Move]>::to_vec) else {
            return self.survivor.decide(world, state, limit);
        };
        let mut best = closeness(world, state, &plan);
        let mut source = Source::Plan;
        while !spent.is_over() {
            let variation = self.vary(world, state, &plan, &mut spent);
            // Even a variation that came to nothing must bring the limit nearer.
            spent.count();
            let Some(variation) = variation else { continue };
            let closer = closeness(world, state, &variation);
            if closer > best {
                (best, plan, source) = (closer, variation, Source::Search);
            }
        }
        self.survivor.set_course(state, plan, LAST_TICK + 1);
        Choice { source, evaluations: spent.expanded(), ..self.survivor.decide(world, state, limit) }
    }
}
