//! Numbers in as few bytes as they need: seven bits per byte, the lowest first, the highest bit of a byte says that another follows (LEB128).

/// Writes a number.
#[inline]
pub(super) fn push(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the beginning of `bytes`; `None`: they end within it, or it has more than 64 bits.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 63 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{push, take};

    #[test]
    fn every_number_comes_back_and_more_than_64_bits_do_not() {
        let mut bytes = Vec::new();
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        numbers.iter().for_each(|&number| push(number, &mut bytes));
        let mut rest = &bytes[..];
        assert!(numbers.iter().all(|&number| take(&mut rest) == Some(number)) && rest.is_empty());
        for bad in [&[][..], &[0x80], &[0xff; 10], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]] {
            assert_eq!(take(&mut &*bad), None);
        }
    }
}
