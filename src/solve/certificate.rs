//! Certificates: proofs about a map, for a verifier that shares no game logic with the prover. Each
//! line is a JSON object: a header, then one object per sweep, then a footer
//! (`instances/CERTIFICATES.md`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::proof::Step;
use super::solution::Solution;
use crate::files::{Object, object};
use crate::game::{LAST_TICK, Move, Plan, Rules, World};

const VERSION: u32 = 5;

/// A line (a sequence of moves), and a proof that no line ends after the bound. In the checkout,
/// `getaway verify` and `instances/check.py` verify certificates.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The rules of the game.
    pub rules: Rules,
    /// The moves of the line, from the start of the game.
    pub moves: Vec<Move>,
    /// The tick in which the line ends; 2001 if the player survives.
    pub final_tick: u16,
    /// No line ends in a later tick; 2001 if nothing is proven.
    pub bound_tick: u16,
    /// The sweeps of the proof, in order.
    pub steps: Vec<Step>,
    /// How the proof ends.
    pub end: ProofEnd,
}

/// How a proof ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProofEnd {
    /// Nothing is proven, and the bound is 2001.
    None,
    /// The last sweep runs out of states.
    Empty,
    /// An exhaustive search, which skips the states that the sweeps exclude, runs out of states.
    Search,
}

/// The error for an invalid certificate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
#[non_exhaustive]
pub struct CertificateError {
    /// The number of the invalid line in the text, from 1.
    pub line: usize,
    /// The cause.
    pub message: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    certificate: u32,
    #[serde(deserialize_with = "object")]
    rules: Rules,
    final_tick: u16,
    bound_tick: u16,
    actions: Plan,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    end: ProofEnd,
}

impl Certificate {
    /// Creates the certificate of a solution for the start of a game. If the solution's bound is
    /// below 2001 and it has no proof, the certificate states that an exhaustive search proves the
    /// bound. Returns `None` if the solution is for another state: its line does not reach its final
    /// tick from the start.
    pub fn new(world: &World, solution: &Solution) -> Option<Self> {
        let mut state = world.start();
        world.play(&mut state, &solution.moves);
        let proof = solution.proof.as_ref();
        let end = match proof {
            _ if solution.bound_tick > LAST_TICK => ProofEnd::None,
            Some(proof) if !proof.ends_with_search => ProofEnd::Empty,
            _ => ProofEnd::Search,
        };
        (state.tick() == solution.final_tick).then(|| Self {
            rules: *world.rules(),
            moves: solution.moves.clone(),
            final_tick: solution.final_tick,
            bound_tick: solution.bound_tick,
            steps: proof.map_or_else(Vec::new, |proof| proof.steps.clone()),
            end,
        })
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn json(value: &impl Serialize) -> Result<String, fmt::Error> {
            serde_json::to_string(value).map_err(|_| fmt::Error)
        }
        let header = Header {
            certificate: VERSION,
            rules: self.rules,
            final_tick: self.final_tick,
            bound_tick: self.bound_tick,
            actions: Plan::from(self.moves.as_slice()),
        };
        writeln!(f, "{}", json(&header)?)?;
        for step in &self.steps {
            writeln!(f, "{}", json(step)?)?;
        }
        writeln!(f, "{}", json(&Footer { end: self.end })?)
    }
}

impl FromStr for Certificate {
    type Err = CertificateError;

    fn from_str(text: &str) -> Result<Self, CertificateError> {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let ([first, steps @ .., last], end) = (lines.as_slice(), lines.len()) else {
            return Err(error(1, "expected a certificate of at least two lines"));
        };
        let header: Header = parse(1, first)?;
        if header.certificate != VERSION {
            return Err(error(1, format!("version {}: expected {VERSION}", header.certificate)));
        }
        let steps = steps.iter().enumerate().map(|(index, line)| parse(index + 2, line));
        Ok(Self {
            rules: header.rules,
            moves: header.actions.0,
            final_tick: header.final_tick,
            bound_tick: header.bound_tick,
            steps: steps.collect::<Result<_, _>>()?,
            end: parse::<Footer>(end, last)?.end,
        })
    }
}

fn error(line: usize, message: impl Into<String>) -> CertificateError {
    CertificateError { line, message: message.into() }
}

fn parse<'de, T: Deserialize<'de>>(line: usize, text: &'de str) -> Result<T, CertificateError> {
    serde_json::from_str(text).map(|Object(value)| value).map_err(|invalid| error(line, invalid.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> Certificate {
        let step = Step {
            target_tick: 12,
            from_tick: 3,
            until_tick: 9,
            counts_draws: false,
            joins: vec![(3, 0), (5, 2)],
            known: vec![3, 5, 7, 8],
        };
        Certificate {
            rules: Rules::NO_JUMP,
            moves: vec![Move::Left, Move::Stay],
            final_tick: 11,
            bound_tick: 12,
            steps: vec![step],
            end: ProofEnd::Empty,
        }
    }

    #[test]
    fn certificates_round_trip_as_text() {
        assert_eq!(certificate().to_string().parse(), Ok(certificate()));
    }

    #[test]
    fn errors_name_the_line() {
        let text = certificate().to_string();
        for (from, to, line) in [
            ("\"from_tick\":3", "\"from_tick\":-3", 2),
            ("empty", "emptied", 3),
            ("[8,8,1]", "[8,8,0]", 2),
            ("\"L.", "\"X.", 1),
        ] {
            let error = text.replace(from, to).parse::<Certificate>().expect_err(to);
            assert_eq!(error.line, line, "{error}");
        }
        assert_eq!("".parse::<Certificate>().expect_err("nothing").line, 1);
    }
}
