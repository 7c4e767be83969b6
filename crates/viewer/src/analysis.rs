//! Finds the cause of a loss: the last tick from which a surviving line of moves is found (the
//! *last savable tick*), this line, and the decision that lost the game.
//!
//! In a game that follows the rules, if no line survives from a tick, none survives from any later
//! tick. The analysis therefore searches from single ticks (*probes*): first backwards from the end
//! in growing strides, then by bisection.
//!
//! The *room left* in a tick is the number of tiles on which the player can be alive [`ROOM_TICKS`]
//! ticks later, or at the end of the game if that is earlier. The search for these tiles keeps one
//! state per tile and tick, so it can miss some. If the player is alive [`ROOM_TICKS`] ticks later
//! in the game, its tile at that time is always counted. Otherwise, its tile at that time on the
//! line is counted, unless the line begins before the tick.
//!
//! Guarantees: the line, when played from the last savable tick, survives to the end. If
//! `is_proven` is true for a lost game, no line survives from any tick after the last savable tick.
//! Threats of unknown style are not in the world: the line disregards them, and nothing is proven.
//! With a budget in ticks, the analysis is deterministic.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::game_log::{GameLog, LoggedTick};
use super::replay::Replay;
use getaway::game::{LAST_TICK, Move, POINTS_PER_TICK, Plan, Position, State, Status, World};
use getaway::planner::Budget;
use getaway::protocol::Mistakes;
use getaway::search::BudgetMeter;
use getaway::solve::{Outcome, Solver, SolverOptions};

/// Number of annotated frames at the end of a surviving line.
const LINE_ANNOTATED_FRAMES: usize = 60;
pub const ROOM_TICKS: u16 = 16;
/// Maximum simulated ticks per probe in the first round. Each further round quadruples the limit.
const PROBE_TICKS: u64 = 250_000;
const PROBE_MEMORY_MAX_BYTES: usize = 128 << 20;
/// A fall is steep if room of at least `FALL_MIN` tiles shrinks to `1 / FALL_RATIO` or less.
const FALL_RATIO: u16 = 3;
const FALL_MIN: u16 = 9;

/// Default budget of an analysis in simulated ticks: a few seconds.
pub const ANALYSIS_TICKS: u64 = 16_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LossKind {
    BotGone,
    /// The command for the last savable tick arrived too late.
    LateCommand,
    /// No command for the last savable tick arrived, not even late.
    MissingCommand,
    UnreadableCommand,
    /// The server did not play the recorded command.
    IgnoredCommand,
    Misprediction,
    DoomedMap,
    LastTick,
    Blunder,
    Undecided,
}

pub(crate) fn serialize_end<S: Serializer>(end: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    if *end == Status::Running { serializer.serialize_str("unfinished") } else { end.serialize(serializer) }
}

/// A move that lost the game (`is_decisive`), or that steeply reduced the room left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fall {
    pub tick: u16,
    pub from: u16,
    pub to: u16,
    pub is_decisive: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandCounts {
    /// Commands that arrived after their tick.
    pub late: usize,
    /// Ticks in which the bot was connected, but no readable command for the tick arrived in time.
    pub missing: usize,
    pub unreadable: usize,
    /// Commands that the server did not play, for reasons that are not recorded.
    pub ignored: usize,
    pub mispredicted: usize,
    pub left_tick: Option<u32>,
    #[serde(skip_serializing_if = "Mistakes::is_empty")]
    pub mistakes: Mistakes,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    pub map: Option<String>,
    #[serde(serialize_with = "serialize_end")]
    pub end: Status,
    /// The tick of the last state that was analysed; 2001 if the player survived the game, 0 if no
    /// state is known.
    pub final_tick: u16,
    /// The last tick from which a surviving line was found; `None` if there is no such tick.
    pub last_savable_tick: Option<u16>,
    /// For a lost game: true if it is proven that no line survives from any tick after the last
    /// savable tick, or from any tick at all if no tick is savable.
    #[serde(rename = "proven")]
    pub is_proven: bool,
    /// Moves from `last_savable_tick` on that survive to the end of the game.
    pub line: Option<Plan>,
    /// The cause of the loss; `None` if the game was not lost or cannot be replayed.
    pub kind: Option<LossKind>,
    pub sentence: String,
    pub score: u32,
    pub played: Option<Move>,
    /// The styles of the threats that caught the player.
    pub catchers: Vec<String>,
    /// The styles of the threats that, in the last analysed tick of the recording, were at most one
    /// tile from the player, or from the player's final tile. Empty without a recording.
    #[serde(skip)]
    pub close_threats: Vec<String>,
    /// The later of two ticks: the final tick of the game, and that of the longest line found from
    /// the first state. `None` if a surviving line was found, or if no state is known.
    pub longest_tick: Option<u16>,
    /// The room left at the start of each tick from `first_tick` on.
    pub room: Vec<u16>,
    pub room_ticks: u16,
    /// The tick of the first entry of `room`.
    pub first_tick: u16,
    pub falls: Vec<Fall>,
    pub commands: CommandCounts,
    /// The first tick whose state is uncertain, because the recording begins after the start, a
    /// message is missing, a prediction failed, or a threat's style is unknown.
    pub uncertain_tick: Option<u16>,
    pub simulated_ticks: u64,
}

