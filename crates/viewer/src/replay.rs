//! A recorded or played game frame by frame, with the simulator's annotations.

use std::path::Path;

use serde::Serialize;

use super::annotation::{Annotation, Annotator};
use getaway::game::{
    Action, Direction, LAST_TICK, Layout, Move, Personality, Position, Rules, State, Status, Tile, World,
};
use getaway::planner::{Budget, SurvivalOptions, SurvivalSearch};
use getaway::protocol::GameMessage;
use getaway::recording::{RecordingError, RecordingReader, Report, verify};

/// Number of ticks forecast after the last frame.
pub(super) const FORECAST_TICKS: usize = 60;
/// Maximum number of states for the forecast's search: a few tens of milliseconds.
const FORECAST_TICKS_MAX: u64 = 200_000;
/// Maximum number of frames in a replay: five games.
const FRAMES_MAX: usize = 10_000;

/// The positions of the player and the threats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions {
    /// The player.
    pub player: Position,
    /// The threats and their directions, in the order of the replay.
    pub threats: Vec<(Position, Direction)>,
}

/// The start of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The tick. It is repeated if the player moves onto a threat in the no-jump variant: the game
    /// then ends within the tick.
    pub tick: u32,
    /// Positions.
    pub positions: Positions,
    /// The annotation; `None` after the line where a recording diverges from the rules.
    pub annotation: Option<Annotation>,
}

/// The kind of a mark on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MarkKind {
    /// The threats get faster.
    Phase,
    /// The player and a threat swap tiles.
    Jump,
    /// All moves but one were fatal.
    CloseCall,
    /// The player is caught.
    Catch,
    /// Every tick has been survived.
    Complete,
}

/// A marked frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Index of the frame.
    pub index: usize,
    /// The kind of event.
    pub kind: MarkKind,
    /// A short description.
    pub text: String,
}

/// A game for display.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The title: a map's or a file's name.
    pub title: String,
    /// The subtitle: the team or planner.
    pub subtitle: String,
    /// The map. Its threats are those with a known style.
    pub layout: Layout,
    /// The styles of all threats, as messages name them.
    pub styles: Vec<String>,
    /// The rules that were played.
    pub rules: Rules,
    /// The frames, in order.
    pub frames: Vec<Frame>,
    /// Forecast after the last frame: the survival search's plan and the threats' moves.
    pub forecast: Vec<Positions>,
    /// Marked frames, in order.
    pub marks: Vec<Mark>,
    /// The game's status at the last frame.
    pub status: Status,
    /// Whether the game is in progress, so that more frames may follow.
    pub is_live: bool,
    /// A note for the viewer about the whole replay.
    pub note: Option<String>,
}

impl Replay {
    /// Creates an empty replay for a game that is about to start.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>, world: &World) -> Self {
        let layout = world.layout().clone();
        Self {
            title: title.into(),
            subtitle: subtitle.into(),
            styles: layout.threats.iter().map(|threat| threat.style.name().to_owned()).collect(),
            layout,
            rules: *world.rules(),
            frames: Vec::new(),
            forecast: Vec::new(),
            marks: Vec::new(),
            status: Status::Running,
            is_live: true,
            note: None,
        }
    }

    /// The replay of a game played here, from its first state to its last.
    pub fn of_states(title: impl Into<String>, subtitle: impl Into<String>, world: &World, states: &[State]) -> Self {
        let mut builder = ReplayBuilder::new(title, subtitle, world);
        for state in states {
            builder.push(world, state);
        }
        let mut replay = builder.replay;
        replay.is_live = false;
        if let Some(state) = states.last().filter(|state| !state.is_over()) {
            replay.forecast = forecast(world, state);
        }
        replay
    }

    /// The replay of a recorded game. Up to the first divergence from the rules the game is
    /// replayed and annotated; after it, frames are shown as recorded.
    ///
    /// # Errors
    /// When the file cannot be read, or its first line is not a playable state.
    pub fn of_recording(path: impl AsRef<Path>, rules: &Rules) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let report = verify(path, rules)?;
        let mut reader = RecordingReader::open(path)?;
        let Some(first) = reader.next_tick()? else {
            return Err(RecordingError::Empty { path: path.to_owned() });
        };
        let world = world_of(path, &first.game_message, &report, rules)?;
        let mut builder = ReplayBuilder::of_message(file_title(path), &world, &first.game_message);
        builder.replay.note = note_on(&report);
        let mut replayed = Some(world.start());
        let mut next = Some(first);
        while let Some(tick) = next {
            if builder.replay.frames.len() == FRAMES_MAX {
                builder.replay.note = Some(format!("only the first {FRAMES_MAX} ticks are shown"));
                break;
            }
            if builder.replay.frames.len() >= report.ticks {
                replayed = None;
            }
            builder.push_message(&world, &tick.game_message, replayed.as_ref());
            replayed = replayed.and_then(|state| play(&world, state, &tick.actions));
            next = reader.next_tick()?;
        }
        if let Some(state) = &replayed {
            builder.push(&world, state);
            if !state.is_over() {
                builder.replay.forecast = forecast(&world, state);
            }
        }
        let mut replay = builder.replay;
        replay.is_live = false;
        Ok(replay)
    }

    /// The last frame of a tick.
    pub fn index_of_tick(&self, tick: u32) -> Option<usize> {
        self.frames.iter().rposition(|frame| frame.tick == tick)
    }

    /// The score at the last frame.
    pub fn score(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.tick * getaway::game::POINTS_PER_TICK)
    }

    /// The frames after a given one: played frames, then the forecast.
    pub fn following(&self, index: usize) -> impl Iterator<Item = &Positions> {
        let played = self.frames.iter().skip(index + 1).map(|frame| &frame.positions);
        played.chain(&self.forecast).take(FORECAST_TICKS)
    }
}

