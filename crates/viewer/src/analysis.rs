//! Why a game was lost: the last tick from which survival was possible, the decision that lost it,
//! and a line that survives.
//!
//! Survival cannot come back once it is lost, so the ticks of a game fall into two parts: those at
//! whose start some line survives, and those from which none does. The solver decides single ticks,
//! from the end backwards in growing strides and then by bisection, until the last tick of the
//! first part and the first of the second are neighbours, or the budget is used up.
//!
//! *Room left* is the number of tiles on which the car can be alive [`ROOM_TICKS`] ticks later.
//! It is counted by playing every move and keeping one state per tile and tick, so every tile that
//! is counted can be reached alive; tiles that only another state would reach are missing. A line
//! that is known to be alive counts too.
//!
//! Guarantees: the line survives to the end when it is played; `is_proven` means that no line
//! survives from the next tick on. With a budget in ticks the result depends only on the recording.

use std::collections::BTreeMap;

use serde::Serialize;

use super::branch::branch;
use super::game_log::{GameLog, LoggedTick};
use super::replay::Replay;
use getaway::game::{LAST_TICK, Move, POINTS_PER_TICK, Plan, Position, State, Status, World};
use getaway::planner::{Budget, Decider, Outcome, SurvivalOptions};
use getaway::search::BudgetMeter;

/// How many ticks the room left looks ahead.
pub const ROOM_TICKS: u16 = 16;
/// Work per probe in the first round, in simulated ticks; four times as much in each later one.
const PROBE_TICKS: u64 = 250_000;
/// Work between two checks of the outcome of a probe.
const SLICE_TICKS: u64 = 50_000;
/// Memory of a probe.
const PROBE_MEMORY_MAX_BYTES: usize = 128 << 20;
/// The room falls steeply if it shrinks to this fraction, from at least `FALL_MIN`.
const FALL_RATIO: u16 = 3;
const FALL_MIN: u16 = 9;

/// The default budget in simulated ticks: two to three seconds.
pub const ANALYSIS_TICKS: u64 = 16_000_000;

/// What lost a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LossKind {
    /// The bot had left.
    BotGone,
    /// The command of the deciding tick came after it.
    LateCommand,
    /// No command came in the deciding tick.
    MissingCommand,
    /// The command of the deciding tick could not be read.
    UnreadableCommand,
    /// The server did not play the move that the bot recorded.
    IgnoredCommand,
    /// A threat did not move as the rules predict.
    Misprediction,
    /// No line survives from the first tick on.
    DoomedMap,
    /// The bot chose a move that loses in the last tick of the game.
    LastTick,
    /// The bot chose a move that loses.
    Blunder,
    /// Not even the first tick could be decided.
    Undecided,
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The player was caught.
    Caught,
    /// Every tick was survived.
    Complete,
    /// The recording ends, or the game goes on.
    Unfinished,
}

/// A tick in which the room fell steeply, or the game was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fall {
    /// The tick of the move.
    pub tick: u16,
    /// The room before and after it.
    pub from: u16,
    /// See `from`.
    pub to: u16,
    /// Whether this is the move that lost the game.
    pub is_decisive: bool,
}

/// Statistics of a game's commands, as far as its recording shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandCounts {
    /// Commands that came after their tick.
    pub late: usize,
    /// Ticks without a command while the bot was there.
    pub missing: usize,
    /// Frames that could not be read.
    pub unreadable: usize,
    /// Commands that the server did not play although the recording does not say why.
    pub ignored: usize,
    /// Ticks in which a threat did not move as predicted.
    pub mispredicted: usize,
    /// The first tick without the bot.
    pub left_tick: Option<u32>,
}