#[derive(Clone, Copy, Debug)]
struct PlayedGame<'a> {
    world: &'a World,
    states: &'a [State],
    moves: &'a [Option<Move>],
}

#[derive(Clone, Debug, Default)]
struct Boundary {
    savable: Option<(usize, Vec<Move>)>,
    doomed: Option<usize>,
    longest_tick: Option<u16>,
    simulated_ticks: u64,
}

enum Answer {
    Survives(Vec<Move>),
    Doomed,
    Unknown,
}

impl Analysis {
    pub fn of_log(log: &GameLog, budget: Budget) -> Self {
        // The recording is ignored from the first tick whose state is unknown.
        let known = log.ticks.iter().take_while(|tick| tick.state.is_some()).count();
        let ticks = &log.ticks[..known];
        let mut states: Vec<State> = ticks.iter().filter_map(|tick| tick.state.clone()).collect();
        let mut moves: Vec<Option<Move>> = ticks.iter().map(|tick| tick.played).collect();
        match &log.last {
            Some(last) if known == log.ticks.len() => states.push(last.clone()),
            _ => drop(moves.pop()),
        }
        let mut analysis = Self::new(&log.world, &states, &moves, ticks, log.map.clone(), &log.styles, budget);
        analysis.commands.mistakes = log.mistakes.clone();
        analysis
    }

    pub fn of_states(world: &World, states: &[State], map: Option<String>, budget: Budget) -> Self {
        let moved = |pair: &[State]| {
            let mut successors = world.successors(&pair[0]);
            successors.find(|(_, next)| next == &pair[1]).map(|(player_move, _)| player_move)
        };
        let moves: Vec<Option<Move>> = states.windows(2).map(moved).collect();
        let styles: Vec<String> = world.layout().threats.iter().map(|threat| threat.style.name().to_owned()).collect();
        Self::new(world, states, &moves, &[], map, &styles, budget)
    }

