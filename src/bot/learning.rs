//! Infers the server's rules once the threats break the expected rules.
//!
//! After the first misprediction, or if a style has an unknown name, a [`Learner`] follows the
//! game, unless learning is disabled. When its best explanation has new rules, a [`Replay`] of the
//! game tests them. The replay's beliefs replace the tracker's if they have fewer mispredictions or
//! none. Learning stops after a missed message, or if no rules explain a threat of known style.

use crate::game::{FIRST_TICK, Move, Rules, State, Style, World};
use crate::inference::{Conclusion, Learner, Streets, StyleWord, differences};
use crate::search::Deadline;

use super::BotOptions;
use super::observation::{Observation, agrees};
use super::tracker::{Replay, Tracker, layout_of};

#[derive(Default)]
pub(super) struct Learning {
    log: Vec<Observation>,
    /// True after a missed message or a late join, if the learner could not begin, or if no rules
    /// explain a threat of known style.
    has_stopped: bool,
    learner: Option<Box<Learner>>,
    shown_observations: usize,
    /// The learner's latest best explanation, unless learning was given up.
    best: Option<(Rules, Vec<(String, Style)>)>,
    /// The explanation that the tracker uses in place of the expected rules.
    learnt: Option<Explanation>,
    /// The last explanation whose replay failed, or was not better than the tracker.
    rejected: Option<Explanation>,
    replay: Option<(Explanation, Box<Replay>)>,
}

type Explanation = (Rules, Vec<Option<Style>>);

impl Learning {
    pub fn has_learnt(&self) -> bool {
        self.learnt.is_some()
    }

    pub fn has_learner(&self) -> bool {
        self.learner.is_some()
    }

    pub fn keep(&mut self, observation: &Observation) {
        let last_tick = self.log.last().map(|last| last.tick);
        if self.has_stopped || last_tick == Some(observation.tick) {
            return;
        }
        self.has_stopped = observation.tick != last_tick.map_or(FIRST_TICK, |tick| tick + 1);
        if !self.has_stopped {
            self.log.push(observation.clone());
        }
    }

    /// Replaces the beliefs if other rules or styles fit better, and then returns all
    /// conclusions. If no rules explain a threat of known style, stops learning and says so.
    pub fn learn(
        &mut self,
        tracker: &mut Tracker,
        words: &[StyleWord],
        options: &BotOptions,
        deadline: Deadline,
    ) -> Vec<Conclusion> {
        if self.has_stopped || !options.learns {
            return Vec::new();
        }
        if self.learner.is_none() {
            let is_expected = tracker.beliefs.mispredictions().iter().all(|&count| count == 0);
            if is_expected && words.iter().all(|named| named.style.is_some()) {
                return Vec::new();
            }
            let Some(learner) = self.begin(words, options, &tracker.beliefs.world) else {
                self.has_stopped = true;
                return Vec::new();
            };
            self.shown_observations = 1;
            self.learner = Some(Box::new(learner));
        }
        let Some(learner) = &mut self.learner else { return Vec::new() };
        loop {
            if !learner.advance() {
                let Some(observation) = self.log.get(self.shown_observations) else { break };
                learner.show(observation);
                self.shown_observations += 1;
            }
            if deadline.is_past() {
                return Vec::new();
            }
        }
        let unexplained = learner.unexplained();
        if let Some(first) = unexplained.iter().find(|unexplained| words[unexplained.threat].style.is_some()) {
            let news = vec![Conclusion::Unexplained(first.clone())];
            *self = Self { has_stopped: true, learnt: self.learnt.take(), ..Self::default() };
            return news;
        }
        let Some(best) = learner.best_until(deadline) else { return Vec::new() };
        let explanation = (best, learner.styles());
        self.best = Some((explanation.0, learner.words()));
        let is_new = match &self.learnt {
            Some(learnt) => *learnt != explanation,
            // If only the styles are new, no replay is needed: the tracker identifies them itself.
            None => Rules { wire: options.rules.wire, ..explanation.0 } != options.rules,
        };
        let mut news = Vec::new();
        if !is_new || self.rejected.as_ref() == Some(&explanation) {
            self.replay = None;
        } else if self.follow_again(tracker, &explanation, deadline) {
            let before = tracker.beliefs.mispredictions().iter().sum();
            let is_better = |replay: &Replay| replay.mispredictions() == 0 || replay.mispredictions() < before;
            match self.replay.take().filter(|(_, replay)| is_better(replay)) {
                Some((_, replay)) => {
                    replay.finish(tracker);
                    self.learnt = Some(explanation);
                    news = self.conclusions(&options.rules);
                }
                None => self.rejected = Some(explanation),
            }
        }
        news
    }

    fn begin(&self, words: &[StyleWord], options: &BotOptions, world: &World) -> Option<Learner> {
        let mut learner = Learner::new(&options.rules);
        learner.begin_on(Streets::of(world).ok()?, words.to_vec(), self.log.first()?.clone());
        Some(learner)
    }

