//! One threat as it is known: where it was seen, and everything that it may have in mind.
//!
//! Messages show where a threat stands and looks, not its seed nor what it remembers. In a game that is followed from tick 1 there is nothing to
//! guess: one *candidate* is left, the truth. Else a suspect has a candidate for everything that its mind may hold, each is played by the rules of
//! its style, and those that do not come to stand where the threat is seen are dropped. The first that is left, the *lead*, is what plans are made on.
//!
//! A suspect that is mispredicted too often, or whose style is not known, becomes a *stranger*: nothing about it is predicted. What it does
//! is compared with all six styles all the same, and if one of them explains enough of it, that is what it is taken for from then on.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Instant;

use crate::game::{Clock, Direction, FIRST_TICK, LAST_TICK, Layout, Position, Rules, Spawn, Style, Threat, World};

use super::observation::{Observation, Seen};

/// Mispredictions from which on a threat is a stranger: planned against without predictions.
pub(super) const MISPREDICTIONS_MAX: u32 = 3;
/// Candidates of a suspect at most: more than those of a hawk on the largest map.
const CANDIDATES_MAX: usize = 10_000;
/// Candidates of all suspects together that a tick may take at most: a few milliseconds.
const CANDIDATES_TOTAL_MAX: usize = 50_000;
/// Candidates of a suspect at most when it is late: sixty suspects then take less than a millisecond.
const CANDIDATES_MAX_LATE: usize = 64;
/// Leads that may be wrong, while others are right, before that counts as a misprediction.
const WRONG_LEADS_MAX: u32 = 8;

/// Moves of a stranger that a style must explain, and moves after which the next attempt is made.
const TRIAL_MOVES: u16 = 6;
/// The styles in the order in which they are tried on a stranger: those that explain the least come first.
const TRIAL_ORDER: [Style; 6] = [Style::Shark, Style::Deer, Style::Bull, Style::Goldfish, Style::Owl, Style::Hawk];

/// What a threat may have in mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Candidate {
    threat: Threat,
    /// Whether the seed is the threat's own rather than a guess that the next draw shows right or wrong.
    is_seed_known: bool,
    /// Where a deer goes when it is shy, if that is a guess.
    home: Option<Position>,
}

impl Candidate {
    /// Whether the threat is where it was seen.
    fn agrees(&self, seen: Seen) -> bool {
        let Threat { position, direction, .. } = self.threat;
        position == seen.position && seen.direction.is_none_or(|seen| seen == direction)
    }
}

/// What is known when minds have to be guessed.
#[derive(Clone, Debug)]
pub(super) struct Scene<'a> {
    layout: &'a Layout,
    /// The tick that is about to be played.
    tick: u16,
    player: Position,
    allowance: Allowance,
    /// The open tiles, the nearest to the player first; only made where somebody may have one in mind.
    places: OnceCell<Vec<Position>>,
}

impl<'a> Scene<'a> {
    /// For so many suspects; after `deadline` they guess little.
    pub fn new(layout: &'a Layout, tick: u16, player: Position, suspects: usize, deadline: Instant) -> Self {
        Self { layout, tick, player, allowance: Allowance::new(suspects, deadline), places: OnceCell::new() }
    }

    fn places(&self) -> &[Position] {
        self.places.get_or_init(|| {
            let mut places: Vec<Position> = self.layout.open_positions().collect();
            places.sort_by_key(|place| (place.x - self.player.x).abs() + (place.y - self.player.y).abs());
            places
        })
    }
}

/// How many candidates a suspect may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    candidates_max: usize,
    deadline: Instant,
}

impl Allowance {
    /// For so many suspects, or so many ticks of each.
    pub fn new(suspects: usize, deadline: Instant) -> Self {
        Self { candidates_max: (CANDIDATES_TOTAL_MAX / suspects.max(1)).clamp(1, CANDIDATES_MAX), deadline }
    }

    /// The most that are allowed now.
    fn candidates_max(&self) -> usize {
        let is_late = self.candidates_max > CANDIDATES_MAX_LATE && Instant::now() >= self.deadline;
        if is_late { CANDIDATES_MAX_LATE } else { self.candidates_max }
    }
}

