/// Returns a seed that depends on all numbers and their order. Uses the finaliser of SplitMix64
/// (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, 2014).
pub fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x9e37_79b9_7f4a_7c15, |state, number| {
        let mut mixed = (state ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn seeds_differ_by_number_and_order() {
        let seeds: HashSet<u64> = (0..100).flat_map(|left| (0..100).map(move |right| mix(&[left, right]))).collect();
        assert_eq!(seeds.len(), 10_000);
        assert_ne!(mix(&[1]), mix(&[1, 0]));
    }
}
