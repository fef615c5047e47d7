//! The behaviour of a process as seen from outside, moment by moment: memory, page faults, bytes written, time without a processor.

use crate::listener::{listener_in_other_namespace, listeners};
use crate::process::Pid;
use serde::{Deserialize, Serialize};
use std::fs;
use study::Address;

/// The program of a private server, as watched by a process other than its parent. A server that is started again has another process: it is found by
/// where it listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    pid: Pid,
    address: Address,
}

impl Watched {
    /// Makes the program that runs as this process and listens at this address.
    pub(crate) fn new(pid: Pid, address: Address) -> Watched {
        Watched { pid, address }
    }

    /// Returns the latest known process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Looks for the server's present process, if the latest known one is gone. While no process listens that takes milliseconds.
    fn follow(&mut self) {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = stat.rfind(')').and_then(|end| stat[end + 1..].split_ascii_whitespace().next());
        if matches!(state, None | Some("Z"))
            && let Some(pid) =
                listeners(&self.address).first().copied().or_else(|| listener_in_other_namespace(&self.address))
        {
            self.pid = pid;
        }
    }
}

/// A look at a process. Counters only grow; figures that the kernel does not show are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sighting {
    /// The resident memory, in bytes.
    pub rss_bytes: u64,
    /// The number of page faults that had to wait for a disk: swapped out or not yet read.
    pub major_faults: u64,
    /// The number of bytes sent to disks.
    pub written_bytes: u64,
    /// The number of bytes read from disks, without bytes that were in memory.
    pub read_bytes: u64,
    /// The time that the threads were ready to run but had no processor, in seconds.
    pub waited_s: f64,
}

impl Sighting {
    /// Looks at processes now: at the servers, all together, or at kvtrial itself when there are none. Takes some tens of microseconds per process.
    pub fn of(servers: &mut [Watched]) -> Sighting {
        let seen = servers.iter_mut().map(|server| {
            server.follow();
            Sighting::at(&format!("/proc/{}", server.pid))
        });
        let sum = |a: Sighting, b: Sighting| Sighting {
            rss_bytes: a.rss_bytes + b.rss_bytes,
            major_faults: a.major_faults + b.major_faults,
            written_bytes: a.written_bytes + b.written_bytes,
            read_bytes: a.read_bytes + b.read_bytes,
            waited_s: a.waited_s + b.waited_s,
        };
        seen.reduce(sum).unwrap_or_else(|| Sighting::at("/proc/self"))
    }

    fn at(place: &str) -> Sighting {
        let read = |name: &str| fs::read_to_string(format!("{place}/{name}")).unwrap_or_default();
        let stat = read("stat");
        let after_name = stat.rfind(')').map_or("", |end| &stat[end + 1..]);
        let number = |text: Option<&str>| text.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        let line =
            |text: &str, name: &str| number(text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim));
        // SAFETY: sysconf touches no memory.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(0).cast_unsigned();
        let threads = fs::read_dir(format!("{place}/task")).into_iter().flatten().flatten();
        let waited_ns: u64 = threads
            .map(|thread| fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default())
            .map(|text| number(text.split_ascii_whitespace().nth(1)))
            .sum();
        let io = read("io");
        Sighting {
            rss_bytes: number(read("statm").split_ascii_whitespace().nth(1)) * page_bytes,
            major_faults: number(after_name.split_ascii_whitespace().nth(9)),
            written_bytes: line(&io, "write_bytes:"),
            read_bytes: line(&io, "read_bytes:"),
            waited_s: waited_ns as f64 / 1e9,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Sighting, Watched};
    use std::io::Write;
    use study::Address;

    #[test]
    fn memory_and_bytes_written_are_seen_to_grow() {
        let before = Sighting::of(&mut []);
        let large = vec![1_u8; 32 << 20];
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&large).unwrap();
        file.sync_all().unwrap();
        let nowhere = Address::Unix("nowhere".into());
        let after = Sighting::of(&mut [Watched::new(std::process::id().cast_signed(), nowhere.clone())]);
        assert!(after.rss_bytes >= before.rss_bytes + (30 << 20), "{before:?} {after:?}");
        // Some file systems (in memory) count no bytes to disks.
        assert!(
            after.written_bytes == before.written_bytes || after.written_bytes >= before.written_bytes + (30 << 20)
        );
        // Of the time waited nothing is known: threads of other tests end, and take theirs with them.
        assert!(after.major_faults >= before.major_faults);
        assert_eq!(Sighting::of(&mut [Watched::new(i32::MAX, nowhere)]), Sighting::default());
        drop(std::hint::black_box(large));
    }
}
