use super::{Action, Layout, Move, PlayError, Position, Rules, State, World, WorldError};

/// A game in progress, which owns its world. A search, which needs many states of one world, uses
/// [`World`] and [`State`] instead.
#[derive(Clone, Debug)]
pub struct Game {
    world: World,
    state: State,
}

impl Game {
    /// Starts a game on a map.
    ///
    /// # Errors
    /// See [`World::new`].
    pub fn new(layout: &Layout, rules: &Rules) -> Result<Self, WorldError> {
        let world = World::new(layout, rules)?;
        Ok(Self { state: world.start(), world })
    }

    /// The map and its rules.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The current state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The score if the game ends now; at the end of the game, the final score.
    pub fn score(&self) -> u32 {
        self.world.score(&self.state)
    }

    /// The player's position.
    pub fn player(&self) -> Position {
        self.world.player(&self.state)
    }

    /// Plays one tick with a move.
    ///
    /// # Errors
    /// If the game is over or the move is blocked. The game is then unchanged.
    pub fn step(&mut self, player_move: Move) -> Result<(), PlayError> {
        self.world.step(&mut self.state, player_move)
    }

    /// Plays one tick with a command, as the server does. Returns the player's move.
    ///
    /// # Errors
    /// If the game is over. The game is then unchanged.
    pub fn step_command(&mut self, command: &[Action]) -> Result<Move, PlayError> {
        self.world.step_command(&mut self.state, command)
    }
}
