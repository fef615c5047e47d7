//! What travels from a parser to a summarizer: an event's part in the counters of one subject, its month or its customer.

use data::events::OrderEvent;
use data::splitmix::mix;

const MONTH: u64 = 1 << 63;
const QUANTITY: u64 = 1 << 62;
const CENTS: u64 = 1 << 61;

/// An event's part in up to three counters of a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Portion {
    /// The subject, and which of its counters it goes to.
    bits: u64,
    quantity: u32,
    cents: u32,
}

/// A month or a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterOwner(u64);

impl CounterOwner {
    /// Which of this many summarizers writes its summaries.
    #[inline]
    pub fn writer(self, summarizers: usize) -> usize {
        // Not the bits by which tables find their places.
        ((((mix(self.0) >> 24) & 0xffff_ffff) * summarizers as u64) >> 32) as usize
    }

    /// Its number, and whether it is a month.
    pub fn parts(self) -> (u64, bool) {
        (self.0 & !MONTH, self.0 & MONTH != 0)
    }
}

impl Portion {
    #[inline]
    fn new(subject: u64, event: OrderEvent) -> Portion {
        let quantity = if event.quantity.is_some() { QUANTITY } else { 0 };
        let cents = if event.cents.is_some() { CENTS } else { 0 };
        Portion {
            bits: subject | quantity | cents,
            quantity: event.quantity.unwrap_or(0),
            cents: event.cents.unwrap_or(0),
        }
    }

    /// The portions of an event: its month's, and its customer's where there is one.
    #[inline]
    pub fn of(event: OrderEvent) -> (Portion, Option<Portion>) {
        let month = Portion::new(MONTH | u64::from(event.month), event);
        (month, event.customer.map(|customer| Portion::new(customer, event)))
    }

    /// Whose counters they are.
    #[inline]
    pub fn subject(self) -> CounterOwner {
        CounterOwner(self.bits & !(QUANTITY | CENTS))
    }

    /// How many counters it goes to.
    #[inline]
    pub fn fan_out(self) -> u64 {
        1 + (self.bits >> 62 & 1) + (self.bits >> 61 & 1)
    }

    /// Things ordered.
    #[inline]
    pub fn quantity(self) -> Option<u32> {
        (self.bits & QUANTITY != 0).then_some(self.quantity)
    }

    /// Their price.
    #[inline]
    pub fn cents(self) -> Option<u32> {
        (self.bits & CENTS != 0).then_some(self.cents)
    }
}
