//! What two studies of `kvtrial choose` decide, against each other: would another store be taken now?

use crate::conditions::{Difference, Weight, differences};
use crate::{Alone, Judgement, Ruling, Unlike};
use serde::Serialize;
use study::{Alternative, Cell, Class, Decision, Durability, Meets, NeedShown, Rejection, RejectionKind, Study};

/// The condition of `--fail-if` that fails where a decision changes.
pub const DECISION_GATE: &str = "decision";

/// Needs that only one of two studies has: what they decide is not comparable then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnlikeNeeds {
    /// Needs only the first has.
    pub only_a: Vec<String>,
    /// Needs only the second has.
    pub only_b: Vec<String>,
}

/// The same decision in two studies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionPair {
    /// The class of the stores, where each class was decided on by itself.
    pub class: Option<Class>,
    /// Their level of durability, in the same case.
    pub durability: Option<Durability>,
    /// The first study's name.
    pub a: String,
    /// The second study's name.
    pub b: String,
    /// The stores the first takes, the best first.
    pub take_a: Vec<String>,
    /// The stores the second takes.
    pub take_b: Vec<String>,
    /// What became of the decision.
    pub shift: DecisionShift,
    /// Stores the first takes that the second shows to be behind, and how far.
    pub behind: Vec<Alternative>,
    /// Stores that were good enough and are shown not to be now.
    pub fallen: Vec<ChangedStore>,
    /// Stores that were shown not to be good enough and are now; with what was wrong with them.
    pub risen: Vec<ChangedStore>,
    /// The other differences between the two studies.
    pub differences: Vec<Difference>,
}

/// What became of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionShift {
    /// Some store is taken in both, or none in either.
    Same,
    /// None of those taken in the first is taken in the second, and the second shows why.
    Changed,
    /// Other stores are taken, but nothing is shown of these.
    NotShown {
        /// The stores of which nothing is shown.
        unknown: Vec<String>,
    },
    /// Input, parameters, machine or instrument differ, so the two are not compared.
    Unlike,
}

/// A store that is good enough in one of two studies only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedStore {
    /// The store.
    pub store: String,
    /// Why it is out in the other.
    pub kind: RejectionKind,
    /// The need that it misses there, or what is wrong with it; may be empty.
    pub because: String,
    /// The needs that it misses there, with the figures.
    pub missed: Vec<NeedShown>,
}

impl DecisionPair {
    /// Returns what it is a decision on, in a few words.
    pub fn title(&self) -> String {
        title(self.class, self.durability)
    }

    /// Returns whether it fails where no decision may change: another store is to be taken, or one that was good enough is out.
    pub fn is_changed(&self) -> bool {
        match self.shift {
            DecisionShift::Unlike => false,
            DecisionShift::Changed => true,
            DecisionShift::Same | DecisionShift::NotShown { .. } => !self.fallen.is_empty(),
        }
    }
}

/// Returns the needs that only one of two studies has; `None` where both have the same.
pub fn unlike_needs(a: &Study, b: &Study) -> Option<UnlikeNeeds> {
    let without = |all: &[String], others: &[String]| -> Vec<String> {
        all.iter().filter(|need| !others.contains(need)).cloned().collect()
    };
    let found = UnlikeNeeds { only_a: without(&a.needs, &b.needs), only_b: without(&b.needs, &a.needs) };
    (found != UnlikeNeeds::default()).then_some(found)
}

/// Compares the decisions of two studies, named so, class by class; with those that only one of the two has. Of studies with other needs
/// nothing is compared.
pub fn compare_decisions(a: (&str, &Study), b: (&str, &Study), unlike: Unlike) -> (Vec<DecisionPair>, Vec<Alone>) {
    let (Some(choice_a), Some(choice_b)) = (&a.1.choice, &b.1.choice) else { return Default::default() };
    if unlike_needs(a.1, b.1).is_some() {
        return Default::default();
    }
    let find = |among: &'_ [Decision], like: &Decision| {
        among.iter().position(|it| (it.class, it.durability) == (like.class, like.durability))
    };
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for first in &choice_a.decisions {
        match find(&choice_b.decisions, first) {
            Some(at) => pairs.push(pair((a.0, a.1, first), (b.0, b.1, &choice_b.decisions[at]), unlike)),
            None => alone.push(lonely(a.0, first)),
        }
    }
    let only_b = choice_b.decisions.iter().filter(|second| find(&choice_a.decisions, second).is_none());
    alone.extend(only_b.map(|second| lonely(b.0, second)));
    (pairs, alone)
}

/// Judges decisions by [`DECISION_GATE`].
pub fn judge_decisions(pairs: &[DecisionPair]) -> Vec<Judgement> {
    let judged = pairs.iter().map(|pair| Judgement {
        gate: DECISION_GATE.into(),
        cell: pair.title(),
        seen: None,
        p: None,
        p_holm: None,
        outcome: match pair.shift {
            DecisionShift::Unlike => Ruling::NotApplicable { reason: "these decisions are not compared".into() },
            _ if pair.is_changed() => Ruling::Broken,
            _ => Ruling::Kept,
        },
    });
    judged.collect()
}

