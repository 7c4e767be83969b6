//! The beliefs about threats. Messages show a threat's position and direction, but not its hidden
//! state: the number of its random draws, and its memory. The tracker keeps *hypotheses* about each
//! threat's hidden state. In a game seen from tick 1, a threat of known style needs only one
//! hypothesis until a prediction is wrong. For each message, the tracker predicts the pose under
//! each hypothesis, and drops the hypotheses that the observed pose refutes. If it refutes all of
//! them, the tracker generates new ones. Plans use the *best* hypothesis, the first of those left.
//!
//! A threat of unknown style, or with too many mispredictions, is *unmodelled*: plans do not predict
//! its moves. Its hypotheses are of every style. Once the threats have moved a few times, the most
//! specific style that is left becomes the threat's style.

use crate::game::{Layout, Position, Spawn, Style, Threat, World, WorldError};
use crate::planner::ObservedThreat;
use crate::search::Deadline;

use super::observation::Observation;
use super::prior::{Conduct, HypothesisLimit, PriorContext};
use super::threat_belief::ThreatBelief;

/// The streets and spawns come from a valid world, so rebuilding cannot fail.
pub(super) const LIKE_BEFORE: &str = "a world like the one before";

#[derive(Debug)]
pub(super) struct Beliefs {
    threats: Vec<ThreatBelief>,
    /// The map with the modelled threats and the tiles that are assumed to be see-through.
    pub layout: Layout,
    /// The world of the layout at the last observation.
    pub world: World,
    /// Increases whenever `world` changes, so that planners for an older world can be replaced.
    pub world_count: u32,
    /// For each threat of `world`, its index in the messages.
    pub message_indices: Vec<usize>,
    pub best: Vec<Threat>,
    pub unmodelled: Vec<ObservedThreat>,
}

pub(super) struct BeliefStep<'a> {
    pub first_tick: u16,
    /// The player's position at the start of each tick from `first_tick` to the tick of the
    /// observation. If empty, nothing is predicted.
    pub path: &'a [Position],
    pub observation: &'a Observation,
    /// For each threat whose style has changed: its index in the messages, and its new style.
    pub restyled: &'a [(usize, Option<Style>)],
    /// False right after missed messages, and for some time after the bot joins or rejoins a
    /// running game: a wrong prediction then does not count.
    pub counts_mispredictions: bool,
    /// True if a long gap has made all earlier hypotheses invalid.
    pub is_rejoin: bool,
}

impl Beliefs {
    /// Unknown styles are `None`; in the layout of `world`, an arbitrary style takes their place.
    /// After `deadline`, keeps at most `HYPOTHESES_MAX_LATE` hypotheses per threat. Fails if no
    /// world can be built with the modelled threats.
    pub fn new(
        world: World,
        styles: &[Option<Style>],
        first: &Observation,
        deadline: Deadline,
    ) -> Result<Self, WorldError> {
        let limit = HypothesisLimit::new(styles.len(), deadline);
        let layout = world.layout().clone();
        let context = PriorContext::new(&layout, &world, first.tick, first.player, limit);
        let threats = styles.iter().zip(&first.threats);
        let threats = threats.map(|(&style, &observed)| ThreatBelief::new(style, observed, &context)).collect();
        let mut beliefs = Self {
            threats,
            layout,
            world,
            world_count: 0,
            message_indices: Vec::new(),
            best: Vec::new(),
            unmodelled: Vec::new(),
        };
        beliefs.refresh()?;
        Ok(beliefs)
    }

    pub fn mispredictions(&self) -> Vec<u32> {
        self.threats.iter().map(|threat| threat.mispredictions).collect()
    }

    pub fn is_ambiguous(&self) -> bool {
        let is_ambiguous = |threat: &ThreatBelief| {
            threat.hypotheses.len() > 1 || threat.hypotheses.iter().any(|hypothesis| !hypothesis.are_draws_known)
        };
        self.message_indices.iter().any(|&index| is_ambiguous(&self.threats[index]))
    }

    /// The spawn and the best hypothesis of each modelled threat. A deer's spawn is its home.
    pub fn likeliest(&self) -> Vec<(Spawn, Threat)> {
        let hypotheses = self.message_indices.iter().filter_map(|&index| {
            let threat = &self.threats[index];
            threat.hypotheses.first().map(|hypothesis| threat.variant(hypothesis, hypothesis.threat.draws))
        });
        hypotheses.collect()
    }

