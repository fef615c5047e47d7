//! Conditions under which a comparison fails: `p99 > +5%`, `ops_per_s < -3%`, `p99 > 2ms`.

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
    /// As it was written.
    pub text: String,
    /// The figure it is about.
    pub metric: Metric,
    /// Which side of the bound fails.
    pub fails: Fails,
    /// The bound.
    pub bound: Bound,
}

/// Which side of a bound fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// `>`
    Above,
    /// `<`
    Below,
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A multiple of the other cell's figure: 1.05 for `+5%`.
    Ratio(f64),
    /// A figure, in the unit of the metric.
    Figure(f64),
}

/// A gate that cannot be read, and how to write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--fail-if '{gate}': {problem}")]
pub struct GateError {
    /// As it was written.
    pub gate: String,
    /// What is wrong and what to write instead.
    pub problem: String,
}

/// What a gate says of one cell or pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The gate as it was written.
    pub gate: String,
    /// The cell or pair judged.
    pub cell: String,
    /// The ratio or figure that was held against the bound.
    pub seen: Option<Quantity>,
    /// What follows.
    pub outcome: Outcome,
}

/// What follows from a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The figure was not shown to be beyond the bound.
    Kept,
    /// The whole interval lies beyond the bound: the near end is past it.
    Broken,
    /// This cell has no such figure, is void, or was not run; other cells decide.
    NotApplicable {
        /// Why.
        reason: String,
    },
    /// So few repeats can never show it.
    TooFew {
        /// Repeats that can.
        repeats_needed: u32,
    },
}

impl Gate {
    /// Judges a pair: the second cell against the first by a ratio, or the second cell alone by a figure.
    pub fn judge(&self, pair: &Pair) -> Judgement {
        let contrast = pair.contrast(self.metric);
        let seen = match self.bound {
            Bound::Ratio(_) => contrast.and_then(|contrast| contrast.ratio),
            Bound::Figure(_) => contrast.map(|contrast| contrast.b),
        };
        let outcome = match (pair.obstacle, seen) {
            (Some(_), _) => not_applicable("these cells are not compared"),
            (None, None) => not_applicable(&format!("there is no {} to compare", self.metric)),
            (None, Some(seen)) => self.decide(seen),
        };
        Judgement { gate: self.text.clone(), cell: pair.title(), seen, outcome }
    }

    /// Judges one cell by itself; a ratio has nothing to be a ratio to.
    pub fn judge_cell(&self, name: &str, cell: &Cell) -> Judgement {
        let seen = self.metric.of_cell(cell).filter(|_| matches!(self.bound, Bound::Figure(_)));
        let outcome = match seen {
            _ if cell.verdict.status == Status::NotRun => not_applicable("the cell was not run"),
            _ if !cell.verdict.is_ranked() => not_applicable("the cell is void"),
            None => not_applicable(&format!("there is no {}", self.metric)),
            Some(seen) => self.decide(seen),
        };
        Judgement { gate: self.text.clone(), cell: name.into(), seen, outcome }
    }

    fn decide(&self, seen: Quantity) -> Outcome {
        let repeats_needed = self.least_repeats();
        if seen.n < repeats_needed {
            return Outcome::TooFew { repeats_needed };
        }
        let (Bound::Ratio(bound) | Bound::Figure(bound)) = self.bound;
        let broken = match self.fails {
            Fails::Above => seen.low > bound,
            Fails::Below => seen.high < bound,
        };
        if broken { Outcome::Broken } else { Outcome::Kept }
    }

    /// The least repeats whose interval can have [`GATE_LEVEL`].
    fn least_repeats(&self) -> u32 {
        match self.bound {
            Bound::Ratio(_) => stats::least_repeats(1.0 - GATE_LEVEL) as u32,
            // The interval of a median reaches from the smallest to the largest of n trials: 1 - 2^(1-n).
            Bound::Figure(_) => (2..64).find(|n| 1.0 - 0.5f64.powi(n - 1) >= GATE_LEVEL).unwrap_or(6) as u32,
        }
    }
}

fn not_applicable(reason: &str) -> Outcome {
    Outcome::NotApplicable { reason: reason.into() }
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
        let shape = "write METRIC > BOUND or METRIC < BOUND, such as 'p99 > +5%', 'ops_per_s < -3%' or 'p99 > 2ms'";
        let at = text.find(['<', '>']).ok_or_else(|| fail(shape.into()))?;
        let (name, rest) = text.split_at(at);
        let fails = if rest.starts_with('>') { Fails::Above } else { Fails::Below };
        let metric = Metric::named(name.trim()).ok_or_else(|| {
            let all: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
            fail(format!("'{}' is no metric; there are: {}", name.trim(), all.join(", ")))
        })?;
        let bound = rest[1..].trim();
        if bound.starts_with('=') || bound.is_empty() {
            return Err(fail(shape.into()));
        }
        let bound = match bound.strip_suffix('%') {
            Some(percent) => Bound::Ratio(ratio(percent.trim(), fails).map_err(fail)?),
            None => Bound::Figure(figure(bound, metric.unit()).map_err(fail)?),
        };
        Ok(Gate { text: text.trim().to_owned(), metric, fails, bound })
    }
}

fn ratio(percent: &str, fails: Fails) -> Result<f64, String> {
    let signed = percent.starts_with(['+', '-']);
    let number: f64 = percent.parse().map_err(|_| format!("'{percent}%' is no share; write +5% or -5%"))?;
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

fn figure(text: &str, unit: Unit) -> Result<f64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/').trim_end();
    let (factors, example): (&[(&str, f64)], &str) = match unit {
        Unit::Seconds => (&[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)], "1.5s"),
        Unit::Nanoseconds => (&[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)], "2ms or +5%"),
        Unit::PerSecond => (&[("", 1.0), ("/s", 1.0), ("k", 1e3), ("k/s", 1e3), ("M", 1e6), ("M/s", 1e6)], "50k"),
        Unit::Bytes => (
            &[
                ("B", 1.0),
                ("kB", 1e3),
                ("MB", 1e6),
                ("GB", 1e9),
                ("KiB", 1024.0),
                ("MiB", 1048576.0),
                ("GiB", 1073741824.0),
            ],
            "64MiB",
        ),
    };
    let suffix = text[digits.len()..].trim();
    let known = || factors.iter().map(|(unit, _)| *unit).filter(|unit| !unit.is_empty()).collect::<Vec<_>>().join(", ");
    let number: f64 =
        digits.parse().map_err(|_| format!("'{text}' is no bound; write a number and a unit, such as {example}"))?;
    let Some((_, factor)) = factors.iter().find(|(unit, _)| *unit == suffix) else {
        return Err(format!("'{text}' needs one of the units {}, such as {example}", known()));
    };
    if number.is_finite() && number > 0.0 {
        Ok(number * factor)
    } else {
        Err(format!("'{text}': use a bound above 0, such as {example}; for a change write +5% or -5%"))
    }
}
