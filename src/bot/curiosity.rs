//! Finding out where the player cannot go, before it matters.
//!
//! Messages do not tell see-through tiles from open ones, so on a map that has some a plan may lead over water. Once a tile has refused the
//! player, every tile where he has never been is a question, best asked while threats are slow: he walks to the nearest one and steps onto it. Each
//! step must leave him alive in two worlds: in the hopeful one, where what is not known to be closed is open, to the end of the game; in the
//! doubtful one, where he can go only where he has been, for a good while.

use crate::game::{LAST_TICK, Move, State, World};
use crate::planner::{Choice, Limit, Outcome, Source, Survival, SurvivalOptions};

use super::pursuit::Pursuit;

/// The tick from which on threats are too quick to go out of the way for a question.
const WALKS_UNTIL_TICK: u16 = 700;
/// How long the player must be able to live where he has been.
const DOUBTFUL_LIFE_TICKS: u16 = 60;
/// States that a search in the hopeful world may expand: several times what the maps that we know take.
const HOPEFUL_EXPANSIONS_MAX: u64 = 30_000;
/// States that a search in the doubtful world may expand: it need not come far.
const DOUBTFUL_EXPANSIONS_MAX: u64 = 4_000;

/// What to do instead of `choice` on a map where a tile has refused the player; plans that do not claim to survive are left alone.
pub(super) fn explore(pursuit: &Pursuit, state: &State, choice: Choice, limit: Limit, seed: u64) -> Choice {
    let claims_survival = choice.planned_tick.is_some_and(|tick| tick > LAST_TICK);
    if !claims_survival || !pursuit.has_refused() || pursuit.has_visited_all() {
        return choice;
    }
    let explorer = Explorer { pursuit, state, limit, seed };
    let changed = explorer.choose(choice.player_move).filter(|&player_move| player_move != choice.player_move);
    changed.map_or(choice, |player_move| Choice { player_move, source: Source::Search, ..choice })
}

struct Explorer<'a> {
    pursuit: &'a Pursuit,
    state: &'a State,
    limit: Limit,
    seed: u64,
}

impl Explorer<'_> {
    /// A question that can be asked, a step to one, the planned step, any other: the first that is safe in both worlds; if none is, the
    /// one that survives in the hopeful world and lives longest in the doubtful one.
    fn choose(&self, planned: Move) -> Option<Move> {
        let moves = || self.pursuit.world().moves(self.state);
        let walk = (self.state.tick() < WALKS_UNTIL_TICK).then(|| self.pursuit.step_to_unvisited()).flatten();
        let questions = moves().filter(|&player_move| self.pursuit.may_be_refused(player_move));
        let mut candidates: Vec<Move> = Vec::new();
        for player_move in questions.chain(walk).chain([planned]).chain(moves()) {
            if !candidates.contains(&player_move) {
                candidates.push(player_move);
            }
        }
        let enough = self.state.tick() + DOUBTFUL_LIFE_TICKS;
        let mut best: Option<(u16, Move)> = None;
        for player_move in candidates {
            if !self.is_hopeful(player_move) {
                continue;
            }
            let final_tick = self.doubtful_life(player_move);
            if final_tick >= enough.min(LAST_TICK + 1) {
                return Some(player_move);
            }
            if best.is_none_or(|(longest, _)| final_tick > longest) {
                best = Some((final_tick, player_move));
            }
        }
        best.map(|(_, player_move)| player_move)
    }

    /// Whether the game can be survived after a move if nothing else is closed, the move itself succeeding or not.
    fn is_hopeful(&self, player_move: Move) -> bool {
        let survives = |world: &World, state: State, player_move: Move| {
            self.final_tick(world, state, player_move, HOPEFUL_EXPANSIONS_MAX) > LAST_TICK
        };
        if !survives(self.pursuit.world(), self.state.clone(), player_move) {
            return false;
        }
        if !self.pursuit.may_be_refused(player_move) {
            return true;
        }
        let Some(world) = self.pursuit.world_without(player_move) else { return false };
        self.pursuit.state_in(&world).is_ok_and(|state| survives(&world, state, Move::Stay))
    }

    /// How long the player lives after a move if he can go only where he has been, the move itself succeeding or not.
    fn doubtful_life(&self, player_move: Move) -> u16 {
        let life = |world: Option<World>, player_move: Move| {
            let Some(world) = world else { return 0 };
            let Ok(state) = self.pursuit.state_in(&world) else { return 0 };
            self.final_tick(&world, state, player_move, DOUBTFUL_EXPANSIONS_MAX)
        };
        let is_question = self.pursuit.may_be_refused(player_move);
        let success = life(self.pursuit.visited_world(player_move), player_move);
        if is_question { success.min(life(self.pursuit.visited_world(Move::Stay), Move::Stay)) } else { success }
    }

    /// The tick in which the longest life that is found after a move ends.
    fn final_tick(&self, world: &World, mut state: State, player_move: Move, expansions_max: u64) -> u16 {
        if !state.is_over() {
            world.step(&mut state, player_move);
        }
        let options = SurvivalOptions { seed: self.seed, ..SurvivalOptions::default() };
        let expansions = self.limit.expansions.unwrap_or(expansions_max).min(expansions_max);
        let limit = Limit { expansions: Some(expansions), ..self.limit };
        let solution = Survival::new(options).solve(world, &state, limit);
        if solution.outcome == Outcome::Survives { LAST_TICK + 1 } else { solution.final_tick }
    }
}
