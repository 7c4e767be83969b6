use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::names::named;
use super::{Direction, NameError, Position};

named! {
    /// The player's move in a tick. In text and JSON, a move is one character.
    pub enum Move, "move" {
        /// One step to the left.
        Left = "L",
        /// One step to the right.
        Right = "R",
        /// One step up.
        Up = "U",
        /// One step down.
        Down = "D",
        /// No step.
        Stay = ".",
    }
}

impl Move {
    /// The direction of the step; `None` for [`Move::Stay`].
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Left => Some(Direction::Left),
            Self::Right => Some(Direction::Right),
            Self::Up => Some(Direction::Up),
            Self::Down => Some(Direction::Down),
            Self::Stay => None,
        }
    }

    /// The character in plans: `L`, `R`, `U`, `D`, or `.` for staying.
    pub const fn letter(self) -> char {
        self.name().as_bytes()[0] as char
    }
}

impl Position {
    /// The position after a move, ignoring walls.
    #[must_use]
    pub fn after(self, player_move: Move) -> Self {
        player_move.direction().map_or(self, |direction| self.towards(direction))
    }

    /// The move from this position to `next`; `None` if `next` is more than one step away.
    pub fn move_to(self, next: Self) -> Option<Move> {
        Move::ALL.into_iter().find(|&player_move| self.after(player_move) == next)
    }
}

impl From<Direction> for Move {
    fn from(direction: Direction) -> Self {
        Self::ALL[direction as usize]
    }
}

impl TryFrom<char> for Move {
    type Error = NameError;

    fn try_from(letter: char) -> Result<Self, NameError> {
        letter.encode_utf8(&mut [0; 4]).parse()
    }
}

/// The moves of consecutive ticks. In text and JSON, a plan has one character per move: `RRD.L`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Plan(pub Vec<Move>);

impl Deref for Plan {
    type Target = [Move];

    fn deref(&self) -> &[Move] {
        &self.0
    }
}

impl From<&[Move]> for Plan {
    fn from(moves: &[Move]) -> Self {
        Self(moves.to_vec())
    }
}

impl From<Vec<Move>> for Plan {
    fn from(moves: Vec<Move>) -> Self {
        Self(moves)
    }
}

impl FromIterator<Move> for Plan {
    fn from_iter<I: IntoIterator<Item = Move>>(moves: I) -> Self {
        Self(moves.into_iter().collect())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|player_move| write!(f, "{player_move}"))
    }
}

impl FromStr for Plan {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        text.chars().map(Move::try_from).collect()
    }
}

impl From<Plan> for String {
    fn from(plan: Plan) -> Self {
        plan.to_string()
    }
}

impl TryFrom<String> for Plan {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_and_plans_round_trip_through_text_and_json() {
        for player_move in Move::ALL {
            assert_eq!(player_move.to_string().parse(), Ok(player_move));
            let json = serde_json::to_string(&player_move).unwrap();
            assert_eq!(json, format!("\"{player_move}\""));
            assert_eq!(serde_json::from_str::<Move>(&json).unwrap(), player_move);
        }
        let plan: Plan = "RRD.LU".parse().unwrap();
        assert_eq!((plan.len(), plan[2], plan.to_string().as_str()), (6, Move::Down, "RRD.LU"));
        assert_eq!(serde_json::to_string(&plan).unwrap(), "\"RRD.LU\"");
        assert_eq!(serde_json::from_str::<Plan>("\"RRD.LU\"").unwrap(), plan);
    }

    #[test]
    fn unknown_letters_are_named() {
        let error = |text: &str| text.parse::<Plan>().unwrap_err().to_string();
        assert_eq!(error("RRx"), "unknown move \"x\": expected one of L, R, U, D, .");
        assert_eq!("RR".parse::<Move>().unwrap_err().to_string(), "unknown move \"RR\": expected one of L, R, U, D, .");
        assert_eq!(
            "cat".parse::<crate::game::Style>().unwrap_err().to_string(),
            "unknown style \"cat\": expected one of bull, goldfish, shark, owl, deer, hawk"
        );
    }
}
