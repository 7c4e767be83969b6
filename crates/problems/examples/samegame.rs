//! Runs a search on SameGame boards. Prints the mean score on each board and the sum of the means.
//!
//! ```text
//! cargo run --release --package getaway-problems --example samegame -- \
//!     --boards boards.txt --expression "adapt(3, 100, 1)" --runs 1
//! cargo run --release --package getaway-problems --example samegame -- \
//!     --boards boards.txt --without-memory 2 --policy greedy --runs 3
//! cargo run --release --package getaway-problems --example samegame -- \
//!     --boards boards.txt --with-memory 2 --policy game --runs 2
//! ```
//!
//! The board file has one line per row, top row first, and a blank line between boards. The default
//! file, `samegame/boards.txt` in `$GETAWAY_SHARED` (default: `../shared`), contains the twenty
//! standard boards.
//!
//! A run makes one pass of the expression on each board. With at least two runs per board, `+-`
//! separates a mean from its standard error. `--evaluations N` and `--seconds S` limit
//! each pass. `--first N` and `--last N` set the first and the last board, counted from 1. With
//! `--moves selective`, groups of three or more blocks of the board's initially most frequent
//! colour can be removed only when all blocks of this colour are connected or no other groups are
//! left. Rollouts with `greedy` or one of its variants are exempt from this rule.
//!
//! `--without-memory LEVEL` and `--with-memory LEVEL` run a nested search instead, without or with
//! memory of the best sequence. `--policy` selects the policy of its rollouts: `random`, `greedy`,
//! or a variant of `greedy`. The policy `greedy` removes groups of a *tabu* colour only when no
//! other groups are left. The tabu colour is the most frequent colour when the rollout starts or,
//! in the variant `game`, when the game starts. In the variant `connected`, this colour is not tabu
//! while all its blocks are connected. `game-connected` combines `game` and `connected`.
//!
//! `--lanes true` plays 32 rollouts at a time, which is faster, but uses other random numbers.

#[path = "../tests/published/mod.rs"]
#[allow(dead_code, reason = "the published means are for Morpion Solitaire")]
mod published;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use getaway::search::{Budget, Expression, Policy, Random, Search};
use getaway_problems::nested::{Memory, nested, nested_over};
use getaway_problems::samegame::lanes;
use getaway_problems::samegame::{Board, Group, SameGame, Tabu, Until};
use published::Sample;

enum Method {
    Expression(Expression),
    Nested { level: usize, memory: Memory },
}

enum Rollouts {
    Policy(Policy),
    Tabu(Tabu),
}

impl Rollouts {
    fn named(name: &str) -> Option<Self> {
        let tabu = |is_by_rollout, until| Some(Self::Tabu(Tabu { is_by_rollout, until }));
        match name {
            "game" => tabu(false, Until::NoOthers),
            "connected" => tabu(true, Until::Connected),
            "game-connected" => tabu(false, Until::Connected),
            _ => Policy::ALL.into_iter().find(|policy| policy.name() == name).map(Self::Policy),
        }
    }
}

struct Options {
    boards: PathBuf,
    method: Method,
    rollouts: Rollouts,
    has_lanes: bool,
    is_selective: bool,
    runs: u64,
    budget: Budget,
    seed: u64,
    first: usize,
    last: usize,
}

