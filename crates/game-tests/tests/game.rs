//! The unit tests of `src/game`, built without the rest of the library, so that they start seconds
//! after a change. This also checks that the game needs nothing from the other modules.

#[path = "../../../src/game/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "the rest of the library uses these items")]
mod game;
