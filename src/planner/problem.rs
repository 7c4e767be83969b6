//! This game as a search problem. Copying a state allocates no memory if the game has at most eight
//! threats.

use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Problem, Random};

/// The problem of surviving in a world. The reward of a state is its tick; the score of a finished
/// game is five times that tick.
#[derive(Clone, Copy, Debug)]
pub struct SurvivalProblem<'w> {
    world: &'w World,
}

impl<'w> SurvivalProblem<'w> {
    /// Creates the problem of surviving in `world`.
    pub const fn new(world: &'w World) -> Self {
        Self { world }
    }

    #[inline]
    fn is_distinct(&self, state: &State, player_move: Move) -> bool {
        player_move == Move::Stay
            || self.world.tile_after(state, player_move) != self.world.tile_after(state, Move::Stay)
    }
}

impl Problem for SurvivalProblem<'_> {
    type State = State;
    type Action = Move;

    fn actions(&self, state: &State, actions: &mut Vec<Move>) {
        actions.extend(self.world.legal_moves(state));
    }

    #[inline]
    fn apply(&self, state: &mut State, player_move: Move) {
        self.world.step_unchecked(state, player_move);
    }

    #[inline]
    fn is_final(&self, state: &State) -> bool {
        state.is_over()
    }

    #[inline]
    fn reward(&self, state: &State) -> f64 {
        f64::from(state.tick())
    }

    fn best_possible(&self) -> f64 {
        f64::from(LAST_TICK + 1)
    }

    /// Draws moves until one is possible, which is usually faster than listing the possible moves.
    #[inline]
    fn random(&self, state: &State, _: &mut Vec<Move>, random: &mut Random) -> Move {
        loop {
            let player_move = Move::ALL[random.below(Move::ALL.len())];
            if self.is_distinct(state, player_move) {
                return player_move;
            }
        }
    }

    /// Draws a random move. While the move leads to an immediate catch, tries the next one in the
    /// cyclic order of [`Move::ALL`]. Returns the drawn move if all moves lead to a catch.
    #[inline]
    fn greedy(&self, state: &State, actions: &mut Vec<Move>, random: &mut Random, trial_ticks: &mut u64) -> Move {
        let first = self.random(state, actions, random);
        let cycle = (0..Move::ALL.len()).map(|turn| Move::ALL[(first as usize + turn) % Move::ALL.len()]);
        let safe = cycle.filter(|&player_move| self.is_distinct(state, player_move)).find(|&player_move| {
            *trial_ticks += 1;
            !self.world.after(state, player_move).is_caught()
        });
        safe.unwrap_or(first)
    }

    /// The code combines the tick, the player's tile and the move, but ignores the threats.
    #[inline]
    fn code(&self, state: &State, player_move: Move, _depth: usize, _index: usize) -> u64 {
        let tile = self.world.tile_after(state, Move::Stay);
        u64::from(state.tick()) << 32 | u64::from(tile) << 8 | player_move as u64
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::game::{Layout, Rules};

    fn world(drawing: &str) -> World {
        World::new(&Layout::parse(drawing).expect("a drawing"), &Rules::BLITZ_2025).expect("a map")
    }

    #[test]
    fn random_draws_every_open_move_about_equally_often() {
        let world = world("P..\n.##");
        let (problem, state) = (SurvivalProblem::new(&world), world.start());
        let mut random = Random::from_seed(1);
        let mut counts = [0; 5];
        for _ in 0..3000 {
            counts[problem.random(&state, &mut Vec::new(), &mut random) as usize] += 1;
        }
        assert_eq!([counts[0], counts[2]], [0, 0], "walls");
        assert!([counts[1], counts[3], counts[4]].iter().all(|&count| count > 900), "{counts:?}");
    }

    #[test]
    fn greedy_avoids_a_catch_where_possible() {
        // In tick 5, the goldfish must move left onto the player's tile, so staying is fatal.
        let world = world("P.G\n.##");
        let problem = SurvivalProblem::new(&world);
        let mut state = world.start();
        for player_move in [Move::Right, Move::Stay, Move::Stay, Move::Stay] {
            world.step_unchecked(&mut state, player_move);
        }
        let mut random = Random::from_seed(1);
        for _ in 0..100 {
            let player_move = problem.greedy(&state, &mut Vec::new(), &mut random, &mut 0);
            assert!([Move::Left, Move::Right].contains(&player_move), "{player_move:?}");
        }
    }

    #[test]
    fn greedy_returns_a_move_when_all_are_fatal() {
        let world = world("P~G");
        let mut state = world.start();
        while !state.is_caught() {
            let player_move =
                SurvivalProblem::new(&world).greedy(&state, &mut Vec::new(), &mut Random::from_seed(1), &mut 0);
            assert_eq!(player_move, Move::Stay);
            world.step_unchecked(&mut state, player_move);
        }
    }
}
