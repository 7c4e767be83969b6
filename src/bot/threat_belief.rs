//! The beliefs about one threat: its style, and hypotheses about its hidden state.

use std::collections::HashSet;

use crate::game::{Direction, FIRST_TICK, LAST_TICK, Position, Spawn, Style, StyleMemory, Threat, World};
use crate::inference::{IDENTIFY_MOVES, ObservedPose};
use crate::search::Deadline;

use super::observation::agrees;
use super::prior::{Conduct, Hypothesis, HypothesisLimit, PriorContext};

/// From this number on, each misprediction makes the threat unmodelled.
const MISPREDICTIONS_MAX: u32 = 3;
/// Maximum number of times that the best hypothesis may be wrong while another one is right. The
/// next time counts as a misprediction.
const BEST_WRONG_MAX: u32 = 8;
/// Approximate maximum number of hidden states per threat to check against a path. The checks take
/// about a millisecond.
const STATES_TRIED_MAX: usize = 600;
/// Maximum draw count to try if the count is unknown. Under the server's rules, counts 1 to 24
/// cover every pick from up to four options.
const DRAWS_TRIED_MAX: u16 = 24;
const CATCHES_MAX: usize = 3;

#[derive(Clone, Debug)]
pub(super) struct ThreatBelief {
    /// `None` if the threat is unmodelled.
    pub style: Option<Style>,
    first_position: Position,
    is_spawn_known: bool,
    pub position: Position,
    direction: Direction,
    /// Best first. If the threat is unmodelled, the hypotheses are of all styles, the most specific
    /// first.
    pub hypotheses: Vec<Hypothesis>,
    /// The number of observations that no hypothesis predicted, or at which `best_wrong_count`
    /// exceeded its maximum. Includes only those with `BeliefStep::counts_mispredictions`.
    pub mispredictions: u32,
    best_wrong_count: u32,
    /// For an unmodelled threat, the number of moves that threats had made when its hypotheses were
    /// generated.
    unmodelled_since_moves: u16,
}

impl ThreatBelief {
    pub fn new(style: Option<Style>, observed: ObservedPose, context: &PriorContext<'_>) -> Self {
        let mut belief = Self {
            style,
            first_position: observed.position,
            is_spawn_known: context.tick == FIRST_TICK,
            position: observed.position,
            direction: observed.direction.unwrap_or(Direction::Up),
            hypotheses: Vec::new(),
            mispredictions: 0,
            best_wrong_count: 0,
            unmodelled_since_moves: 0,
        };
        belief.generate(context, Conduct::ByTheRules);
        belief
    }

    pub fn spawn(&self) -> Position {
        self.hypotheses.first().and_then(|best| best.home).unwrap_or(self.first_position)
    }

    pub fn is_unmodelled(&self) -> bool {
        self.style.is_none()
    }

    pub fn best(&self) -> Option<&Threat> {
        self.hypotheses.first().map(|hypothesis| &hypothesis.threat)
    }

    pub fn variant(&self, hypothesis: &Hypothesis, draws: u16) -> (Spawn, Threat) {
        let position = hypothesis.home.unwrap_or_else(|| self.spawn());
        let threat = Threat { draws, ..hypothesis.threat };
        (Spawn { style: threat.style, position }, threat)
    }

    pub fn catches(
        &self,
        world: &World,
        world_index: usize,
        tick: u16,
        path: &[Position],
        deadline: Deadline,
    ) -> Option<Vec<(usize, Spawn, Threat)>> {
        let draws_max = (1 + world.clock().moves_before(tick)).min(DRAWS_TRIED_MAX);
        let draws = |hypothesis: &Hypothesis| match hypothesis.are_draws_known {
            true => hypothesis.threat.draws..=hypothesis.threat.draws,
            false => 1..=draws_max,
        };
        let states: usize = self.hypotheses.iter().map(|hypothesis| draws(hypothesis).len()).sum();
        let stride = states.div_ceil(STATES_TRIED_MAX).max(1);
        let mut catches = Vec::new();
        for hypothesis in self.hypotheses.iter().step_by(stride) {
            if deadline.is_past() {
                return None;
            }
            for draws in draws(hypothesis) {
                let (spawn, threat) = self.variant(hypothesis, draws);
                let moves = moves_before_catch(world, world_index, (threat, hypothesis.home), tick, path);
                catches.extend(moves.map(|moves| (moves, spawn, threat)));
            }
        }
        catches.sort_by_key(|&(moves, _, _)| moves);
        catches.dedup_by_key(|&mut (moves, _, _)| moves);
        catches.truncate(CATCHES_MAX);
        Some(catches)
    }

