//! A recorded game: for each recorded tick, the state, the commanded move and the move that was
//! played, as far as they are known.
//!
//! Guarantees: if `is_exact` is true and the state is known, the state follows from the start of
//! the game by the rules, and agrees with the tick's message. Otherwise, if the state is known,
//! visible fields are as recorded, and hidden fields are as predicted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::recorded::{Positions, file_stem, note_on, team_of};
use getaway::game::{Direction, Move, Position, Rules, State, Status, Threat, Tile, World};
use getaway::map::Map;
use getaway::protocol::{GameMessage, MessageMap, MessageThreat, Mistakes};
use getaway::recording::{
    DecisionNotes, Divergence, GameNotes, RecordedTick, RecordingError, RecordingReader, VerifyReport, WireNotes,
    verify_all,
};

const TICKS_MAX: usize = 10_000;

#[derive(Clone, Debug)]
pub struct LoggedTick {
    pub tick: u32,
    pub positions: Positions,
    /// The state at the start of the tick; `None` if the recording cannot be followed to this tick.
    pub state: Option<State>,
    /// True if no message from tick 1 to this tick is missing, and these messages follow the rules.
    /// Meaningless if `state` is `None`.
    pub is_exact: bool,
    pub mispredicted: Vec<Misprediction>,
    /// The move that the recorded actions resolve to; `None` if `state` is `None`.
    pub commanded: Option<Move>,
    pub played: Option<Move>,
    /// The commands that the server received from the bot in this tick, if recorded.
    pub wire: Option<Box<WireNotes>>,
    pub decision: Option<Box<DecisionNotes>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misprediction {
    pub threat: usize,
    pub predicted: Position,
    pub found: Position,
}

#[derive(Clone, Debug)]
pub struct GameLog {
    pub file: String,
    pub team: Option<String>,
    pub notes: Option<GameNotes>,
    /// The map's recorded name. If none is recorded, the name of a known map that matches the first
    /// message.
    pub map: Option<String>,
    pub world: Arc<World>,
    /// The recorded names of the threats' styles.
    pub styles: Vec<String>,
    /// For each threat of the world, its index in the recording.
    pub indices: Vec<usize>,
    pub ticks: Vec<LoggedTick>,
    /// The state after the last of `ticks`; `None` if the recording cannot be followed that far.
    pub last: Option<State>,
    pub report: VerifyReport,
    /// The mistakes in the recorded commands and messages.
    pub mistakes: Mistakes,
    pub is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OtherGame {
    #[error("expected another recording of the same game, but the recordings differ at tick {0}")]
    Differs(u32),
    #[error("expected another recording of the same game, but the recordings share no tick")]
    Apart,
}

#[derive(Clone, Debug)]
pub enum RecordingSource {
    File(PathBuf),
    /// A file's name and its content.
    Memory(PathBuf, Arc<[u8]>),
}

impl RecordingSource {
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Memory(path, _) => path,
        }
    }

    fn open(&self) -> Result<RecordingReader, RecordingError> {
        match self {
            Self::File(path) => RecordingReader::open(path),
            Self::Memory(path, bytes) => RecordingReader::new(path, std::io::Cursor::new(Arc::clone(bytes))),
        }
    }
}

impl GameLog {
    pub fn read(source: &RecordingSource, rules: Option<&Rules>, maps: &[Map]) -> Result<Self, RecordingError> {
        let path = source.path();
        let mut reader = source.open()?;
        let Some(first) = reader.next_tick()? else {
            return Err(RecordingError::Empty { path: path.to_owned() });
        };
        let notes = first.game.as_deref().cloned();
        let rules = *rules.unwrap_or_else(|| first.rules());
        let report = verify_all(source.open()?, &rules)?;
        let message = &first.game_message;
        let known = known_map(message, notes.as_ref(), maps);
        let world = world_of(path, message, &report, known, &rules)?;
        let recorded_map = notes.as_ref().and_then(|notes| notes.map.clone());
        let mut log = Self {
            file: file_stem(path),
            team: team_of(message),
            map: recorded_map.or_else(|| known.map(|map| map.name.clone())),
            notes,
            styles: message.threats.iter().map(|threat| threat.style.to_string()).collect(),
            indices: message.known_threats().map(|(index, ..)| index).collect(),
            ticks: Vec::new(),
            last: None,
            report,
            mistakes: Mistakes::default(),
            is_cut: false,
            world: Arc::new(world),
        };
        log.follow(first, &mut reader)?;
        Ok(log)
    }

