//! The observations of one game.

use super::clock::{ClockEvidence, ClockFilter, Reports};
use super::hawk::{Hawk, HawkSets};
use super::learner::Unexplained;
use super::streets::{Sight, Step, Streets, StyleWord};
use crate::game::{Clock, Direction, FIRST_TICK, Position, Rules, Style};

#[derive(Clone, Debug)]
pub(super) struct ObservedGame {
    pub streets: Streets,
    pub threats: Vec<FollowedThreat>,
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
    /// The number of moves in `steps` at the last attempt to identify styles; 0 if there was none,
    /// or if a move has contradicted a style since.
    pub identified_at: u16,
}

#[derive(Clone, Debug)]
pub(super) struct FollowedThreat {
    pub named: StyleWord,
    pub style: Option<Style>,
    /// The styles that the word may mean, if games that have ended show this. The learner ignores a
    /// threat with several such styles.
    pub possible: Vec<Style>,
    pub memory: ThreatMemory,
    pub unexplained: Option<Unexplained>,
}

#[derive(Clone, Debug)]
pub(super) struct ThreatMemory {
    /// The threat's spawn, if known.
    pub home: Option<Position>,
    /// The hypotheses about a hawk.
    pub hawk: Option<Hawk>,
    /// The number of draws so far, if known.
    pub draws: Option<u16>,
}

impl ThreatMemory {
    pub fn new(style: Option<Style>, home: Option<Position>, hawks: &HawkSets, is_from_start: bool) -> Self {
        let hawk = (style == Some(Style::Hawk)).then(|| Hawk::new(hawks, is_from_start));
        Self { home, hawk, draws: is_from_start.then_some(1) }
    }
}

impl FollowedThreat {
    /// True if the threat needs another style, because it has none, or its style does not explain
    /// its moves. False if earlier games leave several styles.
    pub fn is_open(&self) -> bool {
        self.possible.len() < 2 && (self.style.is_none() || self.unexplained.is_some())
    }
}

impl ObservedGame {
    pub fn hawks(&self) -> impl Iterator<Item = &Hawk> {
        self.threats.iter().filter_map(|threat| threat.memory.hawk.as_ref())
    }

    pub fn hawks_mut(&mut self) -> impl Iterator<Item = &mut Hawk> {
        self.threats.iter_mut().filter_map(|threat| threat.memory.hawk.as_mut())
    }

    pub fn has(&self, style: Style) -> bool {
        self.threats.iter().any(|threat| threat.style == Some(style))
    }

    /// The moves that lead to `sight`. `None` if a threat moved farther than one tile, or if the
    /// player or a threat was not on an open tile.
    pub fn step_to(&self, sight: &Sight) -> Option<Step> {
        let graph = self.streets.graph();
        let (before, now) = (graph.tile(self.last.player)?, graph.tile(sight.player)?);
        let stale = if self.last.tick == FIRST_TICK { self.streets.nowhere() } else { before };
        let mut threats = Vec::with_capacity(sight.threats.len());
        for (from, to) in self.last.threats.iter().zip(&sight.threats) {
            let (from, to) = (from.position, to.position);
            let direction = Direction::ALL.into_iter().find(|&direction| from.towards(direction) == to);
            if direction.is_none() && from != to {
                return None;
            }
            threats.push((graph.tile(from)?, direction));
        }
        let facing = self.last.threats.iter().map(|threat| threat.direction).collect();
        Some(Step { tick: self.last.tick, player: [stale, now], threats, facing })
    }

    pub fn moved(&self, step: &Step) -> Option<bool> {
        if step.threats.iter().any(|(_, direction)| direction.is_some()) {
            return Some(true);
        }
        let must_move = |(threat, &(tile, _)): (&FollowedThreat, &(u16, Option<Direction>))| {
            let styles = if threat.style.is_some() { threat.style.as_slice() } else { &threat.possible };
            let must_move = |style: &Style| match style {
                Style::Bull | Style::Goldfish | Style::Deer => self.streets.options(tile) != 0,
                Style::Shark => step.player.iter().all(|&player| self.streets.nearer(player, tile) != 0),
                Style::Owl | Style::Hawk => false,
            };
            threat.unexplained.is_none() && !styles.is_empty() && styles.iter().all(must_move)
        };
        self.threats.iter().zip(&step.threats).any(must_move).then_some(false)
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
        self.threats.first().is_none_or(|threat| threat.memory.home.is_some())
            && self.evidence.len() == self.steps.len()
    }
}
