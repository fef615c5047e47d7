//! A bucket of JetStream's key/value store: how its stream and its keys are named.

use store::Endpoint;

/// The longest key: three bytes of a subject for each byte of the key, twice the bucket's name and an inbox fit into a line of 4096 bytes.
pub(super) const MAX_KEY_BYTES: usize = 1024;

/// The longest name of a bucket.
const MAX_NAME_BYTES: usize = 64;

/// The bucket of the pairs when a URL names none.
const USUAL: &str = "kvtrial";

/// A bucket, and the beginnings of the requests for its keys.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// The name of the bucket.
    pub name: String,
    /// The stream that is the bucket.
    pub stream: String,
    /// The subject of a key, without the key.
    pub subject: Vec<u8>,
    /// `PUB` and the subject of a key, without the key.
    pub put: Vec<u8>,
    /// `HPUB` and the subject of a key, without the key.
    pub put_with_headers: Vec<u8>,
    /// The request for a key to a server that has a copy, without the key.
    pub get: Vec<u8>,
    /// The request to the leader of the stream; the key is in the message.
    pub get_from_leader: Vec<u8>,
    /// The request to forget messages; the key is in the message.
    pub purge: Vec<u8>,
}

impl Bucket {
    /// Returns the bucket that an endpoint names, or the usual one. The error says why no bucket can have that name.
    pub fn of(endpoint: &Endpoint) -> Result<Bucket, String> {
        let name = endpoint.database.as_deref().unwrap_or(USUAL);
        let is_possible = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_possible) {
            return Err(format!(
                "'{}' names no bucket; use up to {MAX_NAME_BYTES} letters, digits, - and _",
                study::visible(name)
            ));
        }
        let stream = format!("KV_{name}");
        Ok(Bucket {
            subject: format!("$KV.{name}.").into_bytes(),
            put: format!("PUB $KV.{name}.").into_bytes(),
            put_with_headers: format!("HPUB $KV.{name}.").into_bytes(),
            get: format!("PUB $JS.API.DIRECT.GET.{stream}.$KV.{name}.").into_bytes(),
            get_from_leader: format!("PUB $JS.API.STREAM.MSG.GET.{stream}").into_bytes(),
            purge: format!("PUB $JS.API.STREAM.PURGE.{stream}").into_bytes(),
            name: name.to_owned(),
            stream,
        })
    }
}

/// Returns whether a byte of a key stands for itself. NATS would take `=` and `.` as well, but `=` begins a byte in hexadecimal here, and `.` would
/// split a subject, which must not have empty parts.
#[inline]
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'_')
}

/// Returns the number of bytes that [`push_key`] writes.
#[inline]
pub(super) fn key_len(key: &[u8]) -> usize {
    key.iter().map(|byte| if is_plain(*byte) { 1 } else { 3 }).sum::<usize>().max(1)
}

/// Appends a key as NATS takes it: `[-/_A-Za-z0-9]` as they are, any other byte as `=` and two hexadecimal digits, the empty key as `=`.
#[inline]
pub(super) fn push_key(out: &mut Vec<u8>, key: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if key.is_empty() {
        return out.push(b'=');
    }
    for &byte in key {
        if is_plain(byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'=', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, MAX_KEY_BYTES, key_len, push_key};
    use std::collections::HashSet;
    use store::Endpoint;

    #[test]
    fn keys_of_any_bytes_become_words_that_nats_takes_and_no_two_the_same() {
        let mut keys: HashSet<Vec<u8>> =
            (0..=255).flat_map(|byte| [vec![byte], vec![b'k', byte], vec![byte, 0]]).collect();
        keys.extend([b"".to_vec(), b"=41".to_vec(), b"a.b".to_vec(), b"a=2Eb".to_vec()]);
        let mut seen = HashSet::new();
        for key in &keys {
            let mut out = Vec::new();
            push_key(&mut out, key);
            assert_eq!(out.len(), key_len(key));
            assert!(out.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-/_=".contains(byte)), "{key:?}");
            assert!(seen.insert(out), "{key:?}");
        }
        let mut out = Vec::new();
        push_key(&mut out, b"lib/c_6-x.y=\0");
        assert_eq!(out, b"lib/c_6-x=2Ey=3D=00");
    }

    #[test]
    fn the_longest_line_fits_and_names_that_no_bucket_has_are_refused() {
        let named = |name: &str| Bucket::of(&Endpoint { database: Some(name.into()), ..Endpoint::loopback(1) });
        let longest = named(&"b".repeat(64)).map(|bucket| bucket.get.len()).unwrap_or(usize::MAX);
        assert!(
            longest + 3 * MAX_KEY_BYTES + " _INBOX.0123456789abcdef.0123456789abcdef.4294967295 1048576 1048576".len()
                < 4096
        );
        for name in ["a.b", "a b", "a*", ">", "ü", &"b".repeat(65)] {
            assert!(named(name).is_err_and(|problem| problem.contains("names no bucket")), "{name}");
        }
        assert_eq!(Bucket::of(&Endpoint::loopback(1)).map(|bucket| bucket.stream), Ok("KV_kvtrial".into()));
    }
}
