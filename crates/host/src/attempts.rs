//! Attempts repeated on a thread of their own: one that hangs is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;
use store::{Store, StoreError};

/// The pause between two attempts.
pub const RETRY: Duration = Duration::from_millis(15);

/// The result of an attempt: a connection, or only the fact that a server listens.
pub type Attempted = Result<Option<Box<dyn Store>>, StoreError>;

/// A thread that repeats an attempt until it succeeds, or until this is dropped.
pub struct Attempts {
    /// The results of the attempts.
    pub results: Receiver<Attempted>,
    given_up: Arc<AtomicBool>,
}

impl Attempts {
    /// Starts the thread that repeats the attempt.
    pub fn start(attempt: impl Fn() -> Attempted + Send + 'static) -> Attempts {
        let (sender, results) = mpsc::channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&given_up);
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let result = attempt();
                let succeeded = result.is_ok();
                if sender.send(result).is_err() || succeeded {
                    return;
                }
                thread::sleep(RETRY);
            }
        });
        Attempts { results, given_up }
    }
}

impl Drop for Attempts {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
    }
}
