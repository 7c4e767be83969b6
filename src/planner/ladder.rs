//! Planners by name: what the rows of the table in the parent module mean, and how a text becomes a
//! planner.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::grammar::ExpressionPlanner;
use super::row::{Make, Parameter, PlannerEntry};
use super::{Budget, PLANNERS, Planner, SurvivalOptions, host};
use crate::search::{Expression, ParseError};

/// Every name with a one-line description.
pub const NAMES: [(&str, &str); PLANNERS.len()] = {
    let mut names = [("", ""); PLANNERS.len()];
    let mut index = 0;
    while index < PLANNERS.len() {
        names[index] = (PLANNERS[index].name, PLANNERS[index].about);
        index += 1;
    }
    names
};

/// The default planner.
pub const DEFAULT_NAME: &str = "survival";

/// Why a text does not name a planner, or a budget does not suit it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlannerError {
    /// No planner has this name, and it does not look like an expression.
    #[error(
        "no planner named {name}: expected one of {}, or an expression such as select(0.2, simulate(greedy))",
        name_list()
    )]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// It looks like an expression but does not parse.
    #[error("invalid expression {text}: {error}")]
    Expression {
        /// The text.
        text: String,
        /// The parse error.
        error: ParseError,
    },
    /// A parameter where none is allowed, or one out of range.
    #[error("{name}:{parameter}: expected {expected}")]
    Parameter {
        /// The planner.
        name: String,
        /// The text after the colon.
        parameter: String,
        /// What is accepted.
        expected: String,
    },
    /// The name of an external planner, in a program that has no host for them.
    #[error("no planner named {name}: a planner in Python, MODULE:NAME, needs the command of the Python package")]
    NoHost {
        /// The requested name.
        name: String,
    },
    /// The host has no such planner.
    #[error("{name}: {error}")]
    Hosted {
        /// The requested name.
        name: String,
        /// Why, and what was expected.
        error: String,
    },
    /// A budget in evaluations for a planner that does not evaluate sequences.
    #[error("{name} makes no evaluations: expected a budget in ticks or milliseconds")]
    Evaluations {
        /// The planner.
        name: String,
    },
}

fn name_list() -> String {
    NAMES.map(|(name, _)| name).join(", ")
}

/// A planner as a text names it: `survival`, `lookahead:12`, or an expression of the search
/// grammar.
///
/// ```
/// use getaway::planner::PlannerSpec;
///
/// let spec: PlannerSpec = "lookahead:12".parse()?;
/// assert_eq!(spec.to_string(), "lookahead:12");
/// let planner = spec.build(1);
/// # Ok::<(), getaway::planner::PlannerError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlannerSpec(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// A row of [`PLANNERS`], and its parameter if the text has one.
    Named {
        row: usize,
        parameter: Option<u16>,
    },
    Expression(Expression),
    /// `MODULE:NAME`, which the host has checked.
    Hosted(String),
}

impl PlannerSpec {
    /// Creates the planner; all its randomness comes from `seed`.
    pub fn build(&self, seed: u64) -> Box<dyn Planner> {
        let (row, parameter) = match &self.0 {
            Kind::Expression(expression) => return Box::new(ExpressionPlanner::new(expression.clone(), seed)),
            Kind::Hosted(name) => return host::host().expect("the host that has checked it").build(name, seed),
            Kind::Named { row, parameter } => (&PLANNERS[*row], parameter),
        };
        let parameter = parameter.or(row.parameter.as_ref().map(|parameter| parameter.default)).unwrap_or(0);
        match row.make {
            Make::Planner(make) => make(parameter, SurvivalOptions { seed, ..SurvivalOptions::default() }),
            Make::Expression(text) => {
                let expression = text(parameter).parse().expect("a row has a valid expression");
                Box::new(ExpressionPlanner::new(expression, seed))
            }
        }
    }

    /// Whether the planner runs an expression of the search grammar, and so makes evaluations.
    pub fn is_expression(&self) -> bool {
        match self.0 {
            Kind::Expression(_) => true,
            Kind::Hosted(_) => false,
            Kind::Named { row, .. } => matches!(PLANNERS[row].make, Make::Expression(_)),
        }
    }

    /// Checks that the planner knows every limit of the budget.
    ///
    /// # Errors
    /// When evaluations limit a planner that is not an expression.
    pub fn check_budget(&self, budget: &Budget) -> Result<(), PlannerError> {
        if budget.evaluations.is_some() && !self.is_expression() {
            return Err(PlannerError::Evaluations { name: self.to_string() });
        }
        Ok(())
    }
}

impl fmt::Display for PlannerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Expression(expression) => write!(f, "{expression}"),
            Kind::Hosted(name) => f.write_str(name),
            Kind::Named { row, parameter: None } => f.write_str(PLANNERS[*row].name),
            Kind::Named { row, parameter: Some(parameter) } => write!(f, "{}:{parameter}", PLANNERS[*row].name),
        }
    }
}

