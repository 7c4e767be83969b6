use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use getaway::game::{Move, Plan, Rules, State, Status};
use getaway::map::Map;
use getaway::protocol::write_line;
use getaway::search::Budget;
use getaway::solve::{Solution, solve};
use getaway_viewer::{ANALYSIS_TICKS, Analysis, GameLog, LossKind, RecordingSource};

use crate::Result;
use crate::arguments::{ANY, MapArgs, RulesArgs, integer};
use crate::error::at;
use crate::output::{Progress, Say, count, ending, or_dash, write_table};

const MOVES_SHOWN: usize = 60;
const TIME_LIMIT_DEFAULT_MS: u64 = 4000;
/// Maximum number of ticks in the line `Room left by tick`.
const CURVE_TICKS: usize = 10;

/// Explain why a recorded game was lost, and find a line that would have survived
#[derive(Args)]
pub(crate) struct AnalyseArgs {
    /// Recorded game (.jsonl, .jsonl.gz)
    #[arg(value_name = "FILE")]
    recording: PathBuf,
    /// Second recording of the same game, from its server or its bot,
    /// to merge with the first
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    #[command(flatten)]
    maps: MapArgs,
    #[command(flatten)]
    rules: RulesArgs,
    /// Maximum work of the solver in simulated ticks
    #[arg(long, value_name = "N", default_value_t = ANALYSIS_TICKS, value_parser = integer::<u64>(ANY))]
    budget_ticks: u64,
    /// Time limit of the solver in milliseconds; if it is reached, the
    /// result depends on the machine
    #[arg(long, alias = "time-limit-ms", value_name = "MS", default_value_t = TIME_LIMIT_DEFAULT_MS, value_parser = integer::<u64>(ANY))]
    budget_ms: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct AnalyseOutput<'a> {
    file: String,
    #[serde(flatten)]
    analysis: &'a Analysis,
    #[serde(flatten)]
    doomed: Option<&'a DoomedGame>,
}

/// A game on a doomed map, compared with the best possible game.
#[derive(Serialize)]
struct DoomedGame {
    best_tick: u16,
    best_line: Plan,
    costly_moves: Vec<CostlyMove>,
}

/// A move after which the best possible game is `cost_ticks` shorter than before it.
#[derive(Serialize)]
struct CostlyMove {
    tick: u16,
    played: Option<Move>,
    better: Option<Move>,
    cost_ticks: u16,
}

impl DoomedGame {
    /// Finds the costly moves by bisection. Returns `None` if a search with this budget does not find
    /// the best line from a state and prove that no line is longer.
    fn of(log: &GameLog, budget: Budget) -> Option<Self> {
        let states: Vec<&State> = log.ticks.iter().map_while(|tick| tick.state.as_ref()).chain(&log.last).collect();
        let best = |index: usize| Some(solve(&log.world, states[index], budget)).filter(Solution::is_optimal);
        let (first, end) = (best(0)?, states.len() - 1);
        let (best_tick, best_line) = (first.final_tick, Plan::from(&first.moves[..]));
        let mut costly_moves = Vec::new();
        let mut open = vec![[(0, first), (end, best(end)?)]];
        while let Some([(low, before), (high, after)]) = open.pop() {
            if before.final_tick <= after.final_tick {
                continue;
            }
            if high == low + 1 {
                let (played, better) = (log.ticks[low].played, before.moves.first().copied());
                let cost_ticks = before.final_tick - after.final_tick;
                costly_moves.push(CostlyMove { tick: states[low].tick(), played, better, cost_ticks });
                continue;
            }
            let middle = usize::midpoint(low, high);
            let found = best(middle)?;
            open.extend([[(middle, found.clone()), (high, after)], [(low, before), (middle, found)]]);
        }
        Some(Self { best_tick, best_line, costly_moves })
    }
}

pub(crate) fn run(args: &AnalyseArgs, out: &mut impl Write) -> Result {
    let log = read(&args.recording, args.with.as_deref(), &args.maps, &args.rules)?;
    let limit = Budget::time(Duration::from_millis(args.budget_ms));
    let progress = Progress::open_ended();
    progress.set_message(format!("analysing {}", args.recording.display()));
    let budget = limit.and(Budget::ticks(args.budget_ticks));
    let mut analysis = Analysis::of_log(&log, budget, &mut |_| true);
    let doomed = if analysis.kind == Some(LossKind::DoomedMap) { DoomedGame::of(&log, budget) } else { None };
    analysis.longest_tick = doomed.as_ref().map(|doomed| doomed.best_tick).or(analysis.longest_tick);
    drop(progress);
    if args.json {
        let file = args.recording.display().to_string();
        return Ok(write_line(out, &AnalyseOutput { file, analysis: &analysis, doomed: doomed.as_ref() })?);
    }
    write_text(&log, &analysis, out)?;
    doomed.map_or(Ok(()), |doomed| write_doomed(&doomed, &analysis, out))
}