    /// Combines the notes of two recordings of a game, such as the server's and the bot's. Keeps
    /// the ticks of the server's recording, or those of `self` if both or neither are from a
    /// server. Fails if the positions in a tick differ, or if the recordings share no tick.
    pub fn merged(self, other: Self) -> Result<Self, OtherGame> {
        let is_server = |log: &Self| log.ticks.iter().any(|tick| tick.wire.is_some());
        let (mut log, other) = if is_server(&other) && !is_server(&self) { (other, self) } else { (self, other) };
        let mut shared = 0;
        for tick in other.ticks {
            let Ok(index) = log.ticks.binary_search_by_key(&tick.tick, |tick| tick.tick) else { continue };
            let mine = &mut log.ticks[index];
            if mine.positions != tick.positions {
                return Err(OtherGame::Differs(tick.tick));
            }
            shared += 1;
            mine.wire = mine.wire.take().or(tick.wire);
            mine.decision = mine.decision.take().or(tick.decision);
        }
        if shared == 0 {
            return Err(OtherGame::Apart);
        }
        log.map = log.map.or(other.map);
        log.notes = match (log.notes, other.notes) {
            (Some(mine), Some(other)) => Some(GameNotes {
                map: mine.map.or(other.map),
                rules: mine.rules,
                recorder: [mine.recorder, other.recorder]
                    .into_iter()
                    .flatten()
                    .reduce(|one, two| format!("{one}, {two}")),
                planner: mine.planner.or(other.planner),
                tick_ms: mine.tick_ms.or(other.tick_ms),
            }),
            (mine, other) => mine.or(other),
        };
        Ok(log)
    }

    pub fn status(&self) -> Status {
        self.last.as_ref().map_or(Status::Running, State::status)
    }

    fn follow(&mut self, first: RecordedTick, reader: &mut RecordingReader) -> Result<(), RecordingError> {
        let start = self.world.start();
        let (mut state, mut is_exact) = if self.shows(&start, &first.game_message) {
            (Some(start), true)
        } else {
            (self.placed(&start, &first.game_message), false)
        };
        let mut mispredicted = Vec::new();
        let mut line = first;
        loop {
            let next = match reader.next_tick()? {
                // Some clients record the same state twice.
                Some(next) if next.game_message.tick == line.game_message.tick => continue,
                next => next,
            };
            self.mistakes.add_actions(line.game_message.tick, &line.actions);
            for frame in line.wire.iter().flat_map(|wire| &wire.unreadable) {
                self.mistakes.add("invalid message", line.game_message.tick, &frame.text, &frame.error);
            }
            let commanded = state.as_ref().map(|state| self.world.resolve(state, &line.actions));
            let after = match (&state, commanded, &next) {
                (Some(state), Some(commanded), Some(next)) => self.successor(state, commanded, &next.game_message),
                (Some(state), Some(commanded), None) => Some(self.end(state, commanded, &line)),
                _ => None,
            };
            self.ticks.push(LoggedTick {
                tick: line.game_message.tick,
                positions: self.positions(&line.game_message),
                state: state.take(),
                is_exact,
                mispredicted: std::mem::take(&mut mispredicted),
                commanded,
                played: after.as_ref().and_then(|after| after.played),
                wire: line.wire,
                decision: line.decision,
            });
            if let Some(after) = after {
                is_exact &= after.is_exact;
                state = Some(after.state);
                mispredicted = after.mispredicted;
            }
            match next {
                Some(next) if self.ticks.len() < TICKS_MAX => line = next,
                next => {
                    self.is_cut = next.is_some();
                    self.last = state;
                    return Ok(());
                }
            }
        }
    }

