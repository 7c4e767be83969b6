//! Prints how many random 16x16 grids a search solves, and its mean number of evaluations.
//!
//! ```text
//! cargo run --release --package getaway-problems --example sudoku -- \
//!     --expression "step(lookahead(simulate))" --grids 100 --evaluations 10000
//! ```
//!
//! About a third of the cells are given; `--share S` changes the share, and `--seed N` changes the
//! grids. The search makes passes of the expression until the grid is solved, the evaluations are
//! used up or nothing is left to explore.

#[path = "../tests/published/mod.rs"]
#[allow(dead_code, reason = "the published means are for Morpion Solitaire")]
mod published;

use std::process::ExitCode;
use std::time::Instant;

use getaway::search::{Budget, Expression, Problem, Search};
use getaway_problems::sudoku::Sudoku;
use published::Sample;

struct Options {
    expression: Expression,
    grids: u64,
    evaluations: u64,
    share: f64,
    seed: u64,
}

const OPTIONS: &str = "--expression, --grids, --evaluations, --share or --seed";

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        expression: "step(lookahead(simulate))".parse().expect("a well-formed expression"),
        grids: 100,
        evaluations: 10_000,
        share: 1.0 / 3.0,
        seed: 1,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: expected {OPTIONS}, each with a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: expected a number"));
        match name.as_str() {
            "--expression" => {
                options.expression =
                    value.parse::<Expression>().map_err(|error| format!("{error}\n{}", error.caret()))?;
            }
            "--grids" => options.grids = number()?,
            "--evaluations" => options.evaluations = number()?,
            "--share" => {
                let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                options.share = share.ok_or_else(|| format!("--share {value}: expected a number from 0 to 1"))?;
            }
            "--seed" => options.seed = number()?,
            _ => return Err(format!("{name}: expected {OPTIONS}")),
        }
    }
    Ok(options)
}

fn run(options: &Options) {
    let began = Instant::now();
    let (mut filled, mut evaluations, mut solved) = (Sample::default(), Sample::default(), 0_u64);
    for number in 0..options.grids {
        let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(number);
        let sudoku = Sudoku::random(4, options.share, seed);
        let mut search = Search::new(options.expression.clone(), seed);
        let outcome = search.run(&sudoku, &sudoku.start(), Budget::evaluations(options.evaluations));
        let reward = outcome.best.map_or(0.0, |line| line.reward);
        filled.add(reward);
        evaluations.add(outcome.evaluations as f64);
        solved += u64::from(reward >= sudoku.best_possible());
    }
    println!(
        "{}: {solved} of {} grids solved, {:.2} +- {:.2} of 256 cells filled, {:.0} +- {:.0} of at most {} evaluations made, {:.1} s",
        options.expression,
        options.grids,
        filled.mean(),
        filled.standard_error(),
        evaluations.mean(),
        evaluations.standard_error(),
        options.evaluations,
        began.elapsed().as_secs_f64(),
    );
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)) {
        Ok(options) => {
            run(&options);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
