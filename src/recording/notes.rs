//! Optional notes in the lines of a recording. A note that is too large or unreadable counts as
//! missing, because other programs may use the same field for other data. Only in the notes on the
//! game, which state the rules, is an invalid field an error.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::files::Object;
use crate::game::{Action, Rules, rules_fields};
use crate::protocol::limited;

/// Maximum number of characters that a recording keeps of an unreadable frame.
const UNREADABLE_CHARS_MAX: usize = 200;

/// Notes on the entire game: the `game` field of a recording's line, usually the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GameNotes {
    /// The map's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<String>,
    /// The rules assumed by the recorder.
    #[serde(flatten, with = "rules_fields")]
    pub rules: Rules,
    /// The recording program and its version, such as `getaway serve 0.1.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<String>,
    /// The bot's planner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    /// The time for which the server waits for a command, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_ms: Option<f64>,
}

/// A command as received.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandNote {
    /// The time from sending the state to reading the command, in milliseconds.
    pub ms: f64,
    /// The tick of the command, if it differs from the tick of the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<u32>,
    /// The actions of the command.
    pub actions: Vec<Action>,
}

/// A frame that could not be read as a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnreadableNote {
    /// The time from sending the state to reading the frame, in milliseconds.
    pub ms: f64,
    /// The frame's text, or the first and the last 100 characters if it is longer than 200.
    pub text: String,
    /// The reason why the frame could not be read.
    pub error: String,
}

/// The server's notes on the bot's commands in a tick: the `wire` field of a recording's line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireNotes {
    /// The command that the server used; `None` (`null` in JSON) if no valid command for the tick
    /// came in time.
    pub command: Option<CommandNote>,
    /// Commands for earlier ticks that arrived during this tick, except further commands for the
    /// last tick that the bot answered in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<CommandNote>,
    /// Frames that could not be read as commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableNote>,
    /// The reason why the bot left the game, in each line from the tick in which it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// The bot's decision in a tick: the `decision` field of a recording's line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionNotes {
    /// The time from the state's arrival to the decision, in milliseconds.
    pub ms: f64,
    /// How the move was found: `plan`, `search` or `fallback`.
    pub source: String,
    /// The tick that the bot expects the game to reach, if the bot makes a forecast. Above 2000 if
    /// it expects the player to survive the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_tick: Option<u16>,
    /// The increase in the number of mispredictions since the previous line, over all threats; 0 if
    /// the number has fallen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mispredictions: u32,
    /// The findings about the server's rules and style names, as sentences. Empty unless the bot
    /// has a new finding.
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
    /// Notes on the entire game, usually only in the first line.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "game")]
    pub game: Option<Box<GameNotes>>,
    /// The server's notes on the bot's commands in the tick, if recorded.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "readable")]
    pub wire: Option<Box<WireNotes>>,
    /// The bot's decision, if recorded.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "readable")]
    pub decision: Option<Box<DecisionNotes>>,
}

pub(super) fn readable<'de, D, T>(deserializer: D) -> Result<Option<Box<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let note = limited::value(deserializer)?.and_then(|value| serde_json::from_value(value).ok());
    Ok(note.map(|Object(note)| Box::new(note)))
}

pub(super) fn game<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<GameNotes>>, D::Error> {
    let notes = limited::value(deserializer)?.filter(Value::is_object);
    notes.map(|notes| serde_path_to_error::deserialize(notes).map_err(D::Error::custom)).transpose()
}

/// The time in milliseconds, rounded to microseconds.
pub fn milliseconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The text of a frame, or the first and the last 100 characters if it is longer than 200.
pub fn shortened(text: &str) -> String {
    crate::text::clipped(text, UNREADABLE_CHARS_MAX)
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
        let json = r#"{"game":"chess","wire":7,"decision":[0.25,"plan"]}"#;
        assert_eq!(serde_json::from_str::<TickNotes>(json).expect("notes"), TickNotes::default());
    }

    #[test]
    fn notes_on_the_game_with_an_invalid_field_are_refused() {
        let cases = [
            (r#"{"game":{"map":5}}"#, "map: invalid type: integer `5`, expected a string"),
            (r#"{"game":{"rules":{"owls":1}}}"#, "unknown field `owls`, expected one of"),
            (r#"{"game":{"rules":[true]}}"#, "expected an object, found an array"),
            (r#"{"game":{"rules":{"hawk_posts":-1}}}"#, "invalid value: integer `-1`, expected u"),
            (
                r#"{"game":{"no_jump":true,"rules":{"hawk_posts":3}}}"#,
                "no_jump: expected false, as in rules, found true",
            ),
        ];
        for (json, expected) in cases {
            let error = serde_json::from_str::<TickNotes>(json).expect_err(json).to_string();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }

    #[test]
    fn long_frames_are_shortened() {
        assert_eq!(shortened("é"), "é");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), UNREADABLE_CHARS_MAX + 1);
    }
}