/// The analysis of a game. As JSON, an object with these fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// The map's name, if it is known.
    pub map: Option<String>,
    /// How the game ended.
    pub end: End,
    /// The tick in which it ended: 2001 if every tick was survived.
    pub final_tick: u16,
    /// The last tick at whose start survival was possible; `None` if no such tick is known.
    pub last_savable_tick: Option<u16>,
    /// Whether it is proven that survival was impossible from the next tick on.
    #[serde(rename = "proven")]
    pub is_proven: bool,
    /// Moves that survive to the end of the game, from `last_savable_tick` on.
    pub line: Option<Plan>,
    /// What lost the game; `None` if it was not lost.
    pub kind: Option<LossKind>,
    /// Why the game ended as it did, in one sentence.
    pub sentence: String,
    /// 5 points per tick.
    pub score: u32,
    /// The move that was played in `last_savable_tick`.
    pub played: Option<Move>,
    /// The styles of the threats that caught the player.
    pub catchers: Vec<String>,
    /// The styles of the threats that could reach the player after the last message.
    #[serde(skip)]
    pub close_threats: Vec<String>,
    /// The last tick of the longest line that is known from the first tick on, this game included, if
    /// none survives.
    pub longest_tick: Option<u16>,
    /// By tick from `first_tick` on: the room that was left.
    pub room: Vec<u16>,
    /// How many ticks the room looks ahead.
    pub room_ticks: u16,
    /// The tick of the first number in `room`.
    pub first_tick: u16,
    /// Moves after which the room was much smaller.
    pub falls: Vec<Fall>,
    /// The commands.
    pub commands: CommandCounts,
    /// The first tick that is not certain, because a threat did not move as predicted before it or
    /// a message is missing.
    pub uncertain_tick: Option<u16>,
    /// The work of the solver.
    pub simulated_ticks: u64,
}

/// The states of a game and the moves between them.
#[derive(Clone, Copy, Debug)]
struct PlayedGame<'a> {
    world: &'a World,
    /// One more than the moves.
    states: &'a [State],
    moves: &'a [Option<Move>],
}

/// The known bounds of the tick in which survival was lost.
#[derive(Clone, Debug, Default)]
struct Boundary {
    /// The last state from which a line survives, and the line.
    savable: Option<(usize, Vec<Move>)>,
    /// The first state from which none does, proven.
    doomed: Option<usize>,
    /// The longest line from the first state.
    longest_tick: Option<u16>,
    simulated_ticks: u64,
}

/// The answer for one state.
enum Answer {
    Survives(Vec<Move>),
    Doomed,
    Unknown,
}

impl Analysis {
    /// Analyses a recorded game.
    pub fn of_log(log: &GameLog, budget: Budget) -> Self {
        // The states that can be followed: up to the first gap.
        let known = log.ticks.iter().take_while(|tick| tick.state.is_some()).count();
        let ticks = &log.ticks[..known];
        let mut states: Vec<State> = ticks.iter().filter_map(|tick| tick.state.clone()).collect();
        let mut moves: Vec<Option<Move>> = ticks.iter().map(|tick| tick.played).collect();
        match &log.last {
            Some(last) if known == log.ticks.len() => states.push(last.clone()),
            _ => drop(moves.pop()),
        }
        Self::new(&log.world, &states, &moves, ticks, log.map.clone(), &log.styles, budget)
    }

    /// Analyses a game that was played here: its states from the first tick on, and the moves
    /// between them.
    pub fn of_states(world: &World, states: &[State], map: Option<String>, budget: Budget) -> Self {
        let moved = |pair: &[State]| {
            let mut successors = world.successors(&pair[0]);
            successors.find(|(_, next)| next == &pair[1]).map(|(player_move, _)| player_move)
        };
        let moves: Vec<Option<Move>> = states.windows(2).map(moved).collect();
        let styles: Vec<String> = world.layout().threats.iter().map(|threat| threat.style.name().to_owned()).collect();
        Self::new(world, states, &moves, &[], map, &styles, budget)
    }

