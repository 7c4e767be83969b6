//! The engine in a browser: one function, [`Engine::answer`], for all requests of the page.
//!
//! Guarantees: in a browser, an answer depends only on its request, except that a replay may omit
//! unchanged frames. So a page can terminate a worker during a request, and send the request to
//! another worker. In a native program with the same maps, an answer has the same bytes unless a
//! search reaches its memory limit: work is limited in simulated ticks or steps, not in time. For
//! invalid input, the error is one sentence.

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
