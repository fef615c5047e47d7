//! Which cells are shown to differ: the one rule behind places in a table, marks in a sweep, headlines and comparisons.

use crate::Metric;
use stats::{Bootstrap, FEWEST_TRIALS, Separation, TrialFigures};
use std::collections::HashMap;
use study::Cell;

/// A difference is called real where the corrected p-value is below this.
pub const ALPHA: f64 = 0.05;

/// The order that the trials of two cells show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The second cell's figure is the larger one.
    Larger,
    /// The second cell's figure is the smaller one.
    Smaller,
    /// No difference.
    Nothing,
    /// Fewer trials than [`stats::FEWEST_TRIALS`] show no difference, however large.
    TooFew,
}

/// Returns the order shown for each of these pairs, all of them together: the chance that any two equal cells among them are shown to
/// differ is at most [`ALPHA`].
///
/// Two cells are shown to differ when the corrected p-value of [`stats::separations`] is below [`ALPHA`] and 1 lies outside the
/// interval of the ratio of their medians ([`stats::median_ratio`]), on the same side.
pub fn separate(pairs: &[(&Cell, &Cell)], metric: Metric) -> Vec<Shown> {
    let figures = Figures::of(pairs, metric);
    let found = figures.separations();
    found.iter().zip(&figures.pairs).map(|(found, &(a, b))| figures.shown(*found, a, b)).collect()
}

/// The trials of cells that are compared.
pub(crate) struct Figures {
    /// Of each distinct cell.
    samples: Vec<(Vec<f64>, f64)>,
    pairs: Vec<(usize, usize)>,
}

impl Figures {
    pub fn of(pairs: &[(&Cell, &Cell)], metric: Metric) -> Figures {
        let mut known: HashMap<*const Cell, usize> = HashMap::new();
        let mut samples = Vec::new();
        let mut index = |cell: &Cell| {
            *known.entry(std::ptr::from_ref(cell)).or_insert_with(|| {
                let figures = metric.positive_samples(cell);
                let step = stats::median(&figures).map_or(0.0, |typical| metric.step(typical));
                samples.push((figures, step));
                samples.len() - 1
            })
        };
        let pairs = pairs.iter().map(|(a, b)| (index(a), index(b))).collect();
        Figures { samples, pairs }
    }

    /// Returns what the trials say of each pair, corrected for all of them.
    pub fn separations(&self) -> Vec<Option<Separation>> {
        let groups: Vec<TrialFigures<'_>> =
            self.samples.iter().map(|(figures, step)| TrialFigures { figures, step: *step }).collect();
        stats::separations(&groups, &self.pairs)
    }

    fn shown(&self, found: Option<Separation>, a: usize, b: usize) -> Shown {
        let (a, b) = (&self.samples[a].0, &self.samples[b].0);
        if a.len().min(b.len()) < FEWEST_TRIALS {
            return Shown::TooFew;
        }
        match found.and_then(direction) {
            Some(Shown::Larger) if lies_above(b, a) => Shown::Larger,
            Some(Shown::Smaller) if lies_above(a, b) => Shown::Smaller,
            _ => Shown::Nothing,
        }
    }
}

/// Returns which way a pair differs, as far as its corrected p-value says; `None` where it says nothing.
pub(crate) fn direction(found: Separation) -> Option<Shown> {
    (found.p_holm < ALPHA).then_some(if found.log_ratio > 0.0 { Shown::Larger } else { Shown::Smaller })
}

/// Returns whether the interval of the ratio of medians lies above 1.
pub(crate) fn lies_above(larger: &[f64], smaller: &[f64]) -> bool {
    let least = larger.iter().copied().fold(f64::INFINITY, f64::min);
    let most = smaller.iter().copied().fold(0.0, f64::max);
    // The widest interval there is reaches from the least of the one over the most of the other.
    least > most || stats::median_ratio(larger, smaller, Bootstrap::default()).is_some_and(|ratio| ratio.low > 1.0)
}
