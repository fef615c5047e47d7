//! Lines and tokens of the protocol.

use store::wire::ascii::parse_u64;

/// One line of a reply: a code, a number of columns, and tokens.
pub(super) struct Line<'a> {
    code: &'a [u8],
    rest: Option<&'a [u8]>,
}

impl<'a> Line<'a> {
    /// Reads a line without its end.
    pub(super) fn of(line: &'a [u8]) -> Result<Line<'a>, &'static str> {
        let mut parts = line.splitn(3, |byte| *byte == b'\t');
        let (code, columns) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        match (parse_u64(code), parse_u64(columns)) {
            (Some(_), Some(_)) => Ok(Line { code, rest: parts.next() }),
            _ => Err("a code and a number of columns"),
        }
    }

    /// Returns whether all went well.
    pub(super) fn is_good(&self) -> bool {
        self.code == b"0"
    }

    /// Returns whether the storage engine failed with this number.
    pub(super) fn failed_with(&self, number: &[u8]) -> bool {
        self.code == b"1" && self.rest == Some(number)
    }

    /// Returns the tokens behind the code and the number of columns.
    pub(super) fn tokens(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.rest.into_iter().flat_map(|rest| rest.split(|byte| *byte == b'\t'))
    }

    /// Returns the number of rows changed.
    pub(super) fn count(&self) -> Result<u64, &'static str> {
        self.tokens().next().and_then(parse_u64).ok_or("a number of rows changed")
    }

    /// Returns the error: words, or a number of the storage engine.
    pub(super) fn words(&self) -> String {
        let said = String::from_utf8_lossy(self.rest.unwrap_or_default()).replace('\t', " ");
        match parse_u64(said.as_bytes()) {
            Some(number) => format!("the storage engine's error {number}"),
            None => format!("HandlerSocket says {said} ({})", String::from_utf8_lossy(self.code)),
        }
    }
}

/// Writes the beginning of a request for the row of a key, or for the rows from that key on.
pub(super) fn find(out: &mut Vec<u8>, index: u8, comparison: &[u8], key: &[u8]) {
    out.extend_from_slice(&[index, b'\t']);
    out.extend_from_slice(comparison);
    out.extend_from_slice(b"\t1\t");
    push_token(out, key);
}

/// Writes bytes as a token: bytes below 16 are written as 1 and the byte with 64 added.
pub(super) fn push_token(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + 16);
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte < 16) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[1, rest[at] | 64]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Reads a token's bytes.
pub(super) fn unescape(out: &mut Vec<u8>, token: &[u8]) -> Result<(), &'static str> {
    let mut rest = token;
    while let Some(at) = rest.iter().position(|byte| *byte < 16) {
        out.extend_from_slice(&rest[..at]);
        match rest[at..] {
            [1, escaped @ 64..80, ..] => out.push(escaped & 15),
            _ => return Err("bytes below 16 escaped"),
        }
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
    Ok(())
}
