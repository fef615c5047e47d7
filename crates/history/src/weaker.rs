//! What a register still keeps to where it is not linearizable: weaker guarantees, each by its name.
//!
//! One write is *older* than another if it was answered before the other was sent. Writes that overlap count as neither, so nothing here is
//! found without being so.

use std::collections::HashMap;

use crate::act::{Act, ActKind, SwapAnswer};

/// How reads broke weaker guarantees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weaker {
    /// Reads that were answered.
    pub reads: u64,
    /// Reads whose client had already read something newer: no monotonic reads.
    pub went_back: u64,
    /// Reads whose client had written something newer itself: it did not read its writes.
    pub own_write_missing: u64,
    /// For each read of something overwritten, how old that was in nanoseconds: from the answer to the write that replaced it to the sending of the read.
    pub stale_ns: Vec<u64>,
}

impl Weaker {
    /// Returns how old the oldest stale read was, in nanoseconds.
    pub fn oldest_ns(&self) -> Option<u64> {
        self.stale_ns.iter().copied().max()
    }

    /// Adds what was found for another key.
    pub fn add(&mut self, other: Self) {
        self.reads += other.reads;
        self.went_back += other.went_back;
        self.own_write_missing += other.own_write_missing;
        self.stale_ns.extend(other.stale_ns);
    }
}

/// The times of a write, or of what may have left nothing there.
#[derive(Clone, Copy)]
struct Write {
    sent: i64,
    answered: i64,
}

/// Compares each read of a register with what its client and all others had written and read; nothing where versions were written twice.
pub fn weaker(operations: &[Act]) -> Weaker {
    let mut found = Weaker::default();
    let Some(writes) = Writes::of(operations) else { return found };
    let mut clients: HashMap<u32, Vec<(u64, usize)>> = HashMap::new();
    for (at, operation) in operations.iter().enumerate().filter(|(_, it)| it.is_answered()) {
        clients.entry(operation.client).or_default().push((operation.answered_ns(), at));
        let Some(write) = writes.read_by(operation) else { continue };
        found.reads += 1;
        let replaced = writes.replaced(write);
        if replaced < signed(operation.sent_ns) {
            found.stale_ns.push(operation.sent_ns - replaced.max(0).cast_unsigned());
        }
    }
    for mut answered in clients.into_values() {
        answered.sort_unstable();
        // What the client knows of after each of its answers: the latest that was sent.
        let (mut read, mut written) = (i64::MIN, i64::MIN);
        let known: Vec<(i64, i64)> = answered
            .iter()
            .map(|(_, at)| {
                let it = &operations[*at];
                if it.kind.changes() {
                    written = written.max(signed(it.sent_ns));
                } else if let Some(write) = writes.seen_for_sure(it) {
                    read = read.max(write.sent);
                }
                (read, written)
            })
            .collect();
        for (_, at) in &answered {
            let it = &operations[*at];
            let Some(write) = writes.read_by(it) else { continue };
            let before = answered.partition_point(|(answered, _)| *answered < it.sent_ns);
            let Some((read, written)) = before.checked_sub(1).map(|it| known[it]) else { continue };
            found.went_back += u64::from(write.answered < read);
            found.own_write_missing += u64::from(write.answered < written);
        }
    }
    found
}

/// The writes of a key.
struct Writes {
    by_version: HashMap<u64, Write>,
    /// By the time of sending, with the first answer to any write sent then or later.
    by_sent: Vec<(i64, i64)>,
    /// The last answer to a deletion sent until a time.
    deletes: Vec<(i64, i64)>,
}

impl Writes {
    /// Collects the writes of a register; none where it is no register, or a version was written twice.
    fn of(operations: &[Act]) -> Option<Self> {
        let mut writes = Self { by_version: HashMap::new(), by_sent: Vec::new(), deletes: Vec::new() };
        for operation in operations.iter().filter(|it| it.counts()) {
            let write = Write { sent: signed(operation.sent_ns), answered: signed(operation.answered_ns()) };
            match operation.kind {
                ActKind::Put(version) | ActKind::CompareAndSet { new: version, swap: SwapAnswer::Done, .. } => {
                    if writes.by_version.insert(version, write).is_some() {
                        return None;
                    }
                }
                ActKind::Delete => writes.deletes.push((write.sent, write.answered)),
                ActKind::Get(_) | ActKind::CompareAndSet { .. } => continue,
                _ => return None,
            }
            writes.by_sent.push((write.sent, write.answered));
        }
        writes.by_sent.sort_unstable();
        let mut first = i64::MAX;
        for it in writes.by_sent.iter_mut().rev() {
            first = first.min(it.1);
            it.1 = first;
        }
        writes.deletes.sort_unstable();
        let mut last = i64::MIN;
        for it in &mut writes.deletes {
            last = last.max(it.1);
            it.1 = last;
        }
        Some(writes)
    }

    /// Returns the write whose value a read was answered; of all that may have left nothing there, the one answered last.
    fn read_by(&self, read: &Act) -> Option<Write> {
        match read.kind {
            ActKind::Get(Some(version)) => self.by_version.get(&version).copied(),
            ActKind::Get(None) => {
                let until = self.deletes.partition_point(|it| it.0 <= signed(read.answered_ns()));
                let answered = until.checked_sub(1).map_or(-1, |it| self.deletes[it].1);
                Some(Write { sent: i64::MIN, answered })
            }
            _ => None,
        }
    }

    /// Returns the write that a read saw, if it can be no other.
    fn seen_for_sure(&self, read: &Act) -> Option<Write> {
        match read.kind {
            ActKind::Get(Some(_)) => self.read_by(read),
            _ => None,
        }
    }

    /// Returns when the first write newer than this one was answered.
    fn replaced(&self, write: Write) -> i64 {
        let newer = self.by_sent.partition_point(|it| it.0 <= write.answered);
        self.by_sent.get(newer).map_or(i64::MAX, |it| it.1)
    }
}

/// Returns a time that can be compared with the one before all.
fn signed(at_ns: u64) -> i64 {
    i64::try_from(at_ns).unwrap_or(i64::MAX)
}
