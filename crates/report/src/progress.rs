//! One updating line while trials run, with the time left.

use crate::units;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use study::TrialRecord;

/// The line on standard error: trial k of n, store, phase, per cent, operations per second, time left. Nothing at all is written when
/// standard error is not a terminal. Calls cost next to nothing when they come often: the line is redrawn ten times a second at most.
pub struct Progress {
    bar: ProgressBar,
    left: TimeLeft,
    trial: String,
    store: String,
    begun: Instant,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}

impl Progress {
    /// On standard error, if that is a terminal.
    pub fn new() -> Progress {
        Progress::on(ProgressDrawTarget::stderr_with_hz(10))
    }

    /// Shows nothing.
    pub fn quiet() -> Progress {
        Progress::on(ProgressDrawTarget::hidden())
    }

    fn on(target: ProgressDrawTarget) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:8} {wide_msg}") {
            bar.set_style(style.progress_chars("━╸ "));
        }
        let left = TimeLeft::default();
        Progress { bar, left, trial: String::new(), store: String::new(), begun: Instant::now() }
    }

    /// Says which stores the trials not yet run will use, so that the time left knows the slow ones; without it, trials to come
    /// are taken to be like those finished.
    pub fn plan<'a>(&mut self, stores: impl IntoIterator<Item = &'a str>) {
        self.left.planned = BTreeMap::new();
        for store in stores {
            *self.left.planned.entry(store.to_owned()).or_default() += 1;
        }
    }

    /// A phase of trial `order` of `total` begins. Called again for the next phase of the same trial.
    pub fn trial_started(&mut self, order: u32, total: u32, store: &str, phase: &str) {
        let trial = format!("trial {order}/{total}");
        if self.trial != trial {
            self.left.remaining = total.saturating_sub(order);
            self.begun = Instant::now();
            self.left.began(store);
        }
        self.trial = trial;
        self.store = store.to_owned();
        self.bar.set_prefix(format!("{} {} {phase}", self.trial, shortened(store)));
        self.bar.set_position(0);
        self.bar.set_message("");
    }

    /// `done` of `planned` operations of the phase are done, at `ops_per_s` now. `planned` 0: not known.
    pub fn update(&mut self, done: u64, planned: u64, ops_per_s: f64) {
        if self.bar.is_hidden() {
            return;
        }
        let share = if planned > 0 { (done as f64 / planned as f64).min(1.0) } else { 0.0 };
        self.bar.set_position((share * 1000.0) as u64);
        let left = self.left.after(&self.store, self.begun.elapsed());
        self.bar.set_message(message(share, planned, ops_per_s, left));
    }

    /// The trial is over.
    pub fn trial_finished(&mut self, _trial: &TrialRecord) {
        self.left.finished(&self.store, self.begun.elapsed());
    }

    /// A line above the progress line, on standard error; written also when there is no progress line.
    pub fn note(&self, line: &str) {
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A spec in at most 18 characters, so that the line stays a line.
fn shortened(store: &str) -> String {
    match store.char_indices().nth(18) {
        Some(_) => store.chars().take(17).chain(['…']).collect(),
        None => store.into(),
    }
}

fn message(share: f64, planned: u64, ops_per_s: f64, left: Option<Duration>) -> String {
    let mut parts = Vec::new();
    if planned > 0 {
        parts.push(format!("{:3.0} %", share * 100.0));
    }
    parts.push(format!("{} op/s", units::count(ops_per_s)));
    if let Some(left) = left {
        parts.push(format!("{} left", units::clock(left.as_secs_f64())));
    }
    parts.join("  ")
}

/// How long the rest will take, from what is finished.
#[derive(Default)]
struct TimeLeft {
    /// Trials after the current one.
    remaining: u32,
    /// Trials not yet begun, by store, when the plan is known.
    planned: BTreeMap<String, u32>,
    /// Finished trials and their durations together, by store.
    finished: BTreeMap<String, (u32, Duration)>,
}

impl TimeLeft {
    fn began(&mut self, store: &str) {
        if let Some(left) = self.planned.get_mut(store) {
            *left = left.saturating_sub(1);
        }
    }

    fn finished(&mut self, store: &str, duration: Duration) {
        let known = self.finished.entry(store.to_owned()).or_default();
        *known = (known.0 + 1, known.1 + duration);
    }

    fn mean(&self, store: &str) -> Option<Duration> {
        self.finished.get(store).map(|(trials, together)| *together / *trials)
    }

    /// The time left when the current trial on `store` has taken `elapsed`; `None` before anything is known.
    fn after(&self, store: &str, elapsed: Duration) -> Option<Duration> {
        let (trials, together) =
            self.finished.values().fold((0, Duration::ZERO), |(trials, together), it| (trials + it.0, together + it.1));
        let typical = (trials > 0).then(|| together / trials)?;
        let current = self.mean(store).unwrap_or(typical).saturating_sub(elapsed);
        let to_come = if self.planned.is_empty() {
            typical * self.remaining
        } else {
            self.planned.iter().map(|(store, trials)| self.mean(store).unwrap_or(typical) * *trials).sum()
        };
        Some(current + to_come)
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, TimeLeft, message};
    use std::time::Duration;
    use study::TrialRecord;

    fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn nothing_is_promised_before_anything_is_known() {
        let left = TimeLeft { remaining: 9, ..TimeLeft::default() };
        assert_eq!(left.after("redis", seconds(3)), None);
    }

    #[test]
    fn without_a_plan_trials_to_come_are_like_those_finished() {
        let mut left = TimeLeft { remaining: 3, ..TimeLeft::default() };
        left.finished("null", seconds(1));
        left.finished("mysql", seconds(9));
        assert_eq!(left.after("null", Duration::ZERO), Some(seconds(1 + 3 * 5)));
        assert_eq!(left.after("null", seconds(7)), Some(seconds(3 * 5)));
    }

    #[test]
    fn with_a_plan_slow_stores_are_known_to_come() {
        let mut progress = Progress::quiet();
        progress.plan(["null", "mysql", "null", "mysql", "redis"]);
        progress.trial_started(1, 5, "null", "load");
        progress.left.finished("null", seconds(1));
        progress.trial_started(2, 5, "mysql", "load");
        progress.trial_started(2, 5, "mysql", "run");
        progress.left.finished("mysql", seconds(9));
        progress.trial_started(3, 5, "null", "load");
        // This one and null's mean; then one mysql, and one redis that is taken to be like the average so far.
        assert_eq!(progress.left.after("null", Duration::ZERO), Some(seconds(1 + 9 + 5)));
        progress.update(1, 2, 3.0);
        progress.trial_finished(&TrialRecord::default());
        progress.finish();
    }

    #[test]
    fn a_long_spec_does_not_break_the_line() {
        assert_eq!(super::shortened("lmdb,durability=os"), "lmdb,durability=os");
        assert_eq!(super::shortened("postgres,layout=hstore,durability=commit"), "postgres,layout=h…");
    }

    #[test]
    fn the_message_is_short_and_steady() {
        assert_eq!(message(0.5, 10, 50_812.0, Some(Duration::from_millis(61_200))), " 50 %  50.8k op/s  1:02 left");
        assert_eq!(message(0.5, 10, 1.0, Some(seconds(3))), " 50 %  1.00 op/s  0:03 left");
        assert_eq!(message(0.0, 0, 0.0, None), "0 op/s");
    }
}
