//! The processes that belong to a private server: found from `/proc`, so that forked and detached ones count too.

use crate::process::{Pid, SIGN_US, signal};
use std::fs;
use std::path::Path;
use study::ServerUse;

/// The environment variable that marks every process of a private place with that place's directory.
pub const MARK: &str = "KVTRIAL_PLACE";

/// The flag of the kernel's own threads in `/proc/PID/stat` (`include/linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;

/// A process as `/proc` shows it.
#[derive(Clone, Debug)]
pub struct Process {
    /// The id of the process.
    pub pid: Pid,
    /// The parent of the process.
    pub parent: Pid,
    /// The session of the process; a server leads its own.
    pub session: Pid,
    /// The state of the process: `Z` when the process has ended, with all its threads, and waits to be reaped.
    pub state: u8,
    /// Whether the process is a thread of the kernel.
    pub is_kernels: bool,
    group: Pid,
    /// The CPU time of the process alone, in clock ticks.
    own_ticks: u64,
    /// The CPU time of the process's ended and reaped children, in clock ticks.
    reaped_ticks: u64,
}

impl Process {
    /// Kills the process at once.
    pub fn kill(&self) {
        signal(self.pid, libc::SIGKILL);
    }

    /// Returns the CPU seconds, user and system, of all threads of the process, ended ones too, and of the children it has waited for.
    fn cpu_s(&self) -> f64 {
        let own_s = clock_s(self.pid).unwrap_or_else(|| ticks_s(self.own_ticks));
        own_s + ticks_s(self.reaped_ticks)
    }

    /// Returns the CPU seconds, user and system, of the process alone.
    pub fn own_s(&self) -> f64 {
        ticks_s(self.own_ticks)
    }

    /// Returns whether the process carries a place's mark in its environment. Some servers overwrite the environment with a title: for orphans the
    /// working directory is as good a sign (a user's shell in the directory is no orphan).
    fn is_marked(&self, place: &Path) -> bool {
        let mark = format!("{MARK}={}", place.display());
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
            || (self.parent == 1 || self.is_ours())
                && fs::read_link(format!("/proc/{}/cwd", self.pid)).is_ok_and(|directory| directory.starts_with(place))
    }

    /// Returns whether the process was started by a private server of some place, even if nothing else says so any more.
    pub fn is_signed(&self) -> bool {
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.pid)).unwrap_or_default();
        let sign = SIGN_US.to_string();
        limits
            .lines()
            .any(|line| line.starts_with("Max realtime timeout") && line.split_whitespace().nth(3) == Some(&sign))
    }

    /// Returns whether the process still does something: it has neither ended nor been stopped.
    pub fn goes_on(&self) -> bool {
        !matches!(self.state, b'T' | b't' | b'Z')
    }

    /// Returns whether the process is a child of kvtrial, its own or adopted.
    pub fn is_ours(&self) -> bool {
        self.parent == own_pid()
    }
}

fn own_pid() -> Pid {
    std::process::id().cast_signed()
}

/// Returns all processes of this machine (or container).
pub fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(read).collect()
}

fn read(pid: Pid) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `/proc/PID/stat`; the name, in parentheses, may itself hold spaces and parentheses.
fn parse(pid: Pid, stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let id = |at: usize| fields.get(at)?.parse::<Pid>().ok();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let state = *fields.first()?.as_bytes().first()?;
    // Its first thread looks ended as soon as it has left; while others are leaving, its files and ports are still open.
    let is_leaving = state == b'Z' && ticks(17).is_some_and(|threads| threads > 1);
    Some(Process {
        pid,
        parent: id(1)?,
        session: id(3)?,
        state: if is_leaving { b'D' } else { state },
        is_kernels: ticks(6)? & PF_KTHREAD != 0,
        group: id(2)?,
        own_ticks: ticks(11)? + ticks(12)?,
        reaped_ticks: ticks(13)? + ticks(14)?,
    })
}

