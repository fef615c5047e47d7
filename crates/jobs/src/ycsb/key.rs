//! Keys: `user0000` and eight hex digits, 16 bytes, made in place. Byte order is the order of ids.

/// Bytes of every key.
pub const KEY_BYTES: usize = 16;

/// The key of this id.
#[inline]
pub fn key(id: u32) -> [u8; KEY_BYTES] {
    // Spread the eight nibbles over eight bytes, most significant first, then add '0', and 39 more above 9.
    let mut spread = u64::from(id);
    spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF;
    spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF;
    spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    let above_nine = ((spread + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    let hex = spread + 0x3030_3030_3030_3030 + above_nine * 39;
    let mut key = *b"user0000........";
    key[8..].copy_from_slice(&hex.to_be_bytes());
    key
}

/// The id of a key; `None` when these bytes are no key of ours.
pub fn id_of(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"user0000")?;
    let id = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (key(id) == bytes).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::{id_of, key};

    #[test]
    fn keys_are_hexadecimal_and_give_their_ids_back() {
        for id in [0, 1, 9, 10, 15, 16, 0x0123_4567, 0x89ab_cdef, 0xdead_beef, u32::MAX] {
            assert_eq!(String::from_utf8_lossy(&key(id)), format!("user0000{id:08x}"));
            assert_eq!(id_of(&key(id)), Some(id));
        }
        for foreign in [&b"user00000000000A"[..], b"user000000000", b"user0000+000000a", b"", b"user0000000000001"] {
            assert_eq!(id_of(foreign), None);
        }
    }
}