    fn follow_again(&mut self, tracker: &Tracker, explanation: &Explanation, deadline: Deadline) -> bool {
        if self.replay.as_ref().is_none_or(|(known, _)| known != explanation) {
            let (rules, styles) = explanation;
            let replay = Replay::new(tracker, rules, styles, &self.log[0]).ok();
            self.replay = replay.map(|replay| (explanation.clone(), Box::new(replay)));
        }
        self.replay.as_mut().is_none_or(|(_, replay)| replay.advance(&self.log, deadline))
    }

    fn state_in(&self, world: &World) -> Option<State> {
        let mut state = world.start();
        for pair in self.log.windows(2) {
            if state.is_over() {
                return None;
            }
            world.step_unchecked(&mut state, pair[0].player.move_to(pair[1].player)?);
            if !agrees_with(world, &state, &pair[1]) {
                return None;
            }
        }
        Some(state)
    }

    /// Returns rules that explain a catch in the tick of the last message, and style names. `None`
    /// if no such rules are found, if the bot does not learn or has stopped learning, or if the
    /// best explanation already predicts the catch.
    pub fn explain_loss(
        &self,
        tracker: &Tracker,
        words: &[StyleWord],
        options: &BotOptions,
        last_move: Move,
    ) -> Option<(Rules, Vec<(String, Style)>)> {
        let last = self.log.last().filter(|_| options.learns && !self.has_stopped)?;
        let mut learner = match &self.learner {
            Some(learner) => (**learner).clone(),
            None => self.begin(words, options, &tracker.beliefs.world)?,
        };
        self.log.iter().for_each(|observation| learner.observe(observation));
        let (best, styles, first) = (learner.best(), learner.styles(), self.log.first()?);
        if styles.contains(&None) {
            return None;
        }
        let layout = layout_of(&tracker.map.layout, first, &styles);
        let is_caught = |rules: &Rules| {
            let world = tracker.beliefs.world.rebuilt(&layout, rules).ok()?;
            let mut state = self.state_in(&world).filter(|state| !state.is_over())?;
            world.step_unchecked(&mut state, last_move);
            Some(state.is_caught())
        };
        if is_caught(&best) != Some(false) {
            return None;
        }
        let early = learner.early_phases(&best, last.tick);
        let others = learner.alternatives(&best);
        // If the next phase is overdue, the likeliest explanation is that it has begun.
        let (first, second) = if learner.is_overdue(last.tick) { (early, others) } else { (others, early) };
        let rules = first.into_iter().chain(second).find(|rules| is_caught(rules) == Some(true))?;
        Some((rules, learner.words()))
    }

    /// The best explanation. `None` until the learner finds one, or if no rules explain a threat of
    /// known style.
    pub fn memory(&self) -> Option<(Rules, Vec<(String, Style)>)> {
        self.best.clone()
    }

    pub fn conclusions(&self, expected: &Rules) -> Vec<Conclusion> {
        let Some((rules, words)) = self.memory() else { return Vec::new() };
        let words = words.into_iter().map(|(word, style)| Conclusion::Word(word, style));
        let rules = differences(expected, &rules).into_iter().map(Conclusion::Rule);
        let mut conclusions: Vec<Conclusion> = rules.chain(words).collect();
        conclusions.dedup_by_key(|conclusion| conclusion.to_string());
        conclusions
    }
}

fn agrees_with(world: &World, state: &State, observation: &Observation) -> bool {
    world.player(state) == observation.player
        && world.threats(state).zip(&observation.threats).all(|(threat, observed)| agrees(*observed, &threat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::observation::decode;
    use crate::game::{Layout, PeriodTicks, PhaseClocks};
    use crate::protocol::GameMessage;

    #[test]
    fn catch_after_the_last_message_is_explained_by_an_early_phase() {
        let layout = Layout::parse("P.S..").expect("a drawing");
        // The shark approaches in tick 5. Under the expected rules, it next moves in tick 10.
        let expected = Rules::BLITZ_2025;
        let truth = Rules {
            period_ticks: PeriodTicks { tease: 1, ..expected.period_ticks },
            phase_clocks: PhaseClocks { tease: 6, ..expected.phase_clocks },
            ..expected
        };
        let world = World::new(&layout, &truth).expect("a map");
        let tracked = World::new(&layout, &expected).expect("a map");
        let (mut learning, mut state) = (Learning::default(), world.start());
        loop {
            let message = GameMessage::of(&world, &state, "us");
            let decoded = decode(&message, &[]).expect("a message");
            learning.keep(&decoded.observation);
            let styles: Vec<_> = decoded.named.iter().map(|named| named.style).collect();
            let observation = &decoded.observation;
            let tracker = Tracker::new(layout.clone(), tracked.clone(), &styles, observation, Deadline::NEVER);
            let (tracker, options) = (tracker.expect("a map"), BotOptions::default());
            let explained = learning.explain_loss(&tracker, &decoded.named, &options, Move::Stay);
            world.step_unchecked(&mut state, Move::Stay);
            if state.is_caught() {
                let (rules, _) = explained.expect("an explanation");
                assert_eq!((rules.period_ticks.tease, rules.phase_clocks.tease), (1, 6));
                assert_eq!(rules, truth);
                break;
            }
        }
        assert_eq!(state.tick(), 9);
    }
}
