//! Whether a study that was made again came out the same.
//!
//! Answers are equal or not, on every machine. Figures of the same hardware are held against each other; of other hardware only the ratios
//! between stores are. A figure counts as another only where the whole interval of the trials is beyond what two machines of one kind, or two
//! days on one machine, may differ by.

use crate::mark::{StudyMark, Verification};
use analysis::{CellNames, Metric};
use study::{Cell, Quantity, Study};

/// How many times another a figure may be on the same kind of machine.
const SAME_HARDWARE: f64 = 1.5;
/// How many times another the ratio between two stores may be on another machine.
const OTHER_HARDWARE: f64 = 2.0;

/// What was compared so far.
#[derive(Default)]
struct Found {
    answers: usize,
    figures: usize,
    differs: Vec<String>,
    not_compared: Vec<String>,
}

/// Returns what came of making a study again; who did it, and when, is left to the caller.
pub fn verify(submitted: &Study, again: &Study) -> Verification {
    let names = CellNames::of(submitted);
    let matched = analysis::same_cells(submitted, again);
    let pairs: Vec<(String, &Cell, &Cell)> =
        matched.pairs.iter().map(|(one, other)| (names.of_cell(one), *one, *other)).collect();
    let mut found = Found::default();
    let believed: Vec<&(String, &Cell, &Cell)> =
        pairs.iter().filter(|(name, one, other)| found.cell(name, one, other)).collect();
    let is_same_hardware = submitted.host.hardware() == again.host.hardware();
    let (kind, factor) = if is_same_hardware {
        believed.iter().for_each(|(name, one, other)| found.figure(name, one, other));
        ("figures", SAME_HARDWARE)
    } else {
        found
            .not_compared
            .push("figures by themselves: this is another machine, so only ratios between stores are compared".into());
        found.ratios(&believed);
        ("ratios between stores", OTHER_HARDWARE)
    };
    if !matched.only_a.is_empty() {
        found.not_compared.push(format!("{} cells that were not made again", matched.only_a.len()));
    }
    let mut same = Vec::new();
    if found.answers > 0 {
        same.push(format!("the answers of {} cells", found.answers));
    }
    if found.figures > 0 {
        same.push(format!("{} {kind}, within {factor} times", found.figures));
    }
    let mark = match (found.differs.is_empty(), found.figures) {
        (false, _) => StudyMark::Differs,
        (true, 0) => StudyMark::AsSubmitted,
        (true, _) => StudyMark::Reproduced,
    };
    Verification {
        mark,
        kvtrial: again.kvtrial.clone(),
        machine: again.host.hardware(),
        same,
        differs: found.differs,
        not_compared: found.not_compared,
        ..Verification::default()
    }
}

impl Found {
    /// Compares verdict and answer of a cell; whether its figures may be compared, too.
    fn cell(&mut self, name: &str, one: &Cell, other: &Cell) -> bool {
        if !one.was_run() || !other.was_run() {
            self.not_compared.push(format!("{name}: it was not run"));
            return false;
        }
        if one.verdict.is_ranked() != other.verdict.is_ranked() {
            let why = other.verdict.reasons.first().or(one.verdict.reasons.first());
            let why = why.map_or(String::new(), |reason| format!(" ({})", words::meaning(reason)));
            self.differs.push(format!("{name} was {} and is {} here{why}", one.verdict.status, other.verdict.status));
            return false;
        }
        if one.is_comparable() && other.is_comparable() && !one.answer.digest.is_empty() {
            if one.answer.digest != other.answer.digest {
                self.differs
                    .push(format!("{name} answered {} and answers {} here", one.answer.digest, other.answer.digest));
                return false;
            }
            self.answers += 1;
        }
        let is_quiet = other.verdict.status == study::Status::Valid;
        if !is_quiet && other.verdict.is_ranked() {
            self.not_compared.push(format!("the figure of {name}: its trials here are {}", other.verdict.status));
        }
        is_quiet
    }

    /// Compares the figure of a cell.
    fn figure(&mut self, name: &str, one: &Cell, other: &Cell) {
        let metric = Metric::ranking(one);
        match analysis::ratio(one, other, metric).filter(|ratio| ratio.level > 0.0) {
            Some(ratio) if ratio.low > SAME_HARDWARE || ratio.high * SAME_HARDWARE < 1.0 => {
                self.differs.push(format!("{metric} of {name} is {} here", times(ratio)));
            }
            Some(_) => self.figures += 1,
            None => self.not_compared.push(format!("the figure of {name}: too few trials")),
        }
    }

    /// Compares the ratios of each list of stores to the first of it.
    fn ratios(&mut self, pairs: &[&(String, &Cell, &Cell)]) {
        let cells: Vec<&Cell> = pairs.iter().map(|(_, one, _)| *one).collect();
        let pair = |cell: &Cell| pairs.iter().find(|(_, one, _)| std::ptr::eq(*one, cell));
        for group in analysis::groups(&cells) {
            let Some((first_name, first, first_again)) = group.cells.first().and_then(|first| pair(first.cell)) else {
                continue;
            };
            if group.cells.len() == 1 {
                self.not_compared.push(format!("{first_name}: there is no other store to hold it against"));
            }
            for (name, one, other) in group.cells.iter().skip(1).filter_map(|ranked| pair(ranked.cell)) {
                let ratio = |a: &Cell, b: &Cell| analysis::ratio(a, b, group.metric).filter(|ratio| ratio.level > 0.0);
                match (ratio(first, one), ratio(first_again, other)) {
                    (Some(was), Some(is))
                        if is.low > was.high * OTHER_HARDWARE || is.high * OTHER_HARDWARE < was.low =>
                    {
                        let metric = group.metric;
                        let (was, is) = (times(was), times(is));
                        self.differs
                            .push(format!("{metric} of {name} was {was} that of {first_name} and is {is} here"));
                    }
                    (Some(_), Some(_)) => self.figures += 1,
                    _ => self.not_compared.push(format!("{name} against {first_name}: too few trials")),
                }
            }
        }
    }
}

/// A ratio with its interval, in words.
fn times(ratio: Quantity) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(words::units::ratio);
    format!("{value} ({low} to {high})")
}
