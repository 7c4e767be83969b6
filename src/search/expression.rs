//! A search as a value: the components of an expression, their limits, and their textual form.
//!
//! Every component but the last wraps exactly one other, so an expression is a chain and is stored
//! as a list, without recursion. [`FromStr`](std::str::FromStr) parses what
//! [`Display`](fmt::Display) writes to an equal expression.

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
        }
    }

    fn is_within_limits(self) -> bool {
        match self {
            Self::Simulate { horizon, .. } => horizon.is_none_or(|actions| (1..=HORIZON_MAX).contains(&actions)),
            Self::Repeat(count) => (1..=REPEAT_MAX).contains(&count),
            Self::Lookahead | Self::Step => true,
            // Check the sign, because -0 would not round-trip.
            Self::Select(c) => c.is_sign_positive() && (0.0..=C_MAX).contains(&c),
        }
    }
}

/// Why a list of components is not a valid expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// No components, or too many.
    #[error("an expression has 1 to {DEPTH_MAX} components, not {0}")]
    Length(usize),
    /// `simulate` must be last; every other component must not be.
    #[error("component {0} is misplaced: simulate must be the last component and may not occur elsewhere")]
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
    /// If there are none or more than [`DEPTH_MAX`], if `simulate` is not the last and only the
    /// last, or if a number is out of its limits.
    pub fn new(components: Vec<Component>) -> Result<Self, ExpressionError> {
        if components.is_empty() || components.len() > DEPTH_MAX {
            return Err(ExpressionError::Length(components.len()));
        }
        let last = components.len() - 1;
        for (index, component) in components.iter().enumerate() {
            if matches!(component, Component::Simulate { .. }) != (index == last) {
                return Err(ExpressionError::Place(index));
            }
            if !component.is_within_limits() {
                return Err(ExpressionError::Limit(index));
            }
        }
        Ok(Self { components })
    }

    /// The components, the outermost first, `simulate` last.
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
                // The shortest digits that parse to the same number; tiny numbers would print as a
                // row of zeros.
                Component::Select(c) if c != 0.0 && c < 1e-4 => write!(f, "({c:e}, ")?,
                Component::Select(c) => write!(f, "({c}, ")?,
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
        ] {
            assert_eq!(Expression::new(vec![wrong, SIMULATE]), Err(ExpressionError::Limit(0)));
        }
        let endless = Component::Simulate { policy: Policy::Greedy, horizon: Some(0) };
        assert_eq!(Expression::new(vec![Component::Step, endless]), Err(ExpressionError::Limit(1)));
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
