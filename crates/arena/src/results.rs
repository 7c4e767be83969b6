//! A results file: JSON lines, one per game, written as games finish.
//!
//! Guarantees: a run that is interrupted in any way loses only the games in progress. Each line
//! contains everything that its game depends on, so resuming with different options is detected; a
//! truncated last line is removed and its game played again.

use getaway::game::Rules;
use getaway::protocol::to_json;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::game::GameRecord;
use super::series::{GameKey, Games, Series};
use getaway::search::Budget;

/// Maximum size of a line: several times that of a game in which every decision took a different
/// time.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Why a file of results cannot be used. Every error names the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The file cannot be opened, read or written.
    #[error("{}: cannot read or write: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process is writing it.
    #[error("{}: in use by another run", .path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A line that is not a game record.
    #[error("{}, line {line}: expected a game recorded by eval or battle ({why})", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The reason.
        why: String,
    },
    /// A game of another series.
    #[error("{}, line {line}: {what} is {found}, but this run has {expected}", .path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What differs.
        what: &'static str,
        /// The value in the file.
        found: String,
        /// The value in this run.
        expected: String,
    },
}

/// A results file open for writing.
#[derive(Debug)]
pub struct ResultsFile {
    path: PathBuf,
    file: File,
}

impl ResultsFile {
    /// Opens or creates a results file and returns the games of the series that it contains.
    /// Samples beyond those of the series stay in the file and are ignored.
    ///
    /// # Errors
    /// When the file cannot be read or written, is not a results file, or contains games of another
    /// series.
    pub fn resume(path: impl AsRef<Path>, series: &Series) -> Result<(Self, Games), ResultsError> {
        let path = path.as_ref().to_owned();
        let failed = |source| ResultsError::File { path: path.clone(), source };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => ResultsError::InUse { path: path.clone() },
            TryLockError::Error(source) => failed(source),
        })?;
        let mut games: Games = vec![None; series.len()];
        let whole_bytes = read(&path, &file, series, &mut games)?;
        file.set_len(whole_bytes).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        Ok((Self { path, file }, games))
    }

    /// Writes a game and flushes it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, game: &GameRecord) -> Result<(), ResultsError> {
        let mut write = || {
            let mut line = serde_json::to_vec(game)?;
            line.push(b'\n');
            self.file.write_all(&line)?;
            self.file.flush()
        };
        write().map_err(|source| ResultsError::File { path: self.path.clone(), source })
    }
}

/// Reads the complete lines; returns their total length in bytes.
fn read(path: &Path, file: &File, series: &Series, games: &mut Games) -> Result<u64, ResultsError> {
    let failed = |source| ResultsError::File { path: path.to_owned(), source };
    let mut reader = BufReader::new(file);
    let (mut bytes, mut text) = (0, Vec::new());
    for line in 1.. {
        text.clear();
        let limited = &mut io::Read::take(&mut reader, LINE_BYTES_MAX);
        let length = limited.read_until(b'\n', &mut text).map_err(failed)? as u64;
        let wrong = |why: String| ResultsError::Line { path: path.to_owned(), line, why };
        if text.last() != Some(&b'\n') {
            // The end, or a truncated line; but a file that is not a results file must not be
            // truncated.
            let is_results_file = length == 0 || (length < LINE_BYTES_MAX && text[0] == b'{');
            return if is_results_file { Ok(bytes) } else { Err(wrong("not a JSON object".to_owned())) };
        }
        let game: GameRecord = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let key = check(&game, series).map_err(|Difference { what, found, expected }| ResultsError::Other {
            path: path.to_owned(),
            line,
            what,
            found,
            expected,
        })?;
        if let Some(key) = key {
            games[series.index(key)].get_or_insert(game);
        }
        bytes += length;
    }
    unreachable!("a file has finitely many lines")
}

/// A difference between a game and the series.
struct Difference {
    what: &'static str,
    found: String,
    expected: String,
}

/// The game's key in the series, if it is one of its samples.
fn check(game: &GameRecord, series: &Series) -> Result<Option<GameKey>, Difference> {
    let options = series.options();
    let check_equal = |what, found: String, expected: String| {
        if found == expected { Ok(()) } else { Err(Difference { what, found, expected }) }
    };
    let check_member = |what, found: &str, names: &mut dyn Iterator<Item = &String>| {
        let names: Vec<&String> = names.collect();
        let expected = || names.iter().map(|name| name.as_str()).collect::<Vec<&str>>().join(" or ");
        let index = names.iter().position(|name| *name == found);
        index.ok_or_else(|| Difference { what, found: found.to_owned(), expected: expected() })
    };
    let map = check_member("the map", &game.map, &mut series.maps().iter().map(|map| &map.name))?;
    let planner = check_member("the planner", &game.planner, &mut options.planners.iter())?;
    check_equal("the layout of the map", game.layout.clone(), series.maps()[map].layout.clone())?;
    check_equal("the variant", variant(&game.rules), variant(&options.rules))?;
    check_equal("the budget", budget(game.budget), budget(options.budget))?;
    if let Some(external) = &game.external {
        let tick_ms = series.external().tick_time.as_millis();
        check_equal("the time per tick", format!("{} ms", external.tick_ms), format!("{tick_ms} ms"))?;
    }
    check_equal("the seed", game.seed.to_string(), series.seed(map, game.sample).to_string())?;
    Ok((game.sample < options.samples).then_some(GameKey { sample: game.sample, map, planner }))
}

