//! The arena over whole games: what it promises about threads, seeds and certainty.

#[path = "../../../tests/common/mod.rs"]
mod common;

use getaway::game::Rules;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use getaway::map::Map;
use getaway_arena::stats::{Tally, sign_test};
use getaway_arena::{Battle, Budget, Comparison, GameRecord, Games, Referee, Series, SeriesOptions};
use statrs::distribution::{Binomial, Discrete};

fn our_map(name: &str) -> Map {
    common::our_maps().into_iter().find(|map| map.name == name).expect("one of our maps")
}

fn series(maps: &[&str], planners: &[&str], samples: u32, seed: u64) -> Series {
    let maps: Vec<Map> = maps.iter().map(|name| our_map(name)).collect();
    let planners = planners.iter().map(ToString::to_string).collect();
    let budget = Budget::evaluations(20);
    Series::new(&maps, SeriesOptions { planners, samples, seed, rules: Rules::BLITZ_2025, budget }).expect("a series")
}

fn play(series: &Series, threads: usize) -> Games {
    let mut games = Games::new();
    let flow = series.play(&mut games, threads, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
    assert!(matches!(flow, Ok(ControlFlow::Continue(()))));
    games
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let series = series(&["corner-shop", "harbour"], &["sampling", "uct-greedy", "cautious", "survival"], 2, 7);
    let [one, two] = [1, 2].map(|threads| {
        let games = play(&series, threads).into_iter().map(|game| game.expect("every game").without_times());
        games.collect::<Vec<GameRecord>>()
    });
    assert_eq!(one, two);
    assert!(one.iter().any(GameRecord::survived) && !one.iter().all(GameRecord::survived));
}

#[test]
fn a_battle_is_decided_alike_whatever_arrives_first() {
    let series = series(&["corner-shop", "crossroads"], &["safest", "random"], 20, 3);
    let reports = [1, 2, 4].map(|threads| {
        let mut referee = Referee::new(Default::default());
        let mut games = Games::new();
        let flow = series.play(&mut games, threads, &AtomicBool::new(false), |_, games| {
            let is_open = referee.look(games) == getaway_arena::stats::Verdict::Open;
            if is_open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert!(flow.is_ok());
        referee.dismiss(&mut games);
        Battle::of(&series, &games, [0, 1], Some(referee.report()))
    });
    assert!(reports[0].sentence().starts_with("safest beats random: H1"), "{}", reports[0].sentence());
    assert!(reports[0].overall.tally.pairs() < 40, "it stops as soon as the answer is known");
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
}

/// How often the sign test calls equals different, with so many decisive pairs.
fn size(decisive: u64, significance: f64) -> f64 {
    let coin = Binomial::new(0.5, decisive).expect("one half is a probability");
    let is_shown = |wins: &u64| sign_test(Tally { wins: *wins, ties: 0, losses: decisive - wins }) <= significance;
    (0..=decisive).filter(is_shown).map(|wins| coin.pmf(wins)).sum()
}

#[test]
fn a_planner_is_not_better_than_itself() {
    const BATTLES: usize = 60;
    const PAIRS: usize = 30;
    // Whole games of one planner, with other seeds on either side.
    let [left, right] =
        [1, 2].map(|seed| play(&series(&["corner-shop"], &["random"], (BATTLES * PAIRS) as u32, seed), 2));
    let pairs: Vec<(&GameRecord, &GameRecord)> = left.iter().flatten().zip(right.iter().flatten()).collect();
    assert_eq!(pairs.len(), BATTLES * PAIRS);
    let battles: Vec<Comparison> = pairs.chunks(PAIRS).map(|pairs| Comparison::of(pairs.iter().copied())).collect();
    let found = battles.iter().filter(|battle| battle.p_value <= 0.05).count() as f64;
    let expected: f64 = battles.iter().map(|battle| size(battle.tally.decisive(), 0.05)).sum();
    assert!(expected > 1.0 && expected <= 0.05 * BATTLES as f64, "{expected}");
    assert!((found - expected).abs() <= 4.0 * expected.sqrt(), "{found} false alarms, expected {expected}");
    let all = Comparison::of(pairs.into_iter());
    assert!(all.p_value > 0.001, "{all:?}");
    assert!(all.win_share.low < 0.5 && 0.5 < all.win_share.high, "{all:?}");
}
