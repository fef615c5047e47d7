//! Keys as `_id`s, values in documents, and back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use std::fmt::Write;

/// Returns the `_id` of a key: the key itself where it is printable ASCII and not reserved, else `~` and hexadecimal digits.
pub(super) fn id_of(key: &[u8]) -> String {
    let plain = key.iter().all(|byte| (b' '..=b'~').contains(byte));
    match std::str::from_utf8(key) {
        Ok(text) if plain && !text.is_empty() && !text.starts_with(['_', '~']) => text.to_owned(),
        _ => key.iter().fold("~".to_owned(), |mut id, byte| {
            // Writing to a string cannot fail.
            let _ = write!(id, "{byte:02x}");
            id
        }),
    }
}

/// Returns the key of an `_id`; `None` for an `_id` that kvtrial does not write.
pub(super) fn key_of(id: &str) -> Option<Vec<u8>> {
    let Some(hex) = id.strip_prefix('~') else { return (!id.starts_with('_')).then(|| id.as_bytes().to_vec()) };
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    hex.as_bytes().chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// Returns a string in JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Adds a document with this value to a body of JSON.
pub(super) fn write(body: &mut Vec<u8>, id: &str, rev: Option<&str>, value: &[u8]) {
    body.extend_from_slice(b"{\"_id\":");
    body.extend_from_slice(quoted(id).as_bytes());
    if let Some(rev) = rev {
        body.extend_from_slice(b",\"_rev\":");
        body.extend_from_slice(quoted(rev).as_bytes());
    }
    match text(value) {
        Some(text) => {
            body.extend_from_slice(b",\"v\":");
            body.extend_from_slice(quoted(text).as_bytes());
        }
        None => {
            body.extend_from_slice(b",\"b\":\"");
            body.extend_from_slice(BASE64.encode(value).as_bytes());
            body.push(b'"');
        }
    }
    body.push(b'}');
}

/// Returns a value that is plain text: no control characters but tabs and line ends, which JSON writes in two characters, and none of the two last
/// characters of the basic plane, which some readers of JSON refuse. So every JSON document is plain text, but for those two characters.
fn text(value: &[u8]) -> Option<&str> {
    let plain = value.iter().all(|byte| *byte >= b' ' || b"\t\n\r".contains(byte));
    let text = plain.then(|| std::str::from_utf8(value).ok())??;
    (!text.contains(['\u{fffe}', '\u{ffff}'])).then_some(text)
}

/// A document as the server sends it.
#[derive(Debug, Deserialize)]
pub(super) struct Document {
    #[serde(rename = "_rev")]
    pub(super) rev: String,
    v: Option<String>,
    b: Option<String>,
}

impl Document {
    /// Returns the document's value; `None` when kvtrial has not written the document.
    pub(super) fn value(self) -> Option<Vec<u8>> {
        match (self.v, self.b) {
            (Some(text), _) => Some(text.into_bytes()),
            (None, Some(coded)) => BASE64.decode(coded).ok(),
            (None, None) => None,
        }
    }
}

/// Returns a number that stands for a revision where only numbers can be handed on (FNV-1a).
pub(super) fn version(rev: &str) -> u64 {
    rev.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Document, id_of, key_of, version, write};
    use crate::shared::http::in_url;

    #[test]
    fn every_key_has_an_id_of_its_own_and_plain_ones_keep_theirs() {
        assert_eq!(id_of(b"0000000001"), "0000000001");
        assert_eq!(id_of(b"_design/x"), "~5f64657369676e2f78");
        assert_eq!((id_of(b""), id_of(b"~"), id_of(b"\xff")), ("~".into(), "~7e".into(), "~ff".into()));
        for key in [&b"plain"[..], b"", b"~", b"~7e", b"_id", b"a/b c", "µ".as_bytes(), b"\x00\xff"] {
            assert_eq!(key_of(&id_of(key)).unwrap(), key);
        }
        assert_eq!((key_of("_design/kvtrial"), key_of("~0"), key_of("~zz")), (None, None, None));
        assert_eq!(in_url("a/b c\"µ"), "a%2Fb%20c%22%C2%B5");
    }

    #[test]
    fn every_value_comes_back_from_its_document() {
        let all: Vec<u8> = (0..=255).collect();
        for value in [
            &b""[..],
            b"{\"a\":1}",
            "µ\u{2028}\u{10ffff}\t\n".as_bytes(),
            b"\x00",
            b"\x7f",
            "\u{ffff}".as_bytes(),
            b"\xff\xfe",
            &all,
        ] {
            let mut body = Vec::new();
            write(&mut body, "k", Some("1-a"), value);
            let document: Document = serde_json::from_slice(&body).unwrap();
            assert_eq!((document.rev.clone(), document.value()), ("1-a".to_owned(), Some(value.to_vec())));
        }
        assert_ne!(version("1-a"), version("2-a"));
    }
}
