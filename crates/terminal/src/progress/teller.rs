//! What is written where there is no live view, when nothing was written for long: what is being done.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use words::units;

/// The longest time without a line.
pub(super) const EVERY: Duration = Duration::from_secs(10);

/// Says what is being done, from a thread of its own: what is waited for may give no sign for long.
pub(super) struct Teller {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    begun: Instant,
    every: Duration,
    now: Mutex<Now>,
    changed: Condvar,
}

/// What is being done now.
struct Now {
    /// `trial 7 of 15`, and what it is at; `None`: nothing that could last.
    doing: Option<(String, String)>,
    /// When the last line was written.
    last: Instant,
    over: bool,
}

impl Shared {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Teller {
    /// Begins, and writes a line each time nothing was written for so long.
    pub(super) fn begin(every: Duration, write: impl Fn(&str) + Send + 'static) -> Teller {
        let begun = Instant::now();
        let now = Mutex::new(Now { doing: None, last: begun, over: false });
        let shared = Arc::new(Shared { begun, every, now, changed: Condvar::new() });
        let known = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("teller".into()).spawn(move || tell(&known, write));
        Teller { shared, thread: thread.ok() } // without a thread nothing is said
    }

    /// This is being done.
    pub(super) fn does(&self, trial: String, what: String) {
        self.shared.now().doing = Some((trial, what));
    }

    /// Notes that a line was written, and that nothing that could last is being done.
    pub(super) fn rests(&self) {
        let mut now = self.shared.now();
        (now.doing, now.last) = (None, Instant::now());
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.shared.now().over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it does not panic
        }
    }
}

/// The thread.
fn tell(shared: &Shared, write: impl Fn(&str)) {
    let mut now = shared.now();
    while !now.over {
        let silent = now.last.elapsed();
        if silent < shared.every {
            let waited = shared.changed.wait_timeout(now, shared.every - silent);
            now = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        now.last = Instant::now();
        if let Some((trial, what)) = &now.doing {
            write(&format!("kvtrial: {trial}, {}: {what}", units::clock(shared.begun.elapsed().as_secs_f64())));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Teller;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn what_lasts_is_said_again_and_again_until_it_is_over() {
        let (sender, lines) = channel();
        let teller = Teller::begin(Duration::from_millis(5), move |line| drop(sender.send(line.to_owned())));
        teller.does("trial 1 of 6".into(), "lmdb: load".into());
        for _ in 0..2 {
            let line = lines.recv().unwrap();
            assert!(line.starts_with("kvtrial: trial 1 of 6, ") && line.ends_with(": lmdb: load"), "{line}");
        }
        teller.does("trial 1 of 6".into(), "lmdb: run".into());
        while !lines.recv().unwrap().ends_with("lmdb: run") {}
        drop(teller);
        while lines.recv().is_ok() {}
    }
}
