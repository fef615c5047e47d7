//! Times to live: what a command says of how long its key is to live, in the words of Redis and of memcached.

use crate::trace::RequestKind;
use crate::twitter::number;

/// How long a key lives after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenLife {
    /// As long as before.
    AsBefore,
    /// For ever.
    Lasting,
    /// So long from the request on; 0: it is gone at once.
    For { ms: u64 },
    /// Until that moment, in milliseconds since 1970.
    Until { unix_ms: u64 },
}

use GivenLife::{AsBefore, For, Lasting, Until};

/// A word of a command as it is; `None`: a key or a value.
type Word<'a> = Option<&'a [u8]>;

/// What memcached takes for seconds from now on; more are seconds since 1970.
const MOST_RELATIVE_S: u64 = 30 * 86_400;

/// Returns the life that a command gives its keys, and whether it does nothing else.
pub(crate) fn given(words: &[Word<'_>]) -> Option<GivenLife> {
    let name = words.first().copied().flatten()?.to_ascii_uppercase();
    let word = |at: usize| words.get(at).copied().flatten();
    let ms = |at: usize| word(at).map(|word| amount(word, |ms| For { ms }));
    let seconds = |at: usize| word(at).map(|word| amount(word, |s| For { ms: s.saturating_mul(1000) }));
    // memcached's commands on values have numbers where Redis has the value.
    let is_memcached = word(2).is_some();
    Some(match name.as_slice() {
        b"SET" | b"ADD" | b"REPLACE" | b"CAS" if is_memcached => word(3).map_or(Lasting, exptime),
        b"SET" => options(&words[3.min(words.len())..]).unwrap_or(Lasting),
        b"SETEX" => seconds(2)?,
        b"PSETEX" => ms(2)?,
        b"GETSET" | b"SETNX" | b"MSET" | b"MSETNX" => Lasting,
        b"GETEX" => options(&words[2.min(words.len())..]).unwrap_or(AsBefore),
        b"EXPIRE" => seconds(2)?,
        b"PEXPIRE" => ms(2)?,
        b"EXPIREAT" => amount(word(2)?, |s| Until { unix_ms: s.saturating_mul(1000) }),
        b"PEXPIREAT" => amount(word(2)?, |unix_ms| Until { unix_ms }),
        b"PERSIST" => Lasting,
        b"TOUCH" => exptime(word(2)?),
        b"GAT" | b"GATS" => word(1).map_or(AsBefore, exptime),
        b"MS" => match flag(&words[3.min(words.len())..], b"M") {
            Some(b"A" | b"a" | b"P" | b"p") => AsBefore,
            _ => flag(&words[3.min(words.len())..], b"T").map_or(Lasting, exptime),
        },
        b"MG" | b"MA" => flag(&words[2.min(words.len())..], b"T").map_or(AsBefore, exptime),
        _ => AsBefore,
    })
}

/// A number of units of time; what is below 0 is over.
fn amount(word: &[u8], of: impl Fn(u64) -> GivenLife) -> GivenLife {
    match (word.first(), number(word)) {
        (Some(b'-'), _) => For { ms: 0 },
        (_, Some(count)) => of(count),
        (_, None) => AsBefore,
    }
}

/// memcached's time of expiry: 0 is never.
fn exptime(word: &[u8]) -> GivenLife {
    amount(word, |seconds| match seconds {
        0 => Lasting,
        1..=MOST_RELATIVE_S => For { ms: 1000 * seconds },
        _ => Until { unix_ms: seconds.saturating_mul(1000) },
    })
}

/// The options of Redis about time.
fn options(words: &[Word<'_>]) -> Option<GivenLife> {
    words.iter().enumerate().find_map(|(at, word)| {
        let count = || words.get(at + 1).copied().flatten();
        match word.as_ref()?.to_ascii_uppercase().as_slice() {
            b"EX" => count().map(|word| amount(word, |s| For { ms: s.saturating_mul(1000) })),
            b"PX" => count().map(|word| amount(word, |ms| For { ms })),
            b"EXAT" => count().map(|word| amount(word, |s| Until { unix_ms: s.saturating_mul(1000) })),
            b"PXAT" => count().map(|word| amount(word, |unix_ms| Until { unix_ms })),
            b"KEEPTTL" => Some(AsBefore),
            b"PERSIST" => Some(Lasting),
            _ => None,
        }
    })
}

/// The rest of memcached's meta flag that begins so.
fn flag<'a>(words: &[Word<'a>], letter: &[u8]) -> Option<&'a [u8]> {
    words.iter().find_map(|word| word.and_then(|word| word.strip_prefix(letter)))
}

