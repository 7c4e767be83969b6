//! The learner: follows games and keeps every explanation of what the threats did.
//!
//! Given the player's path, threats do not depend on one another, so the hypotheses factorise: the
//! clock, the sharks, the deer, the owls, the hawks and the picks each have their own set, and only
//! the orders that two of them share connect them. Every set is exact for ticks in which it is
//! known whether threats move; in the others the best explanation of the clock decides.
//!
//! Guarantees: rules that explain every tick are never dropped; a threat that no rules of the
//! family explain is reported with its first counterexample, and ignored from then on.

use std::collections::BTreeMap;

use crate::game::{Clock, Direction, FIRST_TICK, Layout, Position, Rules, Style, WorldError};

use super::clock::{ClockEvidence, ClockFilter};
use super::hawk::{FEW_POSTS_MAX, Hawk, HawkSets};
use super::paths::{Deer, Owls, Sharks};
use super::picks::{Effort, Pick, PickExplanation, PickExplanations, Picks, pick};
use super::streets::{Named, Sight, Step, Streets, Views};

/// Number of moves that a style must explain before it is assigned to a threat with an unknown
/// word, and number of moves between two attempts.
pub(crate) const IDENTIFY_MOVES: u16 = 6;
/// Moves between two attempts to solve the picks.
const SOLVE_MOVES: u16 = 8;

/// The explanations of the threats that do not depend on the game.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    pub sharks: Sharks,
    pub deer: Deer,
    /// `None` until there is an owl.
    pub owls: Option<Owls>,
    pub hawks: HawkSets,
    pub picks: Picks,
    /// Posts of hawks in earlier games: draw, rank, number of intersections on the map.
    pub posts: Vec<(u16, u16, u16)>,
}

impl Sets {
    /// The sets before any observation: everything is possible.
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

/// A threat that no rules of this family explain.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unexplained {
    /// The game, from 0, in the order in which they were shown.
    pub game: usize,
    /// The threat's index in the messages.
    pub threat: usize,
    /// The word for its style.
    pub style: String,
    /// The first tick that is not explained.
    pub tick: u16,
    /// Where it was.
    pub from: Position,
    /// Where it went.
    pub to: Position,
}

/// The observation that shrank a set for the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Decided {
    /// The game, from 0.
    pub game: usize,
    /// The tick that was played.
    pub tick: u16,
    /// The threat's index in the messages.
    pub threat: usize,
}

/// A factor of the hypotheses, for the record of what decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Factor {
    SharkView,
    SharkOrder,
    DeerView,
    DeerDistance,
    OptionOrder,
    OwlView,
    OwlWindow,
    OwlMinute,
    HawkView,
    HawkPatience,
    HawkRest,
    SharedOrder,
}

/// The game that is being followed.
#[derive(Clone, Debug)]
pub(super) struct Game {
    pub streets: Streets,
    pub named: Vec<Named>,
    /// The styles assumed for the threats.
    pub styles: Vec<Option<Style>>,
    homes: Vec<Option<Position>>,
    first_facing: Vec<Option<Direction>>,
    last: Sight,
    steps: Vec<Step>,
    /// By step, whether the threats were assumed to move.
    moves: Vec<bool>,
    pub evidence: Vec<ClockEvidence>,
    /// The clocks if the reported personalities are taken as the phases.
    pub trusting: ClockFilter,
    /// The clocks if they are ignored.
    pub distrusting: ClockFilter,
    /// The clock of the best explanation, and its rules.
    pub clock: (Clock, Rules),
    pub reports_personalities: bool,
    pub hawks: Vec<Option<Hawk>>,
    draws: Vec<Option<u16>>,
    moves_made: Option<u16>,
    pub unexplained: Vec<Option<Unexplained>>,
    solved_at: u16,
    identified_at: u16,
}

/// Follows games and keeps every explanation of what the threats did.
#[derive(Clone, Debug)]
pub struct Learner {
    pub(super) expected: Rules,
    pub(super) sets: Sets,
    /// The sets when the game began.
    base: Sets,
    pub(super) game: Option<Game>,
    /// Games begun.
    pub(super) games: usize,
    pub(super) past_evidence: Vec<Vec<ClockEvidence>>,
    pub(super) past_unexplained: Vec<Unexplained>,
    pub(super) past_words: Vec<(String, Style)>,
    pub(super) past_reports: bool,
    pub(super) first_direction: Option<Direction>,
    pub(super) explanations: PickExplanations,
    /// Whether the record of what decided each factor is kept; it costs time.
    records: bool,
    pub(super) decided: BTreeMap<Factor, (usize, Decided)>,
}

