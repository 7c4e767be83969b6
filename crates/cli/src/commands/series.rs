//! The commands `eval`, `battle` and `tournament`. Each plays a series of games; they differ in what
//! they compare.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::SystemTime;
use std::{env, fs};

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use getaway::files::Existing;
use getaway::game::Rules;
use getaway::planner::DEFAULT_NAME;
use getaway::protocol::to_json;
use getaway_arena::{
    Entrant, ExternalSummary, GameRecord, GameSettings, Games, Judgement, Match, PlannerEvaluation, ReportText, Series,
    SeriesOptions, Summary, Tournament, TournamentMonitor, TournamentOptions, evaluate, external_summaries, report,
    resume,
};
use getaway_runs::stats::average;

use crate::arguments::{PositionalMaps, SeriesArgs, SprtArgs, WorkerArgs};
use crate::interrupt::stop_on_interrupt;
use crate::output::{OutputFile, Progress, Say, count, or_dash, points, shell_quoted};
use crate::{CliError, Invocation, Result, failed};
pub(crate) use replays::replay_json;
use replays::report_replays;
use tables::write_results;

mod replays;
mod tables;

const TITLE_PLANNERS: usize = 3;

/// Evaluate planners on several maps and seeds, in parallel
#[derive(Args)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    positional: PositionalMaps,
    /// Planner: a name, an expression, exec:COMMAND, pipe:COMMAND, model:FILE, or a planner in Python as
    /// MODULE:NAME; NAME=PLANNER names it, where NAME is up to 64 letters, digits and ._@+-;
    /// repeatable
    #[arg(long = "planner", value_name = "NAME|EXPRESSION", default_value = DEFAULT_NAME)]
    planners: Vec<String>,
    #[command(flatten)]
    series: SeriesArgs,
}

/// Compare two planners in paired games (same map, same seed)
#[derive(Args)]
pub(crate) struct BattleArgs {
    /// Planner whose wins are counted: a name, an expression, exec:COMMAND, pipe:COMMAND, model:FILE, or a planner
    /// in Python as MODULE:NAME; NAME=PLANNER names it, where NAME is up to 64 letters, digits and
    /// ._@+-
    left: String,
    /// Planner to compare with LEFT
    right: String,
    #[command(flatten)]
    positional: PositionalMaps,
    #[command(flatten)]
    series: SeriesArgs,
    #[command(flatten)]
    sprt: SprtArgs,
}

/// Play a tournament: every entrant against every other, on the same maps and seeds
#[derive(Args)]
pub(crate) struct TournamentArgs {
    /// Entrants: names, expressions, exec:COMMAND, pipe:COMMAND, model:FILE, or planners in Python as
    /// MODULE:NAME; NAME=PLANNER names an entrant, where NAME is up to 64 letters, digits and ._@+-
    #[arg(value_name = "ENTRANT", num_args = 2.., required = true)]
    entrants: Vec<String>,
    /// Compare only pairs that include the first entrant
    #[arg(long)]
    gauntlet: bool,
    #[command(flatten)]
    series: SeriesArgs,
    #[command(flatten)]
    sprt: SprtArgs,
}

/// Version of the JSON output; see docs/results.md.
const SCHEMA: u32 = 2;

#[derive(Serialize)]
struct Output<'a> {
    schema: u32,
    #[serde(flatten)]
    settings: GameSettings,
    samples: u32,
    games: usize,
    games_max: usize,
    entrants: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    planners: Option<&'a [PlannerEvaluation]>,
    #[serde(flatten)]
    judgement: &'a Judgement,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sentence: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    external: &'a [ExternalSummary],
}

pub(crate) fn eval(args: &EvalArgs, invocation: &Invocation<'_>, out: &mut impl Write) -> Result {
    args.positional.refuse()?;
    let run = SeriesRun::play(&args.series, args.planners.clone(), TournamentOptions::default(), invocation)?;
    let planners = match &run.series.names {
        few if few.len() <= TITLE_PLANNERS => few.join(", "),
        many => format!("{} planners", many.len()),
    };
    run.finish(&format!("evaluation of {planners}"), "", &Judgement::Evaluation, out)
}

