//! What a client thread asks of the kernel about itself.

use std::time::Duration;

/// Lets this thread's sleeps end when they should: the kernel's default slack is 50 µs.
pub(crate) fn precise_sleeps() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Time this thread was ready to run but waited for a processor; zero where the kernel does not say.
pub(crate) fn run_delay() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    Duration::from_nanos(ns)
}