    /// The surviving line as a branch, from the state of the last savable tick on, which is looked up
    /// among the game's `states`; `None` if no line survives.
    pub fn line_replay<'a>(&self, world: &World, mut states: impl Iterator<Item = &'a State>) -> Option<Replay> {
        let tick = self.last_savable_tick?;
        let from = states.find(|state| state.tick() == tick)?;
        Some(branch("surviving line", "branch", world, from, self.line.as_ref()?))
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
        let end = match last.status() {
            Status::Caught => End::Caught,
            Status::Complete => End::Complete,
            Status::Running => End::Unfinished,
        };
        let index = boundary.savable.as_ref().map(|&(index, _)| index);
        let room = game.room(&boundary);
        let first_doomed = match (end, index) {
            (End::Complete, _) => None,
            (_, Some(index)) => Some(index + 1).filter(|&next| next < states.len()),
            (_, None) => Some(0),
        };
        // A game that ends within a tick has no next tick to prove anything about.
        let is_proven = first_doomed.is_none_or(|next| boundary.doomed.is_some_and(|doomed| doomed <= next));
        let exact = ticks.iter().take_while(|tick| tick.is_exact).count();
        let uncertain_tick = ticks.get(exact).and_then(|tick| u16::try_from(tick.tick).ok());
        // The state after the last line is as certain as that line.
        let is_sure = |index: usize| ticks.get(index).or(ticks.last()).is_none_or(|tick| tick.is_exact);
        let is_certain = index.map_or_else(|| is_sure(0), |index| is_sure(index) && is_sure(index + 1));
        let catchers = catchers(world, last);
        let mut analysis = Self {
            map,
            end,
            final_tick: last.tick(),
            last_savable_tick: index.map(|index| states[index].tick()),
            is_proven: is_proven && is_certain,
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
        if end != End::Complete && first_doomed.is_some() {
            analysis.kind = Some(analysis.classify(&game, index, ticks));
        } else if end == End::Unfinished && analysis.commands.mispredicted > 0 && !analysis.close_threats.is_empty() {
            // The bot's own recording of a catch that the rules do not predict: the server ends the
            // game without a message.
            analysis.kind = Some(LossKind::Misprediction);
        }
        analysis.sentence = analysis.explain(index, ticks, styles);
        analysis
    }

    /// A recording that cannot be replayed from its first line.
    fn without_states(map: Option<String>, ticks: &[LoggedTick]) -> Self {
        Self {
            map,
            end: End::Unfinished,
            final_tick: 0,
            last_savable_tick: None,
            is_proven: false,
            line: None,
            kind: None,
            sentence: "The recording cannot be replayed from its first line on.".to_owned(),
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

    /// What lost a game whose last savable state is the one at `index`.
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
        if tick.said != tick.played && tick.played.is_some() {
            return LossKind::IgnoredCommand;
        }
        let is_surprised = ticks.get(index + 1).is_some_and(|next| !next.mispredicted.is_empty());
        if is_surprised && game.survives_as_predicted(index) { LossKind::Misprediction } else { chosen }
    }

    /// Why the game ended as it did.
    fn explain(&self, index: Option<usize>, ticks: &[LoggedTick], styles: &[String]) -> String {
        let final_tick = self.final_tick;
        let Some(kind) = self.kind else {
            return match self.end {
                End::Complete => {
                    format!("Survived all {} ticks: {} points.", thousands(LAST_TICK.into()), thousands(self.score))
                }
                _ if ticks.is_empty() => {
                    format!("The game is not over: in tick {final_tick} survival is still possible.")
                }
                _ => {
                    let catch = match &self.close_threats[..] {
                        [] => String::new(),
                        close => format!(
                            ", or the {}, close to the car, moved where the rules do not predict it",
                            close.join(" or the ")
                        ),
                    };
                    format!(
                        "The recording ends in tick {final_tick}, where survival was still possible: the bot stopped there, or lost its connection{catch}."
                    )
                }
            };
        };
        if kind == LossKind::Misprediction && self.end == End::Unfinished {
            let count = self.commands.mispredicted;
            let ticks = if count == 1 { "1 tick".to_owned() } else { format!("{count} ticks") };
            return format!(
                "Probably lost in tick {final_tick} because a threat moved where the rules do not predict it: the {} could reach the car, and threats had not moved as predicted in {ticks} before.",
                self.close_threats.join(" or the ")
            );
        }
        let caught = match self.end {
            End::Caught if self.catchers.is_empty() => format!("the car was caught in tick {final_tick}"),
            End::Caught => format!("the {} caught it in tick {final_tick}", self.catchers.join(" and the ")),
            _ => format!("the recording ends in tick {final_tick}"),
        };
        let (Some(index), Some(tick)) = (index, self.last_savable_tick) else {
            return match kind {
                LossKind::DoomedMap => format!(
                    "Lost before the first move: no line survives this map, the longest that is known ends in tick {}, and {caught}.",
                    self.longest_tick.unwrap_or(final_tick)
                ),
                _ => format!("No surviving line was found from any tick, which proves nothing; {caught}."),
            };
        };
        let logged = ticks.get(index);
        let better = self.line.as_ref().and_then(|line| line.first().copied());
        let better = better.map_or("another move", gerund);
        let lost =
            if self.is_proven { format!("Lost in tick {tick}") } else { format!("Lost in tick {tick} or later") };
        let wire = logged.and_then(|tick| tick.wire.as_deref());
        let stayed = format!("the car stayed where {better} would have survived, and {caught}.");
        match kind {
            LossKind::BotGone => {
                let reason = wire.and_then(|wire| wire.left.clone()).unwrap_or_default();
                let left = self.commands.left_tick.unwrap_or(tick.into());
                let until = if u32::from(tick) > left {
                    format!(" although it could be saved until tick {tick}")
                } else {
                    String::new()
                };
                format!(
                    "Lost because the bot was gone from tick {left} on ({reason}): the car stood still{until}, and {caught}."
                )
            }
            LossKind::LateCommand => {
                let (when, ms) = late_command(ticks, index).unwrap_or((tick.into(), 0.0));
                format!("{lost} because its command came too late, {ms:.0} ms into tick {when}: {stayed}")
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
                format!("{lost} because its command could not be read ({error}): {stayed}")
            }
            LossKind::IgnoredCommand => {
                let (said, played) = (logged.and_then(|tick| tick.said), self.played);
                let (said, played) = (said.map_or("", command), played.map_or("", past));
                format!(
                    "{lost} because the server did not play the bot's command to {said}, which probably came too late: the car {played} where {better} would have survived, and {caught}."
                )
            }
            LossKind::Misprediction => {
                let surprise = ticks.get(index + 1).and_then(|next| next.mispredicted.first());
                let surprise = surprise.map_or_else(String::new, |surprise| {
                    let (style, found, predicted) = (&styles[surprise.threat], surprise.found, surprise.predicted);
                    format!("the {style} moved to {found} where the rules predict {predicted}")
                });
                format!(
                    "Lost in tick {tick} because {surprise}: as predicted the move would have survived, and {caught}."
                )
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
                counts.ignored += usize::from(tick.played.is_some() && tick.said != tick.played);
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

/// Whether a tick was played without a command although the bot was there.
fn is_missing(tick: &LoggedTick) -> bool {
    tick.wire.as_ref().is_some_and(|wire| wire.command.is_none() && wire.left.is_none())
}

/// When the command of a tick came, if it came in a later one: that tick, and the milliseconds from
/// its state.
fn late_command(ticks: &[LoggedTick], index: usize) -> Option<(u32, f64)> {
    let wanted = ticks[index].tick;
    ticks[index..].iter().find_map(|tick| {
        let late = tick.wire.as_ref()?.late.iter().find(|late| late.tick == Some(wanted))?;
        Some((tick.tick, late.ms))
    })
}

/// The styles of the threats on the player's tile.
fn catchers(world: &World, state: &State) -> Vec<String> {
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

/// The styles of the threats that are, in the last message, at most one step from the player, or from
/// where its last move leads.
fn close_threats(ticks: &[LoggedTick], styles: &[String], next: Position) -> Vec<String> {
    let Some(LoggedTick { positions, .. }) = ticks.last() else { return Vec::new() };
    let distance = |one: Position, two: Position| one.x.abs_diff(two.x) + one.y.abs_diff(two.y);
    let is_close = |threat: Position| distance(threat, positions.player) <= 1 || distance(threat, next) <= 1;
    let close = positions.threats.iter().zip(styles).filter(|((position, _), _)| is_close(*position));
    let mut names: Vec<String> = close.map(|(_, style)| style.clone()).collect();
    names.dedup();
    names
}

/// `went up`, `stayed`.
fn past(player_move: Move) -> &'static str {
    match player_move {
        Move::Left => "went left",
        Move::Right => "went right",
        Move::Up => "went up",
        Move::Down => "went down",
        Move::Stay => "stayed",
    }
}

/// `go up`, `stay`: what a command asks for.
fn command(player_move: Move) -> &'static str {
    match player_move {
        Move::Left => "go left",
        Move::Right => "go right",
        Move::Up => "go up",
        Move::Down => "go down",
        Move::Stay => "stay",
    }
}

/// `going up`, `staying`: the subject of a clause.
fn gerund(player_move: Move) -> &'static str {
    match player_move {
        Move::Left => "going left",
        Move::Right => "going right",
        Move::Up => "going up",
        Move::Down => "going down",
        Move::Stay => "staying",
    }
}

/// `10,005`.
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

/// The moves after which the room was much smaller, and the one that lost the game.
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
    /// Finds where survival was lost.
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

    /// Whether the first doomed state follows the last savable one.
    fn is_decided(&self, boundary: &Boundary) -> bool {
        let end = boundary.doomed.unwrap_or(self.states.len());
        boundary.savable.as_ref().map_or(end == 0, |&(index, _)| index + 1 == end)
    }

    /// Probes single states with a budget each: from the end backwards until one can be survived,
    /// then by bisecting the undecided range. States that stay undecided are skipped, in both
    /// directions.
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
        // Upwards from the last savable state, below the undecided ones; then downwards, above
        // them.
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

    /// Decides a state, if it can be; returns whether it was.
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
        let options = SurvivalOptions { seed, memory_max_bytes: PROBE_MEMORY_MAX_BYTES, ..SurvivalOptions::default() };
        let mut decider = Decider::new(options);
        let mut spent = 0;
        while spent < ticks && meter.check().is_ok() {
            let slice = meter.remaining().and(Budget::ticks(SLICE_TICKS));
            let solution = decider.solve(self.world, &self.states[index], slice);
            meter.add_search(solution.simulated_ticks);
            // Counts a slice without simulated ticks as one, so that the loop ends.
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

    /// The last state of the game that a line from `index` passes through, and the rest of the
    /// line.
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

    /// Whether the move that was played could have survived if the threats had moved as predicted.
    fn survives_as_predicted(&self, index: usize) -> bool {
        let Some(&Some(played)) = self.moves.get(index) else { return false };
        let mut state = self.states[index].clone();
        self.world.step(&mut state, played);
        if state.is_caught() {
            return false;
        }
        let budget = Budget::ticks(8 * PROBE_TICKS);
        Decider::new(SurvivalOptions::default()).solve(self.world, &state, budget).outcome == Outcome::Survives
    }

    /// The room that was left at the start of each tick.
    fn room(&self, boundary: &Boundary) -> Vec<u16> {
        // A surviving line counts where the game is about to end.
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

/// The number of tiles on which the player can be alive [`ROOM_TICKS`] ticks after a state.
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
    let known = alive.is_some_and(|alive| !layer.contains_key(&alive));
    layer.len() as u16 + u16::from(known)
}
