//! How far another machine's clock is from this one's: asked many times, and the answer that came back soonest is believed.

use runner::ClockReading;

/// How often a clock is asked before and after each trial.
pub(crate) const ROUND_TRIPS: usize = 20;

/// A question for the time and its answer: when it was asked and answered by our clock, and what the other showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    pub(crate) asked_ns: u64,
    pub(crate) theirs_ns: u64,
    pub(crate) answered_ns: u64,
}

impl RoundTrip {
    /// The answer was given at some moment between: in the middle, wrong by half of the whole at most.
    fn reading(self) -> ClockReading {
        let trip_ns = self.answered_ns.saturating_sub(self.asked_ns);
        let middle_ns = self.asked_ns + trip_ns / 2;
        ClockReading { offset_ns: self.theirs_ns.wrapping_sub(middle_ns) as i64, error_ns: trip_ns.div_ceil(2) }
    }
}

/// Returns what the soonest answer says.
pub(crate) fn reading(trips: &[RoundTrip]) -> Option<ClockReading> {
    trips.iter().map(|trip| trip.reading()).min_by_key(|reading| reading.error_ns)
}

#[cfg(test)]
mod tests {
    use super::{RoundTrip, reading};

    #[test]
    fn the_offset_is_within_its_error_at_any_delay_of_either_way_and_with_either_clock_ahead() {
        for offset_ns in [3_600_000_000_000_i64, -3_600_000_000_000, 0] {
            let trip = |there_ns: u64, back_ns: u64| {
                let asked_ns = 7_200_000_000_000_u64;
                let theirs_ns = (asked_ns + there_ns).saturating_add_signed(offset_ns);
                RoundTrip { asked_ns, theirs_ns, answered_ns: asked_ns + there_ns + back_ns }
            };
            let found = reading(&[trip(900_000, 100_000), trip(40_000, 10_000), trip(10_000, 500_000)]).unwrap();
            assert_eq!(found.error_ns, 25_000);
            assert!(found.offset_ns.abs_diff(offset_ns) <= found.error_ns, "{found:?}");
        }
        assert_eq!(reading(&[]), None);
    }
}
