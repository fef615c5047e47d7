//! Cells take turns: never more at the same time than there are processors, however many tests run.

use std::sync::{Condvar, Mutex};
use std::thread::available_parallelism;

static TRIED: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// A cell is being tried until this is dropped.
pub struct Turn(());

impl Turn {
    /// Waits until fewer cells are tried than there are processors.
    pub fn wait() -> Turn {
        let most = available_parallelism().map_or(1, usize::from);
        let tried = TRIED.lock().unwrap();
        *ENDED.wait_while(tried, |tried| *tried >= most).unwrap() += 1;
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TRIED.lock().unwrap() -= 1;
        ENDED.notify_one();
    }
}
