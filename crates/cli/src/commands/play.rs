use std::convert::Infallible;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use getaway::bot::{BUDGET_DEFAULT, Bot, BotOptions, Decision};
use getaway::game::{Action, FIRST_TICK, LAST_TICK, Rules, State, Status, World, rules_fields};
use getaway::planner::{DEFAULT_NAME, PlannerSpec};
use getaway::protocol::{MessageWriter, write_line};
use getaway::recording::{DecisionNotes, GameNotes, RecordingError, RecordingWriter, TickNotes, milliseconds};
use getaway_arena::{
    Entrant, ExternalBot, ExternalGame, ExternalRecord, ExternalTick, PlayedGame, SeriesError, SourceCounts, TEAM,
    play_external,
};
use getaway_runs::stats::nearest_rank;

use crate::arguments::{BotArgs, BudgetArgs, MapArgs, RulesArgs, bot_failure, integer, seed, world_of};
use crate::output::{OutputArgs, Progress, ending, one_line};
use crate::{CliError, Host, memory};

const EXAMPLES: &str = "Examples:
  getaway play roundabout                                the default planner, 75 ms per decision
  getaway play roundabout --planner uct-greedy --no-jump
  getaway play roundabout --planner 'exec:python my_bot.py' --save games/mine.jsonl
  getaway play harbour --budget-ticks 20000 --save games/harbour.jsonl";

/// Play a whole game locally
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlayArgs {
    /// Map, by name or path
    #[arg(value_name = "MAP")]
    map: String,
    #[command(flatten)]
    maps: MapArgs,
    /// Planner: a name, an expression, exec:COMMAND, pipe:COMMAND, or
    /// {n}a planner in Python as MODULE:NAME; NAME=PLANNER names it, where NAME is up to 64
    /// {n}letters, digits and ._@+-
    #[arg(long, value_name = "NAME|EXPRESSION", default_value = DEFAULT_NAME)]
    planner: String,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Maximum slack of survival's plans: with slack N, the player would
    /// {n}survive if it stood still for N threat moves at any time [default: 4]
    #[arg(long, alias = "patience", value_name = "N", value_parser = integer::<u8>(0..=8))]
    slack: Option<u8>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Seed of the planner's random number generator; external bots get the
    /// {n}seed in the environment variable SEED
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Save the game, one line per tick; gzipped if FILE ends in .gz
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Do not give the bot the rules (except --no-jump): the bot starts with
    /// {n}the rules in FILE or, if FILE does not exist, with the server's, and
    /// {n}writes what it learns to FILE
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
    #[serde(skip)]
    status: Status,
    decision_ms: DecisionTimes,
    sources: SourceCounts,
    mispredictions: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    external: Option<ExternalRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    learnt: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<PathBuf>,
    #[serde(skip)]
    lost: Option<RecordingError>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
struct DecisionTimes {
    first: f64,
    p50: f64,
    p99: f64,
    max: f64,
}

pub(crate) fn run(args: &PlayArgs, host: Host<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let map = args.maps.find(&args.map)?;
    let rules = args.rules.rules()?;
    let world = world_of(&map, &rules)?;
    let entrant = Entrant::parse(&args.planner);
    if let Some(bot) = entrant.bot()? {
        return run_external(args, map.name, &world, &bot, out);
    }
    let known = args.memory.as_deref().map(|path| memory::read(path, &rules)).transpose()?;
    let mut options = options(args, PlannerSpec::find(&entrant.spec, host)?, rules);
    if let Some(memory) = known {
        options = memory.applied_to(options);
    }
    let mut bot = Bot::new(options)?;
    let report = play(args, map.name, &world, &mut bot)?;
    // Print the game even if the memory cannot be written.
    let written = args.memory.as_ref().map_or(Ok(()), |path| {
        let memory = if report.caught { bot.memory_after_catch() } else { bot.memory() };
        memory::write(&memory, path)
    });
    print(args, report, out)?;
    written
}

fn run_external(
    args: &PlayArgs,
    map: String,
    world: &World,
    bot: &ExternalBot,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let unused =
        [("--memory", args.memory.is_some()), ("--slack", args.slack.is_some()), ("a budget", args.budget.is_given())];
    if let Some((option, _)) = unused.into_iter().find(|(_, is_given)| *is_given) {
        return Err(CliError::Input(format!("{option}: expected a planner, found {}", args.planner)));
    }
    print(args, play_bot(args, map, world, bot)?, out)
}

fn print(args: &PlayArgs, report: Report, out: &mut impl Write) -> Result<(), CliError> {
    if args.json {
        write_line(&mut *out, &report)?;
    } else {
        write_report(&report, out)?;
    }
    out.flush()?;
    match report.lost {
        Some(error) => Err(CliError::Input(format!("{error}; the recording is incomplete"))),
        None => report.external.as_ref().map_or(Ok(()), bot_failure),
    }
}

/// Records a game if `--save` is given. A failed write ends the recording, not the game.
struct Recorder<'a> {
    messages: MessageWriter<'a>,
    file: Option<RecordingWriter>,
    lost: Option<RecordingError>,
    progress: Progress,
}

