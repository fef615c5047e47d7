//! What faults that were asked for cost a store, by trial and over trials.

use crate::metric::quantity;
use study::{Cell, FaultFigures, FaultRecord, SeriesPoint, TrialRecord};

/// The seconds before and after a fault in which rate and tail are looked at.
pub const LOOK_S: f64 = 10.0;
/// The rate is back when it is this share of that before ...
const BACK: f64 = 0.95;
/// ... over this long.
const OVER_S: f64 = 0.5;
/// A fall that begins later than this is not of this fault.
const FALLS_WITHIN_S: f64 = 3.0;
/// Faults no further apart are one event: what followed cannot be told from what.
pub const TOGETHER_S: f64 = 0.1;

/// Returns the figures of every fault of the plan, in the order of the plan.
pub fn fault_figures(cell: &Cell) -> Vec<FaultFigures> {
    let trials: Vec<&TrialRecord> = cell.counted().filter(|trial| !trial.faults.is_empty()).collect();
    let planned = trials.iter().map(|trial| trial.faults.len()).max().unwrap_or_default();
    (0..planned).filter_map(|at| of_plan(&trials, at)).collect()
}

/// Returns the longest time in which a part of the key space had no answers, over all faults of a trial; `None` where there was none.
pub(crate) fn longest_dark_s(trial: &TrialRecord) -> Option<f64> {
    trial.faults.iter().filter_map(|fault| fault.longest_dark_s).reduce(f64::max)
}

/// Returns the share of the keys times the seconds the keys had no answers, from the first fault on.
pub(crate) fn dark_key_s(trial: &TrialRecord) -> Option<f64> {
    longest_dark_s(trial)?;
    let first_s = trial.faults.iter().filter_map(|fault| fault.at_s).reduce(f64::min)?;
    let after = trial.dark.iter().filter(|dark| dark.from_s >= first_s - TOGETHER_S && dark.until_s > first_s);
    Some(after.map(|dark| dark.share * (dark.until_s - dark.from_s)).sum())
}

fn of_plan(trials: &[&TrialRecord], at: usize) -> Option<FaultFigures> {
    let first = trials.iter().find_map(|trial| trial.faults.get(at))?;
    let seen: Vec<Seen<'_>> = trials.iter().filter_map(|trial| Seen::of(trial, at)).collect();
    let over =
        |figure: &dyn Fn(&Seen<'_>) -> Option<f64>| quantity(&seen.iter().filter_map(figure).collect::<Vec<_>>());
    Some(FaultFigures {
        planned: first.planned.clone(),
        node: first.node.clone(),
        trials: seen.len() as u32,
        at_s: over(&|it| Some(it.at_s)),
        longest_dark_s: over(&|it| it.fault.longest_dark_s),
        dark_key_s: over(&|it| it.dark_key_s()),
        failed_operations: over(&|it| Some(it.fault.failed_operations as f64)),
        before_per_s: over(&|it| it.rate(it.before())),
        after_per_s: over(&|it| it.rate(it.after())),
        p99_before_ns: over(&|it| Some(it.fault.p99_before_ns? as f64)),
        p99_after_ns: over(&|it| Some(it.fault.p99_after_ns? as f64)),
        back_s: over(&|it| it.back_s().flatten()),
        not_back: seen.iter().filter(|it| it.back_s() == Some(None)).count() as u32,
        done_s: over(&|it| it.fault.until_s.map(|until_s| until_s - it.at_s)),
        caught_up_s: over(&|it| it.fault.caught_up_s.map(|caught_up_s| caught_up_s - it.at_s)),
        taken_over_s: over(&|it| it.fault.taken_over.as_ref().map(|takeover| takeover.at_s - it.at_s)),
    })
}

/// A fault in a trial, and the time it has to itself.
struct Seen<'a> {
    trial: &'a TrialRecord,
    fault: &'a FaultRecord,
    at_s: f64,
    /// When the fault before it was done, or the phase began.
    from_s: f64,
    /// When the next is done, or the phase ends.
    until_s: f64,
}

