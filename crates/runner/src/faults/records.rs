//! What became of each fault of a trial, held against what was measured meanwhile.

use super::window::{darkest, window};
use super::{Faulting, Happened};
use crate::measured::Measured;
use analysis::{LOOK_S, TOGETHER_S};
use std::time::Instant;
use study::{FaultRecord, Takeover};

impl Faulting {
    /// Returns what became of each fault, held against the series of the timed phases.
    pub(crate) fn records(&self, measured: &Measured) -> Vec<FaultRecord> {
        let (series, dark, timed_s) = (measured.series(), measured.dark(), measured.timed_s);
        let state = self.state();
        let since = |at: Option<Instant>| Some(at?.saturating_duration_since(state.begun?).as_secs_f64());
        let starts: Vec<f64> = state.happened.iter().filter_map(|it| since(it.at)).collect();
        let record = |it: &Happened| {
            let at_s = since(it.at);
            let until = at_s
                .map(|at_s| starts.iter().copied().filter(|start| *start > at_s + TOGETHER_S).fold(timed_s, f64::min));
            let within = at_s.zip(until);
            let seen = within.map(|(from_s, until_s)| window(series, from_s, until_s));
            let before_s = at_s.map(|at_s| {
                let others = starts.iter().copied().filter(|start| *start < at_s - TOGETHER_S);
                (others.fold(0.0, f64::max).max(at_s - LOOK_S), at_s)
            });
            let after_s = within.map(|(at_s, until_s)| (at_s, until_s.min(at_s + LOOK_S)));
            let p99_ns = |span: Option<(f64, f64)>| span.and_then(|(from_s, to_s)| measured.p99_ns(from_s, to_s));
            let dark = within.map(|(from_s, until_s)| darkest(dark, from_s, until_s));
            FaultRecord {
                planned: it.fault.text.clone(),
                node: it.node.clone(),
                planned_at_s: if it.is_of_job() { at_s.unwrap_or_default() } else { it.fault.at.as_secs_f64() },
                at_s,
                until_s: since(it.until),
                caught_up_s: since(it.caught_up),
                taken_over: it
                    .taken_over
                    .as_ref()
                    .and_then(|(by, at)| Some(Takeover { by: by.clone(), at_s: since(Some(*at))? })),
                longest_gap_s: seen.map(|seen| seen.gap_s),
                resolution_s: seen.map(|seen| seen.resolution_s),
                longest_dark_s: dark.map(|(longest_s, _)| longest_s),
                dark_share: dark.map(|(_, share)| share),
                failed_operations: seen.map_or(0, |seen| seen.failed),
                p99_before_ns: p99_ns(before_s),
                p99_after_ns: p99_ns(after_s),
                problem: it.problem.clone(),
            }
        };
        state.happened.iter().map(record).collect()
    }
}
