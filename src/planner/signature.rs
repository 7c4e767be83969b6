//! The search signature: a hash of planners' decisions, and of the solver's answers and proofs, with
//! a fixed seed and fixed budgets. If a code change alters the signature, it has altered a search.
//! Chess engines use node counts in this way.

use std::hash::Hasher;
use std::sync::Mutex;
use std::thread;

use super::{Budget, by_name};
use crate::game::{Layout, Move, Rules, World, WorldError};
use crate::solve::{Certificate, Solver, SolverOptions, SurvivalSearch};
use fnv::FnvHasher;

const SEED: u64 = 2025;
const TICKS_TO_SEARCH: u64 = 20_000;
const TICKS_TO_SOLVE: u64 = 200_000;
const PLANNERS: [(&str, Budget); 9] = [
    ("uct-greedy", Budget::evaluations(12)),
    ("step(repeat(4, select(0.5, simulate)))", Budget::evaluations(12)),
    ("lookahead:4", Budget::ticks(300)),
    ("paranoid:3", Budget::ticks(300)),
    ("cautious", Budget::ticks(0)),
    ("beam(2, simulate)", Budget::evaluations(12)),
    ("adapt(2, 3, 1)", Budget::evaluations(12)),
    ("anneal(12, 0.1, 0.001)", Budget::evaluations(12)),
    ("smitsimax", Budget::ticks(300)),
];
const TICKS: usize = 12;

/// Returns the search signature on `layouts`, under [`Rules::BLITZ_2025`] and [`Rules::NO_JUMP`],
/// as 16 hexadecimal digits. It does not depend on the machine or on the number of threads.
///
/// # Errors
/// If [`World::new`] rejects a layout.
pub fn signature(layouts: &[Layout], threads: usize) -> Result<String, WorldError> {
    let games: Vec<(&Layout, &Rules)> =
        layouts.iter().flat_map(|layout| [(layout, &Rules::BLITZ_2025), (layout, &Rules::NO_JUMP)]).collect();
    let waiting = Mutex::new(games.iter().enumerate());
    let next = || waiting.lock().expect("the lock is not poisoned").next();
    let work = || {
        let done = std::iter::from_fn(next).map(|(index, &(layout, rules))| (index, record(layout, rules)));
        done.collect::<Vec<(usize, Result<Record, WorldError>)>>()
    };
    let mut records = thread::scope(|scope| {
        // The current thread plays games too, so all games are played even if no helper starts.
        let help = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (1..threads).filter_map(help).collect();
        let mut records = work();
        records.extend(helpers.into_iter().flat_map(|helper| helper.join().expect("planners do not panic")));
        records
    });
    records.sort_unstable_by_key(|&(index, _)| index);
    let mut hash = FnvHasher::default();
    for (_, record) in records {
        hash.write(&record?.0);
    }
    Ok(format!("{:016x}", hash.finish()))
}

fn record(layout: &Layout, rules: &Rules) -> Result<Record, WorldError> {
    let world = World::new(layout, rules)?;
    let mut record = Record::default();
    record.survival(&world);
    record.solver(&world);
    PLANNERS.into_iter().for_each(|(name, budget)| record.game(&world, name, budget));
    Ok(record)
}

#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn moves(&mut self, moves: impl IntoIterator<Item = Move>) {
        self.0.extend(moves.into_iter().map(|player_move| player_move.letter() as u8));
    }

    fn survival(&mut self, world: &World) {
        let options = SolverOptions { seed: SEED, ..SolverOptions::default() };
        let solution = SurvivalSearch::new(options).solve(world, &world.start(), Budget::ticks(TICKS_TO_SEARCH));
        self.0.extend(solution.outcome.name().bytes());
        self.number(u64::from(solution.final_tick));
        self.number(solution.simulated_ticks);
        self.moves(solution.moves);
    }

    /// Records the work on lines and bounds, and the proof.
    fn solver(&mut self, world: &World) {
        let options = SolverOptions { seed: SEED, ..SolverOptions::default() };
        let mut solver = Solver::new(options).without_search();
        let solution = solver.solve(world, &world.start(), Budget::ticks(TICKS_TO_SOLVE));
        self.0.extend(Certificate::new(world, &solution).expect("a solution for the start").to_string().bytes());
        self.number(solution.simulated_ticks);
    }

    fn game(&mut self, world: &World, name: &str, budget: Budget) {
        let mut planner = by_name(name, SEED).expect("a planner");
        let mut state = world.start();
        for _ in 0..TICKS {
            if state.is_over() {
                return;
            }
            let choice = planner.decide(world, &state, budget).expect("built-in planners do not fail");
            self.moves([choice.player_move]);
            self.number(choice.simulated_ticks);
            self.number(u64::from(choice.planned_tick.unwrap_or(0)));
            world.step_unchecked(&mut state, choice.player_move);
        }
    }
}
