//! Why a case did not pass.

use jobkit::{Offence, printable};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use study::{Reason, ReasonKind};

/// Ends a case before its end.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The store (or its client) is wrong.
    Failed(Reason),
    /// The case cannot be tried here; says why.
    Skipped(String),
}

impl Stop {
    /// Returns a failure at `key`, with what was seen.
    pub fn wrong(kind: ReasonKind, key: &[u8], seen: impl AsRef<str>) -> Stop {
        Offence::new(kind, key, seen).into()
    }

    /// Returns a failure no key can be named for.
    pub fn keyless(kind: ReasonKind, seen: impl Into<String>) -> Stop {
        Stop::Failed(Reason { kind, count: 1, example: seen.into() })
    }

    /// Returns whether it concerns everything that was in flight, and not one answer.
    pub fn is_breakdown(&self) -> bool {
        use ReasonKind::{ConnectionLost, Deadline, NotConnected, Protocol};
        matches!(self, Stop::Failed(Reason { kind: ConnectionLost | NotConnected | Deadline | Protocol, .. }))
    }
}

/// Returns whether nothing more can be learned of a store after this: it does not answer, or cannot be connected to.
pub fn is_final(kind: ReasonKind) -> bool {
    matches!(kind, ReasonKind::Deadline | ReasonKind::NotStarted)
}

impl From<Offence> for Stop {
    fn from(offence: Offence) -> Stop {
        Stop::Failed(offence.into_reason())
    }
}

/// Runs `body`; a panic in the client under check is a failure like others.
pub fn guarded<T>(body: impl FnOnce() -> Result<T, Stop>) -> Result<T, Stop> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Returns the failure a panic is.
pub fn panicked(panic: &(dyn Any + Send)) -> Stop {
    let words = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    Stop::keyless(ReasonKind::WrongReply, format!("the client panicked: {}", words.unwrap_or("without a word")))
}

/// Returns what was expected and what came, in one line: lengths, beginnings, and where they part.
pub fn difference(expected: &[u8], got: &[u8]) -> String {
    let parts_at = expected.iter().zip(got).position(|(left, right)| left != right);
    let from = match parts_at {
        Some(at) if at >= 16 => format!(", first different at byte {at}"),
        _ => String::new(),
    };
    let shown = parts_at.map_or(0, |at| if at >= 16 { at } else { 0 });
    format!("expected {}, got {}{from}", excerpt(expected, shown), excerpt(got, shown))
}

/// Returns the length of some bytes, and up to 16 of them from `from` on.
pub fn excerpt(bytes: &[u8], from: usize) -> String {
    let rest = bytes.get(from..).unwrap_or_default();
    let (dots_before, dots_after) = (if from > 0 { ".." } else { "" }, if rest.len() > 16 { ".." } else { "" });
    let unit = if bytes.len() == 1 { "byte" } else { "bytes" };
    match bytes.len() {
        0 => "0 bytes".into(),
        len => format!("{len} {unit} \"{dots_before}{}{dots_after}\"", printable(&rest[..rest.len().min(16)])),
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_shows_lengths_and_the_bytes_where_the_two_part() {
        assert_eq!(difference(b"abc", b""), r#"expected 3 bytes "abc", got 0 bytes"#);
        assert_eq!(difference(b"a\r\n", b"x\r"), r#"expected 3 bytes "a\r\n", got 2 bytes "x\r""#);
        let long = [b'a'; 50];
        let mut other = long;
        other[40] = b'b';
        assert_eq!(
            difference(&long, &other),
            r#"expected 50 bytes "..aaaaaaaaaa", got 50 bytes "..baaaaaaaaa", first different at byte 40"#
        );
    }
}
