//! What replies had to wait behind, where clients share connections.

use serde::{Deserialize, Serialize};

/// Requests that were in flight on a connection when another was put behind them: its reply comes after theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadOfLine {
    /// Requests sent over shared connections.
    pub requests: u64,
    /// Requests that were ahead of each, summed.
    pub ahead: u64,
    /// The most that were ahead of one.
    pub most_ahead: u64,
}

impl HeadOfLine {
    /// Counts a request behind this many.
    #[inline]
    pub fn add(&mut self, ahead: usize) {
        self.requests += 1;
        self.ahead += ahead as u64;
        self.most_ahead = self.most_ahead.max(ahead as u64);
    }

    /// Returns this count with that of another added.
    pub fn and(self, other: HeadOfLine) -> HeadOfLine {
        HeadOfLine {
            requests: self.requests + other.requests,
            ahead: self.ahead + other.ahead,
            most_ahead: self.most_ahead.max(other.most_ahead),
        }
    }

    /// Returns the number of requests ahead of one, on average; 0 where there was none.
    pub fn mean_ahead(&self) -> f64 {
        self.ahead as f64 / self.requests.max(1) as f64
    }
}
