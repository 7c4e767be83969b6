use super::game::GameResult;

#[derive(Clone, Debug)]
pub enum Event {
    /// A game has started.
    Start {
        /// The number of the game on this server, from 1.
        game: u64,
        map: String,
        team: String,
        /// True if the bot registered with a non-empty token.
        has_token: bool,
    },
    /// A note for the author of the bot.
    Note { game: u64, text: String },
    /// A note about a client outside a game.
    ClientNote { text: String },
    /// A websocket handshake was refused.
    Refused {
        /// Describes what is wrong with the request.
        reason: String,
        /// Advice on how to connect correctly.
        remedy: String,
    },
    /// A game has ended.
    End(Box<GameResult>),
}
