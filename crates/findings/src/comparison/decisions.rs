//! What became of a decision, and where needs differ, in plain words.

use super::sentences::{range, unlike};
use crate::block::{Sentence, Tone};
use crate::choice::LOST;
use crate::needs::whys_of;
use analysis::{ChangedStore, Comparison, DecisionPair, DecisionShift, Ruling, UnlikeNeeds};
use study::{Meets, RejectionKind};

/// Says where needs differ and what became of each decision.
pub(super) fn sentences(comparison: &Comparison) -> Vec<Sentence> {
    let names: Vec<&str> = comparison.sources.iter().map(|source| source.name.as_str()).collect();
    let needs = match (&comparison.unlike_needs, names.as_slice()) {
        (Some(unlike), [a, b]) => Some(Sentence::toned(needs(unlike, a, b), Tone::Warning)),
        _ => None,
    };
    needs.into_iter().chain(comparison.decisions.iter().flat_map(of_pair)).collect()
}

/// `The needs differ: only before has p99<5ms. Who meets them, and …`
fn needs(unlike: &UnlikeNeeds, a: &str, b: &str) -> String {
    let each = [(a, &unlike.only_a), (b, &unlike.only_b)].into_iter().filter(|(_, needs)| !needs.is_empty());
    let each: Vec<String> = each.map(|(name, needs)| format!("only {name} has {}", needs.join(", "))).collect();
    format!("The needs differ: {}. Who meets them, and what is decided by them, is not compared.", each.join("; "))
}

fn of_pair(pair: &DecisionPair) -> Vec<Sentence> {
    let tone = match pair.shift {
        DecisionShift::Same => Tone::Strong,
        DecisionShift::Changed => Tone::Bad,
        DecisionShift::NotShown { .. } | DecisionShift::Unlike => Tone::Warning,
    };
    let (a, b) = (&pair.a, &pair.b);
    // Those taken before are named with the decision.
    let fallen =
        pair.fallen.iter().filter(|it| pair.shift != DecisionShift::Changed || !pair.take_a.contains(&it.store));
    let fallen = fallen.map(|it| {
        let said = format!("OUT: {} was good enough in {a} and is not in {b} ({}).", it.store, why(it));
        Sentence::toned(said, Tone::Bad)
    });
    let risen = pair.risen.iter().map(|it| {
        let said = format!("{} is good enough in {b} and was not in {a} ({}).", it.store, why(it));
        Sentence::toned(said, Tone::Good)
    });
    std::iter::once(Sentence::toned(sentence(pair) + ".", tone)).chain(fallen).chain(risen).collect()
}

/// Returns what became of a decision: `CHANGED: after takes lmdb, before took redb: redb misses p99<5ms: 9.3 ms`.
pub fn sentence(pair: &DecisionPair) -> String {
    let heading = if pair.class.is_some() { format!("{}: ", pair.title()) } else { String::new() };
    let (a, b) = (&pair.a, &pair.b);
    let (of_a, of_b) = (listed(&pair.take_a), listed(&pair.take_b));
    let said = match &pair.shift {
        DecisionShift::Unlike => return format!("Decision on {}: {}", pair.title(), unlike(&pair.differences)),
        DecisionShift::Changed => format!("CHANGED: {b} takes {of_b}, {a} took {of_a}{}", reasons(pair)),
        DecisionShift::NotShown { unknown } => {
            let silent = if pair.take_a.is_empty() { a } else { b };
            let what = listed(unknown);
            format!("{b} takes {of_b}, {a} took {of_a}; no change is shown: {silent} shows nothing against {what}")
        }
        DecisionShift::Same if of_a == of_b => format!("{b} takes {of_b}, as {a} did"),
        DecisionShift::Same => format!("{b} takes {of_b}, {a} took {of_a}: no change is shown"),
    };
    heading + &said
}

/// Returns the ruling of `--fail-if decision`, as a sentence.
pub fn decision_judgement(pair: &DecisionPair, outcome: &Ruling) -> String {
    let word = match outcome {
        Ruling::Kept => "passed ",
        Ruling::Broken => "FAILED ",
        Ruling::TooNoisy { .. } | Ruling::NotApplicable { .. } | Ruling::TooFew { .. } => "skipped",
    };
    let fallen: Vec<&str> = pair.fallen.iter().map(|it| it.store.as_str()).collect();
    let said = match (&pair.shift, fallen.is_empty()) {
        (DecisionShift::Unlike, _) => "not compared".into(),
        (DecisionShift::Changed, _) => format!("take {}, was {}", listed(&pair.take_b), listed(&pair.take_a)),
        (_, false) => format!("no longer good enough: {}", fallen.join(", ")),
        (_, true) => "no change is shown".into(),
    };
    format!("{word} {} {}: {said}", pair.title(), analysis::DECISION_GATE)
}

/// Why those taken before are not taken now, each; or why none was.
fn reasons(pair: &DecisionPair) -> String {
    let fallen = pair.fallen.iter().filter(|it| pair.take_a.contains(&it.store));
    let fallen = fallen.map(|it| format!("{} is out ({})", it.store, why(it)));
    let behind = pair.behind.iter().filter_map(|it| {
        let times = it.times.as_ref()?;
        Some(format!("{} is behind, {} as much", it.store, range(times)))
    });
    let reasons: Vec<String> = fallen.chain(behind).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) }
}

fn why(it: &ChangedStore) -> String {
    match it.kind {
        RejectionKind::Missed if it.missed.is_empty() => it.because.clone(),
        RejectionKind::Missed => whys_of(&it.missed, Meets::Missed),
        RejectionKind::Void if it.because.is_empty() => "void".into(),
        RejectionKind::Void => format!("void: {}", it.because.replace('_', " ")),
        RejectionKind::NotRun => "not run".into(),
        RejectionKind::Lost => LOST.into(),
    }
}

/// `lmdb or redb`; `none`.
fn listed(stores: &[String]) -> String {
    match stores {
        [] => "none".into(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