/// One threat as it is known.
#[derive(Clone, Debug)]
pub(super) struct Suspect {
    /// `None`: a style that we do not know.
    pub style: Option<Style>,
    /// Where it was seen first.
    first_position: Position,
    /// Whether that was in the first tick, so that it is its spawn.
    is_spawn_known: bool,
    /// Where it was seen last.
    pub position: Position,
    /// Where it looked last.
    direction: Direction,
    /// None for a stranger.
    candidates: Vec<Candidate>,
    /// How often it did what no candidate, or too often what the lead did not do.
    pub mispredictions: u32,
    wrong_leads: u32,
    /// Of a stranger: the tick from which on its moves are to be explained, and the moves of the clock at the last attempt.
    stranger_since: u16,
    tried_moves: u16,
}

impl Suspect {
    /// A threat seen for the first time.
    pub fn new(style: Option<Style>, seen: Seen, scene: &Scene<'_>) -> Self {
        let mut suspect = Self {
            style,
            first_position: seen.position,
            is_spawn_known: scene.tick == FIRST_TICK,
            position: seen.position,
            direction: seen.direction.unwrap_or(Direction::Up),
            candidates: Vec::new(),
            mispredictions: 0,
            wrong_leads: 0,
            stranger_since: scene.tick,
            tried_moves: moves_before(scene.tick),
        };
        suspect.candidates = suspect.guesses(scene, true);
        suspect
    }

    /// Where a deer goes when it is shy, as far as that is known.
    pub fn spawn(&self) -> Position {
        self.candidates.first().and_then(|lead| lead.home).unwrap_or(self.first_position)
    }

    /// Whether nothing about it can be predicted.
    pub fn is_stranger(&self) -> bool {
        self.candidates.is_empty()
    }

    /// What plans are made on; none for a stranger.
    pub fn lead(&self) -> Option<&Threat> {
        self.candidates.first().map(|candidate| &candidate.threat)
    }

    /// Plays a tick in every candidate's mind, the player having gone from `stale` to `now`. `index` is the suspect's place in the world. Of more
    /// candidates than are allowed the last are dropped.
    pub fn advance(
        &mut self,
        world: &World,
        index: usize,
        (tick, stale, now): (u16, Position, Position),
        allowance: Allowance,
    ) {
        let seed_count = 1 + moves_before(tick);
        let play = |threat: &Threat| world.threat_after(index, threat, tick, stale, now).unwrap_or(*threat);
        let go_home = |deer: &Threat, home| world.deer_after(deer, home, tick, stale, now).unwrap_or(*deer);
        let mut advanced = Vec::with_capacity(self.candidates.len());
        let candidates_max = allowance.candidates_max();
        for candidate in &self.candidates {
            if advanced.len() >= candidates_max {
                break;
            }
            let threat = match candidate.home {
                Some(home) => go_home(&candidate.threat, home),
                None => play(&candidate.threat),
            };
            if candidate.is_seed_known || threat.draws == candidate.threat.draws {
                advanced.push(Candidate { threat, ..*candidate });
                continue;
            }
            // It drew with a seed that we do not know: now is the time to try them all.
            let seeds = (1..=seed_count).map(|draws| play(&Threat { draws, ..candidate.threat }));
            let minds = seeds.map(|threat| Candidate { threat, is_seed_known: true, home: None });
            advanced.extend(minds.take(candidates_max - advanced.len()));
        }
        self.candidates = advanced;
    }

