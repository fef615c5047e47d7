//! The smallest part of a history that no single copy could have answered.

use crate::checker::{Beginning, flaw};
use crate::cluster::{self, BEFORE_ALL, VersionZone};
use crate::operation::Encounter;
use std::cmp::Reverse;

/// What makes it impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// A version was seen that nobody had written.
    NeverWritten,
    /// A read was over before the version it saw was even sent.
    BeforeItsWrite,
    /// Two swaps both found the same version.
    SwappedTwice,
    /// Each of two versions must have been there before the other.
    OutOfOrder,
}

/// A contradiction: leave out any operation, and there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// What is wrong.
    pub flaw: Conflict,
    /// The operations, by the time they were sent.
    pub operations: Vec<Encounter>,
    /// How long the one version was still seen, or written, after the other was known to be there; 0 where that is not what is wrong.
    pub behind_ns: u64,
}

/// Pairs of versions that are looked at for the smallest contradiction of a key.
const MOST_PAIRS: usize = 20_000;

/// Reads of a version that are tried with another version's.
const MOST_READS: usize = 64;

/// Steps that are taken to make a contradiction of swaps smaller: operations looked at.
const MOST_STEPS: usize = 30_000_000;

impl Contradiction {
    fn new(flaw: Conflict, mut operations: Vec<Encounter>) -> Contradiction {
        operations.sort_unstable_by_key(|it| (it.sent_ns, it.answered_ns, it.client));
        Contradiction { flaw, operations, behind_ns: 0 }
    }

    /// Returns the time from its first to its last moment.
    pub fn span_ns(&self) -> u64 {
        let first = self.operations.iter().map(|it| it.sent_ns).min().unwrap_or(0);
        let last = self.operations.iter().map(|it| it.answered_ns.unwrap_or(it.sent_ns)).max().unwrap_or(0);
        last - first
    }

    /// Returns the smaller of two: the one with fewer operations; of as many, the one that no doubt about the clock could explain, as it is
    /// behind by more; or the shorter one.
    pub fn smaller(self, other: Contradiction) -> Contradiction {
        let size = |it: &Contradiction| (it.operations.len(), Reverse(it.behind_ns), it.span_ns());
        if size(&other) < size(&self) { other } else { self }
    }

    /// Returns the smallest of a key that has this flaw; its operations are sorted by version.
    pub(crate) fn smallest(operations: &[Encounter], flaw: Conflict) -> Contradiction {
        let clusters = cluster::clusters(operations);
        let has_swaps = operations.iter().any(|it| cluster::found(it).is_some());
        let found = match flaw {
            Conflict::NeverWritten => never_written(operations, &clusters),
            Conflict::BeforeItsWrite => before_its_write(operations, &clusters),
            Conflict::OutOfOrder if !has_swaps => out_of_order(operations, &clusters),
            _ => None,
        };
        found.unwrap_or_else(|| reduced(operations, flaw))
    }
}

/// The first operation that saw a version nobody wrote.
fn never_written(operations: &[Encounter], clusters: &[VersionZone]) -> Option<Contradiction> {
    let is_unwritten = |version: u64| {
        let at = clusters.binary_search_by_key(&version, |it| it.version).map(|at| &clusters[at]);
        version > 0 && !at.is_ok_and(|it| operations[it.operations.start].writes())
    };
    let saw = |it: &&Encounter| is_unwritten(cluster::found(it).unwrap_or_else(|| it.version()));
    let first = operations.iter().filter(saw).min_by_key(|it| it.sent_ns)?;
    Some(Contradiction::new(Conflict::NeverWritten, vec![*first]))
}

/// The read that was too early by most, with the write.
fn before_its_write(operations: &[Encounter], clusters: &[VersionZone]) -> Option<Contradiction> {
    let pairs = clusters.iter().filter_map(|it| {
        let [write, reads @ ..] = &operations[it.operations.clone()] else { return None };
        let read = reads.iter().min_by_key(|it| it.end_ns())?;
        (write.writes() && read.end_ns() < write.begin_ns()).then_some((write, read))
    });
    let (write, read) = pairs.min_by_key(|(write, read)| write.begin_ns() - read.begin_ns())?;
    Some(Contradiction::new(Conflict::BeforeItsWrite, vec![*write, *read]))
}

/// Some operations of one version, the write among them.
struct Part {
    operations: Vec<usize>,
    first_answer_ns: i64,
    last_sent_ns: i64,
}

