//! Names as numbers: an arena of distinct names in the order they first came, without a heap block a name.

use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Distinct names, numbered from 0.
#[derive(Default)]
pub struct Names {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    table: HashTable<u32>,
    hasher: hashbrown::DefaultHashBuilder,
}

impl Names {
    /// Returns the number of this name, given one if it is new. `None` when 4 GiB of names are full.
    pub fn intern(&mut self, name: &[u8]) -> Option<u32> {
        let Names { bytes, ends, table, hasher } = self;
        let hash = hasher.hash_one(name);
        if let Some(&id) = table.find(hash, |&id| slice(bytes, ends, id) == name) {
            return Some(id);
        }
        let end = u32::try_from(bytes.len() + name.len()).ok()?;
        let id = u32::try_from(ends.len()).ok()?;
        bytes.extend_from_slice(name);
        ends.push(end);
        table.insert_unique(hash, id, |&id| hasher.hash_one(slice(bytes, ends, id)));
        Some(id)
    }

    /// Returns the number of a name that is known.
    #[inline]
    pub fn id(&self, name: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        self.table.find(hash, |&id| slice(&self.bytes, &self.ends, id) == name).copied()
    }

    /// Returns the name of this number.
    #[inline]
    pub fn get(&self, id: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, id)
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns all names in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len() as u32).map(|id| self.get(id))
    }

    /// Returns all numbers, in the byte order of the names (as first field of tab-separated lines).
    pub fn sorted(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.ends.len() as u32).collect();
        let field = |id: u32| self.get(id).iter().chain(b"\t");
        order.sort_unstable_by(|&a, &b| field(a).cmp(field(b)));
        order
    }
}

#[inline]
fn slice<'a>(bytes: &'a [u8], ends: &[u32], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &bytes[start..ends[id] as usize]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Names;

    #[test]
    fn names_get_numbers_in_order_of_first_sight_and_sort_as_fields() {
        let mut names = Names::default();
        let ids: Vec<u32> =
            ["b", "a", "b", "", "a\u{1}", "a"].iter().map(|n| names.intern(n.as_bytes()).unwrap()).collect();
        assert_eq!(ids, [0, 1, 0, 2, 3, 1]);
        assert_eq!((names.id(b"a"), names.id(b"c"), names.len()), (Some(1), None, 4));
        let sorted: Vec<&[u8]> = names.sorted().into_iter().map(|id| names.get(id)).collect();
        assert_eq!(sorted, [&b""[..], b"a\x01", b"a", b"b"]);
    }
}
