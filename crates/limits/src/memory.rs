//! How much memory may still be had.

use crate::groups;
use std::fs;
use std::path::Path;

/// Returns the number of bytes that may be had without swapping: what the kernel says of the machine, and not more than a limit of this process
/// (`ulimit -v`) or of its control groups leaves; `None` where nothing is said. As Kubernetes has it, a group does not need the part of
/// its page cache that was not used lately (`inactive_file`).
pub fn free_bytes() -> Option<u64> {
    free_below(Path::new("/"))
}

fn free_below(root: &Path) -> Option<u64> {
    let free = groups::directories(root, "memory").into_iter().filter_map(|group| left(&group));
    free.chain(kib(&root.join("proc/meminfo"), "MemAvailable:")).chain(addresses(&root.join("proc/self"))).min()
}

/// What a limit on the address space of this process leaves; `None` where it has none.
fn addresses(process: &Path) -> Option<u64> {
    let limits = fs::read_to_string(process.join("limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(kib(&process.join("status"), "VmSize:")?))
}

/// The figure of this name, of a file in which figures are in units of 1024 bytes.
fn kib(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// What the limit of a group leaves; `None` where it has none (`max` in version 2, a number larger than any machine in version 1).
fn left(group: &Path) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let counted = |name: &str| {
        let line = statistics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.parse::<u64>().ok())
    };
    let unused = counted("total_inactive_file").or_else(|| counted("inactive_file")).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(unused)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{free_below, free_bytes};
    use std::path::Path;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A machine with 8 GiB free, on which this process is in these groups.
    fn machine(groups: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n");
        write(root.path(), "proc/self/cgroup", groups);
        root
    }

    #[test]
    fn without_a_limit_it_is_what_the_machine_has() {
        assert!(free_bytes() > Some(1 << 20));
        let root = machine("0::/\n");
        assert_eq!(free_below(root.path()), Some(8 << 30));
        write(root.path(), "sys/fs/cgroup/memory.max", "max\n");
        write(root.path(), "sys/fs/cgroup/memory.current", "1\n");
        assert_eq!(free_below(root.path()), Some(8 << 30));
        assert_eq!(free_below(Path::new("/nowhere")), None);
    }

    #[test]
    fn a_limit_on_the_address_space_of_the_process_counts() {
        let root = machine("0::/\n");
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max address space         2147483648           unlimited            bytes\n";
        write(root.path(), "proc/self/limits", limits);
        write(root.path(), "proc/self/status", "Name:\tkvtrial\nVmSize:\t 1048576 kB\n");
        assert_eq!(free_below(root.path()), Some(1 << 30));
        write(root.path(), "proc/self/limits", &limits.replace("2147483648", "unlimited "));
        assert_eq!(free_below(root.path()), Some(8 << 30));
    }

    #[test]
    fn the_narrowest_limit_counts_whichever_group_above_has_it() {
        let root = machine("0::/service/container\n");
        write(root.path(), "sys/fs/cgroup/service/container/memory.max", "max\n");
        write(root.path(), "sys/fs/cgroup/service/memory.max", "1000000\n");
        write(root.path(), "sys/fs/cgroup/service/memory.current", "700000\n");
        write(root.path(), "sys/fs/cgroup/service/memory.stat", "anon 400000\ninactive_file 200000\nactive_file 1\n");
        assert_eq!(free_below(root.path()), Some(500_000));
        write(root.path(), "sys/fs/cgroup/service/memory.current", "5000000\n");
        assert_eq!(free_below(root.path()), Some(0), "it may be over its limit for a moment");
    }

    #[test]
    fn a_limit_of_version_1_counts_and_its_largest_number_is_none() {
        let root = machine("4:memory:/docker/x\n1:cpu:/\n");
        write(root.path(), "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        write(root.path(), "sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
        assert_eq!(free_below(root.path()), Some(8 << 30));
        // In a container the mount is the group.
        write(root.path(), "sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
        write(root.path(), "sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 1024\n");
        assert_eq!(free_below(root.path()), Some(536_870_912 - 3072));
    }
}
