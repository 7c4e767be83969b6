//! This game as a search problem: where the grammar of [`search`](crate::search) meets the rules.
//!
//! Promise: no rollout allocates on a map of up to eight threats, and every play ends, at the latest with tick 2000.

use crate::game::{LAST_TICK, Move, State, World};
use crate::search::{Generator, Problem, below};

/// Surviving in a world, move by move; the reward is the tick in which the life ends, and so the score but for a factor.
#[derive(Clone, Copy, Debug)]
pub struct Chase<'w> {
    world: &'w World,
}

impl<'w> Chase<'w> {
    /// The problem of surviving in `world`, from whatever state a search starts in.
    pub const fn new(world: &'w World) -> Self {
        Self { world }
    }

    /// Whether a move differs from staying, or is it.
    #[inline]
    fn leads_somewhere(&self, state: &State, player_move: Move) -> bool {
        player_move == Move::Stay
            || self.world.tile_after(state, player_move) != self.world.tile_after(state, Move::Stay)
    }
}

impl Problem for Chase<'_> {
    type State = State;
    type Action = Move;

    fn actions(&self, state: &State, actions: &mut Vec<Move>) {
        actions.extend(self.world.moves(state));
    }

    #[inline]
    fn apply(&self, state: &mut State, player_move: Move) {
        self.world.step(state, player_move);
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

    /// Draws from all five moves until one is open: on streets that is quicker than counting the open ones first.
    #[inline]
    fn random(&self, state: &State, _: &mut Vec<Move>, random: &mut Generator) -> Move {
        loop {
            let player_move = Move::ALL[below(random, Move::ALL.len())];
            if self.leads_somewhere(state, player_move) {
                return player_move;
            }
        }
    }

    /// "Not dead": a random move, or else the next one in the order of [`Move::ALL`], after which the player is not caught. The server notices a
    /// catch only at the start of the next tick; here it shows as soon as the move is tried. If every move is fatal, any will do.
    #[inline]
    fn greedy(&self, state: &State, actions: &mut Vec<Move>, random: &mut Generator, trial_ticks: &mut u64) -> Move {
        let first = self.random(state, actions, random);
        let mut player_move = first;
        loop {
            let mut successor = state.clone();
            self.world.step(&mut successor, player_move);
            *trial_ticks += 1;
            if !successor.is_caught() {
                return player_move;
            }
            player_move = next_move(player_move);
            while !self.leads_somewhere(state, player_move) {
                player_move = next_move(player_move);
            }
            if player_move == first {
                return first;
            }
        }
    }
}

/// The move after this one in a circle.
#[inline]
const fn next_move(player_move: Move) -> Move {
    Move::ALL[(player_move as usize + 1) % Move::ALL.len()]
}

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::SeedableRng;

    use super::*;
    use crate::game::{Layout, Rules};

    fn world(drawing: &str) -> World {
        World::new(&Layout::parse(drawing).expect("a drawing"), &Rules::BLITZ_2025).expect("a map")
    }

    #[test]
    fn random_draws_every_open_move_about_equally_often() {
        let world = world("P..\n.##");
        let (chase, state) = (Chase::new(&world), world.start());
        let mut random = Generator::seed_from_u64(1);
        let mut counts = [0; 5];
        for _ in 0..3000 {
            counts[chase.random(&state, &mut Vec::new(), &mut random) as usize] += 1;
        }
        assert_eq!([counts[0], counts[2]], [0, 0], "walls");
        assert!([counts[1], counts[3], counts[4]].iter().all(|&count| count > 900), "{counts:?}");
    }

    #[test]
    fn greedy_does_not_step_into_a_catch_that_can_be_avoided() {
        // The goldfish has one way to go, left, and takes it on tick 5; staying where the player is would be fatal then.
        let world = world("P.g\n.##");
        let chase = Chase::new(&world);
        let mut state = world.start();
        for player_move in [Move::Right, Move::Stay, Move::Stay, Move::Stay] {
            world.step(&mut state, player_move);
        }
        let mut random = Generator::seed_from_u64(1);
        for _ in 0..100 {
            let player_move = chase.greedy(&state, &mut Vec::new(), &mut random, &mut 0);
            assert!([Move::Left, Move::Right].contains(&player_move), "{player_move:?}");
        }
    }

    #[test]
    fn greedy_still_moves_when_all_is_lost() {
        // Tick 5: the goldfish, which has one way to go, comes onto the only tile there is.
        let world = world("P~g");
        let mut state = world.start();
        while !state.is_caught() {
            let player_move =
                Chase::new(&world).greedy(&state, &mut Vec::new(), &mut Generator::seed_from_u64(1), &mut 0);
            assert_eq!(player_move, Move::Stay);
            world.step(&mut state, player_move);
        }
    }
}
