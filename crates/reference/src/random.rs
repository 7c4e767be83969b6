//! The server's random numbers: the sine of a counter.

/// The next number in `[0, 1)`; the seed goes up by one.
pub(super) fn next(seed: &mut u32) -> f64 {
    let x = libm::sin(f64::from(*seed)) * 10_000.0;
    *seed += 1;
    // Not `fract`, which is negative below zero.
    x - x.floor()
}

/// A pick from a list. The server draws before it looks at the list, so an empty one costs a number too.
pub(super) fn pick<T: Copy>(seed: &mut u32, list: &[T]) -> Option<T> {
    let index = (next(seed) * list.len() as f64).floor() as usize;
    list.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_fraction_above_the_floor_of_ten_thousand_sines() {
        let mut seed = 0;
        assert_eq!(next(&mut seed), 0.0);
        // sin(1) = 0.8414709848..., sin(4) = -0.7568024953...: the second shows the floor below zero.
        assert!((next(&mut seed) - 0.709_848_078_965).abs() < 1e-9);
        seed = 4;
        assert!((next(&mut seed) - 0.975_046_920_718).abs() < 1e-9);
        assert_eq!(seed, 5);
    }

    #[test]
    fn picks_scale_with_the_list() {
        // next(1) = 0.7098...
        assert_eq!(pick(&mut 1, &['a']), Some('a'));
        assert_eq!(pick(&mut 1, &['a', 'b', 'c']), Some('c'));
        assert_eq!(pick(&mut 1, &['a', 'b', 'c', 'd']), Some('c'));
    }

    #[test]
    fn an_empty_list_still_draws() {
        let mut seed = 7;
        assert_eq!(pick::<u8>(&mut seed, &[]), None);
        assert_eq!(seed, 8);
    }
}
