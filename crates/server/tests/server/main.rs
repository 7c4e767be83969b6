//! Guarantees: over the websocket a bot plays exactly the simulator's game, to the byte of every
//! frame; a connection that is late, invalid, abusive or foreign affects at most its own game, as
//! the protocol describes.

mod connections;
mod game;
mod harness;
mod http;
mod viewers;
