use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use getaway::protocol::write_line;
use getaway::recording::{Divergence, RecordingError, VerifyReport, verify};

use crate::CliError;
use crate::arguments::RulesArgs;
use crate::error::unreadable;
use crate::output::{Say, count, ending};

/// Verify recorded games: replay each and report the first field that differs
#[derive(Args)]
pub(crate) struct ReplayArgs {
    /// Recorded games (.jsonl, .jsonl.gz), or folders of them
    #[arg(value_name = "FILE", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Print one line of JSON per file
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FileReport<'a> {
    file: &'a str,
    #[serde(flatten)]
    report: Option<&'a VerifyReport>,
    seconds: f64,
    error: Option<String>,
}

pub(crate) fn run(args: &ReplayArgs, out: &mut impl Write) -> Result<(), CliError> {
    let files = list_files(&args.paths)?;
    let mut total = Total::default();
    let rules = args.rules.rules()?;
    for path in &files {
        let start = Instant::now();
        let result = verify(path, &rules);
        let elapsed = start.elapsed();
        total.count(&result, elapsed);
        if args.json {
            write_json(path, &result, elapsed, out)?;
        } else if files.len() > 1 || result.is_ok() {
            // The error of a single file is not printed here, because the command returns it.
            write_text(path, &result, out)?;
        }
    }
    if !args.json && total.unreadable.len() < files.len() {
        writeln!(out, "{} in {}", count(files.len(), "file"), total.speed())?;
    }
    out.flush()?;
    total.result(files.len())
}

pub(crate) fn list_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let failed = |error| unreadable(path, &error);
        let mut listed = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if is_recording(&file) {
                listed.push(file);
            }
        }
        if listed.is_empty() {
            return Err(CliError::Input(format!(
                "{}: no recorded games: expected files that end in .jsonl or .jsonl.gz",
                path.display()
            )));
        }
        listed.sort();
        files.append(&mut listed);
    }
    Ok(files)
}

fn is_recording(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Hidden files, such as `._a.jsonl` on a Mac, are not recordings, whatever they end in.
    path.is_file() && !name.starts_with('.') && (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"))
}

#[derive(Default)]
struct Total {
    ticks: usize,
    elapsed: Duration,
    diverged: usize,
    unreadable: Vec<String>,
}

impl Total {
    fn count(&mut self, result: &Result<VerifyReport, RecordingError>, elapsed: Duration) {
        self.elapsed += elapsed;
        match result {
            Ok(report) => {
                self.ticks += report.ticks;
                self.diverged += usize::from(report.divergence.is_some());
            }
            Err(error) => self.unreadable.push(error.to_string()),
        }
    }

    fn speed(&self) -> String {
        let seconds = self.elapsed.as_secs_f64();
        format!("{seconds:.2} s, {} ({:.0} ticks/s)", count(self.ticks, "tick"), self.ticks as f64 / seconds.max(1e-9))
    }

    fn result(&self, files: usize) -> Result<(), CliError> {
        match (self.unreadable.as_slice(), self.diverged) {
            ([], 0) => Ok(()),
            ([], diverged) => {
                Err(CliError::Check(format!("{diverged} of {} diverged from the rules", count(files, "file"))))
            }
            ([error], _) => Err(CliError::Input(error.clone())),
            (errors, _) => Err(CliError::Input(format!("{} cannot be read", count(errors.len(), "file")))),
        }
    }
}

fn write_json(
    path: &Path,
    result: &Result<VerifyReport, RecordingError>,
    elapsed: Duration,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let file_report = FileReport {
        file: &path.to_string_lossy(),
        report: result.as_ref().ok(),
        seconds: elapsed.as_secs_f64(),
        error: result.as_ref().err().map(ToString::to_string),
    };
    Ok(write_line(out, &file_report)?)
}

fn write_text(
    path: &Path,
    result: &Result<VerifyReport, RecordingError>,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let file = path.display().to_string();
    let report = match result {
        Ok(report) => report,
        Err(error) => return out.say(error.to_string()),
    };
    if let Some(divergence) = &report.divergence {
        return write_divergence(&file, divergence, out);
    }
    let score = report.score.map(|score| format!(", score {score}")).unwrap_or_default();
    let (ticks, end) = (count(report.ticks, "tick"), ending(report.status, report.tick));
    out.say(format!("{file}: {ticks}, {end}{score}{}", remarks(report)))
}

fn remarks(report: &VerifyReport) -> String {
    let mut remarks = String::new();
    if let Some(line) = report.truncated_line {
        remarks += &format!("; line {line} is truncated and was ignored");
    }
    if !report.see_through.is_empty() {
        let tiles: Vec<String> = report.see_through.iter().map(ToString::to_string).collect();
        remarks += &format!("; inferred to be see-through: {}", tiles.join(" "));
    }
    if !report.unverified_threats.is_empty() {
        let places: Vec<String> = report.unverified_threats.iter().map(|index| format!("threats[{index}]")).collect();
        remarks += &format!("; not verified, because the style is unknown: {}", places.join(" "));
    }
    remarks
}

fn write_divergence(file: &str, divergence: &Divergence, out: &mut impl Write) -> Result<(), CliError> {
    let Divergence { line, tick, path, expected, found, context } = divergence;
    out.say(format!("{file}: line {line}, tick {tick}, {path}: expected {expected}, found {found}"))?;
    for tick in context {
        let mark = if tick.line == *line { '>' } else { ' ' };
        let threats: Vec<String> = (tick.threats.iter())
            .map(|threat| format!("{} {} {}", threat.style, threat.position, threat.direction))
            .collect();
        let actions = serde_json::to_string(&tick.actions)?;
        let (line, number, player, threats) = (tick.line, tick.tick, tick.player, threats.join(", "));
        out.say(format!("{mark} line {line}, tick {number}: player {player}; {threats}; actions {actions}"))?;
    }
    Ok(())
}
