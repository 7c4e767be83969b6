use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

use super::choice::PlannerError;
use super::grammar::ExpressionPlanner;
use super::host::{ExternalPlanner, PlannerFactory, PlannerHost, is_external_name};
use super::learnt::MODEL_PREFIX;
use super::{Budget, PLANNERS, Planner};
use crate::search::{Expression, ParseError};
use crate::solve::SolverOptions;
use crate::text::did_you_mean;

pub(super) struct PlannerEntry {
    pub name: &'static str,
    /// One line of help. If the planner runs an expression, the line includes the expression for
    /// the default parameter.
    pub about: &'static str,
    pub parameter: Option<Parameter>,
    pub make: Make,
}

pub(super) struct Parameter {
    pub default: u16,
    pub max: u16,
}

/// The constructor of a planner. The `u16` is the parameter, or 0 if the planner takes none.
pub(super) enum Make {
    Planner(fn(u16, SolverOptions) -> Box<dyn Planner>),
    Expression(fn(u16) -> String),
}

/// The names of the built-in planners, each with a one-line description.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    PLANNERS.iter().map(|planner| (planner.name, planner.about))
}

/// The name of the default planner.
pub const DEFAULT_NAME: &str = "survival";

/// Spaces, slashes and dots occur in commands of bots, but not in names of built-in planners.
const PROGRAM_HINT: &str = " (a program is exec:COMMAND or pipe:COMMAND)";

/// The error if a text does not specify a planner, or if a planner cannot limit its evaluations.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlannerSpecError {
    /// The text is neither a name nor an expression.
    #[error(
        "no planner named {name}{}: expected one of {}, or an expression such as select(0.2, simulate(greedy))",
        if .name.contains([' ', '/', '.']) { PROGRAM_HINT.to_owned() } else { did_you_mean(.name, names().map(|(name, _)| name)) },
        names().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The expression is invalid.
    #[error("invalid expression {text}: {source}")]
    Expression {
        /// The text.
        text: String,
        /// The parse error.
        source: ParseError,
    },
    /// The planner takes no parameter, or the parameter is not a whole number in its range.
    #[error("{name}:{parameter}: expected {expected}")]
    Parameter {
        /// The planner's name.
        name: String,
        /// The text after the colon.
        parameter: String,
        /// The expected parameter.
        expected: String,
    },
    /// The name has the form of an external planner's name, but there is no [`PlannerHost`].
    #[error("no planner named {name}: Python planners (MODULE:NAME) and models (model:FILE) are not available here")]
    NoHost {
        /// The requested name.
        name: String,
    },
    /// The host cannot find or load the external planner.
    #[error("{name}: {source}")]
    External {
        /// The requested name.
        name: String,
        /// The host's error.
        source: PlannerError,
    },
    /// The budget limits evaluations, but the planner does not run an expression.
    #[error("{name} does not evaluate sequences: expected a budget in ticks or milliseconds")]
    Evaluations {
        /// The planner's name.
        name: String,
    },
}

/// The specification of a planner: a name such as `survival` or `lookahead:12`, or an expression.
///
/// ```
/// use getaway::planner::PlannerSpec;
///
/// let spec: PlannerSpec = "lookahead:12".parse()?;
/// assert_eq!(spec.to_string(), "lookahead:12");
/// let planner = spec.build(1);
/// # Ok::<(), getaway::planner::PlannerSpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlannerSpec(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Named { index: usize, parameter: Option<u16> },
    Expression(Expression),
    External(ExternalPlanner),
}

impl Default for PlannerSpec {
    fn default() -> Self {
        DEFAULT_NAME.parse().expect("a registered name")
    }
}

impl PlannerSpec {
    /// Parses the name of a planner, or an expression. `host` finds external planners.
    ///
    /// # Errors
    /// If the text is invalid, or names an external planner that cannot be found or loaded.
    pub fn find(text: &str, host: Option<&dyn PlannerHost>) -> Result<Self, PlannerSpecError> {
        let text = text.trim();
        // The path of a model may contain parentheses or begin with a digit.
        let is_model = text.starts_with(MODEL_PREFIX);
        if !is_model && (text.contains('(') || text == "simulate") {
            let error = |source| PlannerSpecError::Expression { text: text.to_owned(), source };
            return Ok(Self(Kind::Expression(text.parse().map_err(error)?)));
        }
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let Some(index) = PLANNERS.iter().position(|entry| entry.name == name) else {
            let name = text.to_owned();
            if !is_model && !is_external_name(text) {
                return Err(PlannerSpecError::Unknown { name });
            }
            let Some(host) = host else { return Err(PlannerSpecError::NoHost { name }) };
            return match host.find(text) {
                Ok(factory) => Ok(Self::external(name, factory)),
                Err(source) => Err(PlannerSpecError::External { name, source }),
            };
        };
        let parameter = parameter.map(|parameter| parse_parameter(&PLANNERS[index], parameter)).transpose()?;
        Ok(Self(Kind::Named { index, parameter }))
    }