impl Part {
    fn of(all: &[Encounter], version: u64, operations: Vec<usize>) -> Part {
        let first = operations.iter().map(|&at| all[at].end_ns()).min().unwrap_or(i64::MAX);
        let last_sent_ns = operations.iter().map(|&at| all[at].begin_ns()).max().unwrap_or(BEFORE_ALL);
        Part { operations, first_answer_ns: if version == 0 { BEFORE_ALL } else { first }, last_sent_ns }
    }

    /// The parts of a cluster that can matter: the write; with one read; with the two reads that reach farthest.
    fn all(all: &[Encounter], cluster: &VersionZone) -> Vec<Part> {
        let mut reads = cluster.operations.clone();
        let write: Vec<usize> = if cluster.version > 0 { reads.next().into_iter().collect() } else { Vec::new() };
        let with = |more: &[usize]| Part::of(all, cluster.version, [&write, more].concat());
        let mut parts = vec![with(&[])];
        // Of two reads the one that was answered earlier and sent later does all that the other one does.
        let mut by_answer: Vec<usize> = reads.clone().collect();
        by_answer.sort_unstable_by_key(|&at| (all[at].end_ns(), -all[at].begin_ns()));
        let mut latest = i64::MIN;
        by_answer.retain(|&at| {
            let is_later = latest < all[at].begin_ns();
            latest = latest.max(all[at].begin_ns());
            is_later
        });
        parts.extend(by_answer.iter().take(MOST_READS).map(|&at| with(&[at])));
        if let [first, .., last] = by_answer[..] {
            parts.push(with(&[last]));
            parts.push(with(&[first, last]));
        }
        parts
    }
}

/// The fewest operations of two versions of which each must be before the other, over all such versions.
fn out_of_order(operations: &[Encounter], clusters: &[VersionZone]) -> Option<Contradiction> {
    let mut by_answer: Vec<&VersionZone> = clusters.iter().collect();
    by_answer.sort_unstable_by_key(|it| it.first_answer_ns);
    let mut best: Option<Contradiction> = None;
    let mut pairs = 0;
    for (at, one) in by_answer.iter().enumerate() {
        let others = by_answer[at + 1..].iter().take_while(|it| it.first_answer_ns < one.last_sent_ns);
        let others = others.filter(|it| one.first_answer_ns < it.last_sent_ns);
        let mut parts = None;
        for other in others {
            pairs += 1;
            let parts = parts.get_or_insert_with(|| Part::all(operations, one));
            best = smaller_of(operations, parts, &Part::all(operations, other), best);
        }
        if pairs > MOST_PAIRS {
            break;
        }
    }
    best
}

/// The smallest of these and of what two versions contradict each other with.
fn smaller_of(
    all: &[Encounter],
    ones: &[Part],
    others: &[Part],
    mut best: Option<Contradiction>,
) -> Option<Contradiction> {
    for one in ones {
        for other in others {
            let size = one.operations.len() + other.operations.len();
            let is_more = best.as_ref().is_some_and(|best| size > best.operations.len());
            if is_more || one.first_answer_ns >= other.last_sent_ns || other.first_answer_ns >= one.last_sent_ns {
                continue;
            }
            let operations = one.operations.iter().chain(&other.operations).map(|&at| all[at]).collect();
            let behind_ns = (one.last_sent_ns - other.first_answer_ns).unsigned_abs();
            let found = Contradiction { behind_ns, ..Contradiction::new(Conflict::OutOfOrder, operations) };
            best = Some(match best {
                Some(best) => best.smaller(found),
                None => found,
            });
        }
    }
    best
}

/// Leaves out halves, quarters and so on, down to single operations, as long as the flaw stays.
fn reduced(operations: &[Encounter], flaw: Conflict) -> Contradiction {
    let mut kept = operations.to_vec();
    let mut steps = 0;
    let mut chunk = kept.len().div_ceil(2);
    loop {
        let (mut at, before) = (0, kept.len());
        while at < kept.len() && steps < MOST_STEPS {
            steps += kept.len();
            let end = kept.len().min(at + chunk);
            let fewer = [&kept[..at], &kept[end..]].concat();
            if still(&fewer, flaw) { kept = fewer } else { at = end }
        }
        if steps >= MOST_STEPS || chunk == 1 && kept.len() == before {
            return Contradiction::new(flaw, kept);
        }
        chunk = (chunk / 2).max(1);
    }
}

/// Whether these operations alone have the flaw, too. A swap may have found what is left out here.
fn still(operations: &[Encounter], flaw_before: Conflict) -> bool {
    let mut operations = operations.to_vec();
    cluster::leave_out_unnoticed(&mut operations);
    let clusters = cluster::clusters(&operations);
    flaw(&operations, clusters, Beginning::Unknown) == Ok(Some(flaw_before))
}
