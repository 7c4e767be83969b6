//! A thousand games at once, and what a learner sees of each.
//!
//! A [`Batch`] keeps its games in one array and steps them all; [`Batch::parts`] lends disjoint parts of it to threads.
//! Games may be of different worlds, and so of different maps and rules. Nothing is drawn at random here: what a game
//! does depends on its own moves alone, however the batch is divided.
//!
//! A game that is over is put back to its start by the step after the one that ended it, which ignores the game's move
//! (Gymnasium calls this next-step autoreset).
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

mod observation;

use std::sync::Arc;

use crate::game::{Move, State, World};

use observation::Observer;
pub use observation::{
    CLEARANCE, COMPACT_HEADER, COMPACT_THREAT, FAR_STEPS, PLANES, STATE_HEADER, STATE_THREAT, Shape,
};

/// Games between two looks at what a step did: few enough for the fastest memory.
const CHUNK_GAMES: usize = 64;

/// Games that are stepped together. See the module's description.
#[derive(Clone, Debug)]
pub struct Batch {
    casts: Vec<Cast>,
    /// Game -> its cast.
    cast_of: Vec<u32>,
    states: Vec<State>,
    shape: Shape,
}

/// A world, and what is made of it once for all its games.
#[derive(Clone, Debug)]
struct Cast {
    world: Arc<World>,
    start: State,
    observer: Observer,
}

impl Batch {
    /// Games at their start: game `i` is of the world `worlds[world_of[i]]`. Games of one world are stepped fastest side by side.
    ///
    /// # Panics
    /// When there is no such world.
    pub fn new(worlds: Vec<Arc<World>>, world_of: Vec<usize>) -> Self {
        let shape = Shape::of(worlds.iter().map(Arc::as_ref));
        let cast = |world: Arc<World>| Cast { start: world.start(), observer: Observer::new(&world, shape), world };
        let casts: Vec<Cast> = worlds.into_iter().map(cast).collect();
        let states = world_of.iter().map(|&world| casts[world].start.clone()).collect();
        Self { casts, cast_of: world_of.into_iter().map(|world| world as u32).collect(), states, shape }
    }

    /// How many games there are.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is no game.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// What every observation has room for.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Where every game stands.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The world of a game.
    ///
    /// # Panics
    /// When there is no such game.
    pub fn world(&self, game: usize) -> &Arc<World> {
        &self.casts[self.cast_of[game] as usize].world
    }

    /// Lets a game go on from a state of its world.
    ///
    /// # Panics
    /// When there is no such game.
    pub fn set_state(&mut self, game: usize, state: State) {
        self.states[game] = state;
    }

    /// The whole batch as one part.
    fn whole(&mut self) -> BatchPart<'_> {
        BatchPart { casts: &self.casts, cast_of: &self.cast_of, states: &mut self.states, shape: self.shape }
    }

    /// At most `count` parts of nearly equal length, in the order of the games, that threads can work on at the same time.
    pub fn parts(&mut self, count: usize) -> impl Iterator<Item = BatchPart<'_>> {
        let games = self.part_games(count);
        let (casts, shape) = (&self.casts, self.shape);
        let parts = self.states.chunks_mut(games).zip(self.cast_of.chunks(games));
        parts.map(move |(states, cast_of)| BatchPart { casts, cast_of, states, shape })
    }

    /// Games in each part that [`Batch::parts`] makes, but for the last, which may be shorter.
    pub fn part_games(&self, count: usize) -> usize {
        self.len().div_ceil(count.max(1)).max(1)
    }

    /// Puts games back to their start: those whose mark is set.
    ///
    /// # Panics
    /// When there are not as many marks as games.
    pub fn reset(&mut self, marks: &[bool]) {
        self.whole().reset(marks);
    }

    /// One step of every game: see [`BatchPart::step`].
    ///
    /// # Panics
    /// As [`BatchPart::step`].
    pub fn step(&mut self, moves: &[Move], rewards: &mut [f32], terminations: &mut [bool]) {
        self.whole().step(moves, rewards, terminations);
    }
}

