//! How requests are written.

use ground::base64;
use store::wire::ascii::push_u64;

/// The longest key as it is written in a request.
const KEY_TEXT_BYTES: usize = 250;

/// The longest key of any bytes: its base64 has at most [`KEY_TEXT_BYTES`] characters.
pub(in crate::memcached) const KEY_BYTES: usize = KEY_TEXT_BYTES / 4 * 3;

/// The digits of tokens, six bits each.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns a token as it travels: four digits, never zeros.
#[inline]
pub(super) fn token_text(token: u32) -> [u8; 4] {
    [18, 12, 6, 0].map(|shift| DIGITS[(token >> shift & 63) as usize])
}

/// Writes a request of one line: command, key, flags and token.
#[inline]
pub(super) fn line(out: &mut Vec<u8>, command: &[u8], key: &[u8], flags: &[u8], token: u32) {
    out.reserve(KEY_TEXT_BYTES + 64);
    let Some(encoding) = start(out, command, key) else { return };
    finish(out, encoding, flags, token);
}

/// Writes a request that carries a value.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, key: &[u8], value: &[u8], flags: &[u8], token: u32) {
    out.reserve(KEY_TEXT_BYTES + value.len() + 64);
    let Some(encoding) = start(out, b"ms ", key) else { return };
    out.push(b' ');
    push_u64(out, value.len() as u64);
    finish(out, encoding, flags, token);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Returns the flag of a time to live, in whole seconds: a space, `T` and seven digits.
#[inline]
pub(super) fn lifetime(ttl_ms: u64) -> [u8; 9] {
    let mut flag = *b" T0000000";
    let mut left = ttl_ms.div_ceil(1000);
    for digit in flag[2..].iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    flag
}

pub(super) fn compare_and_set(out: &mut Vec<u8>, key: &[u8], version: u64, value: &[u8], token: u32) {
    let mut flag = [0; 22];
    let mut rest = &mut flag[..];
    // 20 digits at most, so it fits.
    let _ = std::io::Write::write_fmt(&mut rest, format_args!(" C{version}"));
    let used = 22 - rest.len();
    put(out, key, value, &flag[..used], token);
}

/// Writes an increment or decrement of a counter, which is created when absent.
pub(super) fn count(out: &mut Vec<u8>, key: &[u8], by: i64, token: u32) {
    out.reserve(KEY_TEXT_BYTES + 96);
    let Some(encoding) = start(out, b"ma ", key) else { return };
    out.extend_from_slice(if by < 0 { b" MD N0 J" } else { b" MI N0 J" });
    push_u64(out, by.max(0) as u64);
    out.extend_from_slice(b" D");
    push_u64(out, by.unsigned_abs());
    finish(out, encoding, b" v", token);
}

/// Writes command and key, and returns the flag that says how the key is written. A key that the server does not take becomes a whole request of its
/// own (`None`), which the server refuses in its own words: it would take a value behind such a key for a request.
#[inline]
fn start(out: &mut Vec<u8>, command: &[u8], key: &[u8]) -> Option<&'static [u8]> {
    let plain = key.iter().all(|&byte| byte > b' ' && byte != 0x7f);
    let longest = if plain { KEY_TEXT_BYTES } else { KEY_BYTES };
    if key.is_empty() || key.len() > longest {
        // A key of the same kind: none, or one too long.
        const TOO_LONG: [u8; KEY_TEXT_BYTES + 1] = [b'x'; KEY_TEXT_BYTES + 1];
        out.extend_from_slice(b"mg ");
        out.extend_from_slice(if key.is_empty() { b"" } else { &TOO_LONG });
        out.extend_from_slice(b"\r\n");
        return None;
    }
    out.extend_from_slice(command);
    if plain {
        out.extend_from_slice(key);
        Some(b"")
    } else {
        base64::push(out, key);
        Some(b" b")
    }
}

#[inline]
fn finish(out: &mut Vec<u8>, encoding: &[u8], flags: &[u8], token: u32) {
    out.extend_from_slice(encoding);
    out.extend_from_slice(flags);
    out.extend_from_slice(b" O");
    out.extend_from_slice(&token_text(token));
    out.extend_from_slice(b"\r\n");
}
