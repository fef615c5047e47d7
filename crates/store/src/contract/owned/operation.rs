//! An operation that owns its bytes, in buffers that are reused: for bridges that need it after the call it came with.

use crate::{Expected, Operation, RouteKey, SqlValue};

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
    PutTtl(u64),
    Touch(u64),
    TimeLeft,
    Command(RouteKey),
    Sql,
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
    keys: Vec<&'static [u8]>,
    bound: Vec<SqlValue<'static>>,
    /// The parameters of a statement; texts are empty here.
    values: Vec<SqlValue<'static>>,
    #[cfg(feature = "async")]
    pairs: Vec<KeyValue<'static>>,
}

impl OwnedOperation {
    /// Takes a copy of `operation`.
    pub fn copy(&mut self, operation: &Operation<'_>) {
        self.bytes.clear();
        self.ends.clear();
        self.values.clear();
        self.shape = match *operation {
            Operation::Get { key } => self.one(key, Shape::Get),
            Operation::GetVersioned { key } => self.one(key, Shape::GetVersioned),
            Operation::Delete { key } => self.one(key, Shape::Delete),
            Operation::GetCounter { key } => self.one(key, Shape::GetCounter),
            Operation::GetFields { key } => self.one(key, Shape::GetFields),
            Operation::TimeLeft { key } => self.one(key, Shape::TimeLeft),
            Operation::Increment { key, by } => self.one(key, Shape::Increment(by)),
            Operation::Scan { start, limit } => self.one(start, Shape::Scan(limit)),
            Operation::Put { key, value } => self.two(key, value, Shape::Put),
            Operation::Append { key, value } => self.two(key, value, Shape::Append),
            Operation::PutTtl { key, value, ttl_ms } => self.two(key, value, Shape::PutTtl(ttl_ms)),
            Operation::Touch { key, ttl_ms } => self.one(key, Shape::Touch(ttl_ms)),
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
            Operation::Command { words, key } => {
                words.iter().for_each(|word| self.push(word));
                Shape::Command(key)
            }
            Operation::Sql { statement, values } => {
                self.push(statement);
                values.iter().for_each(|value| self.push_value(value));
                Shape::Sql
            }
        };
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    fn push_value(&mut self, value: &SqlValue<'_>) {
        let value = match *value {
            SqlValue::Nil => SqlValue::Nil,
            SqlValue::Truth(truth) => SqlValue::Truth(truth),
            SqlValue::Number(number) => SqlValue::Number(number),
            SqlValue::Real(number) => SqlValue::Real(number),
            SqlValue::Decimal(digits) => {
                self.push(digits.as_bytes());
                SqlValue::Decimal("")
            }
            SqlValue::Text(bytes) => {
                self.push(bytes);
                SqlValue::Text(&[])
            }
        };
        self.values.push(value);
    }

    /// Writes the parameters of a statement, with their texts.
    fn bind<'b>(&'b self, bound: &mut Vec<SqlValue<'b>>) {
        let mut texts = (1..self.ends.len()).map(|index| self.at(index));
        bound.extend(self.values.iter().map(|value| match value {
            SqlValue::Text(_) => SqlValue::Text(texts.next().unwrap_or_default()),
            SqlValue::Decimal(_) => {
                SqlValue::Decimal(std::str::from_utf8(texts.next().unwrap_or_default()).unwrap_or_default())
            }
            other => *other,
        }));
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
            Shape::PutTtl(ttl_ms) => Operation::PutTtl { key: at(0), value: at(1), ttl_ms },
            Shape::Touch(ttl_ms) => Operation::Touch { key: at(0), ttl_ms },
            Shape::TimeLeft => Operation::TimeLeft { key: at(0) },
            Shape::GetMany | Shape::PutMany | Shape::Command(_) | Shape::Sql => return None,
        })
    }

    /// Runs `body` with the operation, borrowed from these buffers, when it is for one node: a scan, a command, a statement, or on one key.
    pub fn with_single<T>(&mut self, body: impl FnOnce(&Operation<'_>) -> T) -> Option<T> {
        Some(match self.shape {
            Shape::Command(key) => {
                let mut words = recycled(std::mem::take(&mut self.keys));
                words.extend((0..self.ends.len()).map(|index| self.at(index)));
                let output = body(&Operation::Command { words: &words, key });
                self.keys = recycled(words);
                output
            }
            Shape::Sql => {
                let mut bound = recycled(std::mem::take(&mut self.bound));
                self.bind(&mut bound);
                let output = body(&Operation::Sql { statement: self.at(0), values: &bound });
                self.bound = recycled(bound);
                output
            }
            _ => body(&self.single()?),
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
        let mut bound = recycled(std::mem::take(&mut self.bound));
        let all = 0..self.ends.len();
        let operation = match self.shape {
            Shape::GetMany => {
                keys.extend(all.map(|index| self.at(index)));
                Operation::GetMany { keys: &keys }
            }
            Shape::Sql => {
                self.bind(&mut bound);
                Operation::Sql { statement: self.at(0), values: &bound }
            }
            Shape::Command(key) => {
                keys.extend(all.map(|index| self.at(index)));
                Operation::Command { words: &keys, key }
            }
            _ => {
                pairs.extend(all.step_by(2).map(|index| (self.at(index), self.at(index + 1))));
                Operation::PutMany { pairs: &pairs }
            }
        };
        let output = body(&operation).await;
        (self.keys, self.pairs, self.bound) = (recycled(keys), recycled(pairs), recycled(bound));
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

impl<'b> Reborn<SqlValue<'b>> for SqlValue<'_> {
    fn reborn(self) -> SqlValue<'b> {
        SqlValue::Nil
    }
}

impl<'b> Reborn<KeyValue<'b>> for KeyValue<'_> {
    fn reborn(self) -> KeyValue<'b> {
        (&[], &[])
    }
}
