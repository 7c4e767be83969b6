//! The JSON messages between server and clients, and the trace format for recorded games. As on
//! the server, an invalid action is not a parse error, but fails when it is played. Messages may
//! have unknown fields, which are ignored. Traces may not, except in actions.

use std::io::{self, Write};
use std::str::Utf8Error;

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::files::Object;
use crate::game::{Action, Direction, Personality, Position, Rules, State, Style, Threat, World};
use crate::text::clipped;

mod frame;
pub(crate) mod limited;
mod message;
mod mistakes;

pub use frame::{ClientFrame, Command, Register};
pub(crate) use message::personality_word;
pub use message::{
    Columns, GameMessage, MessageCharacter, MessageMap, MessageThreat, MessageTile, MessageWriter, Name, Word,
    distances, style_word,
};
#[doc(hidden)]
pub use mistakes::Mistakes;

/// Maximum nesting depth of JSON, as in `serde_json`. Without a limit, the recursive code that
/// builds and drops values could overflow the stack.
#[doc(hidden)]
pub const MAX_JSON_DEPTH: usize = 127;

/// The error for an invalid message or trace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The input is too long.
    #[error("message too long: {bytes} bytes, expected at most {limit_bytes}")]
    TooLong {
        /// The actual length.
        bytes: usize,
        /// The maximum length.
        limit_bytes: usize,
    },
    /// Invalid JSON, or JSON that does not have the expected form.
    #[error("{}{}", path_prefix(.path), parser_words(.source))]
    Json {
        /// The path of the invalid field, such as `threats[3].position.x`. Empty if the path is
        /// unknown or the error concerns the entire document.
        path: String,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// A field that is missing or has an invalid value.
    #[error("{path}: expected {expected}, found {found}")]
    Field {
        /// The path of the field.
        path: String,
        /// The expected value.
        expected: String,
        /// The actual value.
        found: String,
    },
    /// The actions of a command are not an array.
    #[error("actions: expected an array of actions, found {found}")]
    ActionsNotAnArray {
        /// The type that was found, such as `an object`, or `nothing` if the field is missing.
        found: &'static str,
    },
    /// A trace that is empty or contains only blank lines.
    #[error("line 1: missing trace header")]
    NoHeader,
    /// An invalid line of a trace.
    #[error("line {line}: expected {expected}: {}", parser_words(.source))]
    TraceLine {
        /// The line number, from 1.
        line: usize,
        /// The expected content of the line.
        expected: &'static str,
        /// The parser's error.
        source: serde_json::Error,
    },
}

/// Maximum number of characters kept of a parser error. Parser errors can quote long values.
const PARSER_TEXT_MAX_CHARS: usize = 300;

/// Formats a parser error, shortened if it is long. If the error is on line 1, omits the line
/// number, and for a data error ([`serde_json::Error::is_data`]) the column too.
#[doc(hidden)]
pub fn parser_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (reason, column) = match text.rsplit_once(" at line ") {
        Some((reason, _)) if error.line() <= 1 => (reason, format!(" at column {}", error.column())),
        _ => (text.as_str(), String::new()),
    };
    let reason = clipped(reason, PARSER_TEXT_MAX_CHARS);
    if error.is_data() { reason } else { format!("invalid JSON{column}: {reason}") }
}

fn path_prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// A parser error longer than this gets no path: finding the path would format the error again.
const PATH_TEXT_MAX_BYTES: usize = 4096;

impl ProtocolError {
    /// True for JSON that ends too early.
    pub fn is_incomplete(&self) -> bool {
        matches!(self, Self::Json { source, .. } if source.is_eof())
    }
}

