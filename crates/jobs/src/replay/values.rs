//! Values by the writes that put them: how large each is, and its bytes, which are made again to verify it.
//!
//! A write has a number, its *mark*: that of its request; of a key that was put before the clock started, the number of requests and that of
//! the key.

use super::Loading;
use data::splitmix::mix;
use data::wyrand::WyRand;
use trace::Trace;

/// Places in the pool where a value may start.
const STARTS: u64 = 1 << 12;

/// The bytes at the beginning of a value that no other write has, as far as it is that long.
const HEAD_BYTES: usize = 8;

/// How large values are.
pub struct Sizes {
    usual: u32,
    largest: u32,
    /// The first request of each key, where keys are put before the clock starts.
    firsts: Vec<u32>,
    /// The longest value of all.
    pub longest: u32,
    /// Requests whose values are larger than they may be.
    pub cut: u64,
}

impl Sizes {
    /// Finds out how large the values of a trace are. `usual`: where it does not say; `largest`: larger ones are cut to this.
    pub fn of(trace: &Trace, usual: u32, largest: u32, loading: Loading) -> Sizes {
        let mut sizes = Sizes { usual, largest, firsts: Vec::new(), longest: 0, cut: 0 };
        if loading == Loading::First {
            sizes.firsts = vec![u32::MAX; trace.keys().len()];
            for (request, &id) in trace.ids().iter().enumerate() {
                let first = &mut sizes.firsts[id as usize];
                *first = (*first).min(request as u32);
            }
        }
        for request in 0..if trace.is_sized() { trace.ids().len() } else { 1 } {
            sizes.cut += u64::from(trace.value_bytes(request).is_some_and(|bytes| bytes > largest));
            sizes.longest = sizes.longest.max(sizes.of_request(trace, request));
        }
        sizes
    }

    #[inline]
    fn of_request(&self, trace: &Trace, request: usize) -> u32 {
        trace.value_bytes(request).unwrap_or(self.usual).min(self.largest)
    }

    /// Returns the size of the value that the write of this mark puts.
    #[inline]
    pub fn bytes(&self, trace: &Trace, mark: u32) -> usize {
        let request = match (mark as usize).checked_sub(trace.ids().len()) {
            Some(key) => self.firsts.get(key).copied().unwrap_or(0),
            None => mark,
        };
        self.of_request(trace, request as usize) as usize
    }

    /// Returns the size of a value where the trace does not say.
    pub fn usual(&self) -> u32 {
        self.usual.min(self.largest)
    }
}

/// Makes values and knows them.
pub struct Contents {
    pool: Vec<u8>,
    salt: u64,
}

impl Contents {
    /// Makes values of at most this many bytes; another seed makes others, so that leftovers of another run are noticed.
    pub fn new(longest: usize, seed: u64) -> Contents {
        let mut rng = WyRand::new(seed, 0x7EA1);
        let words = (STARTS as usize + longest).div_ceil(8);
        Contents { pool: (0..words).flat_map(|_| rng.u64().to_le_bytes()).collect(), salt: mix(seed) }
    }

    #[inline]
    fn parts(&self, id: u32, mark: u32, bytes: usize) -> ([u8; HEAD_BYTES], &[u8]) {
        let head = mix(self.salt ^ (u64::from(id) << 32 | u64::from(mark)));
        let start = (head >> 40) % STARTS;
        (head.to_le_bytes(), &self.pool[start as usize..][..bytes.saturating_sub(HEAD_BYTES)])
    }

    /// Replaces `out` by the value that the write of this mark puts under this key.
    #[inline]
    pub fn make(&self, id: u32, mark: u32, bytes: usize, out: &mut Vec<u8>) {
        let (head, rest) = self.parts(id, mark, bytes);
        out.clear();
        out.extend_from_slice(&head[..bytes.min(HEAD_BYTES)]);
        out.extend_from_slice(rest);
    }

    /// Returns whether this is the value, to the last byte, that the write of this mark puts under this key.
    #[inline]
    pub fn is(&self, id: u32, mark: u32, bytes: usize, value: &[u8]) -> bool {
        let (head, rest) = self.parts(id, mark, bytes);
        let at = bytes.min(HEAD_BYTES);
        value.len() == bytes && value[..at] == head[..at] && &value[at..] == rest
    }
}

#[cfg(test)]
mod tests {
    use super::Contents;

    #[test]
    fn a_value_is_that_of_its_write_alone_and_every_byte_counts() {
        let contents = Contents::new(5000, 42);
        let mut value = Vec::new();
        for bytes in [0, 1, 7, 8, 9, 100, 5000] {
            contents.make(7, 9, bytes, &mut value);
            assert!(value.len() == bytes && contents.is(7, 9, bytes, &value));
            assert!(!contents.is(7, 9, bytes + 1, &value), "{bytes}");
            let others = [contents.is(8, 9, bytes, &value), contents.is(7, 10, bytes, &value)];
            assert!(bytes < 2 || others == [false, false], "{bytes}");
            for at in 0..bytes {
                value[at] ^= 1;
                assert!(!contents.is(7, 9, bytes, &value), "byte {at} of {bytes}");
                value[at] ^= 1;
            }
        }
        assert!(!Contents::new(5000, 43).is(7, 9, 5000, &value));
    }
}