    /// The state that the next message shows; `None` if no running state can fit the message.
    /// Assumes that the commanded move was played, unless no tick is missing and only another move
    /// explains the player's position.
    fn successor(&self, state: &State, commanded: Move, message: &GameMessage) -> Option<After> {
        let world = &self.world;
        let found = message.your_character.position;
        let missed = message.tick.checked_sub(u32::from(state.tick()) + 1)?;
        let predicted = world.after(state, commanded);
        let (played, mut next) = if world.player(&predicted) == found || missed > 0 {
            (commanded, predicted)
        } else {
            let mut others = world.legal_moves(state).map(|player_move| (player_move, world.after(state, player_move)));
            others.find(|(_, next)| world.player(next) == found).unwrap_or((commanded, predicted))
        };
        // The player is assumed to stay in ticks whose messages are missing.
        for _ in 0..missed {
            if next.is_over() {
                break;
            }
            world.step_unchecked(&mut next, Move::Stay);
        }
        let played = Some(played).filter(|_| missed == 0);
        if self.shows(&next, message) && !next.is_over() {
            return Some(After { state: next, played, is_exact: missed == 0, mispredicted: Vec::new() });
        }
        let mispredicted = self.mispredictions(&next, message);
        let state = self.placed(&next, message)?;
        Some(After { state, played, is_exact: false, mispredicted })
    }

    /// The state after the last recorded tick. Without the server's notes, the last command counts
    /// as ignored if it would have prevented a catch, and if the server ignored an earlier one.
    fn end(&self, state: &State, commanded: Move, line: &RecordedTick) -> After {
        let (next, stayed) = (self.world.after(state, commanded), self.world.after(state, Move::Stay));
        let has_lost = || self.ticks.iter().any(|tick| tick.played.is_some() && tick.commanded != tick.played);
        let is_lost = line.wire.is_none() && !next.is_over() && stayed.is_caught() && has_lost();
        let (played, state) = if is_lost { (Move::Stay, stayed) } else { (commanded, next) };
        After { state, played: Some(played), is_exact: !is_lost, mispredicted: Vec::new() }
    }

    fn shows(&self, state: &State, message: &GameMessage) -> bool {
        let same =
            |(threat, &index): (Threat, &usize)| message.threats.get(index).is_some_and(|found| is_at(&threat, found));
        u32::from(state.tick()) == message.tick
            && self.world.player(state) == message.your_character.position
            && self.world.threats(state).zip(&self.indices).all(same)
    }

    fn mispredictions(&self, state: &State, message: &GameMessage) -> Vec<Misprediction> {
        let differs = |(threat, &index): (Threat, &usize)| {
            let found = message.threats.get(index)?.position;
            let predicted = threat.position;
            (predicted != found).then_some(Misprediction { threat: index, predicted, found })
        };
        self.world.threats(state).zip(&self.indices).filter_map(differs).collect()
    }

    fn placed(&self, hidden: &State, message: &GameMessage) -> Option<State> {
        let threats: Option<Vec<Threat>> = (self.world.threats(hidden).zip(&self.indices))
            .map(|(threat, &index)| {
                let found = message.threats.get(index)?;
                let direction = found.direction.known().unwrap_or(threat.direction);
                Some(Threat { position: found.position, direction, ..threat })
            })
            .collect();
        let tick = u16::try_from(message.tick).ok()?;
        let state = self.world.state_at(tick, message.your_character.position, &threats?).ok()?;
        (!state.is_over()).then_some(state)
    }

