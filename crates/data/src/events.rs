//! Events that are summarized: who ordered how much, and when. Version 1 is CSV, version 2 nested JSON, one event per line. Generated, or
//! read from a file; kept as text, because parsing is part of the work.

mod csv;
mod generate;
mod json;

use crate::digest::of_bytes;
use crate::lines::{Lines, unreadable};
use crate::{DataError, Spot};
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Text that one parser takes at once, at least.
const BLOCK_BYTES: usize = 32 << 10;

/// Customers have numbers below this.
pub const CUSTOMERS_END: u64 = 1 << 61;

/// The format in which events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFormat {
    /// `customer,date,quantity,cents`.
    V1,
    /// `{"time":{"date":D},"customer":{"id":C},"order":{"quantity":Q,"price":{"cents":P}}}`, and more.
    V2,
}

/// An event, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderEvent {
    /// Whose it is, where that is known.
    pub customer: Option<u64>,
    /// `YYYYMM`.
    pub month: u32,
    /// Things ordered, where something was.
    pub quantity: Option<u32>,
    /// The price in cents, where it is known.
    pub cents: Option<u32>,
}

impl OrderEvent {
    /// Returns how many counters it goes to: of its month, and of its customer, each one, two or three.
    pub fn fan_out(self) -> u64 {
        (1 + u64::from(self.customer.is_some()))
            * (1 + u64::from(self.quantity.is_some()) + u64::from(self.cents.is_some()))
    }
}

/// The fault in a line: the byte where the fault begins, and the problem.
pub(crate) type LineFlaw = (usize, String);

/// Events as text, cut into blocks of whole lines.
pub struct EventText {
    source_name: String,
    digest: String,
    format: EventFormat,
    text: Vec<u8>,
    /// Where each block ends.
    ends: Vec<usize>,
}

impl EventText {
    /// Generates that many events of customers numbered from 1, by this seed; in both formats the same.
    pub fn generate(format: EventFormat, events: u64, seed: u64) -> EventText {
        let text = generate::text(format, events, seed);
        EventText::of(format!("{events} generated events"), format, text)
    }

    /// Reads a file, plain or `.gz`.
    ///
    /// # Errors
    /// When it cannot be read. What is in it is looked at by [`check`](EventText::check).
    pub fn read(path: &Path, format: EventFormat) -> Result<EventText, DataError> {
        let (name, mut input) = Lines::open(path)?.into_bytes();
        let mut text = Vec::new();
        input.read_to_end(&mut text).map_err(|error| unreadable(&name, &error))?;
        if text.trim_ascii().is_empty() {
            return Err(DataError::whole(&name, "it holds no event", remedy(format)));
        }
        Ok(EventText::of(name, format, text))
    }

    fn of(source_name: String, format: EventFormat, text: Vec<u8>) -> EventText {
        let mut ends = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let least = (start + BLOCK_BYTES).min(text.len());
            let end = text[least..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| least + at + 1);
            ends.push(end);
            start = end;
        }
        EventText { digest: of_bytes(&text), source_name, format, text, ends }
    }

    /// Returns where it is from.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Returns the digest of the text.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the number of bytes of text.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Parts that parsers take one after the other.
    pub fn blocks(&self) -> usize {
        self.ends.len()
    }

    fn block(&self, block: usize) -> Range<usize> {
        let start = if block == 0 { 0 } else { self.ends[block - 1] };
        start..self.ends[block]
    }

    /// Parses a block. Ends at the first line that is no event: [`check`](EventText::check) has found it before.
    #[inline]
    pub fn parse(&self, block: usize, each: impl FnMut(OrderEvent)) {
        let _ = self.parsed(block, each);
    }

    /// Parses a block; a flaw comes with the bytes of the text before its line.
    #[inline]
    fn parsed(&self, block: usize, mut each: impl FnMut(OrderEvent)) -> Result<(), (usize, LineFlaw)> {
        let Range { start, end } = self.block(block);
        let mut at = start;
        while at < end {
            let rest = &self.text[at..end];
            let (line, next) = match self.format {
                EventFormat::V1 => csv::event(rest),
                EventFormat::V2 => json::event(rest),
            }
            .map_err(|flaw| (at, flaw))?;
            if let Some(event) = line {
                each(event);
            }
            at += next;
        }
        Ok(())
    }

    /// Parses everything, and hands over each event.
    ///
    /// # Errors
    /// Names the line that is no event.
    pub fn check(&self, mut each: impl FnMut(OrderEvent)) -> Result<(), DataError> {
        for block in 0..self.blocks() {
            self.parsed(block, &mut each).map_err(|(before, (byte, problem))| {
                let number = 1 + self.text[..before].iter().filter(|&&byte| byte == b'\n').count() as u64;
                let line = self.text[before..].split(|&byte| byte == b'\n').next().unwrap_or_default();
                DataError::at(&self.source_name, Spot::of(number, line, byte), problem, remedy(self.format))
            })?;
        }
        Ok(())
    }
}

fn remedy(format: EventFormat) -> &'static str {
    match format {
        EventFormat::V1 => {
            "write customer,date,quantity,cents per line, numbers, the date as 19970131 (customer, quantity and cents may be empty), \
             and no header; or set format=v2 for JSON"
        }
        EventFormat::V2 => {
            "write one JSON object per line: {\"time\":{\"date\":19970131},\"customer\":{\"id\":1},\"order\":{\"quantity\":2,\
             \"price\":{\"cents\":999}}} (customer and order may be absent); or set format=v1 for CSV"
        }
    }
}

