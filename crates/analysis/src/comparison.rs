//! Two cells against each other: how many times one is the other, and could that be chance?

use crate::conditions::{Condition, Difference, Weight, differences};
use crate::separation::{ALPHA, Figures, Shown, direction, lies_above};
use crate::{Better, DecisionPair, Judgement, Metric, UnlikeNeeds};
use serde::Serialize;
use stats::{Bootstrap, Detectable, Detection, Estimate, FEWEST_TRIALS, Separation};
use study::{Cell, Quantity, Reason, Status, Study, Verdict};

/// Everything `kvtrial compare` found; what its JSON holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of kvtrial that compared.
    pub kvtrial: String,
    /// The studies: one, or the one compared with and the one judged.
    pub sources: Vec<Source>,
    /// The needs of which only one of two studies has some; `None` where both have the same.
    pub unlike_needs: Option<UnlikeNeeds>,
    /// Every decision of `kvtrial choose` that both studies have.
    pub decisions: Vec<DecisionPair>,
    /// Every pair, compared or not.
    pub pairs: Vec<Pair>,
    /// Cells without a counterpart.
    pub alone: Vec<Alone>,
    /// Cells of a single study that stand in no pair: void ones, and those that were not run.
    pub void: Vec<VoidCell>,
    /// The ruling of each gate on each pair.
    pub judgements: Vec<Judgement>,
}

/// A study that was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The name of the study in every sentence: the name of its directory.
    pub name: String,
    /// The path the study was read from.
    pub path: String,
    /// Version of kvtrial that wrote it.
    pub kvtrial: String,
    /// The start of the study, RFC 3339, UTC.
    pub started_at: String,
    /// The input of the study's job; for a study of crashes, how they were made.
    pub input: String,
    /// Counted trials per cell, or crashes per level.
    pub repeats: u32,
}

/// A cell without a counterpart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alone {
    /// The study that has it.
    pub source: String,
    /// The cell.
    pub cell: String,
}

/// A cell that is void or was not run, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VoidCell {
    /// The cell.
    pub cell: String,
    /// `void` or `not_run`.
    pub status: Status,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// Two cells to be compared.
#[derive(Clone, Debug)]
pub struct Candidates<'a> {
    /// The name of both cells, where it is the same: `redis`; empty where the names of the two differ.
    pub cell: String,
    /// The cell to compare with.
    pub a: ComparedCell<'a>,
    /// The cell to judge.
    pub b: ComparedCell<'a>,
    /// Parameters the user named for these cells: that they differ is what is asked about.
    pub named: Vec<String>,
}

/// A cell as one side of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedCell<'a> {
    /// The name of the cell in sentences about the pair.
    pub name: String,
    /// The study it is from, for the conditions it was measured under.
    pub study: &'a Study,
    /// The cell.
    pub cell: &'a Cell,
}

/// The comparisons to make although the cells are not alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Across classes and durability levels (`--across`).
    pub across: Across,
    /// Whether to compare across other input, parameters, machine or instrument (`--anyway`).
    pub unlike: Unlike,
}

/// The rule for cells of another class or durability level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Across {
    /// Such cells are not compared.
    #[default]
    Refuse,
    /// Such cells are compared, and the difference is named.
    Compare,
}

/// The rule for cells measured under other conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unlike {
    /// Such cells are not compared.
    #[default]
    Refuse,
    /// Such cells are compared, and the difference is named.
    Compare,
}

/// A metric of two cells, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// The figure.
    #[serde(serialize_with = "field_name")]
    pub metric: Metric,
    /// The first cell's, with its interval.
    pub a: Quantity,
    /// The second cell's.
    pub b: Quantity,
    /// The second as a multiple of the first, with its interval; `None` where a figure is 0 or neither percentile was reached.
    pub ratio: Option<Quantity>,
    /// The p-value: how often chance alone would show such a difference ([`stats::separations`]); 1 where there are too few trials to say.
    pub p: f64,
    /// The same, corrected for all cells compared by this metric (Holm).
    pub p_holm: f64,
    /// The finding.
    pub finding: Compared,
    /// The smallest difference these trials would have shown 9 times in 10, as a share (0.04: 4 %); `None` where nothing is
    /// known of the spread, or no difference could be shown.
    pub smallest_detectable: Option<f64>,
    /// The figures of the trials of both cells, for gates to test against their bounds.
    #[serde(skip)]
    pub samples: [Vec<f64>; 2],
}

