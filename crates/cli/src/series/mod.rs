//! Plays a series of games for `getaway eval`, `battle` or `tournament`, and writes the results.

use getaway::files::Existing;
use getaway::game::Rules;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::SystemTime;
use std::{env, fs};

use serde::Serialize;
use serde_json::{Value, json};

use getaway::protocol::to_json;
use getaway_arena::{
    Entrant, ExternalSummary, GameRecord, GameSettings, Games, Judgement, PlannerEvaluation, ReportText, Series,
    SeriesOptions, Summary, TournamentMonitor, TournamentOptions, evaluate, external_summaries, report, resume,
};

use getaway_runs::stats::{WinDrawLoss, average};

use crate::arguments::{GamesArgs, SeriesArgs, WorkerArgs};
use crate::commands::write_results;
use crate::interrupt::stop_on_interrupt;
use crate::output::{OutputArgs, OutputFile, Progress, Say, count, points, shell_quoted};
use crate::{CliError, Invocation, Result, failed};
pub(crate) use replays::replay_json;
use replays::report_replays;

pub(crate) mod cluster;
mod replays;

/// Version of the JSON output of `eval`, `battle` and `tournament`; see docs/results.md.
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
    planners: Option<&'a Vec<PlannerEvaluation>>,
    #[serde(flatten)]
    judgement: &'a Judgement,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sentence: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    external: &'a [ExternalSummary],
}

pub(crate) struct EntrantResults {
    pub planners: Vec<PlannerEvaluation>,
    pub external: Vec<ExternalSummary>,
}

impl EntrantResults {
    pub fn of(series: &Series, games: &Games) -> Self {
        Self { planners: evaluate(series, games), external: external_summaries(series, games) }
    }

    /// Returns a description of each external bot that failed or was often late.
    pub fn troubles(&self) -> Vec<String> {
        self.external.iter().filter_map(|bot| bot.trouble.clone()).collect()
    }

    fn entrants(&self, series: &Series) -> Vec<Value> {
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
        self.planners.iter().zip(series.entrants()).map(entrant).collect()
    }
}

pub(crate) struct SeriesRun<'a> {
    args: &'a SeriesArgs,
    invocation: &'a Invocation<'a>,
    map_arguments: Vec<String>,
    pub series: Series,
    pub games: Games,
    report: Option<ReportFiles>,
    interrupted: bool,
}

struct ReportFiles {
    page: OutputFile,
    csv: OutputFile,
    json: OutputFile,
}

impl ReportFiles {
    fn new(path: &Path, output: OutputArgs) -> Result<Self> {
        let beside = |extension: &str| output.file(path.with_extension(extension));
        Ok(Self { page: output.file(path)?, csv: beside("csv")?, json: beside("json")? })
    }
}

fn processor() -> String {
    let cores = num_cpus::get_physical();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = name.map_or(env::consts::ARCH, |(_, name)| name.trim());
    format!("{name}, {cores} {}", if cores == 1 { "core" } else { "cores" })
}

impl<'a> SeriesRun<'a> {
    pub fn new(args: &'a SeriesArgs, planners: Vec<String>, invocation: &'a Invocation<'a>) -> Result<Self> {
        let maps = args.games.maps.load()?;
        let names = &args.games.maps.names;
        let map_arguments =
            if names.is_empty() { maps.iter().map(|map| map.name.clone()).collect() } else { names.clone() };
        let options = args.games.options(planners, args.samples)?;
        let series = Series::with_host(&maps, options, invocation.host)?.with_external(args.external.options());
        // Check the output files now, not after hours of games.
        let report = args.report.as_ref().map(|path| ReportFiles::new(path, args.output)).transpose()?;
        Ok(Self { args, invocation, map_arguments, series, games: Games::new(), report, interrupted: false })
    }

