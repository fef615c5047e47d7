//! Registers whose versions are unique, decided in n log n.
//!
//! The write of a version and its reads are a cluster. Its zone lies between the first answer and the last sending in
//! the cluster. If the first answer comes first, the zone is *forward*: all the time between, the register must hold that
//! version. Otherwise it is *backward*: the whole cluster can happen at any one moment in it. An order exists exactly if no two forward
//! zones overlap and no backward zone lies within a forward one (Gibbons and Korach, Testing Shared Memories, 1997).
//!
//! A write that was never answered and that nobody read may be left out. One that was read has an open end.

use crate::act::{Act, ActKind};
use crate::contradiction::Impossibility;

/// What the zones of a key say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Zones {
    /// An order exists.
    Ordered,
    /// No order exists for these operations, by their place in the history.
    Conflict(Vec<usize>, Impossibility),
    /// The method does not fit: a version was written twice, or operations other than put and get are there.
    Unfit,
}

/// When nothing had been written yet.
const BEFORE_ALL: i64 = -1;

/// The time in which a version must or can be there.
#[derive(Clone, Copy)]
struct Zone {
    low: i64,
    high: i64,
    /// The write; none for what was there before.
    write: Option<usize>,
    /// The operation answered first.
    first: Option<usize>,
    /// The operation sent last.
    last: Option<usize>,
}

impl Zone {
    /// Returns the operations that this zone rests on.
    fn operations(&self) -> impl Iterator<Item = usize> {
        let second = self.first.filter(|it| Some(*it) != self.write);
        let third = self.last.filter(|it| Some(*it) != self.write && Some(*it) != self.first);
        self.write.into_iter().chain(second).chain(third)
    }
}

/// Decides whether an order exists for operations on one key.
pub(crate) fn decide(operations: &[Act]) -> Zones {
    let mut sorted: Vec<(u64, u32)> = Vec::with_capacity(operations.len());
    let mut missing = Cluster::before_all();
    for (at, operation) in operations.iter().enumerate() {
        if !operation.counts() {
            continue;
        }
        match operation.kind {
            ActKind::Put(version) | ActKind::Get(Some(version)) => sorted.push((version, at as u32)),
            ActKind::Get(None) => missing.take(at, operation),
            _ => return Zones::Unfit,
        }
    }
    sorted.sort_unstable();
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    let mut add = |zone: Cluster| match zone.zone() {
        (zone, true) => forward.push(zone),
        (zone, false) => backward.push(zone),
    };
    if missing.last.is_some() {
        add(missing);
    }
    let mut wrong: Option<(Vec<usize>, Impossibility)> = None;
    for cluster in sorted.chunk_by(|one, other| one.0 == other.0) {
        match gather(operations, cluster) {
            Gathered::Cluster(it) => add(it),
            Gathered::LeftOut => {}
            Gathered::Twice => return Zones::Unfit,
            Gathered::Wrong(at, reason) => {
                if wrong.as_ref().is_none_or(|(best, _)| at.len() < best.len()) {
                    wrong = Some((at, reason));
                }
            }
        }
    }
    if let Some((at, reason)) = wrong {
        return Zones::Conflict(at, reason);
    }
    match conflict(&mut forward, &backward) {
        Some(at) => Zones::Conflict(at, Impossibility::NoOrder),
        None => Zones::Ordered,
    }
}

/// The operations of one version, so far.
struct Cluster {
    write: Option<usize>,
    first: Option<usize>,
    first_answered: i64,
    last: Option<usize>,
    last_sent: i64,
}

impl Cluster {
    /// Returns the cluster of what is there before anything is written.
    fn before_all() -> Self {
        Self { write: None, first: None, first_answered: BEFORE_ALL, last: None, last_sent: BEFORE_ALL }
    }

    /// Takes one more operation.
    fn take(&mut self, at: usize, operation: &Act) {
        let answered = signed(operation.answered_ns());
        if answered < self.first_answered {
            (self.first, self.first_answered) = (Some(at), answered);
        }
        let sent = signed(operation.sent_ns);
        if self.last.is_none() || sent > self.last_sent {
            (self.last, self.last_sent) = (Some(at), sent);
        }
    }

    /// Returns the zone, and whether it is a forward one.
    fn zone(&self) -> (Zone, bool) {
        let forward = self.first_answered < self.last_sent;
        let (low, high) =
            if forward { (self.first_answered, self.last_sent) } else { (self.last_sent, self.first_answered) };
        (Zone { low, high, write: self.write, first: self.first, last: self.last }, forward)
    }
}

/// What the operations of one version come to.
enum Gathered {
    Cluster(Cluster),
    LeftOut,
    Twice,
    Wrong(Vec<usize>, Impossibility),
}

/// Gathers the operations of one version.
fn gather(operations: &[Act], cluster: &[(u64, u32)]) -> Gathered {
    let mut all = Cluster { write: None, first: None, first_answered: i64::MAX, last: None, last_sent: BEFORE_ALL };
    let version = cluster[0].0;
    for at in cluster.iter().map(|(_, at)| *at as usize) {
        let operation = &operations[at];
        if matches!(operation.kind, ActKind::Put(_)) && all.write.replace(at).is_some() {
            return Gathered::Twice;
        }
        all.take(at, operation);
    }
    let Some(write) = all.write else {
        return Gathered::Wrong(vec![cluster[0].1 as usize], Impossibility::Invented(version));
    };
    if cluster.len() == 1 && !operations[write].is_answered() {
        return Gathered::LeftOut;
    }
    if all.first_answered < signed(operations[write].sent_ns) {
        let evidence = all.first.into_iter().chain([write]).collect();
        return Gathered::Wrong(evidence, Impossibility::BeforeWritten(version));
    }
    Gathered::Cluster(all)
}

/// Returns the operations of the smallest conflict between two zones.
fn conflict(forward: &mut [Zone], backward: &[Zone]) -> Option<Vec<usize>> {
    forward.sort_unstable_by_key(|zone| zone.low);
    let mut best: Option<Vec<usize>> = None;
    let mut offer = |one: &Zone, other: &Zone| {
        let evidence: Vec<usize> = one.operations().chain(other.operations()).collect();
        if best.as_ref().is_none_or(|best| evidence.len() < best.len()) {
            best = Some(evidence);
        }
    };
    // Of the forward zones up to each, the one that ends last.
    let mut longest: Vec<usize> = Vec::with_capacity(forward.len());
    for (at, zone) in forward.iter().enumerate() {
        let before = longest.last().copied();
        if let Some(before) = before.filter(|it| zone.low < forward[*it].high) {
            offer(&forward[before], zone);
        }
        longest.push(before.filter(|it| forward[*it].high >= zone.high).unwrap_or(at));
    }
    for zone in backward {
        let earlier = forward.partition_point(|it| it.low < zone.low);
        if let Some(around) = earlier.checked_sub(1).map(|at| &forward[longest[at]]).filter(|it| zone.high < it.high) {
            offer(around, zone);
        }
    }
    best
}

/// Returns a time that can be compared with the one before all.
fn signed(at_ns: u64) -> i64 {
    i64::try_from(at_ns).unwrap_or(i64::MAX)
}
