//! The ring: which node is the first to have a key, as the nodes say.

use scylla::cluster::ClusterState;
use scylla::routing::partitioner::{Murmur3Partitioner, Partitioner, PartitionerHasher};
use store::{Endpoint, Keepers};

/// The points of all nodes, each with the number of its node.
pub(super) struct Ring {
    points: Vec<(i64, usize)>,
    nodes: usize,
}

impl Ring {
    /// Makes the ring that the nodes state now. Known nodes come first; the others follow in the order of their addresses.
    pub fn of(state: &ClusterState, known: &[Endpoint]) -> Ring {
        let hosts = known.iter().filter_map(|endpoint| Some(endpoint.tcp()?.0.to_owned()));
        let mut hosts: Vec<String> = hosts.collect();
        let host = |node: &scylla::cluster::Node| node.address.ip().to_string();
        let mut others: Vec<String> = state.get_nodes_info().iter().map(|node| host(node)).collect();
        others.sort_unstable();
        others.retain(|other| !hosts.contains(other));
        hosts.extend(others);
        let number = |node: &scylla::cluster::Node| hosts.iter().position(|known| *known == host(node));
        let ring = state.replica_locator().ring().iter();
        let mut points: Vec<_> = ring.filter_map(|(token, node)| Some((token.value(), number(node)?))).collect();
        points.sort_unstable();
        Ring { points, nodes: hosts.len() }
    }
}

impl Keepers for Ring {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn keeper(&self, key: &[u8]) -> usize {
        let mut hasher = Murmur3Partitioner.build_hasher();
        hasher.write(key);
        let token = hasher.finish().value();
        let index = self.points.partition_point(|(point, _)| *point < token);
        let point = self.points.get(index).or(self.points.first());
        point.map_or(0, |(_, node)| *node)
    }
}
