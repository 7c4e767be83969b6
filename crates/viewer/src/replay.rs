//! The frames of a recorded or played game, annotated by the simulator.

use std::path::Path;

use serde::Serialize;

use super::address::Address;
use super::annotation::{Annotation, Annotator};
use super::game::Game;
use super::game_log::{GameLog, LoggedTick, RecordingSource};
use super::recorded::Positions;
use getaway::game::{LAST_TICK, Layout, POINTS_PER_TICK, Personality, Position, Rules, State, Status, World};
use getaway::recording::{RecordingError, WireNotes};
use getaway::search::Budget;
use getaway::solve::{Solver, SolverOptions};

/// Maximum number of ticks that are forecast after the last frame.
pub(super) const FORECAST_TICKS: usize = 60;
/// Maximum simulated ticks of the forecast's search, which take tens of milliseconds.
const FORECAST_TICKS_MAX: u64 = 200_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub tick: u32,
    pub positions: Positions,
    /// `None` if the frame is not annotated, for example after a divergence from the rules.
    pub annotation: Option<Annotation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MarkKind {
    /// A new phase begins: the threats' personality changes.
    Phase,
    Jump,
    CloseCall,
    Catch,
    Complete,
    Late,
    Missing,
    Unreadable,
    Ignored,
    Misprediction,
    Left,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub index: usize,
    pub kind: MarkKind,
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct Replay {
    /// For a recorded game: the map's name, or the recording's name if the map is unknown.
    pub title: String,
    pub subtitle: String,
    /// The map, with only those threats that have a known style.
    pub layout: Layout,
    pub styles: Vec<String>,
    pub rules: Rules,
    pub frames: Vec<Frame>,
    pub forecast: Vec<Positions>,
    pub marks: Vec<Mark>,
    pub status: Status,
    /// True if the game is in progress, so that more frames may follow.
    pub is_live: bool,
    pub note: Option<String>,
    pub header: GameHeader,
    /// `None` for a live game, a `PlayedGame`, and a game that an address cannot hold.
    pub address: Option<Address>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GameHeader {
    pub map: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub planner: Option<String>,
    /// The program that recorded the game, with its version.
    pub recorder: Option<String>,
    /// The server's time limit for a command, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_ms: Option<f64>,
    /// For each recorded tick, the duration of the decision in milliseconds and its source, or
    /// `None` if they are not recorded. Empty if no decision is recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Option<(f64, String)>>,
    /// For each recorded tick, the milliseconds from sending the state to reading the command, or
    /// `None` if they are not recorded. Empty if they are not recorded for any tick.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Option<f64>>,
    /// Pairs of a frame's index and the bot's new conclusions about the rules, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub learnt: Vec<(usize, Vec<String>)>,
}

impl GameHeader {
    fn of_log(log: &GameLog) -> Self {
        let notes = log.notes.clone().unwrap_or_default();
        let decision =
            |tick: &LoggedTick| tick.decision.as_ref().map(|decision| (decision.ms, decision.source.clone()));
        let command = |tick: &LoggedTick| Some(tick.wire.as_ref()?.command.as_ref()?.ms);
        let decisions: Vec<_> = log.ticks.iter().map(decision).collect();
        let commands: Vec<_> = log.ticks.iter().map(command).collect();
        let learnt = |(index, tick): (usize, &LoggedTick)| {
            let sentences = &tick.decision.as_ref()?.learnt;
            (!sentences.is_empty()).then(|| (index, sentences.clone()))
        };
        Self {
            learnt: log.ticks.iter().enumerate().filter_map(learnt).collect(),
            map: log.map.clone(),
            file: Some(log.file.clone()),
            planner: notes.planner,
            recorder: notes.recorder,
            tick_ms: notes.tick_ms,
            decisions: if decisions.iter().any(Option::is_some) { decisions } else { Vec::new() },
            commands: if commands.iter().any(Option::is_some) { commands } else { Vec::new() },
        }
    }
}

impl Replay {
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
            header: GameHeader::default(),
            address: None,
        }
    }

    pub fn of_states(title: impl Into<String>, subtitle: impl Into<String>, world: &World, states: &[State]) -> Self {
        Self::of_branch(&title.into(), &subtitle.into(), world, states, states.len())
    }

    /// A replay with a single frame, which shows `state` without an annotation.
    #[cfg(feature = "picture")]
    pub(crate) fn of_state(world: &World, state: &State) -> Self {
        let mut builder = ReplayBuilder::new("", "", world);
        builder.push_plain(world, state);
        Self { status: state.status(), is_live: false, ..builder.replay }
    }

    /// Annotates only the last `annotated` frames.
    pub fn of_branch(title: &str, subtitle: &str, world: &World, states: &[State], annotated: usize) -> Self {
        let mut builder = ReplayBuilder::new(title, subtitle, world);
        let plain = states.len().saturating_sub(annotated);
        for state in &states[..plain] {
            builder.push_plain(world, state);
        }
        for state in &states[plain..] {
            builder.push(world, state);
        }
        let mut replay = builder.replay;
        replay.is_live = false;
        replay.address = Address::of_states(&replay.title, world, states);
        if let Some(state) = states.last().filter(|state| !state.is_over()) {
            replay.forecast = forecast(world, state);
        }
        replay
    }

    /// Reads a recorded game. Frames from the first missing message or divergence on are not
    /// annotated, except a last frame in which the game is over. Fails if the file cannot be read
    /// or has no complete line, if a complete line is not a tick, or if the first line is not a
    /// playable state.
    pub fn of_recording(path: impl AsRef<Path>, rules: &Rules) -> Result<Self, RecordingError> {
        let source = RecordingSource::File(path.as_ref().to_owned());
        Ok(Self::of_log(&GameLog::read(&source, Some(rules), &[])?))
    }

    pub fn of_log(log: &GameLog) -> Self {
        let world = &log.world;
        let mut replay = Self::new(log.title(), log.player(), world);
        replay.styles.clone_from(&log.styles);
        let mut builder = ReplayBuilder::with(replay, log.indices.clone());
        builder.replay.note = log.note();
        builder.replay.header = GameHeader::of_log(log);
        builder.replay.address = Address::of(Game::of_log(log));
        for tick in &log.ticks {
            let replayed = tick.state.as_ref().filter(|_| tick.is_exact);
            builder.push_logged(world, tick, replayed);
        }
        let is_exact = log.ticks.last().is_some_and(|tick| tick.is_exact);
        if let Some(state) = log.last.as_ref().filter(|state| is_exact || state.is_over()) {
            builder.push(world, state);
            if !state.is_over() {
                builder.replay.forecast = forecast(world, state);
            }
        }
        let mut replay = builder.replay;
        replay.is_live = false;
        replay
    }

    pub fn index_of_tick(&self, tick: u32) -> Option<usize> {
        self.frames.iter().rposition(|frame| frame.tick == tick)
    }

    pub fn score(&self) -> u32 {
        self.frames.last().map_or(0, |frame| score_at(frame.tick))
    }

    /// The positions after frame `index`, first as played, then as forecast; at most 60 ticks.
    pub fn following(&self, index: usize) -> impl Iterator<Item = &Positions> {
        let played = self.frames.iter().skip(index + 1).map(|frame| &frame.positions);
        played.chain(&self.forecast).take(FORECAST_TICKS)
    }
}

