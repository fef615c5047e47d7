//! When operations are due under open loop.

use crate::settings::Arrivals;
use measure::{Clock, Ticks};
use std::time::Duration;

/// One thread's share of the arrivals. Due times depend on the start and the seed alone, never on replies.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    arrivals: Gaps,
    origin: Ticks,
    due: Ticks,
    end: Ticks,
    issued: u64,
}

#[derive(Clone, Debug)]
enum Gaps {
    /// Operation `i` of this thread is number `first + i · stride` of `total`, due that many gaps after the start.
    Fixed {
        first: u64,
        stride: u64,
        gap: f64,
        total: u64,
    },
    Poisson {
        mean_ticks: f64,
        state: u64,
        at: f64,
    },
}

impl Schedule {
    /// The schedule of thread `thread` of `threads`, or `None` under closed loop.
    pub(crate) fn new(
        arrivals: Arrivals,
        thread: u32,
        threads: u32,
        duration: Option<Duration>,
        seed: u64,
        clock: &Clock,
    ) -> Option<Schedule> {
        let per_second = clock.ticks(Duration::from_secs(1)) as f64;
        let gaps = match arrivals {
            Arrivals::Closed => return None,
            Arrivals::Fixed { ops_per_s } => {
                let total = duration.map_or(u64::MAX, |time| (time.as_secs_f64() * ops_per_s).round() as u64);
                Gaps::Fixed { first: u64::from(thread), stride: u64::from(threads), gap: per_second / ops_per_s, total }
            }
            Arrivals::Poisson { ops_per_s } => Gaps::Poisson {
                mean_ticks: per_second / ops_per_s * f64::from(threads),
                state: seed ^ (u64::from(thread) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
                at: 0.0,
            },
        };
        let end = duration.map_or(Ticks::MAX, |duration| clock.ticks(duration));
        Some(Schedule { arrivals: gaps, origin: 0, due: 0, end, issued: 0 })
    }

    /// Starts the clock.
    pub(crate) fn start(&mut self, now: Ticks) {
        self.origin = now;
        self.due = 0;
        self.step(0);
    }

    /// When the next operation is due; `None` when all that is due within the time was handed out.
    #[inline]
    pub(crate) fn due(&self) -> Option<Ticks> {
        let more = match self.arrivals {
            Gaps::Fixed { first, stride, total, .. } => first + self.issued * stride < total,
            Gaps::Poisson { .. } => self.due < self.end,
        };
        more.then_some(self.origin + self.due)
    }

    /// The operation that was due has been handed out.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.issued += 1;
        self.step(self.issued);
    }

    fn step(&mut self, index: u64) {
        match &mut self.arrivals {
            Gaps::Fixed { first, stride, gap, .. } => {
                self.due = ((*first + index * *stride) as f64 * *gap) as Ticks;
            }
            Gaps::Poisson { mean_ticks, state, at } => {
                *at += -*mean_ticks * unit(state).ln();
                self.due = *at as Ticks;
            }
        }
    }

    /// The job has no more operations: nothing more is due, however long the time would go on.
    pub(crate) fn close(&mut self) {
        self.end = 0;
        if let Gaps::Fixed { total, .. } = &mut self.arrivals {
            *total = 0;
        }
    }

    /// Operations that were handed out.
    pub(crate) fn issued(&self) -> u64 {
        self.issued
    }

    /// Operations due before `now` that were not handed out.
    pub(crate) fn backlog(&self, now: Ticks) -> u64 {
        let mut rest = self.clone();
        while rest.due().is_some_and(|due| due < now) {
            rest.advance();
        }
        rest.issued - self.issued
    }
}

/// A number in (0, 1], never 0, from splitmix64.
fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    ((z >> 11) + 1) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Schedule;
    use crate::settings::Arrivals;
    use measure::Clock;
    use std::time::Duration;

    fn dues(arrivals: Arrivals, thread: u32, threads: u32) -> Vec<f64> {
        let clock = Clock::get();
        let mut schedule = Schedule::new(arrivals, thread, threads, Some(Duration::from_secs(10)), 7, &clock).unwrap();
        schedule.start(1_000);
        let mut dues = Vec::new();
        while let Some(due) = schedule.due() {
            dues.push(clock.ns(due - 1_000) as f64 / 1e9);
            schedule.advance();
        }
        dues
    }

    #[test]
    fn a_fixed_rate_is_due_evenly_and_exactly_as_often_as_asked_over_all_threads() {
        let rate = Arrivals::Fixed { ops_per_s: 1_000.0 };
        assert_eq!(dues(rate, 0, 1).len(), 10_000);
        let mut both = [dues(rate, 0, 2), dues(rate, 1, 2)].concat();
        both.sort_by(f64::total_cmp);
        assert_eq!(both.len(), 10_000);
        assert!(both.windows(2).all(|pair| (pair[1] - pair[0] - 0.001).abs() < 1e-6));
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let dues = dues(Arrivals::Poisson { ops_per_s: 5_000.0 }, 1, 2);
        let gaps: Vec<f64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 2_500.0 - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{}", variance.sqrt() / mean);
    }
}
