//! The final state as it was read back, packed; and the answer made of it, of nothing else.

use super::Input;
use super::json::decimal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use data::digest::LineDigest;
use data::splitmix::mix;
use jobkit::{JobError, printable};
use serde::{Deserialize, Serialize};
use study::{Answer, Reason, ReasonKind, WriteAccount};

/// Pages with their fans and partners. A pair takes two to four bytes: the distance of its name's rank from the one
/// before, and its count, both as variable-length integers.
pub struct Found {
    packed: Vec<u8>,
    /// Where each page starts in `packed`, plus 1; 0: not found.
    starts: Vec<u64>,
    fans: u64,
    pairs: u64,
    pair_sum: u64,
    bytes: u64,
    /// Sum over all pairs (a, b, count) of count · (h(a, b) - h(b, a)): 0 when counts are symmetric, else almost
    /// surely not.
    skew: u64,
    lost_fans: u64,
    lost_pairs: u64,
    first_lost: String,
    /// The fate of the mentions.
    pub account: WriteAccount,
    /// Whether some failed.
    pub in_doubt: bool,
    /// Acknowledged mentions that were missing when it was read back before.
    lost_before: u64,
}

/// What a share has found, to be sent.
#[derive(Serialize, Deserialize)]
pub struct FoundPages {
    /// As it is packed, in base64.
    packed: String,
    /// Each page found, and where it starts.
    starts: Vec<(u32, u64)>,
    fans: u64,
    pairs: u64,
    pair_sum: u64,
    bytes: u64,
    skew: u64,
    lost_fans: u64,
    lost_pairs: u64,
    first_lost: String,
    account: WriteAccount,
    in_doubt: bool,
    lost_before: u64,
}

impl Found {
    /// Returns what was found, to be sent.
    pub fn pages(&self) -> FoundPages {
        let found = (0..).zip(&self.starts).filter_map(|(page, start)| Some((page, start.checked_sub(1)?)));
        FoundPages {
            packed: STANDARD_NO_PAD.encode(&self.packed),
            starts: found.collect(),
            fans: self.fans,
            pairs: self.pairs,
            pair_sum: self.pair_sum,
            bytes: self.bytes,
            skew: self.skew,
            lost_fans: self.lost_fans,
            lost_pairs: self.lost_pairs,
            first_lost: self.first_lost.clone(),
            account: self.account,
            in_doubt: self.in_doubt,
            lost_before: self.lost_before,
        }
    }

    /// Adds what another share has found.
    ///
    /// # Errors
    /// When it is of other pages.
    pub fn join(&mut self, other: FoundPages) -> Result<(), JobError> {
        let foreign = || JobError("a worker has found pages that are none of this input's".into());
        let packed = STANDARD_NO_PAD.decode(&other.packed).map_err(|_| foreign())?;
        let before = self.packed.len() as u64 + 1;
        for (page, start) in other.starts {
            let is_within = start < packed.len() as u64;
            *self.starts.get_mut(page as usize).filter(|_| is_within).ok_or_else(foreign)? = before + start;
        }
        self.packed.extend(packed);
        self.fans += other.fans;
        self.pairs += other.pairs;
        self.pair_sum += other.pair_sum;
        self.bytes += other.bytes;
        self.skew = self.skew.wrapping_add(other.skew);
        self.lost_fans += other.lost_fans;
        self.lost_pairs += other.lost_pairs;
        if self.first_lost.is_empty() {
            self.first_lost = other.first_lost;
        }
        self.account.merge(other.account);
        self.in_doubt |= other.in_doubt;
        self.lost_before += other.lost_before;
        Ok(())
    }

    /// Makes an empty result, before anything is read.
    pub fn new(pages: usize) -> Found {
        Found {
            packed: Vec::new(),
            starts: vec![0; pages],
            fans: 0,
            pairs: 0,
            pair_sum: 0,
            bytes: 0,
            skew: 0,
            lost_fans: 0,
            lost_pairs: 0,
            first_lost: String::new(),
            account: WriteAccount::default(),
            in_doubt: false,
            lost_before: 0,
        }
    }

    /// Makes an empty result, before anything is read for the second time.
    pub fn again(pages: usize, before: &Found) -> Found {
        Found { lost_before: before.account.lost, ..Found::new(pages) }
    }

    /// Returns the fate of the mentions.
    pub fn writes(&self) -> WriteAccount {
        WriteAccount { lost: self.account.lost.max(self.lost_before), ..self.account }
    }