pub(crate) fn read(file: &Path, with: Option<&Path>, maps: &MapArgs, rules: &RulesArgs) -> Result<GameLog> {
    read_log(file, with, rules.given()?.as_ref(), &known_maps(maps)?)
}

pub(crate) fn read_log(file: &Path, with: Option<&Path>, rules: Option<&Rules>, maps: &[Map]) -> Result<GameLog> {
    let read = |file: &Path| GameLog::read(&RecordingSource::File(file.to_owned()), rules, maps);
    let log = read(file)?;
    match with {
        None => Ok(log),
        Some(with) => log.merged(read(with)?).map_err(|error| at(with, error)),
    }
}

/// Returns the maps on which a recording may have been played. Skips maps that cannot be loaded.
pub(crate) fn known_maps(maps: &MapArgs) -> Result<Vec<Map>> {
    Ok(maps.library()?.list()?.iter().filter_map(|entry| entry.load().ok()).collect())
}

fn write_text(log: &GameLog, analysis: &Analysis, out: &mut impl Write) -> Result {
    let Analysis { map, end, final_tick, score, .. } = analysis;
    let map = map.as_deref().unwrap_or("an unknown map");
    let end = ending(*end, *final_tick);
    let planner = log.notes.as_ref().and_then(|notes| notes.planner.as_deref());
    let planner = planner.map_or_else(String::new, |planner| format!(", planner {planner}"));
    out.say(format!("{}: {map}, {end}, score {score}{planner}", log.file))?;
    out.say(&analysis.sentence)?;
    if let Some(note) = log.note() {
        out.say(format!("Note: {note}."))?;
    }
    write_commands(analysis, out)?;
    let savable = analysis.last_savable_tick.filter(|_| analysis.end != Status::Complete);
    let Some(tick) = savable else { return Ok(()) };
    if analysis.kind.is_some() && tick < *final_tick {
        let proof = if analysis.is_proven { "proven" } else { "a line was found; a later tick is not excluded" };
        out.say(format!("Last tick from which survival was possible: {tick} ({proof})"))?;
    }
    let ticks = (analysis.first_tick..).zip(&analysis.room);
    let around = ticks.skip(usize::from(tick.saturating_sub(analysis.first_tick)).saturating_sub(CURVE_TICKS / 2));
    let room: Vec<String> = around.take(CURVE_TICKS).map(|(tick, room)| format!("{tick} {room}")).collect();
    let what = format!("tiles where the player can still be alive {} ticks later", analysis.room_ticks);
    out.say(format!("Room left by tick ({what}): {}", room.join(", ")))?;
    writeln!(out, "A surviving line, from tick {tick} on:")?;
    write_line_of_moves(&analysis.line.clone().unwrap_or_default(), out)
}

fn write_line_of_moves(line: &Plan, out: &mut impl Write) -> Result {
    let line = line.to_string();
    let rest = line.len().saturating_sub(MOVES_SHOWN);
    let more = if rest > 0 { format!("… and {rest} more moves (--json prints all)") } else { String::new() };
    out.say(format!("{}{more}", &line[..line.len() - rest]))
}

fn write_doomed(doomed: &DoomedGame, analysis: &Analysis, out: &mut impl Write) -> Result {
    let DoomedGame { best_tick, best_line, costly_moves } = doomed;
    let (lost, moves) = (best_tick.saturating_sub(analysis.final_tick), count(costly_moves.len(), "move"));
    out.say(match lost {
        0 => format!("No line ends later than tick {best_tick} (proven): this game was the best possible"),
        lost => format!("The best possible game ends at tick {best_tick} (proven): {moves} cost {lost} ticks"),
    })?;
    let name = |player_move: Option<Move>| or_dash(player_move.map(|player_move| player_move.to_string()));
    let row = |costly: &CostlyMove| {
        vec![
            ("TICK", costly.tick.to_string()),
            ("<PLAYED", name(costly.played)),
            ("<BETTER", name(costly.better)),
            ("COST IN TICKS", costly.cost_ticks.to_string()),
        ]
    };
    write_table(costly_moves.iter().map(row), out)?;
    writeln!(out, "A best line, from tick {} on:", analysis.first_tick)?;
    write_line_of_moves(best_line, out)
}

fn write_commands(analysis: &Analysis, out: &mut impl Write) -> Result {
    let commands = &analysis.commands;
    let counts = [
        (commands.late, "late"),
        (commands.missing, "missing"),
        (commands.unreadable, "unreadable"),
        (commands.ignored, "not played by the server"),
    ];
    let parts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        out.say(format!("Commands: {}", parts.join(", ")))?;
    }
    if let Some(tick) = commands.left_tick {
        writeln!(out, "The bot was gone from tick {tick} on")?;
    }
    if commands.mispredicted > 0 {
        writeln!(out, "Ticks with mispredictions: {}", commands.mispredicted)?;
    }
    Ok(())
}
