//! Values that say what they are: whose, of which key and version, how long, with a checksum.

/// Bytes before the body: a mark, length, set, client, key, version.
const HEAD: usize = 24;
/// Bytes after the body: crc32 of all before.
const TAIL: usize = 4;
const MARK: [u8; 4] = *b"kvc1";
/// The shortest value.
pub const SHORTEST: usize = HEAD + TAIL;

/// Whose value it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The set of writes, apart from those of other crashes.
    pub set: u32,
    pub client: u32,
    pub key: u32,
    pub version: u32,
}

/// Returns the value of this label, its length chosen by it, from the shortest to the buffer's; written into that.
pub fn value(label: Label, buffer: &mut [u8]) -> &[u8] {
    let mut random =
        crate::stream::Draws::new(u64::from(label.client) << 32 | u64::from(label.version), u64::from(label.set));
    let length = SHORTEST + random.below((buffer.len() - SHORTEST) as u64 + 1) as usize;
    let (body_end, numbers) = (length - TAIL, [length as u32, label.set, label.client, label.key, label.version]);
    buffer[..4].copy_from_slice(&MARK);
    for (at, number) in numbers.into_iter().enumerate() {
        buffer[4 + 4 * at..8 + 4 * at].copy_from_slice(&number.to_le_bytes());
    }
    for chunk in buffer[HEAD..body_end].chunks_mut(8) {
        chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
    }
    let sum = crc32fast::hash(&buffer[..body_end]);
    buffer[body_end..length].copy_from_slice(&sum.to_le_bytes());
    &buffer[..length]
}

/// Returns the labels of a value's parts, one per write that made it; `None` where some part is not whole.
pub fn labels(value: &[u8]) -> Option<Vec<Label>> {
    let mut labels = Vec::with_capacity(1);
    let mut rest = value;
    while !rest.is_empty() {
        let number = |at: usize| Some(u32::from_le_bytes(rest.get(4 + 4 * at..8 + 4 * at)?.try_into().ok()?));
        let length = number(0)? as usize;
        if rest[..4] != MARK || length < SHORTEST {
            return None;
        }
        let (body, sum) = rest.get(..length)?.split_at(length - TAIL);
        if crc32fast::hash(body).to_le_bytes() != sum {
            return None;
        }
        labels.push(Label { set: number(1)?, client: number(2)?, key: number(3)?, version: number(4)? });
        rest = &rest[length..];
    }
    (!labels.is_empty()).then_some(labels)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Label, labels, value};

    #[test]
    fn a_value_says_what_it_is_and_a_piece_of_it_nothing() {
        let label = |version| Label { set: 3, client: 1, key: 9, version };
        let (mut one, mut other) = ([0; 228], [0; 228]);
        let whole = [value(label(4), &mut one), value(label(5), &mut other)].concat();
        assert_eq!(labels(&whole).unwrap(), [label(4), label(5)]);
        let first = value(label(4), &mut one).len();
        for length in 0..whole.len() {
            assert_eq!(labels(&whole[..length]).is_some(), length == first, "{length} bytes of {}", whole.len());
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(labels(&changed), None, "byte {at}");
        }
    }
}