    /// Predicts a tick in which the player moves from `stale` to `now`. Drops hypotheses beyond
    /// `limit`.
    pub fn predict(
        &mut self,
        world: &World,
        index_of: impl Fn(Style) -> usize,
        (tick, stale, now): (u16, Position, Position),
        limit: HypothesisLimit,
    ) {
        let draws = 1..=1 + world.clock().moves_before(tick);
        let step = |threat: &Threat, home| after(world, index_of(threat.style), (threat, home), tick, (stale, now));
        let mut predicted = Vec::with_capacity(self.hypotheses.len());
        let hypotheses_max = limit.now();
        for hypothesis in &self.hypotheses {
            if predicted.len() >= hypotheses_max {
                break;
            }
            let threat = step(&hypothesis.threat, hypothesis.home);
            if hypothesis.are_draws_known || threat.draws == hypothesis.threat.draws {
                predicted.push(Hypothesis { threat, ..*hypothesis });
                continue;
            }
            let threats = draws.clone().map(|draws| step(&Threat { draws, ..hypothesis.threat }, None));
            let hypotheses = threats.map(|threat| Hypothesis { threat, are_draws_known: true, home: None });
            predicted.extend(hypotheses.take(hypotheses_max - predicted.len()));
        }
        self.hypotheses = predicted;
    }

    /// Drops hypotheses that the observation refutes. After a misprediction, generates new ones or,
    /// if there have been too many mispredictions, makes the threat unmodelled. Mispredictions
    /// count only if `counts` is true.
    pub fn update(&mut self, observed: ObservedPose, context: &PriorContext<'_>, counts: bool) {
        self.position = observed.position;
        self.direction = observed.direction.or(self.best().map(|best| best.direction)).unwrap_or(self.direction);
        let agrees = |hypothesis: &Hypothesis| agrees(observed, &hypothesis.threat);
        if self.is_unmodelled() {
            self.hypotheses.retain(agrees);
            self.identify(context);
            return;
        }
        let is_best_right = agrees(&self.hypotheses[0]);
        if self.hypotheses.iter().any(agrees) {
            self.hypotheses.retain(agrees);
            if self.hypotheses.len() > 1 {
                // Hypotheses can become equal, for example after an owl has looked at the player.
                let mut known = HashSet::new();
                self.hypotheses.retain(|hypothesis| known.insert(*hypothesis));
            }
            self.best_wrong_count += u32::from(!is_best_right);
            if self.best_wrong_count <= BEST_WRONG_MAX || !counts {
                return;
            }
        }
        self.best_wrong_count = 0;
        self.mispredictions += u32::from(counts);
        if self.mispredictions >= MISPREDICTIONS_MAX {
            self.set_style(None, context);
            return;
        }
        self.regenerate(context);
    }

    /// Adopts the most specific style that explains enough moves. If no hypothesis is left, starts
    /// again.
    fn identify(&mut self, context: &PriorContext<'_>) {
        let moves = context.moves_before(context.tick);
        let Some(&Hypothesis { threat: Threat { style, .. }, .. }) = self.hypotheses.first() else {
            self.generate(context, Conduct::Unknown);
            return;
        };
        if moves >= self.unmodelled_since_moves + IDENTIFY_MOVES {
            self.style = Some(style);
            self.hypotheses.retain(|hypothesis| hypothesis.threat.style == style);
        }
    }

    fn regenerate(&mut self, context: &PriorContext<'_>) {
        let (position, direction) = (self.position, self.direction);
        let kept = self.hypotheses.iter().map(|hypothesis| Hypothesis {
            threat: Threat { position, direction, ..hypothesis.threat },
            ..*hypothesis
        });
        let mut known = HashSet::new();
        let prior = self.style.map_or_else(Vec::new, |style| self.prior(style, context, Conduct::Unknown));
        let all: Vec<Hypothesis> = kept.chain(prior).collect();
        let all = all.into_iter().filter(|hypothesis| known.insert(*hypothesis));
        self.hypotheses = all.take(context.limit.now()).collect();
    }

    /// Replaces all hypotheses.
    pub fn generate(&mut self, context: &PriorContext<'_>, conduct: Conduct) {
        if let Some(style) = self.style {
            self.hypotheses = self.prior(style, context, conduct);
            return;
        }
        self.hypotheses.clear();
        self.unmodelled_since_moves = context.moves_before(context.tick);
        let mut styles = Style::ALL;
        styles.sort_by_key(|style| style.specificity_rank());
        for style in styles {
            let prior = self.prior(style, context, Conduct::Unknown).into_iter();
            let home = |home: Option<Position>| home.or(Some(self.first_position)).filter(|_| style == Style::Deer);
            let with_home = prior.map(|hypothesis| Hypothesis { home: home(hypothesis.home), ..hypothesis });
            self.hypotheses.extend(with_home);
        }
        self.hypotheses.truncate(context.limit.now());
    }

    pub fn set_style(&mut self, style: Option<Style>, context: &PriorContext<'_>) {
        self.style = style;
        self.best_wrong_count = 0;
        self.generate(context, Conduct::Unknown);
    }

