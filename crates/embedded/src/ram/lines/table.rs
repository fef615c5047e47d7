//! A hash table whose records are cache lines: key and value in the line while both fit, in a block of memory beyond that.
//!
//! It grows by extendible hashing: the highest bits of a hash choose a segment of 4096 lines in the directory, and a segment that is
//! five eighths full is split in two. So the longest anything waits for growth is the time to move 4096 lines.

use super::arena::Arena;
use super::line::{Form, Line};
use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher, Hasher};
use std::ptr::NonNull;

const LINES: usize = 4096;
/// The number of bytes of a line.
pub const LINE_BYTES: usize = size_of::<Line>();
/// The number of lines in use at which a segment is split.
const FULL: u32 = 2560;
/// A segment: its lines are at `lines`.
#[derive(Clone, Copy)]
struct Segment {
    lines: NonNull<Line>,
    /// The segment's place in the list of sizes.
    number: u32,
}

struct Size {
    used: u32,
    /// The number of bits of the hash that all keys of the segment have in common.
    depth: u32,
}

/// A hash table of records.
pub struct RecordTable {
    hasher: DefaultHashBuilder,
    directory: Vec<Segment>,
    depth: u32,
    sizes: Vec<Size>,
    segments: Arena,
    blocks: Arena,
    moving: Vec<Line>,
}

// SAFETY: all the pointers are into arenas of the table's own.
unsafe impl Send for RecordTable {}

impl Default for RecordTable {
    fn default() -> RecordTable {
        let mut table = RecordTable {
            hasher: DefaultHashBuilder::default(),
            directory: Vec::new(),
            depth: 0,
            sizes: Vec::new(),
            segments: Arena::default(),
            blocks: Arena::default(),
            moving: Vec::new(),
        };
        let first = table.new_segment(0);
        table.directory.push(first);
        table
    }
}

