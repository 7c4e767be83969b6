//! The rules and nothing else: no files, clock, threads, globals, or allocation per tick.

mod action;
mod clock;
mod graph;
mod grid;
mod layout;
mod random;
mod route;
mod rules;
mod state;
mod threat;

pub use action::{Action, ActionError};
pub use clock::Clock;
pub use graph::{BreadthFirst, Mover, StreetGraph, UNREACHED};
pub use grid::{MAX_OPEN_TILES, MAX_THREATS};
pub use layout::{Direction, DrawingError, Layout, Personality, Position, Spawn, Style, Tile};
pub use rules::{PeriodTicks, PhaseClocks, Rules, RulesError, View};
pub use state::{GameOver, Move, PlacementError, State, Threat, World, WorldBuilder, WorldError};

/// The first tick of a game.
pub const FIRST_TICK: u16 = 1;
/// The last tick that is played; a game that is alive at the start of the next one is complete.
pub const LAST_TICK: u16 = 2000;
/// Points for each tick reached: a complete game scores `5 * 2001 = 10,005`.
pub const POINTS_PER_TICK: u32 = 5;