/// Parses JSON, which may begin with a byte order mark. A lone half of a surrogate pair, which some
/// programs write into strings, counts as U+FFFD. Tracks paths only in a second parse, after an
/// error, because tracking is slow.
pub(crate) fn from_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, ProtocolError> {
    let invalid = |error: Utf8Error| {
        let source =
            serde_json::Error::custom(format_args!("invalid UTF-8 at byte {}: expected JSON", error.valid_up_to()));
        ProtocolError::Json { path: String::new(), source }
    };
    let text = str::from_utf8(json).map_err(invalid)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).or_else(|source| {
        if let Some(text) = without_lone_surrogates(text) {
            return from_json(text.as_bytes());
        }
        if source.to_string().len() > PATH_TEXT_MAX_BYTES {
            return Err(ProtocolError::Json { path: String::new(), source });
        }
        let deserializer = &mut serde_json::Deserializer::from_str(text);
        let path = serde_path_to_error::deserialize::<_, T>(deserializer).err().map(|error| error.path().to_string());
        // A single dot stands for the entire document, and a question mark for an unknown segment.
        let path = path.unwrap_or_default().trim_end_matches(['.', '?']).to_owned();
        Err(ProtocolError::Json { path, source })
    })
}

/// Replaces each escape of a lone half of a surrogate pair, such as `\ud800`, by `\ufffd`. Returns
/// `None` if there is none.
fn without_lone_surrogates(json: &str) -> Option<String> {
    let unit = |at: usize| json.get(at..at + 6)?.strip_prefix("\\u").and_then(|hex| u16::from_str_radix(hex, 16).ok());
    let (mut whole, mut at) = (None, 0);
    while let Some(next) = json.as_bytes().get(at..)?.iter().position(|&byte| byte == b'\\') {
        at += next;
        at += match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                whole.get_or_insert_with(|| json.to_owned()).replace_range(at..at + 6, "\\ufffd");
                6
            }
            _ => 2,
        };
    }
    whole
}

/// Serialises a value as compact JSON.
///
/// # Panics
/// If the value cannot be serialised.
#[doc(hidden)]
pub fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the value can be serialised as JSON")
}

const MOVE_TO: &str = "MOVE_TO";

/// Converts any JSON to an action. JSON that is not a valid action becomes an action that keeps the
/// JSON and fails when it is played.
pub(crate) fn parse_action(json: &Value) -> Action {
    let Some(name) = json.get("type").and_then(Value::as_str) else {
        return Action::Unknown(json.to_string().into());
    };
    if name == MOVE_TO {
        return parse_move_to(json);
    }
    let direction = Direction::ALL.into_iter().find(|&direction| move_name(direction) == name);
    direction.map_or_else(|| Action::Unknown(json.to_string().into()), Action::Move)
}

/// Unlike the server, does not convert strings to numbers.
fn parse_move_to(json: &Value) -> Action {
    let coordinate = |name| json.get("position").and_then(|position| position.get(name)).and_then(Value::as_f64);
    match (coordinate("x"), coordinate("y")) {
        (Some(x), Some(y)) => Action::MoveTo { x, y },
        _ => Action::MoveNowhere(json.to_string().into()),
    }
}

/// Parses a command's `actions` field. Pass `None` for a missing field.
///
/// # Errors
/// If the field is missing or is not an array. The server then rejects the entire command.
pub fn parse_actions(json: Option<&Value>) -> Result<Vec<Action>, ProtocolError> {
    match json {
        Some(Value::Array(actions)) => Ok(actions.iter().map(parse_action).collect()),
        other => Err(ProtocolError::ActionsNotAnArray { found: kind(other) }),
    }
}

fn kind(json: Option<&Value>) -> &'static str {
    match json {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    }
}

impl Serialize for Action {
    /// Writes, for example, `{"type":"MOVE_UP"}` or `{"type":"MOVE_TO","position":{"x":1,"y":2.5}}`.
    /// Writes an invalid action as its JSON.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            r#type: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            position: Option<Coordinates>,
        }
        let fields = match *self {
            Self::Unknown(ref json) | Self::MoveNowhere(ref json) => {
                return serde_json::from_str(json).unwrap_or_else(|_| Value::from(&**json)).serialize(serializer);
            }
            Self::Move(direction) => Fields { r#type: move_name(direction), position: None },
            Self::MoveTo { x, y } => Fields { r#type: MOVE_TO, position: Some(Coordinates { x, y }) },
        };
        fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(parse_action(&limited::value(deserializer)?.unwrap_or_default()))
    }
}

