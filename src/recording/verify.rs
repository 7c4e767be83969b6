//! Playing a recording again, and the first field in which it differs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Display;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{RecordedTick, RecordingError, RecordingReader};
use crate::game::{Action, Direction, Position, Rules, State, Status, Tile, World};
use crate::protocol::{GameMessage, MessageThreat, Name, ProtocolError, distances};

/// Ticks shown before and after a divergence.
const CONTEXT_TICKS: usize = 3;
/// See-through tiles that are worked out at most; each one costs a new world.
const MAX_SEE_THROUGH: usize = 256;

/// What a recording turned out to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Ticks that were verified.
    pub ticks: usize,
    /// The tick that was reached: a game that ends there has a score of five times as much.
    pub tick: u16,
    /// How it ended; [`Status::Running`] if the recording ends before the game does, which is `"unfinished"` in JSON.
    #[serde(rename = "outcome", serialize_with = "serialize_status")]
    pub status: Status,
    /// The score, once the game is over.
    pub score: Option<u32>,
    /// The first field that is not what the rules make it.
    pub divergence: Option<Divergence>,
    /// The last line, if the file ends in the middle of it.
    pub truncated_line: Option<usize>,
    /// Tiles on which the player was refused although messages call them EMPTY: they must be see-through.
    pub see_through: Vec<Position>,
    /// Threats, by their place in the message, whose style is unknown: nothing of them was verified.
    pub unverified_threats: Vec<usize>,
}

fn serialize_status<S: Serializer>(status: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    match status {
        Status::Running => serializer.serialize_str("unfinished"),
        Status::Caught | Status::Complete => status.serialize(serializer),
    }
}

/// The first difference between a recording and the rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Divergence {
    /// The line, from 1.
    pub line: usize,
    /// The tick that the line says it is.
    pub tick: u32,
    /// The field: `threats[3].position.x`.
    pub path: String,
    /// What the rules make it.
    pub expected: String,
    /// What was recorded.
    pub found: String,
    /// A few lines around it, as recorded.
    pub context: Vec<ContextTick>,
}

/// A line near a divergence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContextTick {
    /// The line, from 1.
    pub line: usize,
    /// The tick.
    pub tick: u32,
    /// Where the player is.
    pub player: Position,
    /// Where the threats are, what they are, and where they look.
    pub threats: Vec<MessageThreat>,
    /// What was answered.
    pub actions: Vec<Action>,
}

/// A field that differs.
#[derive(Clone)]
struct Difference {
    path: String,
    expected: String,
    found: String,
}

