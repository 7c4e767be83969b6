//! Threats react to the player, but not to each other. So the learner keeps separate sets of
//! hypotheses for the clock, the sharks, the deer, the owls, the hawks and the picks. Apart from
//! the clock, these sets are linked only by the direction orders and random numbers that several
//! styles share. If the positions do not show whether threats moved in a tick, the best clock
//! decides. If no hypothesis explains a threat's move, the learner reports the move, and ignores
//! the threat until the clock or the styles are revised.

use std::collections::BTreeMap;
use std::fmt;

use crate::game::{Clock, Direction, FIRST_TICK, Layout, Position, Rules, Style, WorldError};

use super::clock::{ClockEvidence, ClockFilter, Reports};
use super::findings::Open;
use super::hawk::Hawk;
use super::identification::Identification;
use super::observed_game::{FollowedThreat, ObservedGame, ThreatMemory};
use super::paths::Owls;
use super::sets::{Sets, game_step};
use super::streets::{ObservedPose, Sight, Streets, StyleWord};
use super::variants::Parameter;

/// Minimum number of moves before the first attempt to identify styles, and between attempts unless
/// a move has contradicted a style.
pub(crate) const IDENTIFY_MOVES: u16 = 6;

/// A threat with a move that the learner cannot explain.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unexplained {
    /// The game, numbered from 0.
    pub game: usize,
    /// The threat's index in the messages.
    pub threat: usize,
    /// The word for the threat's style in the messages.
    pub style: String,
    /// The tick of the first unexplained move.
    pub tick: u16,
    /// The threat's position before this move.
    pub from: Position,
    /// The threat's position after this move.
    pub to: Position,
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threat, style, tick, from, to, .. } = self;
        write!(f, "no rules explain why threat {threat} ({style}) went from {from} to {to} at tick {tick}")
    }
}

/// The observation after which only one value of a parameter was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Decided {
    /// The game, numbered from 0.
    pub game: usize,
    /// The played tick.
    pub tick: u16,
    /// The threat's index in the messages.
    pub threat: usize,
}

/// Follows games and keeps the rules that explain the threats' moves.
#[derive(Clone, Debug)]
pub struct Learner {
    pub(super) expected: Rules,
    pub(super) sets: Sets,
    base: Sets,
    /// The games so far. Only the last is still observed.
    pub(super) games: Vec<ObservedGame>,
    /// The styles that each unknown word may mean after the games that have ended.
    pub(super) possible: Vec<(String, Vec<Style>)>,
    pub(super) first_direction: Option<Direction>,
    identification: Option<Box<Identification>>,
    records: bool,
    pub(super) decided: BTreeMap<Parameter, Decided>,
}

impl Learner {
    /// Creates a learner that assumes these rules until evidence contradicts them.
    pub fn new(expected: &Rules) -> Self {
        let sets = Sets::new(expected);
        Self {
            expected: *expected,
            base: sets.clone(),
            sets,
            games: Vec::new(),
            possible: Vec::new(),
            first_direction: None,
            identification: None,
            records: false,
            decided: BTreeMap::new(),
        }
    }

    /// Makes the learner record which observations decide the parameters ([`Decided`]).
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// Copies from another learner the styles that each unknown word may mean.
    #[must_use]
    pub fn with_words_of(mut self, other: &Self) -> Self {
        self.possible.clone_from(&other.possible);
        self
    }

    /// The expected rules.
    pub fn expected(&self) -> &Rules {
        &self.expected
    }

    /// Begins another game with its first message. Ignores the threats in the layout. Fails if the
    /// layout cannot be played.
    pub fn begin(&mut self, layout: &Layout, named: Vec<StyleWord>, first: Sight) -> Result<(), WorldError> {
        self.begin_on(Streets::new(layout)?, named, first);
        Ok(())
    }