const fn move_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Left => "MOVE_LEFT",
        Direction::Right => "MOVE_RIGHT",
        Direction::Up => "MOVE_UP",
        Direction::Down => "MOVE_DOWN",
    }
}

#[derive(Serialize)]
struct Coordinates {
    #[serde(serialize_with = "serialize_number")]
    x: f64,
    #[serde(serialize_with = "serialize_number")]
    y: f64,
}

fn serialize_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let whole = *number as i64;
    if whole as f64 == *number && whole.unsigned_abs() < 1 << 53 {
        serializer.serialize_i64(whole)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// A recorded game in the trace format: a header line, then one line per tick, all in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The map's name and size, the rules, the player's first tile, and the threats at the start.
    pub header: TraceHeader,
    /// The played ticks, in order.
    pub ticks: Vec<TraceTick>,
}

impl Trace {
    /// Parses a trace. Skips blank lines.
    ///
    /// # Errors
    /// If the header is missing or a line is invalid. The error contains the number of the line.
    pub fn parse(text: &str) -> Result<Self, ProtocolError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let header = lines.next().ok_or(ProtocolError::NoHeader)?;
        Ok(Self {
            header: parse_line(header, "the header of a trace")?,
            ticks: lines.map(|line| parse_line(line, "a tick of a trace")).collect::<Result<_, _>>()?,
        })
    }

    /// Writes the header and all ticks, each on its own line. Fails if the writer fails.
    pub fn write(&self, mut writer: impl Write) -> io::Result<()> {
        write_line(&mut writer, &self.header)?;
        self.ticks.iter().try_for_each(|tick| write_line(&mut writer, tick))
    }
}

fn parse_line<'a, T: Deserialize<'a>>(
    (index, line): (usize, &'a str),
    expected: &'static str,
) -> Result<T, ProtocolError> {
    let parsed = serde_json::from_str(line).map(|Object(value)| value);
    parsed.map_err(|source| ProtocolError::TraceLine { line: index + 1, expected, source })
}

/// Writes one value as a line of compact JSON. Fails if the writer fails or if the value cannot be
/// serialised.
#[doc(hidden)]
pub fn write_line(mut writer: impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut writer, value)?;
    writer.write_all(b"\n")
}

/// The first line of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TraceHeader {
    /// The map's name.
    pub map: String,
    /// The value of [`Rules::no_jump`].
    pub no_jump: bool,
    /// The rules, if they differ from the server's rules in more than `no_jump`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_rules: Option<Rules>,
    /// Columns of the map.
    pub width: i32,
    /// Rows of the map.
    pub height: i32,
    /// The player's first tile.
    #[serde(with = "pair")]
    pub player: Position,
    /// The threats, in map order (see [`Layout::threats`](crate::game::Layout::threats)).
    pub threats: Vec<TraceSpawn>,
}

impl TraceHeader {
    /// Creates the header for a game that begins with [`World::start`]. `map` is the map's name.
    pub fn new(map: impl Into<String>, world: &World) -> Self {
        let (layout, rules) = (world.layout(), world.rules());
        let variant = Rules { no_jump: rules.no_jump, ..Rules::BLITZ_2025 };
        let spawn =
            |threat: Threat| TraceSpawn { style: threat.style, position: threat.position, direction: threat.direction };
        Self {
            map: map.into(),
            no_jump: rules.no_jump,
            other_rules: Some(*rules).filter(|_| *rules != variant),
            width: layout.width,
            height: layout.height,
            player: layout.player,
            threats: world.threats(&world.start()).map(spawn).collect(),
        }
    }

    /// The rules of the game.
    pub fn rules(&self) -> Rules {
        self.other_rules.unwrap_or(Rules { no_jump: self.no_jump, ..Rules::BLITZ_2025 })
    }
}