#[derive(Debug)]
pub(super) struct ReplayBuilder {
    pub replay: Replay,
    annotator: Annotator,
    indices: Vec<usize>,
    has_left: bool,
}

impl ReplayBuilder {
    /// Starts the replay of a game in which every threat has a known style.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>, world: &World) -> Self {
        Self::with(Replay::new(title, subtitle, world), (0..world.threat_count()).collect())
    }

    fn with(replay: Replay, indices: Vec<usize>) -> Self {
        Self { replay, annotator: Annotator::new(indices.clone()), indices, has_left: false }
    }

    /// Appends an annotated frame.
    pub fn push(&mut self, world: &World, state: &State) {
        let mut positions = positions_of(world, state);
        let unknown_threats = self.replay.styles.len() != positions.threats.len();
        if let Some(before) = self.replay.frames.last().filter(|_| unknown_threats) {
            // Threats of unknown style stay at their last known position.
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

    pub fn truncate(&mut self, count: usize) {
        self.replay.frames.truncate(count);
        self.replay.marks.retain(|mark| mark.index < count);
    }

    fn push_plain(&mut self, world: &World, state: &State) {
        self.add(Frame { tick: state.tick().into(), positions: positions_of(world, state), annotation: None });
    }

    /// `replayed` is the state of the tick, if the tick is exact.
    fn push_logged(&mut self, world: &World, tick: &LoggedTick, replayed: Option<&State>) {
        let positions = tick.positions.clone();
        let annotation = replayed.map(|state| self.annotator.annotate(world, state, &threat_positions(&positions)));
        self.add(Frame { tick: tick.tick, positions, annotation });
        let index = self.replay.frames.len() - 1;
        let marks = tick_marks(tick, &self.replay.styles);
        self.replay.marks.extend(marks.into_iter().map(|(kind, text)| Mark { index, kind, text }));
        if let Some(wire) = &tick.wire {
            self.note(index, wire);
        }
    }

    pub fn note(&mut self, index: usize, wire: &WireNotes) {
        let marks = wire_marks(wire, self.has_left);
        self.has_left |= wire.left.is_some();
        let marks = marks.into_iter().map(|(kind, text)| Mark { index, kind, text });
        // Marks are ordered by frame, and there may already be marks of later frames.
        let end = self.replay.marks.partition_point(|mark| mark.index <= index);
        self.replay.marks.splice(end..end, marks);
    }

    fn add(&mut self, frame: Frame) {
        let replay = &mut self.replay;
        let index = replay.frames.len();
        replay.frames.push(frame);
        let marks = marks_of(&replay.rules, &replay.frames, replay.status, &replay.styles);
        replay.marks.extend(marks.map(|(kind, text)| Mark { index, kind, text }));
    }
}

pub(super) fn forecast(world: &World, state: &State) -> Vec<Positions> {
    let moves =
        Solver::survival_search(SolverOptions::default()).solve(world, state, Budget::ticks(FORECAST_TICKS_MAX)).moves;
    let mut state = state.clone();
    let mut frames = Vec::new();
    for player_move in moves.into_iter().take(FORECAST_TICKS) {
        world.step_unchecked(&mut state, player_move);
        frames.push(positions_of(world, &state));
        if state.is_over() {
            break;
        }
    }
    frames
}

pub(super) fn positions_of(world: &World, state: &State) -> Positions {
    let threats = world.threats(state).map(|threat| (threat.position, threat.direction)).collect();
    Positions { player: world.player(state), threats }
}

fn threat_positions(positions: &Positions) -> Vec<Position> {
    positions.threats.iter().map(|&(position, _)| position).collect()
}

fn tick_marks(tick: &LoggedTick, styles: &[String]) -> Vec<(MarkKind, String)> {
    let mut marks = Vec::new();
    for surprise in &tick.mispredicted {
        let text =
            format!("the {} is at {}: predicted {}", styles[surprise.threat], surprise.found, surprise.predicted);
        marks.push((MarkKind::Misprediction, text));
    }
    let mispredictions = tick.decision.as_ref().map_or(0, |decision| decision.mispredictions);
    if mispredictions > 0 && tick.mispredicted.is_empty() {
        let threats = if mispredictions == 1 { "a threat".to_owned() } else { format!("{mispredictions} threats") };
        marks.push((MarkKind::Misprediction, format!("{threats} did not move as the bot predicted")));
    }
    if tick.wire.is_none() && tick.played.is_some() && tick.commanded != tick.played {
        marks.push((MarkKind::Ignored, "the server did not play the recorded command".to_owned()));
    }
    marks
}

fn wire_marks(wire: &WireNotes, has_left: bool) -> Vec<(MarkKind, String)> {
    let mut marks = Vec::new();
    for late in &wire.late {
        let of = late.tick.map_or_else(String::new, |tick| format!(" of tick {tick}"));
        marks.push((MarkKind::Late, format!("the command{of} came too late, {:.0} ms into this tick", late.ms)));
    }
    for frame in &wire.unreadable {
        marks.push((MarkKind::Unreadable, format!("unreadable command: {}", frame.error)));
    }
    match &wire.left {
        Some(reason) if !has_left => marks.push((MarkKind::Left, format!("the bot left: {reason}"))),
        None if wire.command.is_none() => marks.push((MarkKind::Missing, "no command in time".to_owned())),
        _ => {}
    }
    marks
}

fn marks_of(
    rules: &Rules,
    frames: &[Frame],
    status: Status,
    styles: &[String],
) -> impl Iterator<Item = (MarkKind, String)> {
    let (before, now) = match frames {
        [.., before, now] => (Some(before), now),
        [now] => (None, now),
        [] => unreachable!("called only after a frame has been added"),
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
            let who = catcher.map_or_else(|| "a threat".to_owned(), |index| format!("the {}", styles[index]));
            (MarkKind::Catch, format!("caught by {who}"))
        }),
        (status == Status::Complete).then(|| (MarkKind::Complete, "survived every tick".to_owned())),
    ]
    .into_iter()
    .flatten()
}

/// The score in a tick. Saturates, because a recording may contain any number as a tick.
pub(super) fn score_at(tick: u32) -> u32 {
    tick.saturating_mul(POINTS_PER_TICK)
}

pub(super) fn phase(rules: &Rules, tick: u32) -> Option<Personality> {
    let tick = u16::try_from(tick).ok().filter(|tick| (1..=LAST_TICK).contains(tick))?;
    Some(rules.phase_clocks.personality(tick - 1))
}

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
