//! What a server reports.

use super::game::GameResult;

/// An event of the server.
#[derive(Clone, Debug)]
pub enum Event {
    /// A game has started.
    Start {
        /// The number of the game on this server, from 1.
        game: u64,
        /// The map's name.
        map: String,
        /// The bot's team name.
        team: String,
    },
    /// A note for the bot's author.
    Note {
        /// The game.
        game: u64,
        /// The text.
        text: String,
    },
    /// A note on a client that is not in a game.
    ClientNote {
        /// The text.
        text: String,
    },
    /// A websocket handshake was refused.
    Refused {
        /// The reason: what was found and what was expected.
        reason: String,
        /// What to change.
        remedy: String,
    },
    /// A game has ended.
    End(Box<GameResult>),
}