/// Returns, of `all`, the processes of a private place that runs: the ids in `roots`, orphans adopted from there, and all that share their session or
/// group or descend from them. kvtrial itself is never among them.
pub fn members(all: &[Process], roots: &[Pid], place: &Path) -> Vec<Process> {
    let mut known: Vec<Pid> = roots.to_vec();
    known.extend(all.iter().filter(|process| process.is_ours() && process.is_marked(place)).map(|process| process.pid));
    related(all, known)
}

/// Returns, of `all`, the processes of servers that kvtrial has started: the ids in `roots`, and all that share their sessions or groups
/// or descend from them.
pub fn descent(all: &[Process], roots: &[Pid]) -> Vec<Process> {
    related(all, roots.to_vec())
}

/// Returns these processes, and all processes that share their session or group or descend from them.
fn related(all: &[Process], mut known: Vec<Pid>) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut rest: Vec<&Process> = all.iter().filter(|process| process.pid != own_pid()).collect();
    loop {
        let (new, others): (Vec<&Process>, Vec<&Process>) = rest.into_iter().partition(|process| {
            [process.pid, process.parent, process.session, process.group].iter().any(|id| known.contains(id))
        });
        if new.is_empty() {
            return found;
        }
        known.extend(new.iter().map(|process| process.pid));
        found.extend(new.into_iter().cloned());
        rest = others;
    }
}

/// Returns, of `all`, the ids in `roots` and their descendants: a server of the user's. Its session and group may be those of the user's
/// shell, so they say nothing.
pub fn family(all: &[Process], roots: &[Pid]) -> Vec<Process> {
    let mut known: Vec<Pid> = roots.to_vec();
    loop {
        let before = known.len();
        for process in all.iter().filter(|process| process.pid != own_pid()) {
            if known.contains(&process.parent) && !known.contains(&process.pid) {
                known.push(process.pid);
            }
        }
        if known.len() == before {
            return all.iter().filter(|process| known.contains(&process.pid)).cloned().collect();
        }
    }
}

/// Returns the living processes that carry the mark of a place whose kvtrial is gone, whatever their parents are now.
pub fn marked(all: &[Process], place: &Path) -> Vec<Pid> {
    let living = all.iter().filter(|process| process.state != b'Z' && process.pid != own_pid());
    living.filter(|process| process.is_marked(place)).map(|process| process.pid).collect()
}

/// Returns the resources that these processes have used so far. The CPU time is their own and their ended children's. The peak resident set of a
/// single process is the kernel's high-water mark; for several processes it is the sum of their proportional sets now (shared pages count once) and
/// of the difference of each to its peak.
pub fn usage(members: &[Process]) -> ServerUse {
    let peak_rss_bytes = match members {
        [one] => memory(one.pid).map_or(0, |memory| memory.peak_bytes),
        several => several
            .iter()
            .filter_map(|process| memory(process.pid).map(|memory| memory.share_of_peak(process.pid)))
            .sum(),
    };
    ServerUse { cpu_s: cpu_s(members), peak_rss_bytes }
}

/// Returns the CPU seconds of these processes and their ended children.
pub fn cpu_s(members: &[Process]) -> f64 {
    members.iter().map(Process::cpu_s).sum()
}

/// The resident set of one process, in bytes.
pub struct ResidentMemory {
    /// The largest resident set so far (`VmHWM`).
    pub peak_bytes: u64,
    /// The resident set now (`VmRSS`).
    pub now_bytes: u64,
}

impl ResidentMemory {
    fn share_of_peak(&self, pid: Pid) -> u64 {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let now_bytes = field_bytes(&rollup, "Pss:").unwrap_or(self.now_bytes);
        now_bytes + self.peak_bytes.saturating_sub(self.now_bytes)
    }
}

/// Returns the resident set of a process; `None` when it has ended.
pub fn memory(pid: Pid) -> Option<ResidentMemory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(ResidentMemory { peak_bytes: field_bytes(&status, "VmHWM:")?, now_bytes: field_bytes(&status, "VmRSS:")? })
}

