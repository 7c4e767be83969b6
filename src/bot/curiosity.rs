//! Finding out where the player cannot go, before it matters.
//!
//! Messages do not tell see-through tiles from open ones, so on a map that has some a plan may lead over water. Once a tile has refused the
//! player, every tile where he has never been is a *question*, best asked while threats are slow: he walks to the nearest one and steps onto it. Each
//! step must leave him a good while to live where he has been, whether it succeeds or not. As soon as the tiles where he has been are enough to survive
//! the game on, they are his *refuge*: the others are taken for closed, and nothing is left to ask.
//!
//! Where no such step is safe, the plan is followed as long as it is one to survive where what is not known to be closed is open, and not much worse
//! than another step where only those tiles are open on which he has been.

use std::cell::OnceCell;

use crate::game::{LAST_TICK, Move, State, World};
use crate::planner::{Budget, Choice, Outcome, Source, SurvivalOptions, SurvivalSearch};

use super::pursuit::Pursuit;

/// The tick from which on threats are too quick to go out of the way for a question.
const WALKS_UNTIL_TICK: u16 = 700;
/// How long the player must be able to live where he has been.
const DOUBTFUL_LIFE_TICKS: u16 = 60;
/// How long he must be able to live after a step out of his way if what is not known to be closed is open.
const HOPEFUL_LIFE_TICKS: u16 = 300;
/// States that a search in the hopeful world may expand: several times what the maps that we know take.
const HOPEFUL_EXPANSIONS_MAX: u64 = 30_000;
/// States that a search in the doubtful world may expand: it need not come far.
const DOUBTFUL_EXPANSIONS_MAX: u64 = 4_000;
/// States that an attempt to survive where the player has been may expand: well below a millisecond.
const REFUGE_EXPANSIONS_MAX: u64 = 8_000;
/// From one such attempt to the next: tiles at least, and one over this share of those where the player has been; or this many ticks.
const REFUGE_GROWTH_MIN: usize = 8;
const REFUGE_GROWTH_SHARE: usize = 8;
const REFUGE_RETRY_TICKS: u16 = 50;

/// What a search may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub limit: Budget,
    pub seed: u64,
}

/// Where the player had been when a refuge was last looked for, and when the next attempt is due at the latest.
#[derive(Debug, Default)]
pub(super) struct Curiosity {
    visited_count: usize,
    retry_tick: u16,
}

impl Curiosity {
    /// Looks for a refuge, if it is time: then the pursuit knows no other tiles any more.
    pub fn find_refuge(&mut self, pursuit: &mut Pursuit, state: &State, effort: Effort) {
        let growth = (self.visited_count / REFUGE_GROWTH_SHARE).max(REFUGE_GROWTH_MIN);
        let is_time = pursuit.visited_count() >= self.visited_count + growth || state.tick() >= self.retry_tick;
        if !is_time || !pursuit.is_curious() {
            return;
        }
        self.visited_count = pursuit.visited_count();
        self.retry_tick = state.tick() + REFUGE_RETRY_TICKS;
        // Another attempt draws other moves.
        let effort = Effort { seed: effort.seed.wrapping_add(state.tick().into()), ..effort };
        let is_refuge = pursuit.visited_world(Move::Stay).is_some_and(|world| {
            let state = pursuit.state_in(&world);
            state.is_ok_and(|state| effort.life(&world, &state, REFUGE_EXPANSIONS_MAX, LAST_TICK + 1) > LAST_TICK)
        });
        if is_refuge {
            pursuit.shun_unvisited();
        }
    }
}

/// A question that can be asked, or a step to one, while threats are slow; nothing if none is safe.
pub(super) fn ask(pursuit: &Pursuit, state: &State, effort: Effort) -> Option<Choice> {
    if !pursuit.is_curious() || state.tick() >= WALKS_UNTIL_TICK {
        return None;
    }
    let explorer = Explorer::new(pursuit, state, effort);
    let questions = pursuit.world().moves(state).filter(|&player_move| pursuit.question(player_move).is_some());
    let walk = || pursuit.step_to_unvisited().filter(|&player_move| pursuit.question(player_move).is_none());
    let mut moves = questions.chain(std::iter::once_with(walk).flatten());
    let hopeful_until = (state.tick() + HOPEFUL_LIFE_TICKS).min(LAST_TICK + 1);
    let player_move = moves.find(|&player_move| {
        explorer.doubtful_life(player_move) >= explorer.enough() && explorer.is_hopeful(player_move, hopeful_until)
    })?;
    Some(Choice { player_move, source: Source::Search, planned_tick: Some(explorer.enough()), simulated_ticks: 0 })
}