impl RecordTable {
    /// Returns the hash of a key.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        match <[u8; 8]>::try_from(key) {
            Ok(word) => hasher.write_u64(u64::from_ne_bytes(word)),
            Err(_) => hasher.write(key),
        }
        hasher.finish()
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(size.used)).sum()
    }

    #[inline]
    fn segment(&self, hash: u64) -> Segment {
        self.directory[(hash >> 1 >> (63 - self.depth)) as usize]
    }

    /// Returns the place where the line of a hash is looked for first.
    #[inline]
    pub fn place(&self, hash: u64) -> *const u8 {
        self.segment(hash).lines.as_ptr().wrapping_add(hash as usize % LINES).cast()
    }

    /// Begins to fetch the place where the next bytes of a spilled value go, if a line of this hash is in the cache already and names it.
    #[inline]
    pub fn fetch_end(&self, hash: u64) {
        let lines = self.segment(hash).lines;
        for at in [hash as usize, hash as usize + 1] {
            // SAFETY: the line is one of the segment's, which is the table's.
            let line = unsafe { lines.add(at % LINES).as_ref() };
            if let Some(end) = line.end().filter(|_| line.tag == tag(hash)) {
                fetch(end);
            }
        }
    }

    /// Returns the line of a key, or the empty line where it would be.
    #[inline]
    fn seek(&self, hash: u64, key: &[u8]) -> NonNull<Line> {
        let (lines, tag) = (self.segment(hash).lines, tag(hash));
        let mut at = hash as usize % LINES;
        loop {
            // SAFETY: `at` is below the lines of a segment, of which at least one is empty.
            let line = unsafe { lines.add(at) };
            // SAFETY: the segment is the table's, which is borrowed.
            let seen = unsafe { line.as_ref() };
            if seen.form == Form::Empty || (seen.tag == tag && seen.has_key(key)) {
                return line;
            }
            at = (at + 1) % LINES;
        }
    }

    /// Returns the value under a key.
    #[inline]
    pub fn get(&self, hash: u64, key: &[u8]) -> Option<&[u8]> {
        // SAFETY: the line is the table's, which is borrowed as long as the value is.
        let line = unsafe { self.seek(hash, key).as_ref() };
        (line.form != Form::Empty).then(|| line.value())
    }

    /// Adds bytes to the value under a key, which is created when absent.
    #[inline]
    pub fn append(&mut self, hash: u64, key: &[u8], value: &[u8]) {
        let mut found = self.seek(hash, key);
        // SAFETY: the line is the table's, and nothing else looks at it meanwhile.
        let line = unsafe { found.as_mut() };
        match line.form {
            Form::Empty => self.insert(found, hash, key, value),
            _ => line.append(key, value, &mut self.blocks),
        }
    }

    /// Adds to the number under a key, which is created as `by` when absent, and returns the sum. `None`: the sum would leave its range.
    #[inline]
    pub fn add(&mut self, hash: u64, key: &[u8], by: i64) -> Option<i64> {
        let mut found = self.seek(hash, key);
        // SAFETY: the line is the table's, and nothing else looks at it meanwhile.
        let line = unsafe { found.as_mut() };
        match line.number_mut() {
            Some(bytes) => {
                let number = i64::from_ne_bytes(*bytes).checked_add(by)?;
                *bytes = number.to_ne_bytes();
                Some(number)
            }
            None => {
                self.put(hash, key, &by.to_ne_bytes());
                Some(by)
            }
        }
    }

    /// Replaces the value under a key, which is created when absent.
    pub fn put(&mut self, hash: u64, key: &[u8], value: &[u8]) {
        let mut found = self.seek(hash, key);
        // SAFETY: the line is the table's, and nothing else looks at it meanwhile.
        let line = unsafe { found.as_mut() };
        if line.form == Form::Empty {
            return self.insert(found, hash, key, value);
        }
        line.release(&mut self.blocks);
        line.fill(tag(hash), key, [value, b""], &mut self.blocks);
    }

    /// Adds a key that is absent; `line` is where it would be.
    fn insert(&mut self, mut line: NonNull<Line>, hash: u64, key: &[u8], value: &[u8]) {
        let mut number = self.segment(hash).number as usize;
        if self.sizes[number].used >= FULL {
            while self.sizes[number].used >= FULL {
                self.split(hash);
                number = self.segment(hash).number as usize;
            }
            line = self.seek(hash, key);
        }
        self.sizes[number].used += 1;
        // SAFETY: the line is the table's, and nothing else looks at it meanwhile.
        unsafe { line.as_mut() }.fill(tag(hash), key, [value, b""], &mut self.blocks);
    }

    /// Removes a key, and returns whether it was there.
    pub fn delete(&mut self, hash: u64, key: &[u8]) -> bool {
        let found = self.seek(hash, key);
        let Segment { lines, number } = self.segment(hash);
        // SAFETY: that many lines are the segment's, and nothing else looks at them meanwhile.
        let lines = unsafe { std::slice::from_raw_parts_mut(lines.as_ptr(), LINES) };
        let mut hole = (found.addr().get() / size_of::<Line>()) % LINES; // segments are aligned to their size
        if lines[hole].form == Form::Empty {
            return false;
        }
        lines[hole].release(&mut self.blocks);
        // Those behind move up, unless their place is behind the hole: there are no marks of what was deleted.
        let mut at = hole;
        loop {
            at = (at + 1) % LINES;
            if lines[at].form == Form::Empty {
                break;
            }
            let place = self.hash_of(&lines[at]) as usize % LINES;
            if (at + LINES - place) % LINES >= (at + LINES - hole) % LINES {
                lines[hole] = lines[at];
                hole = at;
            }
        }
        lines[hole] = Line::EMPTY;
        self.sizes[number as usize].used -= 1;
        true
    }

    fn hash_of(&self, line: &Line) -> u64 {
        self.hash(&line.key())
    }

    fn new_segment(&mut self, depth: u32) -> Segment {
        let lines = self.segments.take(LINES * size_of::<Line>()).cast();
        self.sizes.push(Size { used: 0, depth });
        Segment { lines, number: self.sizes.len() as u32 - 1 }
    }

    /// Splits the segment of a hash by the first bit its keys do not have in common.
    #[cold]
    fn split(&mut self, hash: u64) {
        let old = self.segment(hash);
        let depth = self.sizes[old.number as usize].depth;
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|&segment| [segment; 2]).collect();
            self.depth += 1;
        }
        let new = self.new_segment(depth + 1);
        self.sizes[old.number as usize] = Size { used: 0, depth: depth + 1 };
        let entries = 1 << (self.depth - depth);
        let first = (hash >> 1 >> (63 - self.depth)) as usize & !(entries - 1);
        self.directory[first + entries / 2..first + entries].fill(new);
        let mut moving = std::mem::take(&mut self.moving);
        moving.clear();
        // SAFETY: that many lines are the segment's, and nothing else looks at them meanwhile.
        let lines = unsafe { std::slice::from_raw_parts_mut(old.lines.as_ptr(), LINES) };
        moving.extend(lines.iter().filter(|line| line.form != Form::Empty));
        lines.fill(Line::EMPTY);
        for line in &moving {
            let hash = self.hash_of(line);
            let Segment { lines, number } = self.segment(hash);
            let mut at = hash as usize % LINES;
            // SAFETY: `at` is below the lines of a segment, which nothing else looks at meanwhile; some are empty.
            unsafe {
                while lines.add(at).as_ref().form != Form::Empty {
                    at = (at + 1) % LINES;
                }
                lines.add(at).write(*line);
            }
            self.sizes[number as usize].used += 1;
        }
        self.moving = moving;
    }
}

