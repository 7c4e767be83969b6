//! The state message that the server sends to a bot before each tick. The parser ignores unknown
//! fields, and keeps unknown styles, directions and personalities as text. Memory use is bounded.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ProtocolError, from_json, limited, to_json};
use crate::files::{Object, object};
use crate::game::{
    Direction, Layout, Mover, Personalities, Personality, Position, Rules, Spawn, State, StreetGraph, Style,
    StyleNames, Tile, UNREACHED, World,
};

const STATE: &str = "STATE";
const PLAYER_ID: &str = "1";

/// A state as sent by the server. Fields of type [`Value`] do not affect the game: they are kept
/// verbatim, or are `None` if they are missing, `null`, or consist of more than 65,536 JSON values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameMessage {
    /// `type`, verbatim.
    #[serde(rename = "type", default, deserialize_with = "limited::value", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Value>,
    /// The tick that is played next. The first is tick 1.
    #[serde(deserialize_with = "whole")]
    pub tick: u32,
    /// `currentTickNumber`, verbatim.
    #[serde(default, deserialize_with = "limited::value", skip_serializing_if = "Option::is_none")]
    pub current_tick_number: Option<Value>,
    /// `lastTickErrors`, verbatim.
    #[serde(default, deserialize_with = "limited::value", skip_serializing_if = "Option::is_none")]
    pub last_tick_errors: Option<Value>,
    /// `constants`, verbatim.
    #[serde(default, deserialize_with = "limited::value", skip_serializing_if = "Option::is_none")]
    pub constants: Option<Value>,
    /// The map.
    #[serde(deserialize_with = "object")]
    pub map: MessageMap,
    /// The threats, in map order (see [`Layout::threats`]).
    #[serde(deserialize_with = "threats")]
    pub threats: Vec<MessageThreat>,
    /// The player.
    #[serde(deserialize_with = "object")]
    pub your_character: MessageCharacter,
}

/// The map of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageMap {
    /// Columns.
    #[serde(deserialize_with = "whole")]
    pub width: i32,
    /// Rows.
    #[serde(deserialize_with = "whole")]
    pub height: i32,
    /// The tiles. The server sends a see-through tile as an empty tile.
    pub tiles: Columns<MessageTile>,
}

/// A threat of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageThreat {
    /// The threat's position.
    #[serde(deserialize_with = "position")]
    pub position: Position,
    /// The direction that the threat faces.
    pub direction: Name<Direction>,
    /// The threat's personality, if the server sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Name<Personality>>,
    /// The threat's style.
    pub style: Name<Style>,
}

/// The player of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageCharacter {
    /// `id`, verbatim.
    #[serde(default, deserialize_with = "limited::value", skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// `teamId`, verbatim.
    #[serde(default, deserialize_with = "limited::value", skip_serializing_if = "Option::is_none")]
    pub team_id: Option<Value>,
    /// The player's position.
    #[serde(deserialize_with = "position")]
    pub position: Position,
    /// True in every message of the real server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alive: Option<bool>,
    /// The player's first tile.
    #[serde(default, deserialize_with = "optional_position", skip_serializing_if = "Option::is_none")]
    pub spawn_point: Option<Position>,
    /// The number of steps from the player to each tile; `None` for walls and unreachable tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distances: Option<Columns<Option<u32>>>,
}

/// A name in a message, which may be unknown to the game.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name<T> {
    /// The value that the name stands for.
    Known(T),
    /// An unknown name, verbatim.
    Other(String),
}

impl<T: Copy> Name<T> {
    /// The value, or `None` if the name is unknown.
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(known) => Some(*known),
            Self::Other(_) => None,
        }
    }
}

impl<T: Word> fmt::Display for Name<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Known(known) => known.word(),
            Self::Other(other) => other,
        })
    }
}

/// A type whose values have names in messages.
pub trait Word: Copy + 'static {
    /// A description of the expected name, for error messages.
    const EXPECTED: &'static str;
    /// Every value of the type.
    const WORDS: &'static [Self];
    /// The name of this value in messages.
    fn word(self) -> &'static str;
}

impl Word for Style {
    const EXPECTED: &'static str = "the name of a style";
    const WORDS: &'static [Self] = &Self::ALL;
    fn word(self) -> &'static str {
        self.name()
    }
}

impl Word for Direction {
    const EXPECTED: &'static str = "the name of a direction";
    const WORDS: &'static [Self] = &Self::ALL;
    fn word(self) -> &'static str {
        self.name()
    }
}