/// What to do instead of `choice` on a map where a tile has refused the player; plans that do not claim to survive are left alone.
pub(super) fn doubt(pursuit: &Pursuit, choice: Choice, effort: Effort) -> Choice {
    if !choice.survives() || !pursuit.is_curious() {
        return choice;
    }
    let Ok(state) = pursuit.state() else { return choice };
    let changed = Explorer::new(pursuit, &state, effort).choose(choice.player_move);
    let changed = changed.filter(|&player_move| player_move != choice.player_move);
    changed.map_or(choice, |player_move| Choice { player_move, source: Source::Search, ..choice })
}

impl Effort {
    /// The tick in which the longest life that is found ends, or `enough`.
    fn life(&self, world: &World, state: &State, expansions_max: u64, enough: u16) -> u16 {
        let options = SurvivalOptions { seed: self.seed, ..SurvivalOptions::default() };
        let limit = self.limit.and(Budget::ticks(expansions_max));
        let solution = SurvivalSearch::new(options).solve_until(world, state, enough, limit);
        if solution.outcome == Outcome::Survives { LAST_TICK + 1 } else { solution.final_tick.min(enough) }
    }
}

struct Explorer<'a> {
    pursuit: &'a Pursuit,
    state: &'a State,
    effort: Effort,
    /// How long the player lives where he has been if he stays, which is also what becomes of a step that is refused.
    life_staying: OnceCell<u16>,
}

impl<'a> Explorer<'a> {
    fn new(pursuit: &'a Pursuit, state: &'a State, effort: Effort) -> Self {
        Self { pursuit, state, effort, life_staying: OnceCell::new() }
    }

    fn enough(&self) -> u16 {
        (self.state.tick() + DOUBTFUL_LIFE_TICKS).min(LAST_TICK + 1)
    }

    /// The planned step or any other: the first that is safe in both worlds; if none is, the one that survives in the hopeful world and
    /// lives longest in the doubtful one.
    fn choose(&self, planned: Move) -> Option<Move> {
        let others = self.pursuit.world().moves(self.state).filter(|&player_move| player_move != planned);
        // A plan that survives goes where the player has been before: that much is known already.
        let is_known = |player_move| player_move == planned && self.pursuit.question(planned).is_none();
        let is_hopeful = |player_move| is_known(player_move) || self.is_hopeful(player_move, LAST_TICK + 1);
        let mut lives: Vec<(u16, Move)> = Vec::new();
        for player_move in std::iter::once(planned).chain(others) {
            let life = self.doubtful_life(player_move);
            if life < self.enough() {
                lives.push((life, player_move));
            } else if is_hopeful(player_move) {
                return Some(player_move);
            }
        }
        lives.sort_by_key(|&(life, _)| std::cmp::Reverse(life));
        lives.into_iter().map(|(_, player_move)| player_move).find(|&player_move| is_hopeful(player_move))
    }

    /// Whether a tick can be reached after a move if nothing else is closed, the move itself succeeding or not.
    fn is_hopeful(&self, player_move: Move, until: u16) -> bool {
        let survives = |world: &World, state: State, player_move: Move| {
            self.life_after(world, state, player_move, HOPEFUL_EXPANSIONS_MAX, until) >= until
        };
        if !survives(self.pursuit.world(), self.state.clone(), player_move) {
            return false;
        }
        let Some(question) = self.pursuit.question(player_move) else { return true };
        let Some(world) = self.pursuit.world_without(question) else { return false };
        self.pursuit.state_in(&world).is_ok_and(|state| survives(&world, state, Move::Stay))
    }

    /// How long the player lives after a move if he can go only where he has been, the move itself succeeding or not.
    fn doubtful_life(&self, player_move: Move) -> u16 {
        let life = |player_move: Move| {
            let Some(world) = self.pursuit.visited_world(player_move) else { return 0 };
            let Ok(state) = self.pursuit.state_in(&world) else { return 0 };
            self.life_after(&world, state, player_move, DOUBTFUL_EXPANSIONS_MAX, self.enough())
        };
        let life_staying = || *self.life_staying.get_or_init(|| life(Move::Stay));
        match self.pursuit.question(player_move) {
            Some(_) => life(player_move).min(life_staying()),
            None if player_move == Move::Stay => life_staying(),
            None => life(player_move),
        }
    }

    fn life_after(&self, world: &World, mut state: State, player_move: Move, expansions_max: u64, enough: u16) -> u16 {
        if !state.is_over() {
            world.step(&mut state, player_move);
        }
        self.effort.life(world, &state, expansions_max, enough)
    }
}