impl FromStr for PlannerSpec {
    type Err = PlannerError;

    fn from_str(text: &str) -> Result<Self, PlannerError> {
        let text = text.trim();
        if text.contains('(') || text == "simulate" {
            let error = |error| PlannerError::Expression { text: text.to_owned(), error };
            return Ok(Self(Kind::Expression(text.parse().map_err(error)?)));
        }
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let row = PLANNERS.iter().position(|row| row.name == name);
        if row.is_none() && host::is_hosted_name(text) {
            return hosted(text);
        }
        let row = row.ok_or_else(|| PlannerError::Unknown { name: text.to_owned() })?;
        let parameter = parameter.map(|parameter| parse_parameter(&PLANNERS[row], parameter)).transpose()?;
        Ok(Self(Kind::Named { row, parameter }))
    }
}

/// A planner of the host.
fn hosted(text: &str) -> Result<PlannerSpec, PlannerError> {
    let name = text.to_owned();
    let Some(host) = host::host() else { return Err(PlannerError::NoHost { name }) };
    match host.check(text) {
        Ok(()) => Ok(PlannerSpec(Kind::Hosted(name))),
        Err(error) => Err(PlannerError::Hosted { name, error }),
    }
}

fn parse_parameter(row: &PlannerEntry, parameter: &str) -> Result<u16, PlannerError> {
    let error = |expected| {
        let (name, parameter) = (row.name.to_owned(), parameter.to_owned());
        PlannerError::Parameter { name, parameter, expected }
    };
    let Some(Parameter { max, .. }) = row.parameter else {
        return Err(error(format!("{} without a parameter", row.name)));
    };
    let number = parameter.parse().ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| error(format!("a whole number from 1 to {max}")))
}

/// The planner with this name, or one that searches with this expression; all randomness comes from
/// `seed`.
///
/// # Errors
/// When the text is neither a name nor a valid expression; the error lists the names or says where
/// the expression is invalid.
pub fn by_name(name_or_expression: &str, seed: u64) -> Result<Box<dyn Planner>, PlannerError> {
    Ok(name_or_expression.parse::<PlannerSpec>()?.build(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> PlannerSpec {
        text.parse().expect(text)
    }

    #[test]
    fn every_row_is_complete_and_describes_what_it_makes() {
        for PlannerEntry { name, about, parameter, make } in PLANNERS {
            let _ = spec(name).build(1);
            assert!(!about.is_empty(), "{name}");
            if let Some(Parameter { default, max }) = parameter {
                assert!(about.ends_with(&format!(", default {default})")), "{name}: {about}");
                let _ = spec(&format!("{name}:{max}")).build(1);
            }
            if let Make::Expression(text) = make {
                let default = parameter.as_ref().map_or(0, |parameter| parameter.default);
                assert!(about.contains(&format!(": {}", text(default))), "{name}: {about}");
            }
        }
        assert!(PLANNERS.iter().any(|row| row.name == DEFAULT_NAME));
    }

    #[test]
    fn parameters_and_expressions_are_parsed_and_printed() {
        for text in ["lookahead:12", "paranoid:1", "nested:2", "nested:15", "simulate", "uct"] {
            assert_eq!(spec(text).to_string(), text);
        }
        assert_eq!(spec(" step( lookahead(simulate(greedy)) )").to_string(), "step(lookahead(simulate(greedy)))");
    }

    #[test]
    fn evaluations_limit_expressions_only() {
        let check = |text, budget| spec(text).check_budget(&budget).map_err(|error| error.to_string());
        for text in ["uct", "nested:2", "step(lookahead(simulate))"] {
            assert_eq!(check(text, Budget::evaluations(5)), Ok(()));
        }
        let error = "lookahead:4 makes no evaluations: expected a budget in ticks or milliseconds";
        assert_eq!(check("lookahead:4", Budget::evaluations(5)), Err(error.to_owned()));
        assert_eq!(check("lookahead:4", Budget::ticks(5)), Ok(()));
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text: &str| by_name(text, 1).err().expect("an error").to_string();
        let names = error("clever");
        assert!(names.starts_with("no planner named clever: expected one of random, safest, "), "{names}");
        assert_eq!(error("nested:16"), "nested:16: expected a whole number from 1 to 15");
        assert_eq!(error("lookahead:x"), "lookahead:x: expected a whole number from 1 to 64");
        assert_eq!(error("safest:2"), "safest:2: expected safest without a parameter");
        let hosted = error("my_module:planner");
        assert!(hosted.starts_with("no planner named my_module:planner: a planner in Python"), "{hosted}");
        assert!(error("survivl:3").contains(": expected one of random, "), "{}", error("survivl:3"));
        let position = error("step(dance)");
        assert!(position.starts_with("invalid expression step(dance): character 6: expected simulate, "), "{position}");
    }
}