impl<'a> Recorder<'a> {
    fn new(args: &PlayArgs, world: &'a World) -> Result<Self, CliError> {
        let file = args.save.as_ref().map(|path| RecordingWriter::open(path, args.output.existing())).transpose()?;
        let (messages, progress) = (MessageWriter::new(world, TEAM), Progress::of(LAST_TICK.into(), "ticks"));
        Ok(Self { messages, file, lost: None, progress })
    }

    fn add(&mut self, state: &State, actions: &[Action], notes: &TickNotes) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_with(&self.messages.write(state), actions, notes)
        {
            (self.lost, self.file) = (Some(error), None);
        }
        self.progress.inc(1);
    }

    fn finish(self) -> Option<RecordingError> {
        self.file.map_or(self.lost, |file| file.finish().err())
    }
}

fn options(args: &PlayArgs, planner: PlannerSpec, rules: Rules) -> BotOptions {
    BotOptions {
        planner,
        seed: args.seed,
        rules,
        slack_moves: args.slack.unwrap_or(BotOptions::default().slack_moves),
        budget: args.budget.or(BUDGET_DEFAULT),
        ..BotOptions::default()
    }
}

fn game_notes(args: &PlayArgs, map: &str, world: &World) -> GameNotes {
    GameNotes {
        map: Some(map.to_owned()),
        rules: *world.rules(),
        recorder: Some(format!("getaway play {}", env!("CARGO_PKG_VERSION"))),
        planner: Some(Entrant::parse(&args.planner).label().to_owned()),
        tick_ms: None,
    }
}

fn notes(args: &PlayArgs, map: &str, world: &World, state: &State, decision: &Decision) -> TickNotes {
    let game = (state.tick() == FIRST_TICK).then(|| Box::new(game_notes(args, map, world)));
    let &Decision { source, planned_tick, mispredictions, elapsed, ref learnt, .. } = decision;
    let (ms, source) = (milliseconds(elapsed), source.name().to_owned());
    let decision = DecisionNotes { ms, source, planned_tick, mispredictions, learnt: learnt.clone() };
    TickNotes { game, wire: None, decision: Some(Box::new(decision)) }
}