fn variant(rules: &Rules) -> String {
    if *rules == Rules::BLITZ_2025 {
        "with jumping".to_owned()
    } else if *rules == Rules::NO_JUMP {
        "no-jump".to_owned()
    } else {
        to_json(rules)
    }
}

fn budget(budget: Budget) -> String {
    let limits = [(budget.time_ms(), "ms"), (budget.ticks, "simulated ticks"), (budget.evaluations, "evaluations")];
    let limits = limits.into_iter().filter_map(|(limit, unit)| limit.map(|limit| format!("{limit} {unit}")));
    limits.collect::<Vec<String>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::series::SeriesOptions;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;

    fn series(change: impl FnOnce(&mut SeriesOptions, &mut Map)) -> Series {
        let layout = Layout::parse("P....\n.###.\n....S").expect("a drawing");
        let mut map = Map { name: "hall".to_owned(), kind: String::new(), difficulty: String::new(), layout };
        let mut options = SeriesOptions {
            planners: vec!["random".to_owned(), "safest".to_owned()],
            samples: 3,
            seed: 9,
            rules: Rules::BLITZ_2025,
            budget: Budget::ticks(1),
        };
        change(&mut options, &mut map);
        Series::new(&[map], options).expect("a series")
    }

    fn plain() -> Series {
        series(|_, _| ())
    }

    /// Plays the games missing in the file; returns all games and the number played.
    fn play(series: &Series, path: &Path) -> (Vec<GameRecord>, usize) {
        let (mut file, mut games) = ResultsFile::resume(path, series).expect("a file of results");
        let mut played = 0;
        let flow = series.play(&mut games, 2, &AtomicBool::new(false), |index, games| {
            played += 1;
            file.write(games[index].as_ref().expect("a game that has just ended"))
                .map_or_else(ControlFlow::Break, ControlFlow::Continue)
        });
        assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
        (games.into_iter().map(|game| game.expect("every game")).collect(), played)
    }

    #[test]
    fn run_resumes_wherever_its_file_was_cut() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("results.jsonl");
        let (games, played) = play(&plain(), &path);
        assert_eq!(played, 6);
        assert_eq!(play(&plain(), &path), (games.clone(), 0));
        let whole = fs::read(&path).expect("a file");
        let games: Vec<GameRecord> = games.into_iter().map(GameRecord::without_times).collect();
        for cut in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
            fs::write(&path, &whole[..cut]).expect("a file");
            let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
            let (again, played) = play(&plain(), &path);
            assert_eq!(played, 6 - lines, "cut at {cut}");
            assert!(again.into_iter().map(GameRecord::without_times).eq(games.iter().cloned()), "cut at {cut}");
            assert_eq!(play(&plain(), &path).1, 0, "cut at {cut}");
        }
    }

    #[test]
    fn more_samples_are_added_and_surplus_samples_ignored() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("results.jsonl");
        play(&plain(), &path);
        assert_eq!(play(&series(|options, _| options.samples = 5), &path).1, 4);
        assert_eq!(play(&series(|options, _| options.samples = 1), &path).1, 0);
    }

    #[test]
    fn different_options_and_foreign_files_are_detected() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("results.jsonl");
        play(&plain(), &path);
        let error = |series: &Series| ResultsFile::resume(&path, series).expect_err("an error").to_string();
        let line = format!("{}, line 1: ", path.display());
        let difference = |change: fn(&mut SeriesOptions, &mut Map)| {
            let text = error(&series(change));
            text.strip_prefix(&line).unwrap_or(&text).to_owned()
        };
        assert!(difference(|options, _| options.seed = 8).starts_with("the seed is "));
        assert_eq!(
            difference(|options, _| options.budget = Budget::ticks(1).and(Budget::time(Duration::from_millis(3)))),
            "the budget is 1 simulated ticks, but this run has 3 ms and 1 simulated ticks"
        );
        assert_eq!(
            difference(|options, _| options.rules = Rules::NO_JUMP),
            "the variant is with jumping, but this run has no-jump"
        );
        assert_eq!(difference(|_, map| map.name = "hut".to_owned()), "the map is hall, but this run has hut");
        assert!(difference(|_, map| map.layout.threats.clear()).starts_with("the layout of the map is "));
        let planners = error(&series(|options, _| options.planners = vec!["sampling".to_owned(), "uct".to_owned()]));
        assert!(planners.contains("this run has sampling or uct"), "{planners}");

        for (text, why) in [("{}\n", "missing field"), ("no results", "not a JSON object"), ("\n", "EOF")] {
            fs::write(&path, text).expect("a file");
            assert!(error(&plain()).contains(why), "{}", error(&plain()));
            assert_eq!(fs::read_to_string(&path).expect("a file"), text, "unchanged");
        }
    }

    #[test]
    fn results_file_has_a_single_writer() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("results.jsonl");
        let first = ResultsFile::resume(&path, &plain()).expect("a file of results");
        let second = ResultsFile::resume(&path, &plain());
        assert!(matches!(second, Err(ResultsError::InUse { .. })));
        drop(first);
        assert!(ResultsFile::resume(&path, &plain()).is_ok());
    }
}