impl<'a> Seen<'a> {
    fn of(trial: &'a TrialRecord, at: usize) -> Option<Seen<'a>> {
        let fault = trial.faults.get(at).filter(|fault| fault.problem.is_none())?;
        let at_s = fault.at_s?;
        let others = || trial.faults.iter().filter_map(|other| other.at_s);
        let end_s = trial.series.last().map_or(at_s, |point| point.at_s);
        let until_s = others().filter(|other| *other > at_s + TOGETHER_S).fold(end_s, f64::min);
        let from_s = others().filter(|other| *other < at_s - TOGETHER_S).fold(0.0, f64::max);
        Some(Seen { trial, fault, at_s, from_s, until_s })
    }

    fn before(&self) -> (f64, f64) {
        (self.from_s.max(self.at_s - LOOK_S), self.at_s)
    }

    fn after(&self) -> (f64, f64) {
        (self.at_s, self.until_s.min(self.at_s + LOOK_S))
    }

    /// Intervals of the series that lie within, each with its begin.
    fn within(&self, (from_s, to_s): (f64, f64)) -> impl Iterator<Item = (f64, &'a SeriesPoint)> {
        let begins = std::iter::once(0.0).chain(self.trial.series.iter().map(|point| point.at_s));
        // The interval of the fault itself belongs to what comes after.
        begins.zip(&self.trial.series).filter(move |(_, point)| point.at_s > from_s + 1e-9 && point.at_s <= to_s)
    }

    fn rate(&self, span: (f64, f64)) -> Option<f64> {
        let (mut good, mut from_s, mut to_s) = (0, f64::INFINITY, 0.0);
        for (begin_s, point) in self.within(span) {
            good += point.operations.saturating_sub(point.errors);
            from_s = from_s.min(begin_s);
            to_s = point.at_s;
        }
        (to_s > from_s).then(|| good as f64 / (to_s - from_s))
    }

    /// A time without answers belongs to the fault it begins after; what is about to fail may have an operation in flight already.
    fn dark_key_s(&self) -> Option<f64> {
        self.fault.longest_dark_s?;
        let begins = self.at_s - TOGETHER_S..self.until_s;
        let dark = self.trial.dark.iter().filter(|dark| begins.contains(&dark.from_s) && dark.until_s > self.at_s);
        Some(dark.map(|dark| dark.share * (dark.until_s - dark.from_s)).sum())
    }

    /// When the rate is back: `None` where it is not known before, `Some(None)` where it did not come back.
    fn back_s(&self) -> Option<Option<f64>> {
        let enough = BACK * self.rate(self.before())?;
        let mut fallen = false;
        for (begin_s, _) in self.within((self.at_s, self.until_s)) {
            if begin_s + OVER_S > self.until_s + 1e-6 {
                break;
            }
            let is_low = self.rate((begin_s.max(self.at_s), begin_s + OVER_S + 1e-6)).is_some_and(|rate| rate < enough);
            match (fallen, is_low) {
                (false, false) if begin_s > self.at_s + FALLS_WITHIN_S => return Some(Some(0.0)),
                (true, false) => return Some(Some((begin_s - self.at_s).max(0.0))),
                (false, true) => fallen = true,
                _ => {}
            }
        }
        Some((!fallen).then_some(0.0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::fault_figures;
    use study::{Cell, DarkTime, FaultRecord, SeriesPoint, TrialRecord};

    /// 20 s at 100 answers a second; none from 5 s for `dark_s`, half from there to 8 s; a restart at 12 s costs nothing.
    fn trial(dark_s: f64) -> TrialRecord {
        let point = |at: u32| {
            let at_s = f64::from(at) / 10.0;
            let (operations, errors, p99_ns) = match at_s {
                _ if at_s > 5.0 && at_s <= 5.0 + dark_s + 1e-9 => (2, 2, 900_000),
                _ if at_s > 5.0 && at_s <= 8.0 + 1e-9 => (5, 0, 3_000),
                _ => (10, 0, 1_000),
            };
            SeriesPoint { at_s, operations, errors, p99_ns, max_ns: p99_ns }
        };
        let fault = |planned: &str, at_s, until_s, dark_s, failed_operations| FaultRecord {
            planned: planned.into(),
            node: "node2".into(),
            at_s: Some(at_s),
            until_s,
            longest_dark_s: Some(dark_s),
            failed_operations,
            p99_before_ns: Some(1_000),
            p99_after_ns: Some(90_000 + at_s as u64),
            ..FaultRecord::default()
        };
        let dark = |part, share, from_s, until_s| DarkTime { part, share, from_s, until_s };
        TrialRecord {
            operations: 2000,
            makespan_s: 20.0,
            series: (1..=200).map(point).collect(),
            faults: vec![
                fault("at 5s kill 2", 5.0, None, dark_s, (dark_s * 20.0) as u64),
                fault("at 12s restart 2", 12.0, Some(12.4), 0.0, 0),
            ],
            // Two parts, of which the second is dark for half as long at the same time.
            dark: vec![dark(0, 0.25, 5.0, 5.0 + dark_s), dark(1, 0.5, 5.0, 5.0 + dark_s / 2.0)],
            ..TrialRecord::default()
        }
    }

    #[test]
    fn every_figure_of_a_scripted_fault_is_what_was_scripted() {
        let cell = Cell { trials: [1.0, 1.2, 2.0].map(trial).into(), ..Cell::default() };
        let [killed, again] = &fault_figures(&cell)[..] else { panic!("two faults") };
        let dark = killed.longest_dark_s.unwrap();
        assert_eq!((dark.value, dark.low, dark.high, dark.n, killed.trials), (1.2, 1.0, 2.0, 3, 3));
        assert!((killed.dark_key_s.unwrap().value - 0.6).abs() < 1e-9, "{killed:?}");
        assert_eq!(killed.failed_operations.unwrap().value, 24.0);
        assert!((killed.before_per_s.unwrap().value - 100.0).abs() < 1e-6, "{killed:?}");
        // From 5 s to the restart at 12 s: 1.2 s of nothing, 1.8 s at half the rate, 4 s at all of it.
        assert!((killed.after_per_s.unwrap().value - 490.0 / 7.0).abs() < 1.0, "{killed:?}");
        assert_eq!(killed.p99_before_ns.unwrap().value, 1000.0);
        assert_eq!(killed.p99_after_ns.unwrap().value, 90_005.0);
        assert!((killed.back_s.unwrap().value - 3.0).abs() <= 0.1, "{killed:?}");
        assert_eq!((killed.not_back, killed.done_s), (0, None));
        assert_eq!((again.longest_dark_s.unwrap().value, again.back_s.unwrap().value), (0.0, 0.0));
        assert!((again.done_s.unwrap().value - 0.4).abs() < 1e-9, "{again:?}");
        assert_eq!(again.dark_key_s.unwrap().value, 0.0);
    }

    #[test]
    fn dark_times_that_overlap_belong_to_the_fault_they_begin_after_and_those_of_one_event_to_both() {
        // A third of the keys each: killed at 5 s and, 50 ms later, another; a third one at 7 s, while the second is dark still.
        let fault = |at_s, longest_dark_s| FaultRecord {
            at_s: Some(at_s),
            longest_dark_s: Some(longest_dark_s),
            ..FaultRecord::default()
        };
        let dark = |part, from_s, until_s| DarkTime { part, share: 1.0 / 3.0, from_s, until_s };
        let point = |at: u32| SeriesPoint { at_s: f64::from(at), operations: 100, ..SeriesPoint::default() };
        let trial = TrialRecord {
            series: (1..=20).map(point).collect(),
            faults: vec![fault(5.0, 3.0), fault(5.05, 3.0), fault(7.0, 1.5)],
            dark: vec![dark(0, 4.98, 5.98), dark(1, 5.06, 8.06), dark(2, 7.0, 8.5), dark(0, 9.0, 9.3)],
            ..TrialRecord::default()
        };
        let figures = fault_figures(&Cell { trials: vec![trial.clone()], ..Cell::default() });
        let dark_key_s: Vec<f64> = figures.iter().map(|it| it.dark_key_s.unwrap().value * 3.0).collect();
        for (seen, scripted) in dark_key_s.iter().zip([1.0 + 3.0, 1.0 + 3.0, 1.5 + 0.3]) {
            assert!((seen - scripted).abs() < 1e-9, "{dark_key_s:?}");
        }
        assert!((super::dark_key_s(&trial).unwrap() * 3.0 - 5.8).abs() < 1e-9, "each is counted once in the trial");
        assert_eq!(super::longest_dark_s(&trial), Some(3.0));
    }

    #[test]
    fn a_rate_that_does_not_come_back_has_no_time_and_a_fault_that_was_not_done_has_no_figures() {
        let mut lost = trial(1.0);
        lost.series.iter_mut().filter(|point| point.at_s > 5.05).for_each(|point| point.operations = 5);
        lost.faults.truncate(1);
        let cell = Cell { trials: vec![lost.clone()], ..Cell::default() };
        let killed = &fault_figures(&cell)[0];
        assert_eq!((killed.back_s, killed.not_back), (None, 1));
        lost.faults[0].at_s = None;
        let never = &fault_figures(&Cell { trials: vec![lost], ..Cell::default() })[0];
        assert_eq!((never.trials, never.longest_dark_s, never.before_per_s), (0, None, None));
        assert_eq!(fault_figures(&Cell { trials: vec![TrialRecord::default()], ..Cell::default() }), []);
    }
}
