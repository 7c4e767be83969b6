//! Measures how often the arena's statistics are right: tournaments between ten pairs of equal
//! planners, synthetic and played.
//!
//! ```text
//! cargo run --release --package getaway-arena --example calibration -- [--synthetic N] [--real N] [--threads N]
//! ```

#[path = "../tests/calibration/mod.rs"]
mod calibration;
#[path = "../../../tests/common/mod.rs"]
mod common;

use calibration::{Calibration, REAL, SYNTHETIC};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str, default: u32| {
        let value = arguments.iter().position(|argument| argument == name).map(|index| arguments[index + 1].parse());
        value.map_or(default, |value| value.expect("a whole number"))
    };
    let (synthetic, real, threads) = (option("--synthetic", 1000), option("--real", 100), option("--threads", 2));
    println!(
        "{:<45} {:>6} {:>8} {:>11} {:>9} {:>7}",
        "EQUAL PLANNERS", "RUNS", "FALSE +", "DIFFERENCE", "WIN SHARE", "SCORE"
    );
    let made_up =
        SYNTHETIC.iter().enumerate().map(|(index, pair)| (pair.name, pair.calibrate(synthetic, index as u64)));
    print_all("made up", made_up.collect());
    let maps = common::our_maps();
    let played = REAL.iter().enumerate().map(|(index, pair)| {
        (pair.name, pair.calibrate(&maps, real, 1_000_000 * (index as u64 + 1), threads as usize))
    });
    print_all("played", played.collect());
}

fn print_all(kind: &str, found: Vec<(&str, Calibration)>) {
    found.iter().for_each(|(name, calibration)| print(name, calibration));
    let all: Vec<Calibration> = found.into_iter().map(|(_, calibration)| calibration).collect();
    print(&format!("all {kind}"), &Calibration::sum(&all));
}

fn print(name: &str, found: &Calibration) {
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    let score = if found.scores.intervals == 0 { "-".to_owned() } else { percent(found.scores.coverage()) };
    println!(
        "{name:<45} {:>6} {:>8} {:>11} {:>9} {score:>7}",
        found.tournaments,
        percent(found.false_positive_rate()),
        percent(found.differences.coverage()),
        percent(found.win_shares.coverage()),
    );
}
