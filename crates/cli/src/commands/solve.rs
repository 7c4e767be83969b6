use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use getaway::game::{POINTS_PER_TICK, Plan, Status, World};
use getaway::map::Map;
use getaway::protocol::write_line;
use getaway::recording::milliseconds;
use getaway::search::{Budget, InterruptClock, install};
use getaway::solve::{Certificate, Outcome, Solution, Solver, SolverOptions};

use crate::arguments::{ANY, MapArgs, RulesArgs, integer, seed, world_of};
use crate::interrupt::{check_interrupt, stop_on_interrupt};
use crate::output::{OutputArgs, OutputFile, Progress, Say, count, ending, note, rounded, width, write_table};
use crate::search_file::SearchFile;
use crate::{Result, failed, invalid};

/// The number of moves per line is a multiple of this.
const MOVES_PER_COLUMN: usize = 50;
/// Short searches report no improvements, only their result.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// Solve games before the first move: look for a surviving plan, or for a proof that none exists
///
/// The score is that of the longest line of moves found. No line can score more than the bound.
/// On a map that cannot be survived, the search continues until the score equals the bound or
/// the time limit is reached.
#[derive(Args)]
pub(crate) struct SolveArgs {
    /// Maps, by name or path [default: all maps of every --maps DIR, or the bundled ones]
    #[arg(value_name = "MAP")]
    names: Vec<String>,
    #[command(flatten)]
    maps: MapArgs,
    #[command(flatten)]
    rules: RulesArgs,
    /// Time limit of the search per map, in milliseconds
    #[arg(long, alias = "time-limit-ms", value_name = "MS", default_value_t = 1000, value_parser = integer::<u64>(ANY))]
    budget_ms: u64,
    /// Seed of the search; the same seed finds the same moves, unless the time limit is reached or
    /// --resume continues a search
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Write the moves and the proof of the bound to this file, for `getaway verify`; one map only
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Save the search in this file about every two minutes and at the end; if the file exists,
    /// continue the search in it; one map only
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    /// Print one line of JSON per map
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct SolveOutput {
    map: String,
    outcome: &'static str,
    score: u32,
    bound: u32,
    actions: String,
    #[serde(skip)]
    end: String,
    decided_ms: Option<f64>,
    elapsed_ms: f64,
    simulated_ticks: u64,
    /// The error if the certificate or the file of `--resume` could not be written.
    #[serde(skip)]
    written: Result,
}

pub(crate) fn run(args: &SolveArgs, out: &mut impl Write) -> Result {
    let maps = args.maps.load(&args.names)?;
    let is_alone = maps.len() == 1;
    for (name, path) in [("--certificate", &args.certificate), ("--resume", &args.resume)] {
        if path.is_some() && !is_alone {
            return Err(invalid!("{name}: expected one map, found {}", maps.len()));
        }
    }
    let certificate = args.certificate.as_ref().map(|path| args.output.file(path)).transpose()?;
    let progress = if is_alone { Progress::open_ended() } else { Progress::of(maps.len() as u64, "maps") };
    let (stop, started) = (stop_on_interrupt()?, Instant::now());
    let _clock = install(InterruptClock(stop.clone()));
    let mut reports = Vec::new();
    for map in maps {
        let report = solve(args, &map, certificate.as_ref(), &progress, &stop)?;
        progress.inc(1);
        if args.json {
            progress.suspend(|| write_line(&mut *out, &report).and_then(|()| out.flush()))?;
        }
        reports.push(report);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    drop(progress);
    match reports.as_slice() {
        _ if args.json => {}
        [report] if is_alone => write_plan(report, out)?,
        reports => write_reports(reports, out)?,
    }
    // Flush, so that the results appear before an error.
    out.flush()?;
    reports.into_iter().try_for_each(|report| report.written)?;
    let advice = if args.resume.is_some() { "; rerun the same command to continue" } else { "" };
    check_interrupt(&stop, format_args!("interrupted after {}{advice}", rounded(started.elapsed())))
}

/// Searches a map until the line is proven optimal, the time limit is reached or `stop` is set.
fn solve(
    args: &SolveArgs,
    map: &Map,
    certificate: Option<&OutputFile>,
    progress: &Progress,
    stop: &AtomicBool,
) -> Result<SolveOutput> {
    let name = &map.name;
    let world = world_of(map, &args.rules.rules()?)?;
    let options = SolverOptions { seed: args.seed, ..SolverOptions::default() };
    let (mut file, mut solver) = match &args.resume {
        Some(path) => SearchFile::open(path, &world, options).map(|(file, solver)| (Some(file), solver))?,
        None => (None, Solver::new(options)),
    };
    let before = file.as_ref().and_then(|file| file.before);
    if let Some(time) = before {
        progress.suspend(|| note(&format!("{name}: continuing after {}", rounded(time))));
    }
    let (start, time_limit) = (Instant::now(), Duration::from_millis(args.budget_ms));
    let (mut simulated_ticks, mut decided_ms, mut shown) = (0, None, None);
    let solution = loop {
        let left = time_limit.saturating_sub(start.elapsed());
        let solution = solver.advance(&world, &world.start(), Budget::time(left));
        simulated_ticks += solution.simulated_ticks;
        if solution.outcome != Outcome::Undecided {
            decided_ms = decided_ms.or_else(|| Some(milliseconds(start.elapsed())));
        }
        if solution.is_optimal() || start.elapsed() >= time_limit || stop.load(Ordering::Relaxed) {
            break solution;
        }
        let (found, bound) = (score(solution.final_tick), score(solution.bound_tick));
        if start.elapsed() > QUIET_TIME && shown.replace((found, bound)) != Some((found, bound)) {
            progress.announce(format!("{name}: score {found}, bound {bound}"));
        }
        if let Some(file) = &mut file {
            file.update(&solver);
        }
    };
    let elapsed_ms = milliseconds(start.elapsed());
    let status = check(name, &world, &solution)?;
    let proof = || Certificate::new(&world, &solution).expect("a solution for the start");
    let saved = file.as_mut().map_or(Ok(()), |file| file.save(&solver));
    if before.is_some() {
        progress.set_message(format!("{name}: score {}, verifying the bound", score(solution.final_tick)));
        getaway_verifier::verify(&proof(), &map.layout)
            .map_err(|error| failed!("{name}: the proof of the search in the --resume file was refused: {error}"))?;
    }
    let written = certificate.map_or(Ok(()), |file| file.write(proof().to_string().as_bytes()));
    Ok(SolveOutput {
        map: map.name.clone(),
        outcome: solution.outcome.name(),
        score: score(solution.final_tick),
        bound: score(solution.bound_tick),
        actions: Plan::from(&solution.moves[..]).to_string(),
        end: ending(status, solution.final_tick),
        decided_ms,
        elapsed_ms,
        simulated_ticks,
        written: saved.and(written),
    })
}

fn score(tick: u16) -> u32 {
    u32::from(tick) * POINTS_PER_TICK
}

fn check(name: &str, world: &World, solution: &Solution) -> Result<Status> {
    let states = world.states_along(&world.start(), &solution.moves);
    let state = states.last().expect("the first state");
    let lives = solution.outcome != Outcome::Survives || state.is_complete();
    if states.len() == solution.moves.len() + 1 && state.tick() == solution.final_tick && lives {
        return Ok(state.status());
    }
    let (found, claimed) = (state.tick(), solution.final_tick);
    Err(failed!("{name}: the plan ends at tick {found}, but the search reported {claimed} (please report this bug)"))
}

fn write_plan(report: &SolveOutput, out: &mut impl Write) -> Result {
    let SolveOutput { map, outcome, score, bound, actions, end, elapsed_ms, simulated_ticks, .. } = report;
    let bound = if score == bound { String::new() } else { format!(" (bound {bound})") };
    let cost = format!("{elapsed_ms:.1} ms, {simulated_ticks} ticks simulated");
    out.say(format!("{map}: {outcome}, {score} points{bound}, {end}, {cost}"))?;
    let columns = width().map_or(2, |width| (width / (MOVES_PER_COLUMN + 3)).max(1));
    let moves_per_line = MOVES_PER_COLUMN * columns;
    for (line, moves) in actions.as_bytes().chunks(moves_per_line).enumerate() {
        let tick = line * moves_per_line + 1;
        writeln!(out, "{tick:>5} {}", String::from_utf8_lossy(moves))?;
    }
    Ok(())
}

fn write_reports(reports: &[SolveOutput], out: &mut impl Write) -> Result {
    let row = |report: &SolveOutput| {
        vec![
            ("<MAP", report.map.clone()),
            ("<OUTCOME", report.outcome.to_owned()),
            ("SCORE", report.score.to_string()),
            ("BOUND", report.bound.to_string()),
            ("ELAPSED MS", format!("{:.1}", report.elapsed_ms)),
            ("SIMULATED TICKS", report.simulated_ticks.to_string()),
        ]
    };
    write_table(reports.iter().map(row), out)?;
    let counts = [Outcome::Survives, Outcome::Doomed, Outcome::Undecided].map(|outcome| {
        let number = reports.iter().filter(|report| report.outcome == outcome.name()).count();
        format!("{number} {}", outcome.name())
    });
    Ok(writeln!(out, "{}: {}", count(reports.len(), "map"), counts.join(", "))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CliError;
    use getaway::game::{Layout, Move, Rules};

    #[test]
    fn wrong_plan_is_not_printed() {
        let world = World::new(&Layout::parse("P#B").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let solution = |outcome, moves: usize, final_tick| {
            let mut solution = getaway::solve::solve(&world, &world.start(), Budget::ticks(0));
            (solution.outcome, solution.moves) = (outcome, vec![Move::Stay; moves]);
            (solution.final_tick, solution.bound_tick, solution.proof) = (final_tick, final_tick, None);
            solution
        };
        assert!(check("m", &world, &solution(Outcome::Survives, 2000, 2001)).is_ok());
        for (outcome, moves, final_tick) in
            [(Outcome::Survives, 1999, 2001), (Outcome::Survives, 2001, 2001), (Outcome::Undecided, 10, 12)]
        {
            let error = check("m", &world, &solution(outcome, moves, final_tick));
            assert!(matches!(error, Err(CliError::Check(_))), "{moves} moves");
        }
    }
}
