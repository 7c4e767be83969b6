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
use super::hawk::{FEW_POSTS_MAX, Hawk, HawkSets};
use super::paths::{Deer, Owls, Sharks};
use super::picks::{Pick, PickExplanations, PickSearch, Picks, pick};
use super::streets::{Sight, Step, Streets, StyleWord, Views};
use super::variants::Parameter;

/// Minimum number of moves before the first attempt to identify styles, and between attempts.
pub(crate) const IDENTIFY_MOVES: u16 = 6;
/// Minimum number of moves between searches for explanations of the picks.
const SOLVE_MOVES: u16 = 8;

#[derive(Clone, Debug)]
pub(super) struct Sets {
    pub sharks: Sharks,
    pub deer: Deer,
    pub owls: Option<Owls>,
    pub hawks: HawkSets,
    pub picks: Picks,
    /// The known posts of earlier games: draw number, rank, and number of the map's intersections.
    pub posts: Vec<(u16, u16, u16)>,
}

impl Sets {
    fn new(owls: Option<Owls>) -> Self {
        Self {
            sharks: Sharks::default(),
            deer: Deer::default(),
            owls,
            hawks: HawkSets::ANY,
            picks: Picks::default(),
            posts: Vec::new(),
        }
    }
}

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
        write!(f, "no rules explain why threat {threat} ({style}) went from {from} to {to} in tick {tick}")
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

#[derive(Clone, Debug)]
pub(super) struct ObservedGame {
    pub streets: Streets,
    pub named: Vec<StyleWord>,
    pub styles: Vec<Option<Style>>,
    homes: Vec<Option<Position>>,
    first_facing: Vec<Option<Direction>>,
    last: Sight,
    steps: Vec<Step>,
    moves: Vec<bool>,
    /// The index of the next step to process, and of the next threat in this step.
    next: (usize, usize),
    pub evidence: Vec<ClockEvidence>,
    /// Drops histories of the clock that contradict the reported personalities.
    pub trusting: ClockFilter,
    /// Ignores personalities. Updated only if a message lacked them or `trusting` explains nothing.
    pub distrusting: ClockFilter,
    distrusting_seen: usize,
    pub clock: (Clock, Rules),
    pub reports_personalities: bool,
    pub hawks: Vec<Option<Hawk>>,
    draws: Vec<Option<u16>>,
    moves_made: Option<u16>,
    pub unexplained: Vec<Option<Unexplained>>,
    solved_at: u16,
    /// The number of moves in `moves` at the last attempt to identify styles.
    identified_at: u16,
}

#[derive(Clone, Debug, Default)]
enum Task {
    #[default]
    Wait,
    Clock,
    Follow,
    Identify(Box<Identification>),
    Solve(Box<PickSearch>),
}

/// Follows games and keeps the rules that explain the threats' moves.
#[derive(Clone, Debug)]
pub struct Learner {
    pub(super) expected: Rules,
    pub(super) sets: Sets,
    base: Sets,
    pub(super) game: Option<ObservedGame>,
    pub(super) games: usize,
    pub(super) past_evidence: Vec<Vec<ClockEvidence>>,
    pub(super) past_unexplained: Vec<Unexplained>,
    pub(super) past_words: Vec<(String, Style)>,
    /// The styles that explain each unknown word's threats in the games that have ended.
    possible: Vec<(String, Vec<Style>)>,
    pub(super) past_reports: bool,
    pub(super) first_direction: Option<Direction>,
    pub(super) explanations: PickExplanations,
    task: Task,
    records: bool,
    pub(super) decided: BTreeMap<Parameter, (usize, Decided)>,
}

impl Learner {
    /// Creates a learner that assumes these rules until evidence contradicts them.
    pub fn new(expected: &Rules) -> Self {
        let sets = Sets::new(None);
        Self {
            expected: *expected,
            base: sets.clone(),
            sets,
            game: None,
            games: 0,
            past_evidence: Vec::new(),
            past_unexplained: Vec::new(),
            past_words: Vec::new(),
            possible: Vec::new(),
            past_reports: true,
            first_direction: None,
            explanations: PickExplanations::default(),
            task: Task::Wait,
            records: false,
            decided: BTreeMap::new(),
        }
    }

