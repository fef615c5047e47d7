//! Waiting for what is to happen, and for nothing else.

use std::time::{Duration, Instant};

/// Longer than anything a test waits for takes on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks: short beside what is waited for, and leaves the processor to it.
const LOOK: Duration = Duration::from_millis(2);

/// Looks until there is something.
///
/// # Panics
/// When there is nothing after [`PATIENCE`]; with these words.
pub fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < limit, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(LOOK);
    }
}

/// Looks until it is so.
///
/// # Panics
/// As [`soon`].
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    soon(what, || is_so().then_some(()));
}

/// Returns how often this thread has waited for anything: a sleep, a lock, a reply. Counts what a time would only show on an idle machine.
pub fn waits_of_this_thread() -> i64 {
    // SAFETY: all zeros is valid for this plain data, which the call fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_nvcsw
    }
}
