//! Looks up planners by name; they are listed from the simplest to the strongest.

use thiserror::Error;

use super::cautious::CautiousPlanner;
use super::grammar::ExpressionPlanner;
use super::lookahead::{LOOKAHEAD_TICKS, LookaheadPlanner};
use super::paranoid::{PARANOID_TICKS, ParanoidPlanner};
use super::random::RandomPlanner;
use super::safest::SafestPlanner;
use super::show_off::ShowOffPlanner;
use super::survival_planner::SurvivalPlanner;
use super::{Planner, SurvivalOptions};
use crate::search::{Component, DEPTH_MAX, Expression, ExpressionError, ParseError, Policy};

/// Every name with a one-line description. `paranoid`, `lookahead` and `nested` take a number after
/// a colon, as in `lookahead:12`.
pub const NAMES: [(&str, &str); 12] = [
    ("random", "every move with equal probability"),
    ("safest", "one tick ahead, then towards the tile with the most margin"),
    ("paranoid", "minimax, with the threats as free adversaries (paranoid:TICKS, default 6)"),
    ("lookahead", "exhaustive search over some ticks, with exact predictions (lookahead:TICKS, default 8)"),
    ("sampling", "plays random games and keeps the best: simulate"),
    ("iterative-sampling", "plays random games from every step of the best one: step(repeat(100, simulate))"),
    ("nested", "nested Monte Carlo search: step(lookahead(simulate)) (nested:LEVEL, default 1)"),
    ("uct", "tree search with random games: step(repeat(1000, select(0.5, simulate)))"),
    ("uct-greedy", "tree search with games that avoid death one tick ahead: select(0.2, simulate(greedy))"),
    ("show-off", "survives, and lets the threats come as close as possible"),
    ("cautious", "no prediction: earliest arrivals of the threats, safe paths and filters"),
    ("survival", "solves the whole game, then plays the solution (the default)"),
];

/// The default planner.
pub const DEFAULT_NAME: &str = "survival";

const SAMPLING: &str = "simulate";
const ITERATIVE_SAMPLING: &str = "step(repeat(100, simulate))";
const UCT: &str = "step(repeat(1000, select(0.5, simulate)))";
const UCT_GREEDY: &str = "select(0.2, simulate(greedy))";

/// The largest number after a colon.
const PARAMETER_MAX: u16 = 64;

/// Why a text is not a planner.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlannerError {
    /// No planner has this name, and it does not look like an expression.
    #[error("no planner named {name}: expected one of {}, or an expression such as {UCT_GREEDY}", name_list())]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// It looks like an expression but does not parse.
    #[error("invalid expression {text}: {error}")]
    Expression {
        /// The requested name.
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
}

fn name_list() -> String {
    NAMES.map(|(name, _)| name).join(", ")
}

/// The planner with this name, or one that searches with this expression; all randomness comes from
/// `seed`.
///
/// # Errors
/// When the text is neither: the error lists the names, or says where the expression goes wrong.
pub fn by_name(name_or_expression: &str, seed: u64) -> Result<Box<dyn Planner>, PlannerError> {
    let text = name_or_expression.trim();
    if text.contains('(') || text == SAMPLING {
        let error = |error| PlannerError::Expression { text: text.to_owned(), error };
        return Ok(Box::new(ExpressionPlanner::new(text.parse().map_err(error)?, seed)));
    }
    let (name, parameter) = match text.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (text, None),
    };
    let number = |default: u16, max: u16| number_of(name, parameter, default, max);
    let options = SurvivalOptions { seed, ..SurvivalOptions::default() };
    let planner: Box<dyn Planner> = match name {
        "paranoid" => return Ok(Box::new(ParanoidPlanner::new(number(PARANOID_TICKS, PARAMETER_MAX)?))),
        "lookahead" => return Ok(Box::new(LookaheadPlanner::new(number(LOOKAHEAD_TICKS, PARAMETER_MAX)?))),
        "nested" => {
            let level = number(1, DEPTH_MAX as u16 / 2 - 1)?;
            return Ok(Box::new(ExpressionPlanner::new(nested(level).expect("a level within the limits"), seed)));
        }
        "random" => Box::new(RandomPlanner::new(seed)),
        "safest" => Box::new(SafestPlanner::new()),
        "sampling" => grammar(SAMPLING, seed),
        "iterative-sampling" => grammar(ITERATIVE_SAMPLING, seed),
        "uct" => grammar(UCT, seed),
        "uct-greedy" => grammar(UCT_GREEDY, seed),
        "show-off" => Box::new(ShowOffPlanner::new(options)),
        "cautious" => Box::new(CautiousPlanner::new()),
        "survival" => Box::new(SurvivalPlanner::new(options)),
        _ => return Err(PlannerError::Unknown { name: text.to_owned() }),
    };
    match parameter {
        None => Ok(planner),
        Some(parameter) => Err(PlannerError::Parameter {
            name: name.to_owned(),
            parameter: parameter.to_owned(),
            expected: format!("{name} without a parameter"),
        }),
    }
}

fn number_of(name: &str, parameter: Option<&str>, default: u16, max: u16) -> Result<u16, PlannerError> {
    let Some(parameter) = parameter else { return Ok(default) };
    let number = parameter.parse().ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| PlannerError::Parameter {
        name: name.to_owned(),
        parameter: parameter.to_owned(),
        expected: format!("a whole number from 1 to {max}"),
    })
}

fn grammar(expression: &str, seed: u64) -> Box<dyn Planner> {
    Box::new(ExpressionPlanner::new(expression.parse().expect("our own expressions are well formed"), seed))
}

/// `step(lookahead(...))`, nested `level` times around a random game.
fn nested(level: u16) -> Result<Expression, ExpressionError> {
    let mut components = [Component::Step, Component::Lookahead].repeat(usize::from(level));
    components.push(Component::Simulate { policy: Policy::Random, horizon: None });
    Expression::new(components)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_planner_and_descriptions_show_the_expressions_used() {
        for (name, about) in NAMES {
            assert!(by_name(name, 1).is_ok(), "{name}");
            assert!(!about.is_empty());
        }
        let about = |name| NAMES.iter().find(|(other, _)| *other == name).expect("a name").1;
        for (name, expression) in [
            ("sampling", SAMPLING),
            ("iterative-sampling", ITERATIVE_SAMPLING),
            ("uct", UCT),
            ("uct-greedy", UCT_GREEDY),
        ] {
            assert!(about(name).ends_with(&format!(": {expression}")), "{name}");
        }
        assert!(by_name(DEFAULT_NAME, 1).is_ok());
    }

    #[test]
    fn parameters_and_expressions_are_parsed() {
        for text in
            ["lookahead:12", "paranoid:1", "nested:2", "nested:15", " simulate ", "step(lookahead(simulate(greedy)))"]
        {
            assert!(by_name(text, 1).is_ok(), "{text}");
        }
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text: &str| by_name(text, 1).err().expect("an error").to_string();
        let names = error("clever");
        assert!(names.starts_with("no planner named clever: expected one of random, safest, "), "{names}");
        assert_eq!(error("nested:16"), "nested:16: expected a whole number from 1 to 15");
        assert_eq!(error("lookahead:x"), "lookahead:x: expected a whole number from 1 to 64");
        assert_eq!(error("safest:2"), "safest:2: expected safest without a parameter");
        let place = error("step(dance)");
        assert!(place.starts_with("invalid expression step(dance): character 6: expected simulate, "), "{place}");
    }
}
