//! A level of a store that is crashed: what is written down of it, and what is remembered.

use crate::commands::shown;
use std::time::{SystemTime, UNIX_EPOCH};
use store::{Facts, StoreInfo};
use study::{CrashCase, CrashMeans, Durability, Promise, ShownPromise, ShownWhere, Spec};

/// Returns a case before its first cut.
pub fn case(info: &StoreInfo, spec: &Spec) -> CrashCase {
    let named = Spec { durability: None, ..spec.clone() }.to_string();
    let case = CrashCase { store: named, level: spec.durability, ..CrashCase::default() };
    if info.durabilities == [Durability::None] {
        return CrashCase { promise: Promise::NothingToShow, ..case };
    }
    case
}

/// Notes what the store says of itself.
pub fn take_facts(case: &mut CrashCase, facts: &Facts) {
    case.product.clone_from(&facts.product);
    case.store_version.clone_from(&facts.version);
    case.store_config.clone_from(&facts.config);
}

/// Returns what the cuts of a case have shown, as studies that follow say it.
pub fn promise(case: &CrashCase) -> ShownPromise {
    shown_by(case.promise, CrashMeans::Kill, case.cuts.len())
}

fn shown_by(promise: Promise, means: CrashMeans, cuts: usize) -> ShownPromise {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let day = study::rfc3339(now).chars().take_while(|c| *c != 'T').collect();
    ShownPromise { place: ShownWhere::Here, promise, means, cuts: cuts as u32, day }
}

/// Keeps what the cuts since the first `done` have shown, for the studies that follow.
pub fn remember(case: &CrashCase, means: CrashMeans, done: usize, facts: &Facts) {
    let (Some(level), fresh) = (case.level, &case.cuts[done..]) else { return };
    let promise = crash::promise(level, fresh);
    let measured = fresh.iter().filter(|cut| cut.not_measured.is_none()).count();
    // Of a power cut `os` promises nothing.
    if matches!(promise, Promise::Kept | Promise::Broken) && case.promises() {
        shown::remember(&case.store, level, facts, shown_by(promise, means, measured));
    }
}

/// Notes what the cuts so far come to.
pub fn sum_up(case: &mut CrashCase) {
    let level = case.level.unwrap_or(Durability::None);
    case.promise = crash::promise(level, &case.cuts);
    case.not_ruled_out = (case.promise == Promise::Kept).then(|| crash::ruled_out(case.measured() as u32));
    let recoveries: Vec<f64> = case.cuts.iter().filter_map(|cut| cut.recovery_s).collect();
    case.recovery_s = analysis::quantity(&recoveries);
}