impl Learner {
    /// A learner that assumes these rules where there is no evidence against them.
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
            past_reports: true,
            first_direction: None,
            explanations: PickExplanations::default(),
            records: false,
            decided: BTreeMap::new(),
        }
    }

    /// The same learner, which also records what decided each parameter.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// The rules it expects.
    pub fn expected(&self) -> &Rules {
        &self.expected
    }

    /// Begins another game with its first message. The threats' spawns in the layout are ignored.
    ///
    /// # Errors
    /// When the layout cannot be played.
    pub fn begin(&mut self, layout: &Layout, named: Vec<Named>, first: Sight) -> Result<(), WorldError> {
        self.end_game();
        let streets = Streets::new(layout)?;
        let is_whole = first.tick == FIRST_TICK;
        let words = &self.past_words;
        let style = |one: &Named| {
            one.style.or_else(|| words.iter().find(|(word, _)| *word == one.word).map(|&(_, style)| style))
        };
        let count = named.len();
        let mut game = Game {
            styles: named.iter().map(style).collect(),
            homes: first.threats.iter().map(|&(position, _)| Some(position).filter(|_| is_whole)).collect(),
            first_facing: first.threats.iter().map(|&(_, direction)| direction).collect(),
            steps: Vec::new(),
            moves: Vec::new(),
            evidence: Vec::new(),
            trusting: ClockFilter::new(&self.expected, true),
            distrusting: ClockFilter::new(&self.expected, false),
            clock: (Clock::new(&self.expected), self.expected),
            reports_personalities: first.personality.is_some(),
            hawks: vec![None; count],
            draws: vec![Some(1).filter(|_| is_whole); count],
            moves_made: Some(0).filter(|_| is_whole),
            unexplained: vec![None; count],
            solved_at: 0,
            identified_at: 0,
            streets,
            named,
            last: first,
        };
        if is_whole {
            self.first_direction = self.first_direction.or(game.first_facing.iter().flatten().next().copied());
        } else {
            // In ticks that were missed the threats may or may not have moved.
            for tick in FIRST_TICK..game.last.tick {
                let evidence = ClockEvidence { tick, moved: None, personality: None };
                game.trusting.update(&evidence);
                game.distrusting.update(&evidence);
                game.evidence.push(evidence);
            }
        }
        self.games += 1;
        self.game = Some(game);
        self.base = self.sets.clone();
        self.reset_memories();
        Ok(())
    }

    /// Keeps what the game has shown for the next one.
    fn end_game(&mut self) {
        self.reconcile();
        self.sets.posts = self.posts();
        self.past_words = self.words();
        let Some(game) = self.game.take() else { return };
        self.past_reports &= game.reports_personalities;
        self.past_evidence.push(game.evidence);
        self.past_unexplained.extend(game.unexplained.into_iter().flatten());
    }

    /// Resets the hidden memories of a game's threats to those of its start.
    fn reset_memories(&mut self) {
        let Some(game) = &mut self.game else { return };
        let is_whole = game.homes.first().is_none_or(Option::is_some);
        if game.styles.contains(&Some(Style::Owl)) && self.sets.owls.is_none() {
            self.sets.owls = Some(Owls::new(&game.streets));
        }
        if let Some(owls) = &mut self.sets.owls {
            if is_whole {
                owls.restart(game.streets.nowhere());
            } else {
                owls.forget();
            }
        }
        for (hawk, style) in game.hawks.iter_mut().zip(&game.styles) {
            *hawk = (*style == Some(Style::Hawk)).then(|| Hawk::new(&self.sets.hawks, is_whole));
        }
        game.draws = vec![Some(1).filter(|_| is_whole); game.named.len()];
        game.moves_made = Some(0).filter(|_| is_whole);
    }

    /// Follows the game to its next message. Ticks before the last one are ignored.
    pub fn observe(&mut self, sight: &Sight) {
        let Some(game) = &mut self.game else { return };
        if sight.tick <= game.last.tick || sight.threats.len() != game.named.len() {
            return;
        }
        let is_next = sight.tick == game.last.tick + 1;
        let step = game.step_to(sight).filter(|_| is_next);
        let Some(step) = step else {
            self.skip_to(sight);
            return;
        };
        game.reports_personalities &= sight.personality.is_some();
        let evidence = ClockEvidence { tick: step.tick, moved: game.moved(&step), personality: sight.personality };
        game.evidence.push(evidence);
        game.last = sight.clone();
        let is_rebuilt = game.update_clock(&evidence);
        game.steps.push(step);
        if is_rebuilt {
            self.rebuild();
        } else {
            let moves = evidence.moved.unwrap_or_else(|| game.clock.0.threats_move(evidence.tick));
            game.moves.push(moves);
            let index = game.steps.len() - 1;
            self.process(index);
        }
        self.identify();
        self.solve_picks();
    }

    /// Continues after missed ticks.
    fn skip_to(&mut self, sight: &Sight) {
        let Some(game) = &mut self.game else { return };
        for tick in game.last.tick..sight.tick {
            let personality = sight.personality.filter(|_| tick + 1 == sight.tick);
            let evidence = ClockEvidence { tick, moved: None, personality };
            game.trusting.update(&evidence);
            game.distrusting.update(&evidence);
            game.evidence.push(evidence);
        }
        // Hidden memories have to be seen again; a rebuild starts from here.
        game.steps.clear();
        game.moves.clear();
        game.draws.iter_mut().for_each(|draws| *draws = None);
        game.moves_made = None;
        game.hawks.iter_mut().flatten().for_each(Hawk::forget);
        if let Some(owls) = &mut self.sets.owls {
            owls.forget();
        }
        game.last = sight.clone();
        self.base = self.sets.clone();
    }

    /// Processes the game again from its start, after the clock or the styles have changed.
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
        game.unexplained.iter_mut().for_each(|unexplained| *unexplained = None);
        for index in 0..game.steps.len() {
            self.process(index);
        }
    }

    /// Updates every set with a step.
    fn process(&mut self, index: usize) {
        let (records, number) = (self.records, self.games - 1);
        let Some(game) = &mut self.game else { return };
        let (step, is_move) = (&game.steps[index], game.moves[index]);
        if !is_move {
            return;
        }
        game.moves_made = game.moves_made.map(|moves| moves + 1);
        if let Some(owls) = self.sets.owls.as_mut().filter(|_| game.styles.contains(&Some(Style::Owl))) {
            owls.look(step);
        }
        for threat in 0..step.threats.len() {
            let Some(style) = game.styles[threat].filter(|_| game.unexplained[threat].is_none()) else { continue };
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
            if records {
                let decided = Decided { game: number, tick: step.tick, threat };
                let sizes = sizes(&self.sets, &game.hawks[threat], style);
                for (factor, size) in sizes {
                    let known = self.decided.entry(factor).or_insert((usize::MAX, decided));
                    if size < known.0 {
                        *known = (size, decided);
                    }
                }
            }
        }
        self.explanations.found.retain(|one| self.sets.picks.explains(one.order, one.first_seed, one.scale));
    }

    /// Looks for the styles of threats whose word is unknown, or whose style does not explain them.
    fn identify(&mut self) {
        let Some(game) = &mut self.game else { return };
        let moves = game.moves.iter().filter(|&&is_move| is_move).count() as u16;
        let is_open = |threat: usize| game.styles[threat].is_none() || game.unexplained[threat].is_some();
        if moves < game.identified_at + IDENTIFY_MOVES || !(0..game.named.len()).any(is_open) {
            return;
        }
        game.identified_at = moves;
        let mut found = Vec::new();
        for threat in (0..game.named.len()).filter(|&threat| is_open(threat)) {
            let word = &game.named[threat].word;
            if found.iter().any(|(known, _)| known == word) {
                continue;
            }
            let group: Vec<usize> = (0..game.named.len()).filter(|&other| game.named[other].word == *word).collect();
            let style = STYLES_BY_DETAIL.into_iter().find(|&style| game.is_explained_by(&group, style));
            if let Some(style) = style.filter(|&style| game.styles[threat] != Some(style)) {
                found.push((word.clone(), style));
            }
        }
        if found.is_empty() {
            return;
        }
        for (word, style) in found {
            for (named, assumed) in game.named.iter().zip(&mut game.styles) {
                if named.word == word {
                    *assumed = Some(style);
                }
            }
        }
        self.rebuild();
    }

    /// Looks for other explanations of the choices once the known ones are refuted.
    fn solve_picks(&mut self) {
        let Some(game) = &mut self.game else { return };
        let moves = game.moves_made.unwrap_or(0);
        if self.records || !self.explanations.found.is_empty() || self.sets.picks.count == 0 {
            return;
        }
        if game.solved_at != 0 && moves < game.solved_at + SOLVE_MOVES {
            return;
        }
        game.solved_at = moves.max(1);
        let deer = self.sets.deer.orders(0).or(self.sets.deer.orders(1));
        self.explanations = self.sets.picks.explanations(&self.expected, deer, Effort::TICK);
    }

    /// Solves the picks exhaustively, in seconds at most.
    pub fn solve_picks_wholly(&mut self) {
        self.reconcile();
        let deer = self.sets.deer.orders(0).or(self.sets.deer.orders(1));
        self.explanations = match self.sets.picks.count {
            0 => PickExplanations::default(),
            _ => self.sets.picks.explanations(&self.expected, deer, Effort::WHOLE),
        };
        let posts = self.posts();
        self.explanations.found.retain(|one| !post_counts(&posts, one).is_empty());
    }

    /// The posts that hawks are known to have been sent to: draw, rank, number of intersections.
    pub(super) fn posts(&self) -> Vec<(u16, u16, u16)> {
        let mut posts = self.sets.posts.clone();
        if let Some(game) = &self.game {
            let places = game.streets.intersections.len() as u16;
            for hawk in game.hawks.iter().flatten() {
                posts.extend(hawk.known_posts().into_iter().map(|(draw, place)| (draw, place, places)));
            }
        }
        posts
    }

    /// Restricts the orders that two factors share to those possible for both.
    pub(super) fn reconcile(&mut self) {
        let Sets { deer, owls, hawks, picks, .. } = &mut self.sets;
        for _ in 0..2 {
            for hawk in self.game.iter().flat_map(|game| game.hawks.iter().flatten()) {
                let both = hawks.and(&hawk.sets());
                // Hawks that contradict one another leave the sets of the first.
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
        }
    }

    /// The unexpected words for styles, with their styles where those are known.
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

    /// The styles assumed for the game's threats; `None` for those that nothing explains.
    pub fn styles(&self) -> Vec<Option<Style>> {
        let Some(game) = &self.game else { return Vec::new() };
        let explained = game.unexplained.iter().map(Option::is_none);
        game.styles.iter().zip(explained).map(|(style, is_explained)| style.filter(|_| is_explained)).collect()
    }

    /// The threats that nothing explains.
    pub fn unexplained(&self) -> Vec<Unexplained> {
        let of_game = self.game.iter().flat_map(|game| game.unexplained.iter().flatten());
        self.past_unexplained.iter().chain(of_game).cloned().collect()
    }
}