    /// Compares the candidates with what is seen and keeps those that agree. `counts` says whether disagreement is held against the threat;
    /// else it is our own ignorance.
    pub fn settle(&mut self, seen: Seen, scene: &Scene<'_>, counts: bool) {
        self.position = seen.position;
        self.direction = seen.direction.or(self.lead().map(|lead| lead.direction)).unwrap_or(self.direction);
        if self.is_stranger() {
            return;
        }
        let agrees = |candidate: &Candidate| candidate.agrees(seen);
        let is_lead_right = agrees(&self.candidates[0]);
        if self.candidates.iter().any(agrees) {
            self.candidates.retain(agrees);
            self.wrong_leads += u32::from(!is_lead_right);
            if self.wrong_leads <= WRONG_LEADS_MAX || !counts {
                return;
            }
        }
        self.wrong_leads = 0;
        self.mispredictions += u32::from(counts);
        if self.mispredictions >= MISPREDICTIONS_MAX {
            self.candidates.clear();
            // Its last move is the first that is known to need another explanation.
            self.stranger_since = scene.tick - 1;
            self.tried_moves = moves_before(scene.tick - 1);
            return;
        }
        self.guess_again(scene);
    }

    /// Whether a stranger has moved often enough for another attempt at explaining it.
    pub fn is_to_be_tried(&self, tick: u16) -> bool {
        self.is_stranger() && moves_before(tick) >= self.tried_moves + TRIAL_MOVES
    }

    /// Looks for a style that explains everything a stranger has done, and takes it for one of that style if there is one. `index` is its place
    /// in the observations, which are of consecutive ticks; `probe` is a world with the same streets, whose threats are replaced at will.
    pub fn try_styles(
        &mut self,
        index: usize,
        seen: &[Observation],
        layout: &Layout,
        probe: &mut World,
        deadline: Instant,
    ) {
        let Some(last) = seen.last() else { return };
        self.tried_moves = moves_before(last.clock_tick());
        let first = seen.partition_point(|observation| observation.clock_tick() < self.stranger_since);
        let seen = &seen[first..];
        if seen.first().is_none_or(|first| moves_before(first.clock_tick()) + TRIAL_MOVES > self.tried_moves) {
            return;
        }
        for style in TRIAL_ORDER {
            let spawn = Spawn { style, position: self.spawn() };
            let layout = Layout { threats: vec![spawn], ..layout.clone() };
            if probe.set_layout(&layout).is_err() {
                return;
            }
            if let Some(candidates) = self.trial(style, index, seen, probe, deadline) {
                self.style = Some(style);
                self.candidates = candidates;
                return;
            }
        }
    }

    /// What a threat of this style has in mind if it did all that was seen.
    fn trial(
        &self,
        style: Style,
        index: usize,
        seen: &[Observation],
        probe: &World,
        deadline: Instant,
    ) -> Option<Vec<Candidate>> {
        let mut actor = Self { style: Some(style), ..self.clone() };
        let first = seen.first()?;
        actor.position = first.threats[index].position;
        actor.direction = first.threats[index].direction?;
        let scene = Scene::new(probe.layout(), first.clock_tick(), first.player, 1, deadline);
        actor.candidates = actor.guesses(&scene, false);
        for pair in seen.windows(2) {
            let played = (pair[0].clock_tick(), pair[0].player, pair[1].player);
            actor.advance(probe, 0, played, scene.allowance);
            let now = pair[1].threats[index];
            actor.candidates.retain(|candidate| candidate.agrees(now));
            if actor.candidates.is_empty() || Instant::now() >= deadline {
                return None;
            }
        }
        Some(actor.candidates)
    }

    /// Takes the observed place as true. What the threat had in mind comes first, then whatever else it may have.
    fn guess_again(&mut self, scene: &Scene<'_>) {
        let (position, direction) = (self.position, self.direction);
        let kept = self
            .candidates
            .iter()
            .map(|candidate| Candidate { threat: Threat { position, direction, ..candidate.threat }, ..*candidate });
        let mut known = HashSet::new();
        let all: Vec<Candidate> = kept.chain(self.guesses(scene, false)).collect();
        let all = all.into_iter().filter(|candidate| known.insert(*candidate));
        self.candidates = all.take(scene.allowance.candidates_max()).collect();
    }

    /// Seen again after so long that nothing it had in mind counts.
    pub fn rejoin(&mut self, seen: Seen, scene: &Scene<'_>) {
        self.position = seen.position;
        self.direction = seen.direction.unwrap_or(self.direction);
        if !self.is_stranger() {
            self.candidates = self.guesses(scene, true);
        }
    }

