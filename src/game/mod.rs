//! The rules of the game. A [`World`] is built from [`Rules`] and a [`Layout`], and plays ticks on
//! a [`State`] without allocating memory. A [`Game`] holds a world and its current state. The module
//! uses no files, system time or threads. Its only global state is a cache of constants.
//!
//! Positions are in tiles: `x` grows to the right and `y` **downwards**, from (0, 0) at the top left.
//! Times are in ticks, from [`FIRST_TICK`] to [`LAST_TICK`]; a game that ends at tick 2001 was
//! survived.

mod action;
mod batch;
mod builder;
mod clock;
mod graph;
mod layout;
mod memory;
mod moves;
mod names;
mod observer;
mod owned;
pub(crate) mod picks;
mod position;
pub(crate) mod routes;
mod rules;
mod snapshot;
mod state;
mod style;
mod tables;
mod threats;
mod world;

pub use action::{Action, ActionError};
pub use builder::{WorldBuilder, WorldError};
pub use clock::Clock;
pub(crate) use graph::BreadthFirst;
pub use graph::{Mover, StreetGraph, UNREACHED};
pub use layout::{DrawingError, Layout, Spawn, Tile};
pub use moves::{Move, Plan};
pub use names::NameError;
pub(crate) use names::named;
pub use owned::Game;
pub use position::{Direction, Position};
pub use rules::{PeriodTicks, Personalities, PhaseClocks, Rules, RulesError, StyleNames, View, Wire, rules_fields};
pub use snapshot::{Snapshot, SnapshotError};
pub use state::{State, Status, Threat};
pub(crate) use style::StyleMemory;
pub use style::{Personality, Style};
pub use tables::{MAX_OPEN_TILES, MAX_THREATS};
pub use world::{PlacementError, PlayError, World};

/// The first tick of a game.
pub const FIRST_TICK: u16 = 1;
/// The last tick of a game.
pub const LAST_TICK: u16 = 2000;
/// Points per tick. The score is this number times [`State::tick`] at the end of the game: 10,005
/// if the game is complete.
pub const POINTS_PER_TICK: u32 = 5;
