//! A plan that is being played, and how a planner notices that the game no longer follows it.

use crate::game::{Move, State, World};

/// The moves that are left, and the state in which the next of them is due.
#[derive(Clone, Debug)]
pub(super) struct Course {
    moves: Vec<Move>,
    next: usize,
    due: State,
}

impl Course {
    /// The plan `moves`, to be played from `state`.
    pub fn new(state: &State, moves: Vec<Move>) -> Self {
        Self { moves, next: 0, due: state.clone() }
    }

    /// The moves that are left, if the game is where the plan says.
    pub fn rest(&self, state: &State) -> Option<&[Move]> {
        (self.due == *state).then(|| &self.moves[self.next..])
    }

    /// The next move, if the game is where the plan says and the plan goes on from there. The move is taken as played.
    pub fn take(&mut self, world: &World, state: &State) -> Option<Move> {
        let player_move = *self.rest(state)?.first()?;
        self.next += 1;
        world.step(&mut self.due, player_move);
        Some(player_move)
    }
}

/// The state after a move.
pub(super) fn successor(world: &World, state: &State, player_move: Move) -> State {
    let mut state = state.clone();
    world.step(&mut state, player_move);
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};

    #[test]
    fn a_course_ends_where_the_game_leaves_it() {
        let world = World::new(&Layout::parse("P...").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let start = world.start();
        let mut course = Course::new(&start, vec![Move::Right, Move::Right, Move::Left]);
        assert_eq!(course.take(&world, &start), Some(Move::Right));
        let on_course = successor(&world, &start, Move::Right);
        let off_course = successor(&world, &start, Move::Stay);
        assert_eq!(course.take(&world, &off_course), None);
        assert_eq!(course.rest(&on_course), Some(&[Move::Right, Move::Left][..]));
        assert_eq!(course.take(&world, &on_course), Some(Move::Right));
    }
}