/// Plays a recording again and compares every field that the rules determine: tick, map, player, distances, and each threat's position,
/// direction, personality and style. Fields that a message leaves out, and threats of unknown style, are not compared.
///
/// Messages do not tell see-through tiles from open ones. Where the player was refused on a tile that it never stands on, and that alone
/// explains the line, the tile is taken to be see-through, and the report names it.
///
/// # Errors
/// When the file cannot be read: a line before its last is no tick, or it describes a map that cannot be played.
pub fn verify(path: impl AsRef<Path>, rules: &Rules) -> Result<Report, RecordingError> {
    let mut reader = RecordingReader::open(path)?;
    let Some(mut tick) = reader.next_tick()? else {
        return Err(RecordingError::Empty { path: reader.path().to_owned() });
    };
    let mut report = Report {
        ticks: 0,
        tick: 0,
        status: Status::Running,
        score: None,
        divergence: None,
        truncated_line: None,
        see_through: Vec::new(),
        unverified_threats: tick.game_message.unknown_threats().map(|(index, _)| index).collect(),
    };
    let mut recent = VecDeque::new();
    let mut replay = match Replay::begin(reader.path(), &tick.game_message, rules)? {
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

/// A game that is played again from its first line.
struct Replay {
    world: World,
    state: State,
    first: GameMessage,
    /// The place in the message of each threat of the world.
    places: Vec<usize>,
    /// The state before this one, and what was answered to it.
    before: Option<(State, Vec<Action>)>,
    /// Where the player has stood.
    visited: BTreeSet<Position>,
    /// Tiles that are taken to be see-through, and what differed where they are open.
    see_through: BTreeMap<Position, Divergence>,
}

impl Replay {
    /// The game that a first message begins.
    fn begin(path: &Path, first: &GameMessage, rules: &Rules) -> Result<Result<Self, Difference>, RecordingError> {
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
            places: first.known_threats().map(|(index, ..)| index).collect(),
            before: None,
            visited: BTreeSet::new(),
            see_through: BTreeMap::new(),
        }))
    }

    /// The first difference that no see-through tile explains. The tile is looked for among those that the player should have stepped on
    /// and never did; making one see-through changes nothing about the ticks before, so the last one alone is played anew.
    fn unexplained(&mut self, recent: &Recent, line: usize, tick: &RecordedTick) -> Option<Difference> {
        let message = &tick.game_message;
        let found = message.your_character.position;
        let first = self.difference(message);
        let mut difference = first.clone();
        // A list of actions may be refused in more than one direction.
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
            layout.tiles[(expected.y * layout.width + expected.x) as usize] = Tile::SeeThrough;
            let Ok(world) = World::new(&layout, self.world.rules()) else { break };
            let mut state = before.clone();
            let _ = world.play(&mut state, actions);
            (self.world, self.state) = (world, state);
            self.see_through.insert(expected, first.clone()?.divergence(context(recent, line, tick)));
            difference = self.difference(message);
        }
        self.visited.insert(found);
        if difference.is_none() { None } else { first }
    }

    /// The difference that a see-through tile seemed to explain, if it did so only for a line, or the player now stands on that tile.
    fn contradicted(&self, line: usize, message: &GameMessage) -> Option<Divergence> {
        let found = message.your_character.position;
        let elsewhere = self.world.player(&self.state) != found;
        let a_line_ago = || self.see_through.values().find(|earlier| elsewhere && earlier.line + 1 == line);
        self.see_through.get(&found).or_else(a_line_ago).cloned()
    }

    /// Plays a tick; in a game that is over there is none.
    fn play(&mut self, actions: &[Action]) {
        self.before = Some((self.state.clone(), actions.to_vec()));
        // A game that is over shows at the next line, if there is one.
        let _ = self.world.play(&mut self.state, actions);
    }

    fn conclude(&self, report: &mut Report) {
        report.tick = self.state.tick();
        report.status = self.state.status();
        report.see_through = self.see_through.keys().copied().collect();
        report.score = self.state.is_over().then(|| self.world.score(&self.state));
    }

    /// The first field of a message that is not what the rules make it: the player first, because threats follow it.
    fn difference(&self, message: &GameMessage) -> Option<Difference> {
        if self.state.is_over() {
            let expected = format!("no further state, the game is over in tick {}", self.state.tick());
            return Some(Difference { path: "tick".to_owned(), expected, found: message.tick.to_string() });
        }
        self.tick_difference(message)
            .or_else(|| {
                position_difference("yourCharacter", self.world.player(&self.state), message.your_character.position)
            })
            .or_else(|| self.map_difference(message))
            .or_else(|| self.threats_difference(message))
            .or_else(|| self.character_difference(message))
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
        let personality = Name::Known(self.world.personality(&self.state));
        let direction = Name::Known(expected.direction);
        // The paths are made only where something differs: this runs for every threat of every line.
        let same = expected.position == found.position
            && direction == found.direction
            && found.personality.as_ref().is_none_or(|found| *found == personality);
        if same {
            return None;
        }
        let path = format!("threats[{place}]");
        position_difference(&path, expected.position, found.position)
            .or_else(|| differs(&format!("{path}.direction"), &direction, &found.direction))
            .or_else(|| differs(&format!("{path}.personality"), &personality, found.personality.as_ref()?))
    }

    fn character_difference(&self, message: &GameMessage) -> Option<Difference> {
        let (first, found) = (&self.first.your_character, &message.your_character);
        let text = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        let constant = |path: &str, first: &Option<Value>, found: &Option<Value>| {
            if first == found { None } else { differs(path, text(first), text(found)) }
        };
        constant("yourCharacter.id", &first.id, &found.id)
            .or_else(|| constant("yourCharacter.teamId", &first.team_id, &found.team_id))
            .or_else(|| differs("yourCharacter.alive", true, found.alive.unwrap_or(true)))
            .or_else(|| {
                let path = "yourCharacter.spawnPoint";
                let (expected, found) = (self.world.layout().player, found.spawn_point?);
                differs(&format!("{path}.x"), expected.x, found.x)
                    .or_else(|| differs(&format!("{path}.y"), expected.y, found.y))
            })
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
    /// What is wrong with a message as such.
    fn of(error: ProtocolError) -> Self {
        match error {
            ProtocolError::Field { path, expected, found } => Self { path, expected, found },
            other => Self { path: "game_message".to_owned(), expected: "a state".to_owned(), found: other.to_string() },
        }
    }

    /// The difference with what stands around it. What follows is only for show, so it does not matter whether it can be read.
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

    /// The difference in the last line of its context.
    fn divergence(self, context: Vec<ContextTick>) -> Divergence {
        let (line, tick) = context.last().map_or((0, 0), |last| (last.line, last.tick));
        Divergence { line, tick, path: self.path, expected: self.expected, found: self.found, context }
    }
}

/// The last few lines, by their numbers.
type Recent = VecDeque<(usize, RecordedTick)>;

/// A line and those before it.
fn context(recent: &Recent, line: usize, tick: &RecordedTick) -> Vec<ContextTick> {
    let before = recent.iter().map(|(line, tick)| ContextTick::new(*line, tick));
    before.chain([ContextTick::new(line, tick)]).collect()
}

impl ContextTick {
    fn new(line: usize, RecordedTick { game_message, actions }: &RecordedTick) -> Self {
        Self {
            line,
            tick: game_message.tick,
            player: game_message.your_character.position,
            threats: game_message.threats.clone(),
            actions: actions.clone(),
        }
    }
}

fn differs<T: PartialEq + Display>(path: &str, expected: T, found: T) -> Option<Difference> {
    (expected != found).then(|| Difference {
        path: path.to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
    })
}

fn position_difference(owner: &str, expected: Position, found: Position) -> Option<Difference> {
    if expected == found {
        return None;
    }
    differs(&format!("{owner}.position.x"), expected.x, found.x)
        .or_else(|| differs(&format!("{owner}.position.y"), expected.y, found.y))
}

fn cell(grid: &str, Position { x, y }: Position) -> String {
    format!("{grid}[{x}][{y}]")
}

fn tile_name(tile: Option<Tile>) -> String {
    tile.map_or("nothing", |tile| if tile.is_open() { "EMPTY" } else { "WALL" }).to_owned()
}
