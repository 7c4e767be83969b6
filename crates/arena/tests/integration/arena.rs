use crate::common;
use getaway::game::Rules;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use getaway::map::Map;
use getaway::search::Budget;
use getaway_arena::{
    Comparison, Cost, GameRecord, Games, MARGIN_DEFAULT, Match, Series, SeriesOptions, SprtMonitor, Times,
};
use getaway_runs::stats::{WinDrawLoss, sign_test};
use statrs::distribution::{Binomial, Discrete};

fn our_map(name: &str) -> Map {
    common::our_maps().into_iter().find(|map| map.name == name).expect("one of our maps")
}

fn series(maps: &[&str], planners: &[&str], samples: u32, seed: u64) -> Series {
    let maps: Vec<Map> = maps.iter().map(|name| our_map(name)).collect();
    let planners = planners.iter().map(ToString::to_string).collect();
    let budget = Budget::ticks(20);
    Series::new(&maps, SeriesOptions { planners, samples, seed, rules: Rules::BLITZ_2025, budget }).expect("a series")
}

fn play(series: &Series, threads: usize) -> Games {
    let mut games = Games::new();
    let flow = series.play(&mut games, threads, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
    assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
    games
}

#[test]
fn number_of_threads_does_not_change_the_games() {
    let series = series(&["corner-shop", "harbour"], &["sampling", "uct-greedy", "cautious", "survival"], 2, 7);
    let [one, two] = [1, 2].map(|threads| {
        let without_times = |game: GameRecord| GameRecord { times: Times::default(), cost: Cost::default(), ..game };
        let games = play(&series, threads).into_iter().map(|game| without_times(game.expect("every game")));
        games.collect::<Vec<GameRecord>>()
    });
    assert_eq!(one, two);
    assert!(one.iter().any(GameRecord::survived) && !one.iter().all(GameRecord::survived));
}

#[test]
fn sequential_test_does_not_depend_on_the_order_of_arrival() {
    let series = series(&["corner-shop", "crossroads"], &["safest", "random"], 20, 3);
    let reports = [1, 2, 4].map(|threads| {
        let mut monitor = SprtMonitor::new(Some(Default::default()), [0, 1]);
        let mut games = Games::new();
        let flow = series.play(&mut games, threads, &AtomicBool::new(false), |_, games| {
            let is_open = monitor.update(&series, games) == getaway_runs::stats::SprtDecision::Undecided;
            if is_open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert!(flow.is_ok());
        let needed = 2 * monitor.pairs_needed().expect("a decision");
        Match::of(&series, &games[..needed], [0, 1], monitor.report(), MARGIN_DEFAULT)
    });
    let sentence = &reports[0].verdict.sentence;
    assert!(sentence.starts_with("safest is better than random: H1"), "{sentence}");
    assert!(reports[0].overall.counts.pairs() < 40, "the series stops as soon as the test is decided");
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
}

fn false_positive_rate(decisive: u64, significance: f64) -> f64 {
    let coin = Binomial::new(0.5, decisive).expect("one half is a probability");
    let is_shown =
        |wins: &u64| sign_test(WinDrawLoss { wins: *wins, ties: 0, losses: decisive - wins }) <= significance;
    (0..=decisive).filter(is_shown).map(|wins| coin.pmf(wins)).sum()
}

#[test]
fn planner_is_rarely_found_better_than_itself() {
    const MATCHES: usize = 60;
    const PAIRS: usize = 30;
    let [left, right] =
        [1, 2].map(|seed| play(&series(&["corner-shop"], &["random"], (MATCHES * PAIRS) as u32, seed), 2));
    let pairs: Vec<(&GameRecord, &GameRecord)> = left.iter().flatten().zip(right.iter().flatten()).collect();
    assert_eq!(pairs.len(), MATCHES * PAIRS);
    let matches: Vec<Comparison> = pairs.chunks(PAIRS).map(|pairs| Comparison::of(pairs.iter().copied())).collect();
    let found = matches.iter().filter(|result| result.p_value <= 0.05).count() as f64;
    let expected: f64 = matches.iter().map(|result| false_positive_rate(result.counts.decisive(), 0.05)).sum();
    assert!(expected > 1.0 && expected <= 0.05 * MATCHES as f64, "{expected}");
    assert!((found - expected).abs() <= 4.0 * expected.sqrt(), "{found} false positives, expected {expected}");
    let all = Comparison::of(pairs.into_iter());
    assert!(all.p_value > 0.001, "{all:?}");
    assert!(all.win_share.low < 0.5 && 0.5 < all.win_share.high, "{all:?}");
}
