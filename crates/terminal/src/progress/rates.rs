//! Rates of the phase under way, a bar every half second.

use std::time::Duration;

const STEP: Duration = Duration::from_millis(500);
/// A rate is shown after this much time even if the first step is not over.
const FIRST: Duration = Duration::from_millis(100);
/// More are not shown.
const KEPT: usize = 64;

/// Rates, the last one that of the step under way.
#[derive(Default)]
pub(super) struct Rates {
    rates: Vec<f64>,
    /// Where the step under way began.
    from: (Duration, u64),
}

impl Rates {
    /// Notes the operations done `elapsed` after the start of the phase; a new phase starts from nothing.
    pub(super) fn note(&mut self, elapsed: Duration, operations: u64) {
        if elapsed < self.from.0 || operations < self.from.1 {
            *self = Rates::default();
        }
        let since = elapsed - self.from.0;
        if since >= STEP || (self.rates.is_empty() && since >= FIRST) {
            self.rates.push((operations - self.from.1) as f64 / since.as_secs_f64());
            self.from = (elapsed, operations);
        }
        if self.rates.len() > KEPT {
            self.rates.remove(0);
        }
    }

    pub(super) fn so_far(&self) -> &[f64] {
        &self.rates
    }
}

#[cfg(test)]
mod tests {
    use super::Rates;
    use std::time::Duration;

    #[test]
    fn a_store_that_stops_answering_has_a_rate_of_nought() {
        let mut rates = Rates::default();
        for (ms, operations) in [(100, 100), (200, 200), (600, 600), (1_100, 600), (1_200, 600)] {
            rates.note(Duration::from_millis(ms), operations);
        }
        assert_eq!(rates.so_far(), [1_000.0, 1_000.0, 0.0]);
        rates.note(Duration::from_millis(100), 5);
        assert_eq!(rates.so_far(), [50.0], "a new phase starts from nothing");
    }
}
