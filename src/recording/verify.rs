//! Replays a recording and finds the first difference from the rules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Display;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{GameNotes, RecordedTick, RecordingError, RecordingReader};
use crate::game::{Action, Direction, Position, Rules, State, Status, Tile, World};
use crate::map::bundled;
use crate::protocol::{
    GameMessage, MessageMap, MessageThreat, MessageTile, Name, ProtocolError, distances, personality_word, to_json,
};

const CONTEXT_TICKS: usize = 3;
/// Maximum number of inferred see-through tiles. A world is built for each, which takes time.
const MAX_SEE_THROUGH: usize = 256;

/// The result of verifying a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The number of verified ticks.
    pub ticks: usize,
    /// The tick of the last replayed state; 0 after a divergence.
    pub tick: u16,
    /// How the game ended. If the recording is incomplete or differs from the rules, this is
    /// [`Status::Running`] (`"unfinished"` in JSON).
    #[serde(rename = "outcome", serialize_with = "serialize_status")]
    pub status: Status,
    /// The score, if the replay reached the end of the game without a divergence.
    pub score: Option<u32>,
    /// The first field that differs from the rules, if there is one.
    pub divergence: Option<Divergence>,
    /// The number of the last line, if it is incomplete; `None` after a divergence.
    pub truncated_line: Option<usize>,
    /// The inferred see-through tiles: `EMPTY` tiles that the player could not enter. Empty after a
    /// divergence.
    pub see_through: Vec<Position>,
    /// Indices (in the message) of the threats of unknown style, whose moves were not verified.
    pub unverified_threats: Vec<usize>,
    /// The recorded name of the map, if the bundled map of this name has other tiles.
    pub misnamed_map: Option<String>,
}

impl VerifyReport {
    /// A sentence on the recorded name of the map, if the bundled map of this name has other tiles.
    pub fn note_on_map(&self) -> Option<String> {
        let name = self.misnamed_map.as_ref()?;
        Some(format!("the tiles are not those of the bundled map {name}, which game.map names"))
    }
}

fn serialize_status<S: Serializer>(status: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    match status {
        Status::Running => serializer.serialize_str("unfinished"),
        Status::Caught | Status::Complete => status.serialize(serializer),
    }
}

/// The first difference between a recording and the rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Divergence {
    /// The line number, from 1.
    pub line: usize,
    /// The tick given in the line.
    pub tick: u32,
    /// The field, such as `threats[3].position.x`.
    pub path: String,
    /// The value according to the rules.
    pub expected: String,
    /// The recorded value.
    pub found: String,
    /// The line of the divergence, with up to three lines before and after it.
    pub context: Vec<ContextTick>,
}

/// The line of a divergence, or a line near it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContextTick {
    /// The line number, from 1.
    pub line: usize,
    /// The tick.
    pub tick: u32,
    /// The player's position.
    pub player: Position,
    /// The recorded threats.
    pub threats: Vec<MessageThreat>,
    /// The actions of the bot's command.
    pub actions: Vec<Action>,
}

#[derive(Clone)]
struct Difference {
    path: String,
    expected: String,
    found: String,
}

/// Replays a recording and compares every field that the rules determine, and the notes that the
/// other lines or the actions of the same line determine. Omitted fields, and the moves of threats
/// of unknown style, are not compared. If the player did not follow a command, a tile that it never
/// enters is assumed to be see-through if this explains the difference. If `rules` is `None`, the
/// rules are those of the recording's notes, or the server's.
///
/// # Errors
/// If reading fails (see [`RecordingReader::next_tick`]), if there is no valid tick, or if no world
/// can be created from the first state and the rules.
pub fn verify<'a>(path: impl AsRef<Path>, rules: impl Into<Option<&'a Rules>>) -> Result<VerifyReport, RecordingError> {
    verify_all(RecordingReader::open(path)?, rules)
}