/// Returns a `Name:  123 kB` line of a `/proc` file, in bytes.
pub fn field_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Returns the CPU seconds of a process from its CPU clock (nanoseconds, where `/proc/PID/stat` has hundredths of a second).
fn clock_s(pid: Pid) -> Option<f64> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls only write into the variables they are given.
    let result = unsafe {
        match libc::clock_getcpuclockid(pid, &mut clock) {
            0 => libc::clock_gettime(clock, &mut time),
            error => error,
        }
    };
    (result == 0).then_some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

/// Converts clock ticks of `/proc` to seconds.
pub fn ticks_s(ticks: u64) -> f64 {
    // SAFETY: sysconf touches no memory.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
    ticks as f64 / ticks_per_s as f64
}

#[cfg(test)]
mod tests {
    use super::{field_bytes, members, parse, processes};
    use std::path::Path;

    #[test]
    fn a_process_name_with_spaces_and_parentheses_is_skipped() {
        let stat = "77 (a (b) c) S 1 70 60 0 -1 4194560 1 0 0 0 5 6 7 8 20 0 1 0 99 1 1";
        let process = parse(77, stat).unwrap();
        assert_eq!((process.parent, process.group, process.session, process.state), (1, 70, 60, b'S'));
        assert_eq!((process.own_ticks, process.reaped_ticks), (11, 15));
        assert!(parse(77, "77 (cut").is_none());
    }

    #[test]
    fn a_thread_of_the_kernels_is_known_by_its_flag() {
        let is_kernels = |flags: u32| {
            let stat = format!("9 (kworker/0:1) I 2 0 0 0 -1 {flags} 0 0 0 0 0 3 0 0 20 0 1 0 9 0 0");
            parse(9, &stat).unwrap().is_kernels
        };
        assert_eq!((is_kernels(69_238_880), is_kernels(4_194_560)), (true, false));
    }

    #[test]
    fn a_process_has_ended_when_its_last_thread_has() {
        let state = |threads: u32| {
            let stat = format!("77 (java) Z 1 70 60 0 -1 4194560 1 0 0 0 5 6 7 8 20 0 {threads} 0 99 1 1");
            parse(77, &stat).unwrap().state
        };
        assert_eq!((state(1), state(2), state(40)), (b'Z', b'D', b'D'));
    }

    #[test]
    fn descendants_sessions_and_groups_belong_and_strangers_do_not() {
        let line = |parent: i32, group: i32, session: i32| {
            format!("0 (x) S {parent} {group} {session} 0 -1 0 0 0 0 0 1 1 0 0")
        };
        let all: Vec<_> =
            [(1001, 1, 1001, 1001), (1002, 1001, 1002, 1002), (1003, 1002, 9, 9), (1004, 1, 7, 1001), (1005, 1, 5, 5)]
                .iter()
                .map(|(pid, parent, group, session)| parse(*pid, &line(*parent, *group, *session)).unwrap())
                .collect();
        let mut found: Vec<_> = members(&all, &[1001], Path::new("/no/such/place")).iter().map(|p| p.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [1001, 1002, 1003, 1004]);
    }

    #[test]
    fn kvtrial_is_never_a_member_of_its_own_servers() {
        let own = std::process::id().cast_signed();
        let parent = processes().iter().find(|process| process.pid == own).unwrap().parent;
        assert!(members(&processes(), &[own], Path::new("/no/such/place")).iter().all(|process| process.pid != own));
        assert!(parent > 0);
    }

    #[test]
    fn kilobytes_of_proc_are_bytes() {
        assert_eq!(field_bytes("Name:\tx\nVmHWM:\t    12 kB\n", "VmHWM:"), Some(12_288));
        assert_eq!(field_bytes("VmHWM: many", "VmHWM:"), None);
    }
}