    /// Finds a few hidden states that cause a catch on `path`, which starts in `tick`. For each,
    /// returns the number of moves on the path before the fatal move, the spawn (a deer's home) and
    /// the threat. `None` if `deadline` passes first.
    pub fn catches(&self, tick: u16, path: &[Position], deadline: Deadline) -> Option<Vec<(usize, Spawn, Threat)>> {
        let mut catches = Vec::new();
        for (world_index, &index) in self.message_indices.iter().enumerate() {
            catches.extend(self.threats[index].catches(&self.world, world_index, tick, path, deadline)?);
        }
        Some(catches)
    }

    pub fn step(&mut self, step: &BeliefStep<'_>, deadline: Deadline) {
        let observation = step.observation;
        if !step.restyled.is_empty() {
            let player = step.path.first().copied().unwrap_or(observation.player);
            let limit = HypothesisLimit::new(self.threats.len(), deadline);
            let context = PriorContext::new(&self.layout, &self.world, step.first_tick, player, limit);
            for &(index, style) in step.restyled {
                self.threats[index].set_style(style, &context);
            }
            self.refresh().expect(LIKE_BEFORE);
        }
        let ticks = step.path.len().saturating_sub(1);
        // A guessed path could refute the true style, so identification starts again after a gap.
        let identifies = ticks == 1;
        let predicted = if identifies { self.threats.len() } else { self.message_indices.len() * ticks };
        let limit = HypothesisLimit::new(predicted, deadline);
        let has_unmodelled = self.threats.iter().any(ThreatBelief::is_unmodelled);
        let styles_world = if identifies && has_unmodelled { self.styles_world() } else { None };
        for (pair, tick) in step.path.windows(2).zip(step.first_tick..) {
            let step = (tick, pair[0], pair[1]);
            for (world_index, &index) in self.message_indices.iter().enumerate() {
                self.threats[index].predict(&self.world, |_| world_index, step, limit);
            }
            let Some(styles_world) = &styles_world else { continue };
            for threat in self.threats.iter_mut().filter(|threat| threat.is_unmodelled()) {
                threat.predict(styles_world, |style| style as usize, step, limit);
            }
        }
        let limit = HypothesisLimit::new(self.threats.len(), deadline);
        let context = PriorContext::new(&self.layout, &self.world, observation.tick, observation.player, limit);
        for (threat, &observed) in self.threats.iter_mut().zip(&observation.threats) {
            threat.update(observed, &context, step.counts_mispredictions);
            if step.is_rejoin || (threat.is_unmodelled() && !identifies) {
                threat.generate(&context, Conduct::ByTheRules);
            }
        }
        self.refresh().expect(LIKE_BEFORE);
    }

    /// A world with one threat of each style, for the hypotheses about unmodelled threats.
    fn styles_world(&self) -> Option<World> {
        let threats = Style::ALL.map(|style| Spawn { style, position: self.layout.player }).to_vec();
        let mut world = self.world.clone();
        world.set_layout(&Layout { threats, ..self.layout.clone() }).ok()?;
        Some(world)
    }

    /// Rebuilds the world if the tiles, the modelled threats or their spawns have changed. Fails if no
    /// world can be built.
    pub fn refresh(&mut self) -> Result<(), WorldError> {
        let spawn = |(index, threat): (usize, &ThreatBelief)| {
            Some((index, Spawn { style: threat.style?, position: threat.spawn() }))
        };
        let (indices, spawns): (Vec<usize>, Vec<Spawn>) = self.threats.iter().enumerate().filter_map(spawn).unzip();
        self.layout.threats = spawns;
        if indices != self.message_indices || self.layout != *self.world.layout() {
            self.message_indices = indices;
            self.world_count += 1;
            self.world.set_layout(&self.layout)?;
        }
        let best = self.message_indices.iter().filter_map(|&index| self.threats[index].best().copied());
        self.best = best.collect();
        let unmodelled = self.threats.iter().filter(|threat| threat.is_unmodelled());
        self.unmodelled = unmodelled.map(|threat| ObservedThreat::at(threat.position)).collect();
        Ok(())
    }
}
