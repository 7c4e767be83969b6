//! The observations of one game.

use super::clock::{ClockEvidence, ClockFilter, Reports};
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
    pub last: Sight,
    pub steps: Vec<Step>,
    /// The index of the next step to process, and of the next threat in this step.
    pub next: (usize, usize),
    pub evidence: Vec<ClockEvidence>,
    /// Trusts the reported personalities while messages report them and some clock explains them.
    pub filter: ClockFilter,
    /// The number of ticks of `evidence` that the filter has seen.
    pub filtered: usize,
    pub clock: (Clock, Rules),
    pub reports_personalities: bool,
    pub hawks: Vec<Option<Hawk>>,
    pub draws: Vec<Option<u16>>,
    pub unexplained: Vec<Option<Unexplained>>,
    /// The number of moves in `steps` at the last attempt to identify styles.
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

    /// True if messages report personalities that agree with some clock.
    pub fn trusts_reports(&self) -> bool {
        self.reports_personalities && self.filter.reports == Reports::Trusted && self.filter.explains()
    }

    /// Shows the filter one more tick. Returns false if it has seen all.
    pub fn update_clock(&mut self) -> bool {
        if self.filter.reports == Reports::Trusted && !self.trusts_reports() {
            self.filter = ClockFilter::new(&self.filter.expected, Reports::Ignored);
            self.filtered = 0;
        }
        let Some(evidence) = self.evidence.get(self.filtered) else { return false };
        self.filter.update(evidence);
        self.filtered += 1;
        true
    }

    /// Adopts the best clock once the filter has seen all ticks. Returns true if the new clock
    /// changes the assumed ticks of past moves.
    pub fn adopt_clock(&mut self) -> bool {
        let best = self.filter.best().filter(|rules| self.filtered == self.evidence.len() && *rules != self.clock.1);
        let Some(rules) = best else { return false };
        let before = std::mem::replace(&mut self.clock, (Clock::new(&rules), rules)).0;
        let followed = &self.evidence[self.evidence.len() - self.steps.len()..];
        let mut open = followed.iter().filter(|evidence| evidence.moved.is_none()).map(|evidence| evidence.tick);
        open.any(|tick| before.threats_move(tick) != self.clock.0.threats_move(tick))
    }

    /// True if the threats moved in the step, as far as known.
    pub fn is_move(&self, index: usize) -> bool {
        let evidence = &self.evidence[self.evidence.len() - self.steps.len() + index];
        evidence.moved.unwrap_or_else(|| self.clock.0.threats_move(evidence.tick))
    }

    /// True if `steps` begins with the first tick of the game.
    pub fn is_followed_from_start(&self) -> bool {
        self.homes.first().is_none_or(Option::is_some) && self.evidence.len() == self.steps.len()
    }

    pub fn is_open(&self, threat: usize) -> bool {
        self.styles[threat].is_none() || self.unexplained[threat].is_some()
    }
}
