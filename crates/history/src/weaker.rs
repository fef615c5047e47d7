//! Guarantees that are weaker than one copy, each by its name.

use crate::cluster::VersionZone;
use crate::operation::Encounter;

/// What was broken, and how often. A version is called older than another where one of its operations was over before the other was
/// even written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weaker {
    /// Answered reads.
    pub reads: u64,
    /// Reads of a version although a newer one had been acknowledged before the read was sent.
    pub stale_reads: u64,
    /// The longest time by which one of them was behind: since then the newer version had been acknowledged.
    pub oldest_stale_ns: u64,
    /// Reads of a version older than one the same client had read before.
    pub backward_reads: u64,
    /// Reads of a version older than one the same client had written before.
    pub own_writes_missed: u64,
}

impl Weaker {
    /// Adds what was found of other keys.
    pub fn add(&mut self, other: &Weaker) {
        self.reads += other.reads;
        self.stale_reads += other.stale_reads;
        self.oldest_stale_ns = self.oldest_stale_ns.max(other.oldest_stale_ns);
        self.backward_reads += other.backward_reads;
        self.own_writes_missed += other.own_writes_missed;
    }

    /// Returns what was broken for one key; the operations are sorted by version.
    pub(crate) fn of(operations: &[Encounter], clusters: &[VersionZone]) -> Weaker {
        let mut found = Weaker::default();
        // When each version was sent, and from then on the earliest acknowledgement of that version or a later one.
        let mut writes: Vec<(i64, i64)> =
            operations.iter().filter(|it| it.writes()).map(|it| (it.begin_ns(), it.end_ns())).collect();
        writes.sort_unstable();
        let mut earliest = i64::MAX;
        for write in writes.iter_mut().rev() {
            earliest = earliest.min(write.1);
            write.1 = earliest;
        }
        for cluster in clusters {
            let newer = writes.partition_point(|&(sent, _)| sent <= cluster.first_answer_ns);
            let replaced_ns = writes.get(newer).map_or(i64::MAX, |it| it.1);
            for read in operations[cluster.operations.clone()].iter().filter(|it| !it.writes()) {
                found.reads += 1;
                if replaced_ns < read.begin_ns() {
                    found.stale_reads += 1;
                    found.oldest_stale_ns = found.oldest_stale_ns.max((read.begin_ns() - replaced_ns) as u64);
                }
            }
        }
        found.sessions(operations, clusters);
        found
    }

    /// Counts what single clients saw: their operations in the order of their ends, each against those that were over before it began.
    fn sessions(&mut self, operations: &[Encounter], clusters: &[VersionZone]) {
        // When the version of each operation was sent, and when it was first known to be there.
        let mut of_client: Vec<(u32, i64, i64, i64, i64, bool)> = Vec::with_capacity(operations.len());
        for cluster in clusters {
            let first = &operations[cluster.operations.start];
            let sent_ns = if first.writes() { first.begin_ns() } else { i64::MIN };
            for it in &operations[cluster.operations.clone()] {
                let (client, begin, end) = (it.client, it.begin_ns(), it.end_ns());
                of_client.push((client, begin, end, sent_ns, cluster.first_answer_ns, it.writes()));
            }
        }
        of_client.sort_unstable();
        for session in of_client.chunk_by(|a, b| a.0 == b.0) {
            let mut by_end: Vec<usize> = (0..session.len()).collect();
            by_end.sort_unstable_by_key(|&at| session[at].2);
            let mut ended = by_end.into_iter().peekable();
            let (mut read_ns, mut wrote_ns) = (i64::MIN, i64::MIN);
            for &(_, begin, _, _, first_answer_ns, writes) in session {
                while let Some(at) = ended.next_if(|&at| session[at].2 < begin) {
                    let newest = if session[at].5 { &mut wrote_ns } else { &mut read_ns };
                    *newest = (*newest).max(session[at].3);
                }
                if !writes {
                    self.backward_reads += u64::from(first_answer_ns < read_ns);
                    self.own_writes_missed += u64::from(first_answer_ns < wrote_ns);
                }
            }
        }
    }
}
