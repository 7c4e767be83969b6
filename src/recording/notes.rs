//! What a line of a recording says besides the state and the actions: the game's header, what came
//! over the wire, and how the bot decided.
//!
//! Every part is optional, and a part that cannot be read counts as missing: recordings of other
//! programs may use the same names for something else.

use serde::{Deserialize, Deserializer, Serialize};

use crate::game::{Action, Rules, variant};

/// Maximum length of the text that is kept of a frame that cannot be read, in characters.
pub const UNREADABLE_CHARS_MAX: usize = 200;

/// What is known of a game before its first tick; stored in the first line, as `game`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GameNotes {
    /// The map's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<String>,
    /// The rules that the recorder plays by.
    #[serde(rename = "no_jump", default, with = "variant")]
    pub rules: Rules,
    /// The program that wrote the recording, with its version: `getaway serve 0.1.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<String>,
    /// The bot's planner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    /// How long the server waits for a command, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_ms: Option<f64>,
}

/// A command as received.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandNote {
    /// The time from sending the state to reading the command, in milliseconds.
    pub ms: f64,
    /// The tick that the command was for, unless it is that of the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<u32>,
    /// What it said.
    pub actions: Vec<Action>,
}

/// A frame that could not be read as a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnreadableNote {
    /// The time from sending the state to reading the frame, in milliseconds.
    pub ms: f64,
    /// The frame, shortened to [`UNREADABLE_CHARS_MAX`] characters.
    pub text: String,
    /// What is wrong with it.
    pub error: String,
}

/// What came over the wire in a tick, as the server saw it; stored in every line, as `wire`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireNotes {
    /// The command that counted; `None`, and `null` in JSON, if none came in time.
    pub command: Option<CommandNote>,
    /// Commands for earlier ticks that were read in this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<CommandNote>,
    /// Frames that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableNote>,
    /// Why the bot left, in the tick in which it left; and in every later tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// How the bot decided in a tick, as the bot saw it; stored in every line, as `decision`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionNotes {
    /// The time from the state's arrival to the decision, in milliseconds.
    pub ms: f64,
    /// Where the decision came from: `plan`, `search` or `fallback`.
    pub source: String,
    /// The last tick that the bot's plan survives to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_tick: Option<u16>,
    /// How many threats moved differently from the bot's prediction since the last line.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mispredictions: u32,
    /// How the rules differ from those expected, as far as the bot had learnt, in sentences; only
    /// in the lines in which that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnt: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The notes of a line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TickNotes {
    /// In the first line: what is known of the game.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "readable")]
    pub game: Option<Box<GameNotes>>,
    /// What came over the wire; `None` where the recorder did not see it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "readable")]
    pub wire: Option<Box<WireNotes>>,
    /// How the bot decided; `None` where the recorder does not know.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "readable")]
    pub decision: Option<Box<DecisionNotes>>,
}

/// Reads a part, or `None` if it is something else.
pub(super) fn readable<'de, D, T>(deserializer: D) -> Result<Option<Box<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok().map(Box::new))
}

/// Milliseconds, rounded to microseconds.
pub fn milliseconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// A frame's text, shortened for a recording.
pub fn shortened(text: &str) -> String {
    crate::protocol::shortened(text, UNREADABLE_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Direction;

    fn round_trip(json: &str) -> TickNotes {
        let notes: TickNotes = serde_json::from_str(json).expect("notes");
        assert_eq!(serde_json::to_string(&notes).expect("JSON"), json);
        notes
    }

    #[test]
    fn notes_round_trip() {
        assert_eq!(round_trip("{}"), TickNotes::default());
        let missed = round_trip(r#"{"wire":{"command":null}}"#).wire.expect("wire notes");
        assert_eq!(*missed, WireNotes::default());
        let late = r#"{"wire":{"command":null,"late":[{"ms":3.5,"tick":7,"actions":[{"type":"MOVE_UP"}]}],"left":"closed the connection"}}"#;
        let wire = round_trip(late).wire.expect("wire notes");
        assert_eq!((wire.late[0].tick, &wire.late[0].actions[..]), (Some(7), &[Action::Move(Direction::Up)][..]));
        round_trip(r#"{"wire":{"command":null,"unreadable":[{"ms":1.0,"text":"{","error":"invalid JSON"}]}}"#);
        round_trip(r#"{"decision":{"ms":0.25,"source":"plan","planned_tick":2001,"mispredictions":1}}"#);
        round_trip(r#"{"decision":{"ms":0.25,"source":"plan","learnt":["the first seed is 3"]}}"#);
        let game = round_trip(r#"{"game":{"map":"harbour","no_jump":true,"recorder":"getaway serve 0.1.0"}}"#);
        assert_eq!(game.game.expect("a header").rules, Rules::NO_JUMP);
    }

    #[test]
    fn a_field_of_another_program_counts_as_missing() {
        let json = r#"{"game":"chess","wire":7,"decision":{"ms":"soon"}}"#;
        assert_eq!(serde_json::from_str::<TickNotes>(json).expect("notes"), TickNotes::default());
    }

    #[test]
    fn long_frames_are_shortened() {
        assert_eq!(shortened("é"), "é");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), UNREADABLE_CHARS_MAX + 1);
    }
}
