//! Threats react to the player, but not to each other. So the learner keeps separate sets of
//! hypotheses for the clock, the sharks, the deer, the owls, the hawks and the picks. Apart from
//! the clock, these sets are linked only by the direction orders and random numbers that several
//! styles share. If the positions do not show whether threats moved in a tick, the best clock
//! decides. If no hypothesis explains a threat's move, the learner reports the move, and ignores
//! the threat until the clock or the styles are revised.

use std::collections::BTreeMap;
use std::fmt;

use crate::game::{Clock, Direction, FIRST_TICK, Layout, Position, Rules, Style, WorldError};
use crate::search::Deadline;

use super::clock::{ClockEvidence, ClockFilter, Reports};
use super::hawk::Hawk;
use super::identification::Identification;
use super::observed_game::ObservedGame;
use super::paths::Owls;
use super::sets::{Sets, game_step, sizes};
use super::streets::{Sight, Streets, StyleWord};
use super::variants::Parameter;

/// Minimum number of moves before the first attempt to identify styles, and between attempts.
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

/// The last observation that narrowed down a parameter.
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
    pub(super) past_words: Vec<(String, Style)>,
    /// The styles that explain each unknown word's threats in the games that have ended.
    pub(super) possible: Vec<(String, Vec<Style>)>,
    pub(super) first_direction: Option<Direction>,
    identification: Option<Box<Identification>>,
    records: bool,
    pub(super) decided: BTreeMap<Parameter, (usize, Decided)>,
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
            past_words: Vec::new(),
            possible: Vec::new(),
            first_direction: None,
            identification: None,
            records: false,
            decided: BTreeMap::new(),
        }
    }

    /// Makes the learner record which observations narrow down the parameters ([`Decided`]).
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// Makes the learner understand the words for styles as another one does.
    #[must_use]
    pub fn with_words_of(mut self, other: &Self) -> Self {
        self.past_words = other.words();
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
        let words = &self.past_words;
        let style = |one: &StyleWord| {
            one.style.or_else(|| words.iter().find(|(word, _)| *word == one.word).map(|&(_, style)| style))
        };
        if is_from_start {
            self.first_direction = self.first_direction.or(first.threats.iter().find_map(|&(_, direction)| direction));
        }
        let ticks = FIRST_TICK..first.tick;
        self.games.push(ObservedGame {
            styles: named.iter().map(style).collect(),
            homes: first.threats.iter().map(|&(position, _)| Some(position).filter(|_| is_from_start)).collect(),
            steps: Vec::new(),
            next: (0, 0),
            evidence: ticks.map(|tick| ClockEvidence { tick, moved: None, personality: None }).collect(),
            filter: ClockFilter::new(&self.expected, Reports::Trusted),
            filtered: 0,
            clock: (Clock::new(&self.expected), self.expected),
            reports_personalities: first.personality.is_some(),
            hawks: vec![None; named.len()],
            draws: Vec::new(),
            unexplained: vec![None; named.len()],
            identified_at: 0,
            streets,
            named,
            last: first,
        });
        self.base = self.sets.clone();
        self.reset_memories();
    }

    fn end_game(&mut self) {
        while self.advance() {}
        self.identify_words();
        self.reconcile();
        self.sets.posts = self.posts(Deadline::NEVER).unwrap_or_default();
        self.past_words = self.words();
    }

    fn reset_memories(&mut self) {
        let Some(game) = self.games.last_mut() else { return };
        let is_from_start = game.is_followed_from_start();
        if game.styles.contains(&Some(Style::Owl)) && self.sets.owls.is_none() {
            self.sets.owls = Some(Owls::new(&game.streets));
        }
        if let Some(owls) = &mut self.sets.owls {
            if is_from_start {
                owls.restart(game.streets.nowhere());
            } else {
                owls.forget();
            }
        }
        for (hawk, style) in game.hawks.iter_mut().zip(&game.styles) {
            *hawk = (*style == Some(Style::Hawk)).then(|| Hawk::new(&self.sets.hawks, is_from_start));
        }
        game.draws = vec![Some(1).filter(|_| is_from_start); game.named.len()];
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
        if sight.tick <= game.last.tick || sight.threats.len() != game.named.len() {
            return;
        }
        let is_next = sight.tick == game.last.tick + 1;
        let Some(step) = game.step_to(sight).filter(|_| is_next) else {
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
            if identification.advance(game, &self.expected) {
                self.identification = Some(identification);
            } else {
                self.adopt(identification.most_detailed());
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
        game.draws.iter_mut().for_each(|draws| *draws = None);
        game.identified_at = 0;
        game.hawks.iter_mut().flatten().for_each(Hawk::forget);
        if let Some(owls) = &mut self.sets.owls {
            owls.forget();
        }
        game.last = sight.clone();
        self.base = self.sets.clone();
    }

    pub(super) fn rebuild(&mut self) {
        self.sets = self.base.clone();
        self.reset_memories();
        let Some(game) = self.games.last_mut() else { return };
        game.next = (0, 0);
        game.unexplained.iter_mut().for_each(|unexplained| *unexplained = None);
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
        if threat == 0 {
            if let Some(owls) = self.sets.owls.as_mut().filter(|_| game.styles.contains(&Some(Style::Owl))) {
                owls.look(step);
            }
        }
        game.next = if threat + 1 < step.threats.len() { (index, threat + 1) } else { (index + 1, 0) };
        let style = game.styles.get(threat).copied().flatten();
        let Some(style) = style.filter(|_| game.unexplained[threat].is_none()) else { return true };
        let is_explained = game_step(
            &mut self.sets,
            &game.streets,
            step,
            (threat, style),
            game.homes[threat],
            &mut game.hawks[threat],
            &mut game.draws[threat],
        );
        if !is_explained {
            let (tile, direction) = step.threats[threat];
            let from = game.streets.position(tile);
            game.unexplained[threat] = Some(Unexplained {
                game: number,
                threat,
                style: game.named[threat].word.clone(),
                tick: step.tick,
                from,
                to: direction.map_or(from, |direction| from.towards(direction)),
            });
        }
        if self.records {
            let decided = Decided { game: number, tick: step.tick, threat };
            let sizes = sizes(&self.sets, &game.hawks[threat], style);
            for (parameter, size) in sizes {
                let known = self.decided.entry(parameter).or_insert((usize::MAX, decided));
                if size < known.0 {
                    *known = (size, decided);
                }
            }
        }
        true
    }

    /// Returns `None` if there is no game, no attempt is due, or each threat has a style that
    /// explains its moves.
    fn begin_identification(&mut self) -> Option<Box<Identification>> {
        let game = self.games.last_mut()?;
        let moves = (0..game.steps.len()).filter(|&index| game.is_move(index)).count() as u16;
        if moves < game.identified_at + IDENTIFY_MOVES || !(0..game.named.len()).any(|threat| game.is_open(threat)) {
            return None;
        }
        game.identified_at = moves;
        let game = &*game;
        Some(Box::new(Identification::new(game, |threat| game.is_open(threat))))
    }

    /// The unknown style words whose meaning was inferred, each with the inferred style.
    pub fn words(&self) -> Vec<(String, Style)> {
        let mut words = self.past_words.clone();
        if let Some(game) = self.games.last() {
            for (named, style) in game.named.iter().zip(&game.styles) {
                if let (None, Some(style)) = (named.style, style)
                    && !words.iter().any(|(word, _)| *word == named.word)
                {
                    words.push((named.word.clone(), *style));
                }
            }
        }
        words
    }

    /// The style of each threat in this game; `None` if unknown or contradicted by the moves.
    pub fn styles(&self) -> Vec<Option<Style>> {
        let Some(game) = self.games.last() else { return Vec::new() };
        let explained = game.unexplained.iter().map(Option::is_none);
        game.styles.iter().zip(explained).map(|(style, is_explained)| style.filter(|_| is_explained)).collect()
    }

    /// The unexplained threats of all games.
    pub fn unexplained(&self) -> Vec<Unexplained> {
        self.games.iter().flat_map(|game| game.unexplained.iter().flatten()).cloned().collect()
    }
}
