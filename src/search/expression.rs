//! Expressions: lists of components, each of which wraps the next one. The text form of an
//! expression parses to an equal expression.

use std::fmt;

use thiserror::Error;

/// The rule by which a rollout chooses its actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Chooses uniformly at random, with [`Problem::random`](super::Problem::random).
    Random,
    /// Chooses by the problem's heuristic, [`Problem::greedy`](super::Problem::greedy).
    Greedy,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 2] = [Self::Random, Self::Greedy];

    /// The policy's name in the text form of an expression.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Greedy => "greedy",
        }
    }
}

/// A component of an expression, without the component that it wraps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Component {
    /// Follows a policy to a final state or to the horizon, and evaluates the state there.
    Simulate {
        /// The rule that chooses actions.
        policy: Policy,
        /// The maximum number of actions, 1 to [`Expression::HORIZON_MAX`]; `None` for no limit.
        horizon: Option<u32>,
    },
    /// Invokes the next component this many times, 1 to [`Expression::REPEAT_MAX`], from the same
    /// state. Stops earlier if nothing is left to explore.
    Repeat(u32),
    /// Invokes the next component from every successor of the state.
    Lookahead,
    /// Invokes the next component and plays the next action of the best sequence. Repeats this
    /// until the sequence ends.
    Step,
    /// Selects a leaf of a search tree by UCB1, and invokes the next component from the leaf. The
    /// number is the exploration constant of UCB1, 0 to [`Expression::C_MAX`].
    Select(f64),
    /// Invokes the next component from every successor of the kept states, and keeps the successors
    /// with the best known sequences: at most this many, 1 to [`Expression::WIDTH_MAX`].
    Beam(u32),
    /// Nested rollout policy adaptation: adapts the rollout policy to the best rollout so far.
    Adapt {
        /// Levels of nesting, 1 to [`Expression::LEVELS_MAX`].
        levels: u32,
        /// Iterations per level, 1 to [`Expression::REPEAT_MAX`].
        iterations: u32,
        /// Step size of the adaptation, 0 to [`Expression::RATE_MAX`].
        alpha: f64,
        /// Rollouts per adaptation on the lowest level, 1 to [`Expression::REPEAT_MAX`].
        rollouts: u32,
        /// True if [`Problem::prior`](super::Problem::prior) biases the policy.
        prior: bool,
    },
    /// Simulated annealing over the sequence of actions.
    Anneal {
        /// The number of changes to try, 1 to [`Expression::REPEAT_MAX`].
        iterations: u32,
        /// Initial temperature, 0 to [`Expression::RATE_MAX`], in units of the range of the rewards
        /// seen.
        hot: f64,
        /// Final temperature, with the same limits and unit.
        cold: f64,
    },
}

impl Component {
    /// The component's name in the text form of an expression.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulate { .. } => "simulate",
            Self::Repeat(_) => "repeat",
            Self::Lookahead => "lookahead",
            Self::Step => "step",
            Self::Select(_) => "select",
            Self::Beam(_) => "beam",
            Self::Adapt { .. } => "adapt",
            Self::Anneal { .. } => "anneal",
        }
    }

    /// Returns true if the component plays rollouts itself and wraps no other component.
    pub const fn is_leaf(self) -> bool {
        matches!(self, Self::Simulate { .. } | Self::Adapt { .. } | Self::Anneal { .. })
    }

    fn is_within_limits(self) -> bool {
        match self {
            Self::Simulate { horizon, .. } => {
                horizon.is_none_or(|actions| (1..=Expression::HORIZON_MAX).contains(&actions))
            }
            Self::Repeat(count) => (1..=Expression::REPEAT_MAX).contains(&count),
            Self::Lookahead | Self::Step => true,
            Self::Select(c) => is_number(c, Expression::C_MAX),
            Self::Beam(width) => (1..=Expression::WIDTH_MAX).contains(&width),
            Self::Adapt { levels, iterations, alpha, rollouts, .. } => {
                let counts = [iterations, rollouts].iter().all(|count| (1..=Expression::REPEAT_MAX).contains(count));
                counts && (1..=Expression::LEVELS_MAX).contains(&levels) && is_number(alpha, Expression::RATE_MAX)
            }
            Self::Anneal { iterations, hot, cold } => {
                (1..=Expression::REPEAT_MAX).contains(&iterations)
                    && is_number(hot, Expression::RATE_MAX)
                    && is_number(cold, Expression::RATE_MAX)
            }
        }
    }
}

fn is_number(number: f64, most: f64) -> bool {
    number.is_sign_positive() && (0.0..=most).contains(&number)
}

/// Prints a number with the fewest significant digits that parse to the same number, and with an
/// exponent if 0 < number < 1e-4.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = *self;
        if number != 0.0 && number < 1e-4 { write!(f, "{number:e}") } else { write!(f, "{number}") }
    }
}

/// An error in a list of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// The list is empty or longer than [`Expression::DEPTH_MAX`]. The number is the length of the list.
    #[error("an expression has 1 to {max} components, not {0}", max = Expression::DEPTH_MAX)]
    Length(usize),
    /// The component with this index is misplaced: the last component must be the only leaf.
    #[error(
        "component {0} is misplaced: the last component must be simulate, adapt or anneal, which may not occur elsewhere"
    )]
    Place(usize),
    /// The component with this index has a number outside its limits.
    #[error("component {0} has a number out of range")]
    Limit(usize),
}

