//! What the tables and plots of a sweep show of a cell.

use analysis::Metric;
use std::cmp::Ordering;
use study::{Cell, Quantity};
use words::units;

/// One of its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// The time of the job, in seconds.
    Time,
    /// Operations per second.
    Rate,
    /// The 99th percentile of response time, in nanoseconds.
    P99,
}

impl Figure {
    /// Returns the name of the figure, as columns are headed.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Figure::Time => "TIME",
            Figure::Rate => "OP/S",
            Figure::P99 => "P99",
        }
    }

    /// Returns the figure of a cell.
    pub(crate) fn of(self, cell: &Cell) -> Option<Quantity> {
        match self {
            Figure::Time => cell.makespan_s,
            Figure::Rate => cell.ops_per_s,
            Figure::P99 => cell.p99_ns,
        }
    }

    /// Returns the metric of the figure.
    pub(crate) fn metric(self) -> Metric {
        match self {
            Figure::Time => Metric::Makespan,
            Figure::Rate => Metric::OpsPerS,
            Figure::P99 => Metric::P99,
        }
    }

    /// Returns the name of the best of several.
    pub(crate) fn best(self) -> &'static str {
        match self {
            Figure::Time | Figure::P99 => "lowest",
            Figure::Rate => "highest",
        }
    }

    /// Less is the better one.
    pub(crate) fn better(self, a: f64, b: f64) -> Ordering {
        match self {
            Figure::Time | Figure::P99 => a.total_cmp(&b),
            Figure::Rate => b.total_cmp(&a),
        }
    }

    /// Returns the value as people read it.
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            Figure::Time => units::duration(value),
            Figure::Rate => units::count(value),
            Figure::P99 => units::duration(value * 1e-9),
        }
    }
}
