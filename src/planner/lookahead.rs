//! `lookahead`: everything that can happen within so many ticks, on exact predictions, as far as the limit lets it see.
//!
//! Breadth first, a tick at a time, over *distinct* states: two ways to the same state are one from then on. Of the first moves that live longest,
//! the one that leads to the state farthest from the nearest threat is played. It remembers nothing from tick to tick.

use std::collections::HashMap;

use super::{Budget, Choice, Planner, Source, meter_with_default};
use crate::game::{LAST_TICK, Move, State, World};
use crate::planner::safest::Safest;
use crate::search::BudgetMeter;

/// How many ticks `lookahead` looks ahead if it is not told.
pub const LOOKAHEAD_TICKS: u16 = 8;
/// The most states in a layer: a search that would go beyond stops as if its limit were reached.
const LAYER_STATES_MAX: usize = 1 << 17;

/// Plays by exhaustive search to a fixed depth.
#[derive(Clone, Debug)]
pub struct Lookahead {
    depth_ticks: u16,
    layer: Vec<Node>,
    next: Vec<Node>,
    /// Fingerprint -> place in `next`. Only ever asked for a key, so its order does not matter.
    known: HashMap<u64, u32>,
    safest: Safest,
}

/// A state, and which first moves lead to it: a bit a move.
#[derive(Clone, Debug)]
struct Node {
    state: State,
    first_moves: u8,
}

impl Lookahead {
    /// A planner that looks `depth_ticks` ahead, at least one.
    pub fn new(depth_ticks: u16) -> Self {
        Self {
            depth_ticks: depth_ticks.max(1),
            layer: Vec::new(),
            next: Vec::new(),
            known: HashMap::new(),
            safest: Safest::new(),
        }
    }

    /// Makes the next layer; false if nothing lives in it or the limit came first, and `layer` is as it was.
    fn grow(&mut self, world: &World, meter: &mut BudgetMeter) -> bool {
        self.next.clear();
        self.known.clear();
        let is_first = self.layer[0].first_moves == 0;
        for node in &self.layer {
            for player_move in world.moves(&node.state) {
                if self.next.len() == LAYER_STATES_MAX || meter.tick().is_err() {
                    return false;
                }
                let mut state = node.state.clone();
                world.step(&mut state, player_move);
                if state.is_caught() {
                    continue;
                }
                let first_moves = if is_first { 1 << player_move as u8 } else { node.first_moves };
                let place = *self.known.entry(world.fingerprint(&state)).or_insert(self.next.len() as u32) as usize;
                match self.next.get_mut(place) {
                    Some(known) => known.first_moves |= first_moves,
                    None => self.next.push(Node { state, first_moves }),
                }
            }
        }
        if self.next.is_empty() {
            return false;
        }
        std::mem::swap(&mut self.layer, &mut self.next);
        true
    }

    /// Of the first moves that lead to the last layer, the one with the state farthest from the nearest threat.
    fn best_first_move(&self, world: &World) -> Option<Move> {
        let mut best: Option<(i32, Move)> = None;
        for player_move in Move::ALL {
            let nodes = self.layer.iter().filter(|node| node.first_moves >> player_move as u8 & 1 == 1);
            let farthest = nodes.map(|node| threat_distance(world, &node.state)).max();
            if let Some(distance) = farthest.filter(|&distance| best.is_none_or(|(other, _)| distance > other)) {
                best = Some((distance, player_move));
            }
        }
        best.map(|(_, player_move)| player_move)
    }
}

/// Columns and rows to the nearest threat.
pub(super) fn threat_distance(world: &World, state: &State) -> i32 {
    let player = world.player(state);
    let distances = world.threats(state).map(|threat| {
        let position = threat.position;
        (position.x - player.x).abs() + (position.y - player.y).abs()
    });
    distances.min().unwrap_or(i32::MAX)
}

impl Planner for Lookahead {
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice {
        let mut meter = meter_with_default(budget);
        self.layer.clear();
        self.layer.push(Node { state: state.clone(), first_moves: 0 });
        let depth_ticks = self.depth_ticks.min(LAST_TICK + 1 - state.tick());
        for _ in 0..depth_ticks {
            if !self.grow(world, &mut meter) {
                break;
            }
        }
        let simulated_ticks = meter.ticks();
        match self.best_first_move(world) {
            Some(player_move) => {
                let planned_tick = Some(self.layer[0].state.tick());
                Choice { player_move, source: Source::Search, planned_tick, simulated_ticks }
            }
            None => self.safest.fall_back(world, state, simulated_ticks),
        }
    }
}
