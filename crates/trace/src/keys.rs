//! The keys of a trace, each once, with a number each: most traces ask for few keys often.

use crate::builder::Name;
use data::splitmix::mix;
use hashbrown::HashTable;

/// The keys, by their numbers.
#[derive(Debug)]
pub enum TraceKeys {
    /// Numbers, which are written in decimal.
    Numbers(Vec<u64>),
    /// Bytes, one key after the other, and where each ends.
    Bytes {
        /// The bytes of all keys.
        bytes: Vec<u8>,
        /// The end of each key.
        ends: Vec<u64>,
    },
}

impl Default for TraceKeys {
    fn default() -> TraceKeys {
        TraceKeys::Numbers(Vec::new())
    }
}

impl TraceKeys {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        match self {
            TraceKeys::Numbers(numbers) => numbers.len(),
            TraceKeys::Bytes { ends, .. } => ends.len(),
        }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces `out` by a key.
    #[inline]
    pub fn write(&self, id: u32, out: &mut Vec<u8>) {
        out.clear();
        match self {
            TraceKeys::Numbers(numbers) => write_decimal(numbers[id as usize], out),
            TraceKeys::Bytes { .. } => out.extend_from_slice(self.bytes_of(id)),
        }
    }

    /// Returns a key.
    pub fn key(&self, id: u32) -> Vec<u8> {
        let mut key = Vec::new();
        self.write(id, &mut key);
        key
    }

    fn bytes_of(&self, id: u32) -> &[u8] {
        match self {
            TraceKeys::Numbers(_) => &[],
            TraceKeys::Bytes { bytes, ends } => {
                let start = if id == 0 { 0 } else { ends[id as usize - 1] };
                &bytes[start as usize..ends[id as usize] as usize]
            }
        }
    }

    /// Returns the bytes of the shortest and of the longest key.
    pub fn lengths(&self) -> [usize; 2] {
        let mut key = Vec::new();
        (0..self.len() as u32).fold([usize::MAX, 0], |[least, most], id| {
            self.write(id, &mut key);
            [least.min(key.len()), most.max(key.len())]
        })
    }
}

/// Writes a number in decimal.
fn write_decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Gives keys their numbers.
#[derive(Default)]
pub(crate) struct Interner {
    ids: HashTable<u32>,
}

impl Interner {
    /// Returns the number of a key, a new one where it is new.
    ///
    /// # Errors
    /// Says why it cannot be a key.
    #[inline]
    pub(crate) fn id(&mut self, keys: &mut TraceKeys, name: Name<'_>) -> Result<u32, String> {
        let new = keys.len() as u32;
        match name {
            Name::Number(number) => {
                let TraceKeys::Numbers(numbers) = keys else {
                    return Err("its key is a number, others are not".into());
                };
                if let Some(&id) = self.ids.find(mix(number), |&id| numbers[id as usize] == number) {
                    return Ok(id);
                }
                numbers.push(number);
                self.ids.insert_unique(mix(number), new, |&id| mix(numbers[id as usize]));
            }
            Name::Bytes(name) => {
                if let TraceKeys::Numbers(numbers) = keys
                    && numbers.is_empty()
                {
                    *keys = TraceKeys::Bytes { bytes: Vec::new(), ends: Vec::new() };
                }
                let hash = hash(name);
                if let Some(&id) = self.ids.find(hash, |&id| keys.bytes_of(id) == name) {
                    return Ok(id);
                }
                let TraceKeys::Bytes { bytes, ends } = keys else {
                    return Err("its key is no number, others are".into());
                };
                bytes.extend_from_slice(name);
                ends.push(bytes.len() as u64);
                self.ids.insert_unique(hash, new, |&id| crate::keys::hash(keys.bytes_of(id)));
            }
        }
        Ok(new)
    }
}

/// A hash of bytes: eight at a time.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.fold(mix(bytes.len() as u64), |hash, word| mix(hash ^ word))
}