/// A threat in the header of a trace, such as `["shark", 1, 11, "up"]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Style, i32, i32, Direction)", into = "(Style, i32, i32, Direction)")]
pub struct TraceSpawn {
    /// Its style.
    pub style: Style,
    /// The threat's first tile.
    pub position: Position,
    /// The threat's first direction.
    pub direction: Direction,
}

impl From<(Style, i32, i32, Direction)> for TraceSpawn {
    fn from((style, x, y, direction): (Style, i32, i32, Direction)) -> Self {
        Self { style, position: Position::new(x, y), direction }
    }
}

impl From<TraceSpawn> for (Style, i32, i32, Direction) {
    fn from(spawn: TraceSpawn) -> Self {
        (spawn.style, spawn.position.x, spawn.position.y, spawn.direction)
    }
}

/// A line of a trace after the header: the actions of a tick and the resulting state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceTick {
    /// The player's actions; `None` if the trace does not include them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<Action>>,
    /// The tick of the resulting state, as in [`State::tick`].
    pub tick: u16,
    /// The player's position.
    #[serde(with = "pair")]
    pub player: Position,
    /// The threats, in the order of the header.
    pub threats: Vec<TraceThreat>,
    /// True if the game is over.
    pub over: bool,
    /// True if a threat is on the player's tile.
    pub caught: bool,
}

impl TraceTick {
    /// Creates the trace line of a state, without actions.
    pub fn of_state(world: &World, state: &State) -> Self {
        let personality = world.reported_personality(state);
        let threat =
            |threat: Threat| TraceThreat { position: threat.position, direction: threat.direction, personality };
        Self {
            actions: None,
            tick: state.tick(),
            player: world.player(state),
            threats: world.threats(state).map(threat).collect(),
            over: state.is_over(),
            caught: state.is_caught(),
        }
    }
}

/// A threat after a tick, such as `[1, 11, "up", "lazy"]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(i32, i32, Direction, Personality)", into = "(i32, i32, Direction, Personality)")]
pub struct TraceThreat {
    /// Its position.
    pub position: Position,
    /// The direction that the threat faces.
    pub direction: Direction,
    /// Its personality.
    pub personality: Personality,
}

impl From<(i32, i32, Direction, Personality)> for TraceThreat {
    fn from((x, y, direction, personality): (i32, i32, Direction, Personality)) -> Self {
        Self { position: Position::new(x, y), direction, personality }
    }
}

impl From<TraceThreat> for (i32, i32, Direction, Personality) {
    fn from(threat: TraceThreat) -> Self {
        (threat.position.x, threat.position.y, threat.direction, threat.personality)
    }
}

mod pair {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::game::Position;