const OPTIONS: &str = "--boards, --expression, --with-memory, --without-memory, --policy, --lanes, --moves, --runs, --evaluations, --seconds, --seed, --first or --last";

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let shared = env::var("GETAWAY_SHARED").unwrap_or_else(|_| "../shared".to_owned());
    let expression = "step(lookahead(simulate))".parse().expect("a well-formed expression");
    let mut options = Options {
        boards: PathBuf::from(shared).join("samegame/boards.txt"),
        method: Method::Expression(expression),
        rollouts: Rollouts::Policy(Policy::Random),
        has_lanes: false,
        is_selective: false,
        runs: 3,
        budget: Budget::passes(1),
        seed: 1,
        first: 1,
        last: usize::MAX,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: expected {OPTIONS}, each with a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: expected a number"));
        match name.as_str() {
            "--boards" => options.boards = value.into(),
            "--expression" => {
                let parsed = value.parse::<Expression>().map_err(|error| format!("{error}\n{}", error.caret()))?;
                options.method = Method::Expression(parsed);
            }
            "--with-memory" | "--without-memory" => {
                let memory = if name == "--with-memory" { Memory::BestSequence } else { Memory::None };
                options.method = Method::Nested { level: number()? as usize, memory };
            }
            "--policy" => {
                options.rollouts = Rollouts::named(&value).ok_or_else(|| {
                    format!("--policy {value}: expected random, greedy, game, connected or game-connected")
                })?;
            }
            "--moves" => {
                options.is_selective = match value.as_str() {
                    "all" => false,
                    "selective" => true,
                    _ => return Err(format!("--moves {value}: expected all or selective")),
                };
            }
            "--lanes" => {
                options.has_lanes = value.parse().map_err(|_| format!("--lanes {value}: expected true or false"))?;
            }
            "--runs" => options.runs = number()?.max(1),
            "--evaluations" => options.budget = options.budget.and(Budget::evaluations(number()?)),
            "--seconds" => options.budget = options.budget.and(Budget::time(Duration::from_secs(number()?))),
            "--seed" => options.seed = number()?,
            "--first" => options.first = number()?.max(1) as usize,
            "--last" => options.last = number()? as usize,
            _ => return Err(format!("{name}: expected {OPTIONS}")),
        }
    }
    let fits_lanes = match (&options.method, &options.rollouts) {
        (Method::Nested { .. }, Rollouts::Policy(policy)) => !options.is_selective || *policy == Policy::Greedy,
        _ => false,
    };
    if options.has_lanes && !fits_lanes {
        return Err("--lanes true: expected --with-memory or --without-memory, and --policy random or greedy (with --moves selective, only greedy)".to_owned());
    }
    Ok(options)
}

fn score(options: &Options, game: &SameGame, seed: u64) -> f64 {
    match &options.method {
        Method::Expression(expression) => {
            let mut search = Search::new(expression.clone(), seed);
            let outcome = search.run(game, game.start(), options.budget);
            if outcome.passes == 0 {
                println!("cut short after {} evaluations", outcome.evaluations);
            }
            outcome.best.map_or(0.0, |line| line.reward)
        }
        &Method::Nested { level, memory } => {
            let mut random = Random::from_seed(seed);
            match options.rollouts {
                Rollouts::Policy(policy) if options.has_lanes => {
                    f64::from(lanes::nested(game, level, policy, memory, seed))
                }
                Rollouts::Policy(policy) => nested(game, game.start(), level, policy, memory, &mut random),
                Rollouts::Tabu(tabu) => {
                    let rollout = |board: &mut Board, random: &mut Random, played: &mut Vec<Group>| {
                        game.play_with_tabu(board, tabu, random, played);
                    };
                    nested_over(game, game.start(), level, &rollout, memory, &mut random)
                }
            }
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let path = &options.boards;
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error} (try --boards FILE)", path.display()))?;
    let boards: Vec<&str> = text.split("\n\n").filter(|board| !board.trim().is_empty()).collect();
    let (mut sum, mut variance, mut count) = (0.0, 0.0, 0);
    let began = Instant::now();
    // A single run has no standard error.
    let error =
        |error: f64, digits: usize| if error.is_nan() { String::new() } else { format!(" +- {error:.digits$}") };
    for (index, board) in
        boards.iter().enumerate().filter(|(index, _)| (options.first..=options.last).contains(&(index + 1)))
    {
        let game = SameGame::new(Board::parse(board).map_err(|error| format!("board {}: {error}", index + 1))?);
        let game = if options.is_selective { game.selective() } else { game };
        let mut sample = Sample::default();
        for run in 0..options.runs {
            sample.add(score(options, &game, options.seed.wrapping_add(run * 1000 + index as u64)));
        }
        sum += sample.mean();
        variance += sample.standard_error().powi(2);
        count += 1;
        let seconds = began.elapsed().as_secs_f64();
        let error = error(sample.standard_error(), 1);
        println!("board {}: mean {:.1}{error}, {seconds:.0} s", index + 1, sample.mean());
    }
    println!("sum of {count} boards: {sum:.0}{}, {} runs per board", error(variance.sqrt(), 0), options.runs);
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
