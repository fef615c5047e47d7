//! What a store answered.

/// One answer. It borrows from the session's buffers and is gone after the call that hands it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The value of a get.
    Value(&'a [u8]),
    /// The value of a versioned get, and its version (0 where the store compares values).
    Versioned {
        /// The value.
        value: &'a [u8],
        /// The version, or 0.
        version: u64,
    },
    /// There is no such key.
    Missing,
    /// Stored, deleted, appended.
    Done,
    /// A counter's value, or a value's length, after the operation.
    Number(i64),
    /// Compare-and-set: the key was no longer as expected; nothing was stored.
    Conflict,
    /// Pairs of a scan, a get-many or a record of counters.
    Rows(Rows<'a>),
    /// The operation failed.
    Failed(Failure<'a>),
}

/// How an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure<'a> {
    /// The store understood and said no: its own words.
    Refused(&'a str),
    /// The connection broke before the reply: the operating system's words.
    ConnectionLost(&'a str),
    /// What came back is not the protocol.
    Protocol(&'a str),
    /// No reply within the deadline.
    Deadline,
}

impl Reply<'_> {
    /// Value bytes read by this reply.
    #[inline]
    pub fn bytes_read(&self) -> u64 {
        match self {
            Reply::Value(value) | Reply::Versioned { value, .. } => value.len() as u64,
            Reply::Rows(rows) => rows.bytes_len() as u64,
            _ => 0,
        }
    }
}

/// Pairs of keys and values in one flat buffer; reused, so a scan allocates nothing once warm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowBuffer {
    bytes: Vec<u8>,
    ends: Vec<(u32, u32)>,
}

impl RowBuffer {
    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a row.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len() as u32));
    }

    /// A view of all rows.
    pub fn rows(&self) -> Rows<'_> {
        Rows { buffer: self }
    }
}

/// A borrowed view of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows<'a> {
    buffer: &'a RowBuffer,
}

impl<'a> Rows<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.buffer.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all keys and values.
    pub fn bytes_len(&self) -> usize {
        self.buffer.bytes.len()
    }

    /// Key and value of a row, by its place.
    pub fn get(&self, index: usize) -> Option<(&'a [u8], &'a [u8])> {
        let (key_end, value_end) = *self.buffer.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.buffer.ends[before].1);
        let bytes = |from: u32, to: u32| &self.buffer.bytes[from as usize..to as usize];
        Some((bytes(start, key_end), bytes(key_end, value_end)))
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let buffer = self.buffer;
        let mut start = 0;
        buffer.ends.iter().map(move |&(key_end, value_end)| {
            let key = &buffer.bytes[start..key_end as usize];
            start = value_end as usize;
            (key, &buffer.bytes[key_end as usize..start])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RowBuffer;

    #[test]
    fn rows_come_back_as_they_were_pushed_also_empty_ones() {
        let mut buffer = RowBuffer::default();
        buffer.push(b"old", b"row");
        buffer.clear();
        buffer.push(b"a", b"1");
        buffer.push(b"", b"");
        buffer.push(b"b", b"22");
        let rows: Vec<_> = buffer.rows().iter().collect();
        assert_eq!(rows, [(&b"a"[..], &b"1"[..]), (b"", b""), (b"b", b"22")]);
        let one_by_one: Vec<_> = (0..4).map_while(|index| buffer.rows().get(index)).collect();
        assert_eq!(one_by_one, rows);
    }
}
