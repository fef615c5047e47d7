//! Digests in hexadecimal, of which some were found under numbers, as they are sent: a text each.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Digests by number; `None`: there was nothing.
type Digests<K> = BTreeMap<K, Option<[u8; 64]>>;

/// Writes them.
///
/// # Errors
/// The serializer's.
pub fn serialize<K: Serialize + Ord, S: Serializer>(digests: &Digests<K>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = |digest: &[u8; 64]| String::from_utf8_lossy(digest).into_owned();
    serializer.collect_map(digests.iter().map(|(number, digest)| (number, digest.as_ref().map(text))))
}

/// Reads them.
///
/// # Errors
/// When they are none.
pub fn deserialize<'de, K: Deserialize<'de> + Ord, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Digests<K>, D::Error> {
    let texts = BTreeMap::<K, Option<String>>::deserialize(deserializer)?;
    let digest = |text: String| text.into_bytes().try_into().map_err(|_| D::Error::custom("a digest has 64 digits"));
    texts.into_iter().map(|(number, text)| Ok((number, text.map(digest).transpose()?))).collect()
}
