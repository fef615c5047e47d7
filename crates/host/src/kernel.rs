//! The CPU time of the kernel's own threads. They write to disk what processes have written and free memory for them, so they belong to nobody: a
//! store that writes much causes much work for them. A container does not show them.

use crate::process::Pid;
use crate::tree::processes;
use std::collections::HashMap;

/// The seconds that each of the threads had used at a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelThreads(HashMap<Pid, f64>);

impl KernelThreads {
    /// Returns the seconds that the kernel's threads have used until now.
    pub fn now() -> KernelThreads {
        let own = processes().into_iter().filter(|process| process.is_kernels);
        KernelThreads(own.map(|process| (process.pid, process.own_s())).collect())
    }

    /// Returns the CPU seconds these threads have used since then; threads that have ended meanwhile are left out.
    pub fn used_since(&self, before: &KernelThreads) -> f64 {
        self.0.iter().map(|(pid, now_s)| (now_s - before.0.get(pid).copied().unwrap_or_default()).max(0.0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::KernelThreads;
    use std::collections::HashMap;

    #[test]
    fn threads_that_are_new_count_and_those_that_have_ended_do_not() {
        let before = KernelThreads(HashMap::from([(10, 1.0), (11, 5.0)]));
        let now = KernelThreads(HashMap::from([(10, 1.5), (12, 0.25)]));
        assert_eq!(now.used_since(&before), 0.75);
    }

    #[test]
    fn no_process_of_ours_is_one_of_the_kernels() {
        let own = std::process::id().cast_signed();
        assert!(!KernelThreads::now().0.contains_key(&own));
    }
}
