//! The server's pseudo-random numbers, computed from the sine of a counter.

/// Returns a number of at least 0 and, with the server's scale, below 1. Adds 1 to the seed.
pub(super) fn next(seed: &mut i32, scale: f64) -> f64 {
    let x = libm::sin(f64::from(*seed)) * scale;
    *seed += 1;
    // Unlike `x.fract()`, this difference is never negative.
    x - x.floor()
}

/// Picks an entry from the list. Like the server, draws a number even if the list is empty. With
/// some scales other than the server's, the number can round up to 1, which picks the last entry.
pub(super) fn pick<T: Copy>(seed: &mut i32, scale: f64, list: &[T]) -> Option<T> {
    let index = (next(seed, scale) * list.len() as f64).floor() as usize;
    list.get(index).or(list.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: f64 = 10_000.0;

    #[test]
    fn next_is_the_fraction_above_the_floor() {
        let mut seed = 0;
        assert_eq!(next(&mut seed, SCALE), 0.0);
        // sin(1) = 0.8414709848..., and sin(4) = -0.7568024953...
        assert!((next(&mut seed, SCALE) - 0.709_848_078_965).abs() < 1e-9);
        seed = 4;
        assert!((next(&mut seed, SCALE) - 0.975_046_920_718).abs() < 1e-9);
        assert_eq!(seed, 5);
    }

    #[test]
    fn picks_scale_with_the_list() {
        // next(1) = 0.7098...
        assert_eq!(pick(&mut 1, SCALE, &['a']), Some('a'));
        assert_eq!(pick(&mut 1, SCALE, &['a', 'b', 'c']), Some('c'));
        assert_eq!(pick(&mut 1, SCALE, &['a', 'b', 'c', 'd']), Some('c'));
    }

    #[test]
    fn number_that_rounds_up_to_one_picks_the_last_entry() {
        assert_eq!(next(&mut 1, -1e-30), 1.0);
        assert_eq!(pick(&mut 1, -1e-30, &['a', 'b', 'c']), Some('c'));
    }

    #[test]
    fn empty_list_still_draws() {
        let mut seed = 7;
        assert_eq!(pick::<u8>(&mut seed, SCALE, &[]), None);
        assert_eq!(seed, 8);
    }
}
