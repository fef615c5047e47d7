//! What each client writes: chosen by the seed, so that the same seed writes the same.

use crate::ledger::WriteKind;

/// A set of writes: one crash's, with keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSet {
    /// The client's number, part of every key and value.
    pub number: u32,
    /// Seed of every choice.
    pub seed: u64,
    /// The longest value of one write.
    pub value_bytes: u32,
}

/// Of 16 writes: the first this many put a key nobody has written; then keys written before are put again, appended to, deleted. Most
/// writes stay the last of their key, so that one that is forgotten shows.
const FRESH: u64 = 11;
const OVERWRITES: u64 = 13;
const APPENDS: u64 = 14;

/// The writes of one client, one after the other.
pub(crate) struct Stream {
    random: Draws,
    keys: u32,
    appends: bool,
}

impl Stream {
    pub(crate) fn new(set: WriteSet, client: u32, appends: bool) -> Stream {
        Stream { random: Draws::new(set.seed, u64::from(set.number) << 32 | u64::from(client)), keys: 0, appends }
    }

    /// Returns the key and what is done to it.
    pub(crate) fn next(&mut self) -> (u32, WriteKind) {
        let choice = self.random.below(16);
        if choice < FRESH || self.keys == 0 {
            self.keys += 1;
            return (self.keys - 1, WriteKind::Put);
        }
        let key = self.random.below(u64::from(self.keys)) as u32;
        let kind = match choice {
            ..OVERWRITES => WriteKind::Put,
            OVERWRITES..APPENDS if self.appends => WriteKind::Append,
            OVERWRITES..APPENDS => WriteKind::Put,
            _ => WriteKind::Delete,
        };
        (key, kind)
    }
}

/// The bytes every key begins with.
pub const PREFIX: &str = "kvtrial-crash:";

/// Bytes of every key.
pub(crate) const KEY_BYTES: usize = 31;

/// Returns the key of a client, numbered, as the store gets it: `kvtrial-crash:SET:CLI:KEY`.
pub(crate) fn key(set: u32, client: u32, key: u32) -> [u8; KEY_BYTES] {
    let mut bytes = *b"kvtrial-crash:0000:000:00000000";
    for (number, end) in [(set, 18), (client, 22), (key, KEY_BYTES)] {
        let mut rest = number;
        let mut at = end;
        while rest > 0 && bytes[at - 1] != b':' {
            at -= 1;
            bytes[at] = b"0123456789abcdef"[(rest & 15) as usize];
            rest >>= 4;
        }
    }
    bytes
}

/// Draws numbers (splitmix64).
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64, stream: u64) -> Draws {
        let mut first = Draws(seed);
        Draws(first.next() ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Streams of draws that no client has.
const AGAIN: u64 = u64::MAX - (1 << 32);
const STRUCK: u64 = u64::MAX - (2 << 32);
const LEFT: u64 = u64::MAX - (3 << 32);
const RENAMED: u64 = u64::MAX - (4 << 32);

impl WriteSet {
    /// Returns how long after the first acknowledgements the crash comes, by the seed: between these two, and not sooner than a twentieth of the
    /// longest.
    pub fn moment_ns(self, earliest_ns: u64, longest_ns: u64) -> u64 {
        let mut random = Draws::new(self.seed, u64::MAX - u64::from(self.number));
        let earliest_ns = earliest_ns.clamp(longest_ns / 20, longest_ns);
        earliest_ns + random.below(longest_ns - earliest_ns)
    }

    /// Returns the seed of what a power cut leaves of the unflushed sectors.
    pub fn left_seed(self) -> u64 {
        Draws::new(self.seed, LEFT - u64::from(self.number)).next()
    }

    /// Returns how long after the event that was waited for the crash comes, by the seed: up to the longest.
    pub fn after_event_ns(self, longest_ns: u64) -> u64 {
        Draws::new(self.seed, RENAMED - u64::from(self.number)).below(longest_ns.max(1))
    }

    /// Returns how long after its start on what was left the store is killed again, by the seed: up to the longest.
    pub fn again_ns(self, longest_ns: u64) -> u64 {
        Draws::new(self.seed, AGAIN - u64::from(self.number)).below(longest_ns.max(1))
    }

    /// Returns which of this number of nodes fail, by the seed, counted from 0.
    pub fn struck(self, how_many: usize, nodes: usize) -> Vec<usize> {
        let mut random = Draws::new(self.seed, STRUCK - u64::from(self.number));
        let mut all: Vec<usize> = (0..nodes).collect();
        for at in 0..how_many.min(nodes) {
            let other = at + random.below((nodes - at) as u64) as usize;
            all.swap(at, other);
        }
        all.truncate(how_many);
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Stream, WriteSet, key};

    #[test]
    fn nodes_that_fail_are_chosen_by_the_seed_and_each_may_be() {
        let of = |number| WriteSet { number, seed: 42, value_bytes: 228 }.struck(2, 3);
        assert_eq!(of(1), of(1));
        let chosen: std::collections::BTreeSet<Vec<usize>> = (0..50).map(of).collect();
        assert_eq!(chosen.into_iter().collect::<Vec<_>>(), [vec![0, 1], vec![0, 2], vec![1, 2]]);
        assert_eq!(WriteSet { number: 1, seed: 42, value_bytes: 228 }.struck(3, 3), [0, 1, 2]);
    }

    #[test]
    fn the_same_seed_writes_the_same_and_keys_are_distinct() {
        let of = |client| {
            let mut stream = Stream::new(WriteSet { number: 1, seed: 42, value_bytes: 228 }, client, true);
            (0..1000).map(|_| stream.next()).collect::<Vec<_>>()
        };
        assert_eq!(of(0), of(0));
        assert_ne!(of(0), of(1));
        assert_eq!(&key(1, 17, 0x12ab), b"kvtrial-crash:0001:011:000012ab");
        assert_ne!(key(0x1_0001, 0, 0), key(2, 0, 0));
    }
}
