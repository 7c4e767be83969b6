//! The threats' "random" numbers, as tables.
//!
//! The server draws `x = sin(seed) * 10000; x - floor(x)`, adds 1 to the seed, and picks index
//! `floor(number * len)` from a list. No threat draws more than once per move, so the draws of a
//! game stay below [`DRAWS`], and every pick of every list that occurs is a table lookup. Tables
//! are indexed by how often a threat has drawn, whatever its first seed is.

use super::{Direction, Rules};

/// Draws that the tables hold: a power of two above the 2,001 of a threat that moves on every tick
/// of a game.
pub(super) const DRAWS: usize = 2048;

/// Draws that every threat has made when the game starts: one, for its direction.
pub(super) const FIRST_DRAWS: u16 = 1;

/// Entries per tile in a table that is indexed by a twelfth: a power of two.
pub(super) const TWELFTHS: usize = 16;

/// The number from 0 to 1 that a threat draws with this seed. For negative `x`, `fract` is not `x -
/// floor(x)`.
pub(crate) fn number(seed: i64, scale: f64) -> f64 {
    let x = libm::sin(seed as f64) * scale;
    x - x.floor()
}

/// The index that a number picks from a list of `len` entries. The server's numbers are below 1;
/// those of other scales can be rounded up to it, and pick the last entry then.
pub(crate) fn pick(number: f64, len: usize) -> usize {
    ((number * len as f64).floor() as usize).min(len.saturating_sub(1))
}

/// The numbers that a threat draws in a game, in their order.
#[derive(Clone, Debug)]
pub(super) struct Numbers(Box<[f64; DRAWS]>);

impl Numbers {
    /// Computes every number once.
    pub fn new(rules: &Rules) -> Self {
        let seed = |draw: usize| i64::from(rules.first_seed) + draw as i64;
        Self(Box::new(std::array::from_fn(|draw| number(seed(draw), rules.pick_scale))))
    }

    /// The first direction of every threat: its first pick.
    pub fn first_direction(&self, rules: &Rules) -> Direction {
        rules.spawn_order[pick(self.0[0], Direction::ALL.len())]
    }

    /// By draw, the index picked from a list of `len` entries.
    pub fn picks(&self, len: usize) -> impl Iterator<Item = usize> {
        self.0.iter().map(move |&number| pick(number, len))
    }

    /// By draw, a number from 0 to 11 that stands for the picks from lists of 1, 2, 3 and 4 at
    /// once: `pick = twelfth * len / 12`.
    pub fn twelfths(&self) -> Box<[u8; DRAWS]> {
        Box::new(self.0.map(|number| pick(number, 12) as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_pick_is_the_first_entry() {
        let numbers = Numbers::new(&Rules::BLITZ_2025);
        for len in 1..=10 {
            assert_eq!(numbers.picks(len).next(), Some(0), "sin(0) is 0");
        }
        assert_eq!(numbers.first_direction(&Rules::BLITZ_2025), Direction::Up);
    }

    #[test]
    fn twelfths_reproduce_picks_from_lists_of_one_to_four() {
        let rules = Rules::BLITZ_2025;
        // A small negative scale makes numbers that round to 1.
        for (first_seed, pick_scale) in
            [(0, 10_000.0), (-777, 3.5), (1_000_000, 1e15), (0, -1e-30), (0, 0.0), (5, 12.0)]
        {
            let numbers = Numbers::new(&Rules { first_seed, pick_scale, ..rules });
            let twelfths = numbers.twelfths();
            for len in 1..=4 {
                for (draw, pick) in numbers.picks(len).enumerate() {
                    let found = usize::from(twelfths[draw]) * len / 12;
                    assert_eq!(found, pick, "draw {draw}, list of {len}, scale {pick_scale}");
                    assert!(pick < len);
                }
            }
        }
    }

    #[test]
    fn negative_values_use_floor_not_fract() {
        // sin(4) * 10000 = -7568.02..., whose distance from the floor is 0.975..., not 0.024...
        assert!((number(4, 10_000.0) - 0.975_046_920_717_7).abs() < 1e-9);
    }
}
