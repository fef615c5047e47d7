//! The record of a page, compact JSON: `{"fans":3,"with":{"beer":2,"wine":1}}`, partners in the order they were first
//! seen.

use super::json::{JsonNames, Quotes, decimal, tail_hash};

const HEAD: &[u8] = b"{\"fans\":";
const WITH: &[u8] = b",\"with\":{";
const TAIL: &[u8] = b"}}";

/// Bytes that are not a record: what was expected where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotARecord {
    /// Offset in bytes.
    pub at: usize,
    /// What should stand there.
    pub expected: &'static str,
}

impl std::fmt::Display for NotARecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not a record: expected {} at byte {}", self.expected, self.at)
    }
}

/// Returns the number of bytes of a record with this many fans, partners, bytes of all `"name":` fields and digits of all counts.
pub fn size(fans: u32, partners: usize, field_bytes: usize, count_digits: usize) -> usize {
    let fixed = HEAD.len() + super::json::digits(fans) + WITH.len() + TAIL.len();
    fixed + partners.saturating_sub(1) + field_bytes + count_digits
}

/// Reads digits from `at`: the number and where they end.
#[inline]
fn number(bytes: &[u8], at: usize) -> Result<(u32, usize), NotARecord> {
    let (mut value, mut end) = (0u32, at);
    while let Some(digit) = bytes.get(end).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u32::from(digit)))
            .ok_or(NotARecord { at, expected: "a count below 2^32" })?;
        end += 1;
    }
    if end == at || (bytes[at] == b'0' && end > at + 1) {
        return Err(NotARecord { at, expected: "a count" });
    }
    Ok((value, end))
}

/// Checks the first bytes: the number of fans, and where the first partner may stand.
#[inline]
fn head(bytes: &[u8]) -> Result<(u32, usize), NotARecord> {
    if !bytes.starts_with(HEAD) {
        return Err(NotARecord { at: 0, expected: "{\"fans\":" });
    }
    let (fans, end) = number(bytes, HEAD.len())?;
    if !bytes[end..].starts_with(WITH) {
        return Err(NotARecord { at: end, expected: ",\"with\":{" });
    }
    if !bytes.ends_with(TAIL) || bytes.len() < end + WITH.len() + TAIL.len() {
        return Err(NotARecord { at: bytes.len(), expected: "}}" });
    }
    Ok((fans, end + WITH.len()))
}

/// Decodes a record strictly: every byte must be as the encoder writes it. Gives each partner's escaped name and
/// count to `partner`; returns the number of fans.
///
/// # Errors
/// What was expected where.
pub fn decode<'a>(bytes: &'a [u8], mut partner: impl FnMut(&'a [u8], u32)) -> Result<u32, NotARecord> {
    let (fans, mut at) = head(bytes)?;
    let end = bytes.len() - TAIL.len();
    let mut quotes = Quotes::from(bytes, at);
    while at < end {
        if quotes.any() != Some(at) {
            return Err(NotARecord { at, expected: "a quote" });
        }
        let close = quotes.closing().ok_or(NotARecord { at: bytes.len(), expected: "a closing quote" })?;
        if close == at + 1 {
            return Err(NotARecord { at: close, expected: "a name" });
        }
        if bytes.get(close + 1) != Some(&b':') {
            return Err(NotARecord { at: close + 1, expected: "a colon" });
        }
        let (count, after) = number(bytes, close + 2)?;
        partner(&bytes[at + 1..close], count);
        at = match bytes[after] {
            b',' if after + 1 < end => after + 1,
            b'}' if after == end => after,
            _ => return Err(NotARecord { at: after, expected: "a comma or }}" }),
        };
    }
    if at == end { Ok(fans) } else { Err(NotARecord { at, expected: "}}" }) }
}

/// 4,096 bits.
struct Filter([u64; 64]);

impl Default for Filter {
    fn default() -> Filter {
        Filter([0; 64])
    }
}

impl Filter {
    #[inline]
    fn add(&mut self, hash: u32) {
        self.0[(hash >> 26) as usize] |= 1 << (hash >> 20 & 63);
    }

    #[inline]
    fn has(&self, hash: u32) -> bool {
        self.0[(hash >> 26) as usize] >> (hash >> 20 & 63) & 1 != 0
    }
}

