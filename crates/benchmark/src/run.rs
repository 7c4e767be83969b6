use std::str::FromStr;
use std::time::{Duration, Instant};

use getaway::game::{LAST_TICK, Layout, Move, Plan, World};
use getaway::planner::PlannerSpec;
use getaway::search::Budget;
use getaway::solve::{self, Certificate, ProofEnd, SolverOptions};
use getaway_reference::Game;
use serde::{Deserialize, Serialize};

use crate::external::execute;
use crate::{Benchmark, BenchmarkError, Instance, Limits, Record};

#[derive(Clone, Debug)]
pub enum Solver {
    Getaway,
    /// A planner, which plays the game with an equal share of the time limit for each tick.
    Planner(PlannerSpec),
    /// A shell command, which gets the path of the map and the path of a rules file as arguments.
    Command(String),
}

impl FromStr for Solver {
    type Err = BenchmarkError;

    /// Parses `getaway`, `exec:COMMAND`, or a planner's name or expression.
    fn from_str(text: &str) -> Result<Self, BenchmarkError> {
        match text.strip_prefix("exec:") {
            Some(command) if !command.trim().is_empty() => Ok(Self::Command(command.to_owned())),
            Some(_) => Err(BenchmarkError::NoCommand),
            None if text == "getaway" => Ok(Self::Getaway),
            None => Ok(Self::Planner(text.parse()?)),
        }
    }
}

/// A checked answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub record: Option<Record>,
    /// The reason why the answer does not count; `None` if it counts.
    pub failure: Option<String>,
    /// Time in seconds: for a shell command, the elapsed time; for other solvers, the processor
    /// time of the thread, or the elapsed time if the system does not report processor time.
    pub seconds: f64,
}

/// An answer that is not checked yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The certificate as text, or the reason why the solver has none.
    pub certificate: Result<String, String>,
    /// Time in seconds, measured as in [`Answer`].
    pub seconds: f64,
}

