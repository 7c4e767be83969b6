//! Infers the server's rules once the threats break the expected rules.
//!
//! After the first misprediction, or if a style has an unknown name, a [`Learner`] follows the
//! game, unless learning is disabled. When its best explanation has new rules, a replay of the
//! game tests them. The replay's beliefs replace the tracker's if they have fewer mispredictions or
//! none. Learning stops after a missed message, or if no rules explain a threat of known style.

use crate::game::{FIRST_TICK, Rules, Style};
use crate::inference::{Conclusion, Learner, Streets, StyleWord, differences};
use crate::search::Deadline;

use super::BotOptions;
use super::observation::Observation;
use super::tracker::Tracker;

#[derive(Default)]
pub(super) struct Learning {
    log: Vec<Observation>,
    /// True after a missed message or a late join, if the learner could not begin, or if no rules
    /// explain a threat of known style.
    has_stopped: bool,
    learner: Option<Box<Learner>>,
    shown_observations: usize,
    /// The learner's latest best explanation. `None` before the first one, or if no rules explain a
    /// threat of known style.
    pub best: Option<(Rules, Vec<(String, Style)>)>,
    /// The explanation that the tracker uses in place of the expected rules.
    learnt: Option<Explanation>,
    /// The last explanation whose replay failed, or was not better than the tracker.
    rejected: Option<Explanation>,
    replay: Option<(Explanation, Box<Tracker>)>,
}

type Explanation = (Rules, Vec<Option<Style>>);

impl Learning {
    pub fn has_learnt(&self) -> bool {
        self.learnt.is_some()
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
    ) -> Vec<String> {
        if self.has_stopped || !options.learns {
            return Vec::new();
        }
        if self.learner.is_none() {
            let is_expected = tracker.beliefs.mispredictions().iter().all(|&count| count == 0);
            if is_expected && words.iter().all(|named| named.style.is_some()) {
                return Vec::new();
            }
            let (Ok(streets), Some(first)) = (Streets::of(&tracker.beliefs.world), self.log.first()) else {
                self.has_stopped = true;
                return Vec::new();
            };
            let mut learner = Learner::new(&options.rules);
            learner.begin_on(streets, words.to_vec(), first.clone());
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
            let news = vec![Conclusion::Unexplained(first.clone()).to_string()];
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
            let mispredictions = |tracker: &Tracker| tracker.beliefs.mispredictions().iter().sum::<u32>();
            let is_better = |replay: &Tracker| mispredictions(replay) < mispredictions(tracker).max(1);
            match self.replay.take().filter(|(_, replay)| is_better(replay)) {
                Some((_, replay)) => {
                    tracker.adopt(replay.beliefs);
                    self.learnt = Some(explanation);
                    news = self.conclusions(&options.rules);
                }
                None => self.rejected = Some(explanation),
            }
        }
        news
    }

    fn follow_again(&mut self, tracker: &Tracker, explanation: &Explanation, deadline: Deadline) -> bool {
        if self.replay.as_ref().is_none_or(|(known, _)| known != explanation) {
            let replay = tracker.restarted(&explanation.0, &explanation.1, &self.log[0]).ok();
            self.replay = replay.map(|replay| (explanation.clone(), Box::new(replay)));
        }
        self.replay.as_mut().is_none_or(|(_, replay)| replay.replay(&self.log, deadline))
    }

    pub fn conclusions(&self, expected: &Rules) -> Vec<String> {
        let Some((rules, words)) = &self.best else { return Vec::new() };
        let words = words.iter().map(|(word, style)| Conclusion::Word(word.clone(), *style));
        let rules = differences(expected, rules).into_iter().map(Conclusion::Rule);
        let mut conclusions: Vec<String> = rules.chain(words).map(|conclusion| conclusion.to_string()).collect();
        conclusions.dedup();
        conclusions
    }
}