impl Game {
    /// The step from the last sight to the next one; `None` if a position is not an open tile or a
    /// threat moved more than one tile.
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

    /// Whether the threats moved in a step; `None` if that is unknown.
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

    /// Updates the clock; returns whether the assumption that threats moved has changed for an
    /// earlier tick.
    fn update_clock(&mut self, evidence: &ClockEvidence) -> bool {
        self.trusting.update(evidence);
        self.distrusting.update(evidence);
        let filter =
            if self.reports_personalities && self.trusting.explains() { &self.trusting } else { &self.distrusting };
        let Some(rules) = filter.best().filter(|rules| *rules != self.clock.1) else { return false };
        let before = std::mem::replace(&mut self.clock, (Clock::new(&rules), rules)).0;
        let first = self.evidence.len() - 1 - self.steps.len();
        let open = self.evidence[first..].iter().filter(|evidence| evidence.moved.is_none());
        open.into_iter().any(|evidence| before.threats_move(evidence.tick) != self.clock.0.threats_move(evidence.tick))
    }

    /// Whether a style explains every step of these threats.
    fn is_explained_by(&self, threats: &[usize], style: Style) -> bool {
        let mut sets = Sets::new((style == Style::Owl).then(|| Owls::new(&self.streets)));
        let is_whole = self.homes.first().is_none_or(Option::is_some) && self.evidence.len() == self.steps.len();
        let mut draws: Vec<Option<u16>> = vec![Some(1).filter(|_| is_whole); threats.len()];
        let mut hawks: Vec<Option<Hawk>> =
            vec![(style == Style::Hawk).then(|| Hawk::new(&HawkSets::ANY, is_whole)); threats.len()];
        if let Some(owls) = sets.owls.as_mut().filter(|_| !is_whole) {
            owls.forget();
        }
        for (step, _) in self.steps.iter().zip(&self.moves).filter(|(_, is_move)| **is_move) {
            if let Some(owls) = &mut sets.owls {
                owls.look(step);
            }
            for (index, &threat) in threats.iter().enumerate() {
                let home = self.homes[threat];
                let (hawk, draws) = (&mut hawks[index], &mut draws[index]);
                if !game_step(&mut sets, &self.streets, step, (threat, style), home, hawk, draws) {
                    return false;
                }
            }
        }
        true
    }
}