/// The finding of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// The second cell is better, and that is hardly chance.
    Better,
    /// The second cell is worse, and that is hardly chance.
    Worse,
    /// No difference was shown.
    NoDifference,
    /// Too few trials: they cannot show any difference, however large.
    TooFew {
        /// Repeats of each cell that can.
        repeats_needed: u32,
    },
}

/// Two cells, compared or not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The name of both cells, where it is the same; else empty.
    pub cell: String,
    /// The first cell's name: what is compared with.
    pub a: String,
    /// The second cell's name: what is judged.
    pub b: String,
    /// The metric both are ranked by.
    #[serde(serialize_with = "field_name")]
    pub measure: Metric,
    /// The first cell's verdict.
    pub verdict_a: Verdict,
    /// The second cell's verdict.
    pub verdict_b: Verdict,
    /// The other differences between the two cells.
    pub differences: Vec<Difference>,
    /// Why they are not compared; then `contrasts` is empty.
    pub obstacle: Option<Obstacle>,
    /// Every metric both cells have, in the order of [`Metric::ALL`].
    pub contrasts: Vec<Contrast>,
}

/// Why two cells are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// The first cell is void.
    VoidA,
    /// The second cell is void.
    VoidB,
    /// The first cell was not run.
    NotRunA,
    /// The second cell was not run.
    NotRunB,
    /// Another class or durability level, without `--across`.
    Across,
    /// Other input, parameters, machine or instrument, without `--anyway`.
    Unlike,
    /// The cells have no figure in common.
    NoFigures,
}

impl Pair {
    /// Returns the pair in a few words: `redis`, or `redis-unix against redis`.
    pub fn title(&self) -> String {
        if self.cell.is_empty() { format!("{} against {}", self.b, self.a) } else { self.cell.clone() }
    }

    /// Returns the comparison by the metric both cells are ranked by.
    pub fn headline(&self) -> Option<&Contrast> {
        self.contrast(self.measure)
    }

    /// Returns the comparison by a metric.
    pub fn contrast(&self, metric: Metric) -> Option<&Contrast> {
        self.contrasts.iter().find(|contrast| contrast.metric == metric)
    }
}

