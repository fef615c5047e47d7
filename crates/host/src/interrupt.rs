//! Signals that ask kvtrial to end: first a flag, then a guarantee.
//!
//! The first SIGINT, SIGTERM or SIGHUP sets a flag that the engine polls: it stops, the stores are dropped, the study stays
//! resumable. A second signal, or 3 s in which nobody reports [`progress`] with stopping, ends every private server and removes
//! every private directory at once, whatever the other threads do, and calls the exit function.

use crate::registry;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The time that stopping may take between two reports of progress.
const PATIENCE: Duration = Duration::from_secs(3);

/// The time between two looks of the signal thread for a second signal.
const LOOK: Duration = Duration::from_millis(20);

static REQUESTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: AtomicBool = AtomicBool::new(false);
static PROGRESS: AtomicU64 = AtomicU64::new(0);

/// Starts the signal thread. `exit` is called once when kvtrial has to end at once, after everything private is gone; `exit` is expected to exit the
/// process with status 130. Returns the flag, for loops that poll it.
///
/// # Errors
/// The signal thread is installed already, or the system refuses.
pub fn install(exit: impl FnOnce() + Send + 'static) -> io::Result<&'static AtomicBool> {
    if INSTALLED.swap(true, Ordering::SeqCst) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "signals are handled already"));
    }
    // A file that may not grow is a refused write, not an end. What is started from here inherits that, as from a full disk.
    // SAFETY: ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut signals =
        Signals::new(if hangups_are_ignored() { &[SIGINT, SIGTERM][..] } else { &[SIGINT, SIGTERM, SIGHUP] })?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            REQUESTED.store(true, Ordering::SeqCst);
            wait_for_the_end(&mut signals);
            registry::end_all();
            exit();
        }
    })?;
    Ok(&REQUESTED)
}

/// Returns whether kvtrial has been asked to end.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Returns the flag behind [`requested`], for loops that poll it.
pub fn flag() -> &'static AtomicBool {
    &REQUESTED
}

/// Reports that stopping makes progress: the 3 s begin again.
pub fn progress() {
    PROGRESS.fetch_add(1, Ordering::Relaxed);
}

/// Returns at a second signal, or when stopping makes no progress.
fn wait_for_the_end(signals: &mut Signals) {
    let mut seen = PROGRESS.load(Ordering::Relaxed);
    let mut last = Instant::now();
    while last.elapsed() < PATIENCE {
        thread::sleep(LOOK);
        if signals.pending().next().is_some() {
            return;
        }
        let now = PROGRESS.load(Ordering::Relaxed);
        if now != seen {
            seen = now;
            last = Instant::now();
        }
    }
}

/// Returns whether kvtrial was started by `nohup`.
fn hangups_are_ignored() -> bool {
    // SAFETY: sigaction is plain data for which all zeros is valid; with a null new action the call only writes the old one.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut old) == 0 && old.sa_sigaction == libc::SIG_IGN
    }
}