    /// The surviving line as a branch of the game `states`; `None` if no such line was found, or if
    /// `states` lacks the last savable tick.
    pub fn line_replay<'a>(&self, world: &World, mut states: impl Iterator<Item = &'a State>) -> Option<Replay> {
        let tick = self.last_savable_tick?;
        let from = states.find(|state| state.tick() == tick)?;
        let states = world.states_along(from, self.line.as_ref()?);
        Some(Replay::of_branch("surviving line", "branch", world, &states, LINE_ANNOTATED_FRAMES))
    }

    fn new(
        world: &World,
        states: &[State],
        moves: &[Option<Move>],
        ticks: &[LoggedTick],
        map: Option<String>,
        styles: &[String],
        budget: Budget,
    ) -> Self {
        let game = PlayedGame { world, states, moves };
        let Some(last) = states.last() else { return Self::without_states(map, ticks) };
        let boundary = game.boundary(budget);
        let end = last.status();
        let index = boundary.savable.as_ref().map(|&(index, _)| index);
        let room = game.room(&boundary);
        let first_doomed = match (end, index) {
            (Status::Complete, _) => None,
            (_, Some(index)) => Some(index + 1).filter(|&next| next < states.len()),
            (_, None) => Some(0),
        };
        // No proof is needed if the player survived the game, or if the last state is savable.
        let is_proven = first_doomed.is_none_or(|next| boundary.doomed.is_some_and(|doomed| doomed <= next));
        let has_all_threats = styles.len() == world.threat_count();
        let exact = ticks.iter().take_while(|tick| has_all_threats && tick.is_exact).count();
        let uncertain_tick = ticks.get(exact).and_then(|tick| u16::try_from(tick.tick).ok());
        // The final state has no recorded tick of its own, so it is as certain as the last tick.
        let is_sure = |index: usize| ticks.get(index).or(ticks.last()).is_none_or(|tick| tick.is_exact);
        let is_certain = index.map_or_else(|| is_sure(0), |index| is_sure(index) && is_sure(index + 1));
        let catchers = catchers(world, last);
        let mut analysis = Self {
            map,
            end,
            final_tick: last.tick(),
            last_savable_tick: index.map(|index| states[index].tick()),
            is_proven: is_proven && is_certain && has_all_threats,
            line: boundary.savable.as_ref().map(|(_, line)| Plan::from(&line[..])),
            kind: None,
            sentence: String::new(),
            score: u32::from(last.tick()) * POINTS_PER_TICK,
            played: index.and_then(|index| moves.get(index).copied().flatten()),
            catchers,
            close_threats: close_threats(ticks, styles, world.player(last)),
            longest_tick: boundary.longest_tick.max(Some(last.tick())).filter(|_| index.is_none()),
            falls: falls(&room, states, first_doomed.and_then(|next| next.checked_sub(1))),
            room,
            room_ticks: ROOM_TICKS,
            first_tick: states[0].tick(),
            commands: CommandCounts::of(ticks),
            uncertain_tick,
            simulated_ticks: boundary.simulated_ticks,
        };
        if end != Status::Complete && first_doomed.is_some() {
            analysis.kind = Some(analysis.classify(&game, index, ticks));
        } else if end == Status::Running && analysis.commands.mispredicted > 0 && !analysis.close_threats.is_empty() {
            // The server does not report a catch to the bot, so the bot's own recording ends with a
            // running game. Mispredictions and a close threat suggest that the player was caught.
            analysis.kind = Some(LossKind::Misprediction);
        }
        analysis.sentence = analysis.explain(index, ticks, styles);
        analysis
    }

    fn without_states(map: Option<String>, ticks: &[LoggedTick]) -> Self {
        Self {
            map,
            end: Status::Running,
            final_tick: 0,
            last_savable_tick: None,
            is_proven: false,
            line: None,
            kind: None,
            sentence: "The recording cannot be replayed: its first line is not a playable state.".to_owned(),
            score: 0,
            played: None,
            catchers: Vec::new(),
            close_threats: Vec::new(),
            longest_tick: None,
            room: Vec::new(),
            room_ticks: ROOM_TICKS,
            first_tick: 0,
            falls: Vec::new(),
            commands: CommandCounts::of(ticks),
            uncertain_tick: None,
            simulated_ticks: 0,
        }
    }

    fn classify(&self, game: &PlayedGame, index: Option<usize>, ticks: &[LoggedTick]) -> LossKind {
        let Some(index) = index else {
            return if self.is_proven { LossKind::DoomedMap } else { LossKind::Undecided };
        };
        let chosen = if self.final_tick == LAST_TICK { LossKind::LastTick } else { LossKind::Blunder };
        let Some(tick) = ticks.get(index) else { return chosen };
        if let Some(wire) = tick.wire.as_deref().filter(|wire| wire.command.is_none()) {
            return match wire {
                wire if wire.left.is_some() => LossKind::BotGone,
                wire if !wire.unreadable.is_empty() => LossKind::UnreadableCommand,
                _ if late_command(ticks, index).is_some() => LossKind::LateCommand,
                _ => LossKind::MissingCommand,
            };
        }
        if tick.commanded != tick.played && tick.played.is_some() {
            return LossKind::IgnoredCommand;
        }
        let is_surprised = ticks.get(index + 1).is_some_and(|next| !next.mispredicted.is_empty());
        if is_surprised && game.survives_as_predicted(index) { LossKind::Misprediction } else { chosen }
    }

    fn explain(&self, index: Option<usize>, ticks: &[LoggedTick], styles: &[String]) -> String {
        let final_tick = self.final_tick;
        let Some(kind) = self.kind else {
            return match self.end {
                Status::Complete => {
                    format!("Survived all {} ticks: {} points.", thousands(LAST_TICK.into()), thousands(self.score))
                }
                _ if ticks.is_empty() => {
                    format!("The game is not over: at tick {final_tick} survival is still possible.")
                }
                _ => {
                    let catch = match &self.close_threats[..] {
                        [] => String::new(),
                        close => format!(
                            ", or the {}, close to the car, moved in a way that the rules do not predict",
                            close.join(" or the ")
                        ),
                    };
                    format!(
                        "The recording ends at tick {final_tick}, where survival was still possible: the bot stopped or lost its connection{catch}."
                    )
                }
            };
        };
        if kind == LossKind::Misprediction && self.end == Status::Running {
            let count = self.commands.mispredicted;
            let ticks = if count == 1 { "1 earlier tick".to_owned() } else { format!("{count} earlier ticks") };
            return format!(
                "Probably lost at tick {final_tick} because a threat moved in a way that the rules do not predict: the {} could reach the car, and threats had not moved as predicted in {ticks}.",
                self.close_threats.join(" or the ")
            );
        }
        let caught = match self.end {
            Status::Caught if self.catchers.is_empty() => format!("the car was caught at tick {final_tick}"),
            Status::Caught => format!("the {} caught the car at tick {final_tick}", self.catchers.join(" and the ")),
            _ => format!("the recording ends at tick {final_tick}"),
        };
        let (Some(index), Some(tick)) = (index, self.last_savable_tick) else {
            return match kind {
                LossKind::DoomedMap => format!(
                    "Lost before the first move: no line survives this map; the longest known line ends at tick {}, and {caught}.",
                    self.longest_tick.unwrap_or(final_tick)
                ),
                _ => format!("No surviving line was found from any tick, but survival was not ruled out; {caught}."),
            };
        };
        let logged = ticks.get(index);
        let better = self.line.as_ref().and_then(|line| line.first().copied());
        let better = better.map_or("another move", gerund);
        let lost =
            if self.is_proven { format!("Lost at tick {tick}") } else { format!("Lost at tick {tick} or later") };
        let wire = logged.and_then(|tick| tick.wire.as_deref());
        let stayed = format!("the car stayed where {better} would have survived, and {caught}.");
        match kind {
            LossKind::BotGone => {
                let reason = wire.and_then(|wire| wire.left.clone()).unwrap_or_default();
                let left = self.commands.left_tick.unwrap_or(tick.into());
                let until = if u32::from(tick) > left {
                    format!(" although survival was possible until tick {tick}")
                } else {
                    String::new()
                };
                format!(
                    "Lost because the bot was gone from tick {left} on ({reason}): the car stood still{until}, and {caught}."
                )
            }
            LossKind::LateCommand => {
                let (when, ms) = late_command(ticks, index).unwrap_or((tick.into(), 0.0));
                format!("{lost} because the command for this tick came too late, {ms:.0} ms into tick {when}: {stayed}")
            }
            LossKind::MissingCommand => {
                let in_time = if self.commands.late > 0 { " in time" } else { "" };
                let before = ticks.iter().take(index).filter(|tick| is_missing(tick));
                let before: Vec<u32> = before.map(|tick| tick.tick).collect();
                let others = match before[..] {
                    [] => String::new(),
                    [tick] => format!(", nor for tick {tick}"),
                    [first, ..] => format!(", nor for {} other ticks from tick {first} on", before.len()),
                };
                format!("{lost} because no command came for it{in_time}{others}: {stayed}")
            }
            LossKind::UnreadableCommand => {
                let error = wire.and_then(|wire| wire.unreadable.first()).map_or("", |frame| &frame.error);
                format!("{lost} because the command for this tick could not be read ({error}): {stayed}")
            }
            LossKind::IgnoredCommand => {
                let (commanded, played) = (logged.and_then(|tick| tick.commanded), self.played);
                let (commanded, played) = (commanded.map_or("", command), played.map_or("", past));
                format!(
                    "{lost} because the server did not play the bot's command to {commanded}, which probably came too late: the car {played} where {better} would have survived, and {caught}."
                )
            }
            LossKind::Misprediction => {
                let surprise = ticks.get(index + 1).and_then(|next| next.mispredicted.first());
                let surprise = surprise.map_or_else(String::new, |surprise| {
                    let (style, found, predicted) = (&styles[surprise.threat], surprise.found, surprise.predicted);
                    format!("the {style} moved to {found} where the rules predict {predicted}")
                });
                format!("Lost at tick {tick} because {surprise}: the move would otherwise have survived, and {caught}.")
            }
            LossKind::LastTick => format!(
                "Lost in the last tick of the game by the move of tick {tick}: the car {} where {better} would have survived, and {caught}.",
                self.played.map_or("moved", past)
            ),
            _ => format!(
                "{lost} by a blunder: the car {} where {better} would have survived, and {caught}.",
                self.played.map_or("moved", past)
            ),
        }
    }
}

