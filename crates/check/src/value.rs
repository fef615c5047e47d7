//! Values that are all distinct: every byte follows from the key, the version and the length.

/// Makes the value of `key` in that version: `len` pseudo-random bytes, all 256 byte values among them.
pub fn of(key: &[u8], version: u64, len: usize) -> Vec<u8> {
    let mut state = hash(key) ^ version.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (len as u64).rotate_left(40);
    let mut value = Vec::with_capacity(len + 8);
    while value.len() < len {
        value.extend_from_slice(&next(&mut state).to_le_bytes());
    }
    value.truncate(len);
    value
}

/// Hashes bytes by FNV-1a, 64 bits, with the mixing of splitmix64 at the end.
pub fn hash(bytes: &[u8]) -> u64 {
    let folded = bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    mix(folded)
}

/// The next number of splitmix64 (Steele, Lea and Flood, 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mix(*state)
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns a shuffled order of `0..count`, the same for the same seed.
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, (next(&mut state) % (at as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::{of, shuffled};

    #[test]
    fn values_differ_by_key_version_and_length_and_hold_every_byte_value() {
        assert_eq!(of(b"a", 1, 1000), of(b"a", 1, 1000));
        assert_ne!(of(b"a", 1, 16), of(b"b", 1, 16));
        assert_ne!(of(b"a", 1, 16), of(b"a", 2, 16));
        assert_ne!(of(b"a", 1, 17)[..16], of(b"a", 1, 16)[..]);
        let long = of(b"a", 1, 64 << 10);
        assert!((0..=255).all(|byte: u8| long.contains(&byte)));
        assert_eq!(of(b"", 0, 0), b"");
    }

    #[test]
    fn a_shuffled_order_holds_every_number_once() {
        let mut order = shuffled(100, 7);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