/// Compares every pair by these metrics. P-values are corrected (Holm) over all pairs compared by the same metric, so that the chance
/// of a single false difference among them is at most [`ALPHA`].
///
/// A difference is found as places are given ([`separate`](crate::separate)): when the corrected p-value is below [`ALPHA`] and 1 lies
/// outside the interval of the ratio. Void cells
/// are never compared; cells that are not alike only as far as `allowed`. Cost: about 3 ms per pair and metric at 10 repeats.
pub fn compare(pairs: &[Candidates<'_>], metrics: &[Metric], allowed: Allowed) -> Vec<Pair> {
    let mut compared: Vec<Pair> = pairs.iter().map(|both| pair(both, allowed)).collect();
    for &metric in metrics {
        let mut raw: Vec<(usize, Contrast)> = Vec::new();
        for (at, both) in pairs.iter().enumerate() {
            if compared[at].obstacle.is_none()
                && let Some(contrast) = contrast(both.a.cell, both.b.cell, metric)
            {
                raw.push((at, contrast));
            }
        }
        let cells: Vec<(&Cell, &Cell)> = raw.iter().map(|(at, _)| (pairs[*at].a.cell, pairs[*at].b.cell)).collect();
        let separations = Figures::of(&cells, metric).separations();
        let alpha = ALPHA / raw.len().max(1) as f64;
        for ((at, mut contrast), found) in raw.into_iter().zip(separations) {
            conclude(&mut contrast, found, alpha);
            compared[at].contrasts.push(contrast);
        }
    }
    for pair in &mut compared {
        if pair.obstacle.is_none() && pair.contrasts.is_empty() {
            pair.obstacle = Some(Obstacle::NoFigures);
        }
    }
    compared
}

fn pair(both: &Candidates<'_>, allowed: Allowed) -> Pair {
    let (a, b) = (&both.a, &both.b);
    let differences = differences((a.study, a.cell), (b.study, b.cell));
    let asked = |it: &Difference| it.condition == Condition::Params && both.named.contains(&it.fact);
    let weighs = |weight| differences.iter().any(|it| it.weight() == weight && !asked(it));
    let obstacle = match (a.cell.verdict.status, b.cell.verdict.status) {
        (_, Status::Void) => Some(Obstacle::VoidB),
        (Status::Void, _) => Some(Obstacle::VoidA),
        (_, Status::NotRun) => Some(Obstacle::NotRunB),
        (Status::NotRun, _) => Some(Obstacle::NotRunA),
        _ if weighs(Weight::Forbids) && allowed.unlike == Unlike::Refuse => Some(Obstacle::Unlike),
        _ if weighs(Weight::Across) && allowed.across == Across::Refuse => Some(Obstacle::Across),
        _ => None,
    };
    Pair {
        cell: both.cell.clone(),
        a: a.name.clone(),
        b: b.name.clone(),
        measure: Metric::ranking(b.cell),
        verdict_a: a.cell.verdict.clone(),
        verdict_b: b.cell.verdict.clone(),
        differences,
        obstacle,
        contrasts: Vec::new(),
    }
}

/// The figures of both cells and their ratio, not yet judged.
fn contrast(a: &Cell, b: &Cell, metric: Metric) -> Option<Contrast> {
    let (of_a, of_b) = (metric.samples(a), metric.samples(b));
    Some(Contrast {
        metric,
        a: metric.of_cell(a)?,
        b: metric.of_cell(b)?,
        ratio: ratio(a, b, metric),
        p: 1.0,
        p_holm: 1.0,
        finding: Compared::NoDifference,
        smallest_detectable: None,
        samples: [of_a, of_b],
    })
}

/// Returns how many times the second cell's figure is the first's: the ratio of the medians of their trials with its interval. Of figures
/// of all trials together the ratio is theirs, and the interval is made wider where it does not hold that; infinite where only the second
/// was not reached, 0 where only the first was not. `None` where a figure is 0 or unknown, or neither was reached.
pub fn ratio(a: &Cell, b: &Cell, metric: Metric) -> Option<Quantity> {
    let of_trials = of_estimate(stats::median_ratio(&metric.samples(b), &metric.samples(a), Bootstrap::default())?);
    if !metric.is_of_all_trials() {
        return Some(of_trials);
    }
    let (a, b) = (metric.of_cell(a)?, metric.of_cell(b)?);
    let value = b.value / a.value;
    let (low, high) = match a.high.is_finite() && b.high.is_finite() {
        true => (of_trials.low, of_trials.high),
        // Some trial did not reach it: the ends are as far apart as any two trials.
        false => (b.low / a.high, b.high / a.low),
    };
    let or = |end: f64, other: f64| if end.is_nan() { other } else { end };
    let (low, high) = (or(low, 0.0).min(value), or(high, f64::INFINITY).max(value));
    (!value.is_nan()).then_some(Quantity { value, low, high, ..of_trials })
}

fn conclude(contrast: &mut Contrast, found: Option<Separation>, alpha: f64) {
    let [a, b] = &contrast.samples;
    let detection = Detection { alpha, ..Detection::default() };
    contrast.smallest_detectable = match detection.smallest(a, b) {
        Some(Detectable::Ratio(ratio)) => Some(ratio - 1.0),
        _ => None,
    };
    if let Some(found) = found {
        (contrast.p, contrast.p_holm) = (found.p, found.p_holm);
    }
    // Where a figure is 0 there is no ratio, and the trials alone say it.
    let larger = || contrast.ratio.map_or_else(|| lies_above(b, a), |ratio| ratio.low > 1.0);
    let smaller = || contrast.ratio.map_or_else(|| lies_above(a, b), |ratio| ratio.high < 1.0);
    let shown = match found.and_then(direction) {
        Some(Shown::Larger) if larger() => Some(Better::Higher),
        Some(Shown::Smaller) if smaller() => Some(Better::Lower),
        _ => None,
    };
    contrast.finding = match shown {
        Some(way) if way == contrast.metric.better() => Compared::Better,
        Some(_) => Compared::Worse,
        None if a.len().min(b.len()) < FEWEST_TRIALS => Compared::TooFew { repeats_needed: FEWEST_TRIALS as u32 },
        None => Compared::NoDifference,
    };
}

pub(crate) fn of_estimate(estimate: Estimate) -> Quantity {
    Quantity {
        value: estimate.value,
        low: estimate.low,
        high: estimate.high,
        level: estimate.level,
        n: estimate.n as u32,
    }
}

fn field_name<S: serde::Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.field())
}
