//! Every planner by its name, from the first to the last step that people took in this game.

use thiserror::Error;

use super::cautious::Cautious;
use super::grammar::Grammar;
use super::lookahead::{LOOKAHEAD_TICKS, Lookahead};
use super::paranoid::{PARANOID_TICKS, Paranoid};
use super::random::Random;
use super::safest::Safest;
use super::show_off::ShowOff;
use super::survivor::Survivor;
use super::{Planner, SurvivalOptions};
use crate::search::{Component, DEPTH_MAX, Expression, ExpressionError, ParseError, Policy};

/// Every name, with a line on what is behind it. `paranoid`, `lookahead` and `nested` take a number after a colon, as in `lookahead:12`.
pub const NAMES: [(&str, &str); 12] = [
    ("random", "any move, each as likely"),
    ("safest", "one tick ahead, then towards the tile with the most margin"),
    ("paranoid", "minimax, threats as free adversaries (paranoid:TICKS, 6 unless told)"),
    ("lookahead", "everything that can happen within some ticks, exactly (lookahead:TICKS, 8 unless told)"),
    ("sampling", "random lives, the best one kept: simulate"),
    ("iterative-sampling", "random lives from every step of the best one: step(repeat(100, simulate))"),
    ("nested", "nested Monte Carlo: step(lookahead(simulate)) (nested:LEVEL, 1 unless told)"),
    ("uct", "a tree of random lives: step(repeat(1000, select(0.5, simulate)))"),
    ("uct-greedy", "a tree of lives that avoid death a tick ahead: select(0.2, simulate(greedy))"),
    ("show-off", "survives, with threats as close by as it can"),
    ("cautious", "no prediction: what threats could do, safe walks and filters"),
    ("survival", "solves the whole game, then plays the solution (the default)"),
];

/// The planner that plays unless another is asked for.
pub const DEFAULT_NAME: &str = "survival";

const SAMPLING: &str = "simulate";
const ITERATIVE_SAMPLING: &str = "step(repeat(100, simulate))";
const UCT: &str = "step(repeat(1000, select(0.5, simulate)))";
const UCT_GREEDY: &str = "select(0.2, simulate(greedy))";

/// The largest number after a colon.
const PARAMETER_MAX: u16 = 64;

/// Why a text names no planner.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlannerError {
    /// No planner has this name, and it does not look like an expression.
    #[error("no planner named {name}: expected one of {}, or an expression such as {UCT_GREEDY}", name_list())]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// It looks like an expression and is none.
    #[error("{text} is no expression: {error}")]
    Expression {
        /// What was asked for.
        text: String,
        /// Where and why.
        error: ParseError,
    },
    /// A number where none belongs, or one out of range.
    #[error("{name}:{parameter} is out of range: expected {expected}")]
    Parameter {
        /// The planner.
        name: String,
        /// What stands after the colon.
        parameter: String,
        /// What would be accepted.
        expected: String,
    },
}

fn name_list() -> String {
    NAMES.map(|(name, _)| name).join(", ")
}

/// The planner of this name, or the one that searches with this expression, with all its randomness from `seed`.
///
/// # Errors
/// When the text is neither: the error lists the names, or says where the expression goes wrong.
pub fn by_name(name_or_expression: &str, seed: u64) -> Result<Box<dyn Planner>, PlannerError> {
    let text = name_or_expression.trim();
    if text.contains('(') || text == SAMPLING {
        let error = |error| PlannerError::Expression { text: text.to_owned(), error };
        return Ok(Box::new(Grammar::new(text.parse().map_err(error)?, seed)));
    }
    let (name, parameter) = match text.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (text, None),
    };
    let number = |default: u16, max: u16| number_of(name, parameter, default, max);
    let options = SurvivalOptions { seed, ..SurvivalOptions::default() };
    let planner: Box<dyn Planner> = match name {
        "paranoid" => return Ok(Box::new(Paranoid::new(number(PARANOID_TICKS, PARAMETER_MAX)?))),
        "lookahead" => return Ok(Box::new(Lookahead::new(number(LOOKAHEAD_TICKS, PARAMETER_MAX)?))),
        "nested" => {
            let level = number(1, DEPTH_MAX as u16 / 2 - 1)?;
            return Ok(Box::new(Grammar::new(nested(level).expect("a level within the limits"), seed)));
        }
        "random" => Box::new(Random::new(seed)),
        "safest" => Box::new(Safest::new()),
        "sampling" => grammar(SAMPLING, seed),
        "iterative-sampling" => grammar(ITERATIVE_SAMPLING, seed),
        "uct" => grammar(UCT, seed),
        "uct-greedy" => grammar(UCT_GREEDY, seed),
        "show-off" => Box::new(ShowOff::new(options)),
        "cautious" => Box::new(Cautious::new()),
        "survival" => Box::new(Survivor::new(options)),
        _ => return Err(PlannerError::Unknown { name: text.to_owned() }),
    };
    match parameter {
        None => Ok(planner),
        Some(parameter) => Err(PlannerError::Parameter {
            name: name.to_owned(),
            parameter: parameter.to_owned(),
            expected: format!("{name} alone"),
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
    Box::new(Grammar::new(expression.parse().expect("our own expressions are well formed"), seed))
}

/// `step(lookahead(...))`, `level` times, around random lives.
fn nested(level: u16) -> Result<Expression, ExpressionError> {
    let mut components = [Component::Step, Component::Lookahead].repeat(usize::from(level));
    components.push(Component::Simulate { policy: Policy::Random, horizon: None });
    Expression::new(components)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_planner_and_the_expressions_told_are_those_used() {
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
    fn numbers_and_expressions_are_read() {
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
        assert_eq!(error("nested:16"), "nested:16 is out of range: expected a whole number from 1 to 15");
        assert_eq!(error("lookahead:x"), "lookahead:x is out of range: expected a whole number from 1 to 64");
        assert_eq!(error("safest:2"), "safest:2 is out of range: expected safest alone");
        let place = error("step(dance)");
        assert!(place.starts_with("step(dance) is no expression: character 6: expected simulate, "), "{place}");
    }
}
