//! `lookahead`: an exhaustive breadth-first search over distinct states, up to a maximum depth.
//! Among the moves with which the player can survive longest, plays one that can lead farthest from
//! the nearest threat.

use super::layer::Layer;
use super::{Budget, Choice, Planner, PlannerFailure, Source, meter_with_default};
use crate::game::{LAST_TICK, Move, State, World};
use crate::planner::safest::SafestPlanner;

/// Maximum number of states per layer. The search stops if a layer is full and moves are left.
const LAYER_STATES_MAX: usize = 1 << 17;

/// Searches exhaustively up to a maximum depth.
#[derive(Clone, Debug)]
pub struct LookaheadPlanner {
    depth_ticks: u16,
    layer: Layer,
    safest: SafestPlanner,
}

impl LookaheadPlanner {
    /// Creates a planner that searches up to `depth_ticks` ahead. A depth of 0 counts as 1.
    pub fn new(depth_ticks: u16) -> Self {
        Self { depth_ticks: depth_ticks.max(1), layer: Layer::default(), safest: SafestPlanner::new() }
    }
}

pub(super) fn threat_distance(world: &World, state: &State) -> i32 {
    let player = world.player(state);
    let distances = world.threats(state).map(|threat| threat.position.manhattan_distance(player));
    distances.min().unwrap_or(i32::MAX)
}

impl Planner for LookaheadPlanner {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerFailure> {
        let mut meter = meter_with_default(budget);
        self.layer.start(state);
        for _ in 0..self.depth_ticks.min(LAST_TICK + 1 - state.tick()) {
            if !self.layer.grow(world, |_, _, len| (len < LAYER_STATES_MAX && meter.tick().is_ok()).then_some(true)) {
                break;
            }
        }
        let moves =
            self.layer.farthest.into_iter().zip(Move::ALL).filter_map(|(farthest, made)| Some((farthest?, made)));
        let best = moves.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let simulated_ticks = meter.ticks();
        Ok(match best {
            Some((_, player_move)) => {
                let planned_tick = Some(self.layer.tick());
                Choice { player_move, source: Source::Search, planned_tick, simulated_ticks }
            }
            None => self.safest.fall_back(world, state, simulated_ticks),
        })
    }
}
