//! A hash that is the same on every machine and in every version.

/// FNV-1a: Fowler, Noll and Vo, *The FNV Non-Cryptographic Hash Algorithm* (IETF draft), 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv(pub u64);

impl Fnv {
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of the draft, its appendix C.
    #[test]
    fn it_is_fnv_1a() {
        for (text, hash) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            let mut fnv = Fnv::new();
            fnv.bytes(text.as_bytes());
            assert_eq!(fnv.0, hash, "{text:?}");
        }
    }
}