pub(crate) fn battle(args: &BattleArgs, invocation: &Invocation<'_>, out: &mut impl Write) -> Result {
    args.positional.refuse()?;
    let options = TournamentOptions { gauntlet: false, sprt: args.sprt.sprt()? };
    let run = SeriesRun::play(&args.series, vec![args.left.clone(), args.right.clone()], options, invocation)?;
    let sprt = run.monitor.sprt_reports().pop().flatten();
    let result = Match::of(&run.series, &run.games, [0, 1], sprt, args.series.margin.into());
    let title = format!("{} against {}", result.left, result.right);
    run.finish(&title, &format!("{title}: "), &Judgement::Battle(Box::new(result)), out)
}

pub(crate) fn tournament(args: &TournamentArgs, invocation: &Invocation<'_>, out: &mut impl Write) -> Result {
    let options = TournamentOptions { gauntlet: args.gauntlet, sprt: args.sprt.sprt()? };
    let run = SeriesRun::play(&args.series, args.entrants.clone(), options, invocation)?;
    let result = Tournament::of(&run.series, &run.games, &run.monitor, args.series.margin.into());
    let kind = if args.gauntlet { "gauntlet" } else { "tournament" };
    let entrants = format!("of {} entrants", args.entrants.len());
    run.finish(&format!("tournament {entrants}"), &format!("{kind} {entrants}: "), &Judgement::Tournament(result), out)
}

struct SeriesRun<'a> {
    args: &'a SeriesArgs,
    invocation: &'a Invocation<'a>,
    series: Series,
    games: Games,
    monitor: TournamentMonitor,
    /// The page, the table of games and the JSON of `--report`.
    report: Option<[OutputFile; 3]>,
    is_interrupted: bool,
}

impl<'a> SeriesRun<'a> {
    /// Plays the games that `options` need, except those in the file of `--resume`. Discards games
    /// that are not needed.
    fn play(
        args: &'a SeriesArgs,
        planners: Vec<String>,
        options: TournamentOptions,
        invocation: &'a Invocation<'a>,
    ) -> Result<Self> {
        let maps = args.games.maps.load(&args.games.map_names)?;
        let mut series = Series::with_host(&maps, args.games.options(planners, args.samples)?, invocation.host)?;
        series.external = args.external.options();
        // Check the output files now, not after hours of games.
        let report = args.report.as_ref().map(|path| {
            let beside = |extension: &str| args.output.file(path.with_extension(extension));
            Ok::<_, CliError>([args.output.file(path)?, beside("csv")?, beside("json")?])
        });
        let report = report.transpose()?;
        let (mut file, mut games) = match &args.resume {
            Some(path) => resume(path, &series).map(|(file, games)| (Some(file), games))?,
            None => (None, Games::new()),
        };
        let stop = stop_on_interrupt()?;
        let progress = Progress::resumed(series.len() as u64, "games", games.iter().flatten().count() as u64);
        let mut monitor = TournamentMonitor::new(&series, options);
        let is_wanted = monitor.wanted();
        if monitor.update(&series, &games) {
            let on_game = |index: usize, games: &Games| {
                let game = games[index].as_ref().expect("a game that has just ended");
                if let Some(Err(error)) = file.as_mut().map(|file| file.append(&[game])) {
                    return ControlFlow::Break(Err(error));
                }
                progress.inc(1);
                if options.sprt.is_some() && !monitor.update(&series, games) {
                    return ControlFlow::Break(Ok(()));
                }
                progress.set_message(status(&monitor, games, series.names.len()));
                ControlFlow::Continue(())
            };
            let workers = args.games.workers()?;
            let flow = series.play_wanted(&mut games, workers, &stop, &is_wanted, &mut || {}, on_game)?;
            flow.break_value().unwrap_or(Ok(()))?;
        }
        games.resize(series.len(), None);
        let is_interrupted = monitor.update(&series, &games) && stop.load(Ordering::Relaxed);
        games.iter_mut().enumerate().filter(|(index, _)| !is_wanted(*index)).for_each(|(_, game)| *game = None);
        Ok(Self { args, invocation, series, games, monitor, report, is_interrupted })
    }

