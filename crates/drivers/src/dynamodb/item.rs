//! Items as the protocol writes them: `{"k":{"B":"base64"},"v":{"B":"base64"}}`.

use super::{MAX_ITEM_BYTES, NAMES_BYTES};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// The character before the name of a counter of a record.
const FIELD: char = 'f';

/// The value of an attribute. Attributes of other types are not kvtrial's.
#[derive(Deserialize)]
pub(super) struct Attribute<'a> {
    #[serde(rename = "B", borrow)]
    bytes: Option<Cow<'a, str>>,
    #[serde(rename = "N", borrow)]
    number: Option<Cow<'a, str>>,
}

/// An item as it is read.
#[derive(Deserialize)]
pub(super) struct Item<'a>(#[serde(borrow)] HashMap<Cow<'a, str>, Attribute<'a>>);

impl Item<'_> {
    /// Returns the item's key.
    pub(super) fn key(&self) -> Result<Vec<u8>, String> {
        let key = self.0.get("k").and_then(|key| key.bytes.as_deref()).ok_or("an item without a key")?;
        bytes(key)
    }

    /// Returns the item's value. An empty value is left out.
    pub(super) fn value(&self) -> Result<Vec<u8>, String> {
        self.0.get("v").and_then(|value| value.bytes.as_deref()).map_or(Ok(Vec::new()), bytes)
    }

    /// Returns the count in this attribute.
    pub(super) fn count(&self, name: &str) -> Result<Option<i64>, String> {
        let Some(count) = self.0.get(name).and_then(|count| count.number.as_deref()) else { return Ok(None) };
        count.parse().map(Some).map_err(|_| format!("{count:?} is no count"))
    }

    /// Returns the counters of a record, with their counts as they are written.
    pub(super) fn fields(&self) -> impl Iterator<Item = Result<(Vec<u8>, &str), String>> {
        self.0.iter().filter_map(|(name, attribute)| {
            let (name, count) = (name.strip_prefix(FIELD)?, attribute.number.as_deref()?);
            Some(URL_SAFE_NO_PAD.decode(name).map(|field| (field, count)).map_err(|error| error.to_string()))
        })
    }
}

fn bytes(coded: &str) -> Result<Vec<u8>, String> {
    BASE64.decode(coded).map_err(|error| error.to_string())
}

/// Returns `{"k":{"B":"…"}}`.
pub(super) fn key(key: &[u8]) -> String {
    format!(r#"{{"k":{{"B":"{}"}}}}"#, BASE64.encode(key))
}

/// Returns an item with a value, or in words why the value cannot be an item.
pub(super) fn item(key: &[u8], value: &[u8]) -> Result<String, String> {
    let item_bytes = NAMES_BYTES + key.len() + value.len();
    if item_bytes > MAX_ITEM_BYTES {
        return Err(format!("an item of {item_bytes} bytes; DynamoDB takes {MAX_ITEM_BYTES}"));
    }
    if value.is_empty() {
        return Ok(self::key(key));
    }
    Ok(format!(r#"{{"k":{{"B":"{}"}},"v":{{"B":"{}"}}}}"#, BASE64.encode(key), BASE64.encode(value)))
}

/// Returns `{":v":{"B":"…"}}`.
pub(super) fn operand(value: &[u8]) -> String {
    format!(r#"{{":v":{{"B":"{}"}}}}"#, BASE64.encode(value))
}

/// Returns the name of the attribute for a counter of a record.
pub(super) fn field(name: &[u8]) -> String {
    format!("{FIELD}{}", URL_SAFE_NO_PAD.encode(name))
}