/// A study, its name, and a decision of it.
type Decided<'s> = (&'s str, &'s Study, &'s Decision);

fn pair(a: Decided<'_>, b: Decided<'_>, unlike: Unlike) -> DecisionPair {
    let (first, second) = (a.2, b.2);
    let differences = conditions(a, b);
    let is_unlike = differences.iter().any(|it| it.weight() == Weight::Forbids) && unlike == Unlike::Refuse;
    let shift = if is_unlike { DecisionShift::Unlike } else { shift(first, second) };
    let changed = |good: &Decision, now: Decided<'_>| match is_unlike {
        true => Vec::new(),
        false => changed(good, now),
    };
    let behind = second.also.iter().filter(|it| !is_unlike && first.take.contains(&it.store) && is_behind(it));
    DecisionPair {
        class: first.class,
        durability: first.durability,
        a: a.0.into(),
        b: b.0.into(),
        take_a: first.take.clone(),
        take_b: second.take.clone(),
        shift,
        behind: behind.cloned().collect(),
        fallen: changed(first, b),
        risen: changed(second, a),
        differences,
    }
}

/// What differs between the two studies besides the stores: as a store shows it that both have.
fn conditions(a: Decided<'_>, b: Decided<'_>) -> Vec<Difference> {
    let cells_b = b.1.cells.iter().filter(|cell| !cell.baseline);
    let both = cells_b.filter_map(|second| Some((cell(a.1, &second.store)?, second)));
    let named = |of: &Decision, cell: &Cell| stores(of).any(|store| *store == cell.store);
    let alike = both.into_iter().find(|(_, second)| named(a.2, second) && named(b.2, second));
    alike.map_or_else(Vec::new, |(first, second)| {
        let all = differences((a.1, first), (b.1, second));
        all.into_iter().filter(|it| it.weight() == Weight::Forbids).collect()
    })
}

/// Whether what the first takes is shown not to be what to take by the second.
fn shift(first: &Decision, second: &Decision) -> DecisionShift {
    let is_shared = first.take.iter().any(|store| second.take.contains(store));
    if is_shared || (first.take.is_empty() && second.take.is_empty()) {
        return DecisionShift::Same;
    }
    // Where none was good enough, it is those to take now that must have been shown not to be.
    let (taken, other) = if first.take.is_empty() { (&second.take, first) } else { (&first.take, second) };
    let is_refuted = |store: &&String| {
        other.out.iter().any(|it| it.store == **store && is_shown(it))
            || other.also.iter().any(|it| it.store == **store && is_behind(it))
    };
    let unknown: Vec<String> = taken.iter().filter(|store| !is_refuted(store)).cloned().collect();
    if unknown.is_empty() { DecisionShift::Changed } else { DecisionShift::NotShown { unknown } }
}

/// Stores that are good enough by the one decision and shown not to be by the other.
fn changed(good: &Decision, (_, study, other): Decided<'_>) -> Vec<ChangedStore> {
    let was_good = |it: &&Rejection| good_enough(good).any(|store| *store == it.store);
    let changed = other.out.iter().filter(|it| is_shown(it)).filter(was_good).map(|it| {
        let meets = cell(study, &it.store).map_or(&[][..], |cell| &cell.meets);
        ChangedStore {
            store: it.store.clone(),
            kind: it.kind,
            because: it.because.clone(),
            missed: meets.iter().filter(|one| one.meets == Meets::Missed).cloned().collect(),
        }
    });
    changed.collect()
}

/// What could not be run shows nothing.
fn is_shown(it: &Rejection) -> bool {
    it.kind != RejectionKind::NotRun
}

/// Whether the interval says so: a store may be good enough and not first because its trials would have taken too long.
fn is_behind(it: &Alternative) -> bool {
    it.times.is_some_and(|times| times.level > 0.0 && times.low > 1.0)
}

fn good_enough(decision: &Decision) -> impl Iterator<Item = &String> {
    decision.take.iter().chain(decision.also.iter().map(|it| &it.store))
}

fn stores(decision: &Decision) -> impl Iterator<Item = &String> {
    good_enough(decision).chain(decision.out.iter().map(|it| &it.store)).chain(&decision.not_shown)
}

fn cell<'s>(study: &'s Study, store: &str) -> Option<&'s Cell> {
    study.cells.iter().find(|cell| cell.store == store && !cell.baseline)
}

fn lonely(source: &str, decision: &Decision) -> Alone {
    let title = title(decision.class, decision.durability);
    Alone { source: source.into(), cell: format!("a decision on {title}") }
}

fn title(class: Option<Class>, durability: Option<Durability>) -> String {
    let level = durability.map_or(String::new(), |level| format!(", durability {level}"));
    class.map_or("all stores".into(), |class| format!("{class} stores{level}"))
}
