//! Guarantees: a finished game is in the journal, `ladder.jsonl`, before it is shown. An existing
//! page is overwritten only if its first line shows that this program wrote it.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, fs};

use clap::Args;
use serde::Serialize;

use getaway::files;
use getaway::protocol::{to_json, write_line};
use getaway_arena::{
    Entrant, EntrantState, LadderError, LadderNews, LadderOptions, LadderRequest, LadderRow, LadderStanding,
    LadderText, PairResult, PlayerSpec, SeriesOptions, VersionTest, entrant_names, ladder_page, request, run_ladder,
};
use getaway_runs::stats::WinDrawLoss;
use getaway_viewer::{Page, for_script, with_head};

use super::ladder_settings::{Settings, unknown_folder};
use super::series::replay_json;
use crate::arguments::{ExternalArgs, GamesArgs, MAX_SAMPLES, integer};
use crate::error::at;
use crate::interrupt::stop_on_interrupt;
use crate::output::{
    OutputFile, Progress, Say, count, milliseconds, note, or_dash, points, signed, signed_interval, write_table,
};
use crate::{CliError, Invocation, Result, invalid};

const PAGE: &str = "index.html";
const GAME_PAGE: &str = include_str!("ladder_game.html");
const GAME_MARK: &str = "// {\"getaway\":\"ladder game\",\"version\":1}\n";
const VIEWER: &str = "{{VIEWER}}";
const MARK_BYTES_MAX: u64 = 200;
const PAGE_BYTES_MAX: u64 = 1 << 30;
const MAX_MINUTES: u64 = 1_000_000;

/// Rate entrants, which can come and go at any time, by playing the most informative games
///
/// The folder holds the journal (ladder.jsonl), every game, and index.html with the standing and
/// the latest games. Without --minutes, the ladder ends when every pair of entrants at most two
/// places apart is decided, only repeats earlier games, or has played --samples games per map.
#[derive(Args)]
pub(crate) struct LadderArgs {
    /// Folder of the ladder, created if missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Add an entrant: a name, an expression, exec:COMMAND, pipe:COMMAND, model:FILE, or
    /// a planner in Python as MODULE:NAME; NAME=PLANNER names it,
    /// where NAME is up to 64 letters, digits and ._@+-, and a name that is
    /// taken becomes NAME@2, NAME@3 and so on; repeatable
    #[arg(long = "add", value_name = "NAME|EXPRESSION")]
    added: Vec<String>,
    /// Retire the entrant with this name; repeatable
    #[arg(long = "retire", value_name = "NAME")]
    retired: Vec<String>,
    /// Run for N minutes; if no game is left to play, wait for new entrants
    #[arg(long, value_name = "N", value_parser = integer::<u64>(1..=MAX_MINUTES))]
    minutes: Option<u64>,
    #[command(flatten)]
    games: GamesArgs,
    /// Maximum number of games per entrant and map
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = integer::<u32>(1..=MAX_SAMPLES))]
    samples: u32,
    #[command(flatten)]
    external: ExternalArgs,
}

/// Version of the JSON output; see docs/results.md.
const SCHEMA: u32 = 2;

#[derive(Serialize)]
struct Output<'a> {
    schema: u32,
    #[serde(flatten)]
    standing: &'a LadderStanding,
}

