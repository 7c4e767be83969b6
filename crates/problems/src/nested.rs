//! A direct implementation of nested Monte Carlo search, to compare with the search grammar.

use getaway::search::{Policy, Problem, Random};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Each step plays the action with the best result in this step. Ties go to the first action.
    None,
    /// Each step plays the next action of the best sequence so far.
    BestSequence,
}

/// Returns the reward of one nested search from `state` (Cazenave, *Nested Monte-Carlo Search*,
/// 2009, section 2). A search of level 0 is a rollout with `policy`.
pub fn nested<P: Problem>(
    problem: &P,
    state: &P::State,
    level: usize,
    policy: Policy,
    memory: Memory,
    random: &mut Random,
) -> f64 {
    let rollout = |state: &mut P::State, random: &mut Random, played: &mut Vec<P::Action>| {
        let mut actions = Vec::new();
        if policy == Policy::Greedy {
            problem.begin_greedy(state);
        }
        while !problem.is_final(state) {
            let action = match policy {
                Policy::Random => problem.random(state, &mut actions, random),
                Policy::Greedy => problem.greedy(state, &mut actions, random, &mut 0),
            };
            problem.apply(state, action);
            played.push(action);
        }
    };
    nested_over(problem, state, level, &rollout, memory, random)
}

/// Like [`nested`], but level 0 is `rollout`, which must play to the end and append its actions.
pub fn nested_over<P: Problem>(
    problem: &P,
    state: &P::State,
    level: usize,
    rollout: &impl Fn(&mut P::State, &mut Random, &mut Vec<P::Action>),
    memory: Memory,
    random: &mut Random,
) -> f64 {
    Nested { problem, rollout, memory }.search(&mut state.clone(), level, random, &mut Vec::new())
}

struct Nested<'a, P, R> {
    problem: &'a P,
    rollout: &'a R,
    memory: Memory,
}

impl<P: Problem, R: Fn(&mut P::State, &mut Random, &mut Vec<P::Action>)> Nested<'_, P, R> {
    /// Plays to the end of the game, appends the actions to `played`, and returns the reward.
    fn search(&self, state: &mut P::State, level: usize, random: &mut Random, played: &mut Vec<P::Action>) -> f64 {
        let problem = self.problem;
        if level == 0 {
            (self.rollout)(state, random, played);
            return problem.reward(state);
        }
        let mut actions = Vec::new();
        let mut best: Option<(f64, Vec<P::Action>)> = None;
        while !problem.is_final(state) {
            if self.memory == Memory::None {
                best = None;
            }
            actions.clear();
            problem.actions(state, &mut actions);
            for &action in &actions {
                let mut successor = state.clone();
                problem.apply(&mut successor, action);
                let mut rest = vec![action];
                let reward = self.search(&mut successor, level - 1, random, &mut rest);
                if best.as_ref().is_none_or(|(known, _)| reward > *known) {
                    rest.reverse();
                    best = Some((reward, rest));
                }
            }
            let next = best.as_mut().and_then(|(_, rest)| rest.pop()).expect("a state that is not final has actions");
            problem.apply(state, next);
            played.push(next);
        }
        problem.reward(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::morpion::Morpion;
    use getaway::search::{Budget, Search};

    #[test]
    fn search_with_memory_equals_the_grammars() {
        let morpion = Morpion::named("4D").expect("a variant");
        let start = morpion.start();
        for (level, expression) in
            [(0, "simulate"), (1, "step(lookahead(simulate))"), (2, "step(lookahead(step(lookahead(simulate))))")]
        {
            for seed in 0..3 {
                let mut search = Search::new(expression.parse().expect("an expression"), seed);
                let outcome = search.run(&morpion, &start, Budget::passes(1));
                let reward =
                    nested(&morpion, &start, level, Policy::Random, Memory::BestSequence, &mut Random::from_seed(seed));
                assert_eq!(Some(reward), outcome.best.map(|line| line.reward), "level {level}, seed {seed}");
            }
        }
    }

    #[test]
    fn search_with_memory_scores_more_than_without() {
        let morpion = Morpion::named("4D").expect("a variant");
        let mean = |memory| {
            let reward =
                |seed| nested(&morpion, &morpion.start(), 1, Policy::Random, memory, &mut Random::from_seed(seed));
            (0..60).map(reward).sum::<f64>() / 60.0
        };
        assert!(mean(Memory::BestSequence) > mean(Memory::None) + 0.5);
    }
}
