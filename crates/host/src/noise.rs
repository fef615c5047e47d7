//! The other load on the processors during a trial.

use crate::kernel::KernelThreads;
use crate::throttle::Throttle;
use crate::tree::ticks_s;
use std::fs;
use std::time::Instant;
use study::Noise;

/// A meter that reads `/proc/stat`, and the time that was withheld, before and after.
#[derive(Clone, Debug)]
pub struct NoiseMeter {
    before: Option<Times>,
    kernel: KernelThreads,
    throttle: Throttle,
    start: Instant,
}

/// The seconds of all processors together since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    /// The time used by processes of this machine. Interrupts belong to nobody: on the loopback interface they are client's and server's.
    busy_s: f64,
    /// The time taken by the hypervisor.
    steal_s: f64,
    /// The whole time, idle included.
    total_s: f64,
}

impl NoiseMeter {
    /// Begins to measure.
    pub fn start() -> NoiseMeter {
        NoiseMeter {
            kernel: KernelThreads::now(),
            before: Times::now(),
            throttle: Throttle::now(),
            start: Instant::now(),
        }
    }

    /// Returns the shares of other load since the start, of all processors of the machine, given the CPU seconds client and server used meanwhile. A
    /// server that was not found counts as other load; what the kernel's own threads use, which write to disk what client and server have written,
    /// does not. The resolution is a clock tick (10 ms): over less than about a second the shares say little. They are zero when the kernel does not
    /// report them.
    pub fn finish(self, client_cpu_s: f64, server_cpu_s: f64) -> Noise {
        let elapsed_s = self.start.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        let shares = match (self.before, Times::now()) {
            (Some(before), Some(after)) => {
                let kernel_s = KernelThreads::now().used_since(&self.kernel);
                after.noise_since(before, client_cpu_s + server_cpu_s + kernel_s)
            }
            _ => Noise::default(),
        };
        let now = Throttle::now();
        let withheld_s = now.quota.saturating_sub(self.throttle.quota).as_secs_f64();
        Noise {
            throttled: (withheld_s / elapsed_s).clamp(0.0, 1.0),
            heat_events: now.heat_events.saturating_sub(self.throttle.heat_events),
            ..shares
        }
    }
}

impl Times {
    fn now() -> Option<Times> {
        Times::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(stat: &str) -> Option<Times> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; what follows (guest time) is contained in user and nice.
        let [user, nice, system, idle, iowait, irq, softirq, steal] = *ticks.first_chunk()?;
        let busy = user + nice + system;
        let total = busy + irq + softirq + idle + iowait + steal;
        Some(Times { busy_s: ticks_s(busy), steal_s: ticks_s(steal), total_s: ticks_s(total) })
    }

    fn noise_since(self, before: Times, own_cpu_s: f64) -> Noise {
        let total_s = self.total_s - before.total_s;
        if total_s <= 0.0 {
            return Noise::default();
        }
        let share = |seconds: f64| (seconds / total_s).clamp(0.0, 1.0);
        Noise {
            steal: share(self.steal_s - before.steal_s),
            other_load: share(self.busy_s - before.busy_s - own_cpu_s),
            ..Noise::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NoiseMeter, Times};
    use crate::ProcessUse;
    use std::process::Command;
    use std::time::{Duration, Instant};

    fn times(busy_s: f64, steal_s: f64, total_s: f64) -> Times {
        Times { busy_s, steal_s, total_s }
    }

    #[test]
    fn guest_time_is_not_counted_twice_and_interrupts_are_nobodys() {
        let stat = "cpu  100 200 300 4000 50 6 7 8 99 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(Times::parse(stat), Some(times(6.0, 0.08, 46.71)));
        assert_eq!(Times::parse("cpu  1 2 3\n"), None);
    }

    #[test]
    fn what_client_and_server_used_is_no_noise_and_shares_stay_between_0_and_1() {
        let noise = times(16.0, 1.0, 40.0).noise_since(times(10.0, 0.0, 20.0), 4.0);
        assert_eq!((noise.steal, noise.other_load), (0.05, 0.1));
        let clipped = times(16.0, 0.0, 40.0).noise_since(times(10.0, 0.0, 20.0), 7.0);
        assert_eq!(clipped.other_load, 0.0);
        let none = times(10.0, 0.0, 20.0).noise_since(times(10.0, 0.0, 20.0), 0.0);
        assert_eq!((none.steal, none.other_load), (0.0, 0.0));
    }

    #[test]
    fn a_busy_stranger_is_seen() {
        let meter = NoiseMeter::start();
        let (before, start) = (ProcessUse::now(), Instant::now());
        let mut stranger = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        let cpus = std::fs::read_to_string("/proc/stat").unwrap().matches("\ncpu").count() as f64;
        let noise = meter.finish(ProcessUse::now().cpu_s - before.cpu_s, 0.0);
        let elapsed_s = start.elapsed().as_secs_f64();
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        // On a crowded machine the stranger gets less than a whole processor, but others are then strangers too.
        assert!(noise.other_load > 0.3 * elapsed_s / cpus, "{noise:?} on {cpus} processors");
    }
}