/// Some games of a [`Batch`], borrowed.
#[derive(Debug)]
pub struct BatchPart<'a> {
    casts: &'a [Cast],
    cast_of: &'a [u32],
    states: &'a mut [State],
    shape: Shape,
}

impl BatchPart<'_> {
    /// How many games there are.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is no game.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Puts games back to their start: those whose mark is set.
    ///
    /// # Panics
    /// When there are not as many marks as games.
    pub fn reset(&mut self, marks: &[bool]) {
        assert_eq!(marks.len(), self.len(), "{} marks for {} games", marks.len(), self.len());
        for ((state, &cast), _) in self.states.iter_mut().zip(self.cast_of).zip(marks).filter(|&(_, &mark)| mark) {
            *state = self.casts[cast as usize].start.clone();
        }
    }

    /// One step of every game. A game that goes on plays its move: its reward is the ticks that it gained, which is 1, or 0 for
    /// a player that the no-jump variant caught; it is terminated if that ended it. A game that was over goes back to its
    /// start: its move is ignored, its reward is 0, and it is not terminated.
    ///
    /// # Panics
    /// When there are not as many moves, rewards and terminations as games.
    pub fn step(&mut self, moves: &[Move], rewards: &mut [f32], terminations: &mut [bool]) {
        let games = self.len();
        let lengths = [moves.len(), rewards.len(), terminations.len()];
        assert_eq!(lengths, [games; 3], "moves, rewards and terminations: expected {games} of each");
        let mut first = 0;
        for run in self.cast_of.chunk_by(|one, other| one == other) {
            let cast = &self.casts[run[0] as usize];
            let end = first + run.len();
            for from in (first..end).step_by(CHUNK_GAMES) {
                let chunk = from..end.min(from + CHUNK_GAMES);
                let (rewards, terminations) = (&mut rewards[chunk.clone()], &mut terminations[chunk.clone()]);
                step_chunk(cast, &mut self.states[chunk.clone()], &moves[chunk], rewards, terminations);
            }
            first = end;
        }
    }

    /// Writes what a compact observation says of every game: [`Shape::compact`] numbers each.
    ///
    /// # Panics
    /// When there is not exactly the room for them.
    pub fn write_compact(&self, out: &mut [i16]) {
        self.write(out, self.shape.compact(), Observer::write_compact);
    }

    /// Writes the state of every game: [`Shape::state`] numbers each.
    ///
    /// # Panics
    /// When there is not exactly the room for them.
    pub fn write_states(&self, out: &mut [i16]) {
        self.write(out, self.shape.state(), Observer::write_state);
    }

    /// Writes the planes of every game: the product of [`Shape::planes`] numbers each.
    ///
    /// # Panics
    /// When there is not exactly the room for them.
    pub fn write_planes(&self, out: &mut [u8]) {
        self.write(out, self.shape.planes().iter().product(), Observer::write_planes);
    }

    fn write<T>(&self, out: &mut [T], length: usize, write: fn(&Observer, &World, &State, &mut [T])) {
        assert_eq!(out.len(), self.len() * length, "observations: expected {} times {length} numbers", self.len());
        let rows = out.chunks_exact_mut(length);
        for ((row, state), &cast) in rows.zip(&*self.states).zip(self.cast_of) {
            let cast = &self.casts[cast as usize];
            write(&cast.observer, &cast.world, state, row);
        }
    }
}

/// A step of games of one world, at most [`CHUNK_GAMES`].
fn step_chunk(cast: &Cast, states: &mut [State], moves: &[Move], rewards: &mut [f32], terminations: &mut [bool]) {
    let mut ticks_before = [0; CHUNK_GAMES];
    for ((before, is_over), state) in ticks_before.iter_mut().zip(&mut *terminations).zip(&*states) {
        (*before, *is_over) = (state.tick(), state.is_over());
    }
    cast.world.step_batch(states, moves);
    for (((state, reward), termination), before) in states.iter_mut().zip(rewards).zip(terminations).zip(ticks_before) {
        if *termination {
            state.clone_from(&cast.start);
            (*reward, *termination) = (0.0, false);
        } else {
            (*reward, *termination) = (f32::from(state.tick() - before), state.is_over());
        }
    }
}