impl Word for Personality {
    const EXPECTED: &'static str = "the name of a personality";
    const WORDS: &'static [Self] = &Self::ALL;
    fn word(self) -> &'static str {
        self.name()
    }
}

impl<T: Word> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: Word> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor<T>(PhantomData<T>);
        impl<T: Word> Visitor<'_> for NameVisitor<T> {
            type Value = Name<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Name<T>, E> {
                let known = T::WORDS.iter().find(|known| known.word() == name);
                Ok(known.map_or_else(|| Name::Other(name.to_owned()), |&known| Name::Known(known)))
            }
        }
        deserializer.deserialize_str(NameVisitor(PhantomData))
    }
}

/// A grid stored as in messages, `[x][y]`: columns from left to right, each from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Columns<T> {
    width: usize,
    height: usize,
    cells: Vec<T>,
}

impl<T: Copy> Columns<T> {
    /// Creates a grid with the same value in every cell.
    pub fn filled(width: i32, height: i32, cell: T) -> Self {
        let (width, height) = (width.max(0) as usize, height.max(0) as usize);
        Self { width, height, cells: vec![cell; width * height] }
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The cell at a position; `None` off the grid.
    pub fn get(&self, position: Position) -> Option<T> {
        self.index(position).map(|index| self.cells[index])
    }

    /// Sets the cell at a position. Does nothing if the position is off the grid.
    pub fn set(&mut self, position: Position, cell: T) {
        if let Some(index) = self.index(position) {
            self.cells[index] = cell;
        }
    }

    /// Iterates over all positions and their cells, column by column.
    pub fn iter(&self) -> impl Iterator<Item = (Position, T)> + '_ {
        let height = self.height.max(1);
        let place = move |index: usize| Position::new((index / height) as i32, (index % height) as i32);
        self.cells.iter().enumerate().map(move |(index, &cell)| (place(index), cell))
    }

    fn index(&self, Position { x, y }: Position) -> Option<usize> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        (x < self.width && y < self.height).then_some(x * self.height + y)
    }
}

impl<T: Serialize> Serialize for Columns<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns = serializer.serialize_seq(Some(self.width))?;
        for x in 0..self.width {
            columns.serialize_element(&self.cells[x * self.height..][..self.height])?;
        }
        columns.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Columns<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ColumnsVisitor(PhantomData))
    }
}

struct ColumnsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ColumnsVisitor<T> {
    type Value = Columns<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of columns")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut columns: A) -> Result<Columns<T>, A::Error> {
        let (mut width, mut height, mut cells) = (0, None, Vec::new());
        while columns.next_element_seed(Column { cells: &mut cells, height })?.is_some() {
            width += 1;
            if width > GameMessage::MAX_SIDE {
                return Err(de::Error::custom(format_args!("expected at most {} columns", GameMessage::MAX_SIDE)));
            }
            height = height.or(Some(cells.len()));
        }
        Ok(Columns { width, height: height.unwrap_or(0), cells })
    }
}

struct Column<'a, T> {
    cells: &'a mut Vec<T>,
    height: Option<usize>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Column<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Column<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array (a column)")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut column: A) -> Result<(), A::Error> {
        let start = self.cells.len();
        while let Some(cell) = column.next_element()? {
            self.cells.push(cell);
            if self.cells.len() - start > GameMessage::MAX_SIDE {
                return Err(de::Error::custom(format_args!("expected at most {} rows", GameMessage::MAX_SIDE)));
            }
        }
        let found = self.cells.len() - start;
        match self.height {
            Some(height) if height != found => {
                Err(de::Error::custom(format_args!("expected {height} rows as in the first column, found {found}")))
            }
            _ => Ok(()),
        }
    }
}

/// A tile in a message. See-through tiles become [`MessageTile::Empty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageTile {
    /// `"WALL"`.
    Wall,
    /// `"EMPTY"`: open or see-through.
    Empty,
}

impl MessageTile {
    /// True if threats, lines of sight and paths can cross the tile.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Empty)
    }

    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wall => "WALL",
            Self::Empty => "EMPTY",
        }
    }
}

impl From<Tile> for MessageTile {
    fn from(tile: Tile) -> Self {
        if tile.is_open() { Self::Empty } else { Self::Wall }
    }
}

impl From<MessageTile> for Tile {
    fn from(tile: MessageTile) -> Self {
        match tile {
            MessageTile::Wall => Self::Wall,
            MessageTile::Empty => Self::Open,
        }
    }
}