    /// Another style from now on, as the messages say.
    pub fn restyle(&mut self, style: Option<Style>, scene: &Scene<'_>) {
        self.style = style;
        self.wrong_leads = 0;
        self.stranger_since = scene.tick;
        self.tried_moves = moves_before(scene.tick);
        self.candidates = self.guesses(scene, false);
    }

    /// Everything that a threat of this style may have in mind, the likeliest first. `keeps_count` says that it has drawn when its style draws:
    /// that gives the seed of those who draw at every move.
    fn guesses(&self, scene: &Scene<'_>, keeps_count: bool) -> Vec<Candidate> {
        let Some(style) = self.style else { return Vec::new() };
        let moves = moves_before(scene.tick);
        let is_seed_known = moves == 0 || (style == Style::Goldfish && keeps_count);
        let blank = Threat {
            style,
            position: self.position,
            direction: self.direction,
            draws: if style == Style::Goldfish { 1 + moves } else { 1 },
            remembered: None,
            seen: None,
            post: None,
            idle_rounds: 0,
        };
        let candidate = |threat| Candidate { threat, is_seed_known, home: None };
        if moves == 0 && self.is_spawn_known {
            return vec![candidate(blank)];
        }
        // Threats look at the player: the nearer to where he is now, the likelier.
        let max = scene.allowance.candidates_max();
        let places = || scene.places().iter();
        let remembers = |&place: &Position| Threat { remembered: Some(place), ..blank };
        let chases = |&place: &Position| Threat { seen: Some(place), ..blank };
        let patrols = |&place: &Position| Threat { post: Some(place), ..blank };
        let waits = |idle_rounds: i8| Threat { idle_rounds, ..blank };
        let lives_at = |&home: &Position| Candidate { home: Some(home), ..candidate(blank) };
        match style {
            Style::Deer if !self.is_spawn_known => places().map(lives_at).take(max).collect(),
            Style::Goldfish | Style::Bull | Style::Deer | Style::Shark => vec![candidate(blank)],
            Style::Owl => places().map(remembers).chain([blank]).map(candidate).take(max).collect(),
            Style::Hawk => {
                let idle = (0..=5).chain(-5..0).map(waits);
                let walks = places().map(chases).chain(places().map(patrols));
                idle.chain(walks).map(candidate).take(max).collect()
            }
        }
    }
}

/// How many moves a threat has made before a tick.
fn moves_before(tick: u16) -> u16 {
    static CLOCK: LazyLock<Clock> = LazyLock::new(|| Clock::new(&Rules::BLITZ_2025));
    CLOCK.moves_before(tick.min(LAST_TICK + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_counted_as_the_world_schedules_them() {
        let world = World::new(&Layout::parse("P#b").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let mut state = world.start();
        let mut moves = 0;
        while !state.is_over() {
            assert_eq!(moves_before(state.tick()), moves, "tick {}", state.tick());
            moves += u16::from(world.threats_move(&state));
            world.step(&mut state, crate::game::Move::Stay);
        }
    }

    #[test]
    fn who_is_late_guesses_little_and_who_shares_guesses_less() {
        let layout = Layout::parse(&vec![".".repeat(30); 30].join("\n").replacen('.', "P", 1)).expect("a drawing");
        let seen = Seen { position: Position::new(20, 20), direction: Some(Direction::Up) };
        let candidates = |suspects, deadline| {
            let scene = Scene::new(&layout, 500, layout.player, suspects, deadline);
            Suspect::new(Some(Style::Hawk), seen, &scene).candidates.len()
        };
        let (now, later) = (Instant::now(), Instant::now() + std::time::Duration::from_secs(60));
        // Eleven ways to wait, and any tile to have seen the player on or to patrol to.
        assert_eq!(candidates(6, later), 11 + 2 * 900);
        assert_eq!(candidates(60, later), CANDIDATES_TOTAL_MAX / 60);
        assert_eq!(candidates(6, now), CANDIDATES_MAX_LATE);
    }
}
