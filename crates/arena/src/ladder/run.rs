//! Runs a ladder: threads or another process play the games, while the calling thread reads requests
//! and reports the results.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, thread};

use super::store::{self, LadderError, LadderRequest, Line, RequestFile, waiting};
use super::{Event, IN_PROGRESS_MAX, Ladder, LadderMap, LadderStanding, Settings};
use crate::entrant::Entrant;
use crate::external::{ExternalBot, ExternalHost, ExternalOptions};
use crate::game::Host;
use crate::record::GameRecord;
use crate::remote::LadderJob;
use crate::results::GameSettings;
use crate::series::{Series, SeriesError, SeriesMap, SeriesOptions};
use getaway::game::World;
use getaway::map::Map;
use getaway_runs::{Jobs, Journal, Workers};

/// Interval between checks for work, requests and results, and between attempts to write events whose
/// first write failed, for example on a full disk.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of games in progress: the number of games so far divided by `AHEAD_DIVISOR`, but
/// at least `AHEAD_MIN` and one per thread, and at most `IN_PROGRESS_MAX`. More games in progress
/// would mean that games are chosen on the basis of outdated results.
const AHEAD_MIN: usize = 64;
const AHEAD_DIVISOR: usize = 20;

pub struct LadderOptions<'a> {
    /// The folder of the ladder, created if missing.
    pub folder: &'a Path,
    pub maps: &'a [Map],
    /// `samples` is the maximum number of games per map and entrant. `planners` should be empty,
    /// because requests add the entrants.
    pub series: SeriesOptions,
    pub external: ExternalOptions,
    pub host: Host<'a>,
    /// The duration of the run. An idle ladder waits for requests until the end. With `None`, the
    /// run ends when no game is in progress and no further game would be informative.
    pub time: Option<Duration>,
}

pub enum LadderNews<'a> {
    /// A finished game. Games are reported in the order of the journal, so games of earlier runs
    /// come first.
    Game {
        /// Its number, from 1.
        number: u64,
        record: &'a GameRecord,
        world: &'a World,
    },
    Note(String),
    Standing {
        standing: &'a LadderStanding,
        /// True for the last news of a run.
        is_last: bool,
    },
}

struct Run<'a> {
    options: &'a LadderOptions<'a>,
    ladder: Ladder,
    journal: Journal,
    /// The series of the current entrants.
    series: Arc<Series>,
    /// Events that are not written yet. No game is started until all of them are written.
    unsaved: VecDeque<Event>,
    /// The ids of refused requests. If the file of such a request cannot be removed, the request is
    /// still not answered again.
    refused: HashSet<String>,
    /// Saved games that have not been reported yet, with their numbers.
    news: Vec<(u64, GameRecord)>,
    notes: Vec<String>,
    has_changed: bool,
    is_waiting: bool,
    was_idle: bool,
    started: Instant,
    /// The time of the last report of the standing.
    reported: Option<Instant>,
}