/// Builds a replay frame by frame.
#[derive(Debug)]
pub(super) struct ReplayBuilder {
    /// The replay so far.
    pub replay: Replay,
    annotator: Annotator,
    /// For each threat of the world, its index in the replay.
    indices: Vec<usize>,
}

impl ReplayBuilder {
    /// Starts the replay of a game without unknown threats.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>, world: &World) -> Self {
        Self::with(Replay::new(title, subtitle, world), (0..world.threat_count()).collect())
    }

    /// Starts the replay of a recording with this first message.
    fn of_message(title: String, world: &World, message: &GameMessage) -> Self {
        let mut replay = Replay::new(title, team_of(message), world);
        replay.styles = message.threats.iter().map(|threat| threat.style.to_string()).collect();
        Self::with(replay, message.known_threats().map(|(index, ..)| index).collect())
    }

    fn with(replay: Replay, indices: Vec<usize>) -> Self {
        Self { replay, annotator: Annotator::new(indices.clone()), indices }
    }

    /// Appends a state of a game that keeps the rules.
    pub fn push(&mut self, world: &World, state: &State) {
        let mut positions = positions_of(world, state);
        let unknown_threats = self.replay.styles.len() != positions.threats.len();
        if let Some(before) = self.replay.frames.last().filter(|_| unknown_threats) {
            // Threats of unknown style stay where they were last seen.
            let mut threats = before.positions.threats.clone();
            for (index, threat) in self.indices.iter().zip(&positions.threats) {
                threats[*index] = *threat;
            }
            positions.threats = threats;
        }
        self.replay.status = state.status();
        self.replay.is_live = !state.is_over();
        let annotation = self.annotator.annotate(world, state, &threat_positions(&positions));
        self.add(Frame { tick: state.tick().into(), positions, annotation: Some(annotation) });
    }

    /// Appends a recorded state, with the replayed state if the two agree.
    fn push_message(&mut self, world: &World, message: &GameMessage, replayed: Option<&State>) {
        let threat = |threat: &getaway::protocol::MessageThreat| {
            (threat.position, threat.direction.known().unwrap_or(Direction::Up))
        };
        let mut threats: Vec<_> = message.threats.iter().map(threat).collect();
        // The number of threats is fixed; only a recording that diverges from the rules can change
        // it.
        threats.resize(self.replay.styles.len(), (Position::new(-1, -1), Direction::Up));
        let positions = Positions { player: message.your_character.position, threats };
        let annotation = replayed.map(|state| self.annotator.annotate(world, state, &threat_positions(&positions)));
        self.add(Frame { tick: message.tick, positions, annotation });
    }

    fn add(&mut self, frame: Frame) {
        let replay = &mut self.replay;
        let index = replay.frames.len();
        replay.frames.push(frame);
        let marks = marks_of(&replay.rules, &replay.frames, replay.status, &replay.styles);
        replay.marks.extend(marks.map(|(kind, text)| Mark { index, kind, text }));
    }
}

/// A forecast: the moves of the survival search from a state, and the resulting frames.
pub(super) fn forecast(world: &World, state: &State) -> Vec<Positions> {
    let moves =
        SurvivalSearch::new(SurvivalOptions::default()).solve(world, state, Budget::ticks(FORECAST_TICKS_MAX)).moves;
    let mut state = state.clone();
    let mut frames = Vec::new();
    for player_move in moves.into_iter().take(FORECAST_TICKS) {
        world.step(&mut state, player_move);
        frames.push(positions_of(world, &state));
        if state.is_over() {
            break;
        }
    }
    frames
}

