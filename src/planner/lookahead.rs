//! `lookahead`: an exhaustive breadth-first search over distinct states, up to a maximum depth.
//! Among the moves with which the player can survive longest, plays one that can lead farthest from
//! the nearest threat.

use super::layer::Layer;
use super::{Budget, Choice, Planner, PlannerError, Source, meter_with_default};
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
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Result<Choice, PlannerError> {
        let mut meter = meter_with_default(budget);
        self.layer.start(state);
        // For each first move, the largest distance of a state from its nearest threat.
        let mut farthest = [None; Move::ALL.len()];
        for _ in 0..self.depth_ticks.min(LAST_TICK + 1 - state.tick()) {
            let mut next = [None; Move::ALL.len()];
            let has_room = |_: &State, _, len| (len < LAYER_STATES_MAX && meter.tick().is_ok()).then_some(true);
            // Measured while the layer grows, because the budget covers this time.
            let measure = |state: &State, first_moves: u8| {
                let distance = threat_distance(world, state);
                for number in (0..next.len()).filter(|number| first_moves >> number & 1 == 1) {
                    next[number] = next[number].max(Some(distance));
                }
            };
            if !self.layer.grow(world, has_room, measure) {
                break;
            }
            farthest = next;
        }
        // Of equal distances, the first in the order of `Move::ALL`.
        let best = farthest.into_iter().zip(Move::ALL).rev().max_by_key(|&(distance, _)| distance);
        let simulated_ticks = meter.ticks();
        Ok(match best {
            Some((Some(_), player_move)) => {
                let planned_tick = Some(self.layer.tick());
                Choice { player_move, source: Source::Search, planned_tick, simulated_ticks }
            }
            _ => self.safest.fall_back(world, state, simulated_ticks),
        })
    }
}
