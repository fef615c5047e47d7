//! Keys of requests in flight, for protocols whose replies do not name them.

use std::collections::VecDeque;

/// The key lists of requests in flight, oldest first, in flat buffers that are reused.
#[derive(Clone, Debug, Default)]
pub struct KeyQueue {
    bytes: Vec<u8>,
    /// Where the oldest list starts in `bytes`.
    start: usize,
    /// Length of each key.
    lengths: VecDeque<u32>,
    /// Number of keys of each list.
    counts: VecDeque<u32>,
}

impl KeyQueue {
    /// Remembers one request's keys.
    pub fn push<K: AsRef<[u8]>>(&mut self, keys: &[K]) {
        for key in keys.iter().map(AsRef::as_ref) {
            self.bytes.extend_from_slice(key);
            self.lengths.push_back(key.len() as u32);
        }
        self.counts.push_back(keys.len() as u32);
    }

    /// Returns the keys of the oldest request, in order.
    pub fn front(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = self.start;
        self.lengths.iter().take(self.front_count()).map(move |&length| {
            let key = &self.bytes[at..at + length as usize];
            at += length as usize;
            key
        })
    }

    fn front_count(&self) -> usize {
        self.counts.front().copied().unwrap_or(0) as usize
    }

    /// Forgets the oldest request.
    pub fn pop(&mut self) {
        let count = self.front_count();
        self.counts.pop_front();
        self.start += self.lengths.drain(..count).map(|length| length as usize).sum::<usize>();
        if self.lengths.is_empty() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KeyQueue;

    #[test]
    fn keys_come_back_in_the_order_of_their_requests() {
        let mut keys = KeyQueue::default();
        keys.push(&[&b"a"[..], b"", b"ccc"]);
        keys.push::<&[u8]>(&[]);
        keys.push(&[b"dd"]);
        assert_eq!(keys.front().collect::<Vec<_>>(), [&b"a"[..], b"", b"ccc"]);
        keys.pop();
        assert_eq!(keys.front().count(), 0);
        keys.pop();
        keys.push(&[b"e"]);
        assert_eq!(keys.front().collect::<Vec<_>>(), [&b"dd"[..]]);
        keys.pop();
        assert_eq!(keys.front().collect::<Vec<_>>(), [&b"e"[..]]);
        keys.pop();
        keys.pop();
        assert_eq!(keys.front().count(), 0);
    }

    #[test]
    fn memory_stays_constant_while_requests_come_and_go() {
        let mut keys = KeyQueue::default();
        keys.push(&[b"first key"]);
        for _ in 0..10_000 {
            keys.push(&[&b"another key"[..], b"and one more"]);
            keys.pop();
        }
        assert!(keys.bytes.capacity() < 1000, "{}", keys.bytes.capacity());
    }
}
