//! Conditions under which a comparison fails: `p99 > +5%`, `ops_per_s < -3%`, `p99 > 2ms`.

use crate::amount::{amount, share};
use crate::comparison::Contrast;
use crate::separation::ALPHA;
use crate::{Metric, Pair, Unit};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use study::{Cell, Quantity, Status};

/// Coverage an interval must have before a gate believes it.
pub const GATE_LEVEL: f64 = 0.95;

/// A condition that fails a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The gate as it was written.
    pub text: String,
    /// The figure it is about.
    pub metric: Metric,
    /// The side of the threshold that fails.
    pub fails: Fails,
    /// The threshold for the figure.
    pub threshold: Threshold,
}

/// The side of a threshold that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// `>`
    Above,
    /// `<`
    Below,
}

/// The edge of a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A multiple of the other cell's figure: 1.05 for `+5%`.
    Ratio(f64),
    /// A figure, in the unit of the metric.
    Figure(f64),
}

/// A gate that cannot be read, and how to write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--fail-if '{gate}': {problem}")]
pub struct GateError {
    /// The gate as it was written.
    pub gate: String,
    /// The problem, and what to write instead.
    pub problem: String,
}

/// A gate's ruling on one cell or pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The gate as it was written.
    pub gate: String,
    /// The cell or pair judged.
    pub cell: String,
    /// The ratio or figure that was held against the threshold.
    pub seen: Option<Quantity>,
    /// The p-value: how often chance alone would show the figure so far beyond the threshold, were the true value at the threshold:
    /// one-sided, by ranks for a share, by signs for a figure.
    pub p: Option<f64>,
    /// The same, corrected for all cells judged by all gates (Holm).
    pub p_holm: Option<f64>,
    /// The ruling.
    pub outcome: Ruling,
}

/// The ruling of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The figure was not shown to be beyond the threshold.
    Kept,
    /// Nothing was shown, and a difference as large as the threshold could not have been seen either.
    TooNoisy {
        /// The least that could, as a share of the other cell's figure: 0.54 for +54 %, -0.35 for -35 %.
        could_have_seen: f64,
    },
    /// The whole interval lies beyond the threshold, and among all cells judged that is hardly chance.
    Broken,
    /// This cell has no such figure, is void, or was not run; other cells decide.
    NotApplicable {
        /// Why.
        reason: String,
    },
    /// Too few repeats to decide.
    TooFew {
        /// Repeats that can.
        repeats_needed: u32,
    },
}

/// The result of a gate that the trials are too noisy to judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Noisy {
    /// The gate is reported, and fails nothing.
    #[default]
    Pass,
    /// The gate fails, as a broken one does.
    Fail,
}

impl Ruling {
    /// Returns whether it fails the comparison.
    pub fn fails(&self, noisy: Noisy) -> bool {
        match self {
            Ruling::Broken => true,
            Ruling::TooNoisy { .. } => noisy == Noisy::Fail,
            Ruling::Kept | Ruling::NotApplicable { .. } | Ruling::TooFew { .. } => false,
        }
    }
}

/// Judges every pair by every gate: the second cell against the first by a ratio, or the second cell alone by a figure. All
/// judgements are corrected for their number, so that the chance of a single false alarm among them is below [`ALPHA`].
pub fn judge(gates: &[Gate], pairs: &[Pair]) -> Vec<Judgement> {
    concluded(gates.iter().flat_map(|gate| pairs.iter().map(|pair| gate.case(pair))).collect())
}

/// Judges every cell by every gate, by itself; a gate on a ratio does not apply, for lack of a second cell. Corrected as in [`judge`].
pub fn judge_cells(gates: &[Gate], cells: &[(String, &Cell)]) -> Vec<Judgement> {
    concluded(gates.iter().flat_map(|gate| cells.iter().map(|(name, cell)| gate.case_of_cell(name, cell))).collect())
}

/// A judgement to be made.
struct Case<'g> {
    gate: &'g Gate,
    cell: String,
    state: Result<Evidence, String>,
}

/// What a judgement rests on.
struct Evidence {
    seen: Quantity,
    p: f64,
    /// The least `p` that this number of trials can show.
    least_p: f64,
    /// The smallest ratio that would have been found, above 1; `None` where that is not known, and of a figure.
    detectable: Option<f64>,
}

