//! A game that is played move by move, and whose moves can be taken back.
//!
//! Guarantees: a change of the moves annotates only new frames, so adding a move computes at most
//! one annotation and one forecast.

use std::sync::Arc;

use super::pack::pack;
use super::replay::{ReplayBuilder, forecast};
use getaway::game::{Move, State, World};

#[derive(Debug)]
pub struct PlayedGame {
    world: Arc<World>,
    states: Vec<State>,
    moves: Vec<Move>,
    builder: ReplayBuilder,
}

impl PlayedGame {
    pub fn new(title: &str, subtitle: &str, world: Arc<World>) -> Self {
        let mut builder = ReplayBuilder::new(title, subtitle, &world);
        builder.replay.header.map = Some(title.to_owned());
        let start = world.start();
        builder.push(&world, &start);
        Self { world, states: vec![start], moves: Vec::new(), builder }
    }

    /// Replaces the moves of the game. Returns the index of the first frame that may have changed.
    pub fn play(&mut self, moves: &[Move]) -> usize {
        let kept = self.moves.iter().zip(moves).take_while(|(before, now)| before == now).count();
        self.moves.truncate(kept);
        self.states.truncate(kept + 1);
        self.builder.truncate(kept + 1);
        for &player_move in &moves[kept..] {
            let before = &self.states[self.states.len() - 1];
            if before.is_over() {
                break;
            }
            let state = self.world.after(before, player_move);
            self.builder.push(&self.world, &state);
            self.states.push(state);
            self.moves.push(player_move);
        }
        let last = &self.states[self.states.len() - 1];
        let replay = &mut self.builder.replay;
        replay.status = last.status();
        replay.is_live = false;
        replay.forecast = if last.is_over() { Vec::new() } else { forecast(&self.world, last) };
        kept + 1
    }

    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    pub fn states(&self) -> &[State] {
        &self.states
    }

    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    pub fn pack(&self, from: usize) -> (String, Vec<u8>) {
        pack(&self.builder.replay, 0, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{Layout, Plan, Rules};

    #[test]
    fn game_is_the_same_however_its_moves_were_found() {
        let layout = Layout::parse("#######\n#P....#\n#.###.#\n#....S#\n#######").expect("a drawing");
        let world = Arc::new(World::new(&layout, &Rules::NO_JUMP).expect("a map"));
        let plan = |text: &str| text.parse::<Plan>().expect("moves");
        let mut game = PlayedGame::new("m", "you", Arc::clone(&world));
        assert_eq!(game.play(&plan("RRRR")), 1);
        assert_eq!(game.play(&plan("RRLL..")), 3);
        let mut fresh = PlayedGame::new("m", "you", world);
        fresh.play(&plan("RRLL.."));
        assert_eq!((game.moves(), game.states()), (fresh.moves(), fresh.states()));
        assert_eq!(game.pack(0), fresh.pack(0));
        assert_eq!(game.pack(3).1, fresh.pack(3).1);
    }

    #[test]
    fn moves_after_the_catch_are_ignored() {
        let layout = Layout::parse("#########\n#P.....S#\n#########").expect("a drawing");
        let world = Arc::new(World::new(&layout, &Rules::NO_JUMP).expect("a map"));
        let mut game = PlayedGame::new("m", "you", world);
        game.play(&[Move::Stay; 2000]);
        assert!(game.states()[game.moves().len()].is_caught());
        assert!(game.moves().len() < 2000);
        game.play(&[]);
        assert_eq!(game.states().len(), 1);
    }
}
