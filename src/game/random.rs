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

/// The index that a threat with this seed picks from a list of `len` entries.
pub(super) fn pick(seed: usize, len: usize) -> usize {
    (number(seed) * len as f64).floor() as usize
}

/// A number from 0 to 11 that stands for the picks from lists of 1, 2, 3 and 4 at once: `pick(seed, len) = twelfth * len / 12`.
fn twelfth(seed: usize) -> usize {
    (0..12)
        .find(|twelfth| (1..=4).all(|len| pick(seed, len) == twelfth * len / 12))
        .expect("a number in [0, 1) lies in one twelfth; a test goes through every seed")
}

/// Twelfths by seed.
pub(super) fn twelfths() -> [u8; SEEDS] {
    std::array::from_fn(|seed| twelfth(seed) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pick_is_the_first_entry() {
        for len in 1..=10 {
            assert_eq!(pick(0, len), 0, "sin(0) is 0");
        }
    }

    #[test]
    fn twelfths_stand_for_every_list_of_options() {
        for (seed, &twelfth) in twelfths().iter().enumerate() {
            for len in 1..=4 {
                assert_eq!(usize::from(twelfth) * len / 12, pick(seed, len), "seed {seed}, list of {len}");
            }
        }
    }

    #[test]
    fn numbers_below_zero_are_taken_from_the_floor() {
        // sin(4) * 10000 = -7568.02..., whose distance from the floor is 0.975..., not 0.024...
        assert!((number(4) - 0.975_046_920_717_7).abs() < 1e-9);
    }
}