    /// Notes a page: fans, partners by rank (sorted) with counts, key and value bytes. `page_of` gives the page of a
    /// rank.
    pub fn add(&mut self, page: u32, fans: u32, partners: &[(u32, u32)], bytes: u64, page_of: impl Fn(u32) -> u32) {
        self.starts[page as usize] = self.packed.len() as u64 + 1;
        self.pack(fans);
        self.pack(partners.len() as u32);
        let mut last = 0;
        for &(rank, count) in partners {
            self.pack(rank - last);
            self.pack(count);
            last = rank;
            let partner = page_of(rank);
            let pair = |a: u32, b: u32| mix(u64::from(a) << 32 | u64::from(b));
            let skew = pair(page, partner).wrapping_sub(pair(partner, page));
            self.skew = self.skew.wrapping_add(skew.wrapping_mul(u64::from(count)));
            self.pair_sum += u64::from(count);
        }
        self.fans += u64::from(fans);
        self.pairs += partners.len() as u64;
        self.bytes += bytes;
    }

    /// Notes what a page has fewer than it should: (found, right) fans and pair counts.
    pub fn lost(&mut self, key: &[u8], fans: (u32, u32), pairs: (u64, u64)) {
        if fans.0 < fans.1 || pairs.0 < pairs.1 {
            self.lost_fans += u64::from(fans.1.saturating_sub(fans.0));
            self.lost_pairs += pairs.1.saturating_sub(pairs.0);
            if self.first_lost.is_empty() {
                let (key, (fans, right_fans), (pairs, right_pairs)) = (printable(key), fans, pairs);
                self.first_lost =
                    format!("key {key}: {fans} fans of {right_fans}, {pairs} pair counts of {right_pairs}");
            }
        }
    }

    /// Returns the key and value bytes found.
    pub fn logical_bytes(&self) -> u64 {
        self.bytes
    }

    fn pack(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.packed.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.packed.push(number as u8);
    }

    /// Returns the answer, and what is wrong with the final state as a whole.
    pub fn answer(&self, input: &Input) -> (Answer, Vec<Reason>) {
        let (mut pair_lines, mut fan_lines) = (LineDigest::default(), LineDigest::default());
        let (mut pages, mut top, mut number) = (0u64, (0, &b""[..]), Vec::new());
        for &page in &input.order {
            let Some(start) = self.starts[page as usize].checked_sub(1) else { continue };
            let mut packed = Unpack(&self.packed[start as usize..]);
            let (name, fans, partners) = (input.set.pages.get(page), packed.number(), packed.number());
            pages += 1;
            if fans > top.0 {
                top = (fans, name);
            }
            number.clear();
            decimal(fans, &mut number);
            fan_lines.line(&[name, &number]);
            let mut rank = 0;
            for _ in 0..partners {
                rank += packed.number();
                number.clear();
                decimal(packed.number(), &mut number);
                pair_lines.line(&[name, input.set.pages.get(input.order[rank as usize]), &number]);
            }
        }
        let answer = Answer {
            digest: pair_lines.finish(),
            facts: [
                ("pages", pages.into()),
                ("mentions", self.fans.into()),
                ("pair_increments", self.pair_sum.into()),
                ("ordered_pairs", self.pairs.into()),
                ("sha256_fans", fan_lines.finish().into()),
                ("top_page", String::from_utf8_lossy(top.1).into()),
                ("top_page_fans", top.0.into()),
            ]
            .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value))
            .into(),
        };
        (answer, self.reasons())
    }

    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if self.lost_fans > 0 || self.lost_pairs > 0 {
            let count = if self.lost_fans > 0 { self.lost_fans } else { self.lost_pairs };
            let example =
                format!("{}; in all {} fans and {} pair counts lost", self.first_lost, self.lost_fans, self.lost_pairs);
            reasons.push(Reason { kind: ReasonKind::LostUpdates, count, example });
        } else if self.skew != 0 && !self.in_doubt {
            let example = "counts are not symmetric: with[a][b] differs from with[b][a] for some a and b".into();
            reasons.push(Reason { kind: ReasonKind::WrongAnswer, count: 1, example });
        }
        reasons
    }
}

/// Reads what [`Found::pack`] wrote.
struct Unpack<'a>(&'a [u8]);

impl Unpack<'_> {
    fn number(&mut self) -> u32 {
        let (mut number, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        number
    }
}
