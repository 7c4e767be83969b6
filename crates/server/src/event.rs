use super::game::GameResult;

#[derive(Clone, Debug)]
pub enum Event {
    Start {
        /// From 1, on this server.
        game: u64,
        map: String,
        team: String,
        has_token: bool,
    },
    /// For the author of the bot.
    Note { game: u64, text: String },
    /// About a client outside a game.
    ClientNote { text: String },
    Refused {
        /// A sentence with the value found in the request and the value expected.
        reason: String,
        remedy: String,
    },
    End(Box<GameResult>),
}