    pub(super) fn serialize<S: Serializer>(position: &Position, serializer: S) -> Result<S::Ok, S::Error> {
        (position.x, position.y).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Position, D::Error> {
        <(i32, i32)>::deserialize(deserializer).map(|(x, y)| Position::new(x, y))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::game::{ActionError, Layout};

    #[test]
    fn actions_are_read_as_the_server_reads_them() {
        let up = Action::Move(Direction::Up);
        let moves = [
            (json!({"type": "MOVE_UP"}), up.clone()),
            (json!({"type": "MOVE_UP", "position": 3, "note": "extra fields are ignored"}), up),
            (json!({"type": "MOVE_LEFT"}), Action::Move(Direction::Left)),
            (json!({"type": "MOVE_RIGHT"}), Action::Move(Direction::Right)),
            (json!({"type": "MOVE_DOWN"}), Action::Move(Direction::Down)),
            (json!({"type": "MOVE_TO", "position": {"x": 3, "y": -0.5}}), Action::MoveTo { x: 3.0, y: -0.5 }),
        ];
        for (json, action) in moves {
            assert_eq!(parse_action(&json), action, "{json}");
        }
    }

    /// Invalid actions, with their errors.
    fn invalid_actions() -> Vec<(Value, ActionError)> {
        let without_type = [json!({}), Value::Null, json!(true), json!(7), json!("MOVE_UP"), json!(["MOVE_UP"])];
        let types = [
            json!(""),
            json!("LEFT"),
            json!("MOVE_NORTH"),
            json!("move_up"),
            json!(" MOVE_UP"),
            json!(7),
            json!(["MOVE_UP"]),
        ];
        let positions =
            [Value::Null, json!([3, 4]), json!("3,4"), json!({}), json!({"x": 3}), json!({"x": 3, "y": "4"})];
        let move_to = positions.map(|position| json!({"type": "MOVE_TO", "position": position}));
        let unknown = without_type.into_iter().chain(types.map(|name| json!({"type": name, "note": [1, {}]})));
        let nowhere =
            move_to.into_iter().chain([json!({"type": "MOVE_TO"}), json!({"type": "MOVE_TO", "x": 1, "y": 2})]);
        unknown
            .map(|json| (json, ActionError::Unknown))
            .chain(nowhere.map(|json| (json, ActionError::NoPosition)))
            .collect()
    }

    #[test]
    fn invalid_actions_keep_their_json_and_are_described_once_per_kind() {
        let mut found = Mistakes::default();
        let mut new = Vec::new();
        for (tick, (json, error)) in (1..).zip(invalid_actions()) {
            let (text, action) = (json.to_string(), parse_action(&json));
            assert_eq!(action.invalid(), Some((text.as_str(), error)));
            assert_eq!(to_json(&action), text);
            assert_eq!(serde_json::from_str::<Action>(&text).unwrap(), action, "{text} reads back");
            new.extend(found.add_actions(tick, &[action.clone(), Action::Move(Direction::Up), action]));
        }
        assert_eq!(
            new,
            [
                r#"the invalid action {}: expected {"type": T}, where T is MOVE_LEFT, MOVE_RIGHT, MOVE_UP, MOVE_DOWN or MOVE_TO"#,
                r#"the invalid MOVE_TO action {"position":null,"type":"MOVE_TO"}: expected {"type": "MOVE_TO", "position": {"x": number, "y": number}}"#,
            ]
        );
        let mut twice = serde_json::from_str::<Mistakes>(&to_json(&found)).unwrap();
        twice.merge(&found);
        assert_eq!(
            twice.words(),
            r#"52 invalid actions, the first {} at tick 1: expected {"type": T}, where T is MOVE_LEFT, MOVE_RIGHT, MOVE_UP, MOVE_DOWN or MOVE_TO; 32 invalid MOVE_TO actions, the first {"position":null,"type":"MOVE_TO"} at tick 14: expected {"type": "MOVE_TO", "position": {"x": number, "y": number}}"#
        );
        let mut long = Mistakes::default();
        long.add_actions(7, &[Action::Unknown("é".repeat(1000).into())]);
        assert!(long.words().starts_with("1 invalid action, éé") && long.words().chars().count() < 250);
        assert!(Mistakes::default().is_empty() && !long.is_empty());
    }

    #[test]
    fn messages_may_begin_with_a_byte_order_mark() {
        let frame = "\u{feff}{\"type\":\"VIEWER\"}";
        assert!(matches!(ClientFrame::parse(frame), Ok(ClientFrame::Viewer)));
        assert!(ClientFrame::parse(format!("\u{feff}{frame}")).is_err());
    }

    #[test]
    fn any_json_is_an_action_of_a_recording() {
        for json in [String::from("null"), format!("[{}0]", "0,".repeat(100_000))] {
            assert_eq!(serde_json::from_str::<Action>(&json).unwrap(), Action::Unknown("null".into()));
        }
    }

    #[test]
    fn actions_are_serialised_as_clients_write_them() {
        for (action, json) in [
            (Action::Move(Direction::Left), r#"{"type":"MOVE_LEFT"}"#),
            (Action::Move(Direction::Right), r#"{"type":"MOVE_RIGHT"}"#),
            (Action::Move(Direction::Up), r#"{"type":"MOVE_UP"}"#),
            (Action::Move(Direction::Down), r#"{"type":"MOVE_DOWN"}"#),
            (Action::MoveTo { x: 1.0, y: -2.5 }, r#"{"type":"MOVE_TO","position":{"x":1,"y":-2.5}}"#),
            (Action::MoveTo { x: -3.0, y: 1e300 }, r#"{"type":"MOVE_TO","position":{"x":-3,"y":1e+300}}"#),
        ] {
            assert_eq!(serde_json::to_string(&action).unwrap(), json);
            assert_eq!(serde_json::from_str::<Action>(json).unwrap(), action, "{json} reads back");
        }
    }

    #[test]
    fn non_finite_coordinates_round_trip_as_unusable() {
        let json = serde_json::to_string(&Action::MoveTo { x: f64::NAN, y: 0.0 }).unwrap();
        assert!(matches!(serde_json::from_str(&json).unwrap(), Action::MoveNowhere(_)));
    }

    #[test]
    fn actions_must_be_an_array() {
        let list = json!([{"type": "MOVE_UP"}, 3]);
        assert_eq!(parse_actions(Some(&list)).unwrap(), [Action::Move(Direction::Up), Action::Unknown("3".into())]);
        assert_eq!(parse_actions(Some(&json!([]))).unwrap(), []);
        let message = |json: Option<&Value>| parse_actions(json).unwrap_err().to_string();
        assert_eq!(message(Some(&json!({}))), "actions: expected an array of actions, found an object");
        assert_eq!(message(Some(&Value::Null)), "actions: expected an array of actions, found null");
        assert_eq!(message(None), "actions: expected an array of actions, found nothing");
    }

    const TRACE: &str = concat!(
        r#"{"map":"lane","noJump":true,"width":9,"height":7,"player":[6,6],"threats":[["bull",2,1,"up"]]}"#,
        "\n",
        r#"{"tick":2,"player":[6,5],"threats":[[2,1,"up","lazy"]],"over":false,"caught":false}"#,
        "\n",
        r#"{"actions":[{"type":"MOVE_TO","position":{"x":6.5,"y":3}}],"tick":3,"player":[6,4],"threats":[[2,1,"up","lazy"]],"over":false,"caught":false}"#,
        "\n",
    );

    #[test]
    fn trace_round_trips_byte_for_byte() {
        let trace = Trace::parse(TRACE).unwrap();
        assert_eq!((trace.header.no_jump, trace.header.threats[0].style), (true, Style::Bull));
        assert_eq!(trace.ticks[0].actions, None);
        assert_eq!(trace.ticks[1].actions, Some(vec![Action::MoveTo { x: 6.5, y: 3.0 }]));
        assert_eq!(trace.ticks[1].threats[0].position, Position::new(2, 1));
        let mut written = Vec::new();
        trace.write(&mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), TRACE);
    }

    #[test]
    fn invalid_trace_is_reported_with_its_line() {
        assert_eq!(Trace::parse("\n").unwrap_err().to_string(), "line 1: missing trace header");
        let broken = TRACE.replace("\"lazy\"]],\"over\":false,\"caught\":false}\n{\"actions", "\"calm\"]]}\n{\"acts");
        let message = Trace::parse(&broken).unwrap_err().to_string();
        assert!(message.starts_with("line 2: expected a tick of a trace: unknown variant `calm`"), "{message}");
        let misspelt = TRACE.replace("\"actions\"", "\"acts\"");
        let message = Trace::parse(&misspelt).unwrap_err().to_string();
        assert!(message.starts_with("line 3: expected a tick of a trace: unknown field `acts`"), "{message}");
    }

    #[test]
    fn header_matches_the_layout() {
        let layout = Layout::parse("OP").unwrap();
        let world = World::new(&layout, &Rules::BLITZ_2025).unwrap();
        assert_eq!(
            serde_json::to_string(&TraceHeader::new("pair", &world)).unwrap(),
            r#"{"map":"pair","noJump":false,"width":2,"height":1,"player":[1,0],"threats":[["owl",0,0,"up"]]}"#
        );
    }
}
