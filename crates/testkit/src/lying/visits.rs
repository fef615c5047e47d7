//! What is known of each connection: what was asked over it, and what was before its last writes.

use super::Visit;
use super::dialect::{Action, Response};
use super::map::Past;
use super::server::{Shared, lock};
use std::collections::VecDeque;

impl Shared {
    /// Returns the number of a new connection.
    pub(super) fn admit(&self) -> usize {
        let mut visits = lock(&self.visits);
        visits.push(Visit::default());
        lock(&self.pasts).push(VecDeque::new());
        visits.len() - 1
    }

    /// Notes what was asked over a connection, and what is answered.
    pub(super) fn note(&self, visit: usize, action: &Action, response: &Response) {
        let mut visits = lock(&self.visits);
        let visit = &mut visits[visit];
        match action {
            Action::Get { .. } | Action::GetMany { .. } | Action::Fields { .. } | Action::Members { .. } => {
                visit.reads += 1;
                visit.hits += u64::from(*response != Response::Missing);
            }
            Action::Say(_) => {}
            _ => visit.writes += 1,
        }
    }

    /// Notes what is before a write.
    pub(super) fn remember(&self, visit: usize, past: Vec<Past>) {
        if self.takes_back > 0 && !past.is_empty() {
            let own = &mut lock(&self.pasts)[visit];
            own.push_back(past);
            if own.len() > self.takes_back {
                own.pop_front();
            }
        }
    }

    /// Notes that a connection has closed.
    pub(super) fn close(&self, visit: usize) {
        let mut map = lock(&self.map);
        let pasts = std::mem::take(&mut lock(&self.pasts)[visit]);
        pasts.into_iter().rev().flatten().for_each(|past| map.take_back(past));
    }

    /// Writes over one connection, and over all.
    pub(super) fn writes(&self, visit: usize) -> (u64, u64) {
        let visits = lock(&self.visits);
        (visits[visit].writes, visits.iter().map(|visit| visit.writes).sum())
    }
}