impl CommandCounts {
    fn of(ticks: &[LoggedTick]) -> Self {
        let mut counts = Self::default();
        for tick in ticks {
            counts.mispredicted += usize::from(
                !tick.mispredicted.is_empty()
                    || tick.decision.as_ref().is_some_and(|decision| decision.mispredictions > 0),
            );
            let Some(wire) = &tick.wire else {
                counts.ignored += usize::from(tick.played.is_some() && tick.commanded != tick.played);
                continue;
            };
            counts.late += wire.late.len();
            counts.unreadable += wire.unreadable.len();
            counts.missing += usize::from(is_missing(tick));
            if wire.left.is_some() && counts.left_tick.is_none() {
                counts.left_tick = Some(tick.tick);
            }
        }
        counts
    }
}

fn is_missing(tick: &LoggedTick) -> bool {
    tick.wire.as_ref().is_some_and(|wire| wire.command.is_none() && wire.left.is_none())
}

fn late_command(ticks: &[LoggedTick], index: usize) -> Option<(u32, f64)> {
    let wanted = ticks[index].tick;
    ticks[index..].iter().find_map(|tick| {
        let late = tick.wire.as_ref()?.late.iter().find(|late| late.tick == Some(wanted))?;
        Some((tick.tick, late.ms))
    })
}

