use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A source of random choices. The same seed or bytes give the same choices on every machine.
#[derive(Debug)]
pub struct Dice<'a>(Source<'a>);

#[derive(Debug)]
enum Source<'a> {
    Generator(Pcg64Mcg),
    /// The unused bytes. A choice uses one byte, or two if there are more than 256 alternatives, as
    /// long as bytes are left.
    Bytes(&'a [u8]),
}

impl<'a> Dice<'a> {
    pub fn from_seed(seed: u64) -> Self {
        Self(Source::Generator(Pcg64Mcg::seed_from_u64(seed)))
    }

    /// Creates a source from bytes. Once the bytes are used up, [`below`](Self::below) returns 0.
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(Source::Bytes(bytes))
    }

    pub fn is_exhausted(&self) -> bool {
        matches!(self.0, Source::Bytes([]))
    }

    /// Returns a number from 0 to `count - 1`, or 0 if `count` is 0. `count` must be at most
    /// 65,536.
    pub fn below(&mut self, count: usize) -> usize {
        match &mut self.0 {
            Source::Generator(generator) => ((u64::from(generator.next_u32()) * count as u64) >> 32) as usize,
            Source::Bytes(bytes) => {
                let (used, rest) = bytes.split_at(bytes.len().min(if count > 256 { 2 } else { 1 }));
                *bytes = rest;
                used.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)) % count.max(1)
            }
        }
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as usize) as i32
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_consumed_choice_by_choice() {
        let mut dice = Dice::from_bytes(&[7, 1, 2, 9]);
        assert_eq!((dice.below(5), dice.below(1000)), (2, 258));
        assert!(!dice.is_exhausted());
        assert_eq!(dice.below(256), 9);
        assert!(dice.is_exhausted());
        assert_eq!((dice.below(5), dice.below(1000)), (0, 0));
    }

    #[test]
    fn seeded_source_never_ends_and_reaches_every_value() {
        let mut dice = Dice::from_seed(1);
        let mut seen = [0; 7];
        for _ in 0..700 {
            seen[dice.below(7)] += 1;
        }
        assert!(seen.iter().all(|&count| count > 50) && !dice.is_exhausted(), "{seen:?}");
    }
}
