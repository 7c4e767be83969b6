//! Unmodelled threats as agents, and their habit of waiting.

use super::bandit::{Bandit, MOVES, Tree};
use crate::game::{Mover, Position, UNREACHED};
use crate::planner::terrain::Terrain;

/// Prior probability that a threat moves towards the player, if it can.
pub(super) const ATTACK_SHARE: f32 = 0.9;
/// A threat is waiting after it has stayed this many times in a row.
const WAITING_STAYS: u8 = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Habit {
    pub position: Position,
    /// The number of times in a row that the threat stayed on its tile when it could have moved.
    stays: u8,
    /// The player's minimum distance from the threat during these stays.
    nearest: u16,
    /// The threat waits if the player is at least this far away; [`UNREACHED`] if it never waits.
    pub waiting_distance: u16,
}

impl Habit {
    pub fn at(position: Position) -> Self {
        Self { position, stays: 0, nearest: UNREACHED, waiting_distance: UNREACHED }
    }

    /// `distance` is the player's new distance from the threat's previous position.
    pub fn learn(&mut self, position: Position, distance: u16) {
        if position != self.position {
            let is_surprise = distance >= self.waiting_distance;
            let waiting_distance = if is_surprise { UNREACHED } else { self.waiting_distance };
            *self = Self { waiting_distance, ..Self::at(position) };
            return;
        }
        self.stays = self.stays.saturating_add(1);
        self.nearest = self.nearest.min(distance);
        if self.stays >= WAITING_STAYS {
            self.waiting_distance = self.waiting_distance.min(self.nearest);
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct UnmodelledThreat {
    pub start: u16,
    pub tile: u16,
    pub period_ticks: Option<u8>,
    pub waiting_distance: u16,
    pub moves: Vec<bool>,
    pub tree: Tree,
}

impl UnmodelledThreat {
    pub fn is_waiting(&self, terrain: &mut Terrain, player: u16) -> bool {
        self.waiting_distance != UNREACHED && terrain.distance(player, self.tile) >= self.waiting_distance
    }

    pub fn step(&mut self, terrain: &mut Terrain, player: u16, ahead: usize) {
        if self.is_waiting(terrain, player) {
            return;
        }
        let targets = terrain.targets(Mover::Threat, self.tile);
        let observation = ahead as u64 | u64::from(self.tile) << 16 | u64::from(player) << 32;
        let index = match self.tree.by_observation.get(&observation) {
            Some(&index) => index,
            None => self.tree.add(observation, self.bandit(&targets, terrain.distances_from(player))),
        };
        self.tile = targets[self.tree.select_by_share(index)];
    }

    fn bandit(&self, targets: &[u16; MOVES], steps: &[u16]) -> Bandit {
        let is_legal = |&number: &usize| number == MOVES - 1 || targets[number] != self.tile;
        let legal = (0..MOVES).filter(is_legal).fold(0, |bits, number| bits | 1 << number);
        let mut bandit = Bandit { legal, ..Bandit::default() };
        let here = steps[usize::from(self.tile)];
        let is_attack = |number: usize| match here {
            0 => number == MOVES - 1,
            _ => steps[usize::from(targets[number])] < here,
        };
        let (attacks, others): (Vec<usize>, Vec<usize>) = bandit.moves().partition(|&number| is_attack(number));
        let share = match (attacks.len(), others.len()) {
            (0, _) => 0.0,
            (_, 0) => 1.0,
            _ => ATTACK_SHARE,
        };
        attacks.iter().for_each(|&number| bandit.expected[number] = share / attacks.len() as f32);
        others.iter().for_each(|&number| bandit.expected[number] = (1.0 - share) / others.len() as f32);
        bandit
    }
}
