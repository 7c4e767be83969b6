//! The pursuit game on generated maps, as a problem for the search grammar.

use getaway::game::{LAST_TICK, Move, POINTS_PER_TICK, Rules, State, World};
use getaway::map::{GeneratorError, GeneratorOptions, generate_nth};
use getaway::planner::SurvivalProblem;
use getaway::search::{Problem, Random};

use crate::distribution::Distribution;

#[derive(Clone, Debug)]
pub struct Survival {
    world: World,
}

impl Survival {
    pub fn new(world: World) -> Self {
        Self { world }
    }

    pub fn world(&self) -> &World {
        &self.world
    }

    #[inline]
    fn problem(&self) -> SurvivalProblem<'_> {
        SurvivalProblem::new(&self.world)
    }
}

impl Problem for Survival {
    type State = State;
    type Action = Move;

    fn actions(&self, state: &State, actions: &mut Vec<Move>) {
        self.problem().actions(state, actions);
    }

    #[inline]
    fn apply(&self, state: &mut State, action: Move) {
        self.problem().apply(state, action);
    }

    #[inline]
    fn is_final(&self, state: &State) -> bool {
        self.problem().is_final(state)
    }

    #[inline]
    fn reward(&self, state: &State) -> f64 {
        self.problem().reward(state)
    }

    fn best_possible(&self) -> f64 {
        self.problem().best_possible()
    }

    #[inline]
    fn random(&self, state: &State, actions: &mut Vec<Move>, random: &mut Random) -> Move {
        self.problem().random(state, actions, random)
    }

    #[inline]
    fn greedy(&self, state: &State, actions: &mut Vec<Move>, random: &mut Random, trial_ticks: &mut u64) -> Move {
        self.problem().greedy(state, actions, random, trial_ticks)
    }

    #[inline]
    fn code(&self, state: &State, action: Move, depth: usize, index: usize) -> u64 {
        self.problem().code(state, action, depth, index)
    }
}

#[derive(Clone, Debug)]
pub struct SurvivalMaps {
    options: GeneratorOptions,
    rules: Rules,
}

impl SurvivalMaps {
    /// Fails if the generator cannot make the map with these options, seed 0 and index 0.
    pub fn new(options: GeneratorOptions, rules: Rules) -> Result<Self, GeneratorError> {
        generate_nth(&options, 0, 0)?;
        Ok(Self { options, rules })
    }
}

impl Distribution for SurvivalMaps {
    type Problem = Survival;

    /// Uses the first map with the seed `number` that the generator can make.
    fn draw(&self, number: u64) -> Survival {
        let map = (0..).find_map(|index| generate_nth(&self.options, number, index).ok());
        let map = map.expect("one of the maps has room for the threats");
        Survival { world: World::new(&map.layout, &self.rules).expect("generated maps are within the limits") }
    }

    fn start(&self, problem: &Survival) -> State {
        problem.world.start()
    }

    fn score(&self, reward: f64) -> f64 {
        reward * f64::from(POINTS_PER_TICK)
    }

    fn scale(&self) -> f64 {
        f64::from((u32::from(LAST_TICK) + 1) * POINTS_PER_TICK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps() -> SurvivalMaps {
        let options = GeneratorOptions { width: 15, height: 13, braid_permille: 500, ..GeneratorOptions::default() };
        SurvivalMaps::new(options, Rules::NO_JUMP).expect("valid options")
    }

    #[test]
    fn numbers_are_different_maps_and_the_same_number_is_the_same_map() {
        let maps = maps();
        assert_eq!(maps.draw(5).world().layout(), maps.draw(5).world().layout());
        assert_ne!(maps.draw(5).world().layout(), maps.draw(6).world().layout());
    }

    #[test]
    fn score_is_that_of_the_game() {
        let maps = maps();
        let problem = maps.draw(1);
        let mut state = maps.start(&problem);
        while !problem.is_final(&state) {
            problem.apply(&mut state, Move::Stay);
        }
        assert_eq!(maps.score(problem.reward(&state)), f64::from(problem.world().score(&state)));
        assert_eq!(maps.scale(), 10_005.0);
    }
}
