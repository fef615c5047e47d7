//! Faults that are asked for: nodes of a private deployment killed, stopped, frozen and started again while a trial runs.

use crate::plan::Plan;
use engine::Outages;
use host::Nodes;
use std::fmt;
use std::str::FromStr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::StoreError;
use study::{DarkTime, FaultRecord, SeriesPoint, Target};

const GRAMMAR: &str = "write 'at 5s kill 2', 'at 5s stop 2', 'at 8s restart 2', 'at 5s freeze 2 for 3s' or 'at 5s add'";
/// Faults no further apart are one event: what followed cannot be told from what.
const TOGETHER_S: f64 = 0.1;
/// Longest time that can be asked for.
const LONGEST_S: f64 = 1e6;

/// One fault: what is done to which node, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    text: String,
    at: Duration,
    act: Act,
}

/// What is done, to which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Kill(usize),
    Stop(usize),
    Restart(usize),
    Freeze(usize, Duration),
    Add,
}

impl Act {
    /// The node it is done to, from 1; `None`: it makes one.
    fn node(self) -> Option<usize> {
        match self {
            Act::Kill(node) | Act::Stop(node) | Act::Restart(node) | Act::Freeze(node, _) => Some(node),
            Act::Add => None,
        }
    }
}

/// All faults of a trial, by time.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    planned: Vec<PlannedFault>,
    /// What an operation may take while nodes fail.
    timeout: Duration,
}

/// What an operation may take while nodes fail, unless something else is asked for.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(1);

impl FromStr for PlannedFault {
    type Err = String;

    fn from_str(text: &str) -> Result<PlannedFault, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let node = |node: &str| {
            let number = node.parse().ok().filter(|node| *node >= 1);
            number.ok_or("nodes are numbered from 1: 'at 5s kill 1'")
        };
        let (at, act) = match words[..] {
            ["at", at, "kill", of] => (at, Act::Kill(node(of)?)),
            ["at", at, "stop", of] => (at, Act::Stop(node(of)?)),
            ["at", at, "restart", of] => (at, Act::Restart(node(of)?)),
            ["at", at, "freeze", of, "for", length] => {
                (at, Act::Freeze(node(of)?, time(length).filter(|it| !it.is_zero()).ok_or(GRAMMAR)?))
            }
            ["at", at, "add"] => (at, Act::Add),
            _ => return Err(GRAMMAR.into()),
        };
        Ok(PlannedFault { text: words.join(" "), at: time(at).ok_or(GRAMMAR)?, act })
    }
}

impl fmt::Display for PlannedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `5s`, `500ms` or `1m`.
fn time(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let seconds_a_unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    let seconds = digits.parse::<f64>().ok()? * seconds_a_unit;
    (0.0..LONGEST_S).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

impl Faults {
    /// These faults, and what an operation may take meanwhile, when every store the user named can have them.
    ///
    /// # Errors
    /// A store that is not a private server, or has no such node.
    pub fn on(plan: &Plan, mut faults: Vec<PlannedFault>, timeout: Duration) -> Result<Faults, String> {
        let Some(first) = faults.first().cloned() else { return Ok(Faults::default()) };
        faults.sort_by_key(|fault| fault.at);
        for cell in plan.cells.iter().filter(|cell| !cell.baseline) {
            let spec = &cell.spec;
            let deployment = (spec.target == Target::Private).then(|| cell.info.on_paper(spec, false)).flatten();
            let Some(deployment) = deployment else {
                return Err(format!(
                    "--fault '{first}': {spec} has no server that kvtrial started; name a private one, such as -s redis"
                ));
            };
            let deployment = deployment.map_err(|error| error.to_string())?;
            let mut nodes = deployment.nodes.len();
            for fault in &faults {
                match fault.act.node() {
                    Some(node) if node > nodes => {
                        let least = if nodes == 1 { "1".into() } else { format!("1 to {nodes}") };
                        return Err(format!("--fault '{fault}': {spec} has no node {node} then; use {least}"));
                    }
                    Some(_) => {}
                    None if deployment.joining.is_some() => nodes += 1,
                    None => {
                        return Err(format!(
                            "--fault '{fault}': {spec} takes no other node while it serves; redis-cluster does"
                        ));
                    }
                }
            }
        }
        Ok(Faults { planned: faults, timeout })
    }

    /// What a worker does when connections are lost.
    pub(crate) fn outages(&self) -> Outages {
        if self.planned.is_empty() { Outages::GiveUp } else { Outages::Endure { timeout: self.timeout } }
    }
}

/// The faults of one trial while it runs.
pub(crate) struct Faulting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    begun: Option<Instant>,
    over: bool,
    happened: Vec<Happened>,
}

struct Happened {
    fault: PlannedFault,
    node: String,
    at: Option<Instant>,
    until: Option<Instant>,
    problem: Option<String>,
}

