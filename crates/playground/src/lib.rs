//! The engine behind the page: one function, [`Engine::answer`], for all requests of the page.
//!
//! Guarantees: an answer depends only on its request and on the engine's [`Games`]. So a page can
//! stop a request, or send it to another engine. In a browser and in a native program, answers have
//! the same bytes unless a search reaches its memory limit: work is limited in simulated ticks or
//! steps, not in time. For invalid input, the error is one sentence.

mod engine;
mod judge;
mod rules;
#[cfg(target_family = "wasm")]
mod wasm;

pub use engine::{Engine, Games};
