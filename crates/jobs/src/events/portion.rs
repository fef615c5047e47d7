//! What travels from a parser to a summarizer: an event's part in the counters of its month, of its customer, or of both, where one
//! summarizer writes both.

use data::events::OrderEvent;
use data::splitmix::mix;

const MONTH: u64 = 1 << 63;

// Above the customer's number, which is below 2^61.
const CUSTOMER: u64 = 1 << 63;
const QUANTITY: u64 = 1 << 62;
const CENTS: u64 = 1 << 61;

/// An event's part in up to six counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Portion {
    /// The customer, and what of the rest there is.
    bits: u64,
    /// The month; 0: none.
    month: u32,
    quantity: u32,
    cents: u32,
}

/// A month or a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterOwner(u64);

impl CounterOwner {
    /// Returns which of this many summarizers writes its summaries.
    #[inline]
    pub fn writer(self, summarizers: usize) -> usize {
        if summarizers == 1 {
            return 0;
        }
        // Not the bits by which tables find their places.
        ((((mix(self.0) >> 24) & 0xffff_ffff) * summarizers as u64) >> 32) as usize
    }

    /// Returns the number of the month or customer, and whether it is a month.
    pub fn parts(self) -> (u64, bool) {
        (self.0 & !MONTH, self.0 & MONTH != 0)
    }
}

impl Portion {
    /// Makes an event's part in all its counters.
    #[inline]
    pub fn of(event: OrderEvent) -> Portion {
        let customer = event.customer.map_or(0, |customer| CUSTOMER | customer);
        let quantity = if event.quantity.is_some() { QUANTITY } else { 0 };
        let cents = if event.cents.is_some() { CENTS } else { 0 };
        Portion {
            bits: customer | quantity | cents,
            month: event.month,
            quantity: event.quantity.unwrap_or(0),
            cents: event.cents.unwrap_or(0),
        }
    }

    /// Returns the part of its month alone.
    #[inline]
    pub fn of_month(self) -> Portion {
        Portion { bits: self.bits & (QUANTITY | CENTS), ..self }
    }

    /// Returns the part of its customer alone.
    #[inline]
    pub fn of_customer(self) -> Portion {
        Portion { month: 0, ..self }
    }

    /// Returns the month whose counters it goes to.
    #[inline]
    pub fn month(self) -> Option<CounterOwner> {
        (self.month != 0).then_some(CounterOwner(MONTH | u64::from(self.month)))
    }

    /// Returns the customer whose counters it goes to.
    #[inline]
    pub fn customer(self) -> Option<CounterOwner> {
        (self.bits & CUSTOMER != 0).then_some(CounterOwner(self.bits & !(CUSTOMER | QUANTITY | CENTS)))
    }

    /// Returns how many counters of one subject it goes to.
    #[inline]
    pub fn fan_out(self) -> u64 {
        1 + (self.bits >> 62 & 1) + (self.bits >> 61 & 1)
    }

    /// Things ordered.
    #[inline]
    pub fn quantity(self) -> Option<u32> {
        (self.bits & QUANTITY != 0).then_some(self.quantity)
    }

    /// Returns the price in cents.
    #[inline]
    pub fn cents(self) -> Option<u32> {
        (self.bits & CENTS != 0).then_some(self.cents)
    }
}