pub(super) fn catchers(world: &World, state: &State) -> Vec<String> {
    if state.status() != Status::Caught {
        return Vec::new();
    }
    let player: Position = world.player(state);
    let mut names: Vec<String> = world
        .threats(state)
        .filter(|threat| threat.position == player)
        .map(|threat| threat.style.name().to_owned())
        .collect();
    names.dedup();
    names
}

fn close_threats(ticks: &[LoggedTick], styles: &[String], next: Position) -> Vec<String> {
    let Some(LoggedTick { positions, .. }) = ticks.last() else { return Vec::new() };
    let distance = |one: Position, two: Position| one.x.abs_diff(two.x) + one.y.abs_diff(two.y);
    let is_close = |threat: Position| distance(threat, positions.player) <= 1 || distance(threat, next) <= 1;
    let close = positions.threats.iter().zip(styles).filter(|((position, _), _)| is_close(*position));
    let mut names: Vec<String> = close.map(|(_, style)| style.clone()).collect();
    names.dedup();
    names
}

fn past(player_move: Move) -> &'static str {
    match player_move {
        Move::Left => "went left",
        Move::Right => "went right",
        Move::Up => "went up",
        Move::Down => "went down",
        Move::Stay => "stayed",
    }
}

fn command(player_move: Move) -> &'static str {
    match player_move {
        Move::Left => "go left",
        Move::Right => "go right",
        Move::Up => "go up",
        Move::Down => "go down",
        Move::Stay => "stay",
    }
}

