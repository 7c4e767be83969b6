//! Steps thousands of games at once, and writes observations of them for machine learning.
//! [`Batch::parts`] divides the games into parts for several threads. Games may have different
//! worlds, and do not affect each other. The step after a game's end resets the game and ignores
//! its move (Gymnasium's next-step autoreset).
//!
//! ```
//! use std::sync::Arc;
//! use getaway::batch::Batch;
//! use getaway::game::{Layout, Move, Rules, World};
//!
//! let world = World::new(&Layout::parse("P..B")?, &Rules::BLITZ_2025)?;
//! let mut batch = Batch::new(vec![Arc::new(world)], vec![0; 1024]);
//! let (mut rewards, mut terminations) = (vec![0.0; 1024], vec![false; 1024]);
//! batch.step(&[Move::Right; 1024], &mut rewards, &mut terminations);
//! assert_eq!((rewards[7], terminations[7]), (1.0, false));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod features;
mod observation;
mod values;
mod window;

use std::ops::Range;
use std::sync::Arc;

use crate::game::{Move, State, World};

pub use observation::{NumbersError, Shape};
use observation::{Observer, read_state};

/// Games that are stepped together: see the [module documentation](self).
#[derive(Clone, Debug)]
pub struct Batch {
    setups: Arc<[WorldSetup]>,
    /// For each game, the index of its setup in `setups`.
    setup_of: Arc<[u32]>,
    states: Vec<State>,
    shape: Shape,
}

#[derive(Clone, Debug)]
struct WorldSetup {
    world: Arc<World>,
    start: State,
    observer: Observer,
}

impl Batch {
    /// Creates one game per element of `world_of`: game `i` starts in `worlds[world_of[i]]`.
    /// Stepping is fastest if games in the same world are adjacent.
    ///
    /// # Panics
    /// If an element of `world_of` is not a valid index into `worlds`.
    pub fn new(worlds: Vec<Arc<World>>, world_of: Vec<usize>) -> Self {
        Self::with_window(worlds, world_of, Shape::WINDOW_SIDE)
    }

    /// Like [`Batch::new`], with windows of `side` rows and `side` columns.
    ///
    /// # Panics
    /// In the same cases as [`Batch::new`], or if `side` is even or above [`Shape::WINDOW_SIDE_MAX`].
    pub fn with_window(worlds: Vec<Arc<World>>, world_of: Vec<usize>, side: usize) -> Self {
        assert!(side % 2 == 1 && side <= Shape::WINDOW_SIDE_MAX, "window of {side}: expected an odd number up to 63");
        let shape = Shape { window: side, ..Shape::of(worlds.iter().map(Arc::as_ref)) };
        let setup =
            |world: Arc<World>| WorldSetup { start: world.start(), observer: Observer::new(&world, shape), world };
        let setups: Arc<[WorldSetup]> = worlds.into_iter().map(setup).collect();
        let states = world_of.iter().map(|&world| setups[world].start.clone()).collect();
        Self { setups, setup_of: world_of.into_iter().map(|world| world as u32).collect(), states, shape }
    }

    /// The number of games.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// True if there are no games.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The dimensions of the observations, equal for all games.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The current state of every game.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The number of the player's tile in each game.
    pub fn player_tiles(&self) -> Vec<u16> {
        self.states.iter().map(State::player_tile).collect()
    }

    /// For each game and move of [`Move::ALL`], 0 if the move is blocked on the given tile of the
    /// player, otherwise 1. `None` if a tile does not exist.
    pub fn action_masks(&self, tiles: &[u16]) -> Option<Vec<i8>> {
        let mut masks = Vec::with_capacity(tiles.len() * Move::ALL.len());
        for (&tile, &setup) in tiles.iter().zip(&*self.setup_of) {
            masks.extend(self.setups[setup as usize].observer.action_mask(tile)?);
        }
        Some(masks)
    }

    /// The world of a game.
    ///
    /// # Panics
    /// If the game does not exist.
    pub fn world(&self, game: usize) -> &Arc<World> {
        &self.setups[self.setup_of[game] as usize].world
    }

    /// Sets the state of a game to `state`, which must be a state of the game's world.
    ///
    /// # Panics
    /// If the game does not exist.
    pub fn set_state(&mut self, game: usize, state: State) {
        self.states[game] = state;
    }

    /// Builds a state of a game's world from numbers in the format of [`BatchPart::write_states`].
    ///
    /// # Errors
    /// If the numbers do not describe a state of the world.
    ///
    /// # Panics
    /// If the game does not exist.
    pub fn state_of_numbers(&self, game: usize, numbers: &[i16]) -> Result<State, NumbersError> {
        read_state(self.world(game), numbers)
    }