fn play(args: &PlayArgs, map: String, world: &World, bot: &mut Bot) -> Result<Report, CliError> {
    let (mut recorder, mut decisions_ms, mut sources) =
        (Recorder::new(args, world)?, Vec::new(), SourceCounts::default());
    let played = getaway_arena::play(world, bot, |state, decision| {
        recorder.add(state, decision.action().as_slice(), &notes(args, &map, world, state, decision));
        decisions_ms.push(milliseconds(decision.elapsed));
        sources.add(decision.source);
        ControlFlow::<Infallible>::Continue(())
    });
    let ControlFlow::Continue(state) =
        played.map_err(|error| CliError::Check(format!("{}: {error}", one_line(&map))))?;
    Ok(Report {
        sources,
        mispredictions: bot.mispredictions_by_threat().iter().sum(),
        learnt: bot.learnt(),
        ..Report::new(args, map, world, &state, &decisions_ms, recorder.finish())
    })
}

fn play_bot(args: &PlayArgs, map: String, world: &World, bot: &ExternalBot) -> Result<Report, CliError> {
    let options = args.bot.options();
    let (mut recorder, mut answers_ms) = (Recorder::new(args, world)?, Vec::new());
    let game = ExternalGame { bot, world, seed: args.seed, log_name: "bot.log" };
    let played = play_external(game, &options, &mut |ExternalTick { state, actions, wire }| {
        answers_ms.extend(wire.command.as_ref().map(|command| command.ms));
        let tick_ms = Some(milliseconds(options.tick_time));
        let game =
            (state.tick() == FIRST_TICK).then(|| Box::new(GameNotes { tick_ms, ..game_notes(args, &map, world) }));
        recorder.add(state, actions, &TickNotes { game, wire: Some(Box::new(wire)), decision: None });
    });
    let PlayedGame { state, record, .. } = played.map_err(SeriesError::External)?;
    Ok(Report {
        sources: (&record).into(),
        external: Some(record),
        ..Report::new(args, map, world, &state, &answers_ms, recorder.finish())
    })
}

impl Report {
    /// `lost` is the error that left the recording incomplete, if there was one.
    fn new(
        args: &PlayArgs,
        map: String,
        world: &World,
        state: &State,
        decisions_ms: &[f64],
        lost: Option<RecordingError>,
    ) -> Self {
        Self {
            map,
            planner: Entrant::parse(&args.planner).label().to_owned(),
            rules: *world.rules(),
            score: world.score(state),
            final_tick: state.tick(),
            caught: state.is_caught(),
            status: state.status(),
            decision_ms: times(decisions_ms),
            sources: SourceCounts::default(),
            mispredictions: 0,
            external: None,
            learnt: Vec::new(),
            saved: args.save.clone().filter(|_| lost.is_none()),
            lost,
        }
    }
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

fn write_report(report: &Report, out: &mut impl Write) -> Result<(), CliError> {
    let Report { map, planner, score, final_tick, status, decision_ms, sources, .. } = report;
    let end = ending(*status, *final_tick);
    writeln!(out, "{}: {score} points, {end}, planner {}", one_line(map), one_line(planner))?;
    let DecisionTimes { first, p50, p99, max } = decision_ms;
    if sources.search > 0 || report.external.is_none() {
        writeln!(out, "decisions: first {first:.3} ms, then p50 {p50:.3}, p99 {p99:.3}, max {max:.3} ms")?;
    }
    if let Some(ExternalRecord { commands, missed_ticks, late_commands, invalid_commands, mistakes, .. }) =
        &report.external
    {
        writeln!(
            out,
            "{commands} commands, {missed_ticks} ticks without a command, {late_commands} late commands, \
             {invalid_commands} messages that are not commands"
        )?;
        if !mistakes.is_empty() {
            writeln!(out, "{}", one_line(&mistakes.words()))?;
        }
    } else {
        let SourceCounts { plan, search, fallback } = sources;
        writeln!(
            out,
            "{plan} from plans, {search} from searches, {fallback} fallbacks; {} mispredictions",
            report.mispredictions
        )?;
    }
    if !report.learnt.is_empty() {
        writeln!(out, "learnt: {}", one_line(&report.learnt.join("; ")))?;
    }
    if let Some(saved) = &report.saved {
        writeln!(out, "saved to {}", one_line(&saved.display().to_string()))?;
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
