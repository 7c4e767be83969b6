//! A hash function for signatures and seeds. Equal bytes have the same hash on every machine and in
//! every version.

use std::hash::Hasher;

/// 64-bit FNV-1a: Fowler, Noll and Vo, *The FNV Non-Cryptographic Hash Algorithm* (IETF draft).
#[derive(Clone, Copy, Debug)]
pub struct FnvHasher(u64);

impl Default for FnvHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for FnvHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_vectors_of_fnv_1a_hold() {
        for (text, hash) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            let mut fnv = FnvHasher::default();
            fnv.write(text.as_bytes());
            assert_eq!(fnv.finish(), hash, "{text:?}");
        }
    }
}