pub(crate) fn run(args: &LadderArgs, invocation: &Invocation<'_>, out: &mut impl Write) -> Result {
    let requests = args.requests(invocation)?;
    let has_requests = !requests.is_empty();
    let is_new = !["ladder.jsonl", "inbox"].iter().any(|name| args.folder.join(name).exists());
    if is_new && !has_requests && args.minutes.is_none() {
        return Err(LadderError::Empty.into());
    }
    let stop = stop_on_interrupt()?;
    let (workers, settings) = (args.games.workers()?, &invocation.settings);
    let path = std::path::absolute(&args.folder).map_err(unknown_folder)?;
    let current = env::current_dir().map_err(unknown_folder)?;
    let mut external = args.external.options();
    external.logs = external.logs.map(std::path::absolute).transpose().map_err(unknown_folder)?;
    // Given maps are relative to the current folder, saved ones to the folder of the ladder's bots.
    if settings.are_saved(&path)? {
        settings.enter();
    }
    let maps = args.games.maps.load(&args.games.map_names)?;
    let series = args.games.options(Vec::new(), args.samples)?;
    settings.enter();
    let mut stored = Vec::new();
    for wanted in requests {
        match request(&path, &current, wanted) {
            Ok(file) => stored.push(file),
            Err(error) => return Err(withdrawn(&stored, error)),
        }
    }
    let options = LadderOptions {
        folder: &path,
        maps: &maps,
        series,
        external,
        host: invocation.host,
        time: args.minutes.map(|minutes| Duration::from_secs(60 * minutes)),
    };
    let SeriesOptions { budget, seed, .. } = &options.series;
    let heading = format!("{}, at most {} per decision, seed {seed}", count(maps.len(), "map"), budget.words());
    let playground = args.games.playground.as_deref();
    let progress = Progress::open_ended();
    let (foreign, named, problem) = (BTreeSet::new(), 0, None);
    let mut folder =
        Folder { path: &path, heading, playground, settings, progress, is_loading: true, problem, foreign, named };
    let standing = run_ladder(&options, workers, &stop, &mut |news| folder.show(news));
    drop(folder);
    match standing {
        Err(LadderError::Running { .. }) if has_requests => {
            out.say(format!("{}: passed on to the running ladder, which keeps its settings", path.display()))
        }
        Err(error) => Err(withdrawn(&stored, error)),
        Ok(standing) => {
            if args.games.json {
                return Ok(write_line(out, &Output { schema: SCHEMA, standing: &standing })?);
            }
            write_standing(&standing, out)?;
            writeln!(out)?;
            out.say(path.join(PAGE).display().to_string())
        }
    }
}

/// Removes the requests of a command that fails. Otherwise the next run would carry them out.
fn withdrawn(stored: &[PathBuf], error: LadderError) -> CliError {
    stored.iter().for_each(|path| drop(fs::remove_file(path)));
    error.into()
}

impl LadderArgs {
    /// Returns the requests of `--add` and `--retire`. Fails if an added planner is invalid, or if a
    /// name to retire is unknown.
    fn requests(&self, invocation: &Invocation<'_>) -> Result<Vec<LadderRequest>> {
        for text in &self.added {
            PlayerSpec::find(&Entrant::parse(text), invocation.host)?;
        }
        let known = self.retired.first().map(|_| entrant_names(&self.folder));
        let mut names: BTreeSet<String> = known.into_iter().flatten().collect();
        names.extend(self.added.iter().map(|text| Entrant::parse(text).label().to_owned()));
        if let Some(unknown) = self.retired.iter().find(|&name| !names.contains(name)) {
            let found = if names.is_empty() { "no entrants".to_owned() } else { Vec::from_iter(names).join(", ") };
            return Err(invalid!("--retire {unknown}: no entrant has this name, found {found}"));
        }
        let added = self.added.iter().cloned().map(LadderRequest::Add);
        Ok(added.chain(self.retired.iter().cloned().map(LadderRequest::Retire)).collect())
    }
}

struct Folder<'a> {
    path: &'a Path,
    heading: String,
    playground: Option<&'a str>,
    settings: &'a Settings,
    progress: Progress,
    /// True until the games of earlier runs have been read from the journal.
    is_loading: bool,
    /// The error of the last write; `None` if the write succeeded.
    problem: Option<String>,
    /// Other files in the place of pages. They stay as they are.
    foreign: BTreeSet<String>,
    /// The number of foreign files that have been named.
    named: usize,
}

