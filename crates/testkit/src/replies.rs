//! Replies as tests want them: made in a word, taken apart in a word, and collected from a session.

use store::{OwnedFailure, OwnedReply, Reply, RowBuffer, Sink, Slot};

/// Makes a value.
pub fn value(bytes: impl AsRef<[u8]>) -> OwnedReply {
    OwnedReply::Value(bytes.as_ref().to_vec())
}

/// Rows in this order.
pub fn rows<K: AsRef<[u8]>, V: AsRef<[u8]>>(pairs: impl IntoIterator<Item = (K, V)>) -> OwnedReply {
    let mut rows = RowBuffer::default();
    pairs.into_iter().for_each(|(key, value)| rows.push(key.as_ref(), value.as_ref()));
    OwnedReply::Rows(rows)
}

/// Makes a reply with no rows.
pub fn no_rows() -> OwnedReply {
    OwnedReply::Rows(RowBuffer::default())
}

/// Makes a refusal in these words.
pub fn refused(words: &str) -> OwnedReply {
    OwnedReply::Failed(OwnedFailure::Refused(words.into()))
}

/// Makes a reply about what is not the protocol, in these words.
pub fn broken(words: &str) -> OwnedReply {
    OwnedReply::Failed(OwnedFailure::Protocol(words.into()))
}

/// Returns the words of a refusal; `None` of every other reply.
pub fn refusal(reply: &OwnedReply) -> Option<&str> {
    match reply {
        OwnedReply::Failed(OwnedFailure::Refused(words)) => Some(words),
        _ => None,
    }
}

/// Returns the words about a connection that was lost or could not be had; `None` of every other reply.
pub fn loss(reply: &OwnedReply) -> Option<&str> {
    match reply {
        OwnedReply::Failed(OwnedFailure::ConnectionLost(words) | OwnedFailure::NotConnected(words)) => Some(words),
        _ => None,
    }
}

/// Returns the words of a store that does not know what became of the operation; `None` of every other reply.
pub fn doubt(reply: &OwnedReply) -> Option<&str> {
    match reply {
        OwnedReply::Failed(OwnedFailure::Unknown(words)) => Some(words),
        _ => None,
    }
}

/// Returns the words about what is not the protocol; `None` of every other reply.
pub fn breach(reply: &OwnedReply) -> Option<&str> {
    match reply {
        OwnedReply::Failed(OwnedFailure::Protocol(words)) => Some(words),
        _ => None,
    }
}

/// Rows sorted by their keys.
///
/// # Panics
/// When the reply is no rows.
pub fn sorted(reply: &OwnedReply) -> Vec<(Vec<u8>, Vec<u8>)> {
    let OwnedReply::Rows(rows) = reply else { panic!("no rows: {reply:?}") };
    let mut rows: Vec<_> = rows.rows().iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
    rows.sort();
    rows
}

/// Takes replies by slot.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Slots and their replies, in the order they came.
    pub replies: Vec<(Slot, OwnedReply)>,
    /// How often something arrived.
    pub arrivals: u32,
}

impl Sink for Inbox {
    fn arrived(&mut self) {
        self.arrivals += 1;
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        assert!(self.arrivals > 0, "slot {slot} was answered before anything arrived");
        self.replies.push((slot, (*reply).into()));
    }
}
