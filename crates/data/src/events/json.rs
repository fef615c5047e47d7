//! Version 2: a nested JSON object per line. What is not summarized is skipped, nothing is copied.

use super::{CUSTOMERS_END, LineFlaw, OrderEvent, month};
use serde::Deserialize;
use std::io::BufRead;

#[derive(Deserialize)]
struct Line {
    time: Time,
    #[serde(default)]
    customer: Option<Customer>,
    #[serde(default)]
    order: Option<Order>,
}

#[derive(Deserialize)]
struct Time {
    date: u32,
}

#[derive(Deserialize)]
struct Customer {
    #[serde(default)]
    id: Option<u64>,
}

#[derive(Deserialize)]
struct Order {
    #[serde(default)]
    quantity: Option<u32>,
    #[serde(default)]
    price: Option<Price>,
}

#[derive(Deserialize)]
struct Price {
    #[serde(default)]
    cents: Option<u32>,
}

/// Returns the event at the start of this text, `None` for an empty line, and where the next line begins.
#[inline]
pub(super) fn event(text: &[u8]) -> Result<(Option<OrderEvent>, usize), LineFlaw> {
    let mut rest = text;
    let next = rest.skip_until(b'\n').unwrap_or(text.len()); // reading memory does not fail
    let line = text[..next].strip_suffix(b"\n").unwrap_or(&text[..next]);
    match serde_json::from_slice::<Line>(line) {
        Ok(parsed) => of(&parsed).map(|event| (Some(event), next)),
        Err(_) if line.trim_ascii().is_empty() => Ok((None, next)),
        Err(error) => Err(flaw(line, &error)),
    }
}

#[inline]
fn of(line: &Line) -> Result<OrderEvent, LineFlaw> {
    let customer = line.customer.as_ref().and_then(|customer| customer.id);
    if let Some(id) = customer.filter(|id| *id >= CUSTOMERS_END) {
        return Err((0, format!("the customer is {id}, not a number below 2^61")));
    }
    let order = line.order.as_ref();
    Ok(OrderEvent {
        customer,
        month: month(u64::from(line.time.date)).map_err(|problem| (0, problem))?,
        quantity: order.and_then(|order| order.quantity),
        cents: order.and_then(|order| order.price.as_ref()).and_then(|price| price.cents),
    })
}

#[cold]
fn flaw(line: &[u8], error: &serde_json::Error) -> LineFlaw {
    if error.is_eof() {
        return (line.len(), "the event is cut off in the middle".into());
    }
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or(&words);
    (error.column().saturating_sub(1).min(line.len()), words.to_owned())
}
