//! Steps many games in one world together.

use super::tables::DIRECTIONS;
use super::threats::LANES;
use super::{Direction, Move, State, World};

impl World {
    /// Plays one tick of every game that is not over, each with its own move; games that are over
    /// stay as they are.
    ///
    /// Equivalent to [`World::step`] on each of them. Games do not depend on one another, so the
    /// processor overlaps the lookups of one with those of the next.
    ///
    /// # Panics
    /// When the numbers of moves and states differ, or as for [`World::step`].
    pub fn step_batch(&self, states: &mut [State], moves: &[Move]) {
        assert_eq!(states.len(), moves.len(), "{} states and {} moves", states.len(), moves.len());
        for (state, &player_move) in states.iter_mut().zip(moves) {
            if !state.is_over() {
                self.step(state, player_move);
            }
        }
    }

    /// A threat's position, as the number of a tile of [`World::graph`], and its direction: a
    /// faster alternative to [`World::threat`].
    ///
    /// # Panics
    /// When there is no such threat.
    #[inline]
    pub fn threat_pose(&self, state: &State, index: usize) -> (u16, Direction) {
        let lane = usize::from(self.lanes[index]);
        let block = if lane < LANES { &state.first } else { &state.more[lane / LANES - 1] };
        let pose = block.poses[lane % LANES];
        (pose / DIRECTIONS as u16, Direction::ALL[usize::from(pose) % DIRECTIONS])
    }
}
