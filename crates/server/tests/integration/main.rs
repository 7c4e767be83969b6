//! Tests that a bot plays exactly the simulator's game, unaffected by other clients.

#[path = "../../../../tests/common/mod.rs"]
mod common;
mod connections;
#[path = "../../../../tests/common/disturbed.rs"]
mod disturbed;
mod game;
mod harness;
mod http;
mod late;
mod viewers;
