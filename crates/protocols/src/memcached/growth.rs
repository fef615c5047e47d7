//! When the server's hash table grew, by its statistics
//! (<https://github.com/memcached/memcached/blob/master/doc/protocol.txt>): it stops all its threads while it makes room for twice the
//! buckets, and moves the items later. It keeps no record of when, so it is asked now and then.

use super::Meta;
use std::time::{Duration, Instant};
use store::wire::Talk;
use store::{Endpoint, Happening, StoreError};

/// The record of one server's hash table.
#[derive(Default)]
pub(super) struct Growth {
    line: Line,
    last: Option<Seen>,
    happened: Vec<Happening>,
}

/// The connection that asks the server.
#[derive(Default)]
enum Line {
    #[default]
    Unopened,
    Open(Talk),
    /// A server that could not be asked. A server that hangs is not waited for a second time.
    Broken,
}

/// One look at the table.
#[derive(Clone, Copy)]
struct Seen {
    at: Instant,
    /// The power of 2 that is the number of buckets.
    power: u32,
    is_expanding: bool,
}

impl Growth {
    /// Asks the server, and notes what has changed since the last time. Does nothing once the server could not be asked: without this evidence a
    /// stall is explained by what was seen from outside, or not at all.
    pub(super) fn look(&mut self, endpoint: &Endpoint, within: Duration) {
        match self.ask(endpoint, within) {
            Ok(statistics) => self.note(Instant::now(), &statistics),
            Err(_) => self.line = Line::Broken,
        }
    }

    fn ask(&mut self, endpoint: &Endpoint, within: Duration) -> Result<String, StoreError> {
        let until = Instant::now() + within;
        if let Line::Unopened = self.line {
            self.line = Line::Open(Talk::open_until(until, endpoint, Meta::new())?);
        }
        let Line::Open(talk) = &mut self.line else { return Ok(String::new()) };
        talk.ask_until(until, b"stats\r\n", |input| {
            Ok(input.ends_with(b"END\r\n").then(|| String::from_utf8_lossy(input).into_owned()))
        })
    }

    /// Returns the growths noted so far.
    pub(super) fn happened(&self) -> Vec<Happening> {
        self.happened.clone()
    }

    fn note(&mut self, at: Instant, statistics: &str) {
        let number = |name: &str| {
            let line = statistics.lines().find_map(|line| line.strip_prefix("STAT ")?.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        let (Some(power), Some(expanding)) = (number("hash_power_level "), number("hash_is_expanding ")) else {
            return;
        };
        let seen = Seen { at, power, is_expanding: expanding > 0 };
        let Some(last) = self.last.replace(seen) else { return };
        if power == last.power && !last.is_expanding && !seen.is_expanding {
            return;
        }
        let detail = format!("the server's statistics: its hash table grew to 2^{power} buckets");
        match self.happened.last_mut() {
            // It went on since the last look.
            Some(Happening { start: Some(start), duration, detail: known, .. }) if *start + *duration == last.at => {
                (*duration, *known) = (at - *start, detail);
            }
            _ => {
                self.happened.push(Happening { cause: "rehash", start: Some(last.at), duration: at - last.at, detail })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Growth;
    use std::time::{Duration, Instant};

    #[test]
    fn looks_in_a_row_that_see_the_table_grow_are_one_rehash() {
        let begin = Instant::now();
        let mut growth = Growth::default();
        let looks = [(16, 0), (16, 0), (17, 1), (17, 1), (17, 0), (17, 0), (18, 0), (18, 0)];
        for (number, (power, expanding)) in (0..).zip(looks) {
            let statistics = format!(
                "STAT hash_power_level {power}\r\nSTAT hash_bytes 4194304\r\nSTAT hash_is_expanding {expanding}\r\nEND\r\n"
            );
            growth.note(begin + Duration::from_millis(100 * number), &statistics);
        }
        growth.note(begin + Duration::from_secs(2), "ERROR\r\n");
        let milliseconds = |time: Duration| time.as_millis();
        let happened = growth.happened();
        let found: Vec<_> = happened
            .iter()
            .map(|it| (it.cause, it.start.map(|start| milliseconds(start - begin)), milliseconds(it.duration)))
            .collect();
        assert_eq!(found, [("rehash", Some(100), 300), ("rehash", Some(500), 100)]);
        assert!(happened[0].detail.ends_with("2^17 buckets") && happened[1].detail.ends_with("2^18 buckets"));
    }
}
