//! `lookahead`: an exhaustive breadth-first search over distinct states, up to a maximum depth.
//! Among the moves with which the player can survive longest, plays one that can lead farthest from
//! the nearest threat.

use std::collections::HashMap;

use super::{Budget, Choice, Planner, PlannerFailure, Source, meter_with_default};
use crate::game::{LAST_TICK, Move, State, World};
use crate::planner::safest::SafestPlanner;
use crate::search::BudgetMeter;

/// Maximum number of states per layer. The search stops if a layer is full and moves are left.
const LAYER_STATES_MAX: usize = 1 << 17;

/// Searches exhaustively up to a maximum depth.
#[derive(Clone, Debug)]
pub struct LookaheadPlanner {
    depth_ticks: u16,
    layer: Vec<Node>,
    next: Vec<Node>,
    /// Maps fingerprints to indices in `next`. The map's random order is never used.
    seen: HashMap<u64, u32>,
    /// For each first move, the maximum distance from the nearest threat in `layer`.
    farthest: [Option<i32>; Move::ALL.len()],
    safest: SafestPlanner,
}

#[derive(Clone, Debug)]
struct Node {
    state: State,
    first_moves: u8,
}

impl LookaheadPlanner {
    /// Creates a planner that searches up to `depth_ticks` ahead. A depth of 0 counts as 1.
    pub fn new(depth_ticks: u16) -> Self {
        Self {
            depth_ticks: depth_ticks.max(1),
            layer: Vec::new(),
            next: Vec::new(),
            seen: HashMap::new(),
            farthest: [None; Move::ALL.len()],
            safest: SafestPlanner::new(),
        }
    }

    /// Replaces `layer` with its successors. Returns false and keeps `layer` if the player is
    /// caught in all successors, if there are too many of them, or if the budget is used up.
    fn grow(&mut self, world: &World, meter: &mut BudgetMeter) -> bool {
        self.next.clear();
        self.seen.clear();
        let is_first = self.layer[0].first_moves == 0;
        let mut farthest = [None; Move::ALL.len()];
        for node in &self.layer {
            for player_move in world.moves(&node.state) {
                if self.next.len() == LAYER_STATES_MAX || meter.tick().is_err() {
                    return false;
                }
                let mut state = node.state.clone();
                world.step_unchecked(&mut state, player_move);
                if state.is_caught() {
                    continue;
                }
                let first_moves = if is_first { 1 << player_move as u8 } else { node.first_moves };
                let index = *self.seen.entry(world.fingerprint(&state)).or_insert(self.next.len() as u32) as usize;
                let distance = threat_distance(world, &state);
                for number in (0..farthest.len()).filter(|number| first_moves >> number & 1 == 1) {
                    farthest[number] = farthest[number].max(Some(distance));
                }
                match self.next.get_mut(index) {
                    Some(seen) => seen.first_moves |= first_moves,
                    None => self.next.push(Node { state, first_moves }),
                }
            }
        }
        if self.next.is_empty() {
            return false;
        }
        std::mem::swap(&mut self.layer, &mut self.next);
        self.farthest = farthest;
        true
    }

    fn best_first_move(&self) -> Option<Move> {
        let mut best: Option<(i32, Move)> = None;
        for (player_move, farthest) in Move::ALL.into_iter().zip(self.farthest) {
            if let Some(distance) = farthest.filter(|&distance| best.is_none_or(|(other, _)| distance > other)) {
                best = Some((distance, player_move));
            }
        }
        best.map(|(_, player_move)| player_move)
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
        self.layer.clear();
        self.layer.push(Node { state: state.clone(), first_moves: 0 });
        self.farthest = [None; Move::ALL.len()];
        let depth_ticks = self.depth_ticks.min(LAST_TICK + 1 - state.tick());
        for _ in 0..depth_ticks {
            if !self.grow(world, &mut meter) {
                break;
            }
        }
        let simulated_ticks = meter.ticks();
        Ok(match self.best_first_move() {
            Some(player_move) => {
                let planned_tick = Some(self.layer[0].state.tick());
                Choice { player_move, source: Source::Search, planned_tick, simulated_ticks }
            }
            None => self.safest.fall_back(world, state, simulated_ticks),
        })
    }
}