fn concluded(cases: Vec<Case<'_>>) -> Vec<Judgement> {
    let raw: Vec<f64> = cases.iter().filter_map(|case| Some(case.state.as_ref().ok()?.p)).collect();
    let mut corrected = stats::holm(&raw).into_iter();
    let decide = |case: Case<'_>| match case.state {
        Err(reason) => Judgement {
            gate: case.gate.text.clone(),
            cell: case.cell,
            seen: None,
            p: None,
            p_holm: None,
            outcome: Ruling::NotApplicable { reason },
        },
        Ok(evidence) => {
            let p_holm = corrected.next().unwrap_or(1.0);
            Judgement {
                gate: case.gate.text.clone(),
                cell: case.cell,
                seen: Some(evidence.seen),
                p: Some(evidence.p),
                p_holm: Some(p_holm),
                outcome: case.gate.decide(&evidence, p_holm, raw.len()),
            }
        }
    };
    cases.into_iter().map(decide).collect()
}

impl Gate {
    fn case(&self, pair: &Pair) -> Case<'_> {
        let contrast = pair.contrast(self.metric);
        let evidence = |contrast: &Contrast| {
            let [a, b] = &contrast.samples;
            match self.threshold {
                Threshold::Ratio(threshold) => {
                    let evidence = self.of_ratio(contrast.ratio?, a, b, threshold)?;
                    Some(Evidence { detectable: contrast.smallest_detectable.map(|share| 1.0 + share), ..evidence })
                }
                Threshold::Figure(threshold) => self.of_figure(contrast.b, b, threshold),
            }
        };
        let state = match (pair.obstacle, contrast) {
            (Some(_), _) => Err("these cells are not compared".into()),
            (None, contrast) => {
                contrast.and_then(evidence).ok_or_else(|| format!("there is no {} to compare", self.metric))
            }
        };
        Case { gate: self, cell: pair.title(), state }
    }

    fn case_of_cell(&self, name: &str, cell: &Cell) -> Case<'_> {
        let evidence = || match self.threshold {
            Threshold::Ratio(_) => None,
            Threshold::Figure(threshold) => {
                self.of_figure(self.metric.of_cell(cell)?, &self.metric.samples(cell), threshold)
            }
        };
        let state = match cell.verdict.status {
            Status::NotRun => Err("the cell was not run".into()),
            _ if !cell.verdict.is_ranked() => Err("the cell is void".into()),
            _ => evidence().ok_or_else(|| format!("there is no {}", self.metric)),
        };
        Case { gate: self, cell: name.into(), state }
    }

    /// Were the true ratio the threshold, the second cell's trials would rank like the first's times the threshold.
    fn of_ratio(&self, seen: Quantity, a: &[f64], b: &[f64], threshold: f64) -> Option<Evidence> {
        let at_threshold: Vec<f64> = a.iter().map(|figure| figure * threshold).collect();
        let p = match self.fails {
            Fails::Above => stats::rank_test_above(b, &at_threshold),
            Fails::Below => stats::rank_test_above(&at_threshold, b),
        }?;
        let regroupings: f64 = (1..=a.len()).map(|i| (b.len() + i) as f64 / i as f64).product();
        Some(Evidence { seen, p, least_p: 1.0 / regroupings, detectable: None })
    }

    /// Were the true median the threshold, as many trials would lie on either side of it.
    fn of_figure(&self, seen: Quantity, figures: &[f64], threshold: f64) -> Option<Evidence> {
        let p = match self.fails {
            Fails::Above => stats::sign_test_above(figures, threshold),
            Fails::Below => {
                stats::sign_test_above(&figures.iter().map(|figure| -figure).collect::<Vec<_>>(), -threshold)
            }
        }?;
        Some(Evidence { seen, p, least_p: 0.5f64.powi(figures.len() as i32), detectable: None })
    }

    fn decide(&self, evidence: &Evidence, p_holm: f64, judgements: usize) -> Ruling {
        let seen = evidence.seen;
        let repeats_needed = self.least_repeats(judgements);
        if seen.n < self.least_repeats(1) || evidence.least_p * judgements as f64 >= ALPHA {
            return Ruling::TooFew { repeats_needed };
        }
        let (Threshold::Ratio(threshold) | Threshold::Figure(threshold)) = self.threshold;
        let beyond = match self.fails {
            Fails::Above => seen.low > threshold,
            Fails::Below => seen.high < threshold,
        };
        if beyond && p_holm < ALPHA {
            return Ruling::Broken;
        }
        self.unseen(evidence).map_or(Ruling::Kept, |could_have_seen| Ruling::TooNoisy { could_have_seen })
    }

    /// What could have been seen, where that is more than the threshold asks for, and the figure was not shown to keep the threshold
    /// either. A threshold of no change asks for no size.
    fn unseen(&self, evidence: &Evidence) -> Option<f64> {
        let Threshold::Ratio(threshold) = self.threshold else { return None };
        let is_kept = match self.fails {
            Fails::Above => evidence.seen.high <= threshold,
            Fails::Below => evidence.seen.low >= threshold,
        };
        let least = evidence.detectable?;
        let asked = threshold.max(1.0 / threshold);
        if is_kept || asked == 1.0 || least <= asked {
            return None;
        }
        Some(if threshold > 1.0 { least - 1.0 } else { 1.0 / least - 1.0 })
    }

    /// The fewest repeats that can fail one of this many judgements: their interval can have [`GATE_LEVEL`], and the least p-value
    /// they can show is below [`ALPHA`] after correction.
    fn least_repeats(&self, judgements: usize) -> u32 {
        let alone = match self.threshold {
            Threshold::Ratio(_) => stats::least_repeats(1.0 - GATE_LEVEL) as u32,
            // The interval of a median reaches from the smallest to the largest of n trials: 1 - 2^(1-n).
            Threshold::Figure(_) => (2..64).find(|n| 1.0 - 0.5f64.powi(n - 1) >= GATE_LEVEL).unwrap_or(6) as u32,
        };
        let alpha = ALPHA / judgements.max(1) as f64;
        let among = match self.threshold {
            Threshold::Ratio(_) => stats::least_repeats(2.0 * alpha) as u32, // one-sided
            Threshold::Figure(_) => (1..64).find(|n| 0.5f64.powi(*n) < alpha).unwrap_or(64) as u32,
        };
        alone.max(among)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Gate, GateError> {
        let fail = |problem: String| GateError { gate: text.to_owned(), problem };
        let shape = "write METRIC > BOUND or METRIC < BOUND, such as 'p99 > +5%', 'ops_per_s < -3%' or 'p99 > 2ms', or decision";
        let at = text.find(['<', '>']).ok_or_else(|| fail(shape.into()))?;
        let (name, rest) = text.split_at(at);
        let fails = if rest.starts_with('>') { Fails::Above } else { Fails::Below };
        let metric = Metric::named(name.trim()).ok_or_else(|| {
            let all: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
            fail(format!("'{}' is not a metric; use one of: {}", name.trim(), all.join(", ")))
        })?;
        let written = rest[1..].trim();
        if written.starts_with('=') || written.is_empty() {
            return Err(fail(shape.into()));
        }
        let threshold = match written.strip_suffix('%') {
            // A share is itself written in percent; only with a sign it is a change of one.
            Some(percent) if metric.unit() == Unit::Share && !written.starts_with(['+', '-']) => {
                Threshold::Figure(share(percent.trim()).map_err(fail)?)
            }
            Some(percent) => Threshold::Ratio(ratio(percent.trim(), fails).map_err(fail)?),
            None => {
                let or_change = |problem| fail(format!("{problem}; for a change write +5% or -5%"));
                Threshold::Figure(amount(written, metric.unit()).map_err(or_change)?)
            }
        };
        Ok(Gate { text: text.trim().to_owned(), metric, fails, threshold })
    }
}

fn ratio(percent: &str, fails: Fails) -> Result<f64, String> {
    let signed = percent.starts_with(['+', '-']);
    let number: f64 = percent.parse().map_err(|_| format!("'{percent}%' is not a share; write +5% or -5%"))?;
    if !signed {
        return Err(format!("say which way: +{percent}% or -{percent}% against the first cell"));
    }
    let ratio = 1.0 + number / 100.0;
    match fails {
        _ if !number.is_finite() => Err("use a finite share, such as +5%".into()),
        Fails::Below if ratio <= 0.0 => {
            Err("nothing can fall by 100 % or more; use a smaller share, such as -50%".into())
        }
        Fails::Above if ratio <= 0.0 => Err("every figure is above that; use a share above -100%, such as +5%".into()),
        _ => Ok(ratio),
    }
}