impl Serialize for MessageTile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for MessageTile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TileVisitor;
        impl Visitor<'_> for TileVisitor {
            type Value = MessageTile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"WALL\" or \"EMPTY\"")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<MessageTile, E> {
                match name {
                    "WALL" => Ok(MessageTile::Wall),
                    "EMPTY" => Ok(MessageTile::Empty),
                    _ => Err(E::invalid_value(de::Unexpected::Str(name), &self)),
                }
            }
        }
        deserializer.deserialize_str(TileVisitor)
    }
}

struct Whole<T>(T);

impl<'de, T: TryFrom<i64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WholeVisitor<T>(PhantomData<T>);
        impl<T: TryFrom<i64>> Visitor<'_> for WholeVisitor<T> {
            type Value = Whole<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number in range")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole<T>, E> {
                let whole = T::try_from(number).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))?;
                Ok(Whole(whole))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Whole<T>, E> {
                let whole = i64::try_from(number).ok().and_then(|number| T::try_from(number).ok());
                whole.map(Whole).ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Whole<T>, E> {
                // Reject a number with a fraction or out of range, because the cast changes it.
                let whole = Some(number as i64).filter(|&whole| whole as f64 == number);
                let whole = whole.and_then(|whole| T::try_from(whole).ok());
                whole.map(Whole).ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
            }
        }
        deserializer.deserialize_any(WholeVisitor(PhantomData))
    }
}

fn whole<'de, D: Deserializer<'de>, T: TryFrom<i64>>(deserializer: D) -> Result<T, D::Error> {
    Whole::deserialize(deserializer).map(|Whole(number)| number)
}

#[derive(Deserialize)]
struct WirePosition {
    x: Whole<i32>,
    y: Whole<i32>,
}

impl From<WirePosition> for Position {
    fn from(WirePosition { x: Whole(x), y: Whole(y) }: WirePosition) -> Self {
        Self { x, y }
    }
}

fn position<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Position, D::Error> {
    object(deserializer).map(|position: WirePosition| position.into())
}

fn optional_position<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Position>, D::Error> {
    let position = Option::<Object<WirePosition>>::deserialize(deserializer)?;
    Ok(position.map(|Object(position)| position.into()))
}

fn threats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MessageThreat>, D::Error> {
    let threats = limited::list(deserializer, GameMessage::MAX_THREATS, "threats")?;
    Ok(threats.into_iter().map(|Object(threat)| threat).collect())
}

impl GameMessage {
    /// Maximum length of a message, in bytes. The largest map (1024 x 1024 tiles) needs about 13 MB.
    pub const MAX_BYTES: usize = 16 << 20;
    /// Maximum number of columns and of rows in a message, as in the largest supported map image.
    pub const MAX_SIDE: usize = crate::map::MAX_SIDE as usize;
    /// Maximum number of threats in a message, to bound its memory. A [`World`] allows fewer.
    pub const MAX_THREATS: usize = 1024;
    /// Maximum nesting depth of a verbatim field. In a recording, up to 3 objects enclose the field.
    pub const MAX_VERBATIM_DEPTH: usize = super::MAX_JSON_DEPTH - 3;

    /// Parses a state message.
    ///
    /// # Errors
    /// If the message is too long, not JSON, or not a state. The error names the invalid field if
    /// it is known.
    pub fn parse(frame: impl AsRef<[u8]>) -> Result<Self, ProtocolError> {
        // Compiled once, not in each crate that calls `parse`.
        fn parse(frame: &[u8]) -> Result<GameMessage, ProtocolError> {
            if frame.len() > GameMessage::MAX_BYTES {
                return Err(ProtocolError::TooLong { bytes: frame.len(), limit_bytes: GameMessage::MAX_BYTES });
            }
            let Object::<GameMessage>(message) = from_json(frame)?;
            message.validate()?;
            Ok(message)
        }
        parse(frame.as_ref())
    }

