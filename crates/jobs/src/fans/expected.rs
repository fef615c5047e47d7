//! The answer computed from the input alone: for each page, the profiles that name it, and a count per page of what
//! else they name. Shares nothing with records, their encoding, or the order in which the job works.

use super::{json, record};
use data::digest::LineDigest;
use data::fans::FanSet;

/// The profiles that name each page.
pub struct Index {
    ends: Vec<u32>,
    profiles: Vec<u32>,
}

impl Index {
    /// Makes the index of a data set.
    pub fn new(set: &FanSet) -> Index {
        let mut ends = vec![0u32; set.pages.len() + 1];
        for &page in set.mentions() {
            ends[page as usize + 1] += 1;
        }
        for page in 0..set.pages.len() {
            ends[page + 1] += ends[page];
        }
        let mut next = ends.clone();
        let mut profiles = vec![0; set.mentions().len()];
        for profile in 0..set.profiles() {
            for &page in set.profile(profile) {
                profiles[next[page as usize] as usize] = profile as u32;
                next[page as usize] += 1;
            }
        }
        Index { ends, profiles }
    }

    /// Profiles that name the page, in input order.
    #[inline]
    pub fn profiles(&self, page: u32) -> &[u32] {
        &self.profiles[self.ends[page as usize] as usize..self.ends[page as usize + 1] as usize]
    }
}

/// Counts the partners of one page after the other.
pub struct Partners<'a> {
    set: &'a FanSet,
    index: &'a Index,
    counts: Vec<u32>,
    met: Vec<u32>,
}

impl<'a> Partners<'a> {
    /// Makes a counter over this data set.
    pub fn new(set: &'a FanSet, index: &'a Index) -> Partners<'a> {
        Partners { set, index, counts: vec![0; set.pages.len()], met: Vec::new() }
    }

    /// Counts the partners of `page`; returns its number of fans. What was counted before is forgotten.
    pub fn count(&mut self, page: u32) -> u32 {
        for &partner in &self.met {
            self.counts[partner as usize] = 0;
        }
        self.met.clear();
        for &profile in self.index.profiles(page) {
            for &partner in self.set.profile(profile as usize) {
                if partner != page {
                    if self.counts[partner as usize] == 0 {
                        self.met.push(partner);
                    }
                    self.counts[partner as usize] += 1;
                }
            }
        }
        self.index.profiles(page).len() as u32
    }

    /// Pages met together with the page counted last, in the order they were first met.
    pub fn met(&self) -> &[u32] {
        &self.met
    }

    /// Returns how often `partner` was met together with the page counted last.
    #[inline]
    pub fn times(&self, partner: u32) -> u32 {
        self.counts[partner as usize]
    }
}

/// The part of the answer that is known without any store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Digest of the lines `a \t b \t count`.
    pub digest: String,
    /// Digest of the lines `page \t fans`.
    pub fans_digest: String,
    /// Sum of all counts of pairs.
    pub pair_increments: u64,
    /// Lines of the answer.
    pub ordered_pairs: u64,
    /// Largest record at the end, which is the largest ever written.
    pub largest_value_bytes: usize,
    /// The page that has it.
    pub largest_value_page: u32,
    /// All records at the end.
    pub final_value_bytes: u64,
    /// Longest name.
    pub longest_key_bytes: usize,
}

/// Computes the answer, streaming: memory is a count a page.
pub fn summarise(set: &FanSet, index: &Index, order: &[u32], ranks: &[u32], names: &json::JsonNames) -> Summary {
    let mut partners = Partners::new(set, index);
    let (mut pairs, mut fan_lines) = (LineDigest::default(), LineDigest::default());
    let mut summary = Summary {
        digest: String::new(),
        fans_digest: String::new(),
        pair_increments: 0,
        ordered_pairs: 0,
        largest_value_bytes: 0,
        largest_value_page: 0,
        final_value_bytes: 0,
        longest_key_bytes: set.pages.iter().map(<[u8]>::len).max().unwrap_or(0),
    };
    let (mut sorted, mut number) = (Vec::new(), Vec::new());
    for &page in order {
        let name = set.pages.get(page);
        let fans = partners.count(page);
        number.clear();
        json::decimal(fans, &mut number);
        fan_lines.line(&[name, &number]);
        sorted.clear();
        sorted.extend_from_slice(partners.met());
        sorted.sort_unstable_by_key(|&partner| ranks[partner as usize]);
        let (mut field_bytes, mut count_digits) = (0, 0);
        for &partner in &sorted {
            let times = partners.times(partner);
            number.clear();
            json::decimal(times, &mut number);
            pairs.line(&[name, set.pages.get(partner), &number]);
            summary.pair_increments += u64::from(times);
            field_bytes += names.field(partner).len();
            count_digits += number.len();
        }
        summary.ordered_pairs += sorted.len() as u64;
        let bytes = record::size(fans, sorted.len(), field_bytes, count_digits);
        summary.final_value_bytes += bytes as u64;
        if bytes > summary.largest_value_bytes {
            (summary.largest_value_bytes, summary.largest_value_page) = (bytes, page);
        }
    }
    summary.digest = pairs.finish();
    summary.fans_digest = fan_lines.finish();
    summary
}
