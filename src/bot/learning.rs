//! Learning: works out the server's rules once the threats break the expected ones.
//!
//! Guarantees: while every threat does what was predicted, only the observations are kept. From the
//! first misprediction on, or if a style has an unknown name, a [`Learner`] is shown the whole game
//! and every later message. Whenever its best explanation changes, the tracker replays the game
//! under those rules, and keeps them if that leaves fewer mispredictions. A threat of a known style
//! whose moves no rules explain means that the server breaks its rules rather than having others:
//! the bot returns to the expected rules, and learns nothing more in the game. Other rules that
//! also explain the game are kept with their states: moves are checked against them (`conformant`).

use crate::game::{FIRST_TICK, Layout, Move, Rules, Spawn, State, Style, World};
use crate::inference::{Learner, Named, Sight, differences};
use crate::protocol::MessageMap;

use super::observation::{Decoded, Observation, ObservedPose};
use super::tracker::Tracker;
use super::{BotOptions, Deadlines};

/// Maximum number of other explanations that a move is checked against.
const ALTERNATIVES_MAX: usize = 6;
/// Maximum number of other explanations that are tried for a lost game.
const LOSS_ALTERNATIVES_MAX: usize = 400;
/// The largest map, in open tiles, on which tables are built within a decision.
const LEARNING_TILES_MAX: usize = 1024;

/// What has been learnt in a game.
#[derive(Default)]
pub(super) struct Learning {
    /// Every observation, as long as none was missed since tick 1.
    log: Vec<Observation>,
    /// Whether nothing more is learnt in this game: a message was missed, or no rules explain a
    /// known style.
    has_stopped: bool,
    learner: Option<Box<Learner>>,
    /// Observations that the learner has been shown.
    shown: usize,
    /// The rules and styles of the tracker, once they are learnt.
    learnt: Option<(Rules, Vec<Option<Style>>)>,
    /// The latest explanation that did not reduce the mispredictions.
    rejected: Option<(Rules, Vec<Option<Style>>)>,
    alternatives: Vec<Alternative>,
    /// The words for the threats' styles in the last message.
    words: Vec<Named>,
}

/// Other rules that explain the game, and the state under them.
struct Alternative {
    rules: Rules,
    world: World,
    state: State,
}

impl Learning {
    /// Whether the bot plays by rules that it has learnt in this game.
    pub fn is_learning(&self) -> bool {
        self.learnt.is_some()
    }

    /// Whether rules that explain the game are being looked for.
    pub fn is_looking(&self) -> bool {
        self.learner.is_some()
    }

    /// Keeps an observation.
    pub fn keep(&mut self, observation: &Observation) {
        let is_next = match self.log.last() {
            Some(last) => observation.tick == last.tick + 1,
            None => observation.tick == FIRST_TICK,
        };
        let is_repeated = self.log.last().is_some_and(|last| last.tick == observation.tick);
        if is_repeated {
            return;
        }
        self.has_stopped |= !is_next;
        if !self.has_stopped {
            self.log.push(observation.clone());
        }
    }

    /// Learns from the latest observation; replaces the tracker if its rules or styles have
    /// changed. Returns what is new, in sentences.
    pub fn learn(
        &mut self,
        tracker: &mut Tracker,
        (map, words): (&MessageMap, &[Named]),
        options: &BotOptions,
        deadlines: Deadlines,
    ) -> Vec<String> {
        if self.words != words {
            self.words = words.to_vec();
        }
        if !options.learns || self.has_stopped || tracker.beliefs.world.open_tiles() > LEARNING_TILES_MAX {
            return Vec::new();
        }
        if self.learner.is_none() {
            let is_expected = tracker.beliefs.mispredictions().iter().all(|&count| count == 0);
            if is_expected && words.iter().all(|named| named.style.is_some()) {
                return Vec::new();
            }
            let Some(learner) = self.begin(map, words, options) else {
                self.has_stopped = true;
                return Vec::new();
            };
            self.shown = 1;
            self.learner = Some(Box::new(learner));
        }
        let Some(learner) = &mut self.learner else { return Vec::new() };
        for observation in &self.log[self.shown..] {
            learner.observe(&sight(observation));
        }
        self.shown = self.log.len();
        let unexplained = learner.unexplained();
        if let Some(first) = unexplained.iter().find(|unexplained| words[unexplained.threat].style.is_some()) {
            let news = format!("no rules explain what the {} did in tick {}", first.style, first.tick);
            self.give_up(tracker, words, options, deadlines);
            return vec![news];
        }
        let explanation = (learner.best(), learner.styles());
        let is_new = match &self.learnt {
            Some(learnt) => *learnt != explanation,
            // While the rules hold, the tracker itself finds the styles of unknown words.
            None => Rules { wire: options.rules.wire, ..explanation.0 } != options.rules,
        };
        let mut news = Vec::new();
        if is_new && self.rejected.as_ref() != Some(&explanation) {
            let (rules, styles) = &explanation;
            let followed = tracker.followed(rules, styles, &self.log, deadlines);
            let count = |tracker: &Tracker| tracker.beliefs.mispredictions().iter().sum::<u32>();
            match followed {
                Ok(followed) if count(&followed) == 0 || count(&followed) < count(tracker) => {
                    *tracker = followed;
                    self.learnt = Some(explanation);
                    news = self.sentences(&options.rules);
                }
                _ => self.rejected = Some(explanation),
            }
        }
        self.update_alternatives(tracker, deadlines);
        news
    }