/// Like [`verify`], but takes a reader, which must not have read any line yet.
pub fn verify_all<'a>(
    mut reader: RecordingReader,
    rules: impl Into<Option<&'a Rules>>,
) -> Result<VerifyReport, RecordingError> {
    let Some(mut tick) = reader.next_tick()? else {
        return Err(RecordingError::Empty { path: reader.path().to_owned() });
    };
    let mut report = VerifyReport {
        ticks: 0,
        tick: 0,
        status: Status::Running,
        score: None,
        divergence: None,
        truncated_line: None,
        see_through: Vec::new(),
        unverified_threats: tick.game_message.unknown_threats().map(|(index, _)| index).collect(),
        misnamed_map: misnamed_map(&tick),
    };
    let mut recent = VecDeque::new();
    let mut replay = match Replay::begin(reader.path(), &tick, rules.into())? {
        Ok(replay) => replay,
        Err(difference) => {
            report.divergence = Some(difference.at(&mut reader, &recent, &tick));
            return Ok(report);
        }
    };
    loop {
        if let Some(difference) = replay.unexplained(&recent, reader.line(), &tick) {
            let earlier = replay.contradicted(reader.line(), &tick.game_message);
            let divergence = earlier.unwrap_or_else(|| difference.at(&mut reader, &recent, &tick));
            report.ticks = report.ticks.min(divergence.line - 1);
            report.divergence = Some(divergence);
            return Ok(report);
        }
        replay.play(&tick.actions);
        report.ticks += 1;
        if recent.len() == CONTEXT_TICKS {
            recent.pop_front();
        }
        recent.push_back((reader.line(), tick));
        match reader.next_tick()? {
            Some(next) => tick = next,
            None => break,
        }
    }
    report.truncated_line = reader.truncated_line();
    replay.conclude(&mut report);
    Ok(report)
}

struct Replay {
    world: World,
    state: State,
    first: GameMessage,
    notes: Option<Box<GameNotes>>,
    /// For each threat of known style, its index in the message.
    places: Vec<usize>,
    /// The previous state, and the actions played in it.
    before: Option<(State, Vec<Action>)>,
    visited: BTreeSet<Position>,
    /// The inferred see-through tiles, each with the divergence that it explains.
    see_through: BTreeMap<Position, Divergence>,
}

impl Replay {
    fn begin(
        path: &Path,
        tick: &RecordedTick,
        rules: Option<&Rules>,
    ) -> Result<Result<Self, Difference>, RecordingError> {
        let first = &tick.game_message;
        let rules = rules.unwrap_or_else(|| tick.rules());
        let layout = match first.validate().and_then(|()| first.layout()) {
            Ok(layout) => layout,
            Err(error) => return Ok(Err(Difference::of(error))),
        };
        let world =
            World::new(&layout, rules).map_err(|source| RecordingError::World { path: path.to_owned(), source })?;
        Ok(Ok(Self {
            state: world.start(),
            world,
            first: first.clone(),
            notes: tick.game.clone(),
            places: first.known_threats().map(|(index, ..)| index).collect(),
            before: None,
            visited: BTreeSet::new(),
            see_through: BTreeMap::new(),
        }))
    }

    /// The difference from the rules, unless see-through tiles explain it. The player has never
    /// entered these tiles, so they change no earlier tick, and only the last tick is replayed.
    fn unexplained(&mut self, recent: &Recent, line: usize, tick: &RecordedTick) -> Option<Difference> {
        let message = &tick.game_message;
        let found = message.your_character.position;
        let first = self.notes_difference(tick).or_else(|| self.difference(message));
        let mut difference = first.clone();
        for _ in Direction::ALL {
            let expected = self.world.player(&self.state);
            let (Some((before, actions)), true) = (&self.before, difference.is_some() && expected != found) else {
                break;
            };
            let stayed = self.world.player(before) == expected;
            if stayed || self.visited.contains(&expected) || self.see_through.len() == MAX_SEE_THROUGH {
                break;
            }
            let mut layout = self.world.layout().clone();
            layout.set_tile(expected, Tile::SeeThrough);
            let Ok(world) = World::new(&layout, self.world.rules()) else { break };
            let mut state = before.clone();
            let _ = world.step_command(&mut state, actions);
            (self.world, self.state) = (world, state);
            self.see_through.insert(expected, first.clone()?.divergence(context(recent, line, tick)));
            difference = self.difference(message);
        }
        self.visited.insert(found);
        if difference.is_none() { None } else { first }
    }

    /// Returns the divergence that an inferred see-through tile explained, if the inference proves
    /// wrong: the player now stands on the tile, or the tile was inferred from the previous line
    /// and the player is again not where the rules expect it.
    fn contradicted(&self, line: usize, message: &GameMessage) -> Option<Divergence> {
        let found = message.your_character.position;
        let elsewhere = self.world.player(&self.state) != found;
        let a_line_ago = || self.see_through.values().find(|earlier| elsewhere && earlier.line + 1 == line);
        self.see_through.get(&found).or_else(a_line_ago).cloned()
    }

