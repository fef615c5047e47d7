//! The limits of what kvtrial believes of a server. The driver opens its socket itself, so nothing can stand between the two.
//!
//! The driver takes messages as long as the server says, in its greeting, that it sends them; a server that says more than MongoDB does
//! is refused. What the messages of an answer hold is counted; together it may be no more than what the job can get.

use mongodb::bson::{Bson, Document, RawDocument};
use mongodb::error::{Error, Result};
use store::believed::too_large;

/// The most bytes believed of answers to single questions (collections, groups), and of operations until `believe` sets another limit.
pub(super) const ANSWER_BYTES: usize = 256 << 20;

/// The most bytes of a message that the driver takes before the greeting. MongoDB and FerretDB name 48,000,000.
const MOST_MESSAGE_BYTES: i64 = 48 << 20;

/// The approximate number of bytes around a row's key and value.
const ROW_BYTES: usize = 4;

/// Refuses a server by its greeting, in words.
pub(super) fn check(greeting: &Document) -> std::result::Result<(), String> {
    let named = match greeting.get("maxMessageSizeBytes") {
        Some(Bson::Int32(bytes)) => i64::from(*bytes),
        Some(Bson::Int64(bytes)) => *bytes,
        _ => 0, // the driver has refused it
    };
    if named <= MOST_MESSAGE_BYTES {
        return Ok(());
    }
    Err(format!(
        "it says that its messages have up to {named} bytes (maxMessageSizeBytes), and the driver would believe any of that \
         length; MongoDB says 48000000"
    ))
}

/// The bytes of an answer so far.
pub(super) struct Tally {
    bytes: usize,
    most_bytes: usize,
}

impl Tally {
    pub(super) fn new(most_bytes: usize) -> Tally {
        Tally { bytes: 0, most_bytes }
    }

    /// Counts a row whose keys and values have this many bytes.
    pub(super) fn add(&mut self, bytes: usize) -> Result<()> {
        self.bytes += ROW_BYTES + bytes;
        if self.bytes > self.most_bytes {
            return Err(Error::custom(too_large(self.bytes, self.most_bytes)));
        }
        Ok(())
    }

    /// Counts a document of an answer to a single question.
    pub(super) fn add_document(&mut self, document: &RawDocument) -> Result<()> {
        self.add(document.as_bytes().len())
    }
}

/// Returns the words for an answer that was not believed.
pub(super) fn broken_by(error: &Error) -> Option<&str> {
    error.get_custom::<String>().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::check;
    use mongodb::bson::doc;

    #[test]
    fn a_server_that_names_longer_messages_than_mongodb_is_refused() {
        assert_eq!(check(&doc! { "maxMessageSizeBytes": 48_000_000 }), Ok(()));
        assert_eq!(check(&doc! { "maxMessageSizeBytes": 48_000_000_i64 }), Ok(()));
        let words = check(&doc! { "maxMessageSizeBytes": i32::MAX }).unwrap_err();
        assert!(words.contains("up to 2147483647 bytes") && words.contains("MongoDB says 48000000"), "{words}");
    }
}
