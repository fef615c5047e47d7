//! Items of the user's: a file of keys and values, taken as often as needed.
//!
//! A line is `KEY TAB VALUE`, any bytes, or a JSON object `{"k": KEY, "v": VALUE}` (also `key` and `value`), whose value is a string or else
//! JSON that is stored as it is written.

use crate::digest::LineDigest;
use crate::lines::Lines;
use crate::{DataError, Spot};
use hashbrown::HashMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::OnceLock;

const REMEDY: &str = r#"write KEY TAB VALUE or {"k": KEY, "v": VALUE} per line"#;

/// The facts of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemFile {
    /// The name of the file as the user wrote it.
    pub name: String,
    /// The number of its items.
    pub items: u64,
    /// Bytes of its lines.
    pub bytes: u64,
    /// Digest of its lines.
    pub digest: String,
}

/// The items of a file.
pub(super) struct Own {
    file: ItemFile,
    /// Keys and values, back to back, and where each key and value ends.
    bytes: Vec<u8>,
    ends: Vec<[u64; 2]>,
    /// Numbers of items by the hash of their value; made when a value is first found to be wrong.
    by_value: OnceLock<HashMap<u64, u32>>,
}

/// A line of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair<'a> {
    #[serde(borrow, alias = "key")]
    k: Cow<'a, str>,
    #[serde(borrow, alias = "value")]
    v: &'a RawValue,
}

/// What the keys and values of an item begin with when the file is taken again: `2~`, `3~`. In front, so that a store that sorts does not put
/// the copies of an item side by side, where it could compress them as it never could the user's items.
#[derive(Clone, Copy)]
struct Mark {
    bytes: [u8; 21],
    from: usize,
}

impl Mark {
    /// That of the first time (0) is empty.
    #[inline]
    fn of(round: u64) -> Mark {
        let mut mark = Mark { bytes: [0; 21], from: 21 };
        if round > 0 {
            mark.push(b'~');
            let mut left = round + 1;
            while left > 0 {
                mark.push(b'0' + (left % 10) as u8);
                left /= 10;
            }
        }
        mark
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.from -= 1;
        self.bytes[self.from] = byte;
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    /// The round of a mark in front of bytes, and what is behind it.
    fn split(bytes: &[u8]) -> Option<(u64, &[u8])> {
        let at = bytes.iter().position(|&byte| byte == b'~')? + 1;
        let round = std::str::from_utf8(&bytes[..at - 1]).ok()?.parse::<u64>().ok()?.checked_sub(1)?;
        (round > 0 && Mark::of(round).as_bytes() == &bytes[..at]).then_some((round, &bytes[at..]))
    }
}

impl Own {
    /// Reads a file, and says how many items are to be stored: `count`, or each once.
    pub(super) fn load(name: &str, count: Option<u64>) -> Result<(Own, u64), DataError> {
        let mut own = Own {
            file: ItemFile { name: name.to_owned(), ..ItemFile::default() },
            bytes: Vec::new(),
            ends: Vec::new(),
            by_value: OnceLock::new(),
        };
        let (mut lines, mut digest) = (Lines::open(Path::new(name))?, LineDigest::default());
        let mut numbers = Vec::new();
        while let Some((number, line)) = lines.next_bytes()? {
            own.file.bytes += line.len() as u64 + 1;
            digest.line(&[line]);
            if line.trim_ascii().is_empty() {
                continue;
            }
            if own.ends.len() == u32::MAX as usize {
                return Err(DataError::whole(name, "more than 4,294,967,295 items", "use fewer"));
            }
            own.take(line)
                .map_err(|(byte, problem)| DataError::at(name, Spot::of(number, line, byte), problem, REMEDY))?;
            numbers.push(number);
        }
        own.file.digest = digest.finish();
        own.file.items = own.ends.len() as u64;
        own.bytes.shrink_to_fit();
        let count = count.unwrap_or(own.file.items);
        own.check(count, &numbers)?;
        Ok((own, count))
    }

    /// Takes a line; on failure the byte where it is wrong, and how.
    fn take(&mut self, line: &[u8]) -> Result<(), (usize, String)> {
        if line.trim_ascii_start().starts_with(b"{") {
            let wrong = |error: serde_json::Error| {
                let words = error.to_string();
                let words = words.split(" at line ").next().unwrap_or_default().to_owned();
                (error.column().saturating_sub(1), words)
            };
            let pair: Pair<'_> = serde_json::from_slice(line).map_err(wrong)?;
            let written = pair.v.get();
            match written.starts_with('"') {
                true => {
                    self.push(pair.k.as_bytes(), serde_json::from_str::<String>(written).map_err(wrong)?.as_bytes())
                }
                false => self.push(pair.k.as_bytes(), written.as_bytes()),
            }
            return Ok(());
        }
        let at = line.iter().position(|&byte| byte == b'\t');
        let at = at.ok_or_else(|| (line.len(), "no TAB between a key and a value".to_owned()))?;
        self.push(&line[..at], &line[at + 1..]);
        Ok(())
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len() as u64;
        self.bytes.extend_from_slice(value);
        self.ends.push([key_end, self.bytes.len() as u64]);
    }