    /// A learner that has been shown the first observation; `None` if the map cannot be played.
    fn begin(&self, map: &MessageMap, words: &[Named], options: &BotOptions) -> Option<Learner> {
        let first = self.log.first()?;
        let mut learner = Learner::new(&options.rules);
        learner.begin(&map.layout(first.player), words.to_vec(), sight(first)).ok()?;
        Some(learner)
    }

    /// Returns to the expected rules, and learns nothing more in this game.
    fn give_up(&mut self, tracker: &mut Tracker, words: &[Named], options: &BotOptions, deadlines: Deadlines) {
        self.has_stopped = true;
        self.learner = None;
        self.alternatives.clear();
        let styles: Vec<Option<Style>> = words.iter().map(|named| named.style).collect();
        if self.learnt.take().is_some()
            && let Ok(followed) = tracker.followed(&options.rules, &styles, &self.log, deadlines)
        {
            *tracker = followed;
        }
        self.log.clear();
    }

    /// Updates the other explanations and their current states.
    fn update_alternatives(&mut self, tracker: &Tracker, deadlines: Deadlines) {
        let Some(learner) = &self.learner else { return };
        let best = tracker.beliefs.world.rules();
        let rules = learner.alternatives(best, ALTERNATIVES_MAX);
        self.alternatives.retain(|alternative| rules.contains(&alternative.rules));
        let Some([before, now]) = self.log.last_chunk::<2>() else { return };
        // A state is advanced by the player's step; it must then agree with the observation.
        self.alternatives.retain_mut(|alternative| {
            let Alternative { world, state, .. } = alternative;
            if state.tick() == before.tick && !state.is_over() {
                world.step(state, before.player.move_to(now.player).unwrap_or(Move::Stay));
            }
            state.tick() == now.tick && agrees(world, state, now)
        });
        for rules in rules {
            if self.alternatives.iter().any(|alternative| alternative.rules == rules) || deadlines.inference.is_past() {
                continue;
            }
            if let Some(alternative) = self.alternative(rules, tracker) {
                self.alternatives.push(alternative);
            }
        }
    }

    /// The state under other rules, found by playing the game again; `None` if they do not explain
    /// it.
    fn alternative(&self, rules: Rules, tracker: &Tracker) -> Option<Alternative> {
        let first = self.log.first()?;
        let styles = &self.learnt.as_ref()?.1;
        if styles.iter().any(Option::is_none) {
            return None;
        }
        let world = world_of(&tracker.map.layout, styles, first, &rules)?;
        let state = self.replayed(&world)?;
        Some(Alternative { rules, world, state })
    }

    /// The state of a world after the whole game; `None` if it differs from the last observation.
    fn replayed(&self, world: &World) -> Option<State> {
        let mut state = world.start();
        for pair in self.log.windows(2) {
            let [before, now] = pair else { continue };
            if state.is_over() {
                return None;
            }
            world.step(&mut state, before.player.move_to(now.player)?);
        }
        agrees(world, &state, self.log.last()?).then_some(state)
    }

