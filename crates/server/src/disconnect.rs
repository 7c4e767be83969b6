use axum::extract::ws::CloseCode;

#[derive(Clone, Debug)]
pub(super) struct Disconnect {
    /// The reason, for the log.
    pub reason: String,
    /// The close code for the bot, if it is still connected.
    pub code: CloseCode,
}

impl Disconnect {
    pub fn new(code: CloseCode, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), code }
    }
}
