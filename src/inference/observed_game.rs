//! The observations of one game.

use super::clock::{ClockEvidence, ClockFilter};
use super::hawk::Hawk;
use super::learner::Unexplained;
use super::streets::{Sight, Step, Streets, StyleWord, Views};
use crate::game::{Clock, Direction, FIRST_TICK, Position, Rules, Style};

#[derive(Clone, Debug)]
pub(super) struct ObservedGame {
    pub streets: Streets,
    pub named: Vec<StyleWord>,
    pub styles: Vec<Option<Style>>,
    pub homes: Vec<Option<Position>>,
    pub first_facing: Vec<Option<Direction>>,
    pub last: Sight,
    pub steps: Vec<Step>,
    pub moves: Vec<bool>,
    /// The index of the next step to process, and of the next threat in this step.
    pub next: (usize, usize),
    pub evidence: Vec<ClockEvidence>,
    /// Drops histories of the clock that contradict the reported personalities.
    pub trusting: ClockFilter,
    /// Ignores personalities. Updated only if a message lacked them or `trusting` explains nothing.
    pub distrusting: ClockFilter,
    pub distrusting_seen: usize,
    pub clock: (Clock, Rules),
    pub reports_personalities: bool,
    pub hawks: Vec<Option<Hawk>>,
    pub draws: Vec<Option<u16>>,
    pub moves_made: Option<u16>,
    pub unexplained: Vec<Option<Unexplained>>,
    pub solved_at: u16,
    /// The number of moves in `moves` at the last attempt to identify styles.
    pub identified_at: u16,
}

impl ObservedGame {
    /// The moves that lead to `sight`. `None` if a threat moved farther than one tile, or if the
    /// player or a threat was not on an open tile.
    pub fn step_to(&self, sight: &Sight) -> Option<Step> {
        let graph = self.streets.graph();
        let (before, now) = (graph.tile(self.last.player)?, graph.tile(sight.player)?);
        let stale = if self.last.tick == FIRST_TICK { self.streets.nowhere() } else { before };
        let mut threats = Vec::with_capacity(sight.threats.len());
        for (&(from, _), &(to, _)) in self.last.threats.iter().zip(&sight.threats) {
            let direction = Direction::ALL.into_iter().find(|&direction| from.towards(direction) == to);
            if direction.is_none() && from != to {
                return None;
            }
            threats.push((graph.tile(from)?, direction));
        }
        let facing = self.last.threats.iter().map(|&(_, direction)| direction).collect();
        Some(Step { tick: self.last.tick, player: Views { stale, present: now }, threats, facing })
    }

    pub fn moved(&self, step: &Step) -> Option<bool> {
        if step.threats.iter().any(|(_, direction)| direction.is_some()) {
            return Some(true);
        }
        let must_move = |(threat, &(tile, _)): (usize, &(u16, Option<Direction>))| match self.styles[threat] {
            _ if self.unexplained[threat].is_some() => false,
            Some(Style::Bull | Style::Goldfish | Style::Deer) => self.streets.options(tile) != 0,
            Some(Style::Shark) => {
                let Views { stale, present } = step.player;
                self.streets.nearer(stale, tile) != 0 && self.streets.nearer(present, tile) != 0
            }
            Some(Style::Owl | Style::Hawk) | None => false,
        };
        step.threats.iter().enumerate().any(must_move).then_some(false)
    }

    /// Adopts the best clock. Returns true if the new clock changes the assumed ticks of past
    /// moves.
    pub fn adopt_clock(&mut self, trusts: bool) -> bool {
        let filter = if trusts { &self.trusting } else { &self.distrusting };
        let Some(rules) = filter.best().filter(|rules| *rules != self.clock.1) else { return false };
        let before = std::mem::replace(&mut self.clock, (Clock::new(&rules), rules)).0;
        let first = self.evidence.len() - self.steps.len();
        let open = self.evidence[first..].iter().filter(|evidence| evidence.moved.is_none());
        open.into_iter().any(|evidence| before.threats_move(evidence.tick) != self.clock.0.threats_move(evidence.tick))
    }

    /// True if `steps` begins with the first tick of the game.
    pub fn is_followed_from_start(&self) -> bool {
        self.homes.first().is_none_or(Option::is_some) && self.evidence.len() == self.steps.len()
    }

    pub fn is_open(&self, threat: usize) -> bool {
        self.styles[threat].is_none() || self.unexplained[threat].is_some()
    }
}
