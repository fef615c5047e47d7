//! Values that describe themselves: key id, version, checksum, and a payload that follows from them. Every byte can
//! be verified without keeping a single value; making one is a copy from a shared pool.
//!
//! The header is two words: the id with the lower bits of the version above it, and a checksum of 52 bits with the version's other bits.

use super::key::ID_BITS;
use data::splitmix::mix;
use data::wyrand::WyRand;

/// Smallest value: the header.
pub const MIN_BYTES: usize = 16;

/// Places in the pool where a payload may start. Few enough that the pool stays in the processor's first cache; two values that share a
/// place still differ in their headers.
const STARTS: usize = 1 << 12;

/// Bits of a version that have room beside an id; the others are in the lowest bits of the second word.
const LOW_BITS: u32 = u64::BITS - ID_BITS;
const ID: u64 = (1 << ID_BITS) - 1;
const HIGH: u64 = (1 << 12) - 1;

/// Makes and verifies the values of one trial.
pub struct Values {
    pool: Vec<u8>,
    size: usize,
    salt: u64,
}

/// The flaw of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A value of that many bytes.
    Length(usize),
    /// A header that is not one of ours (or is of another run).
    Header,
    /// The whole and sound value of another key.
    OtherKey(u64),
    /// The payload differs from this byte on.
    Payload(usize),
}

impl Values {
    /// Makes values of `size` bytes (at least [`MIN_BYTES`]); another seed makes other values, so that leftovers of another run are
    /// noticed.
    pub fn new(size: usize, seed: u64) -> Values {
        let size = size.max(MIN_BYTES);
        let mut rng = WyRand::new(seed, 0x7A1);
        let words = (STARTS + size).div_ceil(8);
        let mut pool = Vec::with_capacity(words * 8);
        for _ in 0..words {
            pool.extend_from_slice(&rng.u64().to_le_bytes());
        }
        Values { pool, size, salt: mix(seed) }
    }

    /// Returns the number of bytes of every value.
    pub fn size(&self) -> usize {
        self.size
    }

    #[inline]
    fn checksum(&self, head: u64, high: u64) -> u64 {
        mix(head ^ self.salt ^ high << LOW_BITS)
    }

    #[inline]
    fn payload(&self, checksum: u64) -> &[u8] {
        let start = checksum as usize % STARTS;
        &self.pool[start..start + self.size - MIN_BYTES]
    }

    /// Replaces `out` by the value of this key and version.
    #[inline]
    pub fn make(&self, id: u64, version: u32, out: &mut Vec<u8>) {
        let (head, high) = (id | u64::from(version) << ID_BITS, u64::from(version >> LOW_BITS));
        let checksum = self.checksum(head, high);
        if out.len() != self.size {
            out.resize(self.size, 0);
        }
        let (header, payload) = out.split_at_mut(MIN_BYTES);
        header[..8].copy_from_slice(&head.to_le_bytes());
        header[8..].copy_from_slice(&(checksum & !HIGH | high).to_le_bytes());
        payload.copy_from_slice(self.payload(checksum));
    }

    /// Verifies every byte of a value read for key `id`; returns its version.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline(always)]
    pub fn verify(&self, id: u64, value: &[u8]) -> Result<u32, Flaw> {
        self.version(id, value).ok_or_else(|| self.flaw(value))
    }

    /// The version of a value that is key `id`'s to the last byte.
    #[inline(always)]
    fn version(&self, id: u64, value: &[u8]) -> Option<u32> {
        let (head, rest) = value.split_first_chunk::<8>()?;
        let (check, payload) = rest.split_first_chunk::<8>()?;
        let (head, check) = (u64::from_le_bytes(*head), u64::from_le_bytes(*check));
        let checksum = self.checksum(head, check & HIGH);
        let sound = (checksum ^ check) & !HIGH == 0 && head & ID == id && payload == self.payload(checksum);
        sound.then_some((head >> ID_BITS | (check & HIGH) << LOW_BITS) as u32)
    }

    /// Returns the flaw of a value that is not sound.
    #[cold]
    fn flaw(&self, value: &[u8]) -> Flaw {
        let (Some(head), true) = (value.first_chunk::<8>(), value.len() == self.size) else {
            return Flaw::Length(value.len());
        };
        let head = u64::from_le_bytes(*head);
        let check = value[8..].first_chunk::<8>().map_or(0, |check| u64::from_le_bytes(*check));
        let checksum = self.checksum(head, check & HIGH);
        if (checksum ^ check) & !HIGH != 0 {
            return Flaw::Header;
        }
        match value[MIN_BYTES..].iter().zip(self.payload(checksum)).position(|(a, b)| a != b) {
            Some(at) => Flaw::Payload(MIN_BYTES + at),
            None => Flaw::OtherKey(head & ID),
        }
    }
}

/// Returns the version that the header of a value names, whether or not the value is sound.
#[inline]
pub fn version_in(value: &[u8]) -> Option<u64> {
    let (head, rest) = value.split_first_chunk::<8>()?;
    let check = u64::from_le_bytes(*rest.first_chunk::<8>()?);
    Some(u64::from_le_bytes(*head) >> ID_BITS | (check & HIGH) << LOW_BITS)
}

#[cfg(test)]
mod tests {
    use super::{Flaw, MIN_BYTES, Values};

    #[test]
    fn a_value_is_verified_to_the_last_bit() {
        for size in [MIN_BYTES, 17, 100, 1000] {
            let values = Values::new(size, 42);
            let mut value = Vec::new();
            values.make(7, 3, &mut value);
            assert_eq!((value.len(), values.verify(7, &value)), (size, Ok(3)));
            for at in 0..size {
                for bit in 0..8 {
                    let mut changed = value.clone();
                    changed[at] ^= 1 << bit;
                    let expected = if at < MIN_BYTES { Flaw::Header } else { Flaw::Payload(at) };
                    assert_eq!(values.verify(7, &changed), Err(expected));
                }
            }
            assert_eq!(values.verify(7, &value[..size - 1]), Err(Flaw::Length(size - 1)));
            assert_eq!(values.verify(8, &value), Err(Flaw::OtherKey(7)));
            assert_eq!(Values::new(size, 43).verify(7, &value), Err(Flaw::Header));
        }
    }

    #[test]
    fn the_largest_ids_and_versions_come_back_whole() {
        let values = Values::new(20, 42);
        let mut value = Vec::new();
        for id in [0, 7, 3_000_000_000, super::super::key::MAX_KEYS - 1] {
            for version in [1, 2, (1 << 14) - 1, 1 << 14, (1 << 26) - 1] {
                values.make(id, version, &mut value);
                assert_eq!(values.verify(id, &value), Ok(version), "{id} {version}");
                assert_eq!(values.verify(id ^ 1, &value), Err(Flaw::OtherKey(id)));
            }
        }
    }

    #[test]
    fn versions_and_keys_have_different_payloads() {
        let values = Values::new(100, 1);
        let make = |id, version| {
            let mut value = Vec::new();
            values.make(id, version, &mut value);
            value[MIN_BYTES..].to_vec()
        };
        assert!(make(1, 1) != make(1, 2) && make(1, 1) != make(2, 1));
    }
}
