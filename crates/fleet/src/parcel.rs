//! Messages of any length: in parts, each shorter than what every NATS server takes.

/// The most bytes of a part. A server's usual limit is 1 MiB.
const PART_BYTES: usize = 512 << 10;

/// Returns the parts of a message, and whether each is the last.
pub(crate) fn parts(message: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    let count = message.len().div_ceil(PART_BYTES).max(1);
    (0..count).map(move |at| {
        let end = message.len().min((at + 1) * PART_BYTES);
        (&message[at * PART_BYTES..end], at + 1 == count)
    })
}

/// Puts parts together again. Those of one sender come in their order.
#[derive(Debug, Default)]
pub(crate) struct Parcel(Vec<u8>);

impl Parcel {
    /// Adds a part; returns the message when it was the last.
    pub(crate) fn add(&mut self, part: &[u8], is_last: bool) -> Option<Vec<u8>> {
        self.0.extend_from_slice(part);
        is_last.then(|| std::mem::take(&mut self.0))
    }

    /// Forgets a message that will never be whole.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{PART_BYTES, Parcel, parts};

    #[test]
    fn a_message_of_any_length_is_whole_again() {
        for length in [0, 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES] {
            let message: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut parcel = Parcel::default();
            let whole: Vec<Vec<u8>> = parts(&message).filter_map(|(part, last)| parcel.add(part, last)).collect();
            assert!(whole == [message], "{length}");
        }
    }
}
