//! Steps many games in one world together.

use super::tables::DIRECTIONS;
use super::threats::{LANES, PlayerView};
use super::{Direction, FIRST_TICK, Move, State, World};

/// Games stepped together: few enough that their states stay in the first-level cache between two
/// passes.
const BLOCK_GAMES: usize = 64;

impl World {
    /// Plays one tick of every game that is not over, each with its own move; games that are over
    /// stay as they are.
    ///
    /// Equivalent to [`World::step`] on each of them, and faster: the games of a block pass through
    /// a tick phase by phase. Whether the threats of a game move is then not a branch that the
    /// processor has to predict, and the lookups of one game overlap with those of the next.
    ///
    /// # Panics
    /// When the numbers of moves and states differ, or as for [`World::step`].
    pub fn step_batch(&self, states: &mut [State], moves: &[Move]) {
        assert_eq!(states.len(), moves.len(), "{} states and {} moves", states.len(), moves.len());
        for (states, moves) in states.chunks_mut(BLOCK_GAMES).zip(moves.chunks(BLOCK_GAMES)) {
            if self.rules.no_jump {
                self.step_block::<true>(states, moves);
            } else {
                self.step_block::<false>(states, moves);
            }
        }
    }

    /// Plays one tick of at most [`BLOCK_GAMES`] games, in three passes: the player's moves, the
    /// threats' in the games in which they move, and the catch.
    fn step_block<const NO_JUMP: bool>(&self, states: &mut [State], moves: &[Move]) {
        // The games whose threats move, and where the player was before its move.
        let mut movers = [(0_u8, 0_u16); BLOCK_GAMES];
        let mut count = 0;
        for ((index, state), &player_move) in (0..).zip(&mut *states).zip(moves) {
            self.check_shape(state);
            if state.is_over() {
                continue;
            }
            let stale = state.player;
            state.player = self.tables.player_next[usize::from(stale) * 8 + player_move as usize];
            if NO_JUMP && state.is_threat_on(state.player) {
                state.is_caught = true;
                continue;
            }
            // Always written, but counted only if the threats move.
            movers[count % BLOCK_GAMES] = (index, stale);
            count += usize::from(self.clock.tick(state.tick).threats_move());
            state.tick += 1;
        }
        for &(index, stale) in &movers[..count] {
            let state = &mut states[usize::from(index)];
            // As in `World::step`.
            let stale = if state.tick == FIRST_TICK + 1 { self.tables.nowhere() } else { stale };
            let owls_look = self.clock.tick(state.tick - 1).owls_look;
            self.advance(state, PlayerView { present: state.player, stale, owls_look });
        }
        // Also in games that are over: a second check finds what the first one found.
        for state in states {
            state.check_caught();
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
