//! Measures how often the arena's statistics are right, in tournaments between two planners whose
//! mean scores are equal, or differ by `MARGIN_DEFAULT` or twice that. Some pairs of planners have
//! synthetic games; the others play real games, with equal mean scores. Prints each row when its
//! tournaments are finished. `--pair N` measures only the Nth synthetic pair and the Nth real pair.
//!
//! ```text
//! cargo run --release --package getaway-arena --example calibration -- \
//!     [--synthetic N] [--real N] [--threads N] [--pair N]
//! ```

#[path = "../tests/calibration/mod.rs"]
mod calibration;
#[path = "../../../tests/common/mod.rs"]
mod common;

use calibration::{Calibration, DifferenceCalibration, Promise, REAL, SYNTHETIC, SyntheticPair};
use getaway_arena::MARGIN_DEFAULT;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str, default: u32| {
        let value = arguments.iter().position(|argument| argument == name).map(|index| arguments[index + 1].parse());
        value.map_or(default, |value| value.expect("a whole number"))
    };
    let (synthetic, real, threads) = (option("--synthetic", 1000), option("--real", 100), option("--threads", 2));
    let only = option("--pair", 0);
    let is_measured = |index: &usize| only == 0 || *index + 1 == only as usize;
    if synthetic > 0 {
        let at_margin: Measure =
            |pair, runs, seed| pair.calibrate_difference(MARGIN_DEFAULT, Promise::Margin, runs, seed);
        let observed: Measure =
            |pair, runs, seed| pair.small().calibrate_difference(2.0 * MARGIN_DEFAULT, Promise::Observed, runs, seed);
        for (heading, measure) in [("LEFT BETTER BY THE MARGIN", at_margin), ("FEW GAMES, TWICE THE MARGIN", observed)]
        {
            println!("{heading:<45} {:>6} {:>7} {:>7} {:>8} {:>7}", "RUNS", "EQUAL", "WORSE", "PROMISES", "KEPT");
            let pairs = (0..SYNTHETIC.len()).filter(is_measured);
            print_promises(pairs.map(|index| {
                let pair = &SYNTHETIC[index];
                (pair.name, measure(pair, synthetic, index as u64))
            }));
        }
    }
    println!(
        "{:<45} {:>6} {:>8} {:>8} {:>11} {:>9} {:>7}",
        "EQUAL PLANNERS", "RUNS", "FALSE +", "VERDICT", "DIFFERENCE", "WIN SHARE", "SCORE"
    );
    if synthetic > 0 {
        let pairs = (0..SYNTHETIC.len()).filter(is_measured);
        let measure = |index: usize| (SYNTHETIC[index].name, SYNTHETIC[index].calibrate(synthetic, index as u64));
        print_all("synthetic", pairs.map(measure));
    }
    if real > 0 {
        let maps = common::our_maps();
        let pairs = (0..REAL.len()).filter(is_measured);
        let measure = |index: usize| {
            let seed = 1_000_000 * (index as u64 + 1);
            (REAL[index].name, REAL[index].calibrate(&maps, real, seed, threads as usize))
        };
        print_all("played", pairs.map(measure));
    }
}

fn print_all(kind: &str, found: impl Iterator<Item = (&'static str, Calibration)>) {
    let print_each = |(name, calibration): (&str, Calibration)| {
        print(name, &calibration);
        calibration
    };
    let all: Vec<Calibration> = found.map(print_each).collect();
    if all.len() > 1 {
        print(&format!("all {kind}"), &Calibration::sum(&all));
    }
}

type Measure = fn(&SyntheticPair, u32, u64) -> DifferenceCalibration;

fn print_promises(found: impl Iterator<Item = (&'static str, DifferenceCalibration)>) {
    let print = |name: &str, found: &DifferenceCalibration| {
        println!(
            "{name:<45} {:>6} {:>7} {:>7} {:>8} {:>7}  {:.0} further pairs planned on average",
            found.tournaments,
            percent(found.equal_rate()),
            percent(found.worse_rate()),
            found.promised,
            percent(found.kept_rate()),
            found.pairs_promised as f64 / f64::from(found.promised.max(1))
        );
    };
    let all: Vec<DifferenceCalibration> =
        found.inspect(|(name, found)| print(name, found)).map(|(_, found)| found).collect();
    print("all", &DifferenceCalibration::sum(&all));
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn print(name: &str, found: &Calibration) {
    let score = if found.scores.intervals == 0 { "-".to_owned() } else { percent(found.scores.coverage()) };
    println!(
        "{name:<45} {:>6} {:>8} {:>8} {:>11} {:>9} {score:>7}",
        found.tournaments,
        percent(found.false_positive_rate()),
        percent(found.false_verdict_rate()),
        percent(found.differences.coverage()),
        percent(found.win_shares.coverage()),
    );
}