/// A composed search, such as `step(repeat(100, select(1.41, simulate(greedy))))`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    components: Vec<Component>,
}

impl Expression {
    /// The maximum number of components in an expression.
    pub const DEPTH_MAX: usize = 32;
    /// The maximum number of repetitions, of iterations, and of rollouts per adaptation.
    pub const REPEAT_MAX: u32 = 1_000_000_000;
    /// The maximum horizon of a rollout, in actions.
    pub const HORIZON_MAX: u32 = 1_000_000;
    /// The maximum exploration constant of `select`.
    pub const C_MAX: f64 = 1e6;
    /// The maximum number of states that `beam` keeps.
    pub const WIDTH_MAX: u32 = 10_000;
    /// The maximum number of nesting levels of `adapt`.
    pub const LEVELS_MAX: u32 = 10;
    /// The maximum step size of `adapt`, and the maximum temperature of `anneal`.
    pub const RATE_MAX: f64 = 1e3;

    /// Creates an expression from components, outermost first.
    ///
    /// # Errors
    /// If the length or a number is out of range, or the last component is not the only leaf.
    pub fn new(components: Vec<Component>) -> Result<Self, ExpressionError> {
        if components.is_empty() || components.len() > Expression::DEPTH_MAX {
            return Err(ExpressionError::Length(components.len()));
        }
        let last = components.len() - 1;
        for (index, component) in components.iter().enumerate() {
            if component.is_leaf() != (index == last) {
                return Err(ExpressionError::Place(index));
            }
            if !component.is_within_limits() {
                return Err(ExpressionError::Limit(index));
            }
        }
        Ok(Self { components })
    }

    /// The components, outermost first.
    pub fn components(&self) -> &[Component] {
        &self.components
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for component in &self.components {
            f.write_str(component.name())?;
            match *component {
                Component::Simulate { policy: Policy::Random, horizon: None } => {}
                Component::Simulate { policy, horizon: None } => write!(f, "({})", policy.name())?,
                Component::Simulate { policy, horizon: Some(actions) } => {
                    write!(f, "({}, {actions})", policy.name())?;
                }
                Component::Repeat(count) => write!(f, "({count}, ")?,
                Component::Lookahead | Component::Step => f.write_str("(")?,
                Component::Select(c) => write!(f, "({}, ", Number(c))?,
                Component::Beam(width) => write!(f, "({width}, ")?,
                Component::Adapt { levels, iterations, alpha, rollouts, prior } => {
                    write!(f, "({levels}, {iterations}, {}", Number(alpha))?;
                    if rollouts > 1 {
                        write!(f, ", {rollouts}")?;
                    }
                    f.write_str(if prior { ", prior)" } else { ")" })?;
                }
                Component::Anneal { iterations, hot, cold } => {
                    write!(f, "({iterations}, {}, {})", Number(hot), Number(cold))?;
                }
            }
        }
        (1..self.components.len()).try_for_each(|_| f.write_str(")"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIMULATE: Component = Component::Simulate { policy: Policy::Random, horizon: None };

    #[test]
    fn misplaced_components_and_numbers_out_of_range_are_rejected() {
        assert_eq!(Expression::new(vec![]), Err(ExpressionError::Length(0)));
        assert_eq!(Expression::new(vec![Component::Step; 33]), Err(ExpressionError::Length(33)));
        assert_eq!(Expression::new(vec![SIMULATE, SIMULATE]), Err(ExpressionError::Place(0)));
        assert_eq!(Expression::new(vec![Component::Step]), Err(ExpressionError::Place(0)));
        for wrong in [
            Component::Repeat(0),
            Component::Repeat(Expression::REPEAT_MAX + 1),
            Component::Select(-0.0),
            Component::Select(f64::NAN),
            Component::Select(2e6),
            Component::Beam(0),
        ] {
            assert_eq!(Expression::new(vec![wrong, SIMULATE]), Err(ExpressionError::Limit(0)));
        }
        let endless = Component::Simulate { policy: Policy::Greedy, horizon: Some(0) };
        assert_eq!(Expression::new(vec![Component::Step, endless]), Err(ExpressionError::Limit(1)));
        let adapt = Component::Adapt { levels: 2, iterations: 10, alpha: 1.0, rollouts: 0, prior: false };
        assert_eq!(Expression::new(vec![adapt]), Err(ExpressionError::Limit(0)));
        let anneal = Component::Anneal { iterations: 10, hot: -0.0, cold: 0.0 };
        assert_eq!(Expression::new(vec![anneal]), Err(ExpressionError::Limit(0)));
        assert_eq!(Expression::new(vec![adapt, SIMULATE]), Err(ExpressionError::Place(0)));
    }

    #[test]
    fn expressions_print_in_their_usual_form() {
        let greedy = Component::Simulate { policy: Policy::Greedy, horizon: Some(40) };
        let components = vec![Component::Step, Component::Repeat(100), Component::Select(1.41), greedy];
        let expression = Expression::new(components).expect("a well-formed expression");
        assert_eq!(expression.to_string(), "step(repeat(100, select(1.41, simulate(greedy, 40))))");
        let tiny = Expression::new(vec![Component::Select(1e-9), Component::Lookahead, SIMULATE]);
        assert_eq!(tiny.expect("well formed").to_string(), "select(1e-9, lookahead(simulate))");
    }
}
