//! The lines of the live view, as text.

use super::Moment;
use super::tally::Tally;
use crate::layout::{Colour, Style, paint, shortened, width};
use crate::spark::sparkline;
use std::time::Duration;
use study::{Status, TrialRecord};
use words::{Batches, units};

/// Columns of the name of a cell.
const NAME: usize = 20;
/// Bars of the rate over time.
const BARS: usize = 10;

fn padded(text: &str, columns: usize) -> String {
    let text = shortened(text, columns);
    let blanks = columns - width(&text);
    text + &" ".repeat(blanks)
}

/// Says what a cell came to so far: `redis-unix   983 ms   99.8k op/s  p99   133 µs  valid 2/3`.
pub(super) fn cell(name: &str, tally: &Tally, planned: u32, stored: Batches, colour: Colour) -> String {
    let style = match tally.status {
        Status::NotRun | Status::Valid => Style::Good,
        Status::Degraded => Style::Warning,
        Status::Void => Style::Bad,
    };
    let mark = if tally.status == Status::Void { '✗' } else { '✓' };
    format!(
        "{} {} {:>12} {:>6} {}  p99 {:>7}  {} {}/{planned}",
        paint(&mark.to_string(), style, colour),
        padded(name, NAME),
        units::duration(tally.makespan_s()),
        units::count(tally.per_s()),
        tally.unit(stored),
        units::duration(tally.p99_s()),
        paint(&format!("{:8}", tally.status), style, colour),
        tally.trials,
    )
}

/// Returns `trial 7 of 15`; of a search that cannot tell how many there will be `trial 7`.
pub(super) fn numbered((order, total): (u32, u32)) -> String {
    if total == 0 { format!("trial {order}") } else { format!("trial {order} of {total}") }
}

/// Returns a finished trial where there is no live view: `kvtrial: trial 7 of 15, 0:42: redis-unix 983 ms, 99.8k op/s, p99 133 µs, valid`.
pub(super) fn finished(
    number: (u32, u32),
    store: &str,
    trial: &TrialRecord,
    stored: Batches,
    so_far: Duration,
) -> String {
    let mut verdict = trial.verdict.status.to_string();
    let kinds: Vec<String> = trial.verdict.reasons.iter().map(|it| it.kind.name().replace('_', " ")).collect();
    if !kinds.is_empty() {
        verdict += &format!(" ({})", kinds.join(", "));
    }
    let warmup = if trial.warmup { " warm-up" } else { "" };
    let p99 = match trial.latency_ns.response.of_asked().p99 {
        None => "p99 not reached, ".into(),
        Some(0) => String::new(),
        Some(p99_ns) => format!("p99 {}, ", units::duration(p99_ns as f64 * 1e-9)),
    };
    format!(
        "kvtrial: {}, {}: {store}{warmup} {}, {} {}, {p99}{verdict}",
        numbered(number),
        units::clock(so_far.as_secs_f64()),
        units::duration(trial.makespan_s),
        units::count(super::tally::per_s(trial)),
        super::tally::unit(analysis::records_per_operation(trial).is_some(), stored),
    )
}

/// Returns the trial under way where there is no live view: `lmdb: load, 25 %, 102k op/s, 1.23M operations so far, 3 errors`.
pub(super) fn under_way(name: &str, phase: &str, moment: &Moment, stored: Batches, rates: &[f64]) -> String {
    let mut parts = vec![format!("{name}: {phase}")];
    parts.extend(moment.share.map(|share| format!("{:.0} %", 100.0 * share.min(1.0))));
    if let Some(now) = rates.last() {
        parts.push(rate_now(*now, moment, stored));
        let operations = match moment.operations {
            few @ 0..1_000 => few.to_string(),
            many => units::count(many as f64),
        };
        parts.push(format!("{operations} operations so far"));
    }
    if moment.errors > 0 {
        parts.push(errors(moment.errors));
    }
    parts.join(", ")
}

/// `250 op/s`
fn rate_now(per_s: f64, moment: &Moment, stored: Batches) -> String {
    let unit = super::tally::unit(moment.each.is_some(), stored);
    format!("{} {unit}", units::count(per_s * moment.each.unwrap_or(1.0)))
}

/// `3 errors`
fn errors(count: u64) -> String {
    match count {
        1 => "1 error".to_owned(),
        few @ 2..1_000 => format!("{few} errors"),
        many => format!("{} errors", units::count(many as f64)),
    }
}

/// Returns the trial under way: cell, phase, share done, rate now and p99 so far, rates over time.
pub(super) fn trial(
    name: &str,
    phase: &str,
    moment: &Moment,
    stored: Batches,
    rates: &[f64],
    colour: Colour,
) -> String {
    let mut parts = vec![format!("▸ {}", padded(name, NAME)), paint(phase, Style::Bold, colour)];
    if let Some(share) = moment.share {
        parts.push(format!("{:.0} %", 100.0 * share.min(1.0)));
    }
    if let Some(now) = rates.last() {
        let style = if *now > 0.0 { Style::Plain } else { Style::Bad };
        parts.push(paint(&rate_now(*now, moment, stored), style, colour));
    }
    if let Some(p99_ns) = moment.p99_ns {
        let of = if moment.each.is_some() { " of a batch" } else { "" };
        parts.push(format!("p99{of} {}", units::duration(p99_ns as f64 * 1e-9)));
    }
    if moment.errors > 0 {
        parts.push(paint(&errors(moment.errors), Style::Bad, colour));
    }
    if rates.len() > 1 {
        parts.push(paint(&sparkline(&rates[rates.len().saturating_sub(BARS)..], BARS), Style::Dim, colour));
    }
    parts.join("  ")
}

