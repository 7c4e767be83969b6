use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Stream `index` of PCG32 (O'Neill, *PCG: A Family of Simple Fast Space-Efficient Statistically
/// Good Algorithms for Random Number Generation*, 2014). Ranges and shuffles are implemented here,
/// because the `rand` crate may change its algorithms in a new version.
pub(super) struct Dice {
    rng: Pcg32,
}

impl Dice {
    pub fn new(seed: u64, index: u64) -> Self {
        let mut rng = Pcg32::new(seed, index);
        // Streams with the same `seed + 2 * index` begin alike, so the first outputs are skipped.
        for _ in 0..16 {
            rng.next_u32();
        }
        Self { rng }
    }

    /// A random number from 0 to `count - 1`, or 0 if `count` is 0. Its bias is negligible.
    pub fn below(&mut self, count: usize) -> usize {
        ((u64::from(self.rng.next_u32()) * count as u64) >> 32) as usize
    }

    /// A random number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as usize) as i32
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
