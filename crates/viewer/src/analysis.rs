//! Finds the cause of a loss: the last tick from which a surviving line of moves is found (the
//! *last savable tick*), this line, and the decision that lost the game.
//!
//! Guarantees: the line, when played from the last savable tick, survives to the end. If
//! `is_proven` is true for a lost game, no line survives from any tick after the last savable tick.
//! Threats of unknown style are not in the world: the line disregards them, and nothing is proven.
//! With a budget in ticks, the analysis is deterministic.

use serde::{Serialize, Serializer};

use super::game_log::{GameLog, LoggedTick};
use super::replay::Replay;
use getaway::game::{LAST_TICK, Move, POINTS_PER_TICK, Plan, Position, State, Status, World};
use getaway::protocol::Mistakes;
use getaway::search::Budget;
use getaway::solve::{Outcome, Savable, Solver, SolverOptions};

/// Number of annotated frames at the end of a surviving line.
const LINE_ANNOTATED_FRAMES: usize = 60;
/// Budget of the search from the predicted state, in simulated ticks.
const PREDICTION_TICKS: u64 = 2_000_000;
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
    /// The cause of the loss or, for an unfinished recording, the presumed one. `None` if the
    /// player survived or could still survive, or if the recording cannot be replayed.
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
    /// See [`Savable::room`]; one entry per analysed state.
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

impl Analysis {
    /// Calls `go_on` with the simulated ticks so far, and ends early if it returns false.
    pub fn of_log(log: &GameLog, budget: Budget, go_on: &mut dyn FnMut(u64) -> bool) -> Self {
        // The recording is ignored from the first tick whose state is unknown.
        let known = log.ticks.iter().take_while(|tick| tick.state.is_some()).count();
        let ticks = &log.ticks[..known];
        let mut states: Vec<State> = ticks.iter().filter_map(|tick| tick.state.clone()).collect();
        let mut moves: Vec<Option<Move>> = ticks.iter().map(|tick| tick.played).collect();
        match &log.last {
            Some(last) if known == log.ticks.len() => states.push(last.clone()),
            _ => drop(moves.pop()),
        }
        let game = PlayedGame { world: &log.world, states: &states, moves: &moves };
        let mut analysis = Self::new(&game, ticks, log.map.clone(), &log.styles, budget, go_on);
        analysis.commands.mistakes = log.mistakes.clone();
        analysis
    }