impl Folder<'_> {
    fn show(&mut self, news: LadderNews<'_>) {
        match news {
            LadderNews::Game { number, record, world } => {
                let name = format!("games/{number}.js");
                if self.is_loading && is_ours(&self.path.join(&name), GAME_MARK) == Some(true) {
                    return;
                }
                if let Some(json) = replay_json(world, record, None) {
                    self.write(&name, &format!("{GAME_MARK}showGame({json});\n"));
                }
            }
            LadderNews::Note(text) => self.progress.suspend(|| note(&text)),
            LadderNews::Standing { standing, is_last } => {
                if self.is_loading {
                    self.is_loading = false;
                    self.note_problem(self.settings.save(self.path));
                    let viewer = to_json(&Page::halves(self.playground));
                    let viewer = with_head(GAME_PAGE).replace(VIEWER, &for_script(&viewer));
                    self.write("game.html", &viewer);
                }
                self.write(PAGE, &self.html(standing, !is_last));
                if self.foreign.len() > std::mem::replace(&mut self.named, self.foreign.len()) {
                    let (folder, names) = (self.path.display(), Vec::from_iter(self.foreign.clone()).join(", "));
                    let expected = "not written by a ladder, so not overwritten";
                    self.progress.suspend(|| note(&format!("{folder}: {names}: {expected}")));
                }
                let (games, open) = (standing.games, standing.open_pairs);
                self.progress.set_message(format!("{games} games, open pairs: {open}"));
            }
        }
    }

    fn html(&self, standing: &LadderStanding, is_running: bool) -> String {
        let title = format!("ladder {}", self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy());
        let updated = httpdate::fmt_http_date(SystemTime::now());
        let text = LadderText { title: &title, heading: &self.heading, updated: &updated, is_running };
        ladder_page(standing, &text)
    }

    /// Writes a page, unless a foreign file is in its place.
    fn write(&mut self, name: &str, content: &str) {
        let path = self.path.join(name);
        if is_ours(&path, content) == Some(false) {
            self.foreign.insert(name.to_owned());
            return;
        }
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| at(&path, error));
        self.note_problem(folder.and_then(|()| OutputFile::over(&path).write(content.as_bytes())));
    }

    /// Reports a failed write, unless the previous write failed too. The ladder continues, because
    /// only the journal is essential.
    fn note_problem(&mut self, written: Result) {
        let problem = written.err().map(|error| error.to_string());
        if let Some(text) = problem.as_ref().filter(|_| self.problem.is_none()) {
            self.progress.suspend(|| note(text));
        }
        self.problem = problem;
    }
}

/// True if the first line of a file is that of `content`; `None` if the file is missing.
fn is_ours(path: &Path, content: &str) -> Option<bool> {
    path.symlink_metadata().ok()?;
    let mut start = String::new();
    let read = files::open(path, PAGE_BYTES_MAX).and_then(|file| file.take(MARK_BYTES_MAX).read_to_string(&mut start));
    Some(read.is_ok() && start.lines().next() == content.lines().next())
}

fn write_standing(standing: &LadderStanding, out: &mut impl Write) -> Result {
    let next = |result: PairResult| match result {
        PairResult::Open => "open",
        PairResult::Better => "better",
        PairResult::Worse => "worse",
        PairResult::Equal => "equal",
        PairResult::Exhausted => "no new games",
    };
    let row = |row: &LadderRow| {
        vec![
            ("", or_dash(row.place.map(|place| place.to_string()))),
            ("<ENTRANT", row.name.clone()),
            ("RATING", signed(row.rating.estimate)),
            ("RATING 95%", signed_interval(row.rating)),
            ("<NEXT", row.next.map(next).unwrap_or_default().to_owned()),
            ("WINS", row.counts.wins.to_string()),
            ("TIES", row.counts.ties.to_string()),
            ("LOSSES", row.counts.losses.to_string()),
            ("SCORE", points(row.score_mean)),
            ("GAMES", row.games.to_string()),
            ("FAILED", row.failed.to_string()),
            ("CPU MS", points(row.cost.cpu_ms_mean)),
            ("PEAK MIB", row.cost.memory_mb_max.to_string()),
            ("P99 MS", milliseconds(row.decision_p99_ms)),
        ]
    };
    write_table(standing.entrants.iter().map(row), out)?;
    writeln!(out)?;
    for row in &standing.entrants {
        match &row.state {
            EntrantState::Active => {}
            EntrantState::Retired => out.say(format!("{} is retired", row.name))?,
            EntrantState::SetAside(reason) => out.say(format!("{} is set aside: {reason}", row.name))?,
        }
    }
    for row in standing.entrants.iter().filter(|row| !row.mistakes.is_empty()) {
        out.say(format!("{}: {}", row.name, row.mistakes.words()))?;
    }
    for VersionTest { newer, older, result, counts: WinDrawLoss { wins, ties, losses } } in &standing.versions {
        let result = next(*result);
        out.say(format!("{newer} against {older}: {result} ({wins} won, {ties} tied, {losses} lost)"))?;
    }
    out.say(match (standing.games, standing.open_pairs) {
        (games, 0) => format!("{games} games; every pair is closed"),
        (games, open) => format!("{games} games; {} open", count(open, "pair")),
    })
}