    /// Rules that explain the game and, other than the best ones, that the player was caught after
    /// its last move, with the words that were learnt: for a game that ended there. A catch is not
    /// followed by a message, so that the last moves of the threats are not seen. `None` if no
    /// rules do.
    pub fn explain_loss(
        &self,
        map: &MessageMap,
        options: &BotOptions,
        last_move: Move,
    ) -> Option<(Rules, Vec<(String, Style)>)> {
        let last = self.log.last().filter(|_| options.learns && !self.has_stopped)?;
        let mut learner = match &self.learner {
            Some(learner) => (**learner).clone(),
            None => self.begin(map, &self.words, options)?,
        };
        self.log.iter().for_each(|observation| learner.observe(&sight(observation)));
        let (best, styles, first) = (learner.best(), learner.styles(), self.log.first()?);
        let streets = map.layout(first.player);
        let mut world = world_of(&streets, &styles, first, &best)?;
        let mut is_caught = |rules: &Rules| {
            if world.rules() != rules {
                world = world_of(&streets, &styles, first, rules)?;
            }
            let mut state = self.replayed(&world).filter(|state| !state.is_over())?;
            world.step(&mut state, last_move);
            Some(state.is_caught())
        };
        if is_caught(&best) != Some(false) {
            return None;
        }
        let early = learner.early_phases(&best, last.tick);
        let others = learner.alternatives(&best, LOSS_ALTERNATIVES_MAX);
        // A phase that is overdue begins before long; otherwise any other rule is as likely.
        let (first, second) = if learner.is_overdue(last.tick) { (early, others) } else { (others, early) };
        let rules = first.into_iter().chain(second).find(|rules| is_caught(rules) == Some(true))?;
        Some((rules, learner.words()))
    }

    /// The current states under other rules that also explain the game, with their worlds.
    pub fn futures(&self, tick: u16) -> impl Iterator<Item = (&World, &State)> {
        let current = self.alternatives.iter().filter(move |alternative| alternative.state.tick() == tick);
        current.map(|alternative| (&alternative.world, &alternative.state))
    }

    /// The rules and words of the best explanation; `None` while every threat does what is expected,
    /// and once no rules explain the game.
    pub fn memory(&self) -> Option<(Rules, Vec<(String, Style)>)> {
        let learner = self.learner.as_ref()?;
        Some((learner.best(), learner.words()))
    }

    /// What was learnt, in sentences.
    pub fn sentences(&self, expected: &Rules) -> Vec<String> {
        let Some((rules, words)) = self.memory() else { return Vec::new() };
        let words = words.into_iter().map(|(word, style)| format!("{word} is the {style}"));
        let mut sentences: Vec<String> =
            differences(expected, &rules).into_iter().map(|difference| difference.sentence).chain(words).collect();
        sentences.dedup();
        sentences
    }
}

/// The part of an observation that the learner is shown.
fn sight(observation: &Observation) -> Sight {
    Sight {
        tick: observation.tick,
        player: observation.player,
        threats: observation.threats.iter().map(|threat| (threat.position, threat.direction)).collect(),
        personality: observation.personality,
    }
}

/// The words for the threats' styles.
pub(super) fn named(decoded: &Decoded<'_>) -> Vec<Named> {
    let name = |(index, style): (usize, &Option<Style>)| Named {
        word: decoded.words.get(index).cloned().or(style.map(|style| style.to_string())).unwrap_or_default(),
        style: *style,
    };
    decoded.styles.iter().enumerate().map(name).collect()
}

/// The world of the whole game under these rules; `None` if a style is unknown or the rules cannot
/// be played.
fn world_of(streets: &Layout, styles: &[Option<Style>], first: &Observation, rules: &Rules) -> Option<World> {
    let spawn = |(style, threat): (&Option<Style>, &ObservedPose)| {
        style.map(|style| Spawn { style, position: threat.position })
    };
    let threats = styles.iter().zip(&first.threats).map(spawn).collect::<Option<Vec<Spawn>>>()?;
    World::new(&Layout { player: first.player, threats, ..streets.clone() }, rules).ok()
}

/// Whether the threats of a state are where they were observed.
fn agrees(world: &World, state: &State, observation: &Observation) -> bool {
    world.player(state) == observation.player
        && world.threats(state).zip(&observation.threats).all(|(threat, observed)| observed.agrees(&threat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::observation::decode;
    use crate::game::{PeriodTicks, PhaseClocks};
    use crate::protocol::GameMessage;

    #[test]
    fn catch_that_no_message_shows_is_explained_by_a_phase_that_began() {
        let layout = Layout::parse("P.s..").expect("a drawing");
        // The shark comes near in tick 5, and is expected to move again in tick 10.
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
            learning.words = named(&decoded);
            let explained = learning.explain_loss(&message.map, &BotOptions::default(), Move::Stay);
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