    fn played(&self) -> usize {
        self.games.iter().flatten().count()
    }

    fn heading(&self) -> String {
        let SeriesOptions { samples, seed, rules, budget, .. } = self.series.options;
        let (budget, games, games_max) = (budget.words(), self.played(), self.series.len());
        let variant = if rules.no_jump { ", no jumping" } else { "" };
        let missing = if games < games_max { format!(", {games} of {games_max} games so far") } else { String::new() };
        let samples = count(samples as usize, "sample");
        format!("{samples} per map, at most {budget} per decision{variant}, seed {seed}{missing}")
    }

    /// Returns the command that plays `game` again. With a time limit, the game may differ.
    fn restep_command(&self, map: usize, game: &GameRecord) -> String {
        let (args, budget) = (&self.args.games, game.budget);
        let map = args.map_names.get(map).unwrap_or(&self.series.maps[map].name);
        let limits =
            [("budget-ms", budget.time_ms()), ("budget-ticks", budget.ticks), ("budget-evals", budget.evaluations)];
        let limits = limits.into_iter().filter_map(|(name, limit)| Some((name, limit?.to_string())));
        let dirs = args.maps.dirs.iter().map(|dir| ("maps", dir.display().to_string()));
        let options = dirs.chain([("planner", game.spec().to_owned())]).chain(limits);
        let options = options.chain([("seed", game.seed.to_string())]);
        let options = options.flat_map(|(name, value)| [format!("--{name}"), shell_quoted(&value)]);
        let words = ["getaway".to_owned(), "play".to_owned(), shell_quoted(map)].into_iter().chain(options);
        words.chain(args.rules.words()).collect::<Vec<String>>().join(" ")
    }

    /// Writes the results and the report. Fails if either cannot be written, if the series was
    /// interrupted or, without `--allow-failures`, if an external bot failed or missed many ticks.
    fn finish(&self, title: &str, start: &str, judgement: &Judgement, out: &mut impl Write) -> Result {
        let (series, SeriesArgs { games: args, resume, report, .. }) = (&self.series, self.args);
        let planners = evaluate(series, &self.games);
        let external = external_summaries(series, &self.games);
        let entrant = |(evaluation, entrant): (&PlannerEvaluation, &Entrant)| {
            let Summary { cost, decision_p50_ms, decision_p99_ms, decision_max_ms, .. } = evaluation.overall;
            json!({
                "name": evaluation.planner,
                "spec": entrant.spec,
                "cost": cost,
                "decision_p50_ms": decision_p50_ms,
                "decision_p99_ms": decision_p99_ms,
                "decision_max_ms": decision_max_ms,
            })
        };
        let (played, all) = (self.played(), series.len());
        let output = Output {
            schema: SCHEMA,
            settings: GameSettings::of(&series.options),
            samples: series.options.samples,
            games: played,
            games_max: all,
            entrants: planners.iter().zip(&series.entrants).map(entrant).collect(),
            planners: matches!(judgement, Judgement::Evaluation).then_some(&planners),
            judgement,
            note: if let Judgement::Battle(battle) = judgement { battle.note() } else { None },
            sentence: judgement.sentence(),
            external: &external,
        };
        let json = serde_json::to_string(&output)?;
        // Print the results even if the report cannot be written.
        let written = self.report.as_ref().map_or(Ok(()), |files| self.write_report(files, title, judgement, &json));
        if args.json {
            writeln!(out, "{json}")?;
        } else {
            if let (Some(path), Ok(())) = (report, &written) {
                out.say(format!("report: {}, and beside it a .csv of the games and a .json", path.display()))?;
            }
            out.say(format!("{start}{}", self.heading()))?;
            write_results(judgement, &planners, &external, out)?;
        }
        // Flush, so that the results appear before the error.
        out.flush()?;
        written?;
        if self.is_interrupted {
            let advice = match (resume, report) {
                (Some(_), Some(_)) if self.args.output.existing() == Existing::Keep => {
                    "rerun the same command with --force to continue and to overwrite the report"
                }
                (Some(_), _) => "rerun the same command to continue",
                (None, _) => "use --resume FILE to keep them",
            };
            return Err(CliError::Interrupted(format!("interrupted after {played} of {all} games; {advice}")));
        }
        // The text already describes the failures.
        let trouble = |bot: &ExternalSummary| if args.json { bot.trouble.clone() } else { bot.brief_trouble() };
        let troubles: Vec<String> = external.iter().filter_map(trouble).collect();
        if troubles.is_empty() || self.args.allow_failures {
            return Ok(());
        }
        Err(failed!("{} (--allow-failures accepts this)", troubles.join("; ")))
    }

