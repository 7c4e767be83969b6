//! The engine in a browser: one function, [`Engine::answer`], for all requests of the page.
//!
//! Guarantees: an answer depends only on its request, except that a replay omits unchanged frames.
//! So a page can end a worker in the middle of an answer, and send the request to another worker.
//! Answers equal those of the native program, byte for byte: work is limited in simulated ticks,
//! never in time. Invalid input returns an error of one sentence.

mod address;
mod engine;
mod game;
mod judge;
mod rules;
#[cfg(target_family = "wasm")]
mod wasm;

pub use address::{Position, decode, encode};
pub use engine::Engine;
pub use game::Game;
