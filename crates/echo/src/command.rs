//! Requests of RESP2: arrays of byte strings.

/// The words of one request, as places in the bytes received; reused from request to request.
#[derive(Debug, Default)]
pub struct RequestWords {
    words: Vec<(usize, usize)>,
}

/// The beginning of the bytes received, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A whole request, of this many bytes.
    RequestWords(usize),
    /// The beginning of one.
    Incomplete,
    /// Something else.
    Broken,
}

impl RequestWords {
    /// Reads one request from the start of `input`.
    pub fn parse(&mut self, input: &[u8]) -> Parsed {
        self.words.clear();
        let (count, mut at) = match length(input, 0, b'*') {
            Ok(found) => found,
            Err(other) => return other,
        };
        for _ in 0..count {
            let (size, start) = match length(input, at, b'$') {
                Ok(found) => found,
                Err(other) => return other,
            };
            let end = start + size;
            match input.get(end..end + 2) {
                Some(b"\r\n") => {}
                Some(_) => return Parsed::Broken,
                None => return Parsed::Incomplete,
            }
            self.words.push((start, end));
            at = end + 2;
        }
        Parsed::RequestWords(at)
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns word `at` of the request last read from `input`; empty when there is none.
    #[inline]
    pub fn word<'a>(&self, input: &'a [u8], at: usize) -> &'a [u8] {
        self.words.get(at).map_or(&[], |&(start, end)| &input[start..end])
    }
}

/// The length behind `sign` at `at`, and the place behind its CR LF.
#[inline]
fn length(input: &[u8], at: usize, sign: u8) -> Result<(usize, usize), Parsed> {
    match input.get(at) {
        None => return Err(Parsed::Incomplete),
        Some(&first) if first != sign => return Err(Parsed::Broken),
        Some(_) => {}
    }
    let mut number = 0usize;
    for (digits, &byte) in input[at + 1..].iter().enumerate().take(11) {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            number = number * 10 + usize::from(digit);
        } else if byte == b'\r' && digits > 0 {
            return match input.get(at + digits + 2) {
                None => Err(Parsed::Incomplete),
                Some(b'\n') => Ok((number, at + digits + 3)),
                Some(_) => Err(Parsed::Broken),
            };
        } else {
            return Err(Parsed::Broken);
        }
    }
    if input.len() - at > 11 { Err(Parsed::Broken) } else { Err(Parsed::Incomplete) }
}

#[cfg(test)]
mod tests {
    use super::{Parsed, RequestWords};

    const SET: &[u8] = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n*1\r\n$4\r\nPING\r\n";

    #[test]
    fn a_request_is_whole_or_not_at_every_byte() {
        let mut request = RequestWords::default();
        for cut in 0..30 {
            assert_eq!(request.parse(&SET[..cut]), Parsed::Incomplete, "at byte {cut}");
        }
        assert_eq!(request.parse(SET), Parsed::RequestWords(30));
        assert_eq!((request.len(), request.word(SET, 2), request.word(SET, 3)), (3, &b"a\r\nb"[..], &b""[..]));
        assert_eq!(request.parse(&SET[30..]), Parsed::RequestWords(14));
    }

    #[test]
    fn what_is_no_request_is_not_taken_for_one() {
        let mut request = RequestWords::default();
        for bytes in [
            &b"GET k\r\n"[..],
            b"*1\r\n+OK\r\n",
            b"*x\r\n",
            b"*1\r\n$1\r\nabc",
            b"*\r\n",
            b"*123456789012\r\n",
            b"*1\rx",
        ] {
            assert_eq!(request.parse(bytes), Parsed::Broken, "{bytes:?}");
        }
    }
}
