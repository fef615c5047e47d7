//! Generated events: integers only, so that a port gives the same bytes.

use super::EventFormat;
use crate::splitmix::Rng;
use std::io::Write;

/// Months of the data: January 1997 to June 1998.
const MONTHS: u64 = 18;
/// Events per customer, on average over the numbers there may be.
const EVENTS_PER_CUSTOMER: u64 = 100;

pub(super) fn text(format: EventFormat, events: u64, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let customers = (events / EVENTS_PER_CUSTOMER).max(1);
    let mut text = Vec::with_capacity(
        events as usize
            * match format {
                EventFormat::V1 => 24,
                EventFormat::V2 => 176,
            },
    );
    for number in 0..events {
        // Events come in the order of time: a month's counters are hot while it lasts.
        let month = number * MONTHS / events;
        let day = 1 + (number * MONTHS % events) * 28 / events;
        let date = (1997 + month / 12) * 10_000 + (1 + month % 12) * 100 + day;
        // Some customers order far more than others.
        let customer = 1 + rng.below(customers) * rng.below(customers) / customers;
        let customer = Some(customer).filter(|_| rng.below(10) > 0);
        let (kind, quantity, price) = (rng.below(10), 1 + rng.below(5), 499 + rng.below(2500));
        let quantity = Some(quantity).filter(|_| kind > 1);
        let cents = quantity.map(|quantity| quantity * price).filter(|_| kind > 2);
        let _ = match format {
            EventFormat::V1 => line(&mut text, date, customer, quantity, cents),
            EventFormat::V2 => object(&mut text, date, customer, quantity, cents, number),
        }; // writing to memory does not fail
    }
    text
}

fn line(
    text: &mut Vec<u8>,
    date: u64,
    customer: Option<u64>,
    quantity: Option<u64>,
    cents: Option<u64>,
) -> std::io::Result<()> {
    if let Some(customer) = customer {
        write!(text, "{customer}")?;
    }
    write!(text, ",{date}")?;
    for number in [quantity, cents].into_iter().flatten() {
        write!(text, ",{number}")?;
    }
    writeln!(text)
}

fn object(
    text: &mut Vec<u8>,
    date: u64,
    customer: Option<u64>,
    quantity: Option<u64>,
    cents: Option<u64>,
    number: u64,
) -> std::io::Result<()> {
    write!(text, "{{\"event\":{number},\"time\":{{\"date\":{date},\"zone\":\"UTC\"}}")?;
    if let Some(customer) = customer {
        write!(
            text,
            ",\"customer\":{{\"id\":{customer},\"agent\":{{\"name\":\"browser\",\"version\":{}}}}}",
            date % 7
        )?;
    }
    if let Some(quantity) = quantity {
        write!(text, ",\"order\":{{\"quantity\":{quantity}")?;
        if let Some(cents) = cents {
            write!(text, ",\"price\":{{\"cents\":{cents},\"currency\":\"USD\"}}")?;
        }
        write!(text, "}}")?;
    }
    writeln!(text, "}}")
}
