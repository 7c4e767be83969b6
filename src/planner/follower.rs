//! Follows a plan as long as the game is in the state that the plan predicts.

use std::vec;

use crate::game::{Move, State, World};

#[derive(Clone, Debug)]
pub(crate) struct PlanFollower {
    /// The moves that are left.
    pub moves: vec::IntoIter<Move>,
    expected: State,
}

impl PlanFollower {
    pub fn new(state: &State, moves: Vec<Move>) -> Self {
        Self { moves: moves.into_iter(), expected: state.clone() }
    }

    pub fn remaining(&self, state: &State) -> Option<&[Move]> {
        (self.expected == *state).then_some(self.moves.as_slice())
    }

    pub fn next_move(&mut self, world: &World, state: &State) -> Option<Move> {
        let player_move = *self.remaining(state)?.first()?;
        self.moves.next();
        world.step_unchecked(&mut self.expected, player_move);
        Some(player_move)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};

    #[test]
    fn follower_stops_when_the_game_leaves_the_plan() {
        let world = World::new(&Layout::parse("P...").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let start = world.start();
        let mut follower = PlanFollower::new(&start, vec![Move::Right, Move::Right, Move::Left]);
        assert_eq!(follower.next_move(&world, &start), Some(Move::Right));
        let on_plan = world.after(&start, Move::Right);
        let off_plan = world.after(&start, Move::Stay);
        assert_eq!(follower.next_move(&world, &off_plan), None);
        assert_eq!(follower.remaining(&on_plan), Some(&[Move::Right, Move::Left][..]));
        assert_eq!(follower.next_move(&world, &on_plan), Some(Move::Right));
    }
}