/// Returns the study as a whole: `trial 7 of 15 · 0:42 · about 1:02 left · all valid so far`.
pub(super) fn study(
    number: (u32, u32),
    elapsed: Duration,
    left: Option<Duration>,
    verdict: (Status, String),
    colour: Colour,
) -> String {
    let mut parts = vec![numbered(number), units::clock(elapsed.as_secs_f64())];
    if let Some(left) = left {
        parts.push(format!("about {} left", units::clock(left.as_secs_f64())));
    }
    let style = match verdict.0 {
        Status::NotRun | Status::Valid => Style::Good,
        Status::Degraded => Style::Warning,
        Status::Void => Style::Bad,
    };
    if !verdict.1.is_empty() {
        parts.push(paint(&verdict.1, style, colour));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::{Batches, Moment, Tally, cell, study, trial, under_way, width};
    use crate::layout::Colour;
    use std::time::Duration;
    use study::{Status, TrialRecord};

    fn record(makespan_s: f64, ops_per_s: f64, p99: u64) -> TrialRecord {
        let mut record =
            TrialRecord { makespan_s, ops_per_s, verdict: study::Verdict::of([]), ..TrialRecord::default() };
        record.latency_ns.response.p99 = p99;
        record
    }

    #[test]
    fn a_finished_cell_is_told_in_a_line_however_long_its_name() {
        let mut tally = Tally::default();
        [0.983, 0.95, 1.2].into_iter().for_each(|s| tally.add(&record(s, 98_064.0 / s, 133_000)));
        let line = cell("redis-unix", &tally, 3, Batches::Records, Colour::Never);
        assert_eq!(line, "✓ redis-unix                 983 ms  99.8k op/s  p99  133 µs  valid    3/3");
        let mut long = Tally::default();
        long.status = Status::Void;
        long.add(&record(59_999.0, 999_000.0, 999_000_000));
        let line = cell("postgres,layout=hstore,durability=commit", &long, 10_000, Batches::Records, Colour::Never);
        assert!(width(&line) <= 80 && line.contains("postgres,layout=hst…"), "{} {line}", width(&line));
    }

    #[test]
    fn the_trial_under_way_shows_a_stall_and_errors() {
        let elapsed = Duration::from_secs(2);
        let moment =
            Moment { operations: 5_000, each: None, share: Some(0.5), errors: 3, p99_ns: Some(123_000), elapsed };
        let line = trial("lmdb", "run", &moment, Batches::Records, &[50_800.0, 50_800.0, 0.0], Colour::Never);
        assert_eq!(line, "▸ lmdb                  run  50 %  0 op/s  p99 123 µs  3 errors  ██▁");
        let batches = Moment { each: Some(1000.0), errors: 0, ..moment };
        let line = trial("lmdb", "load", &batches, Batches::Documents, &[50.0], Colour::Never);
        assert_eq!(line, "▸ lmdb                  load  50 %  50.0k docs/s  p99 of a batch 123 µs");
        let begun = Moment { share: Some(0.0), ..Moment::default() };
        assert_eq!(
            trial("lmdb", "load", &begun, Batches::Records, &[], Colour::Never),
            "▸ lmdb                  load  0 %"
        );
    }

    #[test]
    fn without_a_live_view_the_trial_under_way_is_a_sentence() {
        let elapsed = Duration::from_secs(2);
        let moment =
            Moment { operations: 5_000, each: None, share: Some(0.5), errors: 3, p99_ns: Some(123_000), elapsed };
        let line = under_way("lmdb", "load", &moment, Batches::Records, &[50_800.0]);
        assert_eq!(line, "lmdb: load, 50 %, 50.8k op/s, 5.00k operations so far, 3 errors");
        assert_eq!(under_way("lmdb", "starting", &Moment::default(), Batches::Records, &[]), "lmdb: starting");
    }

    #[test]
    fn the_study_is_told_with_the_time_left_and_the_verdict_so_far() {
        let (elapsed, left) = (Duration::from_secs(42), Some(Duration::from_secs(62)));
        let verdict = (Status::Void, "1 cell void so far".to_owned());
        assert_eq!(
            study((7, 15), elapsed, left, verdict, Colour::Never),
            "trial 7 of 15 · 0:42 · about 1:02 left · 1 cell void so far"
        );
        let nothing = (Status::Valid, String::new());
        assert_eq!(study((1, 15), elapsed, None, nothing.clone(), Colour::Never), "trial 1 of 15 · 0:42");
        // A search that is beyond what it expected.
        assert_eq!(study((25, 0), elapsed, None, nothing, Colour::Never), "trial 25 · 0:42");
    }
}
