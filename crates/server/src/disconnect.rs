use axum::extract::ws::CloseCode;

#[derive(Clone, Debug)]
pub(super) struct Disconnect {
    /// The reason, for the log and the close frame.
    pub reason: String,
    /// The code for the close frame, which is sent if the client is still connected.
    pub code: CloseCode,
}

impl Disconnect {
    pub fn new(code: CloseCode, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), code }
    }
}
