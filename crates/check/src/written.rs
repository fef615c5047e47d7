//! What has been written under which key: tells a stale value, another key's value and rubbish apart.

use crate::value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values shorter than this are alike too often to say whose they are.
const TELLING_BYTES: usize = 8;

/// Every key written, and whose each value is. Shared by all clients of a check.
#[derive(Default)]
pub struct KeyLedger {
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    numbers: BTreeMap<Vec<u8>, u32>,
    names: Vec<Vec<u8>>,
    owners: HashMap<u64, Vec<u32>>,
    /// Keys a value was written under, by number.
    with_value: BTreeSet<u32>,
}

/// Whose a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The value was once written under this very key.
    SameKey,
    /// The value was written under that other key only.
    OtherKey(Vec<u8>),
    /// Nobody wrote it.
    Nobody,
}

impl KeyLedger {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that `value` is about to be written under `key`.
    pub fn write(&self, key: &[u8], value: &[u8]) {
        let mut books = self.books();
        let number = books.number(key);
        books.with_value.insert(number);
        if value.len() >= TELLING_BYTES {
            let owners = books.owners.entry(value::hash(value)).or_default();
            if !owners.contains(&number) {
                owners.push(number);
            }
        }
    }

    /// Notes that `key` is about to be written in a way that makes no value known.
    pub fn touch(&self, key: &[u8]) {
        self.books().number(key);
    }

    /// Notes that `key` was refused and so is not there.
    pub fn forget(&self, key: &[u8]) {
        self.books().numbers.remove(key);
    }

    /// Returns whose value this is, read under `key`.
    pub fn owner(&self, key: &[u8], value: &[u8]) -> Owner {
        let books = self.books();
        let Some(owners) = books.owners.get(&value::hash(value)) else { return Owner::Nobody };
        let this = books.numbers.get(key);
        match owners.first() {
            _ if owners.iter().any(|owner| Some(owner) == this) => Owner::SameKey,
            Some(other) => Owner::OtherKey(books.names[*other as usize].clone()),
            None => Owner::Nobody,
        }
    }

    /// Returns whether a value was written under `key`, and not only a counter.
    pub fn has_value(&self, key: &[u8]) -> bool {
        let books = self.books();
        books.numbers.get(key).is_some_and(|number| books.with_value.contains(number))
    }

    /// Returns all keys written, in byte order.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        self.books().numbers.keys().cloned().collect()
    }
}

impl Books {
    fn number(&mut self, key: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(key.to_vec());
        self.numbers.insert(key.to_vec(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyLedger, Owner};

    #[test]
    fn a_value_is_known_by_the_keys_it_was_written_under() {
        let ledger = KeyLedger::default();
        ledger.write(b"a", b"first value");
        ledger.write(b"a", b"second value");
        ledger.write(b"b", b"third value");
        assert_eq!(ledger.owner(b"a", b"first value"), Owner::SameKey);
        assert_eq!(ledger.owner(b"b", b"first value"), Owner::OtherKey(b"a".to_vec()));
        assert_eq!(ledger.owner(b"a", b"fourth value"), Owner::Nobody);
        ledger.touch(b"c");
        ledger.forget(b"b");
        assert_eq!(ledger.keys(), [b"a", b"c"]);
        assert!(ledger.has_value(b"a") && !ledger.has_value(b"b") && !ledger.has_value(b"c"));
    }
}