    /// See [`of_log`](Self::of_log).
    pub fn of_states(
        world: &World,
        states: &[State],
        map: Option<String>,
        budget: Budget,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Self {
        let moved = |pair: &[State]| {
            let mut successors = world.successors(&pair[0]);
            successors.find(|(_, next)| next == &pair[1]).map(|(player_move, _)| player_move)
        };
        let moves: Vec<Option<Move>> = states.windows(2).map(moved).collect();
        let styles: Vec<String> = world.layout().threats.iter().map(|threat| threat.style.name().to_owned()).collect();
        Self::new(&PlayedGame { world, states, moves: &moves }, &[], map, &styles, budget, go_on)
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
        game: &PlayedGame,
        ticks: &[LoggedTick],
        map: Option<String>,
        styles: &[String],
        budget: Budget,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Self {
        let &PlayedGame { world, states, moves } = game;
        let Some(last) = states.last() else { return Self::without_states(map, ticks) };
        let end = last.status();
        let found = if end == Status::Complete {
            let line = moves.last().copied().flatten().into_iter().collect();
            Savable { last: Some((states.len().saturating_sub(2), line)), ..Savable::default() }
        } else {
            Savable::find(world, states, budget, go_on)
        };
        let index = found.last.as_ref().map(|&(index, _)| index);
        let room = found.room(world, states);
        let first_doomed = match (end, index) {
            (Status::Complete, _) => None,
            (_, Some(index)) => Some(index + 1).filter(|&next| next < states.len()),
            (_, None) => Some(0),
        };
        // No proof is needed if the player survived the game, or if the last state is savable.
        let is_proven = first_doomed.is_none_or(|next| found.doomed.is_some_and(|doomed| doomed <= next));
        let has_all_threats = styles.len() == world.threat_count();
        let exact = ticks.iter().take_while(|tick| has_all_threats && tick.is_exact).count();
        let uncertain_tick = ticks.get(exact).and_then(|tick| u16::try_from(tick.tick).ok());
        // The final state has no recorded tick of its own, so it is as certain as the last tick.
        let is_sure = |index: usize| ticks.get(index).or(ticks.last()).is_none_or(|tick| tick.is_exact);
        let is_certain = index.map_or_else(|| is_sure(0), |index| is_sure(index) && is_sure(index + 1));
        let catchers = catchers(world, last);
        let mut analysis = Self {
            end,
            final_tick: last.tick(),
            last_savable_tick: index.map(|index| states[index].tick()),
            is_proven: is_proven && is_certain && has_all_threats,
            line: found.last.as_ref().map(|(_, line)| Plan::from(&line[..])),
            score: u32::from(last.tick()) * POINTS_PER_TICK,
            played: index.and_then(|index| moves.get(index).copied().flatten()),
            catchers,
            close_threats: close_threats(ticks, styles, world.player(last)),
            longest_tick: found.longest_tick.max(Some(last.tick())).filter(|_| index.is_none()),
            falls: falls(&room, states, first_doomed.and_then(|next| next.checked_sub(1))),
            room,
            first_tick: states[0].tick(),
            uncertain_tick,
            simulated_ticks: found.simulated_ticks,
            ..Self::without_states(map, ticks)
        };
        if end != Status::Complete && first_doomed.is_some() {
            analysis.kind = Some(analysis.classify(game, index, ticks));
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
            room_ticks: Savable::ROOM_TICKS,
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
                LossKind::DoomedMap => format!("Lost before the first move: no line survives this map, and {caught}."),
                _ => format!("No surviving line was found from any tick, but survival was not ruled out; {caught}."),
            };
        };
        let logged = ticks.get(index);
        let better = self.line.as_ref().and_then(|line| line.first().copied());
        let better = better.map_or("another move", |better| verbs(better)[2]);
        let played = self.played.map_or("moved", |played| verbs(played)[0]);
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
                let commanded = logged.and_then(|tick| tick.commanded).map_or("", |commanded| verbs(commanded)[1]);
                format!(
                    "{lost} because the server did not play the bot's command to {commanded}, which probably came too late: the car {played} where {better} would have survived, and {caught}."
                )
            }
            LossKind::Misprediction => {
                let surprise = ticks.get(index + 1).and_then(|next| next.mispredicted.first());
                let surprise = surprise.map_or_else(String::new, |surprise| {
                    let (style, found, predicted) = (&styles[surprise.threat], surprise.found, surprise.predicted);
                    format!("the {style} moved to {found}, not to {predicted} as the rules predict")
                });
                format!(
                    "Lost at tick {tick} because {surprise}: the car's move would otherwise have survived, and {caught}."
                )
            }
            LossKind::LastTick => format!(
                "Lost in the last tick of the game by the move of tick {tick}: the car {played} where {better} would have survived, and {caught}."
            ),
            _ => format!("{lost} by a blunder: the car {played} where {better} would have survived, and {caught}."),
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

/// A move in a sentence: in the past tense, as a command, and as a gerund.
const fn verbs(player_move: Move) -> [&'static str; 3] {
    match player_move {
        Move::Left => ["went left", "go left", "going left"],
        Move::Right => ["went right", "go right", "going right"],
        Move::Up => ["went up", "go up", "going up"],
        Move::Down => ["went down", "go down", "going down"],
        Move::Stay => ["stayed", "stay", "staying"],
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
    fn survives_as_predicted(&self, index: usize) -> bool {
        let Some(&Some(played)) = self.moves.get(index) else { return false };
        let mut state = self.states[index].clone();
        self.world.step_unchecked(&mut state, played);
        if state.is_caught() {
            return false;
        }
        let budget = Budget::ticks(PREDICTION_TICKS);
        Solver::new(SolverOptions::default()).solve(self.world, &state, budget).outcome == Outcome::Survives
    }
}
