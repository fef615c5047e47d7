//! How long the rest of a study will take, from what is finished.

use std::collections::BTreeMap;
use std::time::Duration;

/// Durations of finished trials, and what is still to come.
#[derive(Default)]
pub(super) struct TimeLeft {
    /// Trials after the current one.
    remaining: u32,
    /// Trials not yet begun, by cell, when the plan is known.
    planned: BTreeMap<String, u32>,
    /// Finished trials and their durations together, by cell.
    finished: BTreeMap<String, (u32, Duration)>,
}

impl TimeLeft {
    /// Notes that a trial of this cell is still to come.
    pub(super) fn plan(&mut self, cell: &str) {
        *self.planned.entry(cell.to_owned()).or_default() += 1;
    }

    /// Notes that a trial of this cell begins; `remaining` come after it.
    pub(super) fn began(&mut self, cell: &str, remaining: u32) {
        self.remaining = remaining;
        if let Some(left) = self.planned.get_mut(cell) {
            *left = left.saturating_sub(1);
        }
    }

    /// Notes that a trial of this cell took that long.
    pub(super) fn finished(&mut self, cell: &str, duration: Duration) {
        let known = self.finished.entry(cell.to_owned()).or_default();
        *known = (known.0 + 1, known.1 + duration);
    }

    /// Returns no more trials of this cell come; how many were still to come.
    pub(super) fn leave_out(&mut self, cell: &str) -> u32 {
        self.planned.remove(cell).unwrap_or(0)
    }

    fn mean(&self, cell: &str) -> Option<Duration> {
        self.finished.get(cell).map(|(trials, together)| *together / *trials)
    }

    /// Returns the time left when the current trial of `cell` has taken `elapsed`; `None` before anything is known.
    pub(super) fn after(&self, cell: &str, elapsed: Duration) -> Option<Duration> {
        let (trials, together) =
            self.finished.values().fold((0, Duration::ZERO), |(trials, together), it| (trials + it.0, together + it.1));
        let typical = (trials > 0).then(|| together / trials)?;
        let current = self.mean(cell).unwrap_or(typical).saturating_sub(elapsed);
        let to_come = if self.planned.is_empty() {
            typical * self.remaining
        } else {
            self.planned.iter().map(|(cell, trials)| self.mean(cell).unwrap_or(typical) * *trials).sum()
        };
        Some(current + to_come)
    }
}

#[cfg(test)]
mod tests {
    use super::TimeLeft;
    use std::time::Duration;

    fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn nothing_is_promised_before_anything_is_known() {
        let mut left = TimeLeft::default();
        left.began("redis", 9);
        assert_eq!(left.after("redis", seconds(3)), None);
    }

    #[test]
    fn without_a_plan_trials_to_come_are_like_those_finished() {
        let mut left = TimeLeft::default();
        left.finished("null", seconds(1));
        left.finished("mysql", seconds(9));
        left.began("null", 3);
        assert_eq!(left.after("null", Duration::ZERO), Some(seconds(1 + 3 * 5)));
        assert_eq!(left.after("null", seconds(7)), Some(seconds(3 * 5)));
    }

    #[test]
    fn with_a_plan_slow_stores_are_known_to_come() {
        let mut left = TimeLeft::default();
        ["null", "mysql", "null", "mysql", "redis"].into_iter().for_each(|cell| left.plan(cell));
        left.began("null", 4);
        left.finished("null", seconds(1));
        left.began("mysql", 3);
        left.finished("mysql", seconds(9));
        left.began("null", 2);
        // This one and null's mean; then one mysql, and one redis that is taken to be like the average so far.
        assert_eq!(left.after("null", Duration::ZERO), Some(seconds(1 + 9 + 5)));
    }
}