    fn positions(&self, message: &GameMessage) -> Positions {
        let threat = |threat: &MessageThreat| (threat.position, threat.direction.known().unwrap_or(Direction::Up));
        let mut threats: Vec<_> = message.threats.iter().map(threat).collect();
        threats.resize(self.styles.len(), (Position::new(-1, -1), Direction::Up));
        Positions { player: message.your_character.position, threats }
    }

    pub fn title(&self) -> &str {
        self.map.as_ref().unwrap_or(&self.file)
    }

    pub fn player(&self) -> &str {
        let planner = self.notes.as_ref().and_then(|notes| notes.planner.as_deref());
        planner.or(self.team.as_deref()).unwrap_or("unknown player")
    }

    pub fn note(&self) -> Option<String> {
        let mistakes = (!self.mistakes.is_empty()).then(|| self.mistakes.words());
        self.note_on_game().into_iter().chain(mistakes).reduce(|one, two| format!("{one}; {two}"))
    }

    fn note_on_game(&self) -> Option<String> {
        let mut lost = self.ticks.iter().filter(|tick| tick.played.is_some() && tick.commanded != tick.played);
        let is_of_player = |divergence: &Divergence| divergence.path.starts_with("yourCharacter.position");
        let note = match lost.next() {
            Some(first)
                if self.report.divergence.as_ref().is_none_or(is_of_player)
                    && self.ticks.iter().all(|tick| tick.is_exact) =>
            {
                let count = 1 + lost.count();
                let tick = first.tick;
                Some(format!("the server did not play {count} of the recorded commands, the first at tick {tick}"))
            }
            _ => note_on(&self.report),
        };
        let cut = self.is_cut.then(|| format!("only the first {TICKS_MAX} ticks are shown"));
        note.into_iter().chain(self.report.note_on_map()).chain(cut).reduce(|one, two| format!("{one}; {two}"))
    }
}

struct After {
    state: State,
    played: Option<Move>,
    is_exact: bool,
    mispredicted: Vec<Misprediction>,
}

fn is_at(threat: &Threat, found: &MessageThreat) -> bool {
    threat.position == found.position && found.direction.known().is_none_or(|direction| direction == threat.direction)
}

fn known_map<'a>(message: &GameMessage, notes: Option<&GameNotes>, maps: &'a [Map]) -> Option<&'a Map> {
    let named = notes.and_then(|notes| notes.map.as_deref());
    let shows = |map: &&Map| {
        let layout = &map.layout;
        let spawns = layout.threats.iter().map(|spawn| (Some(spawn.style), spawn.position));
        message.map.width == layout.width
            && message.map.height == layout.height
            && message.your_character.position == layout.player
            && message.threats.iter().map(|threat| (threat.style.known(), threat.position)).eq(spawns)
            && message.map == MessageMap::of(layout)
    };
    let mut shown: Vec<&Map> = maps.iter().filter(shows).collect();
    shown.sort_by_key(|map| Some(map.name.as_str()) != named);
    shown.first().copied()
}

/// The world of a recording. Messages do not distinguish see-through tiles from open tiles, so the
/// see-through tiles come from the known map. Without a known map, they are inferred from the
/// recording if it follows the rules.
fn world_of(
    path: &Path,
    first: &GameMessage,
    report: &VerifyReport,
    known: Option<&Map>,
    rules: &Rules,
) -> Result<World, RecordingError> {
    let failed = |source| RecordingError::World { path: path.to_owned(), source };
    if let Some(map) = known {
        return World::new(&map.layout, rules).map_err(failed);
    }
    let unreadable = |source| RecordingError::Line { path: path.to_owned(), line: 1, source };
    first.validate().map_err(unreadable)?;
    let mut layout = first.layout().map_err(unreadable)?;
    for &tile in &report.see_through {
        layout.set_tile(tile, Tile::SeeThrough);
    }
    World::new(&layout, rules).map_err(failed)
}
