//! A search as a value: the components of an expression, their limits, and their textual form.
//!
//! Every component but the last wraps exactly one other, so an expression is a chain and is stored
//! as a list, without recursion. The last one plays rollouts: `simulate`, `adapt` or `anneal`.
//! [`FromStr`](std::str::FromStr) parses what [`Display`](fmt::Display) writes to an equal
//! expression.

use std::fmt;

use thiserror::Error;

/// The maximum number of components in one expression.
pub const DEPTH_MAX: usize = 32;
/// The maximum number of repetitions of one `repeat`.
pub const REPEAT_MAX: u32 = 1_000_000_000;
/// The longest horizon of a rollout, in actions.
pub const HORIZON_MAX: u32 = 1_000_000;
/// The largest constant of a `select`.
pub const C_MAX: f64 = 1e6;
/// The largest width of a `beam`.
pub const WIDTH_MAX: u32 = 10_000;
/// The maximum number of levels of an `adapt`.
pub const LEVELS_MAX: u32 = 10;
/// The largest step of an `adapt`, and the highest temperature of an `anneal`.
pub const RATE_MAX: f64 = 1e3;

/// How a rollout chooses its actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Uniformly at random: [`Problem::random`](super::Problem::random).
    Random,
    /// By the problem's rule of thumb: [`Problem::greedy`](super::Problem::greedy).
    Greedy,
}

impl Policy {
    /// All policies, in the order in which help texts list them.
    pub const ALL: [Self; 2] = [Self::Random, Self::Greedy];

    /// The name in an expression.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Greedy => "greedy",
        }
    }
}

/// One component of an expression, without the one it wraps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Component {
    /// Follows a policy to a final state and evaluates it.
    Simulate {
        /// How actions are chosen.
        policy: Policy,
        /// Number of actions, 1 to [`HORIZON_MAX`], after which to stop and evaluate; `None` for no
        /// limit.
        horizon: Option<u32>,
    },
    /// Invokes the next component this many times, 1 to [`REPEAT_MAX`], from the same state.
    Repeat(u32),
    /// Invokes the next component from every successor.
    Lookahead,
    /// Invokes the next component, plays the next action of the best sequence seen so far, and
    /// repeats until a final state.
    Step,
    /// Invokes the next component from a leaf of a tree that grows by UCB1 with this constant, 0 to
    /// [`C_MAX`].
    Select(f64),
    /// Invokes the next component from every successor of this many states at a time, 1 to
    /// [`WIDTH_MAX`], and continues with the successors whose best known sequences are best.
    Beam(u32),
    /// Nested rollout policy adaptation: plays rollouts with a policy that is adapted to the best
    /// rollout.
    Adapt {
        /// Levels of nesting, 1 to [`LEVELS_MAX`].
        levels: u32,
        /// Iterations per level, 1 to [`REPEAT_MAX`].
        iterations: u32,
        /// Step of the adaptation, 0 to [`RATE_MAX`].
        alpha: f64,
        /// Rollouts between two adaptations on the lowest level, 1 to [`REPEAT_MAX`]: more than 1
        /// is the stabilised form.
        rollouts: u32,
        /// Whether the policy is biased by [`Problem::prior`](super::Problem::prior): the
        /// generalised form.
        prior: bool,
    },
    /// Simulated annealing over the sequence of actions.
    Anneal {
        /// Changes to try, 1 to [`REPEAT_MAX`].
        iterations: u32,
        /// Temperature at the start, 0 to [`RATE_MAX`], as a share of the spread of the rewards
        /// seen.
        hot: f64,
        /// Temperature at the end, in the same unit.
        cold: f64,
    },
}

impl Component {
    /// The name in an expression.
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

    /// Whether the component plays rollouts itself, and so wraps no other.
    pub const fn is_leaf(self) -> bool {
        matches!(self, Self::Simulate { .. } | Self::Adapt { .. } | Self::Anneal { .. })
    }

    fn is_within_limits(self) -> bool {
        match self {
            Self::Simulate { horizon, .. } => horizon.is_none_or(|actions| (1..=HORIZON_MAX).contains(&actions)),
            Self::Repeat(count) => (1..=REPEAT_MAX).contains(&count),
            Self::Lookahead | Self::Step => true,
            Self::Select(c) => is_number(c, C_MAX),
            Self::Beam(width) => (1..=WIDTH_MAX).contains(&width),
            Self::Adapt { levels, iterations, alpha, rollouts, .. } => {
                let counts = [iterations, rollouts].iter().all(|count| (1..=REPEAT_MAX).contains(count));
                counts && (1..=LEVELS_MAX).contains(&levels) && is_number(alpha, RATE_MAX)
            }
            Self::Anneal { iterations, hot, cold } => {
                (1..=REPEAT_MAX).contains(&iterations) && is_number(hot, RATE_MAX) && is_number(cold, RATE_MAX)
            }
        }
    }
}

/// Whether a number lies within 0 and `most`. The sign is checked, because -0 would not round-trip.
fn is_number(number: f64, most: f64) -> bool {
    number.is_sign_positive() && (0.0..=most).contains(&number)
}

/// A number with the shortest digits that parse to it; tiny ones would print as a row of zeros.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = *self;
        if number != 0.0 && number < 1e-4 { write!(f, "{number:e}") } else { write!(f, "{number}") }
    }
}

/// Why a list of components is not a valid expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// No components, or too many.
    #[error("an expression has 1 to {DEPTH_MAX} components, not {0}")]
    Length(usize),
    /// The last component must be a leaf; no other may be.
    #[error(
        "component {0} is misplaced: the last component must be simulate, adapt or anneal, which may not occur elsewhere"
    )]
    Place(usize),
    /// A number outside the limits of its component.
    #[error("component {0} has a number out of range")]
    Limit(usize),
}

/// A composed search, such as `step(repeat(100, select(1.41, simulate(greedy))))`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    components: Vec<Component>,
}

impl Expression {
    /// The expression of these components, the outermost first.
    ///
    /// # Errors
    /// If there are no components or more than [`DEPTH_MAX`], if the last one is not a leaf or
    /// another one is, or if a number is out of range.
    pub fn new(components: Vec<Component>) -> Result<Self, ExpressionError> {
        if components.is_empty() || components.len() > DEPTH_MAX {
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

    /// The components, the outermost first, the leaf last.
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
            Component::Repeat(REPEAT_MAX + 1),
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
