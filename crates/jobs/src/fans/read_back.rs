//! Reads every page back and compares it with the answer computed from the input.

use super::counters::{fans_key, with_key};
use super::doubt::{AtLeast, at_least};
use super::expected::Partners;
use super::policy::Variant;
use super::record;
use super::trial::FansTrial;
use jobkit::{Doubt, Offence, Step, Think, Worker, printable};
use std::ops::Range;
use std::sync::PoisonError;
use store::{Operation, Reply, Rows, Slot};
use study::ReasonKind;

/// A thread's slots that read back. Page p is read by slot p modulo slots.
pub struct ReadBack<'a> {
    trial: &'a FansTrial<'a>,
    slots: Vec<SlotState>,
    partners: Partners<'a>,
    /// Partners found: rank of the name, count.
    pairs: Vec<(u32, u32)>,
    key: Vec<u8>,
}

struct SlotState {
    /// The page in flight or next.
    page: u64,
    /// Counters variant: the page's own counter, once it is read.
    fans: Option<u32>,
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a FansTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        ReadBack {
            trial,
            slots: slots.map(|slot| SlotState { page: u64::from(slot), fans: None }).collect(),
            partners: trial.input.partners(),
            pairs: Vec::new(),
            key: Vec::new(),
        }
    }

    /// Compares a page with what must be there and notes it down.
    fn compare(&mut self, page: u32, fans: u32, stored: Stored, foreign: Option<String>) -> Result<(), Offence> {
        let ReadBack { trial, partners, pairs, .. } = self;
        let input = trial.input;
        let key = input.set.pages.get(page);
        let expected_fans = partners.count(page);
        let expected_pairs: u64 = partners.met().iter().map(|&partner| u64::from(partners.times(partner))).sum();
        pairs.sort_unstable();
        let twice = pairs.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0);
        let name = |rank: u32| printable(input.set.pages.get(input.order[rank as usize]));
        let excess = pairs.iter().find(|&&(rank, count)| count > partners.times(input.order[rank as usize]));
        let verdict = if let Some(name) = foreign {
            Err((ReasonKind::ForeignData, format!("it holds the page {name}, which no profile names")))
        } else if let Some(rank) = twice {
            Err((ReasonKind::WrongValue, format!("it holds the page {} twice", name(rank))))
        } else if let Some(&(rank, count)) = excess {
            let right = study::whole(partners.times(input.order[rank as usize]).into());
            let count = study::whole(count.into());
            Err((ReasonKind::WrongValue, format!("its count with {} is {count}, right is {right}", name(rank))))
        } else if fans > expected_fans {
            Err((ReasonKind::WrongValue, format!("fans={fans}, right is {expected_fans}")))
        } else {
            Ok(())
        };
        let found_pairs: u64 = pairs.iter().map(|&(_, count)| u64::from(count)).sum();
        let least = least(trial, page, (expected_fans, expected_pairs), (fans, found_pairs), stored.print);
        let mut found = trial.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.account.merge(least.account);
        found.add(page, fans, pairs, key.len() as u64 + stored.bytes, |rank| input.order[rank as usize]);
        match verdict {
            Ok(()) => {
                found.lost(key, (fans, least.fans), (found_pairs, least.pairs));
                Ok(())
            }
            Err((kind, seen)) => Err(Offence::new(kind, key, seen)),
        }
    }

    fn record(&mut self, page: u32, value: &[u8]) -> Result<(), Offence> {
        let input = self.trial.input;
        let (pairs, mut foreign) = (&mut self.pairs, None);
        pairs.clear();
        let decoded = record::decode(value, |name, count| match input.page_of(name) {
            Some(partner) => pairs.push((input.ranks[partner as usize], count)),
            None => foreign = foreign.take().or_else(|| Some(printable(name))),
        });
        match decoded {
            Ok(fans) => {
                let stored = Stored { bytes: value.len() as u64, print: self.trial.ledger.print(value) };
                self.compare(page, fans, stored, foreign)
            }
            Err(error) => Err(Offence::new(ReasonKind::WrongValue, input.set.pages.get(page), error.to_string())),
        }
    }

    fn counters(&mut self, page: u32, fans: u32, rows: Rows<'_>) -> Result<(), Offence> {
        let input = self.trial.input;
        let (mut foreign, mut bytes) = (None, 2 * super::counters::PREFIX_BYTES as u64 + 8);
        self.pairs.clear();
        for (field, count) in rows.iter() {
            bytes += field.len() as u64 + 8;
            let Some(count) = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok()) else {
                let seen = format!("its count with {} is '{}'", printable(field), printable(count));
                return Err(Offence::new(ReasonKind::WrongNumber, input.set.pages.get(page), seen));
            };
            match input.set.pages.id(field) {
                Some(partner) => self.pairs.push((input.ranks[partner as usize], count)),
                None => foreign = foreign.take().or_else(|| Some(printable(field))),
            }
        }
        self.compare(page, fans, Stored { bytes, print: None }, foreign)
    }
}