    fn write_report(&self, files: &[OutputFile; 3], title: &str, judgement: &Judgement, json: &str) -> Result {
        let (heading, facts) = (self.heading(), self.facts());
        let text = ReportText { title, heading: &heading, command: &self.invocation.command_line, facts: &facts };
        let command_of = |index: usize| {
            // `getaway play` cannot reproduce the games of external bots.
            let game = self.games[index].as_ref().filter(|game| game.external.is_none())?;
            Some(self.restep_command(self.series.key(index).map, game))
        };
        let replays = report_replays(&self.series, &self.games, &self.args.games)?;
        let page = report(&self.series, &self.games, judgement, Some(&replays), text, command_of);
        let table = getaway_arena::csv(&self.series, &self.games);
        let contents = [page, table, format!("{json}\n")];
        files.iter().zip(contents).try_for_each(|(file, content)| file.write(content.as_bytes()))
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let SeriesOptions { rules, budget, .. } = self.series.options;
        let commit = Some(env!("GETAWAY_COMMIT")).filter(|commit| !commit.is_empty()).unwrap_or("unknown");
        let rules = match rules {
            rules if rules == Rules::BLITZ_2025 => "the server's".to_owned(),
            rules if rules == Rules::NO_JUMP => "the server's, without jumping".to_owned(),
            rules => to_json(&rules),
        };
        vec![
            ("date", httpdate::fmt_http_date(SystemTime::now())),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("commit", commit.to_owned()),
            ("processor", processor()),
            match &self.args.games.workers {
                WorkerArgs { ray: Some(address), .. } => ("cluster", address.clone()),
                workers => ("threads", workers.threads().to_string()),
            },
            ("budget per decision", budget.words()),
            ("rules", rules),
        ]
    }
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = name.map_or(env::consts::ARCH, |(_, name)| name.trim());
    format!("{name}, {}", count(num_cpus::get_physical(), "core"))
}

/// Describes the games so far: the number of decided pairs of entrants, or the mean score, of each
/// entrant if there are few.
fn status(monitor: &TournamentMonitor, games: &Games, entrants: usize) -> String {
    match monitor.decided() {
        (decided @ 1.., pairs @ 2..) => format!("{decided} of {pairs} pairs decided"),
        _ => {
            let groups = if entrants <= TITLE_PLANNERS { entrants } else { 1 };
            let mean = |group: usize| {
                let games = games.iter().skip(group).step_by(groups).flatten();
                or_dash(average(&games.map(|game| f64::from(game.points())).collect::<Vec<f64>>()).map(points))
            };
            format!("mean score {}", (0..groups).map(mean).collect::<Vec<String>>().join(" and "))
        }
    }
}