    /// Makes the learner record which observations narrow down the parameters ([`Decided`]). A
    /// recording learner does not search for explanations of the picks while it observes a game.
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
        let count = named.len();
        let mut game = ObservedGame {
            styles: named.iter().map(style).collect(),
            homes: first.threats.iter().map(|&(position, _)| Some(position).filter(|_| is_from_start)).collect(),
            first_facing: first.threats.iter().map(|&(_, direction)| direction).collect(),
            steps: Vec::new(),
            moves: Vec::new(),
            next: (0, 0),
            evidence: Vec::new(),
            trusting: ClockFilter::new(&self.expected, Reports::Trusted),
            distrusting: ClockFilter::new(&self.expected, Reports::Ignored),
            distrusting_seen: 0,
            clock: (Clock::new(&self.expected), self.expected),
            reports_personalities: first.personality.is_some(),
            hawks: vec![None; count],
            draws: vec![Some(1).filter(|_| is_from_start); count],
            moves_made: Some(0).filter(|_| is_from_start),
            unexplained: vec![None; count],
            solved_at: 0,
            identified_at: 0,
            streets,
            named,
            last: first,
        };
        if is_from_start {
            self.first_direction = self.first_direction.or(game.first_facing.iter().flatten().next().copied());
        } else {
            for tick in FIRST_TICK..game.last.tick {
                let evidence = ClockEvidence { tick, moved: None, personality: None };
                game.trusting.update(&evidence);
                game.evidence.push(evidence);
            }
        }
        self.games += 1;
        self.game = Some(game);
        self.base = self.sets.clone();
        self.reset_memories();
    }

    fn end_game(&mut self) {
        while self.advance() {}
        self.identify_words();
        self.reconcile();
        self.sets.posts = self.posts(Deadline::NEVER).unwrap_or_default();
        self.past_words = self.words();
        let Some(game) = self.game.take() else { return };
        self.past_reports &= game.reports_personalities;
        self.past_evidence.push(game.evidence);
        self.past_unexplained.extend(game.unexplained.into_iter().flatten());
    }

    fn reset_memories(&mut self) {
        let Some(game) = &mut self.game else { return };
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
        game.moves_made = Some(0).filter(|_| is_from_start);
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
        if self.accept(sight) {
            self.task = Task::Clock;
        }
    }

    /// Does a small part of the pending work. Returns false if there was none. A part can take a
    /// long time if a hawk has thousands of hypotheses.
    pub(crate) fn advance(&mut self) -> bool {
        self.task = match std::mem::take(&mut self.task) {
            Task::Wait => return false,
            Task::Clock => match self.update_clock() {
                true => Task::Clock,
                false => Task::Follow,
            },
            Task::Follow => match self.follow() {
                true => Task::Follow,
                false => match self.begin_identification() {
                    Some(identification) => Task::Identify(identification),
                    None => self.begin_picks(),
                },
            },
            Task::Identify(mut identification) => {
                if self.game.as_ref().is_some_and(|game| identification.advance(game, &self.expected)) {
                    Task::Identify(identification)
                } else if self.adopt(choose(&identification.finish())) {
                    Task::Follow
                } else {
                    self.begin_picks()
                }
            }
            Task::Solve(mut search) => match search.advance() {
                true => Task::Solve(search),
                false => {
                    self.explanations = search.finish();
                    Task::Wait
                }
            },
        };
        true
    }

    fn accept(&mut self, sight: &Sight) -> bool {
        let Some(game) = &mut self.game else { return false };
        if sight.tick <= game.last.tick || sight.threats.len() != game.named.len() {
            return false;
        }
        let is_next = sight.tick == game.last.tick + 1;
        let Some(step) = game.step_to(sight).filter(|_| is_next) else {
            self.skip_to(sight);
            return false;
        };
        game.reports_personalities &= sight.personality.is_some();
        let evidence = ClockEvidence { tick: step.tick, moved: game.moved(&step), personality: sight.personality };
        game.trusting.update(&evidence);
        game.evidence.push(evidence);
        game.last = sight.clone();
        game.steps.push(step);
        true
    }

    fn update_clock(&mut self) -> bool {
        let Some(game) = &mut self.game else { return false };
        let trusts = game.reports_personalities && game.trusting.explains();
        if let Some(evidence) = game.evidence.get(game.distrusting_seen).filter(|_| !trusts) {
            game.distrusting.update(evidence);
            game.distrusting_seen += 1;
            return true;
        }
        if game.adopt_clock(trusts) {
            self.rebuild();
        } else if let Some(evidence) = game.evidence.last() {
            game.moves.push(evidence.moved.unwrap_or_else(|| game.clock.0.threats_move(evidence.tick)));
        }
        false
    }

    fn skip_to(&mut self, sight: &Sight) {
        let Some(game) = &mut self.game else { return };
        for tick in game.last.tick..sight.tick {
            let personality = sight.personality.filter(|_| tick + 1 == sight.tick);
            let evidence = ClockEvidence { tick, moved: None, personality };
            game.trusting.update(&evidence);
            game.evidence.push(evidence);
        }
        // The threats' memories are unknown after a gap, so a rebuild must not use earlier steps.
        game.steps.clear();
        game.moves.clear();
        game.next = (0, 0);
        game.draws.iter_mut().for_each(|draws| *draws = None);
        game.moves_made = None;
        game.identified_at = 0;
        game.hawks.iter_mut().flatten().for_each(Hawk::forget);
        if let Some(owls) = &mut self.sets.owls {
            owls.forget();
        }
        game.last = sight.clone();
        self.base = self.sets.clone();
    }

    fn rebuild(&mut self) {
        self.sets = self.base.clone();
        self.reset_memories();
        let Some(game) = &mut self.game else { return };
        let (clock, evidence) = (&game.clock.0, &game.evidence);
        let first = evidence.len() - game.steps.len();
        game.moves = evidence[first..]
            .iter()
            .map(|evidence| evidence.moved.unwrap_or_else(|| clock.threats_move(evidence.tick)))
            .collect();
        game.next = (0, 0);
        game.unexplained.iter_mut().for_each(|unexplained| *unexplained = None);
    }

    fn follow(&mut self) -> bool {
        let (records, number) = (self.records, self.games - 1);
        let Some(game) = &mut self.game else { return false };
        let (index, threat) = game.next;
        let ahead = game.moves[index..].iter().position(|&is_move| is_move);
        let index = ahead.map_or(game.moves.len(), |ahead| index + ahead);
        let Some(step) = game.steps.get(index) else {
            game.next = (index, 0);
            return false;
        };
        if threat == 0 {
            game.moves_made = game.moves_made.map(|moves| moves + 1);
            if let Some(owls) = self.sets.owls.as_mut().filter(|_| game.styles.contains(&Some(Style::Owl))) {
                owls.look(step);
            }
        }
        game.next = if threat + 1 < step.threats.len() { (index, threat + 1) } else { (index + 1, 0) };
        let style = game.styles.get(threat).copied().flatten();
        let Some(style) = style.filter(|_| game.unexplained[threat].is_none()) else { return true };
        let picks = self.sets.picks.count;
        let draw = game.draws[threat];
        let is_explained = game_step(
            &mut self.sets,
            &game.streets,
            step,
            (threat, style),
            game.homes[threat],
            &mut game.hawks[threat],
            &mut game.draws[threat],
        );
        if let Some(draw) = draw.filter(|_| self.sets.picks.count > picks) {
            let picks = &self.sets.picks;
            let scale = self.expected.pick_scale;
            self.explanations.found.retain(|one| picks.explains_draw(one, draw.into(), scale));
        }
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
        if records {
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
        let game = self.game.as_mut()?;
        let moves = game.moves.iter().filter(|&&is_move| is_move).count() as u16;
        if moves < game.identified_at + IDENTIFY_MOVES || !(0..game.named.len()).any(|threat| game.is_open(threat)) {
            return None;
        }
        game.identified_at = moves;
        let game = &*game;
        Some(Box::new(Identification::new(game, |threat| game.is_open(threat))))
    }

    /// Gives each unknown word a style of its own that explains the moves of the word's threats in
    /// the whole game and, where known, in earlier games. Keeps the styles if this is impossible.
    /// Called at the end of a game.
    pub fn identify_words(&mut self) {
        let Some(game) = &self.game else { return };
        let mut identification = Identification::new(game, |threat| game.named[threat].style.is_none());
        while identification.advance(game, &self.expected) {}
        for (word, mut fits) in identification.finish() {
            match self.possible.iter_mut().find(|(known, _)| *known == word) {
                Some((_, possible)) => {
                    fits.retain(|style| possible.contains(style));
                    *possible = fits;
                }
                None => self.possible.push((word, fits)),
            }
        }
        let chosen = choose(&self.possible);
        if !chosen.is_empty() {
            self.past_words.retain(|(word, _)| chosen.iter().all(|(other, _)| other != word));
            self.adopt(chosen.clone());
            while self.advance() {}
            self.past_words.extend(chosen);
        }
    }

    fn adopt(&mut self, found: Vec<(String, Style)>) -> bool {
        let Some(game) = self.game.as_mut().filter(|_| !found.is_empty()) else { return false };
        let mut is_changed = false;
        for (named, assumed) in game.named.iter().zip(&mut game.styles) {
            if let Some((_, style)) = found.iter().find(|(word, _)| *word == named.word) {
                is_changed |= assumed.replace(*style) != Some(*style);
            }
        }
        if !is_changed {
            return false;
        }
        self.rebuild();
        true
    }

    fn begin_picks(&mut self) -> Task {
        let Some(game) = &mut self.game else { return Task::Wait };
        let moves = game.moves_made.unwrap_or(0);
        if self.records || !self.explanations.found.is_empty() || self.sets.picks.count == 0 {
            return Task::Wait;
        }
        if game.solved_at != 0 && moves < game.solved_at + SOLVE_MOVES {
            return Task::Wait;
        }
        game.solved_at = moves.max(1);
        let deer = self.sets.deer.orders(0).or(self.sets.deer.orders(1));
        Task::Solve(Box::new(PickSearch::new(&self.sets.picks, &self.expected, deer)))
    }

    /// Searches for explanations of the picks. Keeps those that also explain the known posts of
    /// hawks.
    pub(super) fn solve_picks(&mut self) {
        self.reconcile();
        let deer = self.sets.deer.orders(0).or(self.sets.deer.orders(1));
        self.explanations = match self.sets.picks.count {
            0 => PickExplanations::default(),
            _ => PickSearch::new(&self.sets.picks, &self.expected, deer).finish(),
        };
        let posts = self.posts(Deadline::NEVER).unwrap_or_default();
        let scale = self.expected.pick_scale;
        self.explanations.found.retain(|one| !post_counts(&posts, one.first_seed, scale).is_empty());
    }

    /// The known posts of all games, in the format of [`Sets::posts`]. `None` if the deadline
    /// passes first.
    pub(super) fn posts(&self, deadline: Deadline) -> Option<Vec<(u16, u16, u16)>> {
        let mut posts = self.sets.posts.clone();
        if let Some(game) = &self.game {
            let places = game.streets.intersections.len() as u16;
            for hawk in game.hawks.iter().flatten() {
                if deadline.is_past() {
                    return None;
                }
                posts.extend(hawk.known_posts().into_iter().map(|(draw, place)| (draw, place, places)));
            }
        }
        Some(posts)
    }

    pub(super) fn reconcile(&mut self) {
        let Sets { deer, owls, hawks, picks, .. } = &mut self.sets;
        for _ in 0..2 {
            for hawk in self.game.iter().flat_map(|game| game.hawks.iter().flatten()) {
                let both = hawks.and(&hawk.sets());
                // A hawk that contradicts earlier hawks does not change the sets.
                if both.patience != 0 && both.rest != 0 && both.orders.iter().any(|orders| !orders.is_empty()) {
                    *hawks = both;
                }
            }
            if let Some(owls) = owls {
                let shared = owls.orders().and(hawks.orders[0].or(hawks.orders[1]));
                if !shared.is_empty() {
                    owls.retain(shared);
                    hawks.orders = hawks.orders.map(|orders| orders.and(shared));
                }
            }
            for hawk in self.game.iter_mut().flat_map(|game| game.hawks.iter_mut().flatten()) {
                let mut kept = hawk.clone();
                kept.retain(hawks);
                if !kept.hypotheses.is_empty() {
                    *hawk = kept;
                }
            }
        }
        let options = deer.orders(0).or(deer.orders(1)).and(picks.orders);
        if !options.is_empty() {
            deer.retain(options);
            picks.orders = options;
            self.explanations.found.retain(|one| options.contains(one.order));
        }
    }

    /// The unknown style words whose meaning was inferred, each with the inferred style.
    pub fn words(&self) -> Vec<(String, Style)> {
        let mut words = self.past_words.clone();
        if let Some(game) = &self.game {
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
        let Some(game) = &self.game else { return Vec::new() };
        let explained = game.unexplained.iter().map(Option::is_none);
        game.styles.iter().zip(explained).map(|(style, is_explained)| style.filter(|_| is_explained)).collect()
    }

    /// The unexplained threats of all games.
    pub fn unexplained(&self) -> Vec<Unexplained> {
        let of_game = self.game.iter().flat_map(|game| game.unexplained.iter().flatten());
        self.past_unexplained.iter().chain(of_game).cloned().collect()
    }
}

impl ObservedGame {
    /// The moves that lead to `sight`. `None` if a threat moved farther than one tile, or if the
    /// player or a threat was not on an open tile.
    fn step_to(&self, sight: &Sight) -> Option<Step> {
        let graph = self.streets.graph();
        let (before, now) = (graph.tile(self.last.player)?, graph.tile(sight.player)?);
        let stale = if self.last.tick == FIRST_TICK { self.streets.nowhere() } else { before };
        let mut threats = Vec::with_capacity(sight.threats.len());
        for (&(from, _), &(to, _)) in self.last.threats.iter().zip(&sight.threats) {
            let direction = Direction::ALL.into_iter().find(|&direction| from.towards(direction) == to);
            if direction.is_none() && from != to {
                return None;
            }
            threats.push((graph.tile(from)?, direction));
        }
        let facing = self.last.threats.iter().map(|&(_, direction)| direction).collect();
        Some(Step { tick: self.last.tick, player: Views { stale, present: now }, threats, facing })
    }

    fn moved(&self, step: &Step) -> Option<bool> {
        if step.threats.iter().any(|(_, direction)| direction.is_some()) {
            return Some(true);
        }
        let must_move = |(threat, &(tile, _)): (usize, &(u16, Option<Direction>))| match self.styles[threat] {
            _ if self.unexplained[threat].is_some() => false,
            Some(Style::Bull | Style::Goldfish | Style::Deer) => self.streets.options(tile) != 0,
            Some(Style::Shark) => {
                let Views { stale, present } = step.player;
                self.streets.nearer(stale, tile) != 0 && self.streets.nearer(present, tile) != 0
            }
            Some(Style::Owl | Style::Hawk) | None => false,
        };
        step.threats.iter().enumerate().any(must_move).then_some(false)
    }

    /// Adopts the best clock. Returns true if the new clock changes the assumed ticks of past
    /// moves.
    fn adopt_clock(&mut self, trusts: bool) -> bool {
        let filter = if trusts { &self.trusting } else { &self.distrusting };
        let Some(rules) = filter.best().filter(|rules| *rules != self.clock.1) else { return false };
        let before = std::mem::replace(&mut self.clock, (Clock::new(&rules), rules)).0;
        let first = self.evidence.len() - self.steps.len();
        let open = self.evidence[first..].iter().filter(|evidence| evidence.moved.is_none());
        open.into_iter().any(|evidence| before.threats_move(evidence.tick) != self.clock.0.threats_move(evidence.tick))
    }

    /// True if `steps` begins with the first tick of the game.
    fn is_followed_from_start(&self) -> bool {
        self.homes.first().is_none_or(Option::is_some) && self.evidence.len() == self.steps.len()
    }

    fn is_open(&self, threat: usize) -> bool {
        self.styles[threat].is_none() || self.unexplained[threat].is_some()
    }
}

/// Finds all styles that explain the moves of the threats with certain words.
#[derive(Clone, Debug)]
struct Identification {
    /// The words and styles to try, the last first.
    waiting: Vec<(String, Style)>,
    trial: Option<StyleTrial>,
    /// The styles that explain each word. True for those that do not fit the expected rules, which
    /// come last.
    fits: Vec<(String, Vec<(bool, Style)>)>,
}

impl Identification {
    fn new(game: &ObservedGame, is_open: impl Fn(usize) -> bool) -> Self {
        let mut fits: Vec<(String, Vec<(bool, Style)>)> = Vec::new();
        for (_, named) in game.named.iter().enumerate().filter(|&(threat, _)| is_open(threat)) {
            if fits.iter().all(|(word, _)| *word != named.word) {
                fits.push((named.word.clone(), Vec::new()));
            }
        }
        let is_free =
            |word: &str, style| game.named.iter().all(|named| named.word == word || named.style != Some(style));
        let pairs = fits.iter().flat_map(|(word, _)| STYLES_BY_DETAIL.map(|style| (word.clone(), style)));
        let mut waiting: Vec<(String, Style)> = pairs.filter(|(word, style)| is_free(word, *style)).collect();
        waiting.reverse();
        Self { waiting, trial: None, fits }
    }

    fn advance(&mut self, game: &ObservedGame, expected: &Rules) -> bool {
        let Some(trial) = &mut self.trial else {
            let Some((word, style)) = self.waiting.pop() else { return false };
            self.trial = Some(StyleTrial::new(game, &word, style));
            return true;
        };
        match trial.advance(game) {
            Trial::Continues => return true,
            Trial::Failed => {}
            Trial::Explains => {
                let word = &game.named[trial.threats[0]].word;
                let (_, fits) = self.fits.iter_mut().find(|(other, _)| other == word).expect("an open word");
                let fit = (!trial.fits(expected), trial.style);
                let place = fits.partition_point(|&(is_unexpected, _)| is_unexpected <= fit.0);
                fits.insert(place, fit);
            }
        }
        self.trial = None;
        true
    }

    fn finish(self) -> Vec<(String, Vec<Style>)> {
        let styles = |fits: Vec<(bool, Style)>| fits.into_iter().map(|(_, style)| style).collect();
        self.fits.into_iter().map(|(word, fits)| (word, styles(fits))).collect()
    }
}

enum Trial {
    Continues,
    Failed,
    Explains,
}

#[derive(Clone, Debug)]
struct StyleTrial {
    style: Style,
    threats: Vec<usize>,
    sets: Sets,
    draws: Vec<Option<u16>>,
    hawks: Vec<Option<Hawk>>,
    next: usize,
}

impl StyleTrial {
    fn new(game: &ObservedGame, word: &str, style: Style) -> Self {
        let threats: Vec<usize> = (0..game.named.len()).filter(|&other| game.named[other].word == word).collect();
        let mut sets = Sets::new((style == Style::Owl).then(|| Owls::new(&game.streets)));
        let is_from_start = game.is_followed_from_start();
        if let Some(owls) = sets.owls.as_mut().filter(|_| !is_from_start) {
            owls.forget();
        }
        let draws = vec![Some(1).filter(|_| is_from_start); threats.len()];
        let hawk = (style == Style::Hawk).then(|| Hawk::new(&HawkSets::ANY, is_from_start));
        let hawks = vec![hawk; threats.len()];
        Self { style, threats, sets, draws, hawks, next: 0 }
    }

    /// True if the expected values of the owls' or hawks' parameters explain the moves, too.
    fn fits(&self, expected: &Rules) -> bool {
        let has_minute = |owls: &Owls| {
            let minutes = &owls.minutes[expected.owl_view as usize];
            let windows = minutes.get(usize::from(expected.owl_minute_ticks) - 1).into_iter().flatten();
            let window = expected.owl_window_ticks;
            windows.into_iter().any(|range| (range.from..=range.to).contains(&window))
        };
        let has_waits = |hawk: &Hawk| {
            let sets = hawk.sets();
            let has = |values: u128, value: u8| values >> value.min(127) & 1 == 1;
            has(sets.patience, expected.hawk_patience_moves) && has(sets.rest, expected.hawk_rest_moves)
        };
        self.sets.owls.iter().all(has_minute) && self.hawks.iter().flatten().all(has_waits)
    }

    fn advance(&mut self, game: &ObservedGame) -> Trial {
        let Some(step) = game.steps.get(self.next) else { return Trial::Explains };
        self.next += 1;
        if !game.moves[self.next - 1] {
            return Trial::Continues;
        }
        if let Some(owls) = &mut self.sets.owls {
            owls.look(step);
        }
        for (index, &threat) in self.threats.iter().enumerate() {
            let home = game.homes[threat];
            let (hawk, draws) = (&mut self.hawks[index], &mut self.draws[index]);
            if !game_step(&mut self.sets, &game.streets, step, (threat, self.style), home, hawk, draws) {
                return Trial::Failed;
            }
        }
        Trial::Continues
    }
}

/// Chooses a different style for each word that some style explains, the first possible one where it
/// can. Returns nothing if there is no such choice.
fn choose(possible: &[(String, Vec<Style>)]) -> Vec<(String, Style)> {
    fn extend(possible: &[&(String, Vec<Style>)], chosen: &mut Vec<(String, Style)>) -> bool {
        let Some((word, styles)) = possible.get(chosen.len()) else { return true };
        styles.iter().any(|&style| {
            if chosen.iter().any(|&(_, other)| other == style) {
                return false;
            }
            chosen.push((word.clone(), style));
            extend(possible, chosen) || {
                chosen.pop();
                false
            }
        })
    }
    let mut chosen = Vec::new();
    let explained: Vec<_> = possible.iter().filter(|(_, styles)| !styles.is_empty()).collect();
    extend(&explained, &mut chosen);
    chosen
}

const STYLES_BY_DETAIL: [Style; 6] = [Style::Shark, Style::Deer, Style::Bull, Style::Owl, Style::Hawk, Style::Goldfish];

/// Drops hypotheses that contradict a threat's move. If no hypothesis explains the move, keeps all
/// and returns false.
fn game_step(
    sets: &mut Sets,
    streets: &Streets,
    step: &Step,
    (threat, style): (usize, Style),
    home: Option<Position>,
    hawk: &mut Option<Hawk>,
    draws: &mut Option<u16>,
) -> bool {
    let (tile, direction) = step.threats[threat];
    let options = streets.options(tile);
    let mut picks = |sets: &mut Sets| {
        let draw = *draws;
        *draws = draws.map(|draws| draws + 1);
        match (draw, direction) {
            (_, None) => options == 0,
            (None, Some(_)) => true,
            (Some(draw), Some(direction)) => sets.picks.add(Pick { draw, options, direction }),
        }
    };
    match style {
        Style::Shark => sets.sharks.after(streets, step, threat).map(|after| sets.sharks = after).is_some(),
        Style::Deer => sets.deer.after(streets, step, threat, home).map(|after| sets.deer = after).is_some(),
        Style::Owl => sets.owls.as_mut().is_none_or(|owls| owls.update(streets, step, threat)),
        Style::Hawk => {
            let after = hawk.as_ref().and_then(|hawk| hawk.after(streets, step, threat));
            after.map(|after| *hawk = Some(after)).is_some()
        }
        Style::Goldfish => picks(sets),
        Style::Bull => match step.facing[threat] {
            Some(facing) if options >> facing as u8 & 1 == 1 => direction == Some(facing),
            Some(_) => picks(sets),
            None => {
                *draws = None;
                true
            }
        },
    }
}

fn sizes(sets: &Sets, hawk: &Option<Hawk>, style: Style) -> Vec<(Parameter, usize)> {
    let views = |alive: [bool; 2]| alive.iter().filter(|&&alive| alive).count();
    match style {
        Style::Shark => {
            let orders = sets.sharks.0;
            vec![
                (Parameter::SharkView, views(orders.map(|orders| !orders.is_empty()))),
                (Parameter::SharkPathOrder, orders[0].or(orders[1]).len() as usize),
            ]
        }
        Style::Deer => {
            let orders = [0, 1].map(|view| sets.deer.orders(view));
            let alive = sets.deer.0.iter().flatten().filter(|(low, high)| low <= high);
            let range = alive.fold((u32::MAX, 0), |all, range| (all.0.min(range.0), all.1.max(range.1)));
            vec![
                (Parameter::DeerView, views(orders.map(|orders| !orders.is_empty()))),
                (Parameter::OptionOrder, orders[0].or(orders[1]).and(sets.picks.orders).len() as usize),
                (Parameter::DeerShyDistance, range.1.saturating_sub(range.0) as usize),
            ]
        }
        Style::Owl => {
            let Some(owls) = &sets.owls else { return Vec::new() };
            let alive = |view: usize| owls.minutes[view].iter().filter(|windows| !windows.is_empty()).count();
            let windows =
                owls.minutes.iter().flatten().flatten().map(|window| usize::from(window.to - window.from) + 1);
            vec![
                (Parameter::OwlView, views([alive(0) > 0, alive(1) > 0])),
                (Parameter::OwlMinute, alive(0) + alive(1)),
                (Parameter::OwlWindow, windows.sum()),
                (Parameter::SharedPathOrder, owls.orders().len() as usize),
            ]
        }
        Style::Hawk => {
            let Some(hawk) = hawk else { return Vec::new() };
            let found = hawk.sets();
            vec![
                (Parameter::HawkView, views(found.orders.map(|orders| !orders.is_empty()))),
                (Parameter::HawkPatience, found.patience.count_ones() as usize),
                (Parameter::HawkRest, found.rest.count_ones() as usize),
                (Parameter::SharedPathOrder, found.orders[0].or(found.orders[1]).len() as usize),
            ]
        }
        Style::Goldfish | Style::Bull => vec![(Parameter::OptionOrder, sets.picks.orders.len() as usize)],
    }
}

/// The distinguishable values of `hawk_posts` with which this first seed and scale pick these posts.
pub(super) fn post_counts(posts: &[(u16, u16, u16)], first_seed: i32, scale: f64) -> Vec<u16> {
    let most = posts.iter().map(|&(.., places)| places).max().unwrap_or(0).max(FEW_POSTS_MAX as u16);
    let explains = |count: u16| {
        posts.iter().all(|&(draw, place, places)| {
            let len = usize::from(count.min(places));
            pick(first_seed, draw.into(), scale, len) == usize::from(place) && place < count
        })
    };
    (1..=most).filter(|&count| posts.is_empty() || explains(count)).collect()
}
