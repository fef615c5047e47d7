//! The items of RESP2 replies, and those of RESP3 that Infinispan sends whatever it is asked: nil (`_`) and maps (`%`).

use store::wire::ascii::{line_end, parse_i64};

/// The longest line read; servers write shorter ones.
const LINE_BYTES: usize = 64 << 10;

/// The longest value believed: eight times what a server takes by default.
const VALUE_BYTES: i64 = 4 << 30;

/// An item of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    /// `+words`
    Line(&'a [u8]),
    /// `-words`
    Error(&'a [u8]),
    /// `:number`
    Number(i64),
    /// `$length` and that many bytes
    Bulk(&'a [u8]),
    /// `$-1`, `*-1` or `_`
    Nil,
    /// `*items`, or `%pairs`, each of two items: the items follow
    Array(usize),
}

/// The result of looking at a place in the bytes received.
pub(super) enum Found<'a> {
    /// An item, which ends before `end`.
    Item {
        /// The item.
        item: Item<'a>,
        /// The place behind the item.
        end: usize,
    },
    /// Too few bytes.
    Incomplete {
        /// The number of missing bytes, at least.
        at_least: usize,
    },
    /// Bytes that are not RESP.
    Broken(&'static str),
}

/// Reads the item that starts at `at`.
#[inline]
pub(super) fn item(input: &[u8], at: usize) -> Found<'_> {
    let Some(&kind) = input.get(at) else { return Found::Incomplete { at_least: 3 } };
    item_as(kind, input, at)
}

/// Reads the item that starts at `at`, as if its first byte was `kind`.
#[inline(always)]
pub(super) fn item_as(kind: u8, input: &[u8], at: usize) -> Found<'_> {
    match kind {
        b'$' => match length(input, at + 1) {
            Length::Is(size @ 0..=VALUE_BYTES, start) => {
                let end = start + size as usize + 2;
                match input.get(end - 2..end) {
                    Some(b"\r\n") => Found::Item { item: Item::Bulk(&input[start..end - 2]), end },
                    Some(_) => Found::Broken("CR LF after a string of the length announced"),
                    None => Found::Incomplete { at_least: end - input.len() },
                }
            }
            Length::Is(-1, end) => Found::Item { item: Item::Nil, end },
            Length::Incomplete => Found::Incomplete { at_least: line_rest(input) },
            _ => Found::Broken("a length of 0 to 4 GiB, or -1"),
        },
        b':' => match length(input, at + 1) {
            Length::Is(number, end) => Found::Item { item: Item::Number(number), end },
            Length::Incomplete => Found::Incomplete { at_least: line_rest(input) },
            Length::Broken => Found::Broken("a number"),
        },
        b'*' => match length(input, at + 1) {
            Length::Is(items @ 0..=0xffff_ffff, end) => Found::Item { item: Item::Array(items as usize), end },
            Length::Is(-1, end) => Found::Item { item: Item::Nil, end },
            Length::Incomplete => Found::Incomplete { at_least: line_rest(input) },
            _ => Found::Broken("a number of items"),
        },
        b'%' => match length(input, at + 1) {
            Length::Is(pairs @ 0..=0x7fff_ffff, end) => Found::Item { item: Item::Array(2 * pairs as usize), end },
            Length::Incomplete => Found::Incomplete { at_least: line_rest(input) },
            _ => Found::Broken("a number of pairs"),
        },
        b'_' => match input.get(at + 1..at + 3) {
            Some(b"\r\n") => Found::Item { item: Item::Nil, end: at + 3 },
            Some(_) => Found::Broken("CR LF behind _"),
            None => Found::Incomplete { at_least: at + 3 - input.len() },
        },
        b'+' | b'-' => match line_end(&input[at + 1..], LINE_BYTES) {
            Some(size) => {
                let words = &input[at + 1..at + 1 + size];
                let item = if kind == b'+' { Item::Line(words) } else { Item::Error(words) };
                Found::Item { item, end: at + 3 + size }
            }
            None if input.len() - at > LINE_BYTES => Found::Broken("a line of less than 64 KiB"),
            None => Found::Incomplete { at_least: 1 },
        },
        _ => Found::Broken("a RESP reply, which starts with one of + - : $ * % _"),
    }
}

/// Returns the number of bytes that end the line under way, at least.
fn line_rest(input: &[u8]) -> usize {
    if input.ends_with(b"\r") { 1 } else { 2 }
}

/// Reads a whole string of 10 to 999 bytes at the start of the input: the most frequent reply, without the detours of the general way.
#[inline(always)]
pub(super) fn short_bulk(input: &[u8]) -> Option<(&[u8], usize)> {
    // A sign or anything else odd goes the general way, which knows what to say of it.
    let digit = |byte: u8| Some(usize::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit < 10);
    let (size, start) = match *input {
        [b'$', a, b, b'\r', b'\n', ..] => (digit(a)? * 10 + digit(b)?, 5),
        [b'$', a, b, c, b'\r', b'\n', ..] => (digit(a)? * 100 + digit(b)? * 10 + digit(c)?, 6),
        _ => return None,
    };
    let end = start + size + 2;
    if input.get(end - 2..end)? != b"\r\n" {
        return None;
    }
    Some((&input[start..end - 2], end))
}

/// Reads a number that is whole and not negative at the start of the input, without the detours of the general way.
#[inline(always)]
pub(super) fn short_number(input: &[u8]) -> Option<(i64, usize)> {
    match input {
        [b':', ..] => match length(input, 1) {
            Length::Is(number @ 0.., end) => Some((number, end)),
            _ => None,
        },
        _ => None,
    }
}

enum Length {
    /// The number, and the place behind its CR LF.
    Is(i64, usize),
    Incomplete,
    Broken,
}

/// Reads the decimal number that starts at `start` and ends in CR LF.
#[inline(always)]
fn length(input: &[u8], start: usize) -> Length {
    // Nearly all are lengths of up to nine digits, which fit whatever they are.
    let mut number = 0;
    for (digits, &byte) in input[start..].iter().take(10).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            number = number * 10 + i64::from(digit);
        } else if byte == b'\r' && digits > 0 {
            return match input.get(start + digits + 1) {
                Some(b'\n') => Length::Is(number, start + digits + 2),
                Some(_) => Length::Broken,
                None => Length::Incomplete,
            };
        } else {
            break;
        }
    }
    any_number(input, start)
}

/// Reads the same with a sign or many digits, and refuses anything that is not a number.
#[cold]
fn any_number(input: &[u8], start: usize) -> Length {
    // A sign and 19 digits are the longest.
    let line = &input[start..input.len().min(start + 22)];
    match line.iter().position(|&byte| byte == b'\r') {
        Some(size) => match (parse_i64(&line[..size]), line.get(size + 1)) {
            (Some(_), None) => Length::Incomplete,
            (Some(number), Some(b'\n')) => Length::Is(number, start + size + 2),
            _ => Length::Broken,
        },
        None if line.len() < 22 => Length::Incomplete,
        None => Length::Broken,
    }
}
