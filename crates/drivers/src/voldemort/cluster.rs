//! The servers of a store as all its clients see them: which hold a key, and which of them have not answered lately.

use super::layout::Layout;
use super::metadata::Copies;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::Endpoint;
use study::Address;

/// The time for which a node that did not answer is asked only where there is no other.
const REST: Duration = Duration::from_secs(1);

/// The time a node may take where others hold the same keys.
const PATIENCE: Duration = Duration::from_millis(500);

/// The nodes, and the keys they hold.
pub(super) struct Cluster {
    pub(super) store: String,
    pub(super) layout: Layout,
    pub(super) endpoints: Vec<Endpoint>,
    /// The end of each node's rest, in milliseconds since `born`; 0: the node answers.
    rests: Vec<AtomicU64>,
    born: Instant,
}

impl Cluster {
    /// Makes the cluster of a store from the layout that this server has stated. The only server of a cluster is reached at this endpoint, whatever
    /// it states.
    pub(super) fn new(store: &str, layout: Layout, told_by: &Endpoint) -> Cluster {
        let reached = |host: &str, port: u16| Endpoint {
            address: Address::Tcp { host: host.to_owned(), port: Some(port) },
            ..Endpoint::loopback(port)
        };
        let endpoints: Vec<Endpoint> = match &layout.members[..] {
            [_] => vec![told_by.clone()],
            members => members.iter().map(|member| reached(&member.host, member.port)).collect(),
        };
        let rests = endpoints.iter().map(|_| AtomicU64::new(0)).collect();
        Cluster { store: store.to_owned(), layout, endpoints, rests, born: Instant::now() }
    }

    pub(super) fn copies(&self) -> Copies {
        self.layout.copies
    }

    /// Returns the number of a node in clocks.
    pub(super) fn id_of(&self, node: usize) -> i32 {
        self.layout.members[node].id
    }

    /// Returns how long a node may take; `None`: there is no other to ask.
    pub(super) fn patience(&self) -> Option<Duration> {
        (self.copies().replication > 1).then_some(PATIENCE)
    }

    /// Returns the nodes that hold a key, in the order of the ring. Nodes that did not answer lately are left out, as long as at least `required`
    /// nodes remain; one caller at a time tries them again.
    pub(super) fn holders(&self, key: &[u8], required: usize) -> Vec<usize> {
        let mut holders = self.layout.ring.holders(key);
        if self.rests.iter().all(|rest| rest.load(Ordering::Relaxed) == 0) {
            return holders;
        }
        let now = self.now_ms();
        let awake: Vec<usize> = holders.iter().copied().filter(|node| self.is_awake(*node, now)).collect();
        if awake.len() >= required {
            holders = awake;
        }
        holders
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_awake(&self, node: usize, now_ms: u64) -> bool {
        let rest = &self.rests[node];
        let until = rest.load(Ordering::Relaxed);
        let next = now_ms + REST.as_millis() as u64;
        until == 0
            || until <= now_ms && rest.compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Notes that a node has answered, or has not.
    pub(super) fn heard(&self, node: usize, answered: bool) {
        let rest = &self.rests[node];
        if answered {
            if rest.load(Ordering::Relaxed) != 0 {
                rest.store(0, Ordering::Relaxed);
            }
        } else if self.copies().replication > 1 {
            rest.store(self.now_ms() + REST.as_millis() as u64, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::layout::Layout;
    use super::super::metadata::{Copies, Member, cluster_xml, stores_xml};
    use super::{Cluster, Endpoint};

    fn cluster(replication: usize) -> Cluster {
        let member = |id: i32| Member { id, host: "127.0.0.1".into(), port: 1, partitions: vec![id as usize] };
        let copies = Copies { replication, required_reads: 2, required_writes: 2 };
        let members = [0, 1, 2].map(member);
        let layout = Layout::of(&cluster_xml(&members), &stores_xml("kv", copies), "kv").unwrap();
        Cluster::new("kv", layout, &Endpoint::loopback(1))
    }

    #[test]
    fn a_node_that_did_not_answer_is_left_out_while_enough_others_are_there() {
        let cluster = cluster(3);
        let all = cluster.holders(b"a", 2);
        assert_eq!(all.len(), 3);
        cluster.heard(all[0], false);
        assert_eq!(cluster.holders(b"a", 2), all[1..]);
        assert_eq!(cluster.holders(b"a", 3), all, "three are required");
        cluster.heard(all[1], false);
        assert_eq!(cluster.holders(b"a", 2), all, "one is not enough");
        cluster.heard(all[0], true);
        assert_eq!(cluster.holders(b"a", 2), [all[0], all[2]]);
    }

    #[test]
    fn the_only_node_of_a_key_is_always_asked() {
        let cluster = cluster(1);
        let only = cluster.holders(b"a", 1);
        cluster.heard(only[0], false);
        assert_eq!((cluster.holders(b"a", 1), cluster.patience()), (only, None));
    }
}
