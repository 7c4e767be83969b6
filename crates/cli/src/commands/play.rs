use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use getaway::bot::{BUDGET_DEFAULT, BotOptions, Decision};
use getaway::game::{FIRST_TICK, LAST_TICK, Rules, Status, World, rules_fields};
use getaway::planner::{DEFAULT_NAME, PlannerHost};
use getaway::protocol::{MessageWriter, write_line};
use getaway::recording::{DecisionNotes, GameNotes, RecordingError, RecordingWriter, TickNotes, milliseconds};
use getaway_arena::{Answer, Entrant, ExternalRecord, PlayedGame, Player, PlayerSpec, SourceCounts, TEAM};
use getaway_runs::stats::nearest_rank;

use crate::arguments::{BotArgs, BudgetArgs, MapArgs, RulesArgs, bot_failure, integer, seed, world_of};
use crate::output::{OutputArgs, Progress, Say, count, ending};
use crate::{CliError, Result, failed, invalid, memory};

/// Play a whole game locally
#[derive(Args)]
pub(crate) struct PlayArgs {
    /// Map, by name or path
    map: String,
    #[command(flatten)]
    maps: MapArgs,
    /// Planner: a name, an expression, exec:COMMAND, pipe:COMMAND, model:FILE, or
    /// a planner in Python as MODULE:NAME; NAME=PLANNER names it, where NAME is up to 64
    /// letters, digits and ._@+-
    #[arg(long, value_name = "NAME|EXPRESSION", default_value = DEFAULT_NAME)]
    planner: String,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Maximum slack of survival's plans: with slack N, the player would
    /// survive if it stood still for N threat moves at any time [default: 4]
    #[arg(long, alias = "patience", value_name = "N", value_parser = integer::<u8>(0..=8))]
    slack: Option<u8>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Seed of the planner's random number generator; external bots get the
    /// seed in the environment variable SEED
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Save the game, one line per tick; gzipped if FILE ends in .gz
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Do not give the bot the rules (except --no-jump): the bot starts with
    /// the rules in FILE or, if FILE does not exist, with the server's, and
    /// writes what it learns to FILE
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    bot: BotArgs,
}

