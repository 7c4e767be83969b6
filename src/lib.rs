//! **getaway** reimplements the car chase of Coveo's *Blitz 2025* exactly, and plans whole games.
//!
//! To use the library in a crate next to a checkout of its repository, add to `Cargo.toml`:
//!
//! ```toml
//! [dependencies]
//! getaway = { path = "../getaway" }
//! ```
//!
//! From version 1.0 on, the API keeps its meaning within a major version, except for items that this
//! documentation does not show. The moves that a search finds, and its number of simulated ticks,
//! may change in any version. Structs of options, which implement `Default`, may gain fields: end
//! their expressions with `..Default::default()`. Structs and enums that neither implement `Default`
//! nor are marked as non-exhaustive keep their fields and variants. The message of an error contains
//! those of its sources.
//!
//! In the checkout, `cargo run --release --example NAME` runs the examples `play`, `solve` and
//! `custom_planner`.
//!
//! Play a game by the server's rules, with one move per tick:
//!
//! ```
//! use getaway::game::{Direction, Game, Layout, Move, PlayError, Position, Rules};
//!
//! let layout = Layout::parse("#######\n#P....#\n#.###.#\n#....S#\n#######")?;
//! let mut game = Game::new(&layout, &Rules::BLITZ_2025)?;
//! assert_eq!(game.step(Move::Left), Err(PlayError::Blocked(Direction::Left)));
//! game.step(Move::Right)?;
//! assert_eq!(game.state().tick(), 2);
//! assert_eq!(game.player(), Position::new(2, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Solve a game before the first move. If no line of moves survives, the solver can prove a bound:
//!
//! ```
//! use getaway::game::{Layout, Rules, World};
//! use getaway::search::Budget;
//! use getaway::solve::{Outcome, solve};
//!
//! let layout = Layout::parse("#######\n#P....#\n#.###.#\n#....S#\n#######")?;
//! let world = World::new(&layout, &Rules::NO_JUMP)?;
//! let solution = solve(&world, &world.start(), Budget::ticks(1_000_000));
//! assert_eq!((solution.outcome, solution.moves.len()), (Outcome::Survives, 2000));
//!
//! let world = World::new(&Layout::parse("####\n#P.S\n####")?, &Rules::NO_JUMP)?;
//! let solution = solve(&world, &world.start(), Budget::ticks(1_000_000));
//! assert_eq!((solution.outcome, solution.final_tick, solution.bound_tick), (Outcome::Doomed, 11, 11));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Let a planner play. Its name can be any expression of the Monte Carlo search grammar:
//!
//! ```
//! use getaway::game::{Layout, Rules, World};
//! use getaway::planner::by_name;
//! use getaway::search::Budget;
//!
//! let layout = Layout::parse("#######\n#P....#\n#.###.#\n#....S#\n#######")?;
//! let world = World::new(&layout, &Rules::BLITZ_2025)?;
//! let mut planner = by_name("step(repeat(10, simulate(greedy)))", 1)?;
//! let mut state = world.start();
//! for _ in 0..5 {
//!     let choice = planner.decide(&world, &state, Budget::ticks(100))?;
//!     world.step(&mut state, choice.player_move)?;
//! }
//! assert_eq!(state.tick(), 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

#[doc(hidden)]
pub mod batch;
pub mod bot;
#[doc(hidden)]
pub mod files;
pub mod game;
#[doc(hidden)]
pub mod inference;
pub mod map;
pub mod planner;
pub mod protocol;
pub mod recording;
pub mod search;
pub mod solve;
#[doc(hidden)]
pub mod text;
