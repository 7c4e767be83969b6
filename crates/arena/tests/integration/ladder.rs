use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common;
use getaway::game::Rules;
use getaway::map::Map;
use getaway::search::Budget;
use serde_json::Value;

use getaway_arena::{
    EntrantState, ExternalOptions, LadderError, LadderNews, LadderOptions, LadderRequest, LadderRow, LadderStanding,
    MeanCost, PairResult, Series, SeriesOptions, request, run_ladder,
};
use getaway_runs::{Channel, Workers};

/// Runs a ladder on two maps. `on_game` receives each game's number, and a flag to stop the ladder.
fn run(
    folder: &Path,
    workers: Workers,
    mut on_game: impl FnMut(u64, &AtomicBool),
) -> Result<LadderStanding, LadderError> {
    let maps: Vec<Map> =
        common::our_maps().into_iter().filter(|map| ["corner-shop", "snail"].contains(&&*map.name)).collect();
    let options = LadderOptions {
        folder,
        maps: &maps,
        series: SeriesOptions {
            planners: Vec::new(),
            samples: 15,
            seed: 4,
            rules: Rules::BLITZ_2025,
            budget: Budget::ticks(30),
        },
        external: ExternalOptions { restart: true, ..ExternalOptions::default() },
        host: None,
        time: None,
    };
    let stop = AtomicBool::new(false);
    run_ladder(&options, workers, &stop, &mut |news| {
        if let LadderNews::Game { number, .. } = news {
            on_game(number, &stop);
        }
    })
}

fn add(folder: &Path, entrants: &[&str]) {
    for text in entrants {
        request(folder, Path::new(""), LadderRequest::Add((*text).to_owned())).expect("a request");
    }
}

fn row<'a>(standing: &'a LadderStanding, name: &str) -> &'a LadderRow {
    standing.entrants.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no entrant {name}: {standing:?}"))
}

/// Clears the values that differ between runs with the same games.
fn settled(mut standing: LadderStanding) -> LadderStanding {
    for row in &mut standing.entrants {
        (row.decision_p50_ms, row.decision_p99_ms, row.decision_max_ms) = (0.0, 0.0, 0.0);
        (row.cost, row.added) = (MeanCost::default(), 0);
    }
    standing
}

const ENTRANTS: [&str; 4] = ["random", "safest", "sampling", "lookahead:2"];

#[test]
fn interrupted_ladder_ends_when_no_further_game_is_informative() {
    let [whole, parts] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    add(whole.path(), &ENTRANTS);
    let expected = settled(run(whole.path(), Workers::Threads(1), |_, _| ()).expect("a standing"));
    assert_eq!(expected.entrants.last().map(|row| row.name.as_str()), Some("random"));
    assert!(expected.games < 4 * 30, "{} games: decided pairs play no more games", expected.games);
    add(parts.path(), &ENTRANTS);
    let mut goal = 0;
    let standing = loop {
        goal += 9;
        let standing =
            run(parts.path(), Workers::Threads(1), |number, stop| stop.store(number >= goal, Ordering::Relaxed));
        let standing = settled(standing.expect("a standing"));
        if standing.games == expected.games {
            break standing;
        }
        assert!(standing.games >= goal.min(expected.games), "{standing:?}");
    };
    assert_eq!(standing, expected);
}

