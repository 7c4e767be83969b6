use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use getaway::game::LAST_TICK;
use getaway::inference::{Decided, Finding, Findings, Learner, Open, Sight, StyleWord};
use getaway::protocol::write_line;
use getaway::recording::{RecordingError, RecordingReader};

use super::replay::list_files;
use crate::Result;
use crate::arguments::RulesArgs;
use crate::error::at;
use crate::output::{OutputArgs, Progress, Say};

/// Work out the rules of a server from recorded games
#[derive(Args)]
pub(crate) struct ProbeArgs {
    /// Recordings of games on one server, plain or gzipped, or folders of them
    #[arg(value_name = "RECORDING", required = true)]
    recordings: Vec<PathBuf>,
    /// Write the best explanation as a rules file
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    files: OutputArgs,
    /// The rules to assume where the games give no evidence
    #[command(flatten)]
    rules: RulesArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ProbeOutput<'a> {
    recordings: &'a [&'a Path],
    messages: usize,
    #[serde(flatten)]
    findings: &'a Findings,
    seconds: f64,
}

pub(crate) fn run(args: &ProbeArgs, out: &mut impl Write) -> Result {
    let start = Instant::now();
    let output = args.output.as_ref().map(|path| args.files.file(path)).transpose()?;
    let (files, expected) = (list_files(&args.recordings)?, args.rules.rules()?);
    let progress = Progress::of(2 * files.len() as u64 * u64::from(LAST_TICK), "messages");
    // Returns the number of messages, the recordings that contain any, and the errors.
    let read_all = |learner: &mut Learner| {
        let (mut messages, mut games, mut unreadable) = (0, Vec::new(), Vec::new());
        for path in &files {
            match read(path, learner, &mut games, &progress) {
                Ok(read) => messages += read,
                Err(error) => unreadable.push(error),
            }
        }
        (messages, games, unreadable)
    };
    let mut learner = Learner::new(&expected).recording();
    let (mut messages, mut games, mut unreadable) = read_all(&mut learner);
    learner.identify_words();
    // A word that was misunderstood in the first games has spoilt what was learnt from them.
    if !learner.words().is_empty() {
        learner = Learner::new(&expected).recording().with_words_of(&learner);
        (messages, games, unreadable) = read_all(&mut learner);
    }
    if games.is_empty() {
        return Err(unreadable.swap_remove(0));
    }
    progress.set_message("solving the picks");
    let findings = learner.findings();
    drop(progress);
    let seconds = start.elapsed().as_secs_f64();
    let rules = serde_json::to_string_pretty(&findings.rules)? + "\n";
    let written = output.as_ref().map_or(Ok(()), |output| output.write(rules.as_bytes()));
    if args.json {
        write_line(&mut *out, &ProbeOutput { recordings: &games, messages, findings: &findings, seconds })?;
    } else {
        write_findings(&games, &findings, out)?;
    }
    written?;
    if let Some(output) = output.filter(|_| !args.json) {
        writeln!(out)?;
        out.say(format!("written to {}", output.path().display()))?;
    }
    unreadable.into_iter().next().map_or(Ok(()), Err)
}

/// Reads a recording, and adds its path to `games` when its first message has been read.
fn read<'a>(path: &'a Path, learner: &mut Learner, games: &mut Vec<&'a Path>, progress: &Progress) -> Result<usize> {
    progress.set_message(path.display().to_string());
    let mut reader = RecordingReader::open(path)?;
    let mut messages = 0;
    while let Some(tick) = reader.next_tick()? {
        let message = tick.game_message;
        let line = reader.line();
        let wrong = |error: &dyn std::fmt::Display| at(path, format!("line {line}: {error}"));
        message.validate().map_err(|error| wrong(&error))?;
        let Some(sight) = Sight::of(&message) else {
            return Err(wrong(&format!("tick {}: expected 1 to {}", message.tick, LAST_TICK)));
        };
        if messages == 0 {
            let named = message.threats.iter();
            let named = named.map(|threat| StyleWord { word: threat.style.to_string(), style: threat.style.known() });
            let layout = message.layout().map_err(|error| wrong(&error))?;
            learner.begin(&layout, named.collect(), sight).map_err(|error| wrong(&error))?;
            games.push(path);
        } else {
            learner.observe(&sight);
        }
        messages += 1;
        progress.inc(1);
    }
    if messages == 0 {
        return Err(RecordingError::Empty { path: path.to_owned() }.into());
    }
    Ok(messages)
}

fn write_findings(games: &[&Path], findings: &Findings, out: &mut impl Write) -> Result {
    let mut known: Vec<String> = Vec::new();
    for finding in findings.parameters.iter().filter(|finding| finding.is_certain) {
        if !known.iter().any(|known| known.starts_with(&finding.sentence)) {
            known.push(format!("{}{}", finding.sentence, place(games, finding.decided)));
        }
    }
    write_list("certain", known, out)?;
    let open = findings.parameters.iter().filter(|finding| !finding.is_certain);
    let (unseen, open): (Vec<&Finding>, Vec<&Finding>) = open.partition(|finding| finding.open == Open::NotObserved);
    let line = |finding: &Finding| format!("{}: {}; assumed {}", finding.field, finding.open, finding.value);
    write_list("open", open.into_iter().map(line), out)?;
    let line = |finding: &Finding| format!("{}: assumed {}", finding.field, finding.value);
    write_list("not observed", unseen.into_iter().map(line), out)?;
    let words = findings.words.chunk_by(|one, two| one.0 == two.0).map(|one| {
        let styles: Vec<String> = one.iter().map(|(_, style)| format!("the {style}")).collect();
        format!("{:?} is {}", one[0].0, styles.join(" or "))
    });
    write_list("words", words, out)?;
    let unexplained = findings.unexplained.iter().map(|one| format!("{one}{}", recording(games, one.game)));
    write_list("unexplained", unexplained.chain(findings.conflicts.iter().map(ToString::to_string)), out)
}

fn write_list(heading: &str, lines: impl IntoIterator<Item = String>, out: &mut impl Write) -> Result {
    for (index, line) in lines.into_iter().enumerate() {
        if index == 0 {
            writeln!(out, "{heading}:")?;
        }
        out.say(format!("  {line}"))?;
    }
    Ok(())
}

fn place(games: &[&Path], decided: Option<Decided>) -> String {
    decided.map_or_else(String::new, |decided| {
        format!(" (tick {}, threat {}{})", decided.tick, decided.threat, recording(games, decided.game))
    })
}

fn recording(games: &[&Path], game: usize) -> String {
    match games.get(game).filter(|_| games.len() > 1) {
        Some(path) => format!(" of {}", path.display()),
        None => String::new(),
    }
}