/// Runs a ladder until `stop` is set or the time is up. Without a time limit, the run also ends
/// when no further game would be informative. Calls `report` on the calling thread, and returns the
/// standing.
///
/// # Errors
/// If another process runs the ladder, the ladder was created with other settings, its folder or
/// journal cannot be used, a map or entrant is invalid, there are neither entrants nor a time
/// limit (unless `stop` is set), a game is aborted, a bot's log cannot be written, threads cannot
/// start, or the process that plays the games fails.
pub fn run_ladder(
    options: &LadderOptions<'_>,
    workers: Workers,
    stop: &AtomicBool,
    report: &mut dyn FnMut(LadderNews<'_>),
) -> Result<LadderStanding, LadderError> {
    let run = Run::open(options, report)?;
    let shared = run.series.with_planners(Vec::new(), None)?.spec();
    let run = RefCell::new(run);
    let host = ExternalHost::new(options.external.clone());
    let ended = AtomicBool::new(false);
    let ahead_min = if let Workers::Threads(threads) = workers { threads.max(AHEAD_MIN) } else { AHEAD_MIN };
    let jobs = Jobs {
        shared,
        // Starts new games before it reports finished ones. If no game is in progress, waits until
        // one can start, because otherwise the workers would end.
        next: &mut |count| loop {
            let mut run = run.borrow_mut();
            let games = run.start(count, ahead_min);
            if !games.is_empty() {
                return games;
            }
            if !run.goes_on(stop, report) {
                ended.store(true, Ordering::Relaxed);
                return games;
            }
            // Games that have ended stay in progress until they are written.
            if count == 0 || run.unsaved.is_empty() && run.ladder.in_progress() > 0 {
                return games;
            }
            drop(run);
            thread::sleep(POLL_INTERVAL);
        },
        work: &|game: &LadderJob, is_stopped| {
            let (series, index) = game.here.as_ref().expect("a job of this process");
            series.play_one(*index, &host, is_stopped)
        },
        done: &mut |_, record| {
            run.borrow_mut().save(Event::Game(Box::new(record)));
            Ok(ControlFlow::<()>::Continue(()))
        },
    };
    let result: Result<_, SeriesError> = jobs.run(workers, &ended);
    let mut run = run.into_inner();
    // Try once more to write the unsaved events.
    run.save_all();
    run.show(report);
    let standing = run.ladder.standing();
    report(LadderNews::Standing { standing: &standing, is_last: true });
    let _: ControlFlow<()> = result?;
    let has_stopped = options.time.is_some() || stop.load(Ordering::Relaxed);
    if has_stopped || !standing.entrants.is_empty() { Ok(standing) } else { Err(LadderError::Empty) }
}

fn report_game(report: &mut dyn FnMut(LadderNews<'_>), series: &Series, number: u64, record: &GameRecord) {
    if let Some(map) = series.maps.iter().find(|map| map.name == record.map) {
        report(LadderNews::Game { number, record, world: &map.world });
    }
}

impl<'a> Run<'a> {
    /// Opens the ladder's folder and reports the games in its journal.
    fn open(options: &'a LadderOptions<'a>, report: &mut dyn FnMut(LadderNews<'_>)) -> Result<Self, LadderError> {
        let external = options.external.clone();
        let series = Series { external, ..Series::new(options.maps, options.series.clone())? };
        let map = |map: &SeriesMap| LadderMap { name: map.name.clone(), layout: map.layout.clone() };
        let settings = Settings {
            games: GameSettings::of(&options.series),
            tick_ms: options.external.tick_time.as_millis() as u64,
            maps: series.maps.iter().map(map).collect(),
        };
        let names: Vec<String> = settings.maps.iter().map(|map| map.name.clone()).collect();
        let units_max = names.len() * options.series.samples as usize;
        let mut ladder = Ladder { maps: names, units_max, ..Ladder::default() };
        let journal = store::open(options.folder, &settings, |event| {
            if let Event::Game(record) = &event {
                report_game(report, &series, ladder.games + 1, record);
            }
            ladder.apply(&event)
        })?;
        Ok(Self {
            series: Arc::new(series.with_planners(ladder.entrants(), options.host)?),
            options,
            ladder,
            journal,
            unsaved: VecDeque::new(),
            refused: HashSet::new(),
            news: Vec::new(),
            notes: Vec::new(),
            has_changed: true,
            is_waiting: false,
            was_idle: false,
            started: Instant::now(),
            reported: None,
        })
    }

    /// Answers requests and reports what is new. Returns false if the run ends.
    fn goes_on(&mut self, stop: &AtomicBool, report: &mut dyn FnMut(LadderNews<'_>)) -> bool {
        self.answer_requests();
        self.save_all();
        self.show(report);
        if self.has_changed && self.reported.is_none_or(|time| time.elapsed() >= REPORT_INTERVAL) {
            report(LadderNews::Standing { standing: &self.ladder.standing(), is_last: false });
            (self.has_changed, self.reported) = (false, Some(Instant::now()));
        }
        let time = self.options.time;
        if stop.load(Ordering::Relaxed) || time.is_some_and(|time| self.started.elapsed() >= time) {
            return false;
        }
        let is_idle = self.unsaved.is_empty() && self.ladder.in_progress() == 0 && self.ladder.choice().is_none();
        let was_idle = std::mem::replace(&mut self.was_idle, is_idle);
        if is_idle && !was_idle && time.is_some() {
            report(LadderNews::Note("no game is left to play; the ladder waits for new entrants".to_owned()));
        }
        time.is_some() || !is_idle
    }

    /// Reports the games and notes that have not been reported.
    fn show(&mut self, report: &mut dyn FnMut(LadderNews<'_>)) {
        for (number, record) in self.news.drain(..) {
            report_game(report, &self.series, number, &record);
        }
        self.notes.drain(..).for_each(|note| report(LadderNews::Note(note)));
    }

    /// Starts at most `count` games.
    fn start(&mut self, count: usize, ahead_min: usize) -> Vec<LadderJob> {
        if !self.unsaved.is_empty() {
            return Vec::new();
        }
        let ahead_max = (self.ladder.games as usize / AHEAD_DIVISOR).clamp(ahead_min, IN_PROGRESS_MAX);
        let count = count.min(ahead_max.saturating_sub(self.ladder.in_progress()));
        std::iter::from_fn(|| self.ladder.next(&self.series)).take(count).collect()
    }

    fn save(&mut self, event: Event) {
        self.unsaved.push_back(event);
        self.save_all();
    }

    /// Writes the unsaved events to the journal and applies them. Drops invalid events. If writing fails,
    /// keeps the events for later.
    fn save_all(&mut self) {
        while let Some(event) = self.unsaved.pop_front() {
            if let Err(error) = self.ladder.check(&event) {
                self.notes.push(error);
                continue;
            }
            if let Err(error) = self.journal.append(&[Line { event: &event }]) {
                if !std::mem::replace(&mut self.is_waiting, true) {
                    self.notes.push(format!("{error}; the ladder waits until it can write its journal"));
                }
                self.unsaved.push_front(event);
                return;
            }
            (self.is_waiting, self.has_changed) = (false, true);
            self.ladder.apply(&event).expect("the event was checked");
            let Event::Game(record) = event else { continue };
            let name = record.planner.clone();
            self.news.push((self.ladder.games, *record));
            if let Some(reason) = self.ladder.reason_to_set_aside(&name) {
                self.notes.push(format!("{name} is set aside: {reason}"));
                self.unsaved.push_front(Event::SetAside { name, reason, at: now() });
            }
        }
    }

    /// Carries out or refuses the requests in the folder. Does nothing while events are unsaved,
    /// because a request among them would be carried out twice.
    fn answer_requests(&mut self) {
        if !self.unsaved.is_empty() {
            return;
        }
        for (path, RequestFile { request, from, .. }) in waiting(self.options.folder) {
            let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !self.ladder.requests.contains(&id) && !self.refused.contains(&id) {
                if let Err(reason) = self.answer(id.clone(), request, &from) {
                    self.notes.push(reason);
                    self.refused.insert(id);
                }
                if !self.unsaved.is_empty() {
                    return;
                }
            }
            // If this fails, the run still does not answer the request again: the journal holds the
            // ids of the requests that were carried out.
            let _ = fs::remove_file(path);
        }
    }

    fn answer(&mut self, id: String, request: LadderRequest, from: &Path) -> Result<(), String> {
        match request {
            LadderRequest::Add(text) => {
                let entrant = Entrant::parse(&text);
                let name = self.ladder.free_name(&entrant);
                let mut entrants = self.ladder.entrants();
                let spec = spec_in(from, entrant.spec);
                entrants.push(format!("{name}={spec}"));
                let series = self.series.with_planners(entrants, self.options.host);
                self.series = Arc::new(series.map_err(|error| format!("cannot add {text}: {error}"))?);
                self.notes.push(format!("{name} is added"));
                self.save(Event::Add { name, spec, at: now(), request: id });
            }
            LadderRequest::Retire(name) if self.ladder.index(&name).is_none() => {
                return Err(format!("cannot retire {name}: no entrant has this name"));
            }
            LadderRequest::Retire(name) => {
                self.notes.push(format!("{name} is retired"));
                self.save(Event::Retire { name, at: now(), request: id });
            }
        }
        Ok(())
    }
}

/// Makes the command of an external bot run in the folder in which it was added, if the ladder runs in
/// another folder.
fn spec_in(folder: &Path, spec: String) -> String {
    let is_here = || std::env::current_dir().is_ok_and(|current| current == folder);
    match (ExternalBot::parse(&spec), spec.split_once(':')) {
        (Some(bot), Some((transport, _))) if !folder.as_os_str().is_empty() && !is_here() => {
            let folder = folder.display().to_string();
            let change = match cfg!(windows) {
                true => format!("cd /d \"{folder}\""),
                false => format!("cd '{}'", folder.replace('\'', r"'\''")),
            };
            format!("{transport}:{change} && {}", bot.command)
        }
        _ => spec,
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::request;
    use getaway::game::{Layout, Rules};
    use getaway::search::Budget;

    fn options<'a>(folder: &'a Path, maps: &'a [Map]) -> LadderOptions<'a> {
        let (rules, budget) = (Rules::BLITZ_2025, Budget::ticks(1));
        let series = SeriesOptions { planners: Vec::new(), samples: 1, seed: 1, rules, budget };
        LadderOptions { folder, maps, series, external: ExternalOptions::default(), host: None, time: None }
    }

    fn hall() -> Map {
        let layout = Layout::parse("P....\n.###.\n....S").expect("a drawing");
        Map { name: "hall".to_owned(), kind: String::new(), difficulty: String::new(), layout }
    }

    /// Opens a ladder without starting games.
    fn open<'a>(options: &'a LadderOptions<'a>) -> Run<'a> {
        Run::open(options, &mut |_| ()).expect("a ladder")
    }

    fn open_with_entrant<'a>(options: &'a LadderOptions<'a>) -> Run<'a> {
        let mut shared = open(options);
        request(options.folder, Path::new(""), LadderRequest::Add("a=random".to_owned())).expect("a request");
        shared.answer_requests();
        shared
    }

    #[test]
    fn request_is_carried_out_once_although_events_cannot_be_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let maps = [hall()];
        let options = options(folder.path(), &maps);
        let mut shared = open_with_entrant(&options);
        // Stands for an event whose first write failed.
        shared.unsaved.push_back(Event::Retire { name: "a".to_owned(), at: 0, request: "other".to_owned() });
        request(folder.path(), Path::new(""), LadderRequest::Add("b=random".to_owned())).expect("a request");
        for _ in 0..3 {
            shared.answer_requests();
        }
        shared.save_all();
        shared.answer_requests();
        assert_eq!(shared.notes, ["a is added", "b is added"]);
        assert!(waiting(options.folder).is_empty());
        drop(shared);
        assert_eq!(open(&options).ladder.entrants(), ["a=random", "b=random"]);
    }

    #[test]
    fn invalid_events_are_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let maps = [hall()];
        let options = options(folder.path(), &maps);
        let mut shared = open_with_entrant(&options);
        let job = shared.start(1, 1).remove(0);
        let host = ExternalHost::new(ExternalOptions::default());
        let (series, index) = job.here.expect("a job of this process");
        let record = series.play_one(index, &host, &|| false).expect("no error").expect("a record");
        let foreign = GameRecord { planner: "b".to_owned(), ..record.clone() };
        for record in [&foreign, &record, &record] {
            shared.save(Event::Game(Box::new(record.clone())));
        }
        let notes = ["a is added", "found a game of b, which is not an entrant", "unit 0 of a is played twice"];
        assert_eq!(shared.notes, notes);
        drop(shared);
        assert_eq!(open(&options).ladder.games, 1);
    }

    #[test]
    fn request_is_refused_once_although_its_file_remains() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = options(folder.path(), &[]);
        let mut shared = open(&options);
        request(folder.path(), Path::new(""), LadderRequest::Retire("a".to_owned())).expect("a request");
        let mut inbox = fs::read_dir(folder.path().join("inbox")).expect("a folder");
        let file = inbox.next().expect("a file").expect("a file").path();
        let text = fs::read(&file).expect("a request");
        for _ in 0..3 {
            fs::write(&file, &text).expect("a file");
            shared.answer_requests();
        }
        assert_eq!(shared.notes, ["cannot retire a: no entrant has this name"]);
    }
}