    /// Plays the games that `options` need, except those in the file of `--resume`. Discards games
    /// that are not needed.
    pub fn play(&mut self, options: TournamentOptions) -> Result<TournamentMonitor> {
        let mut file = None;
        if let Some(path) = &self.args.resume {
            let (opened, games) = resume(path, &self.series)?;
            (file, self.games) = (Some(opened), games);
        }
        let stop = stop_on_interrupt()?;
        let progress = Progress::resumed(self.series.len() as u64, "games", self.played() as u64);
        let Self { series, games, .. } = self;
        let mut monitor = TournamentMonitor::new(series, options);
        let is_wanted = monitor.wanted();
        if monitor.update(series, games) {
            let on_game = |index: usize, games: &Games| {
                let game = games[index].as_ref().expect("a game that has just ended");
                if let Some(Err(error)) = file.as_mut().map(|file| file.append(&[game])) {
                    return ControlFlow::Break(Err(error));
                }
                progress.inc(1);
                if options.sprt.is_some() && !monitor.update(series, games) {
                    return ControlFlow::Break(Ok(()));
                }
                progress.set_message(status(&monitor, games));
                ControlFlow::Continue(())
            };
            let workers = self.args.games.workers()?;
            let flow = series.play_wanted(games, workers, &stop, &is_wanted, &mut || {}, on_game)?;
            flow.break_value().unwrap_or(Ok(()))?;
        }
        games.resize(series.len(), None);
        self.interrupted = monitor.update(series, games) && stop.load(Ordering::Relaxed);
        games.iter_mut().enumerate().filter(|(index, _)| !is_wanted(*index)).for_each(|(_, game)| *game = None);
        Ok(monitor)
    }

    fn played(&self) -> usize {
        self.games.iter().flatten().count()
    }

    pub fn heading(&self) -> String {
        let &SeriesOptions { samples, seed, rules, budget, .. } = self.series.options();
        let (budget, games, games_max) = (budget.words(), self.played(), self.series.len());
        let variant = if rules.no_jump { ", no jumping" } else { "" };
        let missing = if games < games_max { format!(", {games} of {games_max} games so far") } else { String::new() };
        let samples = count(samples as usize, "sample");
        format!("{samples} per map, at most {budget} per decision{variant}, seed {seed}{missing}")
    }

    /// Returns the command that plays `game` again. With a time limit, the game may differ.
    fn replay_command(&self, map: usize, game: &GameRecord) -> String {
        let mut words = vec!["getaway".to_owned(), "play".to_owned(), shell_quoted(&self.map_arguments[map])];
        let mut option = |name: &str, value: &str| words.extend([format!("--{name}"), shell_quoted(value)]);
        for dir in &self.args.games.maps.library.dirs {
            option("maps", &dir.display().to_string());
        }
        option("planner", game.spec());
        let budget = game.budget;
        let limits =
            [("budget-ms", budget.time_ms()), ("budget-ticks", budget.ticks), ("budget-evals", budget.evaluations)];
        for (name, limit) in limits {
            if let Some(limit) = limit {
                option(name, &limit.to_string());
            }
        }
        option("seed", &game.seed.to_string());
        words.extend(self.args.games.rules.words());
        words.join(" ")
    }

    /// Writes the results and the report. Fails if either cannot be written, if the series was
    /// interrupted or, without `--allow-failures`, if an external bot failed or was often late.
    pub fn finish(self, title: &str, heading: Option<&str>, judgement: &Judgement, out: &mut impl Write) -> Result {
        let results = EntrantResults::of(&self.series, &self.games);
        let output = Output {
            schema: SCHEMA,
            settings: GameSettings::of(self.series.options()),
            samples: self.series.options().samples,
            games: self.played(),
            games_max: self.series.len(),
            entrants: results.entrants(&self.series),
            planners: matches!(judgement, Judgement::Evaluation).then_some(&results.planners),
            judgement,
            note: if let Judgement::Battle(battle) = judgement { battle.note() } else { None },
            sentence: judgement.sentence(),
            external: &results.external,
        };
        let json = serde_json::to_string(&output)?;
        // Print the results even if the report cannot be written.
        let written = self.report.as_ref().map_or(Ok(()), |files| self.write_report(files, title, judgement, &json));
        if self.args.games.json {
            writeln!(out, "{json}")?;
        } else {
            let heading = heading.map_or_else(String::new, |heading| format!("{heading}: "));
            out.say(heading + &self.heading())?;
            write_results(judgement, &results, out)?;
        }
        // Flush, so that the results appear before the error.
        out.flush()?;
        written?;
        let SeriesArgs { allow_failures, games: GamesArgs { json, .. }, .. } = *self.args;
        self.end()?;
        // The text already describes the failures.
        let brief = || results.external.iter().filter_map(ExternalSummary::brief_trouble).collect();
        let troubles = if json { results.troubles() } else { brief() };
        if troubles.is_empty() || allow_failures {
            return Ok(());
        }
        Err(failed!("{} (--allow-failures accepts this)", troubles.join("; ")))
    }