enum Step {
    Do(usize),
    Thaw(usize),
}

impl Faulting {
    pub(crate) fn new(faults: &Faults, nodes: Option<&Nodes>) -> Faulting {
        let mut names = nodes.map(Nodes::names).unwrap_or_default();
        let mut happened = Vec::new();
        for fault in if names.is_empty() { &[][..] } else { &faults.planned } {
            let number = fault.act.node().unwrap_or_else(|| {
                names.push(Nodes::next_name(names.len()));
                names.len()
            });
            let Some(node) = names.get(number - 1).cloned() else { continue };
            happened.push(Happened { fault: fault.clone(), node, at: None, until: None, problem: None });
        }
        Faulting { state: Mutex::new(State { happened, ..State::default() }), changed: Condvar::new() }
    }

    /// A timed phase began then. The first counts; its progress says it more exactly than its announcement.
    pub(crate) fn begin(&self, at: Instant) {
        self.state().begun = Some(at);
        self.changed.notify_all();
    }

    /// The worker is gone: nothing more is done.
    pub(crate) fn end(&self) {
        self.state().over = true;
        self.changed.notify_all();
    }

    /// Whether there are any.
    pub(crate) fn any_planned(&self) -> bool {
        !self.state().happened.is_empty()
    }

    /// Whether any was begun.
    pub(crate) fn any_happened(&self) -> bool {
        self.state().happened.iter().any(|it| it.at.is_some())
    }

    /// Does what is due when it is due, until the trial is over.
    pub(crate) fn carry_out(&self, nodes: &Nodes) {
        let mut steps: Vec<(Duration, Step)> = Vec::new();
        for (at, it) in self.state().happened.iter().enumerate() {
            steps.push((it.fault.at, Step::Do(at)));
            if let Act::Freeze(_, length) = it.fault.act {
                steps.push((it.fault.at + length, Step::Thaw(at)));
            }
        }
        steps.sort_by_key(|(at, _)| *at);
        for (due, step) in steps {
            if !self.wait(due) {
                return;
            }
            let at = match step {
                Step::Do(at) | Step::Thaw(at) => at,
            };
            let (act, name) = {
                let mut state = self.state();
                let it = &mut state.happened[at];
                if matches!(step, Step::Do(_)) {
                    it.at = Some(Instant::now());
                }
                (it.fault.act, it.node.clone())
            };
            let (done, ends): (Result<(), StoreError>, bool) = match (step, act) {
                (Step::Thaw(_), _) => (nodes.thaw(&name), true),
                (_, Act::Kill(_)) => (nodes.kill(&name), false),
                (_, Act::Stop(_)) => (nodes.stop(&name), false),
                (_, Act::Restart(_)) => (nodes.restart(&name), true),
                (_, Act::Freeze(..)) => (nodes.freeze(&name), false),
                (_, Act::Add) => (nodes.join().map(drop), true),
            };
            let mut state = self.state();
            let it = &mut state.happened[at];
            match done {
                Ok(()) if ends => it.until = Some(Instant::now()),
                Ok(()) => {}
                Err(error) => it.problem = it.problem.take().or(Some(error.to_string())),
            }
        }
    }