impl GivenLife {
    /// Returns the life of a request of this kind in a format that has no times to live.
    pub(crate) fn usual(kind: RequestKind) -> GivenLife {
        match kind {
            RequestKind::Get | RequestKind::Touch | RequestKind::Delete => AsBefore,
            RequestKind::Set => Lasting,
        }
    }

    /// Returns it from the time of the request on, which is in microseconds since 1970.
    pub(crate) fn from(self, unix_us: u64) -> GivenLife {
        match self {
            Until { unix_ms } => For { ms: unix_ms.saturating_sub(unix_us / 1000) },
            other => other,
        }
    }
}

/// A time to live as a column has it: milliseconds, or seconds where it is longer than 24 days; 0: none is given.
pub(crate) fn packed(ms: u64) -> u32 {
    const IN_SECONDS: u32 = 1 << 31;
    match u32::try_from(ms).ok().filter(|ms| *ms < IN_SECONDS) {
        Some(ms) => ms,
        None => u32::try_from(ms / 1000).map_or(u32::MAX, |seconds| seconds | IN_SECONDS),
    }
}

/// Returns the milliseconds of what [`packed`] made.
pub(crate) fn unpacked(packed: u32) -> Option<u64> {
    match packed >> 31 {
        0 => (packed > 0).then(|| packed.into()),
        _ => Some(u64::from(packed & (u32::MAX >> 1)) * 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::{AsBefore, For, GivenLife, Lasting, Until, given, packed, unpacked};

    /// Words with `*` for keys and values.
    fn of(text: &str) -> Option<GivenLife> {
        let words: Vec<_> = text.split(' ').map(|word| (word != "*").then_some(word.as_bytes())).collect();
        given(&words)
    }

    #[test]
    fn every_way_of_redis_and_memcached_to_say_how_long_a_key_lives_is_understood() {
        for (text, life) in [
            ("SET * *", Lasting),
            ("set * * EX 10", For { ms: 10_000 }),
            ("SET * * nx px 15", For { ms: 15 }),
            ("SET * * EXAT 1700000000", Until { unix_ms: 1_700_000_000_000 }),
            ("SET * * PXAT 1700000000001 GET", Until { unix_ms: 1_700_000_000_001 }),
            ("SET * * KEEPTTL", AsBefore),
            ("SETEX * 7 *", For { ms: 7000 }),
            ("PSETEX * 7 *", For { ms: 7 }),
            ("GETEX *", AsBefore),
            ("GETEX * EX 3", For { ms: 3000 }),
            ("GETEX * PERSIST", Lasting),
            ("EXPIRE * 60 NX", For { ms: 60_000 }),
            ("EXPIRE * -1", For { ms: 0 }),
            ("PEXPIREAT * 5", Until { unix_ms: 5 }),
            ("PERSIST *", Lasting),
            ("INCR *", AsBefore),
            ("MSET * * * *", Lasting),
            ("GET *", AsBefore),
            ("set * 0 0 5 *", Lasting),
            ("set * 0 300 5 *", For { ms: 300_000 }),
            ("add * 0 2592001 5 noreply *", Until { unix_ms: 2_592_001_000 }),
            ("cas * 0 -1 5 99 *", For { ms: 0 }),
            ("append * 0 9 5 *", AsBefore),
            ("touch * 20", For { ms: 20_000 }),
            ("gat 20 * *", For { ms: 20_000 }),
            ("ms * 5 T30 *", For { ms: 30_000 }),
            ("ms * 5 MA T30 *", AsBefore),
            ("mg * v T9", For { ms: 9000 }),
            ("mg * v t", AsBefore),
        ] {
            assert_eq!(of(text), Some(life), "{text}");
        }
        assert_eq!(of("TOUCH * *"), None, "that of Redis gives none");
    }

    #[test]
    fn a_column_keeps_milliseconds_for_weeks_and_seconds_for_decades() {
        for ms in [1, 1500, (1 << 31) - 1] {
            assert_eq!(unpacked(packed(ms)), Some(ms));
        }
        assert_eq!(unpacked(packed(3_153_600_123)), Some(3_153_600_000));
        assert_eq!(unpacked(0), None);
    }
}
