//! Trying again and again on a thread of its own: an attempt that hangs is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;
use store::{Store, StoreError};

/// Pause between two attempts.
pub const RETRY: Duration = Duration::from_millis(15);

/// What an attempt came to: a connection, or only that somebody listens.
pub type Answer = Result<Option<Box<dyn Store>>, StoreError>;

/// Attempts until one succeeds, or nobody wants to know any more.
pub struct Attempts {
    /// What they come to.
    pub answers: Receiver<Answer>,
    given_up: Arc<AtomicBool>,
}

impl Attempts {
    /// Begins.
    pub fn start(attempt: impl Fn() -> Answer + Send + 'static) -> Attempts {
        let (sender, answers) = mpsc::channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&given_up);
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let answer = attempt();
                let succeeded = answer.is_ok();
                if sender.send(answer).is_err() || succeeded {
                    return;
                }
                thread::sleep(RETRY);
            }
        });
        Attempts { answers, given_up }
    }
}

impl Drop for Attempts {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
    }
}
