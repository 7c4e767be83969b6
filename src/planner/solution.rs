//! Solutions as text and JSON. The text `doomed 6 6 120 LL.RU` lists the outcome, final tick,
//! bound, simulated ticks and moves (`-` if none). The JSON has the fields of [`Solution`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::{Outcome, Solution};
use crate::game::{Move, Plan};

const NO_MOVES: &str = "-";

/// The error for a text that is not a valid [`Solution`] or [`Outcome`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("solution: expected {expected}, found {found:?}")]
pub struct SolutionError {
    expected: &'static str,
    found: String,
}

impl SolutionError {
    fn new(expected: &'static str, found: &str) -> Self {
        const FOUND_MAX: usize = 40;
        Self { expected, found: found.chars().take(FOUND_MAX).collect() }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Outcome {
    type Err = SolutionError;

    fn from_str(text: &str) -> Result<Self, SolutionError> {
        let outcome =
            [Self::Survives, Self::Doomed, Self::Undecided].into_iter().find(|outcome| outcome.name() == text);
        outcome.ok_or_else(|| SolutionError::new("survives, doomed or undecided", text))
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

fn letters(moves: &[Move]) -> String {
    Plan::from(moves).to_string()
}

fn moves(letters: &str) -> Result<Vec<Move>, SolutionError> {
    let plan = letters.parse::<Plan>();
    plan.map(|plan| plan.0).map_err(|_| SolutionError::new("moves as letters L, R, U, D and dots", letters))
}

impl fmt::Display for Solution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outcome, moves, final_tick, bound, simulated_ticks } = self;
        let moves = if moves.is_empty() { NO_MOVES.to_owned() } else { letters(moves) };
        write!(f, "{outcome} {final_tick} {bound} {simulated_ticks} {moves}")
    }
}

impl FromStr for Solution {
    type Err = SolutionError;

    fn from_str(text: &str) -> Result<Self, SolutionError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [outcome, final_tick, bound, simulated_ticks, letters] = words[..] else {
            return Err(SolutionError::new("an outcome, a final tick, a bound, simulated ticks and moves", text));
        };
        let tick = |text: &str| text.parse().map_err(|_| SolutionError::new("a tick", text));
        Ok(Self {
            outcome: outcome.parse()?,
            final_tick: tick(final_tick)?,
            bound: tick(bound)?,
            simulated_ticks: simulated_ticks
                .parse()
                .map_err(|_| SolutionError::new("a number of ticks", simulated_ticks))?,
            moves: if letters == NO_MOVES { Vec::new() } else { moves(letters)? },
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SolutionText {
    outcome: Outcome,
    moves: String,
    final_tick: u16,
    bound: u16,
    simulated_ticks: u64,
}

impl Serialize for Solution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { outcome, ref moves, final_tick, bound, simulated_ticks } = *self;
        SolutionText { outcome, moves: letters(moves), final_tick, bound, simulated_ticks }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Solution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let SolutionText { outcome, moves: letters, final_tick, bound, simulated_ticks } =
            SolutionText::deserialize(deserializer)?;
        let moves = moves(&letters).map_err(serde::de::Error::custom)?;
        Ok(Self { outcome, moves, final_tick, bound, simulated_ticks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solution(moves: &[Move]) -> Solution {
        Solution { outcome: Outcome::Doomed, moves: moves.to_vec(), final_tick: 12, bound: 14, simulated_ticks: 345 }
    }

    #[test]
    fn solutions_round_trip_as_text_and_as_json() {
        for moves in [&[][..], &Move::ALL] {
            let solution = solution(moves);
            assert_eq!(solution.to_string().parse(), Ok(solution.clone()));
            let json = serde_json::to_string(&solution).expect("JSON");
            assert_eq!(serde_json::from_str::<Solution>(&json).expect("a solution"), solution);
        }
        assert_eq!(solution(&[]).to_string(), "doomed 12 14 345 -");
        let json = r#"{"outcome":"doomed","moves":"LRUD.","final_tick":12,"bound":14,"simulated_ticks":345}"#;
        assert_eq!(serde_json::to_string(&solution(&Move::ALL)).expect("JSON"), json);
    }

    #[test]
    fn invalid_texts_name_what_was_expected() {
        for (text, expected) in [
            ("", "an outcome, a final tick, a bound, simulated ticks and moves"),
            ("lost 12 14 345 L", "survives, doomed or undecided"),
            ("doomed x 14 345 L", "a tick"),
            ("doomed 12 14 -1 L", "a number of ticks"),
            ("doomed 12 14 345 LX", "moves as letters L, R, U, D and dots"),
        ] {
            let error = text.parse::<Solution>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("solution: expected {expected}, found ")), "{error}");
        }
    }
}
