//! Base64 as memcached and NATS read it (RFC 4648, with padding). Nothing is allocated but the room for what is written.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const NO_DIGIT: u8 = 0xff;

/// What each byte stands for.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// Appends `bytes` in base64.
pub(crate) fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let number = group.iter().fold(0u32, |number, &byte| number << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            out.push(if place > group.len() { b'=' } else { digit(number >> (18 - 6 * place)) });
        }
    }
}

/// Appends the bytes a text in base64 stands for; false when it is none.
pub(crate) fn read(out: &mut Vec<u8>, text: &[u8]) -> bool {
    let unpadded = match text {
        [rest @ .., b'=', b'='] | [rest @ .., b'='] => rest,
        all => all,
    };
    if !text.len().is_multiple_of(4) {
        return false;
    }
    out.reserve(unpadded.len() / 4 * 3 + 3);
    for group in unpadded.chunks(4) {
        let mut number = 0;
        for place in 0..4 {
            let digit = group.get(place).map_or(0, |byte| VALUES[usize::from(*byte)]);
            if digit == NO_DIGIT {
                return false;
            }
            number = number << 6 | u32::from(digit);
        }
        out.extend_from_slice(&number.to_be_bytes()[1..group.len()]);
    }
    true
}

/// The digit of the lowest six bits.
#[inline]
pub(crate) fn digit(number: u32) -> u8 {
    ALPHABET[(number & 63) as usize]
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_examples_of_the_standard_come_out() {
        let examples =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        for (text, expected) in examples {
            let mut out = Vec::new();
            super::push(&mut out, text.as_bytes());
            assert_eq!(out, expected.as_bytes());
            let mut back = Vec::new();
            assert!(super::read(&mut back, &out) && back == text.as_bytes());
        }
        let mut out = Vec::new();
        super::push(&mut out, &[0xff, 0xef, 0xfe, 0, 0, 0]);
        assert_eq!(out, b"/+/+AAAA");
        for wrong in [&b"Zg="[..], b"Zg", b"Z===", b"Zm9v!m9v"] {
            assert!(!super::read(&mut Vec::new(), wrong), "{}", wrong.escape_ascii());
        }
    }
}
