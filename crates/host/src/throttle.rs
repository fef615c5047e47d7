//! The processor time withheld from this process: by the quota of its control group, and by a processor that is too hot.

use std::fs;
use std::path::Path;
use std::time::Duration;
use store::groups;

/// The counters since the machine, or the control group, was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Throttle {
    /// The time for which the control group's quota was used up, all processors together.
    pub(crate) quota: Duration,
    /// The number of times a processor lowered its clock because of heat; 0 where the kernel does not count them.
    pub(crate) heat_events: u64,
}

impl Throttle {
    pub(crate) fn now() -> Throttle {
        Throttle::read(Path::new("/"))
    }

    /// Reads the counters below `root`, the root of the file system.
    fn read(root: &Path) -> Throttle {
        let quota = groups::directories(root, "cpu")
            .into_iter()
            .find_map(|group| throttled(&fs::read_to_string(group.join("cpu.stat")).ok()?));
        Throttle { quota: quota.unwrap_or_default(), heat_events: heat_events(&root.join("sys/devices/system/cpu")) }
    }
}

/// Reads `throttled_usec` of version 2, or `throttled_time` (nanoseconds) of version 1.
fn throttled(statistics: &str) -> Option<Duration> {
    statistics.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", number) => number.trim().parse().ok().map(Duration::from_micros),
        ("throttled_time", number) => number.trim().parse().ok().map(Duration::from_nanos),
        _ => None,
    })
}

fn heat_events(cpus: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(cpus) else { return 0 };
    let counts = entries.flatten().filter_map(|entry| {
        fs::read_to_string(entry.path().join("thermal_throttle/core_throttle_count")).ok()?.trim().parse::<u64>().ok()
    });
    counts.sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Throttle;
    use std::path::Path;
    use std::time::Duration;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn the_quota_of_both_versions_of_control_groups_and_the_heat_of_every_processor_are_read() {
        let two = tempfile::tempdir().unwrap();
        write(two.path(), "proc/self/cgroup", "0::/user/app\n");
        write(two.path(), "sys/fs/cgroup/user/app/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 2500\n");
        write(two.path(), "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "4\n");
        write(two.path(), "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "1\n");
        let throttle = Throttle::read(two.path());
        assert_eq!(throttle, Throttle { quota: Duration::from_micros(2500), heat_events: 5 });

        let one = tempfile::tempdir().unwrap();
        write(one.path(), "proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/outside\n0::/\n");
        write(one.path(), "sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 1\nthrottled_time 7000\n");
        assert_eq!(Throttle::read(one.path()).quota, Duration::from_micros(7));
    }

    #[test]
    fn a_machine_that_counts_nothing_throttles_nothing() {
        assert_eq!(Throttle::read(tempfile::tempdir().unwrap().path()), Throttle::default());
    }
}
