//! System V shared memory, which outlives the processes that made it: PostgreSQL makes a small segment to keep a second server from
//! its data, and one that is killed leaves it behind.

use crate::process::Pid;
use std::fs;

/// The file with every segment of this machine, a line for each behind a line of titles.
const SEGMENTS: &str = "/proc/sysvipc/shm";

/// Removes the segments that these processes have made and to which nobody is attached.
pub fn remove_made_by(pids: &[Pid]) {
    for id in orphans(&fs::read_to_string(SEGMENTS).unwrap_or_default(), pids) {
        // SAFETY: the call touches no memory of ours. What others have removed meanwhile is an error that does not matter.
        unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// Returns the numbers of such segments. The fields are: key, number, rights, bytes, maker, last user, attached.
fn orphans(segments: &str, pids: &[Pid]) -> Vec<i32> {
    let orphan = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let made_by: Pid = fields.get(4)?.parse().ok()?;
        (pids.contains(&made_by) && *fields.get(6)? == "0").then(|| fields.get(1)?.parse().ok()).flatten()
    };
    segments.lines().skip(1).filter_map(orphan).collect()
}

#[cfg(test)]
mod tests {
    use super::orphans;

    #[test]
    fn only_segments_of_these_processes_that_nobody_uses_are_orphans() {
        let table = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n\
                     1234567          3  1600                    56   700   701      0   101   104   101   104 1 2 3 4096 0\n\
                     1234568          4  1600                    56   700   701      2   101   104   101   104 1 2 3 4096 0\n\
                     1234569          5  1600                    56   900   901      0   101   104   101   104 1 2 3 4096 0\n";
        assert_eq!(orphans(table, &[700, 800]), [3]);
        assert_eq!(orphans("", &[700]), [0; 0]);
    }
}