fn gerund(player_move: Move) -> &'static str {
    match player_move {
        Move::Left => "going left",
        Move::Right => "going right",
        Move::Up => "going up",
        Move::Down => "going down",
        Move::Stay => "staying",
    }
}

pub(crate) fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn falls(room: &[u16], states: &[State], decisive: Option<usize>) -> Vec<Fall> {
    let fall = |(index, pair): (usize, &[u16])| {
        let (from, to) = (pair[0], pair[1]);
        let is_decisive = decisive == Some(index);
        let is_steep = from >= FALL_MIN && to <= from / FALL_RATIO;
        (is_decisive || is_steep).then(|| Fall { tick: states[index].tick(), from, to, is_decisive })
    };
    room.windows(2).enumerate().filter_map(fall).collect()
}

impl PlayedGame<'_> {
    fn boundary(&self, budget: Budget) -> Boundary {
        let mut boundary = Boundary::default();
        let mut meter = BudgetMeter::new(budget);
        let last = self.states.len() - 1;
        match self.states[last].status() {
            Status::Complete => {
                boundary.savable =
                    Some((last.saturating_sub(1), self.moves.last().copied().flatten().into_iter().collect()));
                return boundary;
            }
            Status::Caught => boundary.doomed = Some(last),
            Status::Running => {}
        }
        let mut probe_ticks = PROBE_TICKS;
        let mut seed = 0;
        while !self.is_decided(&boundary) && meter.check().is_ok() {
            let before = meter.ticks();
            self.round(&mut boundary, &mut meter, probe_ticks, seed);
            probe_ticks = probe_ticks.saturating_mul(4);
            seed += 1;
            if meter.ticks() == before {
                break;
            }
        }
        boundary.simulated_ticks = meter.ticks();
        boundary
    }

    fn is_decided(&self, boundary: &Boundary) -> bool {
        let end = boundary.doomed.unwrap_or(self.states.len());
        boundary.savable.as_ref().map_or(end == 0, |&(index, _)| index + 1 == end)
    }

    /// Probes single states backwards from the end until a surviving line is found or the first
    /// state has been probed. Then bisects the range below the lowest undecided state, and after
    /// that the range above the highest.
    fn round(&self, boundary: &mut Boundary, meter: &mut BudgetMeter, probe_ticks: u64, seed: u64) {
        let end = |boundary: &Boundary| boundary.doomed.unwrap_or(self.states.len());
        let low = |boundary: &Boundary| boundary.savable.as_ref().map_or(0, |&(index, _)| index + 1);
        let mut undecided: Vec<usize> = Vec::new();
        let mut stride = 1;
        while boundary.savable.is_none() && end(boundary) > 0 && meter.check().is_ok() {
            let from = undecided.last().copied().unwrap_or_else(|| end(boundary)).min(end(boundary));
            if from == 0 {
                break;
            }
            let index = from.saturating_sub(stride);
            stride *= 2;
            if !self.probe(boundary, meter, index, probe_ticks, seed) {
                undecided.push(index);
            }
        }
        for is_upwards in [true, false] {
            loop {
                let (first, end) = (low(boundary), end(boundary));
                let mut bounds: Vec<usize> =
                    undecided.iter().copied().filter(|&open| (first..end).contains(&open)).collect();
                bounds.sort_unstable();
                let (first, end) = match (bounds.first(), bounds.last()) {
                    (Some(&lowest), _) if is_upwards => (first, lowest),
                    (_, Some(&highest)) if !is_upwards => (highest + 1, end),
                    _ => (first, end),
                };
                if first >= end || meter.check().is_err() {
                    break;
                }
                let index = first + (end - first) / 2;
                if !self.probe(boundary, meter, index, probe_ticks, seed) {
                    undecided.push(index);
                }
            }
        }
    }

    fn probe(&self, boundary: &mut Boundary, meter: &mut BudgetMeter, index: usize, ticks: u64, seed: u64) -> bool {
        match self.answer(boundary, meter, index, ticks, seed) {
            Answer::Survives(line) => {
                let (index, line) = self.last_shared(index, line);
                if boundary.savable.as_ref().is_none_or(|&(before, _)| before < index) {
                    boundary.savable = Some((index, line));
                }
                true
            }
            Answer::Doomed => {
                boundary.doomed = Some(boundary.doomed.map_or(index, |before| before.min(index)));
                true
            }
            Answer::Unknown => false,
        }
    }

    fn answer(&self, boundary: &mut Boundary, meter: &mut BudgetMeter, index: usize, ticks: u64, seed: u64) -> Answer {
        let options = SolverOptions { seed, memory_max_bytes: PROBE_MEMORY_MAX_BYTES };
        let mut solver = Solver::new(options);
        let mut spent = 0;
        while spent < ticks && meter.check().is_ok() {
            let left = meter.remaining().and(Budget::ticks(ticks - spent));
            let solution = solver.advance(self.world, &self.states[index], left);
            meter.add_search(solution.simulated_ticks);
            // A job counts as at least one tick, so that the loop ends even without simulation.
            spent += solution.simulated_ticks.max(1);
            if index == 0 {
                boundary.longest_tick = boundary.longest_tick.max(Some(solution.final_tick));
            }
            match solution.outcome {
                Outcome::Survives => return Answer::Survives(solution.moves),
                Outcome::Doomed => return Answer::Doomed,
                Outcome::Undecided => {}
            }
        }
        Answer::Unknown
    }

    fn last_shared(&self, index: usize, line: Vec<Move>) -> (usize, Vec<Move>) {
        let mut state = self.states[index].clone();
        let mut shared = 0;
        for (played, &player_move) in line.iter().enumerate() {
            self.world.step(&mut state, player_move);
            if self.states.get(index + played + 1) != Some(&state) || state.is_over() {
                break;
            }
            shared = played + 1;
        }
        (index + shared, line[shared..].to_vec())
    }

    fn survives_as_predicted(&self, index: usize) -> bool {
        let Some(&Some(played)) = self.moves.get(index) else { return false };
        let mut state = self.states[index].clone();
        self.world.step(&mut state, played);
        if state.is_caught() {
            return false;
        }
        let budget = Budget::ticks(8 * PROBE_TICKS);
        Solver::new(SolverOptions::default()).solve(self.world, &state, budget).outcome == Outcome::Survives
    }

    fn room(&self, boundary: &Boundary) -> Vec<u16> {
        // Only the first `ROOM_TICKS` moves of the line matter: `room` looks no further ahead.
        let (surviving_from, surviving) = match &boundary.savable {
            Some((index, line)) => {
                let line = &line[..line.len().min(usize::from(ROOM_TICKS))];
                (*index, self.world.states_along(&self.states[*index], line))
            }
            None => (0, Vec::new()),
        };
        let ahead = usize::from(ROOM_TICKS);
        let alive = |index: usize| {
            let played = self.states.get(index + ahead).filter(|state| state.status() != Status::Caught);
            let on_line = || {
                (index <= surviving_from).then(|| surviving.get((index + ahead).checked_sub(surviving_from)?)).flatten()
            };
            played.or_else(on_line).map(|state| self.world.player(state))
        };
        (0..self.states.len()).map(|index| room(self.world, &self.states[index], alive(index))).collect()
    }
}

fn room(world: &World, state: &State, alive: Option<Position>) -> u16 {
    if state.status() == Status::Caught {
        return 0;
    }
    let mut layer: BTreeMap<Position, State> = BTreeMap::from([(world.player(state), state.clone())]);
    for _ in 0..ROOM_TICKS {
        let mut next: BTreeMap<Position, State> = BTreeMap::new();
        for (_, state) in layer {
            if state.is_over() {
                next.entry(world.player(&state)).or_insert(state);
                continue;
            }
            for (_, successor) in world.successors(&state) {
                if successor.status() != Status::Caught {
                    next.entry(world.player(&successor)).or_insert(successor);
                }
            }
        }
        layer = next;
    }
    let is_missed = alive.is_some_and(|alive| !layer.contains_key(&alive));
    layer.len() as u16 + u16::from(is_missed)
}