    fn play(&mut self, actions: &[Action]) {
        self.before = Some((self.state.clone(), actions.to_vec()));
        let _ = self.world.step_command(&mut self.state, actions);
    }

    fn conclude(&self, report: &mut VerifyReport) {
        report.tick = self.state.tick();
        report.status = self.state.status();
        report.see_through = self.see_through.keys().copied().collect();
        report.score = self.state.is_over().then(|| self.world.score(&self.state));
    }

    /// Compares the player before the threats, because the threats' moves depend on the player.
    fn difference(&self, message: &GameMessage) -> Option<Difference> {
        if self.state.is_over() {
            let expected = format!("no further state: the game ended at tick {}", self.state.tick());
            return Some(Difference { path: "tick".to_owned(), expected, found: message.tick.to_string() });
        }
        self.tick_difference(message)
            .or_else(|| {
                let found = message.your_character.position;
                position_difference("yourCharacter.position", self.world.player(&self.state), found)
            })
            .or_else(|| self.map_difference(message))
            .or_else(|| self.threats_difference(message))
            .or_else(|| self.character_difference(message))
    }

    /// The first difference from the notes in the first line, or from the actions in this line.
    fn notes_difference(&self, tick: &RecordedTick) -> Option<Difference> {
        if let (Some(first), Some(found)) = (&self.notes, &tick.game)
            && first != found
        {
            let map = |notes: &GameNotes| notes.map.clone().unwrap_or_else(|| "nothing".to_owned());
            return differs("game.map", map(first), map(found))
                .or_else(|| differs("game", to_json(first), to_json(found)));
        }
        let commanded = tick.wire.as_ref()?.command.as_ref().map_or(&[][..], |command| &command.actions);
        let path = "wire.command.actions";
        (commanded != tick.actions).then(|| differs(path, to_json(&tick.actions), to_json(&commanded)))?
    }

    fn tick_difference(&self, message: &GameMessage) -> Option<Difference> {
        let tick = u32::from(self.state.tick());
        let number = message.current_tick_number.as_ref().filter(|number| number.is_number());
        differs("tick", tick, message.tick).or_else(|| {
            number.and_then(|number| differs("currentTickNumber", f64::from(tick), number.as_f64().unwrap_or(f64::NAN)))
        })
    }

    fn map_difference(&self, message: &GameMessage) -> Option<Difference> {
        if message.map == self.first.map {
            return message.validate().err().map(Difference::of);
        }
        let (expected, found) = (&self.first.map, &message.map);
        let tile = expected.tiles.iter().find(|&(position, tile)| found.tiles.get(position) != Some(tile));
        let tile = tile.map(|(position, tile)| Difference {
            path: cell("map.tiles", position),
            expected: tile_name(Some(tile)),
            found: tile_name(found.tiles.get(position)),
        });
        differs("map.width", expected.width, found.width)
            .or_else(|| differs("map.height", expected.height, found.height))
            .or_else(|| message.validate().err().map(Difference::of))
            .or(tile)
    }

    fn threats_difference(&self, message: &GameMessage) -> Option<Difference> {
        let styles = self.first.threats.iter().zip(&message.threats).enumerate();
        differs("threats.length", self.first.threats.len(), message.threats.len())
            .or_else(|| {
                let mut styles = styles.filter_map(|(index, (first, threat))| {
                    differs(&format!("threats[{index}].style"), &first.style, &threat.style)
                });
                styles.next()
            })
            .or_else(|| {
                let mut places = self.places.iter().enumerate();
                places.find_map(|(threat, &place)| self.threat_difference(threat, place, &message.threats[place]))
            })
    }

    fn threat_difference(&self, threat: usize, place: usize, found: &MessageThreat) -> Option<Difference> {
        let expected = self.world.threat(&self.state, threat);
        let personality = personality_word(self.world.rules(), self.world.reported_personality(&self.state));
        let direction = Name::Known(expected.direction);
        // For speed, a path is formatted only if a field differs.
        let same = expected.position == found.position
            && direction == found.direction
            && (found.personality.is_none() || personality.is_none() || found.personality == personality);
        if same {
            return None;
        }
        let path = format!("threats[{place}]");
        position_difference(&format!("{path}.position"), expected.position, found.position)
            .or_else(|| differs(&format!("{path}.direction"), &direction, &found.direction))
            .or_else(|| differs(&format!("{path}.personality"), personality.as_ref()?, found.personality.as_ref()?))
    }

