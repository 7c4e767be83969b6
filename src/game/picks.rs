//! Tables of the threats' random numbers. The server computes `x = sin(seed) * 10000`, draws the
//! number `x - floor(x)`, adds 1 to the seed, and picks entry `floor(number * len)` of a list. The
//! tables are indexed by the number of earlier draws, so entry 0 is for the first seed.

use super::{Direction, Rules};

/// The length of the tables: a power of two above 2,001, the most draws that a threat can make.
pub(super) const DRAWS: usize = 2048;

/// The number of draws of a threat before the first tick: one, for its direction.
pub(super) const FIRST_DRAWS: u16 = 1;

/// Entries per tile in a table indexed by a tile and a twelfth (see [`Numbers::twelfths`]): 12,
/// rounded up to a power of two.
pub(super) const TWELFTHS: usize = 16;

/// The number drawn for a seed, from 0 to 1. Not `x.fract()`, because it can be negative.
pub(crate) fn number(seed: i64, scale: f64) -> f64 {
    let x = libm::sin(seed as f64) * scale;
    x - x.floor()
}

/// The picked index; 0 if `len` is 0. With a tiny scale, `number` can round to 1, which picks the
/// last entry.
pub(crate) fn pick(number: f64, len: usize) -> usize {
    ((number * len as f64).floor() as usize).min(len.saturating_sub(1))
}

#[derive(Clone, Debug)]
pub(super) struct Numbers(Box<[f64; DRAWS]>);

impl Numbers {
    pub fn new(rules: &Rules) -> Self {
        let seed = |draw: usize| i64::from(rules.first_seed) + draw as i64;
        Self(Box::new(std::array::from_fn(|draw| number(seed(draw), rules.pick_scale))))
    }

    pub fn first_direction(&self, rules: &Rules) -> Direction {
        rules.spawn_order[pick(self.0[0], Direction::ALL.len())]
    }

    pub fn picks(&self, len: usize) -> impl Iterator<Item = usize> {
        self.0.iter().map(move |&number| pick(number, len))
    }

    /// For each draw, the number in units of 1/12, rounded down (0 to 11). This *twelfth*
    /// determines the pick from a list of up to 4 entries: `pick = twelfth * len / 12`.
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
        // A tiny negative scale produces numbers that round to 1.
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
        // sin(4) * 10000 is -7568.02..., and its floor is -7569. The number is 0.975...
        assert!((number(4, 10_000.0) - 0.975_046_920_717_7).abs() < 1e-9);
    }
}
