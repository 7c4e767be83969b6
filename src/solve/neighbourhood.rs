//! A large neighbourhood search for longer lines: goes back from the end of the best line by a
//! random number of ticks, and lets the survival search continue from there.

use super::options::SolverOptions;
use super::solution::Solution;
use super::survival::SurvivalSearch;
use super::tuning::FIRST_WORK;
use crate::game::{State, World};
use crate::search::{Budget, BudgetMeter, Random};

/// A resumable search.
#[derive(Debug)]
pub(super) struct NeighbourhoodSearch {
    search: SurvivalSearch,
    random: Random,
}

impl NeighbourhoodSearch {
    pub fn new(options: SolverOptions) -> Self {
        Self { search: SurvivalSearch::new(options), random: Random::from_seed(options.seed) }
    }

    /// Improves `best`, the longest known line from `root`, until it is optimal or the budget is
    /// used up. A line of the same length replaces it, so that the next search starts elsewhere.
    /// Without a line, searches from `root`. A search from `root` may also prove a bound.
    pub fn advance(&mut self, world: &World, root: &State, best: &mut Solution, meter: &mut BudgetMeter) {
        while !best.is_optimal() && meter.check().is_ok() {
            let kept = best.moves.len().saturating_sub(self.ticks_back(best.moves.len().max(1)));
            let mut state = root.clone();
            world.play(&mut state, &best.moves[..kept]);
            let found = self.search.solve(world, &state, meter.remaining().and(Budget::ticks(FIRST_WORK)));
            meter.add_search(found.simulated_ticks);
            if found.final_tick >= best.final_tick {
                best.moves.truncate(kept);
                best.moves.extend(found.moves);
                best.final_tick = found.final_tick;
            }
            if kept == 0 {
                best.lower_bound(found.bound_tick, None);
            }
        }
    }

    /// Draws a number from 1 to `ticks_max`. All orders of magnitude are about equally likely.
    fn ticks_back(&mut self, ticks_max: usize) -> usize {
        let octave = self.random.below(ticks_max.ilog2() as usize + 1);
        let least = 1 << octave;
        least + self.random.below(least.min(ticks_max + 1 - least))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::game::{LAST_TICK, Layout, Move, Rules, Style};
    use crate::map::{GeneratorKind, GeneratorOptions, generate};

    /// A maze with more threats than the model of the prover can hold.
    pub fn crowded_maze() -> World {
        let options = GeneratorOptions {
            kind: GeneratorKind::Maze,
            width: 21,
            height: 17,
            threats: 32,
            styles: Style::ALL.to_vec(),
            braid_permille: 1000,
        };
        World::new(&generate(&options, 3).expect("a map").layout, &Rules::NO_JUMP).expect("a world")
    }

    #[test]
    fn line_grows_until_it_survives() {
        let world = crowded_maze();
        let root = world.start();
        let mut end = root.clone();
        let waiting = [Move::Stay; LAST_TICK as usize];
        let played = world.play(&mut end, &waiting);
        let mut best = Solution { moves: waiting[..played].to_vec(), ..Solution::unknown(end.tick()) };
        assert!(best.final_tick < 500, "{}", best.final_tick);
        let mut search = NeighbourhoodSearch::new(SolverOptions::default());
        for _ in 0..100 {
            let before = best.final_tick;
            search.advance(&world, &root, &mut best, &mut BudgetMeter::new(Budget::ticks(20_000)));
            let mut state = root.clone();
            assert_eq!(world.play(&mut state, &best.moves), best.moves.len());
            assert!(state.tick() == best.final_tick && best.final_tick >= before);
        }
        assert_eq!(best.final_tick, LAST_TICK + 1);
    }

    #[test]
    fn search_without_a_line_uses_its_budget() {
        let layout = Layout::parse("P....\n.#.#.\n....S").expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a world");
        let (root, mut best) = (world.start(), Solution::unknown(1));
        let mut meter = BudgetMeter::new(Budget::ticks(100));
        NeighbourhoodSearch::new(SolverOptions::default()).advance(&world, &root, &mut best, &mut meter);
        assert!(meter.ticks() >= 100 && !best.moves.is_empty(), "{} ticks", meter.ticks());
    }

    #[test]
    fn line_that_cannot_be_longer_ends_the_search() {
        let world = World::new(&Layout::parse("PS").expect("a drawing"), &Rules::NO_JUMP).expect("a world");
        let (root, mut best) = (world.start(), Solution::unknown(1));
        let mut meter = BudgetMeter::new(Budget::ticks(1_000_000));
        NeighbourhoodSearch::new(SolverOptions::default()).advance(&world, &root, &mut best, &mut meter);
        assert!(best.is_optimal() && best.final_tick < 100, "{best:?}");
    }

    #[test]
    fn every_number_of_ticks_back_is_drawn() {
        let mut search = NeighbourhoodSearch::new(SolverOptions::default());
        for ticks_max in 1..20 {
            let drawn: std::collections::BTreeSet<usize> = (0..2_000).map(|_| search.ticks_back(ticks_max)).collect();
            assert!(drawn.into_iter().eq(1..=ticks_max), "{ticks_max}");
        }
    }
}
