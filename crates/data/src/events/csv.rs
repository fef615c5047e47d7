//! Version 1: `customer,date,quantity,cents` per line.

use super::{CUSTOMERS_END, LineFlaw, OrderEvent, month};

/// Returns the event at the start of this text, `None` for an empty line, and where the next line begins.
#[inline]
pub(super) fn event(text: &[u8]) -> Result<(Option<OrderEvent>, usize), LineFlaw> {
    // The common case, in one pass over the bytes: digits and commas.
    let mut fields = [None; 4];
    let mut at = 0;
    for field in &mut fields {
        let (start, mut number) = (at, 0u64);
        while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        }
        if at - start > 19 {
            return unusual(text);
        }
        *field = (at > start).then_some(number);
        match text.get(at) {
            Some(b',') => at += 1,
            Some(b'\n') => break,
            _ => return unusual(text),
        }
    }
    let [customer, Some(date), quantity, cents] = fields else { return unusual(text) };
    let (Ok(month), true) = (month(date), text.get(at) == Some(&b'\n')) else { return unusual(text) };
    let narrow = |number: Option<u64>| number.is_none_or(|number| number <= u64::from(u32::MAX));
    if customer.is_some_and(|customer| customer >= CUSTOMERS_END) || !narrow(quantity) || !narrow(cents) {
        return unusual(text);
    }
    let narrow = |number: Option<u64>| number.map(|number| number as u32);
    Ok((Some(OrderEvent { customer, month, quantity: narrow(quantity), cents: narrow(cents) }), at + 1))
}

/// The same for lines with blanks, carriage returns, no end, or a flaw, which is named.
#[cold]
fn unusual(text: &[u8]) -> Result<(Option<OrderEvent>, usize), LineFlaw> {
    let end = text.iter().position(|&byte| byte == b'\n');
    let line = &text[..end.unwrap_or(text.len())];
    let next = end.map_or(text.len(), |end| end + 1);
    if line.trim_ascii().is_empty() {
        return Ok((None, next));
    }
    let mut at = 0;
    let mut fields = [(0, None); 4];
    for (number, word) in line.split(|&byte| byte == b',').enumerate() {
        let Some(field) = fields.get_mut(number) else { return Err((at, "a field too many".into())) };
        let text = String::from_utf8_lossy(word.trim_ascii()).into_owned();
        let (is, most, must) = match number {
            0 => ("customer is", CUSTOMERS_END - 1, "2^61"),
            1 => ("date is", 99_991_231, "99,991,232"),
            2 => ("quantity is", u64::from(u32::MAX), "4,294,967,296"),
            _ => ("cents are", u64::from(u32::MAX), "4,294,967,296"),
        };
        let value = text.parse::<u64>().ok().filter(|&value| value <= most && !text.starts_with('+'));
        if value.is_none() && (number == 1 || !text.is_empty()) {
            return Err((at, format!("the {is} '{text}', not a number below {must}")));
        }
        *field = (at, value);
        at += word.len() + 1;
    }
    let [(_, customer), (date_at, date), (_, quantity), (_, cents)] = fields;
    let Some(date) = date else { return Err((line.len(), "the event ends before its date".into())) };
    let month = month(date).map_err(|problem| (date_at, problem))?;
    let narrow = |number: Option<u64>| number.map(|number| number as u32);
    Ok((Some(OrderEvent { customer, month, quantity: narrow(quantity), cents: narrow(cents) }), next))
}
