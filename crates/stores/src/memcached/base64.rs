//! Base64 as memcached reads it (RFC 4648, with padding).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends `bytes` in base64.
pub(super) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let number = group.iter().fold(0u32, |number, &byte| number << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            out.push(if place > group.len() { b'=' } else { digit(number >> (18 - 6 * place)) });
        }
    }
}

/// The digit of the lowest six bits.
#[inline]
pub(super) fn digit(number: u32) -> u8 {
    ALPHABET[(number & 63) as usize]
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_examples_of_the_standard_come_out() {
        let examples = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        for (text, expected) in examples {
            let mut out = Vec::new();
            super::push(&mut out, text.as_bytes());
            assert_eq!(out, expected.as_bytes());
        }
        let mut out = Vec::new();
        super::push(&mut out, &[0xff, 0xef, 0xfe, 0, 0, 0]);
        assert_eq!(out, b"/+/+AAAA");
    }
}