/// Merges one more profile into a record, from bytes to bytes: spans between changed counts are copied whole.
#[derive(Default)]
pub struct Merger {
    /// One bit for each hash of the list: says no for almost every name that is not in it.
    filter: Filter,
    /// Open addressing by the hash of names' ends: position in the list plus 1; 0 is free.
    table: Vec<u32>,
    /// Whether the partner at that position of the list was found in the record.
    found: Vec<bool>,
}

impl Merger {
    /// Replaces `out` by the record of `page` after one more profile that names the pages of `list` (`page` among
    /// them). `old` is the record before; `None`: there was none. Returns the new number of fans.
    ///
    /// # Errors
    /// When `old` is not a record of this page.
    pub fn merge(
        &mut self,
        names: &JsonNames,
        page: u32,
        list: &[u32],
        old: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<u32, NotARecord> {
        out.clear();
        self.found.clear();
        self.found.resize(list.len(), false);
        let (fans, first) = match old {
            None => {
                out.extend_from_slice(HEAD);
                out.push(b'1');
                out.extend_from_slice(WITH);
                (1, true)
            }
            Some(old) => {
                let (fans, start) = head(old)?;
                let fans = fans.checked_add(1).ok_or(NotARecord { at: 0, expected: "a count below 2^32" })?;
                out.reserve(old.len() + 64);
                out.extend_from_slice(HEAD);
                decimal(fans, out);
                out.extend_from_slice(WITH);
                self.patch(names, page, list, old, start, out)?;
                (fans, start + TAIL.len() == old.len())
            }
        };
        let mut first = first;
        for (at, &partner) in list.iter().enumerate() {
            if partner == page || self.found[at] {
                continue;
            }
            if !std::mem::replace(&mut first, false) {
                out.push(b',');
            }
            out.extend_from_slice(names.field(partner));
            out.push(b'1');
        }
        out.extend_from_slice(TAIL);
        Ok(fans)
    }

    /// Copies the partners of `old` from byte `start` on, those of the list with their counts raised by one.
    fn patch(
        &mut self,
        names: &JsonNames,
        page: u32,
        list: &[u32],
        old: &[u8],
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), NotARecord> {
        let mask = self.fill(names, list);
        let mut wanted = list.len() - 1;
        let mut copied = start;
        let mut quotes = Quotes::from(old, start);
        let result = loop {
            if wanted == 0 {
                break Ok(());
            }
            let Some(open) = quotes.any() else { break Ok(()) };
            let Some(close) = quotes.closing() else {
                break Err(NotARecord { at: old.len(), expected: "a closing quote" });
            };
            let hash = tail_hash(old, open + 1, close);
            if !self.filter.has(hash) {
                continue;
            }
            let mut place = hash as usize & mask;
            while self.table[place] != 0 {
                let position = self.table[place] as usize - 1;
                if names.name(list[position]) == &old[open + 1..close] {
                    if list[position] == page {
                        return Err(NotARecord { at: open, expected: "another page than its own" });
                    }
                    self.found[position] = true;
                    wanted -= 1;
                    let (count, end) = number(old, close + 2)?;
                    out.extend_from_slice(&old[copied..close + 2]);
                    decimal(count.wrapping_add(1), out);
                    copied = end;
                    break;
                }
                place = (place + 1) & mask;
            }
        };
        out.extend_from_slice(&old[copied..old.len() - TAIL.len()]);
        result
    }

    /// Puts the list into the table; returns the mask of its size.
    fn fill(&mut self, names: &JsonNames, list: &[u32]) -> usize {
        let size = (list.len() * 4).next_power_of_two().max(32);
        self.filter = Filter::default();
        self.table.clear();
        self.table.resize(size, 0);
        let mask = size - 1;
        for (position, &partner) in list.iter().enumerate() {
            self.filter.add(names.tail(partner));
            let mut place = names.tail(partner) as usize & mask;
            while self.table[place] != 0 {
                place = (place + 1) & mask;
            }
            self.table[place] = position as u32 + 1;
        }
        mask
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::json::JsonNames;
    use super::{Merger, decode};
    use data::names::Names;

    fn names(all: &[&str]) -> JsonNames {
        let mut names = Names::default();
        all.iter().for_each(|name| assert!(names.intern(name.as_bytes()).is_some()));
        JsonNames::new(&names)
    }

    #[test]
    fn a_record_grows_profile_by_profile_in_the_order_partners_are_met() {
        let names = names(&["p", "beer", "wine", "a \"quoted\\\" one", "x"]);
        let mut merger = Merger::default();
        let mut record: Option<Vec<u8>> = None;
        for (list, expected) in [
            (&[0][..], r#"{"fans":1,"with":{}}"#),
            (&[2, 0, 1], r#"{"fans":2,"with":{"wine":1,"beer":1}}"#),
            (&[0, 1, 3], r#"{"fans":3,"with":{"wine":1,"beer":2,"a \"quoted\\\" one":1}}"#),
            (&[3, 2, 0, 4], r#"{"fans":4,"with":{"wine":2,"beer":2,"a \"quoted\\\" one":2,"x":1}}"#),
        ] {
            let mut out = Vec::new();
            merger.merge(&names, 0, list, record.as_deref(), &mut out).unwrap();
            assert_eq!(String::from_utf8(out.clone()).unwrap(), expected);
            record = Some(out);
        }
    }

    #[test]
    fn counts_grow_over_every_power_of_ten() {
        let names = names(&["p", "q"]);
        let (mut merger, mut record, mut out) = (Merger::default(), None::<Vec<u8>>, Vec::new());
        for count in 1..=1001 {
            assert_eq!(merger.merge(&names, 0, &[0, 1], record.as_deref(), &mut out).unwrap(), count);
            assert_eq!(String::from_utf8_lossy(&out), format!("{{\"fans\":{count},\"with\":{{\"q\":{count}}}}}"));
            record = Some(out.clone());
        }
    }

    #[test]
    fn names_with_equal_ends_and_short_names_are_distinct() {
        let all = ["p", "aa-long-suffix", "ab-long-suffix", "b", "ab", "bb", "b-long-suffix"];
        let names = names(&all);
        let (mut merger, mut out) = (Merger::default(), Vec::new());
        merger.merge(&names, 0, &[0, 1, 3, 5], None, &mut out).unwrap();
        let old = out.clone();
        merger.merge(&names, 0, &[0, 1, 2, 3, 4, 6], Some(&old), &mut out).unwrap();
        let mut seen = Vec::new();
        let fans = decode(&out, |name, count| seen.push((String::from_utf8_lossy(name).into_owned(), count))).unwrap();
        let expected = [(all[1], 2), (all[3], 2), (all[5], 1), (all[2], 1), (all[4], 1), (all[6], 1)]
            .map(|(n, c)| (n.to_owned(), c));
        assert_eq!((fans, seen), (2, expected.to_vec()));
    }

    #[test]
    fn a_record_that_names_its_own_page_is_another_pages() {
        let names = names(&["p", "q"]);
        let mut out = Vec::new();
        let foreign = br#"{"fans":1,"with":{"p":1}}"#;
        assert!(Merger::default().merge(&names, 0, &[0, 1], Some(foreign), &mut out).is_err());
    }

    #[test]
    fn every_cut_and_almost_every_changed_byte_of_a_record_is_refused() {
        let record = br#"{"fans":12,"with":{"beer":10,"wi\"ne":2}}"#;
        assert!(decode(record, |_, _| {}).is_ok());
        for end in 0..record.len() {
            assert!(decode(&record[..end], |_, _| {}).is_err(), "cut at {end}");
        }
        for at in 0..record.len() {
            let mut changed = record.to_vec();
            changed[at] = b'~';
            let inside_a_name = (20..24).contains(&at) || (30..36).contains(&at) && at != 32;
            assert_eq!(
                decode(&changed, |_, _| {}).is_ok(),
                inside_a_name,
                "changed at {at}: {}",
                String::from_utf8_lossy(&changed)
            );
        }
        for wrong in [
            r#"{"fans":01,"with":{}}"#,
            r#"{"fans":1,"with":{,}}"#,
            r#"{"fans":1,"with":{"a":1,}}"#,
            r#"{"fans":1,"with":{"a":}}"#,
            r#"{"fans":1,"with":{"a":1 }}"#,
            r#"{"fans":1,"with":{}}}"#,
            r#"{"fans":4294967296,"with":{}}"#,
            r#"{"fans":1,"with":}}"#,
            r#"{"fans":1,"with":{"":1}}"#,
        ] {
            assert!(decode(wrong.as_bytes(), |_, _| {}).is_err(), "{wrong}");
        }
    }
}