    pub(crate) fn begin_on(&mut self, streets: Streets, named: Vec<StyleWord>, first: Sight) {
        self.end_game();
        let is_from_start = first.tick == FIRST_TICK;
        let follow = |(named, first): (StyleWord, &ObservedPose)| {
            let known = self.possible.iter().find(|(word, _)| *word == named.word);
            let possible = known.map_or_else(Vec::new, |(_, styles)| styles.clone());
            let style = named.style.or(if let [style] = *possible { Some(style) } else { None });
            let home = is_from_start.then_some(first.position);
            let memory = ThreatMemory::new(style, home, &self.sets.hawks, is_from_start);
            FollowedThreat { style, possible, named, memory, unexplained: None }
        };
        let threats = named.into_iter().zip(&first.threats).map(follow).collect();
        if is_from_start {
            self.first_direction = self.first_direction.or(first.threats.iter().find_map(|threat| threat.direction));
        }
        let ticks = FIRST_TICK..first.tick;
        self.games.push(ObservedGame {
            threats,
            steps: Vec::new(),
            next: (0, 0),
            evidence: ticks.map(|tick| ClockEvidence { tick, moved: None, personality: None }).collect(),
            filter: ClockFilter::new(&self.expected, Reports::Trusted),
            filtered: 0,
            clock: (Clock::new(&self.expected), self.expected),
            reports_personalities: first.personality.is_some(),
            identified_at: 0,
            streets,
            last: first,
        });
        self.base = self.sets.clone();
        self.reset_memories();
    }

    fn end_game(&mut self) {
        while self.advance() {}
        self.identify_words();
        self.reconcile();
        self.sets.posts = self.posts();
    }

    fn reset_memories(&mut self) {
        let Some(game) = self.games.last_mut() else { return };
        game.next = (0, 0);
        let is_from_start = game.is_followed_from_start();
        if game.has(Style::Owl) && self.sets.owls.is_none() {
            self.sets.owls = Some(Owls::new(&game.streets));
        }
        if let Some(owls) = &mut self.sets.owls {
            if is_from_start {
                owls.restart(game.streets.nowhere());
            } else {
                owls.forget();
            }
        }
        for FollowedThreat { style, memory, unexplained, .. } in &mut game.threats {
            *memory = ThreatMemory::new(*style, memory.home, &self.sets.hawks, is_from_start);
            *unexplained = None;
        }
    }

    /// Learns from the next message of the game. Ignores the message if its tick is not after the
    /// last message's tick, or if its number of threats differs.
    pub fn observe(&mut self, sight: &Sight) {
        while self.advance() {}
        self.show(sight);
        while self.advance() {}
    }

    /// Accepts the next message. [`advance`](Self::advance) must have returned false before.
    pub(crate) fn show(&mut self, sight: &Sight) {
        let Some(game) = self.games.last_mut() else { return };
        if sight.tick <= game.last.tick || sight.threats.len() != game.threats.len() {
            return;
        }
        let Some(step) = game.step_to(sight).filter(|_| sight.tick == game.last.tick + 1) else {
            return self.skip_to(sight);
        };
        game.reports_personalities &= sight.personality.is_some();
        game.evidence.push(ClockEvidence { tick: step.tick, moved: game.moved(&step), personality: sight.personality });
        game.last = sight.clone();
        game.steps.push(step);
    }

    /// Does a small part of the pending work. Returns false if there was none. A part can take a
    /// long time if a hawk has thousands of hypotheses.
    pub(crate) fn advance(&mut self) -> bool {
        let Some(game) = self.games.last_mut() else { return false };
        if let Some(mut identification) = self.identification.take() {
            if identification.advance(game) {
                self.identification = Some(identification);
            } else {
                self.adopt(&identification.found());
            }
            return true;
        }
        if game.update_clock() {
            if game.adopt_clock() {
                self.rebuild();
            }
            return true;
        }
        if self.follow() {
            return true;
        }
        self.identification = self.begin_identification();
        self.identification.is_some()
    }

    fn skip_to(&mut self, sight: &Sight) {
        let Some(game) = self.games.last_mut() else { return };
        for tick in game.last.tick..sight.tick {
            let personality = sight.personality.filter(|_| tick + 1 == sight.tick);
            game.evidence.push(ClockEvidence { tick, moved: None, personality });
        }
        // The threats' memories are unknown after a gap, so a rebuild must not use earlier steps.
        game.steps.clear();
        game.next = (0, 0);
        game.identified_at = 0;
        game.threats.iter_mut().for_each(|threat| threat.memory.draws = None);
        game.hawks_mut().for_each(Hawk::forget);
        if let Some(owls) = &mut self.sets.owls {
            owls.forget();
        }
        game.last = sight.clone();
        self.base = self.sets.clone();
    }

    fn rebuild(&mut self) {
        self.sets = self.base.clone();
        self.reset_memories();
    }

