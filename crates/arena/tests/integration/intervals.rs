//! A short version of the example `calibration`. Over all synthetic tournaments between equal
//! planners, 93% to 97% of the 95% intervals must contain the true value. The sign test and the
//! verdicts *better* and *worse* must be wrong in at most 5.5% of these tournaments. If the true
//! difference equals the margin, or about equals the observed difference, the planned number of
//! further games must suffice in at least 75% of cases.

use crate::calibration::{Calibration, DifferenceCalibration, Promise, REAL, SYNTHETIC, SyntheticPair};
use crate::common;
use getaway_arena::MARGIN_DEFAULT;

#[test]
fn intervals_and_tests_of_synthetic_tournaments_are_calibrated() {
    const TOURNAMENTS: u32 = 400;
    // Four standard errors of a rate of 5% in this number of tournaments.
    let slack = 4.0 * (0.05_f64 * 0.95 / f64::from(TOURNAMENTS)).sqrt();
    let all: Vec<Calibration> = SYNTHETIC.iter().map(|pair| pair.calibrate(TOURNAMENTS, 1)).collect();
    for (pair, found) in SYNTHETIC.iter().zip(&all) {
        assert!(found.false_positive_rate() <= 0.055 + slack, "{}: {found:?}", pair.name);
        assert!(found.false_verdict_rate() <= 0.055 + slack, "{}: {found:?}", pair.name);
        for hits in [found.differences, found.win_shares, found.scores] {
            assert_eq!(hits.intervals, TOURNAMENTS);
            assert!((0.93 - slack..=0.97 + slack).contains(&hits.coverage()), "{}: {found:?}", pair.name);
        }
    }
    let all = Calibration::sum(&all);
    assert!(all.false_positive_rate() <= 0.055 && all.false_verdict_rate() <= 0.055, "{all:?}");
    for hits in [all.differences, all.win_shares, all.scores] {
        assert!((0.93..=0.97).contains(&hits.coverage()), "{all:?}");
    }
}

#[test]
fn verdicts_at_the_margin_are_calibrated() {
    const TOURNAMENTS: u32 = 40;
    let calibrate = |pair: &SyntheticPair| pair.calibrate_difference(MARGIN_DEFAULT, Promise::Margin, TOURNAMENTS, 2);
    let all = DifferenceCalibration::sum(&SYNTHETIC.iter().map(calibrate).collect::<Vec<_>>());
    // 0.045 is about four standard errors of a rate of 5% in 400 tournaments.
    assert!(all.equal_rate() <= 0.055 + 0.045 && all.worse_rate() <= 0.055, "{all:?}");
    assert!(all.promised >= 100 && all.kept_rate() >= 0.75, "{all:?}");
}

#[test]
fn further_games_show_the_observed_difference() {
    const TOURNAMENTS: u32 = 200;
    let calibrate = |pair: &SyntheticPair| {
        pair.small().calibrate_difference(2.0 * MARGIN_DEFAULT, Promise::Observed, TOURNAMENTS, 4)
    };
    let all = DifferenceCalibration::sum(&SYNTHETIC.iter().map(calibrate).collect::<Vec<_>>());
    assert!(all.promised >= 100 && all.kept_rate() >= 0.75 && all.worse_rate() <= 0.055, "{all:?}");
}

#[test]
fn played_tournaments_of_equals_are_calibrated() {
    const TOURNAMENTS: u32 = 5;
    let maps = common::our_maps();
    let pairs = REAL.iter().filter(|pair| pair.name.contains("random"));
    let all: Vec<Calibration> = pairs.map(|pair| pair.calibrate(&maps, TOURNAMENTS, 3, 2)).collect();
    let all = Calibration::sum(&all);
    assert!(all.false_positives <= 3 && all.tournaments == 10, "{all:?}");
    assert!(all.differences.hits >= 7 && all.win_shares.hits >= 7, "{all:?}");
}