    /// Borrows the games in this range as one part.
    ///
    /// # Panics
    /// If one of the games does not exist, or if the range starts after its end.
    pub fn part(&mut self, games: Range<usize>) -> BatchPart<'_> {
        let (setup_of, states) = (&self.setup_of[games.clone()], &mut self.states[games]);
        BatchPart { setups: &self.setups, setup_of, states, shape: self.shape }
    }

    /// Divides the games, in order, into at most `count` parts of [`Batch::part_games`] games. A
    /// `count` of 0 means 1.
    pub fn parts(&mut self, count: usize) -> impl Iterator<Item = BatchPart<'_>> {
        let games = self.part_games(count);
        let (setups, shape) = (&self.setups, self.shape);
        let parts = self.states.chunks_mut(games).zip(self.setup_of.chunks(games));
        parts.map(move |(states, setup_of)| BatchPart { setups, setup_of, states, shape })
    }

    /// The number of games in each part of [`Batch::parts`]. The last part may have fewer games.
    pub fn part_games(&self, count: usize) -> usize {
        self.len().div_ceil(count.max(1)).max(1)
    }

    /// Resets the marked games.
    ///
    /// # Panics
    /// If the number of marks differs from the number of games.
    pub fn reset(&mut self, marks: &[bool]) {
        self.part(0..self.len()).reset(marks);
    }

    /// Steps every game once.
    ///
    /// # Panics
    /// See [`BatchPart::step`].
    pub fn step(&mut self, moves: &[Move], rewards: &mut [f32], terminations: &mut [bool]) {
        self.part(0..self.len()).step(moves, rewards, terminations);
    }
}

/// A borrowed part of the games of a [`Batch`].
#[derive(Debug)]
pub struct BatchPart<'a> {
    setups: &'a [WorldSetup],
    setup_of: &'a [u32],
    states: &'a mut [State],
    shape: Shape,
}

impl BatchPart<'_> {
    /// The number of games.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// True if there are no games.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Resets the marked games.
    ///
    /// # Panics
    /// If the number of marks differs from the number of games.
    pub fn reset(&mut self, marks: &[bool]) {
        assert_eq!(marks.len(), self.len(), "{} marks for {} games", marks.len(), self.len());
        for ((state, &setup), _) in self.states.iter_mut().zip(self.setup_of).zip(marks).filter(|&(_, &mark)| mark) {
            *state = self.setups[setup as usize].start.clone();
        }
    }

    /// Steps every game once. The reward is the number of ticks gained: 1, or 0 if the player steps
    /// onto a threat in the no-jump variant. The termination is true if the step ended the game. A
    /// game that was already over is reset instead: reward 0, termination false, move ignored.
    ///
    /// # Panics
    /// If the number of moves, rewards or terminations differs from the number of games.
    pub fn step<T: From<bool>>(&mut self, moves: &[Move], rewards: &mut [f32], terminations: &mut [T]) {
        let games = self.len();
        let lengths = [moves.len(), rewards.len(), terminations.len()];
        assert_eq!(lengths, [games; 3], "moves, rewards and terminations: expected {games} of each");
        let games = self.states.iter_mut().zip(self.setup_of).zip(moves);
        for (((state, &setup), &player_move), (reward, termination)) in games.zip(rewards.iter_mut().zip(terminations))
        {
            let setup = &self.setups[setup as usize];
            if state.is_over() {
                state.clone_from(&setup.start);
                (*reward, *termination) = (0.0, false.into());
                continue;
            }
            let tick = state.tick();
            setup.world.step_unchecked(state, player_move);
            (*reward, *termination) = (f32::from(state.tick() - tick), state.is_over().into());
        }
    }

    /// Writes the compact observation of every game: [`Shape::compact`] numbers per game.
    ///
    /// # Panics
    /// If `out` does not have the right length.
    pub fn write_compact(&self, out: &mut [i16]) {
        self.write(out, self.shape.compact(), Observer::write_compact);
    }

    /// Writes the complete state of every game: [`Shape::state`] numbers per game.
    ///
    /// # Panics
    /// If `out` does not have the right length.
    pub fn write_states(&self, out: &mut [i16]) {
        self.write(out, self.shape.state(), Observer::write_state);
    }

    /// Writes every game as an image with the planes, rows and columns of [`Shape::planes`].
    ///
    /// # Panics
    /// If `out` does not have the right length.
    pub fn write_planes(&self, out: &mut [u8]) {
        self.write(out, self.shape.planes().iter().product(), Observer::write_planes);
    }

    /// Writes the window of every game, with the planes, rows and columns of [`Shape::windows`].
    ///
    /// # Panics
    /// If `out` does not have the right length.
    pub fn write_windows(&self, out: &mut [u8]) {
        self.write(out, self.shape.windows().iter().product(), Observer::write_windows);
    }

    /// Writes the features of every game: [`Shape::FEATURES`] numbers per game.
    ///
    /// # Panics
    /// If `out` does not have the right length.
    pub fn write_features(&self, out: &mut [i16]) {
        self.write(out, Shape::FEATURES, Observer::write_features);
    }

    fn write<T>(&self, out: &mut [T], length: usize, write: impl Fn(&Observer, &World, &State, &mut [T])) {
        assert_eq!(out.len(), self.len() * length, "observations: expected {} times {length} numbers", self.len());
        let rows = out.chunks_exact_mut(length);
        for ((row, state), &setup) in rows.zip(&*self.states).zip(self.setup_of) {
            let setup = &self.setups[setup as usize];
            write(&setup.observer, &setup.world, state, row);
        }
    }
}
