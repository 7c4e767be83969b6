//! A results file: a journal with one record per finished game.
//!
//! Guarantees: a file is rejected if its seed, variant or budget differs from the run's, if it has
//! a game on a map or by a planner that is not in the run, or if the moves of a game do not give
//! the recorded result.

use std::fmt::Display;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::entrant::Entrant;
use super::record::GameRecord;
use super::series::{GameKey, Games, Series, SeriesOptions};
use getaway::game::{Rules, rules_fields};
use getaway::protocol::to_json;
use getaway::search::Budget;
use getaway_runs::{FileKind, Journal, JournalError};

const KIND: FileKind = FileKind { name: "games", version: 1 };

/// The settings of all games of a run, which a journal keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameSettings {
    seed: u64,
    #[serde(flatten, with = "rules_fields")]
    rules: Rules,
    #[serde(flatten)]
    budget: Budget,
}

impl GameSettings {
    pub fn of(&SeriesOptions { seed, rules, budget, .. }: &SeriesOptions) -> Self {
        Self { seed, rules, budget }
    }

    /// Fails if the settings of a run differ from these, which were found in its journal.
    pub fn check(&self, run: &Self) -> Result<(), String> {
        same_in_run("the seed", self.seed, run.seed)?;
        same_in_run("the variant", variant_words(&self.rules), variant_words(&run.rules))?;
        same_in_run("the budget", self.budget.words(), run.budget.words())
    }
}

/// Opens or creates a results file, and returns its journal and the games in it. Games in samples
/// beyond those of the series are ignored, but stay in the file. An incomplete last record is
/// removed.
///
/// # Errors
/// If the file cannot be read or written, is in use or damaged, is not a results file, belongs to
/// another series, or has a game whose moves do not give its result.
pub fn resume(path: impl AsRef<Path>, series: &Series) -> Result<(Journal, Games), JournalError> {
    let options = &series.options;
    let settings = GameSettings::of(options);
    let mut games: Games = vec![None; series.len()];
    let read = |game: GameRecord| {
        let key = check(&game, series)?;
        if key.sample < options.samples {
            games[series.index(key)].get_or_insert(game);
        }
        Ok(())
    };
    let journal = Journal::open(path, KIND, &settings, |found: GameSettings| found.check(&settings), read)?;
    Ok((journal, games))
}

fn check(game: &GameRecord, series: &Series) -> Result<GameKey, String> {
    let is_member = |what, found: &str, names: Vec<&str>| {
        let index = names.iter().position(|name| *name == found);
        index.ok_or_else(|| format!("{what} is {found}, but this run has {}", names.join(" or ")))
    };
    let (maps, entrants) = (&series.maps, &series.entrants);
    let map = is_member("the map", &game.map, maps.iter().map(|map| map.name.as_str()).collect())?;
    let planner = is_member("the planner", &game.planner, entrants.iter().map(Entrant::label).collect())?;
    same_in_run("the planner behind the name", game.spec(), entrants[planner].spec.as_str())?;
    same_in_run("the layout of the map", &game.layout, &maps[map].layout)?;
    if let Some(external) = &game.external {
        let tick_ms = series.external.tick_time.as_millis();
        same_in_run("the time per tick in ms", u128::from(external.tick_ms), tick_ms)?;
    }
    same_in_run("the seed of the game", game.seed, series.seed(map, game.sample))?;
    game.states(&maps[map].world)?;
    Ok(GameKey { sample: game.sample, map, planner })
}

pub(super) fn same_in_run<T: PartialEq + Display>(what: &str, found: T, expected: T) -> Result<(), String> {
    same(what, found, "this run has", expected)
}

pub(super) fn same<T: PartialEq + Display>(what: &str, found: T, source: &str, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found}, but {source} {expected}")) }
}

fn variant_words(rules: &Rules) -> String {
    match *rules {
        Rules::BLITZ_2025 => "jump".to_owned(),
        Rules::NO_JUMP => "no-jump".to_owned(),
        _ => to_json(rules),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use getaway::game::{Layout, Move, Plan};
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

    fn play(series: &Series, path: &Path) -> (Vec<GameRecord>, usize) {
        let (mut file, mut games) = resume(path, series).expect("a file of results");
        let mut played = 0;
        let flow = series.play(&mut games, 2, &AtomicBool::new(false), |index, games| {
            played += 1;
            file.append(&[games[index].as_ref().expect("a game that has just ended")])
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
        let header_bytes = whole.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
        for cut in (header_bytes..whole.len()).step_by(97).chain([whole.len() - 1]) {
            fs::write(&path, &whole[..cut]).expect("a file");
            let lines = whole[header_bytes..cut].iter().filter(|&&byte| byte == b'\n').count();
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
    fn different_options_are_detected() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("results.jsonl");
        play(&plain(), &path);
        let difference = |change: fn(&mut SeriesOptions, &mut Map)| {
            let error = resume(&path, &series(change)).expect_err("an error").to_string();
            error.strip_prefix(&format!("{}, line ", path.display())).unwrap_or(&error).to_owned()
        };
        assert_eq!(difference(|options, _| options.seed = 8), "1: the seed is 9, but this run has 8");
        assert_eq!(
            difference(|options, _| options.budget = Budget::ticks(1).and(Budget::time(Duration::from_millis(3)))),
            "1: the budget is 1 simulated tick, but this run has 3 ms and 1 simulated tick"
        );
        assert_eq!(
            difference(|options, _| options.rules = Rules::NO_JUMP),
            "1: the variant is jump, but this run has no-jump"
        );
        assert_eq!(difference(|_, map| map.name = "hut".to_owned()), "2: the map is hall, but this run has hut");
        assert!(difference(|_, map| map.layout.threats.clear()).starts_with("2: the layout of the map is "));
        let planners = difference(|options, _| options.planners = vec!["sampling".to_owned(), "uct".to_owned()]);
        assert!(planners.contains("this run has sampling or uct"), "{planners}");
    }

    #[test]
    fn results_that_the_moves_do_not_give_are_detected() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("results.jsonl");
        let (games, _) = play(&plain(), &path);
        let mut count = 0;
        let mut error = |change: fn(&mut GameRecord)| {
            count += 1;
            let path = dir.path().join(format!("{count}.jsonl"));
            let mut changed = games[0].clone();
            change(&mut changed);
            let (mut file, _) = resume(&path, &plain()).expect("a new file");
            file.append(&[&games[1], &changed]).expect("written");
            drop(file);
            let error = resume(&path, &plain()).expect_err("an error").to_string();
            let line = format!("{}, line 3: ", path.display());
            error.strip_prefix(&line).unwrap_or(&error).to_owned()
        };
        let score = error(|game| game.score = 10_005);
        assert_eq!(score, format!("the score is 10005, but the moves give {}", games[0].score));
        assert!(error(|game| game.final_tick += 1).starts_with("the final tick is "));
        assert!(error(|game| game.caught = !game.caught).starts_with("the field `caught` is "));
        assert!(error(|game| game.moves.clear()).starts_with("the fingerprint is "));
        assert!(error(|game| game.sources.fallback += 1).starts_with("the number of decisions is "));
        assert!(error(|game| game.line.0.truncate(5)).starts_with("the game does not end exactly after its 5 moves"));
        let one = error(|game| game.line.0.truncate(1));
        assert_eq!(one, "the game does not end exactly after its 1 move");
        assert!(error(|game| game.line.0.push(Move::Stay)).starts_with("the game does not end exactly after its "));
        assert!(
            error(|game| game.line = Plan::default()).starts_with("the game does not end exactly after its 0 moves")
        );
    }
}
