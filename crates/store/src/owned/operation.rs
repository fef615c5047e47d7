//! An operation that owns its bytes, in buffers that are reused: for bridges that need it after the call it came with.

use crate::{Expected, Operation};

/// The operation that the buffers hold. Byte strings are numbered in the order they were pushed.
#[derive(Clone, Copy, Debug, Default)]
enum Shape {
    #[default]
    Get,
    GetVersioned,
    Put,
    Delete,
    Append,
    Increment(i64),
    GetCounter,
    IncrementField(i64),
    GetFields,
    SetAbsent,
    SetPresent(u64),
    GetMany,
    PutMany,
    Scan(u32),
}

/// A key and its value.
pub(crate) type KeyValue<'a> = (&'a [u8], &'a [u8]);

/// A copy of an operation.
#[derive(Debug, Default)]
pub struct OwnedOperation {
    shape: Shape,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    // Always empty between operations: only their memory is kept.
    #[cfg(feature = "async")]
    keys: Vec<&'static [u8]>,
    #[cfg(feature = "async")]
    pairs: Vec<KeyValue<'static>>,
}

impl OwnedOperation {
    /// Takes a copy of `operation`.
    pub fn copy(&mut self, operation: &Operation<'_>) {
        self.bytes.clear();
        self.ends.clear();
        self.shape = match *operation {
            Operation::Get { key } => self.one(key, Shape::Get),
            Operation::GetVersioned { key } => self.one(key, Shape::GetVersioned),
            Operation::Delete { key } => self.one(key, Shape::Delete),
            Operation::GetCounter { key } => self.one(key, Shape::GetCounter),
            Operation::GetFields { key } => self.one(key, Shape::GetFields),
            Operation::Increment { key, by } => self.one(key, Shape::Increment(by)),
            Operation::Scan { start, limit } => self.one(start, Shape::Scan(limit)),
            Operation::Put { key, value } => self.two(key, value, Shape::Put),
            Operation::Append { key, value } => self.two(key, value, Shape::Append),
            Operation::IncrementField { key, field, by } => self.two(key, field, Shape::IncrementField(by)),
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                self.two(key, value, Shape::SetAbsent)
            }
            Operation::CompareAndSet { key, expected: Expected::Present { version, value: old }, value } => {
                self.push(key);
                self.two(value, old, Shape::SetPresent(version))
            }
            Operation::GetMany { keys } => {
                keys.iter().for_each(|key| self.push(key));
                Shape::GetMany
            }
            Operation::PutMany { pairs } => {
                for (key, value) in pairs {
                    self.push(key);
                    self.push(value);
                }
                Shape::PutMany
            }
        };
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    fn one(&mut self, bytes: &[u8], shape: Shape) -> Shape {
        self.push(bytes);
        shape
    }

    fn two(&mut self, first: &[u8], second: &[u8], shape: Shape) -> Shape {
        self.push(first);
        self.push(second);
        shape
    }

    fn at(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// Returns the operation, when it is a scan or names one key.
    pub fn single(&self) -> Option<Operation<'_>> {
        let at = |index| self.at(index);
        Some(match self.shape {
            Shape::Get => Operation::Get { key: at(0) },
            Shape::GetVersioned => Operation::GetVersioned { key: at(0) },
            Shape::Put => Operation::Put { key: at(0), value: at(1) },
            Shape::Delete => Operation::Delete { key: at(0) },
            Shape::Append => Operation::Append { key: at(0), value: at(1) },
            Shape::Increment(by) => Operation::Increment { key: at(0), by },
            Shape::GetCounter => Operation::GetCounter { key: at(0) },
            Shape::IncrementField(by) => Operation::IncrementField { key: at(0), field: at(1), by },
            Shape::GetFields => Operation::GetFields { key: at(0) },
            Shape::SetAbsent => Operation::CompareAndSet { key: at(0), expected: Expected::Absent, value: at(1) },
            Shape::SetPresent(version) => {
                let expected = Expected::Present { version, value: at(2) };
                Operation::CompareAndSet { key: at(0), expected, value: at(1) }
            }
            Shape::Scan(limit) => Operation::Scan { start: at(0), limit },
            Shape::GetMany | Shape::PutMany => return None,
        })
    }

    /// Runs `body` with the operation, borrowed from these buffers.
    #[cfg(feature = "async")]
    pub(crate) async fn with<T>(&mut self, body: impl AsyncFnOnce(&Operation<'_>) -> T) -> T {
        if let Some(operation) = self.single() {
            return body(&operation).await;
        }
        let mut keys = recycled(std::mem::take(&mut self.keys));
        let mut pairs = recycled(std::mem::take(&mut self.pairs));
        let operation = if let Shape::GetMany = self.shape {
            keys.extend((0..self.ends.len()).map(|index| self.at(index)));
            Operation::GetMany { keys: &keys }
        } else {
            pairs.extend((0..self.ends.len()).step_by(2).map(|index| (self.at(index), self.at(index + 1))));
            Operation::PutMany { pairs: &pairs }
        };
        let output = body(&operation).await;
        (self.keys, self.pairs) = (recycled(keys), recycled(pairs));
        output
    }
}

/// Returns the same memory for elements of another lifetime: an emptied vector collected in place.
pub(crate) fn recycled<A: Reborn<B>, B>(mut vector: Vec<A>) -> Vec<B> {
    vector.clear();
    vector.into_iter().map(Reborn::reborn).collect()
}

/// An element that may be given another lifetime when there is none of it.
pub(crate) trait Reborn<B> {
    fn reborn(self) -> B;
}

impl<'b> Reborn<&'b [u8]> for &[u8] {
    fn reborn(self) -> &'b [u8] {
        &[]
    }
}

impl<'b> Reborn<KeyValue<'b>> for KeyValue<'_> {
    fn reborn(self) -> KeyValue<'b> {
        (&[], &[])
    }
}