    /// Creates the specification of an external planner.
    pub fn external(name: String, factory: Arc<dyn PlannerFactory>) -> Self {
        Self(Kind::External(ExternalPlanner { name, factory }))
    }

    /// Creates the planner. `seed` determines its random numbers.
    pub fn build(&self, seed: u64) -> Box<dyn Planner> {
        let (entry, parameter) = match &self.0 {
            Kind::Expression(expression) => return Box::new(ExpressionPlanner::new(expression.clone(), seed)),
            Kind::External(planner) => return Arc::clone(&planner.factory).build(seed),
            Kind::Named { index, parameter } => (&PLANNERS[*index], parameter),
        };
        let parameter = parameter.or(entry.parameter.as_ref().map(|parameter| parameter.default)).unwrap_or(0);
        match entry.make {
            Make::Planner(make) => make(parameter, SolverOptions { seed, ..SolverOptions::default() }),
            Make::Expression(text) => {
                let expression = text(parameter).parse().expect("an entry has a valid expression");
                Box::new(ExpressionPlanner::new(expression, seed))
            }
        }
    }

    /// Returns true if the planner runs an expression of the search grammar.
    fn is_expression(&self) -> bool {
        match self.0 {
            Kind::Expression(_) => true,
            Kind::External(_) => false,
            Kind::Named { index, .. } => matches!(PLANNERS[index].make, Make::Expression(_)),
        }
    }

    /// Checks that the planner supports the budget's limit on evaluations, if it has one.
    ///
    /// # Errors
    /// If the budget limits evaluations, but the planner does not run an expression.
    pub fn check_budget(&self, budget: &Budget) -> Result<(), PlannerSpecError> {
        if budget.evaluations.is_some() && !self.is_expression() {
            return Err(PlannerSpecError::Evaluations { name: self.to_string() });
        }
        Ok(())
    }
}

impl fmt::Display for PlannerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Expression(expression) => write!(f, "{expression}"),
            Kind::External(planner) => f.write_str(&planner.name),
            Kind::Named { index, parameter: None } => f.write_str(PLANNERS[*index].name),
            Kind::Named { index, parameter: Some(parameter) } => write!(f, "{}:{parameter}", PLANNERS[*index].name),
        }
    }
}

impl FromStr for PlannerSpec {
    type Err = PlannerSpecError;

    fn from_str(text: &str) -> Result<Self, PlannerSpecError> {
        Self::find(text, None)
    }
}

fn parse_parameter(entry: &PlannerEntry, parameter: &str) -> Result<u16, PlannerSpecError> {
    let error = |expected| {
        let (name, parameter) = (entry.name.to_owned(), parameter.to_owned());
        PlannerSpecError::Parameter { name, parameter, expected }
    };
    let Some(Parameter { max, .. }) = entry.parameter else {
        return Err(error(format!("{} without a parameter", entry.name)));
    };
    let number = parameter.parse().ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| error(format!("a whole number from 1 to {max}")))
}

/// Creates a planner by name or from an expression. `seed` determines its random numbers.
///
/// # Errors
/// If the text is invalid or names an external planner.
pub fn by_name(name_or_expression: &str, seed: u64) -> Result<Box<dyn Planner>, PlannerSpecError> {
    Ok(name_or_expression.parse::<PlannerSpec>()?.build(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> PlannerSpec {
        text.parse().expect(text)
    }

    #[test]
    fn every_entry_is_complete_and_describes_what_it_makes() {
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
        assert!(PLANNERS.iter().any(|entry| entry.name == DEFAULT_NAME));
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
        let error = "lookahead:4 does not evaluate sequences: expected a budget in ticks or milliseconds";
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
        for name in ["my_module:planner", "model:a.json"] {
            let hosted = "Python planners (MODULE:NAME) and models (model:FILE) are not available here";
            assert_eq!(error(name), format!("no planner named {name}: {hosted}"));
        }
        assert!(error("survivl:3").contains(": expected one of random, "), "{}", error("survivl:3"));
        let position = error("step(dance)");
        assert!(position.starts_with("invalid expression step(dance): character 6: expected simulate, "), "{position}");
    }
}