/// What is stored of a page.
struct Stored {
    bytes: u64,
    /// The fingerprint of its record, where it can be known.
    print: Option<u64>,
}

/// What must at least be there of a page: what is right, but for mentions that failed.
fn least(trial: &FansTrial<'_>, page: u32, right: (u32, u64), found: (u32, u64), print: Option<u64>) -> AtLeast {
    match trial.ledger.doubts().get(&page) {
        Some(doubt) => at_least(doubt, right, found, print),
        None => at_least(&Doubt::default(), right, found, print),
    }
}

impl Worker for ReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let set = &self.trial.input.set;
        let state = &self.slots[slot as usize];
        if state.page >= set.pages.len() as u64 {
            return Step::Finished;
        }
        let name = set.pages.get(state.page as u32);
        let key = &mut self.key;
        Step::Operation(match (self.trial.variant, state.fans) {
            (Variant::Blob, _) => Operation::Get { key: name },
            (Variant::Counters, None) => {
                fans_key(name, key);
                Operation::GetCounter { key }
            }
            (Variant::Counters, Some(_)) => {
                with_key(name, key);
                Operation::GetFields { key }
            }
        })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let state = &mut self.slots[slot as usize];
        let page = state.page as u32;
        let fans = state.fans.take();
        let key = self.trial.input.set.pages.get(page);
        if let (Variant::Counters, None, Reply::Number(number)) = (self.trial.variant, fans, reply) {
            state.fans = Some(u32::try_from(*number).unwrap_or(u32::MAX));
            return Ok(());
        }
        if self.trial.variant == Variant::Counters
            && fans.is_none()
            && matches!(reply, Reply::Missing)
            && self.trial.ledger.doubts().has(&page)
        {
            state.fans = Some(0); // its partners may have been counted
            return Ok(());
        }
        state.page += u64::from(self.trial.slots);
        let fans_found = fans.unwrap_or(0);
        match (self.trial.variant, reply) {
            (_, Reply::Missing) => {
                let fans = self.partners.count(page);
                let pairs = self.partners.met().iter().map(|&partner| u64::from(self.partners.times(partner))).sum();
                let least = least(self.trial, page, (fans, pairs), (fans_found, 0), None);
                let mut found = self.trial.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.account.merge(least.account);
                if least.fans <= fans_found && least.pairs == 0 {
                    return Ok(()); // nothing of it was acknowledged
                }
                found.lost(key, (fans_found, least.fans), (0, least.pairs));
                Err(Offence::new(ReasonKind::UnexpectedMiss, key, format!("missing at the end; it has {fans} fans")))
            }
            (Variant::Blob, Reply::Value(value)) => self.record(page, value),
            (Variant::Counters, Reply::Rows(rows)) => self.counters(page, fans.unwrap_or(0), *rows),
            _ => Err(Offence::failed(key, reply)),
        }
    }

    fn think(&self) -> Think {
        Think::Costly
    }
}
