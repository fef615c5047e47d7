//! The list of findings, and what a finding is.

use crate::block::Block;
use crate::chart::{Chart, shorten};
use crate::view::View;
use crate::{
    budget, caution, choice, crash, faults, growth, history, hits, latency, needs, originals, pipeline, ranking, rate,
    resources, sets, sweep, time, tune,
};
use std::collections::BTreeSet;

/// The subjects, in the order readers meet them. A new one is its folder and a line here.
const SUBJECTS: &[fn(&View<'_>) -> Option<Finding>] = &[
    choice::find,
    faults::find,
    history::find,
    tune::find,
    rate::find,
    sweep::find,
    needs::find,
    crash::find,
    ranking::find,
    budget::find,
    sets::find,
    hits::find,
    pipeline::find,
    growth::find,
    latency::find,
    time::find,
    resources::find,
    caution::find,
    originals::find,
];

/// What a study shows of one subject.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The word it is addressed by, e.g. `ranking`.
    pub id: &'static str,
    /// The heading.
    pub title: &'static str,
    /// What the reader should know first; may be empty.
    pub intro: String,
    /// How its charts stand where there is room.
    pub charts: Arrangement,
    /// What it says of each part of the study; of one without a label where it is about the whole.
    pub parts: Vec<FindingPart>,
}

/// The arrangement of the charts of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// One below the other.
    Below,
    /// Side by side, as far as there is room.
    Beside,
}

/// What a finding says of one combination of parameters.
#[derive(Clone, Debug)]
pub struct FindingPart {
    /// The combination; empty when nothing varies.
    pub label: String,
    /// What is said of it.
    pub blocks: Vec<Block>,
}

impl FindingPart {
    /// Returns what is said of the study as a whole.
    pub(crate) fn whole(blocks: Vec<Block>) -> Vec<FindingPart> {
        vec![FindingPart { label: String::new(), blocks }]
    }

    /// Returns its charts.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.blocks.iter().filter_map(|block| if let Block::Chart(chart) = block { Some(chart) } else { None })
    }
}

/// Returns all findings with something to say, in their order. No two charts have the same identifier.
pub fn all(view: &View<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = SUBJECTS.iter().filter_map(|find| find(view)).collect();
    drop_silent(&mut findings);
    let mut known = BTreeSet::new();
    let blocks = findings.iter_mut().flat_map(|finding| &mut finding.parts).flat_map(|part| &mut part.blocks);
    let charts = blocks.filter_map(|block| if let Block::Chart(chart) = block { Some(chart) } else { None });
    for (at, chart) in charts.enumerate() {
        shorten(&mut chart.option);
        if !known.insert(chart.id.clone()) {
            chart.id = format!("{}-{at}", chart.id);
            known.insert(chart.id.clone());
        }
    }
    findings
}

/// Takes blocks out of findings, those of each finding together: for a medium that has another place for them. Findings left without a
/// block are gone.
pub fn take(findings: &mut Vec<Finding>, is_taken: impl Fn(&Block) -> bool) -> Vec<Vec<Block>> {
    let is_taken = &is_taken;
    let of_finding = |finding: &mut Finding| -> Vec<Block> {
        let parts = finding.parts.iter_mut();
        parts.flat_map(|part| part.blocks.extract_if(.., move |block| is_taken(block))).collect()
    };
    let taken = findings.iter_mut().map(of_finding).filter(|blocks| !blocks.is_empty()).collect();
    drop_silent(findings);
    taken
}

/// Drops what has nothing to say.
fn drop_silent(findings: &mut Vec<Finding>) {
    for finding in findings.iter_mut() {
        finding.parts.retain(|part| !part.blocks.is_empty());
    }
    findings.retain(|finding| !finding.parts.is_empty());
}