/// The styles, those that leave a threat the least freedom first.
const STYLES_BY_DETAIL: [Style; 6] = [Style::Shark, Style::Deer, Style::Bull, Style::Owl, Style::Hawk, Style::Goldfish];

/// Updates the sets with a threat's move; returns false if nothing explains it.
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

/// The sizes of the sets that a threat of this style can shrink.
fn sizes(sets: &Sets, hawk: &Option<Hawk>, style: Style) -> Vec<(Factor, usize)> {
    let views = |alive: [bool; 2]| alive.iter().filter(|&&alive| alive).count();
    match style {
        Style::Shark => {
            let orders = sets.sharks.0;
            vec![
                (Factor::SharkView, views(orders.map(|orders| !orders.is_empty()))),
                (Factor::SharkOrder, orders[0].or(orders[1]).len() as usize),
            ]
        }
        Style::Deer => {
            let orders = [0, 1].map(|view| sets.deer.orders(view));
            let alive = sets.deer.0.iter().flatten().filter(|(low, high)| low <= high);
            let range = alive.fold((u32::MAX, 0), |all, range| (all.0.min(range.0), all.1.max(range.1)));
            vec![
                (Factor::DeerView, views(orders.map(|orders| !orders.is_empty()))),
                (Factor::OptionOrder, orders[0].or(orders[1]).and(sets.picks.orders).len() as usize),
                (Factor::DeerDistance, range.1.saturating_sub(range.0) as usize),
            ]
        }
        Style::Owl => {
            let Some(owls) = &sets.owls else { return Vec::new() };
            let alive = |view: usize| owls.minutes[view].iter().filter(|windows| !windows.is_empty()).count();
            let windows =
                owls.minutes.iter().flatten().flatten().map(|window| usize::from(window.to - window.from) + 1);
            vec![
                (Factor::OwlView, views([alive(0) > 0, alive(1) > 0])),
                (Factor::OwlMinute, alive(0) + alive(1)),
                (Factor::OwlWindow, windows.sum()),
                (Factor::SharedOrder, owls.orders().len() as usize),
            ]
        }
        Style::Hawk => {
            let Some(hawk) = hawk else { return Vec::new() };
            let found = hawk.sets();
            vec![
                (Factor::HawkView, views(found.orders.map(|orders| !orders.is_empty()))),
                (Factor::HawkPatience, found.patience.count_ones() as usize),
                (Factor::HawkRest, found.rest.count_ones() as usize),
                (Factor::SharedOrder, found.orders[0].or(found.orders[1]).len() as usize),
            ]
        }
        Style::Goldfish | Style::Bull => vec![(Factor::OptionOrder, sets.picks.orders.len() as usize)],
    }
}

/// The numbers of posts for which an explanation of the picks yields these posts, among all numbers
/// that can be distinguished: empty if there are none, all if there are no posts.
pub(super) fn post_counts(posts: &[(u16, u16, u16)], one: &PickExplanation) -> Vec<u16> {
    let most = posts.iter().map(|&(.., places)| places).max().unwrap_or(0).max(FEW_POSTS_MAX as u16);
    let explains = |count: u16| {
        posts.iter().all(|&(draw, place, places)| {
            let len = usize::from(count.min(places));
            pick(one.first_seed, draw.into(), one.scale, len) == usize::from(place) && place < count
        })
    };
    (1..=most).filter(|&count| posts.is_empty() || explains(count)).collect()
}