    fn write_report(&self, files: &ReportFiles, title: &str, judgement: &Judgement, json: &str) -> Result {
        let (heading, facts) = (self.heading(), self.facts());
        let text = ReportText { title, heading: &heading, command: &self.invocation.command_line, facts: &facts };
        let command_of = |index: usize| {
            // `getaway play` cannot reproduce the games of external bots.
            let game = self.games[index].as_ref().filter(|game| game.external.is_none())?;
            Some(self.replay_command(self.series.key(index).map, game))
        };
        let games = &self.args.games;
        let replays = report_replays(&self.series, &self.games, games.workers.threads(), games.playground.as_deref())?;
        let page = report(&self.series, &self.games, judgement, Some(&replays), text, command_of);
        files.page.write(page.as_bytes())?;
        files.csv.write(getaway_arena::csv(&self.series, &self.games).as_bytes())?;
        files.json.write(format!("{json}\n").as_bytes())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let &SeriesOptions { rules, budget, .. } = self.series.options();
        let commit = match env!("GETAWAY_COMMIT") {
            "" => "unknown".to_owned(),
            commit => commit.to_owned(),
        };
        let rules = match rules {
            rules if rules == Rules::BLITZ_2025 => "the server's".to_owned(),
            rules if rules == Rules::NO_JUMP => "the server's, without jumping".to_owned(),
            rules => to_json(&rules),
        };
        vec![
            ("date", httpdate::fmt_http_date(SystemTime::now())),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("commit", commit),
            ("processor", processor()),
            match &self.args.games.workers {
                WorkerArgs { ray: Some(address), .. } => ("cluster", address.clone()),
                workers => ("threads", workers.threads().to_string()),
            },
            ("budget per decision", budget.words()),
            ("rules", rules),
        ]
    }

    fn end(self) -> Result {
        if !self.interrupted {
            return Ok(());
        }
        let advice = match (&self.args.resume, &self.report) {
            (Some(_), Some(_)) if self.args.output.existing() == Existing::Keep => {
                "rerun the same command with --force to continue and to overwrite the report"
            }
            (Some(_), _) => "rerun the same command to continue",
            (None, _) => "use --resume FILE to keep them",
        };
        let (played, all) = (self.played(), self.series.len());
        Err(CliError::Interrupted(format!("interrupted after {played} of {all} games; {advice}")))
    }
}

/// Describes the games so far: the decided pairs of several entrants, the score of two, or the mean
/// score.
fn status(monitor: &TournamentMonitor, games: &Games) -> String {
    match monitor.decided() {
        (_, 1) => {
            let mut tally = WinDrawLoss::default();
            for pair in games.chunks_exact(2) {
                if let [Some(left), Some(right)] = pair {
                    tally.add(left.rank(), right.rank());
                }
            }
            format!("{} won, {} tied, {} lost", tally.wins, tally.ties, tally.losses)
        }
        (decided @ 1.., pairs) => format!("{decided} of {pairs} pairs decided"),
        _ => {
            let scores: Vec<f64> = games.iter().flatten().map(|game| f64::from(game.points())).collect();
            format!("mean score {}", points(average(&scores).unwrap_or(0.0)))
        }
    }
}
