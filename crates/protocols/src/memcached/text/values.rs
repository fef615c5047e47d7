//! Requests that carry a value.

use super::{KEY_TEXT_BYTES, KeyText, push_key};
use store::wire::ascii::push_u64;

/// Writes a request that carries a value.
pub(super) fn store(how: KeyText, out: &mut Vec<u8>, command: &[u8], key: &[u8], value: &[u8], version: Option<u64>) {
    out.reserve(KEY_TEXT_BYTES + value.len() + 64);
    out.extend_from_slice(command);
    push_key(how, out, key);
    out.extend_from_slice(b" 0 0 ");
    sized(out, value, version);
}

/// Writes a request that carries a value with a time to live, in whole seconds.
pub(super) fn lasting(how: KeyText, out: &mut Vec<u8>, command: &[u8], key: &[u8], value: &[u8], ttl_ms: u64) {
    out.reserve(KEY_TEXT_BYTES + value.len() + 64);
    out.extend_from_slice(command);
    push_key(how, out, key);
    out.extend_from_slice(b" 0 ");
    push_u64(out, ttl_ms.div_ceil(1000));
    out.push(b' ');
    sized(out, value, None);
}

/// Writes the end of a request: the number of bytes, the version, and the value.
#[inline]
fn sized(out: &mut Vec<u8>, value: &[u8], version: Option<u64>) {
    push_u64(out, value.len() as u64);
    if let Some(version) = version {
        out.push(b' ');
        push_u64(out, version);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
