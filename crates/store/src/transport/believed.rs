//! How large a reply is believed.
//!
//! A job knows the largest value it has written. A server that announces far more, or sends without end, does not answer that job: it is
//! disbelieved at once, before it fills the memory of this machine.

/// The most bytes a reply may take on the wire, whatever was set: rows are counted by 32 bits.
const MOST_BYTES: u64 = (1 << 31) - 1;

/// The room for headers, words of refusal, and the small replies of large batches.
const ROOM_BYTES: u64 = 1 << 20;

/// Returns the number of bytes a reply may take on the wire, by its bytes of keys and values: protocols escape, announce and repeat.
///
/// ```
/// # use kvtrial_store::believed::wire_bytes;
/// assert_eq!(wire_bytes(1000), 2000 + (1 << 20));
/// assert_eq!(wire_bytes(u64::MAX), (1 << 31) - 1);
/// ```
pub fn wire_bytes(largest_reply_bytes: u64) -> usize {
    largest_reply_bytes.saturating_mul(2).saturating_add(ROOM_BYTES).min(MOST_BYTES) as usize
}

/// Returns the words for a reply that is too large.
pub fn too_large(reply_bytes: impl std::fmt::Display, most_bytes: usize) -> String {
    format!("announces a reply of {reply_bytes} bytes, more than the {most_bytes} it can have here")
}
