//! Keys: `user` and twelve hex digits, 16 bytes, made in place. Byte order is the order of ids. Beyond 2^48 the letter `r` counts on.

/// Bytes of every key.
pub const KEY_BYTES: usize = 16;

/// Most keys there can be.
pub const MAX_KEYS: u64 = 1_000_000_000_000_000;

/// Bits of an id.
pub const ID_BITS: u32 = 50;

/// Bits of the digits of a key.
const DIGIT_BITS: u32 = 48;

/// Returns the key of this id.
#[inline]
pub fn key(id: u64) -> [u8; KEY_BYTES] {
    let mut key = *b"user0000........";
    key[8..].copy_from_slice(&digits(id as u32).to_be_bytes());
    if id >> 32 != 0 {
        key[..8].copy_from_slice(&above(id));
    }
    key
}

/// The way an id becomes a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyNames {
    /// Keys are in the order of their ids.
    #[default]
    InOrder,
    /// The key is made of a hash of the id, so that neighbours lie far apart: `insertorder=hashed` of YCSB.
    Hashed,
}

/// Most ids with hashed names.
pub const MOST_HASHED: u64 = 1 << DIGIT_BITS;

impl KeyNames {
    /// Returns the key of this id.
    #[inline]
    pub fn key(self, id: u64) -> [u8; KEY_BYTES] {
        match self {
            KeyNames::InOrder => key(id),
            KeyNames::Hashed => hashed_key(id),
        }
    }
}

/// The key made of a hash of this id. By itself, so that keys in order cost no more than a look at which they are.
#[inline(never)]
fn hashed_key(id: u64) -> [u8; KEY_BYTES] {
    key(hashed(id))
}

/// Another id for each of the first [`MOST_HASHED`]: each step can be undone, so no two are the same.
#[inline]
fn hashed(id: u64) -> u64 {
    const MASK: u64 = MOST_HASHED - 1;
    let mut hash = id & MASK;
    for odd in [0x6C9C_F99B_25BB, 0xB5D4_85F1_3A2D] {
        hash ^= hash >> 25;
        hash = hash.wrapping_mul(odd) & MASK;
    }
    hash ^ hash >> 25
}

/// The first half of a key whose id takes more than eight digits.
#[cold]
fn above(id: u64) -> [u8; 8] {
    let mut half = digits((id >> 32) as u32 & 0xFFFF).to_be_bytes();
    half[..4].copy_from_slice(b"user");
    half[3] += (id >> DIGIT_BITS) as u8;
    half
}

/// Eight hex digits.
#[inline]
fn digits(number: u32) -> u64 {
    // Spread the eight nibbles over eight bytes, most significant first, then add '0', and 39 more above 9.
    let mut spread = u64::from(number);
    spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF;
    spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF;
    spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    let above_nine = ((spread + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    spread + 0x3030_3030_3030_3030 + above_nine * 39
}

/// Returns the id of a key; `None` when these bytes are no key of ours.
pub fn id_of(bytes: &[u8]) -> Option<u64> {
    let (letter, digits) = bytes.strip_prefix(b"use")?.split_first()?;
    let above = u64::from(letter.checked_sub(b'r')?);
    let id = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()? | above.checked_mul(1 << DIGIT_BITS)?;
    (id < MAX_KEYS && key(id) == bytes).then_some(id)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{KeyNames, MAX_KEYS, MOST_HASHED, id_of, key};

    #[test]
    fn keys_are_hexadecimal_and_give_their_ids_back() {
        for id in
            [0, 1, 9, 10, 15, 16, 0x0123_4567, 0x89ab_cdef, 0xdead_beef, u64::from(u32::MAX), 1 << 32, (1 << 48) - 1]
        {
            assert_eq!(String::from_utf8_lossy(&key(id)), format!("user{id:012x}"));
            assert_eq!(id_of(&key(id)), Some(id));
        }
        for foreign in [
            &b"user00000000000A"[..],
            b"user000000000",
            b"user0000+000000a",
            b"",
            b"user0000000000001",
            b"usev000000000000",
            b"usez000000000000",
            b"usea000000000000",
        ] {
            assert_eq!(id_of(foreign), None);
        }
    }

    #[test]
    fn hashed_names_are_keys_of_their_own_spread_over_all_that_there_can_be() {
        let ids = (0..20_000).chain([MOST_HASHED / 2, MOST_HASHED - 1]);
        let mut hashed: Vec<u64> = ids.map(|id| id_of(&KeyNames::Hashed.key(id)).unwrap()).collect();
        let in_rising_pairs = hashed.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((9_000..11_000).contains(&in_rising_pairs), "as of random numbers: {in_rising_pairs}");
        let low = hashed.iter().filter(|hash| **hash < MOST_HASHED / 4).count();
        assert!((4_500..5_500).contains(&low), "{low}");
        hashed.sort_unstable();
        hashed.dedup();
        assert_eq!(hashed.len(), 20_002);
        assert_eq!(KeyNames::InOrder.key(77), key(77));
    }

    #[test]
    fn keys_of_a_million_billion_ids_differ_and_are_in_the_order_of_their_ids() {
        let ids = [0, (1 << 31) - 1, 1 << 31, 3_000_000_000, (1 << 32) - 1, 1 << 32, (1 << 48) - 1, 1 << 48, 2 << 48];
        let ids: Vec<u64> = ids.into_iter().chain([3 << 48, MAX_KEYS - 1]).collect();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
        assert!(ids.iter().all(|&id| id_of(&key(id)) == Some(id)));
    }
}
