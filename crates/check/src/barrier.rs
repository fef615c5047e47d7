//! Where concurrent clients wait for each other; unlike that of the standard library it opens when one of them fails.

use crate::fault::Stop;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use study::ReasonKind;

/// A meeting point of a fixed number of clients, used any number of times.
pub struct Barrier {
    clients: usize,
    patience: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    arrived: usize,
    round: u64,
    course: Course,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    Running,
    BrokenDown,
}

impl Barrier {
    /// Makes a barrier for that many clients; nobody waits longer than `patience`.
    pub fn new(clients: usize, patience: Duration) -> Barrier {
        let state = State { arrived: 0, round: 0, course: Course::Running };
        Barrier { clients, patience, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until all clients are here.
    ///
    /// # Errors
    /// [`Barrier::broken`] when another client has failed or does not come.
    pub fn wait(&self) -> Result<(), Stop> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrived += 1;
        if state.arrived == self.clients {
            state.arrived = 0;
            state.round += 1;
            self.changed.notify_all();
        } else {
            let round = state.round;
            let waiting = |state: &mut State| state.round == round && state.course == Course::Running;
            let waited = self.changed.wait_timeout_while(state, self.patience, waiting);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = after;
            if timeout.timed_out() && state.round == round {
                state.course = Course::BrokenDown;
                self.changed.notify_all();
            }
        }
        match state.course {
            Course::Running => Ok(()),
            Course::BrokenDown => Err(Barrier::broken()),
        }
    }

    /// Lets everybody go, with an error.
    pub fn break_down(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).course = Course::BrokenDown;
        self.changed.notify_all();
    }

    /// Returns the end of a client that waited for another one which did not come.
    pub fn broken() -> Stop {
        Stop::keyless(ReasonKind::Deadline, "another client of this case did not get as far")
    }
}

#[cfg(test)]
mod tests {
    use super::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn nobody_passes_before_all_have_come_in_any_round() {
        let barrier = Barrier::new(4, Duration::from_secs(20));
        let arrivals = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 1..=50 {
                        arrivals.fetch_add(1, Ordering::SeqCst);
                        barrier.wait().unwrap();
                        assert!(arrivals.load(Ordering::SeqCst) >= 4 * round);
                    }
                });
            }
        });
    }

    #[test]
    fn a_client_that_fails_or_stays_away_lets_the_others_go() {
        let barrier = Barrier::new(2, Duration::from_secs(20));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait());
            barrier.break_down();
            assert_eq!(waiting.join().unwrap(), Err(Barrier::broken()));
        });
        assert_eq!(Barrier::new(2, Duration::from_millis(20)).wait(), Err(Barrier::broken()));
    }
}
