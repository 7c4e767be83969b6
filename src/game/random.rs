//! The threats' "random" numbers, as tables.
//!
//! The server draws `x = sin(seed) * 10000; x - floor(x)` and picks index `floor(number * len)` from a list. No threat draws more
//! than once a move, so the seeds of a game stay below [`SEEDS`], and every pick of every list that occurs is a table look-up.

/// Seeds that the tables hold: a power of two above the 1,378 that a game of 2,000 ticks can reach.
pub(super) const SEEDS: usize = 2048;

/// Entries a tile in a table that is indexed by a twelfth: a power of two.
pub(super) const TWELFTHS: usize = 16;

/// The number in [0, 1) that a threat draws with this seed. Below zero, `fract` would be another number than `x - floor(x)`.
fn number(seed: usize) -> f64 {
    let x = libm::sin(seed as f64) * 10_000.0;
    x - x.floor()
}

/// The index that a number picks from a list of `len` entries.
fn pick(number: f64, len: usize) -> usize {
    (number * len as f64).floor() as usize
}

/// The numbers of every seed.
#[derive(Clone, Debug)]
pub(super) struct Numbers(Box<[f64; SEEDS]>);

impl Numbers {
    /// Computes every number once.
    pub fn new() -> Self {
        Self(Box::new(std::array::from_fn(number)))
    }

    /// By seed, the index picked from a list of `len` entries.
    pub fn picks(&self, len: usize) -> impl Iterator<Item = usize> {
        self.0.iter().map(move |&number| pick(number, len))
    }

    /// By seed, a number from 0 to 11 that stands for the picks from lists of 1, 2, 3 and 4 at once: `pick = twelfth * len / 12`.
    pub fn twelfths(&self) -> Box<[u8; SEEDS]> {
        Box::new(self.0.map(|number| pick(number, 12) as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pick_is_the_first_entry() {
        for len in 1..=10 {
            assert_eq!(Numbers::new().picks(len).next(), Some(0), "sin(0) is 0");
        }
    }

    #[test]
    fn twelfths_stand_for_every_list_of_options() {
        let numbers = Numbers::new();
        let twelfths = numbers.twelfths();
        for len in 1..=4 {
            for (seed, pick) in numbers.picks(len).enumerate() {
                assert_eq!(usize::from(twelfths[seed]) * len / 12, pick, "seed {seed}, list of {len}");
            }
        }
    }

    #[test]
    fn numbers_below_zero_are_taken_from_the_floor() {
        // sin(4) * 10000 = -7568.02..., whose distance from the floor is 0.975..., not 0.024...
        assert!((number(4) - 0.975_046_920_717_7).abs() < 1e-9);
    }
}