    fn adopt(&mut self, found: &[(String, Vec<Style>)]) {
        let mut is_changed = false;
        for threat in self.games.last_mut().into_iter().flat_map(|game| &mut game.threats) {
            let styles = found.iter().find(|(word, _)| *word == threat.named.word);
            if let Some(&style) = styles.and_then(|(_, styles)| styles.first()) {
                is_changed |= threat.style.replace(style) != Some(style);
            }
        }
        if is_changed {
            self.rebuild();
        }
    }

    fn follow(&mut self) -> bool {
        let number = self.games.len().saturating_sub(1);
        let Some(game) = self.games.last_mut() else { return false };
        let (from, threat) = game.next;
        let index = (from..game.steps.len()).find(|&index| game.is_move(index)).unwrap_or(game.steps.len());
        let Some(step) = game.steps.get(index) else {
            game.next = (index, 0);
            return false;
        };
        if let Some(owls) = self.sets.owls.as_mut().filter(|_| threat == 0 && game.has(Style::Owl)) {
            owls.look(step);
        }
        game.next = if threat + 1 < step.threats.len() { (index, threat + 1) } else { (index + 1, 0) };
        let Some(followed) = game.threats.get_mut(threat) else { return true };
        let Some(style) = followed.style.filter(|_| followed.unexplained.is_none()) else { return true };
        if !game_step(&mut self.sets, &game.streets, step, (threat, style), &mut followed.memory) {
            let (tile, direction) = step.threats[threat];
            let from = game.streets.position(tile);
            // Another attempt is due, because the styles found by the last one were wrong.
            game.identified_at = 0;
            followed.unexplained = Some(Unexplained {
                game: number,
                threat,
                style: followed.named.word.clone(),
                tick: step.tick,
                from,
                to: direction.map_or(from, |direction| from.towards(direction)),
            });
        }
        let decided = Decided { game: number, tick: step.tick, threat };
        if self.records {
            self.record(decided, style);
        }
        true
    }

    fn record(&mut self, decided: Decided, style: Style) {
        for parameter in Parameter::ALL.into_iter().filter(|parameter| parameter.styles().contains(&style)) {
            if self.open(parameter, &self.expected, None) == Open::Certain {
                self.decided.entry(parameter).or_insert(decided);
            } else {
                self.decided.remove(&parameter);
            }
        }
    }

    /// Returns `None` if there is no game, no attempt is due, or no threat needs another style
    /// ([`FollowedThreat::is_open`]).
    fn begin_identification(&mut self) -> Option<Box<Identification>> {
        let game = self.games.last_mut()?;
        let moves = (0..game.steps.len()).filter(|&index| game.is_move(index)).count() as u16;
        if moves < game.identified_at + IDENTIFY_MOVES || !game.threats.iter().any(FollowedThreat::is_open) {
            return None;
        }
        game.identified_at = moves;
        // A wrong style of one word may have kept another from the right one.
        let may_change = |threat: &FollowedThreat| threat.named.style.is_none() && threat.possible.is_empty();
        Some(Box::new(Identification::new(game, &self.expected, |threat| threat.is_open() || may_change(threat))))
    }

    /// The unknown style words whose meaning was inferred, each with the inferred style. If a word may
    /// mean several styles, it is listed with each of them.
    pub fn words(&self) -> Vec<(String, Style)> {
        let possible =
            self.possible.iter().flat_map(|(word, styles)| styles.iter().map(|&style| (word.clone(), style)));
        let mut words: Vec<(String, Style)> = possible.collect();
        for FollowedThreat { named, style, .. } in self.games.last().into_iter().flat_map(|game| &game.threats) {
            if let (None, Some(style)) = (named.style, style)
                && !words.iter().any(|(word, _)| *word == named.word)
            {
                words.push((named.word.clone(), *style));
            }
        }
        words
    }

    /// The style of each threat in this game; `None` if unknown or contradicted by the moves.
    pub fn styles(&self) -> Vec<Option<Style>> {
        let threats = self.games.last().into_iter().flat_map(|game| &game.threats);
        threats.map(|threat| threat.style.filter(|_| threat.unexplained.is_none())).collect()
    }

    /// The unexplained threats of all games.
    pub fn unexplained(&self) -> Vec<Unexplained> {
        let threats = self.games.iter().flat_map(|game| &game.threats);
        threats.filter_map(|threat| threat.unexplained.clone()).collect()
    }
}
