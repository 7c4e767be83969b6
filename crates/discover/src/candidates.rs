//! Enumerates the candidates: expressions with a limited number of operators around a leaf (such as
//! a rollout), in the canonical forms of Maes, Lupien St-Pierre and Ernst.
//!
//! `repeat(a, repeat(b, S))` becomes `repeat(a * b, S)`, where the product is capped at
//! [`Expression::REPEAT_MAX`]. `select(p, select(q, S))` becomes `select(p, S)`, because the inner tree only
//! continues the descent of the outer tree. A candidate does not start with `repeat`, because a
//! search repeats the whole expression anyway.

use std::collections::HashSet;

use getaway::search::{Component, Expression, Policy};

/// Maximum number of operators. With five, [`Vocabulary::paper`] has 24,691 candidates.
pub const OPERATORS_MAX: usize = 5;

#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    pub operators: Vec<Component>,
    pub leaves: Vec<Component>,
}

/// The candidates of a vocabulary, shortest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    pub expressions: Vec<Expression>,
    /// The number of canonical forms, including forms that start with `repeat`.
    pub with_repeats_on_top: usize,
}

impl Vocabulary {
    /// The vocabulary of Maes, Lupien St-Pierre and Ernst, with the constants of their experiments.
    pub fn paper() -> Self {
        let repeats = [2, 5, 10, 100].map(Component::Repeat);
        let selects = [0.0, 0.3, 0.5, 1.0].map(Component::Select);
        let others = [Component::Lookahead, Component::Step];
        Self {
            operators: repeats.into_iter().chain(others).chain(selects).collect(),
            leaves: vec![Component::Simulate { policy: Policy::Random, horizon: None }],
        }
    }

    /// The vocabulary of [`Self::paper`] with fewer constants, and also beams, greedy rollouts,
    /// nested rollout policy adaptation and simulated annealing.
    pub fn grown() -> Self {
        let repeats = [2, 10, 100].map(Component::Repeat);
        let selects = [0.0, 0.3, 1.0].map(Component::Select);
        let beams = [2, 8].map(Component::Beam);
        let others = [Component::Lookahead, Component::Step];
        let adapt = |levels, iterations, alpha, rollouts| Component::Adapt {
            levels,
            iterations,
            alpha,
            rollouts,
            prior: false,
        };
        let anneal = |iterations, hot, cold| Component::Anneal { iterations, hot, cold };
        Self {
            operators: repeats.into_iter().chain(others).chain(selects).chain(beams).collect(),
            leaves: vec![
                Component::Simulate { policy: Policy::Random, horizon: None },
                Component::Simulate { policy: Policy::Greedy, horizon: None },
                adapt(1, 10, 1.0, 1),
                adapt(1, 100, 1.0, 1),
                adapt(1, 100, 0.3, 1),
                adapt(1, 25, 1.0, 4),
                adapt(2, 10, 1.0, 1),
                adapt(2, 30, 1.0, 1),
                adapt(3, 10, 1.0, 1),
                anneal(100, 0.1, 0.001),
                anneal(1000, 0.1, 0.001),
                anneal(1000, 0.0, 0.0),
            ],
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        match name {
            "paper" => Some(Self::paper()),
            "grown" => Some(Self::grown()),
            _ => None,
        }
    }

    /// Returns the canonical forms of the expressions with at most `operators` operators, except
    /// forms that start with `repeat`. Panics if `operators` exceeds [`OPERATORS_MAX`].
    pub fn candidates(&self, operators: usize) -> Candidates {
        assert!(operators <= OPERATORS_MAX, "at most {OPERATORS_MAX} operators");
        let mut expressions = Vec::new();
        let mut seen = HashSet::new();
        for &leaf in &self.leaves {
            let mut layer = vec![Vec::new()];
            for length in 0..=operators {
                if length > 0 {
                    let extended = |inner: &Vec<Component>| {
                        let inner = inner.clone();
                        self.operators.iter().map(move |&operator| [&[operator], &inner[..]].concat())
                    };
                    layer = layer.iter().flat_map(extended).collect();
                }
                for components in &layer {
                    let canonical = canonical(components, leaf);
                    if seen.insert(canonical.to_string()) {
                        expressions.push(canonical);
                    }
                }
            }
        }
        let with_repeats_on_top = expressions.len();
        expressions.retain(|expression| !matches!(expression.components()[0], Component::Repeat(_)));
        expressions.sort_by_key(|expression| expression.components().len());
        Candidates { expressions, with_repeats_on_top }
    }
}

fn canonical(operators: &[Component], leaf: Component) -> Expression {
    let mut components: Vec<Component> = Vec::with_capacity(operators.len() + 1);
    for &operator in operators {
        match (components.last_mut(), operator) {
            (Some(Component::Repeat(outer)), Component::Repeat(inner)) => {
                *outer = outer.saturating_mul(inner).min(Expression::REPEAT_MAX);
            }
            (Some(Component::Select(_)), Component::Select(_)) => {}
            _ => components.push(operator),
        }
    }
    components.push(leaf);
    Expression::new(components).expect("a vocabulary has valid components")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_candidates_are_the_published_ones() {
        let paper = Vocabulary::paper();
        let four = paper.candidates(4);
        assert_eq!((four.expressions.len(), four.with_repeats_on_top), (3155, 5307));
        assert_eq!(paper.candidates(5).expressions.len(), 24_691);
    }

    #[test]
    fn grown_vocabulary_has_every_leaf_and_operator() {
        let grown = Vocabulary::grown();
        let one = grown.candidates(1).expressions;
        // Each leaf occurs alone, and inside each operator except the three repeats.
        assert_eq!(one.len(), grown.leaves.len() * (1 + grown.operators.len() - 3));
        assert_eq!(Vocabulary::named("grown"), Some(grown));
        assert_eq!(Vocabulary::named("other"), None);
    }

    #[test]
    fn canonical_forms_merge_repeats_and_selects() {
        let of = |text: &str| {
            let expression: Expression = text.parse().expect(text);
            let (leaf, operators) = expression.components().split_last().expect("a leaf");
            canonical(operators, *leaf).to_string()
        };
        assert_eq!(of("step(repeat(2, repeat(5, simulate)))"), "step(repeat(10, simulate))");
        assert_eq!(of("select(0.3, select(1, select(0, simulate)))"), "select(0.3, simulate)");
        assert_eq!(of("select(1, step(select(0, simulate)))"), "select(1, step(select(0, simulate)))");
    }

    #[test]
    fn every_candidate_occurs_once_and_shorter_ones_come_first() {
        let expressions = Vocabulary::paper().candidates(3).expressions;
        let texts: HashSet<String> = expressions.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), expressions.len());
        assert_eq!(expressions[0].to_string(), "simulate");
        assert!(expressions.is_sorted_by_key(|expression| expression.components().len()));
    }
}
