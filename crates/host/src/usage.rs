//! The resources that kvtrial itself has used.

use crate::tree;
use std::fs;

/// The CPU time and memory of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUse {
    /// The user and system CPU seconds of all threads since the process began.
    pub cpu_s: f64,
    /// The resident set now.
    pub rss_bytes: u64,
    /// The largest resident set since the process began, or since [`ProcessUse::reset_peak`].
    pub peak_rss_bytes: u64,
}

impl ProcessUse {
    /// Reads the present CPU time and memory.
    pub fn now() -> ProcessUse {
        // SAFETY: rusage is plain data for which all zeros is valid; the call only writes into it.
        let used = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut used);
            used
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let memory = tree::memory(std::process::id().cast_signed());
        ProcessUse {
            cpu_s: seconds(used.ru_utime) + seconds(used.ru_stime),
            rss_bytes: memory.as_ref().map_or(0, |memory| memory.now_bytes),
            peak_rss_bytes: memory.map_or(0, |memory| memory.peak_bytes),
        }
    }

    /// Resets the peak to the present resident set, so that the peak of one trial does not count for the next. Where the kernel does not offer that,
    /// the peak stays the peak of the whole process.
    pub fn reset_peak() {
        let _ = fs::write("/proc/self/clear_refs", "5");
    }
}

#[cfg(test)]
mod tests {
    use super::ProcessUse;
    use std::hint::black_box;

    #[test]
    fn cpu_time_and_peak_memory_grow_with_use_and_the_peak_can_begin_again() {
        let before = ProcessUse::now();
        let mut large = vec![0_u8; 64 << 20];
        let mut sum = 0_u64;
        for round in 0..20_u64 {
            for (at, byte) in large.iter_mut().enumerate() {
                *byte = (at as u64 ^ round) as u8;
                sum += u64::from(*byte);
            }
        }
        black_box(sum);
        let after = ProcessUse::now();
        assert!(after.cpu_s > before.cpu_s + 0.02, "{before:?} {after:?}");
        assert!(after.peak_rss_bytes >= 64 << 20);
        drop(black_box(large));
        ProcessUse::reset_peak();
        assert!(ProcessUse::now().peak_rss_bytes < after.peak_rss_bytes - (32 << 20));
    }
}