/// The positions in a state.
pub(super) fn positions_of(world: &World, state: &State) -> Positions {
    let threats = world.threats(state).map(|threat| (threat.position, threat.direction)).collect();
    Positions { player: world.player(state), threats }
}

fn threat_positions(positions: &Positions) -> Vec<Position> {
    positions.threats.iter().map(|&(position, _)| position).collect()
}

/// The state after a command, or `None` if the game was over.
fn play(world: &World, mut state: State, actions: &[Action]) -> Option<State> {
    world.play(&mut state, actions).ok().map(|_: Move| state)
}

/// The world of a recording, as far as it can be reconstructed.
fn world_of(path: &Path, first: &GameMessage, report: &Report, rules: &Rules) -> Result<World, RecordingError> {
    let unreadable = |source| RecordingError::Line { path: path.to_owned(), line: 1, source };
    first.validate().map_err(unreadable)?;
    let mut layout = first.layout().map_err(unreadable)?;
    for tile in &report.see_through {
        layout.tiles[(tile.y * layout.width + tile.x) as usize] = Tile::SeeThrough;
    }
    World::new(&layout, rules).map_err(|source| RecordingError::World { path: path.to_owned(), source })
}

fn note_on(report: &Report) -> Option<String> {
    let divergence = report.divergence.as_ref()?;
    let getaway::recording::Divergence { tick, path, expected, found, .. } = divergence;
    Some(format!(
        "diverges from the rules in tick {tick} ({path}: expected {expected}, found {found}); from there on shown as recorded"
    ))
}

/// `games/a.jsonl.gz` -> `a`.
fn file_title(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".jsonl").unwrap_or(name).to_owned()
}

fn team_of(message: &GameMessage) -> String {
    let team = message.your_character.team_id.as_ref().and_then(|team| team.as_str());
    team.map_or_else(|| "saved game".to_owned(), |team| format!("saved game of {team}"))
}

/// The marks of the last of these frames.
fn marks_of(
    rules: &Rules,
    frames: &[Frame],
    status: Status,
    styles: &[String],
) -> impl Iterator<Item = (MarkKind, String)> {
    let (before, now) = match frames {
        [.., before, now] => (Some(before), now),
        [now] => (None, now),
        [] => unreachable!("called when a frame has been added"),
    };
    let jumps: Vec<&str> = before.map_or_else(Vec::new, |before| {
        let has_swapped = |&threat: &usize| {
            let (was, is) = (before.positions.threats[threat].0, now.positions.threats[threat].0);
            before.positions.player != now.positions.player
                && was == now.positions.player
                && is == before.positions.player
        };
        (0..styles.len()).filter(has_swapped).map(|threat| styles[threat].as_str()).collect()
    });
    let phase = phase(rules, now.tick)
        .filter(|&phase| before.is_some_and(|before| self::phase(rules, before.tick) != Some(phase)));
    let is_close = |frame: &Frame| frame.annotation.as_ref().is_some_and(|annotation| annotation.has_single_safe_move);
    let close_call = is_close(now) && !before.is_some_and(is_close);
    let catcher = now.positions.threats.iter().position(|&(position, _)| position == now.positions.player);
    [
        phase.map(|phase| {
            let every = match rules.period_ticks.of(phase) {
                1 => "every tick".to_owned(),
                period => format!("every {period} ticks"),
            };
            (MarkKind::Phase, format!("{phase}: threats move {every}"))
        }),
        (!jumps.is_empty()).then(|| (MarkKind::Jump, format!("passes through the {}", jumps.join(" and the ")))),
        close_call.then(|| (MarkKind::CloseCall, "close call: one safe move".to_owned())),
        (status == Status::Caught).then(|| {
            let who = catcher.map_or("a threat", |index| styles[index].as_str());
            (MarkKind::Catch, format!("caught by the {who}").replace("the a ", "a "))
        }),
        (status == Status::Complete).then(|| (MarkKind::Complete, "survived every tick".to_owned())),
    ]
    .into_iter()
    .flatten()
}

/// The personality in effect in a tick.
pub(super) fn phase(rules: &Rules, tick: u32) -> Option<Personality> {
    let tick = u16::try_from(tick).ok().filter(|tick| (1..=LAST_TICK).contains(tick))?;
    Some(rules.phase_clocks.personality_at(tick - 1))
}

/// The first tick of each personality.
pub(super) fn phases(rules: &Rules) -> Vec<(u32, Personality)> {
    let mut phases: Vec<(u32, Personality)> = Vec::new();
    for tick in 1..=u32::from(LAST_TICK) {
        let Some(phase) = phase(rules, tick) else { continue };
        if phases.last().is_none_or(|&(_, last)| last != phase) {
            phases.push((tick, phase));
        }
    }
    phases
}
