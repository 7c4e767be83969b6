//! Bandits, one for each observation of an agent, and their trees.

use std::collections::HashMap;

use crate::game::Move;

/// Weight of exploration in the player's choices, for rewards scaled to the range 0 to 1.
const EXPLORATION: f32 = 0.2;
/// The prior value of each player move counts as this many visits.
const EXPECTATION_VISITS: f32 = 2.0;
/// Weight of exploration in the threats' choices, for rewards divided by the size of their range.
const ATTACK_EXPLORATION: f32 = 0.7;

pub(super) const MOVES: usize = Move::ALL.len();

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bandit {
    pub legal: u8,
    pub visits: [u32; MOVES],
    pub rewards: [f32; MOVES],
    /// Each move's prior: for the player, the expected reward; for a threat, the share of visits.
    pub expected: [f32; MOVES],
}

impl Bandit {
    pub fn moves(self) -> impl Iterator<Item = usize> {
        (0..MOVES).filter(move |number| self.legal >> number & 1 == 1)
    }

    pub fn total_visits(&self) -> u32 {
        self.visits.iter().sum()
    }

    pub fn mean(&self, number: usize) -> f32 {
        let expected = EXPECTATION_VISITS * self.expected[number];
        (self.rewards[number] + expected) / (self.visits[number] as f32 + EXPECTATION_VISITS)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub bandits: Vec<Bandit>,
    pub by_observation: HashMap<u64, u32>,
    pub path: Vec<(u32, u8)>,
    range: (f32, f32),
}

impl Tree {
    pub fn new() -> Self {
        Self {
            bandits: Vec::new(),
            by_observation: HashMap::new(),
            path: Vec::new(),
            range: (f32::INFINITY, f32::NEG_INFINITY),
        }
    }

    pub fn back_up(&mut self, reward: f32) {
        self.range = (self.range.0.min(reward), self.range.1.max(reward));
        for &(index, chosen) in &self.path {
            let bandit = &mut self.bandits[index as usize];
            bandit.visits[usize::from(chosen)] += 1;
            bandit.rewards[usize::from(chosen)] += reward;
        }
    }

    pub fn select_by_bound(&mut self, index: u32, moves: u8) -> usize {
        let bandit = self.bandits[index as usize];
        let (low, span) = (self.range.0, self.span());
        // Not `f32::ln`, because its last bit differs between platforms.
        let log = libm::logf((bandit.total_visits() + 1) as f32);
        self.select(index, moves, |number| {
            let exploration = (log / (bandit.visits[number] as f32 + 1.0)).sqrt();
            (bandit.mean(number) - low) / span + EXPLORATION * exploration
        })
    }

    /// Chooses by the mean reward plus a bonus that grows with the move's prior share and falls
    /// with its number of visits (the PUCB of Rosin, 2011, in AlphaZero's form).
    pub fn select_by_share(&mut self, index: u32) -> usize {
        let bandit = self.bandits[index as usize];
        let (total, span) = (bandit.total_visits(), self.span());
        let mean = bandit.rewards.iter().sum::<f32>() / total.max(1) as f32;
        let root = ((total + 1) as f32).sqrt();
        self.select(index, u8::MAX, |number| {
            let visits = bandit.visits[number] as f32;
            let gain = (bandit.rewards[number] + mean) / (visits + 1.0) - mean;
            gain / span + ATTACK_EXPLORATION * bandit.expected[number] * root / (1.0 + visits)
        })
    }

    fn select(&mut self, index: u32, moves: u8, score: impl Fn(usize) -> f32) -> usize {
        let bandit = self.bandits[index as usize];
        let scored = bandit.moves().filter(|number| moves >> number & 1 == 1).map(|number| (number, score(number)));
        let best = scored.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let chosen = best.map_or(MOVES - 1, |(number, _)| number);
        self.path.push((index, chosen as u8));
        chosen
    }

    fn span(&self) -> f32 {
        (self.range.1 - self.range.0).max(1e-6)
    }

    pub fn add(&mut self, observation: u64, bandit: Bandit) -> u32 {
        let index = self.bandits.len() as u32;
        self.bandits.push(bandit);
        self.by_observation.insert(observation, index);
        index
    }
}