#[inline]
fn tag(hash: u64) -> u16 {
    (hash >> 16) as u16
}

/// Begins to fetch the cache line at an address; any address will do.
#[inline(always)]
pub fn fetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint to the processor: it reads nothing and cannot fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::{LINES, RecordTable};
    use std::collections::HashMap;

    /// A thing to do, drawn from a number: key, value, and which.
    fn drawn(number: u64) -> (Vec<u8>, Vec<u8>, u64) {
        let mut bits = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits ^= bits >> 29;
        bits = bits.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let key_bytes = [0, 1, 8, 8, 8, 39, 40, 41, 55, 56, 57, 300][(bits >> 40) as usize % 12];
        let key = format!("{:0>1$}", (bits >> 8) % 3000, key_bytes).into_bytes();
        let key = key[..key.len().min(key_bytes)].to_vec();
        let value_bytes = [0, 1, 15, 16, 16, 40, 56, 64, 100, 5000][(bits >> 48) as usize % 10];
        (key, vec![number as u8; value_bytes], (bits >> 60) % 8)
    }

    #[test]
    fn numbers_are_added_to_where_they_are_whatever_the_length_of_the_key() {
        let mut table = RecordTable::default();
        for round in 1..=3 {
            for number in 0..5000_i64 {
                let key_bytes = [4, 40, 47, 48, 49, 61, 300][number as usize % 7];
                let key = format!("{number:0>key_bytes$}").into_bytes();
                let hash = table.hash(&key);
                assert_eq!(table.add(hash, &key, number), Some(number * round));
            }
        }
    }

    #[test]
    fn the_table_does_what_a_map_does_whatever_the_lengths_and_however_it_grows() {
        let (mut table, mut map) = (RecordTable::default(), HashMap::<Vec<u8>, Vec<u8>>::new());
        for number in 0..200_000 {
            let (key, value, what) = drawn(number);
            let hash = table.hash(&key);
            super::fetch(table.place(hash));
            table.fetch_end(hash);
            match what {
                0 => assert_eq!(table.delete(hash, &key), map.remove(&key).is_some(), "{number}"),
                1 | 2 => {
                    table.put(hash, &key, &value);
                    map.insert(key, value);
                }
                3 if map.get(&key).is_some_and(|value| value.len() > 100_000) => {
                    assert!(table.delete(hash, &key));
                    map.remove(&key);
                }
                _ => {
                    table.append(hash, &key, &value);
                    map.entry(key).or_default().extend_from_slice(&value);
                }
            }
        }
        assert!(map.len() > LINES, "{}", map.len());
        for (key, value) in &map {
            assert_eq!(table.get(table.hash(key), key), Some(&value[..]));
        }
        for (key, _) in map.drain() {
            assert!(table.delete(table.hash(&key), &key) && table.get(table.hash(&key), &key).is_none());
        }
    }
}
