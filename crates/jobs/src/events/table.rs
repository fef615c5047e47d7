//! The summaries of one summarizer: three sums per subject.

use super::portion::{CounterOwner, Portion};
use data::splitmix::mix;
use hashbrown::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::Write;

/// The quantity that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tallied {
    /// Events.
    Events,
    /// Things ordered.
    Quantity,
    /// The price in cents.
    Cents,
}

/// A summary: what was counted of a subject, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSummary {
    /// The month or customer of the counter.
    pub subject: CounterOwner,
    /// The quantity that is counted.
    pub tallied: Tallied,
    /// The sum.
    pub value: u64,
}

impl EventSummary {
    /// Writes its key: `m:199701`, `mq:199701`, `cc:17`.
    pub fn key(&self, out: &mut Vec<u8>) {
        let (number, is_month) = self.subject.parts();
        let what = match self.tallied {
            Tallied::Events => "",
            Tallied::Quantity => "q",
            Tallied::Cents => "c",
        };
        let _ = write!(out, "{}{what}:{number}", if is_month { 'm' } else { 'c' }); // writing to memory does not fail
    }
}

#[derive(Clone, Copy, Default)]
struct Sums {
    events: u64,
    quantity: u64,
    cents: u64,
    /// Whether anything was ever added to the sums of quantity and cents, if only 0.
    has: [bool; 2],
}

/// One splitmix round over a single number.
#[derive(Default)]
struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = mix(self.0 ^ u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = mix(number);
    }
}

/// Summaries that have one writer.
#[derive(Default)]
pub struct SummaryTable {
    rows: HashMap<CounterOwner, Sums, BuildHasherDefault<MixHasher>>,
    additions: u64,
}

impl SummaryTable {
    /// Adds an event's portion to the counters it goes to.
    #[inline]
    pub fn add(&mut self, portion: Portion) {
        if let Some(month) = portion.month() {
            self.tally(month, portion);
        }
        if let Some(customer) = portion.customer() {
            self.tally(customer, portion);
        }
    }

    #[inline]
    fn tally(&mut self, subject: CounterOwner, portion: Portion) {
        let sums = self.rows.entry(subject).or_default();
        sums.events += 1;
        if let Some(quantity) = portion.quantity() {
            sums.quantity += u64::from(quantity);
            sums.has[0] = true;
        }
        if let Some(cents) = portion.cents() {
            sums.cents += u64::from(cents);
            sums.has[1] = true;
        }
        self.additions += portion.fan_out();
    }

    /// Returns how often something was added to a counter.
    pub fn additions(&self) -> u64 {
        self.additions
    }

    /// Returns every summary, in any order.
    pub fn summaries(&self) -> impl Iterator<Item = EventSummary> {
        self.rows.iter().flat_map(|(&subject, sums)| {
            let one = |tallied, value| EventSummary { subject, tallied, value };
            let quantity = sums.has[0].then(|| one(Tallied::Quantity, sums.quantity));
            let cents = sums.has[1].then(|| one(Tallied::Cents, sums.cents));
            [Some(one(Tallied::Events, sums.events)), quantity, cents].into_iter().flatten()
        })
    }
}