#[derive(Serialize)]
struct Report {
    map: String,
    planner: String,
    #[serde(flatten, with = "rules_fields")]
    rules: Rules,
    score: u32,
    /// The tick of the final state: that of the catch, or 2001 after a complete game.
    final_tick: u16,
    caught: bool,
    decision_ms: DecisionTimes,
    sources: SourceCounts,
    mispredictions: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    external: Option<ExternalRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    learnt: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<PathBuf>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
struct DecisionTimes {
    first: f64,
    p50: f64,
    p99: f64,
    max: f64,
}

pub(crate) fn run(args: &PlayArgs, host: Option<&dyn PlannerHost>, out: &mut impl Write) -> Result {
    let (entrant, budget) = (Entrant::parse(&args.planner), args.budget.given());
    let of_planners =
        [("--memory", args.memory.is_some()), ("--slack", args.slack.is_some()), ("a budget", budget.is_some())];
    if let Some((option, _)) = of_planners.into_iter().find(|(_, is_given)| *is_given)
        && entrant.bot()?.is_some()
    {
        return Err(invalid!("{option}: expected a planner, found {}", args.planner));
    }
    let map = args.maps.find(&args.map)?;
    let rules = args.rules.rules()?;
    let world = world_of(&map, &rules)?;
    let mut options =
        BotOptions { seed: args.seed, rules, budget: budget.unwrap_or(BUDGET_DEFAULT), ..BotOptions::default() };
    options.slack_moves = args.slack.unwrap_or(options.slack_moves);
    if let Some(path) = &args.memory {
        options = memory::read(path, &rules)?.applied_to(options);
    }
    let mut player = PlayerSpec::find(&entrant, host)?.player(options)?;
    let (report, status, lost) = play(args, map.name, entrant.label(), &world, &mut player)?;
    // Print the game even if the memory cannot be written.
    let written = match (&args.memory, &player) {
        (Some(path), Player::Bot(bot)) => memory::write(&bot.memory(), path),
        _ => Ok(()),
    };
    if args.json {
        write_line(&mut *out, &report)?;
    } else {
        write_report(&report, status, out)?;
    }
    out.flush()?;
    if let Some(error) = lost {
        return Err(invalid!("{error}; the recording is incomplete"));
    }
    report.external.as_ref().map_or(Ok(()), bot_failure)?;
    written
}

/// Plays the game, and records it if `--save` is given. A failed write ends the recording, not the
/// game; its error is returned with the report.
fn play(
    args: &PlayArgs,
    map: String,
    planner: &str,
    world: &World,
    player: &mut Player,
) -> Result<(Report, Status, Option<RecordingError>)> {
    let save = |path| RecordingWriter::open(path, args.output.existing());
    let (mut file, mut lost) = (args.save.as_ref().map(save).transpose()?, None);
    let (messages, progress) = (MessageWriter::new(world, TEAM), Progress::of(LAST_TICK.into(), "ticks"));
    let mut answers_ms = Vec::new();
    let played = args.bot.play(player, world, &mut |state, answer| {
        let (mut notes, mut tick_ms) = (TickNotes::default(), None);
        let action;
        let actions = match answer {
            Answer::Decision(decision) => {
                let &Decision { source, planned_tick, mispredictions, elapsed, ref learnt, .. } = decision;
                let (ms, source) = (milliseconds(elapsed), source.name().to_owned());
                let learnt = learnt.clone();
                answers_ms.push(ms);
                notes.decision = Some(Box::new(DecisionNotes { ms, source, planned_tick, mispredictions, learnt }));
                action = decision.action();
                action.as_slice()
            }
            Answer::Command { actions, wire } => {
                answers_ms.extend(wire.command.as_ref().map(|command| command.ms));
                tick_ms = Some(milliseconds(args.bot.options().tick_time));
                notes.wire = Some(Box::new(wire));
                actions
            }
        };
        if state.tick() == FIRST_TICK {
            let recorder = Some(format!("getaway play {}", env!("CARGO_PKG_VERSION")));
            let (map, planner) = (Some(map.clone()), Some(planner.to_owned()));
            notes.game = Some(Box::new(GameNotes { map, rules: *world.rules(), recorder, planner, tick_ms }));
        }
        if let Some(Err(error)) = file.as_mut().map(|file| file.write_with(&messages.write(state), actions, &notes)) {
            (lost, file) = (Some(error), None);
        }
        progress.inc(1);
    });
    let PlayedGame { state, record } = played.map_err(|error| match error {
        CliError::Check(error) => failed!("{map}: {error}"),
        error => error,
    })?;
    let lost = file.map_or(lost, |file| file.finish().err());
    let learnt = if let Player::Bot(bot) = player { bot.learnt() } else { Vec::new() };
    let report = Report {
        map,
        planner: planner.to_owned(),
        rules: *world.rules(),
        score: record.score,
        final_tick: record.final_tick,
        caught: record.caught,
        decision_ms: times(&answers_ms),
        sources: record.sources,
        mispredictions: record.mispredictions,
        external: record.external,
        learnt,
        saved: args.save.clone().filter(|_| lost.is_none()),
    };
    Ok((report, state.status(), lost))
}

fn times(decisions_ms: &[f64]) -> DecisionTimes {
    let Some((&first, later)) = decisions_ms.split_first() else { return DecisionTimes::default() };
    let mut later = later.to_vec();
    later.sort_by(f64::total_cmp);
    let quantile = |share: f64| match later.len() {
        0 => 0.0,
        len => later[nearest_rank(len as u64, share) as usize],
    };
    DecisionTimes { first, p50: quantile(0.5), p99: quantile(0.99), max: quantile(1.0) }
}

fn write_report(report: &Report, status: Status, out: &mut impl Write) -> Result {
    let Report { map, planner, score, final_tick, decision_ms, sources, .. } = report;
    let end = ending(status, *final_tick);
    out.say(format!("{map}: {score} points, {end}, planner {planner}"))?;
    let DecisionTimes { first, p50, p99, max } = decision_ms;
    if sources.search > 0 || report.external.is_none() {
        writeln!(out, "decisions: first {first:.3} ms, then p50 {p50:.3}, p99 {p99:.3}, max {max:.3} ms")?;
    }
    if let Some(ExternalRecord { commands, missed_ticks, late_commands, invalid_commands, mistakes, .. }) =
        &report.external
    {
        let invalid = count(*invalid_commands as usize, "invalid message");
        out.say(format!(
            "{commands} commands, {missed_ticks} ticks without a command, {late_commands} late commands, {invalid}"
        ))?;
        if !mistakes.is_empty() {
            out.say(mistakes.words())?;
        }
    } else {
        let mispredictions = report.mispredictions;
        out.say(match sources {
            SourceCounts { plan: 0, search: 0, fallback } => {
                format!("{fallback} moves without a search; {mispredictions} mispredictions")
            }
            SourceCounts { plan, search, fallback } => format!(
                "{plan} moves from plans, {search} from searches, {fallback} without either; \
                 {mispredictions} mispredictions"
            ),
        })?;
    }
    if !report.learnt.is_empty() {
        out.say(format!("learnt: {}", report.learnt.join("; ")))?;
    }
    if let Some(saved) = &report.saved {
        out.say(format!("saved to {}", saved.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_tick_is_reported_separately() {
        let after = times(&[50].into_iter().chain(1..=100).map(f64::from).collect::<Vec<f64>>());
        assert_eq!(after, DecisionTimes { first: 50.0, p50: 50.0, p99: 99.0, max: 100.0 });
        assert_eq!(times(&[7.0]), DecisionTimes { first: 7.0, p50: 0.0, p99: 0.0, max: 0.0 });
    }
}
