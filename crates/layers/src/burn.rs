//! `burn=500ns`, `burn=5%`: a store made slower by a known amount, to see whether a slowdown that large is found.
//!
//! The processor time is burnt on the client's thread before an operation is handed on. A time is burnt for every operation. A
//! share is burnt of all time that passes between operations, so that a closed loop of one slot takes that much longer, whatever
//! the store; with several operations in flight the store goes on meanwhile and the slowdown is less.

use super::{Layer, Wrap};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::{Duration, Instant};
use store::layered::Layered;
use store::{Operation, OptionInfo, Reply, Session, SessionPlan, Slot, Store, StoreError};

const BURN: OptionInfo = OptionInfo::text("burn", "burns this time per operation, or share of the time (500ns, 5%)");

/// The layer.
pub const LAYER: Layer = Layer {
    options: &[BURN],
    asked_by: &[BURN.name],
    check: |_, _, value| value.parse::<Burn>().map(|_| ()),
    declares: |_, beneath| beneath,
    wrap: Wrap::Around(|spec, store| {
        let value = BURN.read(spec);
        let burn = value.parse().map_err(|problem| StoreError::open(format!("burn={value}"), problem))?;
        Ok(Box::new(Burning { store, burn, text: value.to_owned() }))
    }),
};

/// How much is burnt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Burn {
    /// This long for every operation.
    Time(Duration),
    /// This share of the time that passes.
    Share(f64),
}

impl FromStr for Burn {
    type Err = String;

    fn from_str(text: &str) -> Result<Burn, String> {
        let wrong =
            || format!("burn={text} is not possible; use a time per operation (500ns, 2us, 1ms) or a share (5%)");
        let number_before = |unit: &str| {
            text.strip_suffix(unit)?.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0)
        };
        if let Some(percent) = number_before("%").filter(|percent| *percent <= 1000.0) {
            return Ok(Burn::Share(percent / 100.0));
        }
        let ns = number_before("ns")
            .or_else(|| Some(number_before("us")? * 1e3))
            .or_else(|| Some(number_before("ms")? * 1e6))
            .filter(|ns| *ns <= 1e9);
        ns.map(|ns| Burn::Time(Duration::from_nanos(ns.round() as u64))).ok_or_else(wrong)
    }
}

struct Burning {
    store: Box<dyn Store>,
    burn: Burn,
    text: String,
}

impl Layered for Burning {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    fn around(&self, session: Box<dyn Session>, _: SessionPlan) -> Box<dyn Session> {
        Box::new(BurningSession { session, burn: self.burn, last: Instant::now(), every: 1, left: 1 })
    }

    fn add_facts(&self, config: &mut BTreeMap<String, String>) {
        config.insert("burn".into(), self.text.clone());
    }
}

struct BurningSession {
    session: Box<dyn Session>,
    burn: Burn,
    /// When the last burning ended.
    last: Instant,
    /// A share is burnt once per this many operations: many at once where an operation is cheaper than a look at the clock.
    every: u32,
    left: u32,
}

/// Longest time of which a share is burnt at once: what is longer was a pause, not work.
const LONGEST: Duration = Duration::from_millis(100);
/// Shortest time worth a look at the clock.
const SHORTEST: Duration = Duration::from_micros(5);

impl BurningSession {
    #[inline]
    fn burn(&mut self) {
        match self.burn {
            Burn::Time(time) => {
                spin_until(Instant::now() + time);
            }
            Burn::Share(share) => {
                self.left -= 1;
                if self.left == 0 {
                    self.burn_share(share);
                }
            }
        }
    }

    fn burn_share(&mut self, share: f64) {
        let now = Instant::now();
        let passed = now - self.last;
        self.every = match passed {
            _ if passed < SHORTEST => (self.every * 2).min(256),
            _ if passed > 4 * SHORTEST => (self.every / 2).max(1),
            _ => self.every,
        };
        self.left = self.every;
        self.last = if passed < LONGEST { spin_until(now + passed.mul_f64(share)) } else { now };
    }
}

/// Keeps the processor busy, and says when it stopped.
fn spin_until(end: Instant) -> Instant {
    loop {
        let now = Instant::now();
        if now >= end {
            return now;
        }
        std::hint::spin_loop();
    }
}

#[deny(clippy::missing_trait_methods)]
impl Session for BurningSession {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        self.burn();
        self.session.submit(slot, operation)
    }

    store::pass_on!(session: believe, poll, abandon, expect, rest, parts, part, reconnected, take_head_of_line, descriptor, executor);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Burn;
    use std::time::Duration;

    #[test]
    fn times_and_shares_are_read_or_refused_with_an_example() {
        assert_eq!("500ns".parse(), Ok(Burn::Time(Duration::from_nanos(500))));
        assert_eq!("1.5us".parse(), Ok(Burn::Time(Duration::from_nanos(1500))));
        assert_eq!("2ms".parse(), Ok(Burn::Time(Duration::from_millis(2))));
        assert_eq!("5%".parse(), Ok(Burn::Share(0.05)));
        for wrong in ["", "5", "-1ns", "0%", "%", "inf%", "3s", "2000ms", "2000%"] {
            let problem = wrong.parse::<Burn>().unwrap_err();
            assert!(problem.contains("500ns") && problem.contains("5%"), "{wrong}: {problem}");
        }
    }
}
