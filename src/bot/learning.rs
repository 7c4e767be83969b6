//! Infers the server's rules once the threats break the expected rules.
//!
//! After the first misprediction, or if a style has an unknown name, a [`Learner`] follows the
//! game, unless learning is disabled or the map is too large. When its best explanation has new
//! rules, a new tracker replays the game under these rules. The new tracker replaces the old one if
//! it has fewer mispredictions or none. Learning stops after a missed message, or if no rules explain a
//! threat of known style.

use crate::game::{FIRST_TICK, Layout, Move, Rules, Spawn, State, Style, World};
use crate::inference::{Learner, ObservedPose, Streets, StyleWord, differences};
use crate::protocol::MessageMap;
use crate::search::Deadline;

use super::BotOptions;
use super::observation::{Observation, agrees};
use super::tracker::{Replay, Tracker};

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
        let is_next = match self.log.last() {
            Some(last) => observation.tick == last.tick + 1,
            None => observation.tick == FIRST_TICK,
        };
        let is_repeated = self.log.last().is_some_and(|last| last.tick == observation.tick);
        if is_repeated {
            return;
        }
        if !is_next {
            self.has_stopped = true;
            self.replay = None;
        }
        if !self.has_stopped || self.replay.is_some() {
            self.log.push(observation.clone());
        }
    }

    /// Replaces the tracker if other rules or styles fit better, and then returns all findings as
    /// sentences. If no rules explain a threat of known style, stops learning and returns a
    /// sentence that says so.
    pub fn learn(
        &mut self,
        tracker: &mut Tracker,
        (map, words): (&MessageMap, &[StyleWord]),
        options: &BotOptions,
        deadline: Deadline,
    ) -> Vec<String> {
        if self.has_stopped {
            self.return_to_expected(tracker, deadline);
            return Vec::new();
        }
        if !options.learns {
            return Vec::new();
        }
        if self.learner.is_none() {
            let is_expected = tracker.beliefs.mispredictions().iter().all(|&count| count == 0);
            if is_expected && words.iter().all(|named| named.style.is_some()) {
                return Vec::new();
            }
            let Some(learner) = self.begin(map, words, options, Some(&tracker.beliefs.world)) else {
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
            let news = first.to_string();
            self.give_up(tracker, words, options);
            self.return_to_expected(tracker, deadline);
            return vec![news];
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
                    news = self.sentences(&options.rules);
                }
                None => self.rejected = Some(explanation),
            }
        }
        news
    }

    fn begin(
        &self,
        map: &MessageMap,
        words: &[StyleWord],
        options: &BotOptions,
        world: Option<&World>,
    ) -> Option<Learner> {
        let first = self.log.first()?;
        let streets = match world {
            Some(world) => Streets::of(world),
            None => Streets::new(&map.layout(first.player)),
        };
        let mut learner = Learner::new(&options.rules);
        learner.begin_on(streets.ok()?, words.to_vec(), first.clone());
        Some(learner)
    }

    fn follow_again(&mut self, tracker: &Tracker, explanation: &Explanation, deadline: Deadline) -> bool {
        if self.replay.as_ref().is_none_or(|(known, _)| known != explanation) {
            self.begin_replay(tracker, explanation.clone());
        }
        self.replay.as_mut().is_none_or(|(_, replay)| replay.advance(&self.log, deadline))
    }

    fn begin_replay(&mut self, tracker: &Tracker, explanation: Explanation) {
        let (rules, styles) = &explanation;
        let replay = Replay::new(tracker, rules, styles, &self.log[0]).ok();
        self.replay = replay.map(|replay| (explanation, Box::new(replay)));
    }

    fn give_up(&mut self, tracker: &Tracker, words: &[StyleWord], options: &BotOptions) {
        self.has_stopped = true;
        self.learner = None;
        self.best = None;
        self.replay = None;
        if self.learnt.is_some() {
            let styles: Vec<Option<Style>> = words.iter().map(|named| named.style).collect();
            self.begin_replay(tracker, (options.rules, styles));
        }
        if self.replay.is_none() {
            self.learnt = None;
            self.log.clear();
        }
    }

    fn return_to_expected(&mut self, tracker: &mut Tracker, deadline: Deadline) {
        if self.replay.as_mut().is_some_and(|(_, replay)| replay.advance(&self.log, deadline))
            && let Some((_, replay)) = self.replay.take()
        {
            replay.finish(tracker);
            self.learnt = None;
            self.log.clear();
        }
    }

    fn state_in(&self, world: &World) -> Option<State> {
        let mut state = world.start();
        for pair in self.log.windows(2) {
            if state.is_over() {
                return None;
            }
            world.step(&mut state, pair[0].player.move_to(pair[1].player)?);
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
        (map, words): (&MessageMap, &[StyleWord]),
        options: &BotOptions,
        last_move: Move,
    ) -> Option<(Rules, Vec<(String, Style)>)> {
        let last = self.log.last().filter(|_| options.learns && !self.has_stopped)?;
        let mut learner = match &self.learner {
            Some(learner) => (**learner).clone(),
            None => self.begin(map, words, options, None)?,
        };
        self.log.iter().for_each(|observation| learner.observe(observation));
        let (best, styles, first) = (learner.best(), learner.styles(), self.log.first()?);
        let layout = layout_of(&map.layout(first.player), &styles, first)?;
        let mut world = World::new(&layout, &best).ok()?;
        let mut is_caught = |rules: &Rules| {
            if world.rules() != rules {
                world = world.rebuilt(&layout, rules).ok()?;
            }
            let mut state = self.state_in(&world).filter(|state| !state.is_over())?;
            world.step(&mut state, last_move);
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

    pub fn sentences(&self, expected: &Rules) -> Vec<String> {
        let Some((rules, words)) = self.memory() else { return Vec::new() };
        let words = words.into_iter().map(|(word, style)| format!("{word} is the {style}"));
        let mut sentences: Vec<String> =
            differences(expected, &rules).into_iter().map(|difference| difference.sentence).chain(words).collect();
        sentences.dedup();
        sentences
    }
}

fn layout_of(streets: &Layout, styles: &[Option<Style>], first: &Observation) -> Option<Layout> {
    let spawn = |(style, threat): (&Option<Style>, &ObservedPose)| {
        style.map(|style| Spawn { style, position: threat.position })
    };
    let threats = styles.iter().zip(&first.threats).map(spawn).collect::<Option<Vec<Spawn>>>()?;
    Some(Layout { player: first.player, threats, ..streets.clone() })
}

fn agrees_with(world: &World, state: &State, observation: &Observation) -> bool {
    world.player(state) == observation.player
        && world.threats(state).zip(&observation.threats).all(|(threat, observed)| agrees(*observed, &threat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::observation::decode;
    use crate::game::{PeriodTicks, PhaseClocks};
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
        let (mut learning, mut state) = (Learning::default(), world.start());
        loop {
            let message = GameMessage::of(&world, &state, "us");
            let decoded = decode(&message, &[]).expect("a message");
            learning.keep(&decoded.observation);
            let known = (&message.map, &*decoded.named);
            let explained = learning.explain_loss(known, &BotOptions::default(), Move::Stay);
            world.step(&mut state, Move::Stay);
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
