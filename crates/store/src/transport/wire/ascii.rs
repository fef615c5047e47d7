//! Numbers as protocols of text write them.

/// Appends a number in decimal.
#[inline]
pub fn push_u64(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let start = write_digits(&mut digits, number);
    out.extend_from_slice(&digits[start..]);
}

/// Appends `sign`, a number in decimal, CR and LF: a whole line of RESP.
#[inline]
pub fn push_line(out: &mut Vec<u8>, sign: u8, number: u64) {
    let digit = |number: u64| b'0' + number as u8;
    // Most numbers are lengths of keys and small values; short arrays of known size become single stores.
    match number {
        0..10 => out.extend_from_slice(&[sign, digit(number), b'\r', b'\n']),
        10..100 => {
            let [tens, ones] = two_digits(number as usize);
            out.extend_from_slice(&[sign, tens, ones, b'\r', b'\n']);
        }
        _ => {
            out.push(sign);
            push_u64(out, number);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Returns the digits of a number below 100, the tens first.
#[inline(always)]
pub fn two_digits(number: usize) -> [u8; 2] {
    const PAIRS: [[u8; 2]; 100] = {
        let mut pairs = [[0; 2]; 100];
        let mut number = 0;
        while number < 100 {
            pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
            number += 1;
        }
        pairs
    };
    PAIRS[number]
}

/// Appends three parts with one check for room.
#[inline(always)]
pub fn push_three<const HEAD: usize, const TAIL: usize>(
    out: &mut Vec<u8>,
    head: &[u8; HEAD],
    middle: &[u8],
    tail: &[u8; TAIL],
) {
    let size = HEAD + middle.len() + TAIL;
    if out.capacity() - out.len() < size {
        grow(out, size);
    }
    let start = out.len();
    // SAFETY: there is room for `size` bytes behind `start` (`grow` made it where there was not); the three parts fill exactly these,
    // none of them overlaps `out` (it is borrowed mutably), and the length is set to what has been written.
    unsafe {
        let to = out.as_mut_ptr().add(start);
        to.copy_from_nonoverlapping(head.as_ptr(), HEAD);
        let (from, to_middle) = (middle.as_ptr(), to.add(HEAD));
        match middle.len() {
            // Most keys: two copies of known size, which may overlap, cost less than a call.
            // By eights also where one copy of 16 would do: keys are most often written by eights just before, and a load that
            // spans two stores waits for both to leave the processor's queue.
            size @ 8..=16 => {
                to_middle.copy_from_nonoverlapping(from, 8);
                to_middle.add(size - 8).copy_from_nonoverlapping(from.add(size - 8), 8);
            }
            size @ 17..=32 => {
                to_middle.copy_from_nonoverlapping(from, 16);
                to_middle.add(size - 16).copy_from_nonoverlapping(from.add(size - 16), 16);
            }
            size => to_middle.copy_from_nonoverlapping(from, size),
        }
        to.add(HEAD + middle.len()).copy_from_nonoverlapping(tail.as_ptr(), TAIL);
        out.set_len(start + size);
    }
}

/// `Vec::reserve` is a call even where there is room.
#[cold]
fn grow(out: &mut Vec<u8>, size: usize) {
    out.reserve(size);
}

/// Writes the digits at the end of `digits`, and returns where they start.
#[inline]
fn write_digits(digits: &mut [u8; 20], mut number: u64) -> usize {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return at;
        }
    }
}

/// Appends a number in decimal, with a minus where it is negative.
#[inline]
pub fn push_i64(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_u64(out, number.unsigned_abs());
}

/// Returns the number of digits [`push_i64`] writes, with the minus.
#[inline]
pub fn i64_len(number: i64) -> usize {
    usize::from(number < 0) + number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1
}

/// Reads digits and nothing else.
#[inline]
pub fn parse_u64(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// Reads digits with an optional minus, and nothing else.
#[inline]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => {
            let size = parse_u64(digits)?;
            if size == 1 << 63 { Some(i64::MIN) } else { i64::try_from(size).ok().map(|size| -size) }
        }
        digits => parse_u64(digits).and_then(|size| i64::try_from(size).ok()),
    }
}

/// Returns where the first CR LF of `input` starts, within the first `limit` bytes.
#[inline]
pub fn line_end(input: &[u8], limit: usize) -> Option<usize> {
    let window = &input[..input.len().min(limit.saturating_add(2))];
    window.windows(2).position(|pair| pair == b"\r\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{i64_len, line_end, parse_i64, parse_u64, push_i64, push_line, push_u64};
    use proptest::prelude::{any, proptest};

    proptest! {
        #[test]
        fn numbers_are_written_as_the_standard_library_writes_them(signed in any::<i64>(), shift in 0..64) {
            let (signed, unsigned) = (signed >> shift, signed as u64 >> shift);
            let mut out = Vec::new();
            push_i64(&mut out, signed);
            assert_eq!(out, signed.to_string().as_bytes());
            assert_eq!(out.len(), i64_len(signed));
            assert_eq!(parse_i64(&out), Some(signed));
            out.clear();
            push_u64(&mut out, unsigned);
            assert_eq!(out, unsigned.to_string().as_bytes());
            assert_eq!(parse_u64(&out), Some(unsigned));
            out.clear();
            push_line(&mut out, b'$', unsigned);
            assert_eq!(out, format!("${unsigned}\r\n").into_bytes());
        }

        #[test]
        fn what_is_no_number_is_not_read_as_one(text in any::<Vec<u8>>()) {
            let standard = std::str::from_utf8(&text).ok().filter(|text| !text.starts_with('+'));
            assert_eq!(parse_i64(&text), standard.and_then(|text| text.parse().ok()));
            assert_eq!(parse_u64(&text), standard.and_then(|text| text.parse().ok()));
        }
    }

    #[test]
    fn the_bounds_of_numbers_are_read_and_nothing_beyond() {
        assert_eq!(parse_i64(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_i64(b"-9223372036854775809"), None);
        assert_eq!(parse_i64(b"9223372036854775808"), None);
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), None);
        assert_eq!((parse_i64(b""), parse_i64(b"-"), parse_u64(b"")), (None, None, None));
    }

    #[test]
    fn a_line_ends_at_cr_lf_within_its_limit() {
        assert_eq!(line_end(b"ab\r\ncd\r\n", 10), Some(2));
        assert_eq!(line_end(b"ab\r\ncd", 2), Some(2));
        assert_eq!(line_end(b"ab\r\ncd", 1), None);
        assert_eq!(line_end(b"ab\ncd\r", 10), None);
    }
}
