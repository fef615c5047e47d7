//! A fast 64-bit fingerprint of a value, so that a job knows what it wrote without keeping it.
//!
//! Four lanes of folded 64 x 64 → 128 bit multiplication (the kernel of wyhash), 64 bytes per round. It finds
//! accidents, not attacks: a wrong value passes with probability 2^-64.

const SECRETS: [u64; 8] = [
    0x2D35_8DCC_AA6C_78A5,
    0x8BB8_4B93_962E_ACC9,
    0x4B33_A62E_D433_D4A3,
    0x4D5A_2DA5_1DE1_AA47,
    0xA076_1D64_78BD_642F,
    0xE703_7ED1_A0B4_28DB,
    0x9036_2BC6_0D3F_1F6B,
    0x589C_D23F_6B0E_2C35,
];

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn word(block: &[u8; 64], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at * 8..at * 8 + 8]);
    u64::from_le_bytes(bytes)
}

#[inline]
fn round(lanes: &mut [u64; 4], block: &[u8; 64]) {
    for (lane, state) in lanes.iter_mut().enumerate() {
        let (a, b) = (word(block, 2 * lane), word(block, 2 * lane + 1));
        *state = fold(a ^ SECRETS[2 * lane], b ^ SECRETS[2 * lane + 1] ^ *state);
    }
}

/// Returns the fingerprint of these bytes.
#[inline]
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let mut lanes = [SECRETS[4], SECRETS[5], SECRETS[6], SECRETS[7]];
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        round(&mut lanes, block);
    }
    if !rest.is_empty() {
        let mut block = [0; 64];
        block[..rest.len()].copy_from_slice(rest);
        round(&mut lanes, &block);
    }
    let [a, b, c, d] = lanes;
    fold(fold(a, b) ^ SECRETS[0] ^ bytes.len() as u64, fold(c, d) ^ SECRETS[1])
}

#[cfg(test)]
mod tests {
    use super::fingerprint;
    use std::collections::HashSet;

    #[test]
    fn any_changed_cut_added_or_swapped_byte_changes_the_fingerprint() {
        let bytes: Vec<u8> = (0..200u32).map(|at| (at * 7 % 251) as u8).collect();
        let mut seen = HashSet::new();
        for length in 0..=bytes.len() {
            assert!(seen.insert(fingerprint(&bytes[..length])));
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert!(seen.insert(fingerprint(&changed)), "byte {at}, bit {bit}");
            }
        }
        for at in 0..bytes.len() - 64 {
            let mut swapped = bytes.clone();
            swapped.swap(at, at + 64);
            assert!(swapped == bytes || seen.insert(fingerprint(&swapped)), "{at}");
        }
        assert!(seen.insert(fingerprint(&[0; 300])) && seen.insert(fingerprint(&[0; 301])));
    }
}