    /// Returns the possible hidden states of a threat of this style, likeliest first.
    fn prior(&self, style: Style, context: &PriorContext<'_>, conduct: Conduct) -> Vec<Hypothesis> {
        let keeps_rules = conduct == Conduct::ByTheRules;
        let moves = context.moves_before(context.tick);
        let are_draws_known = moves == 0 || !style.draws() || (style.draws_every_move() && keeps_rules);
        let blank = Threat {
            style,
            position: self.position,
            direction: self.direction,
            draws: if style.draws_every_move() { 1 + moves } else { 1 },
            remembered: None,
            seen: None,
            post: None,
            idle_rounds: 0,
        };
        let hypothesis = |threat| Hypothesis { threat, are_draws_known, home: None };
        if moves == 0 && self.is_spawn_known {
            return vec![hypothesis(blank)];
        }
        let max = context.limit.now();
        let tiles = || context.tiles_by_distance().iter();
        let remembers = |&tile: &Position| Threat { remembered: Some(tile), ..blank };
        let has_seen = |&tile: &Position| Threat { seen: Some(tile), ..blank };
        let patrols = |&tile: &Position| Threat { post: Some(tile), ..blank };
        let waits = |idle_rounds: i8| Threat { idle_rounds, ..blank };
        let with_home = |&home: &Position| Hypothesis { home: Some(home), ..hypothesis(blank) };
        match style.memory() {
            StyleMemory::Spawn if !self.is_spawn_known => tiles().map(with_home).take(max).collect(),
            StyleMemory::Nothing | StyleMemory::Spawn => vec![hypothesis(blank)],
            StyleMemory::LastLook => tiles().map(remembers).chain([blank]).map(hypothesis).take(max).collect(),
            StyleMemory::Target => {
                let rules = context.world.rules();
                let (patience, rest) = (rules.hawk_patience_moves as i8, rules.hawk_rest_moves as i8);
                let idle = (0..=patience).chain(-rest..0).map(waits);
                let sightings = tiles().map(has_seen);
                if keeps_rules {
                    let posts = context.world.best_intersections().into_iter().map(|tile| patrols(&tile));
                    return idle.chain(posts).chain(sightings).map(hypothesis).take(max).collect();
                }
                let walks = sightings.chain(tiles().map(patrols));
                idle.chain(walks).map(hypothesis).take(max).collect()
            }
        }
    }
}

/// The threat after a tick in which the player moves from `stale` to `now`. `home` is the assumed home
/// of a deer whose spawn is unknown.
fn after(
    world: &World,
    world_index: usize,
    (threat, home): (&Threat, Option<Position>),
    tick: u16,
    (stale, now): (Position, Position),
) -> Threat {
    let after = match home {
        Some(home) => world.deer_after(threat, home, tick, stale, now),
        None => world.threat_after(world_index, threat, tick, stale, now),
    };
    after.unwrap_or(*threat)
}

fn moves_before_catch(
    world: &World,
    world_index: usize,
    (mut threat, home): (Threat, Option<Position>),
    tick: u16,
    path: &[Position],
) -> Option<usize> {
    for (moves, (pair, tick)) in path.windows(2).zip(tick..=LAST_TICK).enumerate() {
        let (stale, now) = (pair[0], pair[1]);
        if world.rules().no_jump && threat.position == now {
            return Some(moves);
        }
        threat = after(world, world_index, (&threat, home), tick, (stale, now));
        if threat.position == now {
            return Some(moves);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bot::prior::{HYPOTHESES_MAX_LATE, HYPOTHESES_TOTAL_MAX};
    use crate::game::{Layout, Rules};
    use crate::search::{ManualTimeSource, TimeSource, install};

    #[test]
    fn late_tracker_keeps_few_hypotheses_and_threats_share_the_limit() {
        let layout = Layout::parse(&vec![".".repeat(30); 30].join("\n").replacen('.', "P", 1)).expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let observed = ObservedPose { position: Position::new(20, 20), direction: Some(Direction::Up) };
        let hypotheses = |threats, deadline| {
            let limit = HypothesisLimit::new(threats, deadline);
            let context = PriorContext::new(&layout, &world, 500, layout.player, limit);
            ThreatBelief::new(Some(Style::Hawk), observed, &context).hypotheses.len()
        };
        let clock = install(ManualTimeSource::new());
        let deadline = |ms| Deadline::new(clock.now() + Duration::from_millis(ms), clock.now());
        let (now, later) = (deadline(0), deadline(1));
        // Eleven counts of idle rounds, ten posts, and each of the 900 tiles as the last sighting.
        assert_eq!(hypotheses(6, later), 11 + 10 + 900);
        assert_eq!(hypotheses(60, later), HYPOTHESES_TOTAL_MAX / 60);
        assert_eq!(hypotheses(6, now), HYPOTHESES_MAX_LATE);
    }
}
