use crate::game::{Layout, Move, Rules, State, World};

/// The state that a search starts from, with its map and rules.
#[derive(Clone, Debug)]
pub(super) struct Root {
    layout: Layout,
    rules: Rules,
    state: State,
}

/// How a new root relates to the previous one.
pub(super) enum Progress {
    Same,
    /// The new root is the state after this move.
    Played(Move),
    /// The new root is of another world, or is neither the previous root nor its direct successor.
    Unrelated,
}

impl Root {
    pub fn new(world: &World, state: &State) -> Self {
        Self { layout: world.layout().clone(), rules: *world.rules(), state: state.clone() }
    }

    /// Moves the root to `state`.
    pub fn advance(&mut self, world: &World, state: &State) -> Progress {
        if self.layout != *world.layout() || self.rules != *world.rules() {
            *self = Self::new(world, state);
            return Progress::Unrelated;
        }
        if self.state == *state {
            return Progress::Same;
        }
        let played = world.successors(&self.state).find(|(_, successor)| successor == state);
        self.state = state.clone();
        played.map_or(Progress::Unrelated, |(player_move, _)| Progress::Played(player_move))
    }
}