    /// Whether the items can be stored: there are some, and each key is there once.
    fn check(&self, count: u64, lines: &[u64]) -> Result<(), DataError> {
        let name = &self.file.name;
        if self.ends.is_empty() {
            return Err(DataError::whole(name, "it holds no item", REMEDY));
        }
        let order = self.in_order(self.file.items);
        let at = |number: u64, problem: String, remedy: &str| {
            let spot = Spot { line: lines[number as usize], column: 1 };
            DataError::at(name, spot, problem, remedy)
        };
        let shown = |number: u64| String::from_utf8_lossy(self.item(number).1).into_owned();
        if let Some(pair) = order.windows(2).find(|pair| self.item(pair[0]).1 == self.item(pair[1]).1) {
            let (one, other) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            let problem = format!("the key {} is on line {} already", shown(one), lines[one as usize]);
            return Err(at(other, problem, "give every item a key of its own"));
        }
        let later = order.iter().find(|&&number| Mark::split(self.item(number).1).is_some());
        match later {
            Some(&number) if count > self.file.items => Err(at(
                number,
                format!("the key {} looks like one of an item that is stored again", shown(number)),
                "use items=file, which stores each item once, or another key",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn file(&self) -> &ItemFile {
        &self.file
    }

    /// What is in front of key and value of an item, and both as the file has them.
    #[inline]
    fn item(&self, number: u64) -> (Mark, &[u8], &[u8]) {
        let (round, at) = (number / self.file.items, (number % self.file.items) as usize);
        let start = if at == 0 { 0 } else { self.ends[at - 1][1] };
        let [key_end, end] = self.ends[at];
        let part = |from: u64, to: u64| &self.bytes[from as usize..to as usize];
        (Mark::of(round), part(start, key_end), part(key_end, end))
    }

    #[inline]
    pub(super) fn key(&self, number: u64, out: &mut Vec<u8>) {
        let (mark, key, _) = self.item(number);
        out.clear();
        out.extend_from_slice(mark.as_bytes());
        out.extend_from_slice(key);
    }

    #[inline]
    pub(super) fn key_bytes(&self, number: u64) -> usize {
        let (mark, key, _) = self.item(number);
        mark.as_bytes().len() + key.len()
    }

    #[inline]
    pub(super) fn value_bytes(&self, number: u64) -> usize {
        let (mark, _, value) = self.item(number);
        mark.as_bytes().len() + value.len()
    }

    pub(super) fn value(&self, number: u64, out: &mut Vec<u8>) {
        let (mark, _, value) = self.item(number);
        out.clear();
        out.extend_from_slice(mark.as_bytes());
        out.extend_from_slice(value);
    }

    #[inline]
    pub(super) fn is_right(&self, number: u64, value: &[u8]) -> bool {
        let (mark, _, right) = self.item(number);
        value.strip_prefix(mark.as_bytes()) == Some(right)
    }

    /// Returns the number of the item, below `count`, whose whole value this is; of several with this value the first.
    pub(super) fn whose(&self, value: &[u8], count: u64) -> Option<u64> {
        let again = Mark::split(value).map(|(round, value)| (value, round * self.file.items));
        let found = [Some((value, 0)), again]
            .into_iter()
            .flatten()
            .find_map(|(value, before)| Some(before + self.first_with(value)?));
        found.filter(|&number| number < count)
    }

    fn first_with(&self, value: &[u8]) -> Option<u64> {
        let by_value = self.by_value.get_or_init(|| {
            let mut by_value = HashMap::new();
            for number in (0..self.file.items).rev() {
                let hash = by_value.hasher().hash_one(self.item(number).2);
                by_value.insert(hash, number as u32);
            }
            by_value
        });
        let number = u64::from(*by_value.get(&by_value.hasher().hash_one(value))?);
        (self.item(number).2 == value).then_some(number)
    }

    /// Visits the first `count` items in byte order of keys.
    pub(super) fn each_in_order(&self, count: u64, visit: impl FnMut(u64)) {
        self.in_order(count).into_iter().for_each(visit);
    }

    fn in_order(&self, count: u64) -> Vec<u64> {
        let mut order: Vec<u64> = (0..count).collect();
        order.sort_unstable_by(|&one, &other| {
            let ((one_mark, one, _), (other_mark, other, _)) = (self.item(one), self.item(other));
            one_mark.as_bytes().iter().chain(one).cmp(other_mark.as_bytes().iter().chain(other))
        });
        order
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::digest::{LineDigest, hex_of_bytes};
    use crate::items::{ItemFlaw, Items};
    use std::collections::BTreeMap;
    use std::io::Write;

    fn file(text: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        file
    }

    fn items(text: &[u8], count: Option<u64>) -> Result<Items, String> {
        let file = file(text);
        let name = file.path().display().to_string();
        Items::own(&name, count).map_err(|error| error.to_string().replace(&name, "FILE"))
    }

    fn pair(items: &Items, number: u64) -> (String, String) {
        let mut value = Vec::new();
        items.value(number, &mut value);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (text(items.key_of(number)), text(value))
    }

    #[test]
    fn lines_of_either_form_are_items_and_later_rounds_differ_from_the_first() {
        let text =
            b"{\"k\": \"a/1\", \"v\": \"x\\ny\"}\r\n\nkey two\tv\t2\n{\"key\":\"c\",\"value\":{\"n\": [1, 2]}}\nd\t";
        let once = items(text, None).unwrap();
        let pairs: Vec<_> = (0..once.len()).map(|number| pair(&once, number)).collect();
        let of = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(pairs, [of("a/1", "x\ny"), of("key two", "v\t2"), of("c", "{\"n\": [1, 2]}"), of("d", "")]);
        let file = once.file().unwrap();
        assert_eq!((file.items, file.bytes), (4, text.len() as u64));
        let more = items(text, Some(41)).unwrap();
        assert_eq!((pair(&more, 3), pair(&more, 5)), (of("d", ""), of("2~key two", "2~v\t2")));
        assert_eq!(pair(&more, 40), of("11~a/1", "11~x\ny"));
        assert_eq!(items(text, Some(2)).unwrap().len(), 2);
        assert_eq!(once.totals().key_bytes, 3 + 7 + 1 + 1);
        assert_eq!((more.totals().longest_key_bytes, more.totals().shortest_key_bytes), (10, 1));
    }

    #[test]
    fn the_digest_is_that_of_a_sorted_map_and_a_wrong_value_is_named() {
        let text = b"b\tone\na\ttwo\n2\tthree\n3a\tfour\n";
        for count in [4, 3, 9, 53] {
            let items = items(text, Some(count)).unwrap();
            let sorted: BTreeMap<Vec<u8>, String> =
                (0..count).map(|number| (items.key_of(number), pair(&items, number).1)).collect();
            assert_eq!(sorted.len() as u64, count, "keys are all different");
            let mut digest = LineDigest::default();
            sorted.iter().for_each(|(key, value)| digest.line(&[key, &hex_of_bytes(value.as_bytes())]));
            assert_eq!(items.digest_but(&BTreeMap::new()), digest.finish(), "{count}");
        }
        let items = items(text, Some(9)).unwrap();
        assert_eq!(items.verify(5, b"2~two"), Ok(()));
        assert_eq!(items.verify(5, b"two"), Err(ItemFlaw::OtherItem(1)));
        assert_eq!(items.verify(1, b"2~two"), Err(ItemFlaw::OtherItem(5)));
        assert_eq!(items.verify(1, b"3~one"), Err(ItemFlaw::OtherItem(8)));
        assert_eq!(items.verify(1, b"3~two"), Err(ItemFlaw::Content(0)), "there is no tenth item");
        assert_eq!(items.verify(1, b"tw"), Err(ItemFlaw::Length(2, 3)));
        assert_eq!(items.verify(1, b"twO"), Err(ItemFlaw::Content(2)));
    }

    #[test]
    fn what_is_no_item_is_said_by_line_and_column() {
        for (text, count, problem) in [
            (&b"a\tb\nno tab here\n"[..], None, "FILE, line 2, column 12: no TAB between a key and a value"),
            (b"{\"k\": 1, \"v\": \"x\"}", None, "FILE, line 1, column 7: invalid type: integer"),
            (b"{\"k\": \"a\", \"w\": \"x\"}", None, "unknown field `w`"),
            (b"a\tb\n{\"k\": \"a\"", None, "FILE, line 2"),
            (b"a\tb\n\na\tc\n", None, "FILE, line 3, column 1: the key a is on line 1 already"),
            (
                b"a\tb\n2~b\tc\n",
                Some(3),
                "FILE, line 2, column 1: the key 2~b looks like one of an item that is stored again",
            ),
            (b"\n\n", None, "it holds no item"),
        ] {
            let words = items(text, count).err().unwrap();
            assert!(words.contains(problem), "{words}");
        }
        assert!(items(b"a\tb\n2~b\tc\n", Some(2)).is_ok(), "no item is stored again");
        assert!(items(b"a\tb\n02~b\tc\nx~b\td\n~\te\n1~b\tf\n", Some(11)).is_ok(), "no round is called that");
    }
}