    /// Checks the sizes of the map and of the distances, and the nesting depth of the verbatim
    /// fields. [`GameMessage::parse`] includes this check.
    ///
    /// # Errors
    /// If a check fails. The error names the first invalid field.
    pub fn validate(&self) -> Result<(), ProtocolError> {
        let differ = |path: &str, expected: usize, found: i64| {
            Err(ProtocolError::Field {
                path: path.to_owned(),
                expected: expected.to_string(),
                found: found.to_string(),
            })
        };
        for (path, value) in self.verbatim() {
            if value.is_some_and(|value| !is_shallow(value, GameMessage::MAX_VERBATIM_DEPTH)) {
                return Err(ProtocolError::Field {
                    path: path.to_owned(),
                    expected: format!("at most {} levels", GameMessage::MAX_VERBATIM_DEPTH),
                    found: "more".to_owned(),
                });
            }
        }
        let MessageMap { width, height, ref tiles } = self.map;
        if tiles.cells.is_empty() {
            return Err(ProtocolError::Field {
                path: "map.tiles".to_owned(),
                expected: "at least one tile".to_owned(),
                found: "none".to_owned(),
            });
        }
        if i64::from(width) != tiles.width as i64 {
            return differ("map.width", tiles.width, width.into());
        }
        if i64::from(height) != tiles.height as i64 {
            return differ("map.height", tiles.height, height.into());
        }
        let Some(distances) = &self.your_character.distances else { return Ok(()) };
        if distances.width != tiles.width {
            return differ("yourCharacter.distances.length", tiles.width, distances.width as i64);
        }
        if distances.height != tiles.height {
            return differ("yourCharacter.distances[0].length", tiles.height, distances.height as i64);
        }
        Ok(())
    }

    fn verbatim(&self) -> [(&'static str, Option<&Value>); 6] {
        [
            ("type", self.kind.as_ref()),
            ("currentTickNumber", self.current_tick_number.as_ref()),
            ("lastTickErrors", self.last_tick_errors.as_ref()),
            ("constants", self.constants.as_ref()),
            ("yourCharacter.id", self.your_character.id.as_ref()),
            ("yourCharacter.teamId", self.your_character.team_id.as_ref()),
        ]
    }

    /// Creates the message that the server sends for a state.
    pub fn of(world: &World, state: &State, team_id: &str) -> Self {
        let tick = state.tick();
        Self {
            kind: Some(STATE.into()),
            tick: tick.into(),
            current_tick_number: Some(tick.into()),
            last_tick_errors: Some(Value::Array(Vec::new())),
            constants: Some(Value::Object(serde_json::Map::new())),
            map: MessageMap::of(world.layout()),
            threats: threats_of(world, state),
            your_character: character_of(world, state, team_id),
        }
    }

    /// Each threat of known style, with its index in the message and its style.
    pub fn known_threats(&self) -> impl Iterator<Item = (usize, Style, &MessageThreat)> {
        self.threats.iter().enumerate().filter_map(|(index, threat)| Some((index, threat.style.known()?, threat)))
    }

    /// Each threat of unknown style, with its index in the message.
    pub fn unknown_threats(&self) -> impl Iterator<Item = (usize, &MessageThreat)> {
        self.threats.iter().enumerate().filter(|(_, threat)| threat.style.known().is_none())
    }

    /// Creates a layout whose spawns are the current positions and whose open tiles are the `EMPTY`
    /// tiles. Its threats are the [`GameMessage::known_threats`], in the same order.
    ///
    /// # Errors
    /// If the player or a threat of known style is not on an `EMPTY` tile.
    pub fn layout(&self) -> Result<Layout, ProtocolError> {
        let MessageMap { width, height, ref tiles } = self.map;
        let on_street = |position: Position, path: &dyn Fn() -> String| match tiles.get(position) {
            Some(MessageTile::Empty) => Ok(position),
            _ => Err(ProtocolError::Field {
                path: path(),
                expected: "an EMPTY tile".to_owned(),
                found: position.to_string(),
            }),
        };
        let player = on_street(self.your_character.position, &|| "yourCharacter.position".to_owned())?;
        let spawn = |(index, style, threat): (usize, Style, &MessageThreat)| {
            let position = on_street(threat.position, &|| format!("threats[{index}].position"))?;
            Ok(Spawn { style, position })
        };
        let threats = self.known_threats().map(spawn).collect::<Result<_, ProtocolError>>()?;
        let mut rows = Vec::with_capacity(tiles.cells.len());
        for y in 0..tiles.height {
            rows.extend((0..tiles.width).map(|x| Tile::from(tiles.cells[x * tiles.height + y])));
        }
        Ok(Layout { width, height, tiles: rows, player, threats })
    }
}

impl MessageMap {
    /// A layout of this map with the player but no threats. Missing tiles become walls.
    pub(crate) fn layout(&self, player: Position) -> Layout {
        self.window(Position::new(0, 0), (self.width, self.height), player)
    }

