//! Prints an expression's mean score on Morpion Solitaire. Without `--evaluations`, also prints the
//! expression's published mean score, if there is one.
//!
//! ```text
//! cargo run --release --example morpion -- \
//!     --variant 5D --expression "step(lookahead(simulate))" --games 1000
//! ```
//!
//! `--seed N` sets the seed of the first game. By default, each search makes one pass of the
//! expression; with `--evaluations N`, it makes passes until it has made N evaluations or nothing
//! is left to explore.

#[path = "../tests/published/mod.rs"]
mod published;

use std::process::ExitCode;
use std::time::Instant;

use getaway::search::{Budget, Expression, Search};
use getaway_problems::morpion::Morpion;
use published::{Sample, published_mean};

struct Options {
    variant: String,
    expression: Expression,
    games: u64,
    seed: u64,
    evaluations: Option<u64>,
}

const OPTIONS: &str = "--variant, --expression, --games, --seed or --evaluations";

fn options(arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        variant: "5D".to_owned(),
        expression: "step(lookahead(simulate))".parse().expect("a well-formed expression"),
        games: 1000,
        seed: 1,
        evaluations: None,
    };
    let mut arguments = arguments.peekable();
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: expected {OPTIONS}, each with a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: expected a number"));
        match name.as_str() {
            "--variant" => options.variant = value,
            "--expression" => {
                options.expression =
                    value.parse::<Expression>().map_err(|error| format!("{error}\n{}", error.caret()))?;
            }
            "--games" => options.games = number()?,
            "--seed" => options.seed = number()?,
            "--evaluations" => options.evaluations = Some(number()?),
            _ => return Err(format!("{name}: expected {OPTIONS}")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let morpion = Morpion::named(&options.variant)
        .ok_or_else(|| format!("--variant {}: expected one of {:?}", options.variant, Morpion::NAMES))?;
    let start = morpion.start();
    let budget = options.evaluations.map_or(Budget::passes(1), Budget::evaluations);
    let began = Instant::now();
    let (mut sample, mut best, mut evaluations, mut moves) = (Sample::default(), 0.0_f64, 0, 0);
    for game in 0..options.games {
        let mut search = Search::new(options.expression.clone(), options.seed.wrapping_add(game));
        let outcome = search.run(&morpion, &start, budget);
        let reward = outcome.best.map_or(0.0, |line| line.reward);
        sample.add(reward);
        best = best.max(reward);
        evaluations += outcome.evaluations;
        moves += outcome.simulated_ticks;
    }
    let seconds = began.elapsed().as_secs_f64();
    print!(
        "{} {}: mean {:.3} +- {:.3} over {} games, best {best}",
        options.variant,
        options.expression,
        sample.mean(),
        sample.standard_error(),
        options.games,
    );
    if options.evaluations.is_none()
        && let Some((mean, error)) = published_mean(&options.variant, &options.expression.to_string())
    {
        let sigma = (sample.mean() - mean) / sample.standard_error().hypot(error);
        print!(" (published {mean} +- {error}: {sigma:+.1} sigma)");
    }
    println!();
    println!("{seconds:.1} s, {evaluations} evaluations, {:.1} million moves per second", moves as f64 / seconds / 1e6);
    Ok(())
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
