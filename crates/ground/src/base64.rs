//! Base64 as memcached and NATS read it (RFC 4648, with padding). Nothing is allocated but the room for what is written.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Appends `bytes` in base64.
#[inline]
pub fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(written, Ok(out.len() - start));
}

/// Appends the bytes that a text in base64 stands for; returns false when the text is not base64.
#[inline]
pub fn read(out: &mut Vec<u8>, text: &[u8]) -> bool {
    STANDARD.decode_vec(text, out).is_ok()
}
