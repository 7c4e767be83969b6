//! Runs a search on the twenty standard SameGame boards; prints the sum of the mean scores.
//!
//! ```text
//! cargo run --release --package getaway-problems --example samegame -- \
//!     --boards boards.txt --expression "adapt(3, 100, 1)" --runs 1
//! cargo run --release --package getaway-problems --example samegame -- \
//!     --boards boards.txt --without-memory 2 --policy greedy --runs 3
//! ```
//!
//! The file has one line per row, the top row first, and a blank line between boards; by default it
//! is `samegame/boards.txt` in the folder `GETAWAY_SHARED`, or `../shared`. A run is one pass of
//! the expression from the start of a board; with `--without-memory LEVEL` it is a nested search
//! without memory of the best sequence, whose rollouts follow `--policy`, random or greedy.
//! `--first N` and `--last N` choose boards, counted from 1.

#[path = "../tests/published/mod.rs"]
#[allow(dead_code, reason = "the published means are those of Morpion Solitaire")]
mod published;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use getaway::search::{Budget, Expression, Generator, Policy, Search};
use getaway_problems::nested::nested;
use getaway_problems::samegame::{Board, SameGame};
use published::Sample;

enum Method {
    Expression(Expression),
    WithoutMemory(usize),
}

struct Options {
    boards: PathBuf,
    method: Method,
    /// Of nested search without memory.
    policy: Policy,
    runs: u64,
    seed: u64,
    first: usize,
    last: usize,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let shared = env::var("GETAWAY_SHARED").unwrap_or_else(|_| "../shared".to_owned());
    let expression = "step(lookahead(simulate))".parse().expect("a well-formed expression");
    let mut options = Options {
        boards: PathBuf::from(shared).join("samegame/boards.txt"),
        method: Method::Expression(expression),
        policy: Policy::Random,
        runs: 3,
        seed: 1,
        first: 1,
        last: usize::MAX,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: expected a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: expected a number"));
        match name.as_str() {
            "--boards" => options.boards = value.into(),
            "--expression" => {
                let parsed = value.parse::<Expression>().map_err(|error| format!("{error}\n{}", error.caret()))?;
                options.method = Method::Expression(parsed);
            }
            "--without-memory" => options.method = Method::WithoutMemory(number()? as usize),
            "--policy" => {
                let found = Policy::ALL.into_iter().find(|policy| policy.name() == value);
                options.policy = found.ok_or_else(|| format!("--policy {value}: expected random or greedy"))?;
            }
            "--runs" => options.runs = number()?.max(1),
            "--seed" => options.seed = number()?,
            "--first" => options.first = number()?.max(1) as usize,
            "--last" => options.last = number()? as usize,
            _ => {
                return Err(format!(
                    "{name}: expected --boards, --expression, --without-memory, --policy, --runs, --seed, --first or --last"
                ));
            }
        }
    }
    Ok(options)
}

fn score(options: &Options, game: &SameGame, seed: u64) -> f64 {
    match &options.method {
        Method::Expression(expression) => {
            let mut search = Search::new(expression.clone(), seed);
            search.run(game, game.start(), Budget::passes(1)).best.map_or(0.0, |line| line.reward)
        }
        Method::WithoutMemory(level) => {
            nested(game, game.start(), *level, options.policy, false, &mut Generator::from_seed(seed))
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let path = &options.boards;
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error} (try --boards FILE)", path.display()))?;
    let boards: Vec<&str> = text.split("\n\n").filter(|board| !board.trim().is_empty()).collect();
    let (mut sum, mut variance, mut count) = (0.0, 0.0, 0);
    let began = Instant::now();
    for (index, board) in
        boards.iter().enumerate().filter(|(index, _)| (options.first..=options.last).contains(&(index + 1)))
    {
        let game = SameGame::new(Board::parse(board).map_err(|error| format!("board {}: {error}", index + 1))?);
        let mut sample = Sample::default();
        for run in 0..options.runs {
            sample.add(score(options, &game, options.seed.wrapping_add(run * 1000 + index as u64)));
        }
        sum += sample.mean();
        variance += sample.standard_error().powi(2);
        count += 1;
        let seconds = began.elapsed().as_secs_f64();
        println!("board {}: mean {:.1} +- {:.1}, {seconds:.0} s", index + 1, sample.mean(), sample.standard_error());
    }
    println!("sum of {count} boards: {sum:.0} +- {:.0}, {} runs per board", variance.sqrt(), options.runs);
    Ok(())
}

fn main() -> ExitCode {
    match options(env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