/// Returns the month of a date; on failure what is wrong with it.
#[inline]
pub(crate) fn month(date: u64) -> Result<u32, String> {
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    if (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day) {
        Ok((date / 100) as u32)
    } else {
        Err(format!("{date} is no date"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{EventFormat, EventText, OrderEvent};

    fn all(text: &EventText) -> Vec<OrderEvent> {
        let mut events = Vec::new();
        text.check(|event| events.push(event)).unwrap();
        let mut again = Vec::new();
        (0..text.blocks()).for_each(|block| text.parse(block, |event| again.push(event)));
        assert!(events == again);
        events
    }

    fn error(format: EventFormat, text: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.txt");
        std::fs::write(&path, text).unwrap();
        let text = EventText::read(&path, format);
        text.and_then(|text| text.check(|_| ())).unwrap_err().to_string()
    }

    #[test]
    fn generated_events_are_the_same_in_both_formats_and_have_every_fan_out_but_five() {
        let (one, two) =
            [EventFormat::V1, EventFormat::V2].map(|format| EventText::generate(format, 20_000, 42)).into();
        let events = all(&one);
        assert!(events.len() == 20_000 && events == all(&two) && one.blocks() > 1 && two.blocks() > one.blocks());
        for fan_out in [1, 2, 3, 4, 6] {
            assert!(events.iter().filter(|event| event.fan_out() == fan_out).count() > 100, "{fan_out}");
        }
        assert!(events != all(&EventText::generate(EventFormat::V1, 20_000, 43)));
    }

    #[test]
    fn what_is_not_known_may_be_empty_absent_or_null() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events");
        let event = |customer, quantity, cents| OrderEvent { customer, month: 199_702, quantity, cents };
        std::fs::write(&path, "7,19970228,2,999\r\n\n,19970201,3\n5,19970201\n ,19970201,, 4 \n9,19970201,0,0")
            .unwrap();
        let expected = [
            event(Some(7), Some(2), Some(999)),
            event(None, Some(3), None),
            event(Some(5), None, None),
            event(None, None, Some(4)),
            event(Some(9), Some(0), Some(0)),
        ];
        assert_eq!(all(&EventText::read(&path, EventFormat::V1).unwrap()), expected);
        let time = "\"time\":{\"date\":19970201}";
        let lines = [
            format!(
                "{{{time},\"x\":[1,{{}}],\"customer\":{{\"id\":7,\"name\":\"Zo\u{eb}\"}},\"order\":{{\"quantity\":2,\"price\":{{\"cents\":999}}}}}}"
            ),
            format!("{{{time},\"customer\":null,\"order\":{{\"quantity\":3}}}}"),
            String::new(),
            format!("{{{time},\"customer\":{{\"id\":5}}}}\r"),
            format!("{{{time},\"order\":{{\"price\":{{\"cents\":4}}}}}}"),
            format!("{{{time},\"customer\":{{\"id\":9}},\"order\":{{\"quantity\":0,\"price\":{{\"cents\":0}}}}}}"),
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        assert_eq!(all(&EventText::read(&path, EventFormat::V2).unwrap()), expected);
    }

    #[test]
    fn a_line_that_is_no_event_is_named_with_its_column() {
        let v1 = EventFormat::V1;
        for (text, words) in [
            (
                "1,19970101,1,1177\n2,19970101,x,5\n",
                "line 2, column 12: the quantity is 'x', not a number below 4,294,967,296",
            ),
            ("id,date\n", "line 1, column 1: the customer is 'id', not a number below 2^61"),
            ("2305843009213693952,19970101\n", "line 1, column 1: the customer is '2305843009213693952'"),
            ("1,19971301\n", "line 1, column 3: 19971301 is no date"),
            ("1\n", "line 1, column 2: the event ends before its date"),
            ("1,,2,3\n", "line 1, column 3: the date is ''"),
            ("1,19970101,2,4294967296\n", "line 1, column 14: the cents are '4294967296'"),
            ("1,19970101,-2,3\n", "line 1, column 12: the quantity is '-2'"),
            ("1,19970101,2,3,4\n", "line 1, column 16: a field too many"),
            (" \n\n", "it holds no event"),
        ] {
            let error = error(v1, text);
            assert!(error.contains(words) && error.contains("customer,date,quantity,cents"), "{text:?}: {error}");
        }
        let good = "{\"time\":{\"date\":19970131},\"customer\":{\"id\":1}}";
        for (text, words) in [
            (format!("{good}\n{}\n", &good[..30]), "line 2, column 31: the event is cut off in the middle"),
            (format!("{good}\n{}", &good[..good.len() - 1]), "line 2, column 46: the event is cut off in the middle"),
            (good.replace("19970131", "\"soon\""), "line 1, column 22: invalid type: string \"soon\""),
            (good.replace("131", "100"), "line 1, column 1: 19970100 is no date"),
            (good.replace("time", "times"), "line 1, column 47: missing field `time`"),
            (good.replace(":1}", ":-1}"), "line 1, column 45: invalid value: integer `-1`"),
            (good.replace(":1}", ":2305843009213693952}"), "line 1, column 1: the customer is 2305843009213693952"),
            (format!("{good} 7"), "line 1, column 48: trailing characters"),
            ("1,19970101,1,1177".into(), "line 1, column 1: invalid type: integer `1`"),
        ] {
            let error = error(EventFormat::V2, &text);
            assert!(error.contains(words) && error.contains("one JSON object per line"), "{text:?}: {error}");
        }
    }
}
