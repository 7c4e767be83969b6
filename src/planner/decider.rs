//! Decides a state: finds a line to the end of the game, or proves that there is none, and then
//! looks for the longest line and a bound that meets it.
//!
//! The survival search comes first, alone, so that easy maps take no longer. If it does not find an
//! answer soon, [`proof`](super::proof) takes over, which searches and proves side by side.
//!
//! Guarantees: with a budget in simulated ticks, the answer depends only on the world, the state,
//! the seed and the budget. Bounds are proven: leaving a threat out of a proof can only make the
//! game easier. Memory stays below the given bound.

use super::proof::{Proof, Prover, prover};
use super::{Budget, Outcome, Solution, SurvivalOptions, SurvivalSearch};
use crate::game::{LAST_TICK, State, World};
use crate::search::BudgetMeter;

/// Budget of the survival search before proofs begin: about ten milliseconds.
const SEARCH_TICKS: u64 = 100_000;

/// Memory for proofs while a game is played, in bytes.
const PLAY_MEMORY_MAX_BYTES: usize = 32 << 20;

/// A decision that can be resumed.
#[derive(Debug)]
pub struct Decider {
    options: SurvivalOptions,
    /// Maximum memory for proofs, in bytes.
    proof_memory_max_bytes: usize,
    root: Option<State>,
    search: SurvivalSearch,
    search_ticks: u64,
    prover: Option<Box<dyn Prover>>,
    /// Whether proofs do not support the map.
    is_unprovable: bool,
    best: Solution,
}

impl Decider {
    /// Creates a decider that has not started.
    pub fn new(options: SurvivalOptions) -> Self {
        Self {
            options,
            proof_memory_max_bytes: options.memory_max_bytes,
            root: None,
            search: SurvivalSearch::new(options),
            search_ticks: 0,
            prover: None,
            is_unprovable: false,
            best: Solution::unknown(0),
        }
    }

    /// Creates a decider for play, which keeps to budgets of milliseconds: the work on a layer of a
    /// proof is not interrupted everywhere, so its layers are small.
    pub fn for_play(options: SurvivalOptions) -> Self {
        let proof_memory_max_bytes = options.memory_max_bytes.min(PLAY_MEMORY_MAX_BYTES);
        Self { proof_memory_max_bytes, ..Self::new(options) }
    }

    /// Decides `state` until the longest line and the bound meet or the budget is used up. Called
    /// again for the same state, or for a successor of it, it resumes. One decider serves one
    /// world.
    ///
    /// The outcome is [`Outcome::Doomed`] as soon as it is proven that no line survives; the line
    /// is the longest possible if [`Solution::is_optimal`] holds.
    pub fn solve(&mut self, world: &World, state: &State, budget: Budget) -> Solution {
        if state.is_over() {
            return self.search.solve(world, state, budget);
        }
        self.set_root(world, state);
        let mut meter = BudgetMeter::new(budget);
        if !self.best.is_optimal() && (self.search_ticks < SEARCH_TICKS || self.is_unprovable) {
            self.search(world, state, &mut meter);
        }
        if !self.best.is_optimal() && self.search_ticks >= SEARCH_TICKS && meter.check().is_ok() {
            self.prove(world, state, &mut meter);
        }
        self.best.outcome = match self.best.bound {
            _ if self.best.final_tick > LAST_TICK => Outcome::Survives,
            bound if bound <= LAST_TICK => Outcome::Doomed,
            _ => Outcome::Undecided,
        };
        Solution { simulated_ticks: meter.ticks(), ..self.best.clone() }
    }

    /// How the bound was proven, unless the survival search alone has found it.
    pub fn proof(&self) -> Option<&Proof> {
        self.prover.as_ref()?.proof()
    }

