//! **getaway** rebuilds the car chase of Coveo's *Blitz 2025* exactly, and plans it to the end.

pub mod game;
pub mod map;
pub mod planner;
pub mod protocol;
#[cfg(feature = "recording")]
pub mod recording;
#[cfg(feature = "reference")]
pub mod reference;
pub mod search;
#[cfg(feature = "server")]
pub mod server;

#[cfg(feature = "cli")]
pub mod cli;
