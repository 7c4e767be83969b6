use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{ProtocolError, from_json, kind, parse_actions};
use crate::game::Action;
use crate::text::clipped;

const REGISTER: &str = "REGISTER";
const VIEWER: &str = "VIEWER";
const COMMAND: &str = "COMMAND";

/// A bot's first frame. It is sent with the token if there is one, otherwise with the team name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Register {
    /// The secret that identifies the team to the real server. Never log or display it.
    pub token: Option<String>,
    /// The team's name.
    pub team_name: Option<String>,
}

impl Register {
    /// Maximum length of a team name in characters. Limited because every state contains the name.
    pub const MAX_NAME_CHARS: usize = 100;
}

impl Serialize for Register {
    /// Writes `{"type":"REGISTER","token":"..."}`. If the token is missing or empty, the field
    /// `teamName` takes its place, unless the name is missing too.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Frame<'a> {
            r#type: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            token: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            team_name: Option<&'a str>,
        }
        let token = self.token.as_deref().filter(|token| !token.is_empty());
        let team_name = self.team_name.as_deref().filter(|_| token.is_none());
        Frame { r#type: REGISTER, token, team_name }.serialize(serializer)
    }
}

/// A bot's command for a tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The tick of the state that the command answers.
    pub tick: u32,
    /// The actions, in order. An empty list means that the player stays.
    pub actions: Vec<Action>,
}

impl Serialize for Command {
    /// Writes a frame such as `{"type":"COMMAND","tick":1,"actions":[{"type":"MOVE_UP"}]}`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Frame<'a> {
            r#type: &'a str,
            tick: u32,
            actions: &'a [Action],
        }
        Frame { r#type: COMMAND, tick: self.tick, actions: &self.actions }.serialize(serializer)
    }
}

/// A frame from a client.
#[derive(Debug)]
pub enum ClientFrame {
    /// A bot's registration.
    Register(Register),
    /// A viewer's registration.
    Viewer,
    /// A command.
    Command(Command),
    /// An invalid command, with the error.
    InvalidCommand(ProtocolError),
    /// A frame whose type is unknown or missing. The text describes the frame.
    Unknown(String),
}

impl ClientFrame {
    /// Maximum length of a frame, in bytes. A typical command takes less than 100.
    pub const MAX_BYTES: usize = 64 << 10;

    /// Parses a frame. Returns [`ClientFrame::Unknown`] if the JSON value is not a known frame.
    ///
    /// # Errors
    /// If the frame is longer than [`ClientFrame::MAX_BYTES`] or is not valid JSON.
    pub fn parse(frame: impl AsRef<[u8]>) -> Result<Self, ProtocolError> {
        let frame = frame.as_ref();
        if frame.len() > Self::MAX_BYTES {
            return Err(ProtocolError::TooLong { bytes: frame.len(), limit_bytes: Self::MAX_BYTES });
        }
        let frame = match from_json::<Value>(frame)? {
            object @ Value::Object(_) => object,
            // Only an object can have a type.
            other => return Ok(Self::Unknown(kind(Some(&other)).to_owned())),
        };
        let text = |field: &str| frame.get(field).and_then(Value::as_str);
        let owned = |field: &str| text(field).map(str::to_owned);
        match text("type") {
            Some(REGISTER) => Ok(Self::Register(Register { token: owned("token"), team_name: owned("teamName") })),
            Some(VIEWER) => Ok(Self::Viewer),
            Some(COMMAND) => Ok(Self::command(frame.get("tick"), frame.get("actions"))),
            _ => Ok(Self::Unknown(match frame.get("type") {
                Some(other) => format!("a frame of type {}", short(other)),
                None => "an object without a type".to_owned(),
            })),
        }
    }

    fn command(tick: Option<&Value>, actions: Option<&Value>) -> Self {
        let actions = match parse_actions(actions) {
            Ok(actions) => actions,
            Err(error) => return Self::InvalidCommand(error),
        };
        let number = tick.and_then(Value::as_f64).filter(|number| *number >= 0.0 && number.fract() == 0.0);
        match number.filter(|&number| number <= f64::from(u32::MAX)) {
            Some(number) => Self::Command(Command { tick: number as u32, actions }),
            None => Self::InvalidCommand(ProtocolError::Field {
                path: "tick".to_owned(),
                expected: "a whole number, 0 to 2^32 - 1".to_owned(),
                found: tick.map_or_else(|| "nothing".to_owned(), short),
            }),
        }
    }
}

fn short(json: &Value) -> String {
    const SHORT_CHARS: usize = 40;
    clipped(&json.to_string(), SHORT_CHARS)
}
