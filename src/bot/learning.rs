//! Learning: works out the server's rules once the threats break the expected ones.
//!
//! Guarantees: while every threat does what was predicted, only the observations are kept. From the
//! first misprediction on, or if a style has an unknown name, a [`Learner`] is shown the whole game
//! and every later message. Whenever its best explanation changes, the tracker replays the game
//! under those rules, and keeps them if that leaves fewer mispredictions. A threat of a known style
//! whose moves no rules explain means that the server breaks its rules rather than having others:
//! the bot returns to the expected rules, and learns nothing more in the game. A move that is fatal
//! under other rules that also explain the game is replaced by one that is fatal under fewer of
//! them, if there is one.

use crate::game::{FIRST_TICK, LAST_TICK, Layout, Move, Position, Rules, Spawn, State, Style, Tile, World};
use crate::inference::{Learner, Named, Sight, differences};
use crate::planner::{Budget, Choice, Outcome, Source, SurvivalOptions, SurvivalSearch};
use crate::protocol::MessageMap;

use super::observation::{Decoded, Observation};
use super::tracker::Tracker;
use super::{BotOptions, Deadlines};

/// Maximum number of other explanations that a move is checked against.
const ALTERNATIVES_MAX: usize = 6;
/// How far ahead a move is checked against them, in ticks.
const ALTERNATIVE_TICKS: u16 = 40;
/// Maximum number of states for a check.
const ALTERNATIVE_STATES_MAX: u64 = 400;
/// Maximum number of states for checking another move by the best explanation.
const REPLACEMENT_STATES_MAX: u64 = 20_000;
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
        if !options.learns || self.has_stopped || tracker.beliefs.world.open_tiles() > LEARNING_TILES_MAX {
            return Vec::new();
        }
        if self.learner.is_none() {
            let is_expected = tracker.beliefs.mispredictions().iter().all(|&count| count == 0);
            if is_expected && words.iter().all(|named| named.style.is_some()) {
                return Vec::new();
            }
            let Some(first) = self.log.first() else { return Vec::new() };
            let mut learner = Learner::new(&options.rules);
            if learner.begin(&layout_of(map, first.player), words.to_vec(), sight(first)).is_err() {
                self.has_stopped = true;
                return Vec::new();
            }
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
        let rules = Rules { no_jump: options.rules.no_jump, ..learner.best() };
        let styles = learner.styles();
        let is_new = match &self.learnt {
            Some(learnt) => *learnt != (rules, styles.clone()),
            // While the rules hold, the tracker itself finds the styles of unknown words.
            None => Rules { wire: options.rules.wire, ..rules } != options.rules,
        };
        let explanation = (rules, styles);
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
        let is_late = || deadlines.inference.time_source.now() >= deadlines.inference.at;
        for rules in rules {
            if self.alternatives.iter().any(|alternative| alternative.rules == rules) || is_late() {
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
        let mut layout = tracker.map.layout.clone();
        layout.player = first.player;
        layout.threats = styles
            .iter()
            .zip(&first.threats)
            .filter_map(|(style, threat)| Some(Spawn { style: (*style)?, position: threat.position }))
            .collect();
        let world = World::new(&layout, &rules).ok()?;
        let mut state = world.start();
        for pair in self.log.windows(2) {
            let [before, now] = pair else { continue };
            if state.is_over() {
                return None;
            }
            world.step(&mut state, before.player.move_to(now.player)?);
        }
        let is_same = agrees(&world, &state, self.log.last()?);
        is_same.then_some(Alternative { rules, world, state })
    }

    /// Replaces a move that is fatal under other explanations by one that is fatal under fewer.
    pub fn check(&self, tracker: &Tracker, choice: Choice, budget: Budget) -> Choice {
        let is_late = || budget.deadline.is_some_and(|deadline| budget.time_source.now() >= deadline);
        let alternatives: Vec<&Alternative> =
            self.alternatives.iter().filter(|alternative| alternative.state.tick() == tracker.tick).collect();
        if alternatives.is_empty() || is_late() {
            return choice;
        }
        let lives = |world: &World, state: &State, player_move: Move, ticks: u16, states_max: u64| {
            let mut state = state.clone();
            if state.is_over() {
                return true;
            }
            let until = (state.tick() + ticks).min(LAST_TICK + 1);
            world.step(&mut state, player_move);
            let solution = SurvivalSearch::new(SurvivalOptions::default()).solve_until(
                world,
                &state,
                until,
                budget.and(Budget::ticks(states_max)),
            );
            solution.outcome == Outcome::Survives || solution.final_tick >= until
        };
        let count = |player_move: Move| {
            let alive = alternatives.iter().filter(|alternative| {
                lives(&alternative.world, &alternative.state, player_move, ALTERNATIVE_TICKS, ALTERNATIVE_STATES_MAX)
            });
            alive.count()
        };
        let planned = count(choice.player_move);
        if planned == alternatives.len() {
            return choice;
        }
        let beliefs = &tracker.beliefs;
        let Ok(state) = beliefs.world.state_at(tracker.tick, tracker.player, &beliefs.best) else { return choice };
        let mut best = (planned, choice.player_move);
        for player_move in beliefs.world.moves(&state).filter(|&player_move| player_move != choice.player_move) {
            if is_late() {
                break;
            }
            let others = count(player_move);
            if others > best.0 && lives(&beliefs.world, &state, player_move, LAST_TICK, REPLACEMENT_STATES_MAX) {
                best = (others, player_move);
            }
        }
        if best.1 == choice.player_move {
            return choice;
        }
        Choice { player_move: best.1, source: Source::Search, ..choice }
    }

    /// The rules and words that were learnt, if they are not the expected ones.
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

/// The streets of a message.
fn layout_of(map: &MessageMap, player: Position) -> Layout {
    let rows = (0..map.height).flat_map(|y| (0..map.width).map(move |x| Position::new(x, y)));
    let tiles = rows.map(|position| map.tiles.get(position).map_or(Tile::Wall, Tile::from)).collect();
    Layout { width: map.width, height: map.height, tiles, player, threats: Vec::new() }
}

/// Whether the threats of a state are where they were observed.
fn agrees(world: &World, state: &State, observation: &Observation) -> bool {
    world.player(state) == observation.player
        && world.threats(state).zip(&observation.threats).all(|(threat, observed)| {
            threat.position == observed.position
                && observed.direction.is_none_or(|direction| direction == threat.direction)
        })
}