/// Runs a solver on an instance, and checks its answer. If the solver fails, the answer contains
/// the reason. Returns `None` once `is_stopped` returns true. Fails if the map cannot be loaded, or
/// if a temporary file or the shell cannot be used.
pub fn run(
    benchmark: &Benchmark,
    instance: &Instance,
    solver: &Solver,
    limits: Limits,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Answer>, BenchmarkError> {
    let attempt = attempt(benchmark, instance, solver, limits, is_stopped)?;
    Ok((!is_stopped()).then(|| attempt.check(benchmark, instance, solver, limits)))
}

/// Like [`run`], but does not check the answer, which is arbitrary once `is_stopped` returns true.
pub fn attempt(
    benchmark: &Benchmark,
    instance: &Instance,
    solver: &Solver,
    limits: Limits,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Attempt, BenchmarkError> {
    let layout = benchmark.layout(instance)?;
    let (answer, seconds) = match solver {
        Solver::Getaway => solve(&layout, instance, limits.time, is_stopped),
        Solver::Planner(planner) => play(&layout, instance, planner, limits.time, is_stopped),
        Solver::Command(command) => {
            let begun = Instant::now();
            let text = execute(benchmark, instance, command, limits, is_stopped)?;
            let seconds = begun.elapsed().as_secs_f64();
            (text.and_then(|text| parse_answer(&text, &layout, instance)), seconds)
        }
    };
    Ok(Attempt { certificate: answer.map(|certificate| certificate.to_string()), seconds })
}

impl Attempt {
    /// Replays the line and repeats the proof. If either is wrong, or if there is no certificate,
    /// the answer contains the reason.
    pub fn check(self, benchmark: &Benchmark, instance: &Instance, solver: &Solver, limits: Limits) -> Answer {
        let by = match solver {
            Solver::Getaway => format!("getaway {}", env!("CARGO_PKG_VERSION")),
            Solver::Planner(planner) => format!("getaway {}, {planner}", env!("CARGO_PKG_VERSION")),
            Solver::Command(command) => command.replace('\n', " "),
        };
        let by = format!("{by}, {} s", limits.time.as_secs_f64());
        let seconds = self.seconds;
        let checked = self.certificate.and_then(|text| {
            let certificate = text.parse::<Certificate>().map_err(|error| format!("refused: certificate: {error}"))?;
            let record = Record { instance: instance.name.clone(), line_by: by.clone(), bound_by: by, certificate };
            record.check_after(0, benchmark).map(|()| record).map_err(|why| format!("refused: {why}"))
        });
        match checked {
            Ok(record) => Answer { record: Some(record), failure: None, seconds },
            Err(failure) => Answer { record: None, failure: Some(failure), seconds },
        }
    }
}

/// Returns this thread's processor time, or the time since `since` if the former is unavailable.
fn thread_time(since: Instant) -> Duration {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent_ns = spent.and_then(|text| text.split(' ').next()?.parse().ok());
    spent_ns.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

fn solve(
    layout: &Layout,
    instance: &Instance,
    time: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> (Result<Certificate, String>, f64) {
    let begun = Instant::now();
    let begun_time = thread_time(begun);
    let spent = || thread_time(begun).saturating_sub(begun_time);
    let world = match World::new(layout, &instance.rules) {
        Ok(world) => world,
        Err(error) => return (Err(error.to_string()), 0.0),
    };
    let mut solver = solve::Solver::new(SolverOptions::default());
    loop {
        let left = time.saturating_sub(spent());
        let solution = solver.advance(&world, &world.start(), Budget::time(left));
        if solution.is_optimal() || spent() >= time || is_stopped() {
            return (Ok(Certificate::new(&world, &solution).expect("a solution for the start")), spent().as_secs_f64());
        }
    }
}

fn play(
    layout: &Layout,
    instance: &Instance,
    planner: &PlannerSpec,
    time: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> (Result<Certificate, String>, f64) {
    let begun = Instant::now();
    let begun_time = thread_time(begun);
    let world = match World::new(layout, &instance.rules) {
        Ok(world) => world,
        Err(error) => return (Err(error.to_string()), 0.0),
    };
    let mut planner = planner.build(0);
    let (mut state, mut moves) = (world.start(), Vec::new());
    while !state.is_over() && !is_stopped() {
        let choice = match planner.decide(&world, &state, Budget::time(time / u32::from(LAST_TICK))) {
            Ok(choice) => choice,
            Err(failure) => return (Err(failure.to_string()), 0.0),
        };
        moves.push(choice.player_move);
        world.step_unchecked(&mut state, choice.player_move);
    }
    let seconds = thread_time(begun).saturating_sub(begun_time).as_secs_f64();
    (Ok(line_only(instance, moves, state.tick())), seconds)
}

fn line_only(instance: &Instance, moves: Vec<Move>, final_tick: u16) -> Certificate {
    Certificate {
        rules: instance.rules,
        moves,
        final_tick,
        bound_tick: LAST_TICK + 1,
        steps: Vec::new(),
        end: ProofEnd::None,
    }
}

/// Reads the certificate in a solver's output. If there is none, reads the moves in the last
/// non-blank complete line of the output.
fn parse_answer(text: &str, layout: &Layout, instance: &Instance) -> Result<Certificate, String> {
    if let Some(at) = text.find("{\"certificate\"") {
        return text[at..].parse().map_err(|error| format!("refused: certificate: {error}"));
    }
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let last = complete.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.ok_or("no answer: expected a line of the letters L, R, U, D and .")?;
    let plan: Plan = last.parse().map_err(|error| format!("refused: {error}"))?;
    let moves: Vec<Move> = plan.iter().copied().collect();
    let mut game = Game::new(layout, &instance.rules);
    for &player_move in &moves {
        if game.over() {
            return Err(format!("refused: the game is over at tick {}, before the line's end", game.tick));
        }
        let action: Vec<_> = player_move.direction().map(getaway::game::Action::Move).into_iter().collect();
        game.step(&action);
    }
    Ok(line_only(instance, moves, game.tick))
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::Rules;

    fn instance() -> (Layout, Instance) {
        let layout = Layout::parse("P..B").expect("a drawing");
        let instance =
            Instance { name: "t/n".into(), map: String::new(), sha256: String::new(), rules: Rules::NO_JUMP };
        (layout, instance)
    }

    #[test]
    fn line_may_not_go_on_after_the_game() {
        let (layout, instance) = instance();
        let answer = |text: &str| parse_answer(text, &layout, &instance);
        let found = answer("junk\n..\nRRR\n.").expect("a line");
        assert_eq!((found.moves.len(), found.final_tick, found.bound_tick), (3, 3, LAST_TICK + 1));
        assert!(answer("RRRR\n").expect_err("too long").contains("before the line's end"));
        assert_eq!(answer("..\n").expect("a line that stops").final_tick, 3);
        assert!(answer("RX\n").expect_err("a letter").starts_with("refused: "));
        assert!(answer("RRR").expect_err("no complete line").starts_with("no answer"));
    }
}
