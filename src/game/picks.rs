//! Tables of the threats' random numbers. The server computes `x = sin(seed) * 10000`, draws the
//! number `x - floor(x)`, adds 1 to the seed, and picks entry `floor(number * len)` of a list. The
//! tables are indexed by the number of earlier draws, so entry 0 is for the first seed.

use std::sync::{Arc, OnceLock};

use super::Rules;

/// The length of the tables: a power of two above 2,001, the most draws that a threat can make.
pub(super) const DRAWS: usize = 2048;

/// The number of draws of a threat before the first tick: one, for its direction.
pub(super) const FIRST_DRAWS: u16 = 1;

/// Entries per tile in a table indexed by a tile and a twelfth (see [`Numbers::twelfths`]): 12,
/// rounded up to a power of two.
pub(super) const TWELFTHS: usize = 16;

/// The number drawn for a seed, from 0 to 1. Not `x.fract()`, because it can be negative.
pub(crate) fn number(seed: i64, scale: f64) -> f64 {
    fraction(sine(seed) * scale)
}

/// The sine of a seed. The sines of the server's seeds are computed once per process.
fn sine(seed: i64) -> f64 {
    static SINES: OnceLock<Box<[f64]>> = OnceLock::new();
    let sines = SINES.get_or_init(|| (0..DRAWS).map(|seed| libm::sin(seed as f64)).collect());
    usize::try_from(seed).ok().and_then(|seed| sines.get(seed).copied()).unwrap_or_else(|| libm::sin(seed as f64))
}

/// `x - x.floor()`, but faster where the processor has no instruction to round down.
fn fraction(x: f64) -> f64 {
    let whole = x as i64 as f64;
    if x.abs() < 1e15 { x - (whole - f64::from(u8::from(whole > x))) } else { x - x.floor() }
}

/// The picked index; 0 if `len` is 0. With a tiny scale, `number` can round to 1, which picks the
/// last entry.
pub(crate) fn pick(number: f64, len: usize) -> usize {
    ((number * len as f64) as usize).min(len.saturating_sub(1))
}

#[derive(Debug)]
pub(super) struct Numbers {
    numbers: [f64; DRAWS],
    /// For each draw, the number in units of 1/12, rounded down (0 to 11). This *twelfth*
    /// determines the pick from a list of up to 4 entries: `pick = twelfth * len / 12`.
    pub twelfths: [u8; DRAWS],
}

impl Numbers {
    /// The numbers under these rules. Those under the server's rules are computed once per process.
    pub fn of(rules: &Rules) -> Arc<Self> {
        static SERVER: OnceLock<Arc<Numbers>> = OnceLock::new();
        let key = |rules: &Rules| (rules.first_seed, rules.pick_scale);
        if key(rules) == key(&Rules::BLITZ_2025) {
            return Arc::clone(SERVER.get_or_init(|| Arc::new(Self::new(rules))));
        }
        Arc::new(Self::new(rules))
    }

    fn new(rules: &Rules) -> Self {
        let seed = |draw: usize| i64::from(rules.first_seed) + draw as i64;
        let numbers = std::array::from_fn(|draw| number(seed(draw), rules.pick_scale));
        Self { numbers, twelfths: numbers.map(|number| pick(number, 12) as u8) }
    }

    /// The index picked from a list of this length after this many draws.
    pub fn pick(&self, draws: u16, len: usize) -> usize {
        pick(self.numbers[usize::from(draws) % DRAWS], len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_pick_is_the_first_entry() {
        let numbers = Numbers::new(&Rules::BLITZ_2025);
        for len in 1..=10 {
            assert_eq!(numbers.pick(0, len), 0, "sin(0) is 0");
        }
    }

    #[test]
    fn twelfths_reproduce_picks_from_lists_of_one_to_four() {
        let rules = Rules::BLITZ_2025;
        // A tiny negative scale produces numbers that round to 1.
        for (first_seed, pick_scale) in
            [(0, 10_000.0), (-777, 3.5), (1_000_000, 1e15), (0, -1e-30), (0, 0.0), (5, 12.0)]
        {
            let numbers = Numbers::new(&Rules { first_seed, pick_scale, ..rules });
            for (draw, len) in (0..DRAWS as u16).flat_map(|draw| (1..=4).map(move |len| (draw, len))) {
                let x = libm::sin(f64::from(first_seed) + f64::from(draw)) * pick_scale;
                let pick = (((x - x.floor()) * len as f64).floor() as usize).min(len - 1);
                assert_eq!(numbers.pick(draw, len), pick, "draw {draw}, list of {len}, scale {pick_scale}");
                let found = usize::from(numbers.twelfths[usize::from(draw)]) * len / 12;
                assert_eq!(found, pick, "draw {draw}, list of {len}, scale {pick_scale}");
            }
        }
    }

    #[test]
    fn negative_values_use_floor_not_fract() {
        // sin(4) * 10000 is -7568.02..., and its floor is -7569. The number is 0.975...
        assert!((number(4, 10_000.0) - 0.975_046_920_717_7).abs() < 1e-9);
    }
}
