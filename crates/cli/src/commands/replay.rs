use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use getaway::protocol::write_line;
use getaway::recording::{Divergence, VerifyReport, verify};

use crate::arguments::{RulesArgs, input_files};
use crate::output::{Say, count, ending};
use crate::{CliError, Result, failed, invalid};

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
struct FileReport {
    file: String,
    #[serde(flatten)]
    report: Option<VerifyReport>,
    seconds: f64,
    error: Option<String>,
}

pub(crate) fn run(args: &ReplayArgs, out: &mut impl Write) -> Result {
    let files = list_files(&args.paths)?;
    let rules = args.rules.given()?;
    let mut reports = Vec::new();
    for path in &files {
        let start = Instant::now();
        let verified = verify(path, rules.as_ref());
        let (file, seconds) = (path.display().to_string(), start.elapsed().as_secs_f64());
        let error = verified.as_ref().err().map(ToString::to_string);
        let report = FileReport { file, report: verified.ok(), seconds, error };
        if args.json {
            write_line(&mut *out, &report)?;
        } else if files.len() > 1 || report.error.is_none() {
            // The error of a single file is not printed here, because the command returns it.
            write_text(&report, out)?;
        }
        reports.push(report);
    }
    let verified: Vec<&VerifyReport> = reports.iter().filter_map(|report| report.report.as_ref()).collect();
    let all = count(files.len(), "file");
    if !args.json && !verified.is_empty() {
        let ticks: usize = verified.iter().map(|report| report.ticks).sum();
        let seconds: f64 = reports.iter().map(|report| report.seconds).sum();
        let speed = ticks as f64 / seconds.max(1e-9);
        writeln!(out, "{all} in {seconds:.2} s, {} ({speed:.0} ticks/s)", count(ticks, "tick"))?;
    }
    out.flush()?;
    let diverged = verified.iter().filter(|report| report.divergence.is_some()).count();
    let errors: Vec<&String> = reports.iter().filter_map(|report| report.error.as_ref()).collect();
    match errors[..] {
        [] if diverged == 0 => Ok(()),
        [] => Err(failed!("{diverged} of {all} diverged from the rules")),
        [error] => Err(CliError::Input(error.clone())),
        _ => Err(invalid!("{} cannot be read", count(errors.len(), "file"))),
    }
}

/// Returns these files, and the recorded games in these folders.
pub(crate) fn list_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let expected = "no recorded games: expected files that end in .jsonl or .jsonl.gz";
    input_files(paths, &[".jsonl", ".jsonl.gz"], false, expected)
}

fn write_text(FileReport { file, report, error, .. }: &FileReport, out: &mut impl Write) -> Result {
    let Some(report) = report else { return out.say(error.as_deref().unwrap_or_default()) };
    if let Some(divergence) = &report.divergence {
        return write_divergence(file, divergence, out);
    }
    let score = report.score.map(|score| format!(", score {score}")).unwrap_or_default();
    let (ticks, end) = (count(report.ticks, "tick"), ending(report.status, report.tick));
    let mut text = format!("{file}: {ticks}, {end}{score}");
    if let Some(line) = report.truncated_line {
        text += &format!("; line {line} is truncated and was ignored");
    }
    if !report.see_through.is_empty() {
        let tiles: Vec<String> = report.see_through.iter().map(ToString::to_string).collect();
        text += &format!("; inferred to be see-through: {}", tiles.join(" "));
    }
    text.extend(report.note_on_map().map(|note| format!("; {note}")));
    if !report.unverified_threats.is_empty() {
        let places: Vec<String> = report.unverified_threats.iter().map(|index| format!("threats[{index}]")).collect();
        text += &format!("; not verified, because the style is unknown: {}", places.join(" "));
    }
    out.say(text)
}

fn write_divergence(file: &str, divergence: &Divergence, out: &mut impl Write) -> Result {
    let Divergence { line, tick, path, expected, found, context, .. } = divergence;
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
