//! The check: key by key, in n log n.

use crate::absence;
use crate::cluster::{self, BEFORE_ALL, VersionZone, found};
use crate::contradiction::{Conflict, Contradiction};
use crate::operation::Encounter;
use crate::weaker::Weaker;

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// The operations that were checked.
    pub operations: u64,
    /// Those of them whose outcome is unknown.
    pub unknown: u64,
    /// The keys.
    pub keys: u64,
    /// The keys no single copy could have answered for.
    pub contradicted_keys: u64,
    /// The smallest contradiction of all keys.
    pub smallest: Option<Contradiction>,
    /// The weaker guarantees, over all keys.
    pub weaker: Weaker,
}

impl Check {
    /// Adds what was found of other keys.
    pub fn add(&mut self, other: Check) {
        self.operations += other.operations;
        self.unknown += other.unknown;
        self.keys += other.keys;
        self.contradicted_keys += other.contradicted_keys;
        self.weaker.add(&other.weaker);
        self.smallest = match (self.smallest.take(), other.smallest) {
            (Some(a), Some(b)) => Some(a.smaller(b)),
            (a, b) => a.or(b),
        };
    }
}

/// Why a history cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotChecked {
    /// Two writes of a key have the same version, or one has the version 0, so a read does not say which it saw.
    NotUnique {
        /// The key.
        key: u64,
        /// The version.
        version: u64,
    },
    /// An operation was answered before it was sent.
    Backwards(Encounter),
}

impl std::fmt::Display for NotChecked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotChecked::NotUnique { key, version } => {
                write!(f, "two writes of key {key} have the version {version}, so a read does not say which it saw")
            }
            NotChecked::Backwards(it) => {
                write!(f, "an operation of client {} on key {} was answered before it was sent", it.client, it.key)
            }
        }
    }
}

impl std::error::Error for NotChecked {}

/// Checks all keys of a history; the operations may come in any order, and are left in another.
///
/// # Errors
/// The history does not say what each operation saw.
pub fn check(operations: &mut [Encounter]) -> Result<Check, NotChecked> {
    operations.sort_unstable_by_key(|it| (it.key, it.version(), !it.writes(), it.sent_ns));
    let mut all = Check::default();
    for of_key in operations.chunk_by(|a, b| a.key == b.key) {
        all.add(check_sorted(of_key.to_vec())?);
    }
    Ok(all)
}

/// Checks one key.
///
/// # Errors
/// The history does not say what each operation saw.
pub fn check_key(operations: &[Encounter]) -> Result<Check, NotChecked> {
    let mut operations = operations.to_vec();
    cluster::sort(&mut operations);
    check_sorted(operations)
}

fn check_sorted(mut operations: Vec<Encounter>) -> Result<Check, NotChecked> {
    if let Some(it) = operations.iter().find(|it| it.end_ns() < it.begin_ns()) {
        return Err(NotChecked::Backwards(*it));
    }
    let mut check = Check { operations: operations.len() as u64, keys: 1, ..Check::default() };
    check.unknown = operations.iter().filter(|it| it.answered_ns.is_none()).count() as u64;
    if absence::settle(&mut operations) {
        cluster::sort(&mut operations);
    }
    cluster::leave_out_unnoticed(&mut operations);
    let clusters = cluster::clusters(&operations);
    check.weaker.reads = operations.iter().filter(|it| !it.writes()).count() as u64;
    // What breaks a weaker guarantee breaks the strongest, too.
    if let Some(flaw) = flaw(&operations, clusters.clone(), Beginning::Known)? {
        check.contradicted_keys = 1;
        check.weaker = Weaker::of(&operations, &clusters);
        check.smallest = Some(Contradiction::smallest(&operations, flaw));
    }
    Ok(check)
}

/// What is known of the key before the first operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// It had its version 0.
    Known,
    /// Part of the history was left out: a swap may have found a version of which no write is there.
    Unknown,
}

