//! The rate of good answers over the median trial of each cell.

use crate::chart::Curve;
use analysis::median_trial;
use study::{Cell, TrialRecord};

/// Fewer points are not a curve.
const FEWEST: usize = 5;
/// Nor is what a shorter trial shows.
const LEAST_S: f64 = 0.25;

/// Returns a curve for each of these cells that is ranked and ran long enough, and each with faults.
pub(crate) fn curves(cells: &[&Cell]) -> Vec<Curve> {
    let drawn = cells.iter().filter(|cell| cell.verdict.is_ranked() || crate::faults::was_done(cell));
    drawn.filter_map(|cell| curve(cell)).collect()
}

fn curve(cell: &Cell) -> Option<Curve> {
    let trial = median_trial(cell).filter(|trial| trial.makespan_s >= LEAST_S)?;
    let (end_s, rates) = (trial.series.last()?.at_s, rates(trial));
    let marks_s = trial.faults.iter().filter_map(|fault| fault.at_s).collect();
    let curve = Curve { name: cell.store.clone(), rates, makespan_s: trial.makespan_s, end_s, marks_s };
    (curve.rates.len() >= FEWEST).then_some(curve)
}

/// Good answers per second in each interval.
fn rates(trial: &TrialRecord) -> Vec<f64> {
    let lengths_s = lengths_s(trial);
    let good = |at: usize| trial.series[at].operations.saturating_sub(trial.series[at].errors);
    whole(&lengths_s).into_iter().map(|at| good(at) as f64 / lengths_s[at]).collect()
}

/// Returns the length of each interval of a trial's series.
pub(super) fn lengths_s(trial: &TrialRecord) -> Vec<f64> {
    let before = std::iter::once(0.0).chain(trial.series.iter().map(|point| point.at_s));
    before.zip(&trial.series).map(|(before, point)| point.at_s - before).collect()
}

/// Returns the intervals that have a rate: what is left at the end of a phase, shorter than half an interval, has none.
pub(super) fn whole(lengths_s: &[f64]) -> Vec<usize> {
    let usual = lengths_s.iter().copied().fold(0.0, f64::max);
    (0..lengths_s.len()).filter(|at| lengths_s[*at] > usual / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::{curves, rates};
    use study::{Cell, SeriesPoint, TrialRecord};

    #[test]
    fn what_is_left_at_the_end_is_no_rate() {
        let point = |at_s, operations| SeriesPoint { at_s, operations, ..SeriesPoint::default() };
        let series = vec![point(1.0, 100), point(2.0, 0), point(3.0, 50), point(3.1, 40)];
        assert_eq!(rates(&TrialRecord { series, ..TrialRecord::default() }), [100.0, 0.0, 50.0]);
    }

    #[test]
    fn what_failed_is_no_answer_and_a_curve_shorter_than_a_quarter_of_a_second_is_none() {
        let point = |at: u32| SeriesPoint {
            at_s: f64::from(at),
            operations: 100,
            errors: if at == 3 { 100 } else { 0 },
            ..SeriesPoint::default()
        };
        let mut trial = TrialRecord { makespan_s: 5.0, series: (1..=5).map(point).collect(), ..TrialRecord::default() };
        assert_eq!(rates(&trial), [100.0, 100.0, 0.0, 100.0, 100.0]);
        let drawn = |trial: &TrialRecord| {
            let cell = Cell { trials: vec![trial.clone()], verdict: study::Verdict::of([]), ..Cell::default() };
            curves(&[&cell]).len()
        };
        trial.operations = 400;
        assert_eq!(drawn(&trial), 1);
        trial.makespan_s = 0.2;
        assert_eq!(drawn(&trial), 0);
    }
}
