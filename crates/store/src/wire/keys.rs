//! Keys of requests in flight, for protocols whose replies do not name them.

use std::collections::VecDeque;

/// The key lists of requests in flight, oldest first, in two flat buffers that are reused.
#[derive(Clone, Debug, Default)]
pub struct KeyQueue {
    bytes: Vec<u8>,
    /// Where the oldest list starts in `bytes`.
    start: usize,
    lengths: VecDeque<u32>,
}

impl KeyQueue {
    /// Remembers one request's keys.
    pub fn push(&mut self, keys: &[&[u8]]) {
        for key in keys {
            self.bytes.extend_from_slice(key);
            self.lengths.push_back(key.len() as u32);
        }
    }

    /// The first `count` keys, in order.
    pub fn front(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        let mut at = self.start;
        self.lengths.iter().take(count).map(move |&length| {
            let key = &self.bytes[at..at + length as usize];
            at += length as usize;
            key
        })
    }

    /// Forgets the first `count` keys.
    pub fn pop(&mut self, count: usize) {
        self.start += self.lengths.drain(..count.min(self.lengths.len())).map(|length| length as usize).sum::<usize>();
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
        keys.push(&[b"a", b"", b"ccc"]);
        keys.push(&[b"dd"]);
        assert_eq!(keys.front(3).collect::<Vec<_>>(), [&b"a"[..], b"", b"ccc"]);
        keys.pop(3);
        keys.push(&[b"e"]);
        assert_eq!(keys.front(2).collect::<Vec<_>>(), [&b"dd"[..], b"e"]);
        keys.pop(1);
        keys.pop(1);
        assert_eq!(keys.front(1).count(), 0);
    }

    #[test]
    fn memory_stays_constant_while_requests_come_and_go() {
        let mut keys = KeyQueue::default();
        keys.push(&[b"first key"]);
        for _ in 0..10_000 {
            keys.push(&[b"another key", b"and one more"]);
            keys.pop(2);
        }
        assert!(keys.bytes.capacity() < 1000, "{}", keys.bytes.capacity());
    }
}
