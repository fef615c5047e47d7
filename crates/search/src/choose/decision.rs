//! The decision: those still in that meet the needs are taken; others that meet them are good enough.

use super::Kills;
use super::contest::{Contest, Entry};
use super::set_up::set_up;
use crate::lab::Lab;
use crate::race::RaceStanding;
use analysis::{Better, Metric, meets_all};
use std::sync::atomic::{AtomicBool, Ordering};
use study::{Alternative, Cell, Decision, Meets, Promise, Quantity, RaceEnd, Rejection, RejectionKind};

impl Contest<'_> {
    /// Returns what the races and kills so far come to.
    pub fn decision(&self, lab: &Lab<'_>, kills: &dyn Kills, interrupted: &AtomicBool) -> Decision {
        let ended = match self.raced.ended {
            RaceEnd::Interrupted if !interrupted.load(Ordering::Relaxed) => RaceEnd::Budget, // the trial under way was stopped with it
            ended => ended,
        };
        let (class, durability) = self.kind.map_or((None, None), |(class, durability)| (Some(class), durability));
        let settings_tried = self.settings_tried();
        let mut decision = Decision { class, durability, ended, settings_tried, ..Decision::default() };
        let entries = self.entries().into_iter();
        let mut entries: Vec<(Cell, Entry<'_>)> =
            entries.map(|entry| (self.seen(lab, kills, entry.planned), entry)).collect();
        // As the tables have them.
        entries.sort_by(|(a, _), (b, _)| figure(a).total_cmp(&figure(b)));
        let mut first: Option<&Entry<'_>> = None;
        let mut enough: Vec<&Entry<'_>> = Vec::new();
        for (cell, entry) in &entries {
            let store = entry.planned.spec.to_string();
            let shown = self.judge.shown(lab, kills, entry.planned, analysis::NEED_ALPHA);
            let rejected = |kind, because: String| Rejection { store: store.clone(), kind, because };
            let is_broken = cell.durability_shown.as_ref().is_some_and(|shown| shown.promise == Promise::Broken);
            match (entry.standing, meets_all(&shown)) {
                (RaceStanding::Void, _) => {
                    let reason = cell.verdict.reasons.first().map_or(String::new(), |reason| reason.kind.name());
                    decision.out.push(rejected(RejectionKind::Void, reason));
                }
                (RaceStanding::NotRun, _) => decision.out.push(rejected(RejectionKind::NotRun, String::new())),
                (RaceStanding::Missed, _) | (_, Meets::Missed) => {
                    let missed = shown.iter().find(|one| one.meets == Meets::Missed);
                    let need = missed.map_or(String::new(), |one| one.need.clone());
                    decision.out.push(rejected(RejectionKind::Missed, need));
                }
                _ if is_broken && kills.are_asked_for() => {
                    let level = cell.durability.map_or(String::new(), |level| level.to_string());
                    decision.out.push(rejected(RejectionKind::Lost, level));
                }
                (_, Meets::NotShown) => decision.not_shown.push(store),
                (RaceStanding::In, Meets::Met) if entry.figures.is_empty() => decision.not_shown.push(store),
                (RaceStanding::In, Meets::Met) => {
                    first.get_or_insert(entry);
                    decision.take.push(store);
                }
                (RaceStanding::Worse | RaceStanding::Dear, Meets::Met) => enough.push(entry),
            }
        }
        // Those that were ahead may be out since they were killed: then the best of the others takes their place.
        if first.is_none() && !enough.is_empty() {
            let next = enough.remove(0);
            decision.take.push(next.planned.spec.to_string());
            first = Some(next);
        }
        decision.also.extend(enough.into_iter().map(|entry| Alternative {
            store: entry.planned.spec.to_string(),
            times: first.and_then(|first| times(&entry.figures, &first.figures)),
        }));
        let tested = first.and_then(|first| lab.tested(first.planned));
        decision.set_up = tested.map(|tested| set_up(&tested.cell)).unwrap_or_default();
        decision.setting = first.and_then(|first| self.setting(first.planned));
        decision
    }
}

/// The figure that ranks a cell, so that less is better.
fn figure(cell: &Cell) -> f64 {
    let metric = Metric::ranking(cell);
    let value = metric.of_cell(cell).map_or(f64::NAN, |figure| figure.value);
    match metric.better() {
        _ if value.is_nan() || value <= 0.0 => f64::INFINITY,
        Better::Lower => value,
        Better::Higher => 1.0 / value,
    }
}

/// How many times as much the one needs as the other.
fn times(more: &[f64], less: &[f64]) -> Option<Quantity> {
    stats::median_ratio(more, less, stats::Bootstrap::default()).map(|ratio| Quantity {
        value: ratio.value,
        low: ratio.low,
        high: ratio.high,
        level: ratio.level,
        n: ratio.n as u32,
    })
}
