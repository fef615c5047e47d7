//! Why a study may not be published.

use crate::figures;
use crate::origin;
use crate::private::{self, OwnNames};
use crate::recipe::Recipe;
use crate::trials;
use std::fmt;
use study::{SCHEMA, Study};

/// A reason not to publish a study, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// It was written in another schema.
    Schema {
        /// The schema.
        found: u32,
    },
    /// It has no cells.
    Empty,
    /// Not one cell has a figure.
    NothingValid {
        /// Its cells.
        cells: usize,
    },
    /// There is no self-test.
    NoSelftest,
    /// The self-test did not pass, or what it says of itself does not agree.
    Selftest {
        /// The proofs that do not hold.
        proofs: Vec<String>,
    },
    /// It does not say what machine it was made on.
    Host {
        /// The facts that are missing.
        missing: Vec<&'static str>,
    },
    /// Its command cannot be repeated by others.
    Command {
        /// Why not.
        why: String,
    },
    /// A figure is not what the trials make.
    Figure {
        /// The figure, as a path in `study.json`.
        place: String,
        /// What stands there.
        written: String,
        /// What the trials make.
        made: String,
    },
    /// Something in it is nobody's business.
    Private {
        /// Where it is, as a path in `study.json`.
        place: String,
        /// What it is.
        what: String,
    },
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objection::Schema { found } => write!(
                f,
                "it has schema {found}, and only studies of schema {SCHEMA} are published: measure again with this kvtrial"
            ),
            Objection::Empty => write!(f, "it has no cells: publish a study of kvtrial run, choose or tune"),
            Objection::NothingValid { cells } => {
                write!(
                    f,
                    "none of its {cells} cells is valid or degraded, so there is no figure to show: see why with kvtrial report"
                )
            }
            Objection::NoSelftest => {
                write!(f, "there is no self-test in it: run kvtrial selftest on that machine, then measure again")
            }
            Objection::Selftest { proofs } => write!(
                f,
                "its self-test did not pass ({}): run kvtrial selftest on that machine, do what it says, then measure again",
                proofs.join(", ")
            ),
            Objection::Host { missing } => {
                write!(f, "it does not say of its machine: {}. Measure again with this kvtrial", missing.join(", "))
            }
            Objection::Command { why } => write!(f, "its command cannot be repeated by others: {why}"),
            Objection::Figure { place, written, made } => write!(
                f,
                "{place} is {written}, and the trials make {made}: figures are published as they were measured. Restore the study from a copy, \
                 or measure again"
            ),
            Objection::Private { place, what } => write!(
                f,
                "{place} has {what}: measure without it, or, where it is only words, write others there in study.json"
            ),
        }
    }
}

/// Returns every reason not to publish a study that was written in this schema; none: it may be published.
pub fn objections(study: &Study, schema: u32, own: &OwnNames) -> Vec<Objection> {
    if schema != SCHEMA {
        return vec![Objection::Schema { found: schema }];
    }
    let mut found = Vec::new();
    let measured = study.cells.iter().filter(|cell| !cell.baseline);
    let ranked = measured.clone().filter(|cell| cell.was_run() && cell.verdict.is_ranked()).count();
    match study.cells.len() {
        0 => found.push(Objection::Empty),
        cells if ranked == 0 => found.push(Objection::NothingValid { cells }),
        _ => {}
    }
    found.extend(origin::selftest(study));
    found.extend(origin::host(study));
    if let Err(why) = Recipe::of(study) {
        found.push(Objection::Command { why });
    }
    found.extend(trials::contradictions(study));
    found.extend(figures::changed(study));
    found.extend(private::found(study, own));
    found
}
