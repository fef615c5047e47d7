//! The processors a thread may run on.

use std::io;

/// Returns the processors this thread may use, in ascending order.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: cpu_set_t is plain data for which all zeros is valid; the call writes at most its size.
    let (result, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set), set)
    };
    if result != 0 {
        return (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
    }
    // SAFETY: every index is below the set's size.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Ties the calling thread, and the threads it starts from now on, to these processors.
///
/// # Errors
/// The system's error: none of the processors exists or is allowed.
pub fn pin_thread(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: cpu_set_t is plain data for which all zeros is valid; CPU_SET is called with indices below its size only.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(*cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::{allowed_cpus, pin_thread};

    #[test]
    fn a_pinned_thread_may_use_that_processor_only() {
        std::thread::spawn(|| {
            let last = *allowed_cpus().last().unwrap();
            pin_thread(&[last]).unwrap();
            assert_eq!(allowed_cpus(), [last]);
            assert!(pin_thread(&[1000]).is_err());
        })
        .join()
        .unwrap();
    }
}