#[test]
fn entrants_come_and_go_and_a_second_process_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    add(path, &["random", "mine=safest"]);
    let mut refused = None;
    let standing = run(path, Workers::Threads(2), |number, _| match number {
        5 => {
            add(path, &["mine=sampling", "pipe:read -r x; exit 3"]);
            request(path, Path::new(""), LadderRequest::Retire("random".to_owned())).expect("a request");
        }
        8 => refused = Some(run(path, Workers::Threads(1), |_, _| ())),
        _ => {}
    });
    let standing = standing.expect("a standing");
    assert!(matches!(refused, Some(Err(LadderError::Running { .. }))), "{refused:?}");
    assert_eq!(row(&standing, "random").state, EntrantState::Retired);
    let EntrantState::SetAside(reason) = &row(&standing, "pipe-read-r-x-exit-3").state else { panic!("{standing:?}") };
    assert!(reason.starts_with("failed in 3 games in a row; last: crashed on "), "{reason}");
    let (newer, older) = (row(&standing, "mine@2"), row(&standing, "mine"));
    assert!(newer.games >= 10 && older.games >= 10 && newer.place.is_some(), "{standing:?}");
    let test = &standing.versions[..];
    assert!(
        matches!(test, [test] if test.newer == "mine@2" && test.older == "mine" && test.counts.pairs() >= 10),
        "{test:?}"
    );
    // All games have been played, so this run only computes the standing from the journal.
    let again = run(path, Workers::Threads(2), |_, _| ()).expect("a standing");
    assert_eq!(settled(again), settled(standing));
}

#[test]
fn equal_planners_are_found_equal_or_exhausted() {
    let folder = tempfile::tempdir().expect("a folder");
    add(folder.path(), &["a=safest", "b=safest"]);
    let standing = run(folder.path(), Workers::Threads(1), |_, _| ()).expect("a standing");
    assert_eq!((standing.entrants[0].next, standing.open_pairs), (Some(PairResult::Exhausted), 0));
    assert!(standing.games <= 20, "{} games of planners that repeat their games", standing.games);
}

/// Simulates a process that plays up to `games_max` games. Before each game, it requests up to
/// `batch` further games.
fn process(batch: usize, games_max: usize) -> Workers {
    let (input, mut from_process) = io::pipe().expect("a pipe");
    let (to_process, output) = io::pipe().expect("a pipe");
    thread::spawn(move || {
        let mut lines = BufReader::new(to_process).lines();
        let mut line = || lines.next().and_then(Result::ok);
        let series = Series::from_spec(&line()?, None).expect("a series");
        let (mut waiting, mut played) = (Vec::new(), 0);
        while played < games_max {
            writeln!(from_process, "{{\"want\": {batch}}}").ok()?;
            let more: Vec<Value> = serde_json::from_str(&line()?).expect("games");
            waiting.extend(more);
            // Plays the last game received first, so that results can arrive out of order.
            let Some(game) = waiting.pop() else { break };
            let records = series.play_lines(&Value::from(vec![game.clone()]).to_string(), None).expect("a record");
            writeln!(from_process, "{{\"played\": [{game}, {}]}}", records[0]).ok()?;
            played += 1;
        }
        Some(())
    });
    Workers::Process(Channel {
        input: Box::new(BufReader::new(input)),
        output: Box::new(output),
        process: Box::new(()),
    })
}

#[test]
fn another_process_plays_the_games_of_a_thread() {
    let [here, there, ahead] = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
    [&here, &there, &ahead].iter().for_each(|folder| add(folder.path(), &ENTRANTS));
    let expected = settled(run(here.path(), Workers::Threads(1), |_, _| ()).expect("a standing"));
    let standing = run(there.path(), process(1, usize::MAX), |_, _| ()).expect("a standing");
    assert_eq!(settled(standing), expected);
    let standing = run(ahead.path(), process(5, usize::MAX), |number, _| {
        if number == 20 {
            add(ahead.path(), &["late=lookahead:1"]);
        }
    });
    assert!(row(&standing.expect("a standing"), "late").games >= 10);
}

#[test]
fn process_that_ends_early_ends_the_ladder_and_loses_no_finished_game() {
    let folder = tempfile::tempdir().expect("a folder");
    add(folder.path(), &ENTRANTS);
    let error = run(folder.path(), process(5, 7), |_, _| ()).expect_err("an error").to_string();
    assert_eq!(error, "the cluster: the other process ended before all jobs were done");
    let mut numbers = Vec::new();
    let standing = run(folder.path(), Workers::Threads(1), |number, _| numbers.push(number));
    assert_eq!(numbers, (1..=standing.expect("a standing").games).collect::<Vec<u64>>());
}