    /// Makes `state` the root: keeps the results that hold for it.
    fn set_root(&mut self, world: &World, state: &State) {
        let Some(root) = &self.root else {
            self.root = Some(state.clone());
            self.best = Solution::unknown(state.tick());
            return;
        };
        if root == state {
            return;
        }
        let played = world.successors(root).find(|(_, successor)| successor == state);
        let Some((player_move, _)) = played else {
            *self = Self {
                proof_memory_max_bytes: self.proof_memory_max_bytes,
                root: Some(state.clone()),
                best: Solution::unknown(state.tick()),
                ..Self::new(self.options)
            };
            return;
        };
        // A bound on all lines from the old root also holds for those through the new root.
        if self.best.moves.first() == Some(&player_move) {
            self.best.moves.remove(0);
        } else {
            let bound = self.best.bound;
            self.best = Solution { bound, ..Solution::unknown(state.tick()) };
        }
        self.root = Some(state.clone());
    }

    /// The survival search alone.
    fn search(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) {
        let most = if self.is_unprovable { Budget::UNLIMITED } else { Budget::ticks(SEARCH_TICKS - self.search_ticks) };
        let found = self.search.solve(world, state, meter.remaining().and(most));
        meter.add_search(found.simulated_ticks);
        self.search_ticks += found.simulated_ticks;
        let bound = found.bound.min(self.best.bound);
        if found.final_tick > self.best.final_tick || found.outcome != Outcome::Undecided {
            self.best = found;
        }
        self.best.bound = if self.best.final_tick > LAST_TICK { self.best.final_tick } else { bound };
    }

    fn prove(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) {
        if self.prover.is_none() && !self.is_unprovable {
            let options = SurvivalOptions { memory_max_bytes: self.proof_memory_max_bytes, ..self.options };
            self.prover = prover(world, state, options);
            self.is_unprovable = self.prover.is_none();
        }
        match &mut self.prover {
            Some(prover) => {
                // Its layers are no longer needed, but their memory is.
                self.search = SurvivalSearch::new(self.options);
                prover.run(world, state, &mut self.best, meter);
            }
            None => self.search(world, state, meter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};

    fn world(drawing: &str) -> World {
        World::new(&Layout::parse(drawing).expect("a drawing"), &Rules::NO_JUMP).expect("a map")
    }

    /// Doomed, but far too wide for an exhaustive search.
    const DOOMED: &str = "
        #############
        #P..#.......#
        ###.#.#####.#
        #...#.....#.#
        #.#######.#.#
        #.......#.#.#
        #######.#.#.#
        #.......#..s#
        #.#######.#.#
        #....d..o.h.#
        #############";

    #[test]
    fn bounds_only_come_down_and_lines_only_grow() {
        let world = world(DOOMED);
        let root = world.start();
        let mut decider = Decider::new(SurvivalOptions::default());
        let mut last = Solution::unknown(1);
        for _ in 0..40 {
            let solution = decider.solve(&world, &root, Budget::ticks(50_000));
            assert!(solution.final_tick >= last.final_tick && solution.bound <= last.bound);
            assert!(solution.final_tick <= solution.bound);
            let mut state = root.clone();
            assert_eq!(world.play_moves(&mut state, &solution.moves), solution.moves.len());
            assert_eq!(state.tick(), solution.final_tick);
            last = solution;
        }
        assert_eq!(last.outcome, Outcome::Doomed);
    }

    #[test]
    fn same_slices_and_seed_give_the_same_answer() {
        let world = world(DOOMED);
        let solve = |seed, slices: u64| {
            let mut decider = Decider::new(SurvivalOptions { seed, ..SurvivalOptions::default() });
            let solutions: Vec<Solution> =
                (0..slices).map(|_| decider.solve(&world, &world.start(), Budget::ticks(600_000 / slices))).collect();
            solutions
        };
        assert_eq!(solve(1, 1), solve(1, 1));
        assert_eq!(solve(2, 6), solve(2, 6));
    }

    #[test]
    fn bound_still_holds_after_moves_are_played() {
        let world = world(DOOMED);
        let mut state = world.start();
        let mut decider = Decider::new(SurvivalOptions::default());
        let first = decider.solve(&world, &state, Budget::ticks(2_000_000));
        assert_eq!(first.outcome, Outcome::Doomed);
        for &player_move in first.moves.iter().take(5) {
            world.step(&mut state, player_move);
            let next = decider.solve(&world, &state, Budget::ticks(1_000));
            assert_eq!((next.outcome, next.final_tick), (Outcome::Doomed, next.final_tick.max(first.final_tick)));
            assert!(next.bound <= first.bound);
        }
    }
}
