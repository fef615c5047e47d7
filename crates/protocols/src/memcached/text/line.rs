//! Replies of the text protocol, line by line.

use store::wire::Decoded;
use store::wire::ascii::{line_end, parse_u64};

/// The largest value believed.
const VALUE_BYTES: u64 = 1 << 30;

/// The longest reply line.
const LINE_BYTES: usize = 4 << 10;

/// The content of one line; for a value, with the bytes behind the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says<'a> {
    Value {
        key: &'a [u8],
        value: &'a [u8],
        version: Option<u64>,
    },
    End,
    Stored,
    NotStored,
    Exists,
    NotFound,
    Deleted,
    Touched,
    Version,
    /// A number in digits, perhaps with spaces behind them.
    Number(&'a [u8]),
    /// An error, in the server's words.
    Error(&'a [u8]),
}

/// One line of a reply.
pub(super) struct Line<'a> {
    /// The content of the line.
    pub(super) says: Says<'a>,
    /// The number of bytes of the line, with a value behind it.
    pub(super) consumed: usize,
}

impl<'a> Line<'a> {
    /// Reads the line at the start of `input`; `Err` when it is not whole, or not memcached's.
    pub(super) fn read(input: &'a [u8]) -> Result<Line<'a>, Decoded<'a>> {
        let Some(end) = line_end(input, LINE_BYTES) else {
            let known = input.first().is_none_or(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
            let broken = input.len() > LINE_BYTES || !known;
            return Err(if broken {
                Decoded::Broken("a line of a reply")
            } else {
                Decoded::Incomplete { at_least: 1 }
            });
        };
        let line = &input[..end];
        let mut consumed = end + 2;
        let says = match line {
            b"END" => Says::End,
            b"STORED" => Says::Stored,
            b"NOT_STORED" => Says::NotStored,
            b"EXISTS" => Says::Exists,
            b"NOT_FOUND" => Says::NotFound,
            b"DELETED" => Says::Deleted,
            b"TOUCHED" => Says::Touched,
            [b'0'..=b'9', ..] => Says::Number(line),
            words if words.starts_with(b"VERSION ") => Says::Version,
            words if [&b"ERROR"[..], b"CLIENT_ERROR", b"SERVER_ERROR"].iter().any(|start| words.starts_with(start)) => {
                Says::Error(words)
            }
            _ => match announced(line) {
                Some((key, size, version)) => {
                    let behind = consumed + size;
                    match input.get(behind..behind + 2) {
                        Some(b"\r\n") => {
                            let value = &input[consumed..behind];
                            consumed = behind + 2;
                            Says::Value { key, value, version }
                        }
                        Some(_) => return Err(Decoded::Broken("CR LF after a value of the size announced")),
                        None => return Err(Decoded::Incomplete { at_least: behind + 2 - input.len() }),
                    }
                }
                None => return Err(Decoded::Broken("a reply of the text protocol")),
            },
        };
        Ok(Line { says, consumed })
    }
}

/// Reads key, size and version of `VALUE key flags size [version]`.
fn announced(line: &[u8]) -> Option<(&[u8], usize, Option<u64>)> {
    let mut words = line.strip_prefix(b"VALUE ")?.split(|&byte| byte == b' ');
    let (key, flags, size) = (words.next()?, words.next()?, words.next()?);
    parse_u64(flags)?;
    let size = parse_u64(size).filter(|size| *size <= VALUE_BYTES)?;
    let version = match words.next() {
        Some(version) => Some(parse_u64(version)?),
        None => None,
    };
    words.next().is_none().then_some((key, size as usize, version))
}