/// Returns what is wrong with a key, if anything is. The operations are sorted, and those that nobody noticed are left out.
pub(crate) fn flaw(
    operations: &[Encounter],
    mut clusters: Vec<VersionZone>,
    start: Beginning,
) -> Result<Option<Conflict>, NotChecked> {
    let mut any_swap = false;
    let mut flaw = None;
    for cluster in &clusters {
        let [first, rest @ ..] = &operations[cluster.operations.clone()] else { continue };
        if rest.first().is_some_and(Encounter::writes)
            || first.writes() && cluster.version == 0
            || found(first) == Some(cluster.version)
        {
            return Err(NotChecked::NotUnique { key: first.key, version: cluster.version });
        }
        any_swap |= found(first).is_some();
        if cluster.version > 0 && !first.writes() {
            flaw = Some(Conflict::NeverWritten);
        } else if cluster.version > 0 && cluster.first_answer_ns < first.begin_ns() {
            flaw = flaw.or(Some(Conflict::BeforeItsWrite));
        }
    }
    if flaw.is_some() {
        return Ok(flaw);
    }
    if any_swap {
        match chained(operations, &clusters, start) {
            Ok(chains) => clusters = chains,
            Err(flaw) => return Ok(Some(flaw)),
        }
    }
    Ok(is_cyclic(&mut clusters).then_some(Conflict::OutOfOrder))
}

/// Joins clusters that swaps tie together: nothing may come between them. Each chain has its own order, which must not contradict the
/// clock; seen from outside it is one cluster.
fn chained(operations: &[Encounter], clusters: &[VersionZone], start: Beginning) -> Result<Vec<VersionZone>, Conflict> {
    const NONE: usize = usize::MAX;
    let mut before_all = None;
    let mut next = vec![NONE; clusters.len() + 1];
    let mut is_head = vec![true; clusters.len() + 1];
    for (at, cluster) in clusters.iter().enumerate() {
        let Some(from) = operations.get(cluster.operations.start).and_then(found) else { continue };
        let place = match clusters.binary_search_by_key(&from, |it| it.version) {
            Ok(place) => place,
            Err(_) if from == 0 => {
                // Nobody has read it, but it was there.
                let operations = cluster.operations.start..cluster.operations.start;
                before_all =
                    Some(VersionZone { version: 0, operations, first_answer_ns: BEFORE_ALL, last_sent_ns: BEFORE_ALL });
                clusters.len()
            }
            Err(_) if start == Beginning::Unknown => continue,
            Err(_) => return Err(Conflict::NeverWritten),
        };
        if std::mem::replace(&mut next[place], at) != NONE {
            return Err(Conflict::SwappedTwice);
        }
        is_head[at] = false;
    }
    let of = |at: usize| if at == clusters.len() { before_all.as_ref() } else { clusters.get(at) };
    let mut chains = Vec::with_capacity(clusters.len());
    let mut joined = 0;
    for head in (0..=clusters.len()).filter(|&at| is_head[at]) {
        let Some(mut chain) = of(head).cloned() else { continue };
        joined += 1;
        let mut at = next[head];
        while let Some(link) = of(at) {
            if link.first_answer_ns < chain.last_sent_ns {
                return Err(Conflict::OutOfOrder);
            }
            chain.first_answer_ns = chain.first_answer_ns.min(link.first_answer_ns);
            chain.last_sent_ns = chain.last_sent_ns.max(link.last_sent_ns);
            joined += 1;
            at = next[at];
        }
        chains.push(chain);
    }
    // Versions that only follow each other in a ring have no first.
    if joined < clusters.len() { Err(Conflict::OutOfOrder) } else { Ok(chains) }
}

/// Returns whether two clusters must each come before the other. A cycle of more has two such: the cluster whose first answer is the
/// earliest precedes all others of its cycle, the one before it among them.
fn is_cyclic(clusters: &mut [VersionZone]) -> bool {
    clusters.sort_unstable_by_key(|it| it.first_answer_ns);
    // Those that last (the first answer is before the last request) must not overlap.
    let mut lasting: Vec<(i64, i64)> = Vec::new();
    for it in clusters.iter().filter(|it| it.first_answer_ns < it.last_sent_ns) {
        if lasting.last().is_some_and(|last| it.first_answer_ns < last.1) {
            return true;
        }
        lasting.push((it.first_answer_ns, it.last_sent_ns));
    }
    // The others must not lie within one that lasts.
    clusters.iter().filter(|it| it.first_answer_ns >= it.last_sent_ns).any(|it| {
        let before = lasting.partition_point(|&(first_answer_ns, _)| first_answer_ns < it.last_sent_ns);
        before > 0 && it.first_answer_ns < lasting[before - 1].1
    })
}