    /// A layout of the rectangle whose top-left tile is `from`. `player` is in map coordinates.
    pub(crate) fn window(&self, from: Position, (width, height): (i32, i32), player: Position) -> Layout {
        let rows = (from.y..from.y + height).flat_map(|y| (from.x..from.x + width).map(move |x| Position::new(x, y)));
        let tiles = rows.map(|position| self.tiles.get(position).map_or(Tile::Wall, Tile::from)).collect();
        let player = Position::new(player.x - from.x, player.y - from.y);
        Layout { width, height, tiles, player, threats: Vec::new() }
    }

    /// Converts a layout to the map of a message.
    pub fn of(layout: &Layout) -> Self {
        let mut tiles = Columns::filled(layout.width, layout.height, MessageTile::Wall);
        layout.open_positions().for_each(|position| tiles.set(position, MessageTile::Empty));
        Self { width: layout.width, height: layout.height, tiles }
    }
}

fn is_shallow(value: &Value, levels: usize) -> bool {
    match (value, levels) {
        (Value::Array(_) | Value::Object(_), 0) => false,
        (Value::Array(items), _) => items.iter().all(|item| is_shallow(item, levels - 1)),
        (Value::Object(fields), _) => fields.values().all(|field| is_shallow(field, levels - 1)),
        _ => true,
    }
}

fn threats_of(world: &World, state: &State) -> Vec<MessageThreat> {
    let personality = personality_word(world.rules(), world.reported_personality(state));
    let threats = world.threats(state).map(|threat| MessageThreat {
        position: threat.position,
        direction: Name::Known(threat.direction),
        personality: personality.clone(),
        style: style_word(world.rules(), threat.style),
    });
    threats.collect()
}

/// The name that a server with these rules sends for a style.
pub fn style_word(rules: &Rules, style: Style) -> Name<Style> {
    match rules.wire.style_names {
        StyleNames::Server => Name::Known(style),
        StyleNames::Unknown => Name::Other(format!("pursuer-{}", style as usize + 1)),
    }
}

/// The name that a server with these rules sends for a personality; `None` if it sends no name.
pub(crate) fn personality_word(rules: &Rules, personality: Personality) -> Option<Name<Personality>> {
    match rules.wire.personalities {
        Personalities::Server => Some(Name::Known(personality)),
        Personalities::Missing => None,
        Personalities::Mismatched => {
            let count = Personality::ALL.len();
            Some(Name::Known(Personality::ALL[(personality as usize + 2) % count]))
        }
    }
}

fn character_of(world: &World, state: &State, team_id: &str) -> MessageCharacter {
    let position = world.player(state);
    MessageCharacter {
        id: Some(PLAYER_ID.into()),
        team_id: Some(team_id.into()),
        position,
        alive: Some(true),
        spawn_point: Some(world.layout().player),
        distances: Some(distances(world.graph(), position)),
    }
}

/// The number of steps from `from` to each tile, or `None` if there is no path. As on the server,
/// a path may cross see-through tiles. If `from` is a wall or off the map, there are no paths.
pub fn distances(graph: &StreetGraph, from: Position) -> Columns<Option<u32>> {
    let mut distances = Columns::filled(graph.width(), graph.height(), None);
    let steps = graph.tile(from).map(|tile| graph.distances(Mover::Threat, tile)).unwrap_or_default();
    for (&position, &steps) in graph.positions().iter().zip(&steps) {
        if steps != UNREACHED {
            distances.set(position, Some(steps.into()));
        }
    }
    distances
}

/// Writes the messages of a world's games as JSON, byte for byte as a [`GameMessage`] is
/// serialised. It serialises the map, about half of each message, only once.
#[derive(Clone, Debug)]
pub struct MessageWriter<'a> {
    world: &'a World,
    team_id: &'a str,
    map: String,
}

impl<'a> MessageWriter<'a> {
    /// Creates a writer for the games of a world.
    pub fn new(world: &'a World, team_id: &'a str) -> Self {
        Self { world, team_id, map: to_json(&MessageMap::of(world.layout())) }
    }

    /// The message for a state.
    pub fn write(&self, state: &State) -> String {
        let (tick, map) = (state.tick(), &self.map);
        let threats = to_json(&threats_of(self.world, state));
        let character = to_json(&character_of(self.world, state, self.team_id));
        format!(
            r#"{{"type":"{STATE}","tick":{tick},"currentTickNumber":{tick},"lastTickErrors":[],"constants":{{}},"map":{map},"threats":{threats},"yourCharacter":{character}}}"#
        )
    }
}