    /// Waits until so long after the begin; false when the trial is over.
    fn wait(&self, due: Duration) -> bool {
        let mut state = self.state();
        loop {
            if state.over {
                return false;
            }
            let left = state.begun.map(|begun| (begun + due).saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return true,
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// What became of each, held against the series of the timed phases.
    pub(crate) fn records(&self, series: &[SeriesPoint], dark: &[DarkTime], timed_s: f64) -> Vec<FaultRecord> {
        let state = self.state();
        let since = |at: Option<Instant>| Some(at?.saturating_duration_since(state.begun?).as_secs_f64());
        let starts: Vec<f64> = state.happened.iter().filter_map(|it| since(it.at)).collect();
        let record = |it: &Happened| {
            let at_s = since(it.at);
            let until = at_s
                .map(|at_s| starts.iter().copied().filter(|start| *start > at_s + TOGETHER_S).fold(timed_s, f64::min));
            let within = at_s.zip(until);
            let seen = within.map(|(from_s, until_s)| window(series, from_s, until_s));
            let dark = within.map(|(from_s, until_s)| darkest(dark, from_s, until_s));
            FaultRecord {
                planned: it.fault.text.clone(),
                node: it.node.clone(),
                planned_at_s: it.fault.at.as_secs_f64(),
                at_s,
                until_s: since(it.until),
                longest_gap_s: seen.map(|seen| seen.gap_s),
                resolution_s: seen.map(|seen| seen.resolution_s),
                longest_dark_s: dark.map(|(longest_s, _)| longest_s),
                dark_share: dark.map(|(_, share)| share),
                failed_operations: seen.map_or(0, |seen| seen.failed),
                problem: it.problem.clone(),
            }
        };
        state.happened.iter().map(record).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of the parts of the key space that were dark from a moment to another: the longest time one was, and the largest share of the keys that
/// was at the same time. A time belongs to the window it begins in, as what is about to fail may have an operation in flight already.
fn darkest(dark: &[DarkTime], from_s: f64, until_s: f64) -> (f64, f64) {
    let begins = |it: &&DarkTime| (from_s - TOGETHER_S..until_s).contains(&it.from_s) && it.until_s > from_s;
    let dark: Vec<&DarkTime> = dark.iter().filter(begins).collect();
    let longest_s = dark.iter().map(|it| it.until_s - it.from_s).fold(0.0, f64::max);
    let at = |time: f64| dark.iter().filter(|it| it.from_s <= time && time < it.until_s).map(|it| it.share).sum();
    (longest_s, dark.iter().map(|it| at(it.from_s)).fold(0.0, f64::max).min(1.0))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    gap_s: f64,
    resolution_s: f64,
    failed: u64,
}

/// What the series shows from a moment to another. An interval belongs to the window it ends in; where no interval has a good reply,
/// none came. The series ends with the last reply, the window may end later.
fn window(series: &[SeriesPoint], from_s: f64, to_s: f64) -> Window {
    let (mut begin_s, mut good_s) = (0.0, from_s);
    let mut seen = Window { gap_s: 0.0, resolution_s: 0.0, failed: 0 };
    for point in series {
        let overlaps = point.at_s > from_s && begin_s < to_s;
        if overlaps {
            seen.resolution_s = seen.resolution_s.max(point.at_s - begin_s);
        }
        if overlaps && point.operations > point.errors {
            seen.gap_s = seen.gap_s.max(begin_s - good_s);
            good_s = point.at_s;
        }
        if point.at_s > from_s && point.at_s <= to_s {
            seen.failed += point.errors;
        }
        begin_s = point.at_s;
    }
    seen.gap_s = seen.gap_s.max(to_s - good_s);
    seen
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Act, PlannedFault, darkest, window};
    use std::time::Duration;
    use study::{DarkTime, SeriesPoint};

    #[test]
    fn a_fault_is_read_as_it_is_written_and_what_cannot_be_read_is_refused() {
        let fault: PlannedFault = "at 500ms freeze 2 for 3s".parse().unwrap();
        assert_eq!(fault.at, Duration::from_millis(500));
        assert_eq!(fault.act, Act::Freeze(2, Duration::from_secs(3)));
        assert_eq!("at 8s restart 1".parse::<PlannedFault>().unwrap().act, Act::Restart(1));
        assert_eq!("at 8s add".parse::<PlannedFault>().unwrap().act, Act::Add);
        for text in [
            "",
            "kill 2",
            "at 5 kill 2",
            "at 5s kill",
            "at 5s kill 0",
            "at 5s kill x",
            "at 5s freeze 2",
            "at 5s kill 2 for 3s",
            "at -1s kill 2",
            "at 5s add 2",
            "add",
            "at 5s freeze 2 for 0s",
            "at NaNs kill 1",
            "at 1é kill 1",
        ] {
            assert!(text.parse::<PlannedFault>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_gap_after_a_fault_is_the_longest_time_without_a_good_reply() {
        let point = |at_s, operations, errors| SeriesPoint { at_s, operations, errors, ..SeriesPoint::default() };
        let series = [point(1.0, 5, 1), point(2.0, 5, 0), point(3.0, 4, 4), point(4.0, 0, 0), point(5.0, 5, 2)];
        let seen = window(&series, 1.5, 5.0);
        assert_eq!((seen.gap_s, seen.resolution_s, seen.failed), (2.0, 1.0, 6));
        // Nothing came after: the end of the phase ends the gap.
        assert_eq!(window(&series[..2], 1.5, 9.0).gap_s, 7.0);
        // What failed before it is not counted.
        assert_eq!(window(&series, 5.0, 5.0).failed, 0);
    }

    #[test]
    fn the_share_that_was_dark_is_that_of_parts_that_were_at_the_same_time() {
        let dark = |part, share, from_s, until_s| DarkTime { part, share, from_s, until_s };
        let all = [dark(0, 0.25, 1.0, 2.0), dark(1, 0.5, 1.5, 1.75), dark(2, 0.25, 3.0, 4.5), dark(0, 0.25, 9.0, 9.5)];
        assert_eq!(darkest(&all, 1.05, 5.0), (1.5, 0.75));
        assert_eq!(darkest(&all, 2.5, 5.0), (1.5, 0.25));
        assert_eq!(darkest(&all, 5.0, 8.0), (0.0, 0.0));
    }
}