    fn character_difference(&self, message: &GameMessage) -> Option<Difference> {
        let (first, found) = (&self.first.your_character, &message.your_character);
        let constant =
            |path: &str, first: &Option<Value>, found: &Option<Value>| differs(path, first.as_ref()?, found.as_ref()?);
        constant("yourCharacter.id", &first.id, &found.id)
            .or_else(|| constant("yourCharacter.teamId", &first.team_id, &found.team_id))
            .or_else(|| differs("yourCharacter.alive", true, found.alive.unwrap_or(true)))
            .or_else(|| position_difference("yourCharacter.spawnPoint", self.world.layout().player, found.spawn_point?))
            .or_else(|| self.distances_difference(message))
    }

    fn distances_difference(&self, message: &GameMessage) -> Option<Difference> {
        let found = message.your_character.distances.as_ref()?;
        let expected = distances(self.world.graph(), self.world.player(&self.state));
        if expected == *found {
            return None;
        }
        let text = |steps: Option<u32>| steps.map_or_else(|| "null".to_owned(), |steps| steps.to_string());
        let differing = expected.iter().find(|&(position, steps)| found.get(position) != Some(steps));
        differing.map(|(position, steps)| Difference {
            path: cell("yourCharacter.distances", position),
            expected: text(steps),
            found: text(found.get(position).flatten()),
        })
    }
}

impl Difference {
    fn of(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Field { path, expected, found } => Self { path, expected, found },
            other => Self { path: "game_message".to_owned(), expected: "a state".to_owned(), found: other.to_string() },
        }
    }

    /// Ignores errors in the lines after the divergence, because these lines are only context.
    fn at(self, reader: &mut RecordingReader, recent: &Recent, tick: &RecordedTick) -> Divergence {
        let mut divergence = self.divergence(context(recent, reader.line(), tick));
        for _ in 0..CONTEXT_TICKS {
            match reader.next_tick() {
                Ok(Some(tick)) => divergence.context.push(ContextTick::new(reader.line(), &tick)),
                _ => break,
            }
        }
        divergence
    }

    fn divergence(self, context: Vec<ContextTick>) -> Divergence {
        let (line, tick) = context.last().map_or((0, 0), |last| (last.line, last.tick));
        Divergence { line, tick, path: self.path, expected: self.expected, found: self.found, context }
    }
}

type Recent = VecDeque<(usize, RecordedTick)>;

fn context(recent: &Recent, line: usize, tick: &RecordedTick) -> Vec<ContextTick> {
    let before = recent.iter().map(|(line, tick)| ContextTick::new(*line, tick));
    before.chain([ContextTick::new(line, tick)]).collect()
}

impl ContextTick {
    fn new(line: usize, RecordedTick { game_message, actions, .. }: &RecordedTick) -> Self {
        Self {
            line,
            tick: game_message.tick,
            player: game_message.your_character.position,
            threats: game_message.threats.clone(),
            actions: actions.clone(),
        }
    }
}

fn misnamed_map(RecordedTick { game, game_message, .. }: &RecordedTick) -> Option<String> {
    let map = bundled::find(game.as_ref()?.map.as_ref()?)?;
    (MessageMap::of(&map.layout) != game_message.map).then_some(map.name)
}

fn differs<T: PartialEq + Display>(path: &str, expected: T, found: T) -> Option<Difference> {
    (expected != found).then(|| Difference {
        path: path.to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
    })
}

fn position_difference(path: &str, expected: Position, found: Position) -> Option<Difference> {
    if expected == found {
        return None;
    }
    differs(&format!("{path}.x"), expected.x, found.x).or_else(|| differs(&format!("{path}.y"), expected.y, found.y))
}

fn cell(grid: &str, Position { x, y }: Position) -> String {
    format!("{grid}[{x}][{y}]")
}

fn tile_name(tile: Option<MessageTile>) -> String {
    tile.map_or("nothing", MessageTile::name).to_owned()
}
