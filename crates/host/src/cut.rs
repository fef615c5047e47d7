//! Nodes of a deployment that are cut off from the others, and hear of them again.

use crate::network::{Namespace, Network};
use crate::node::Running;
use crate::nodes::Nodes;
use store::StoreError;

impl Nodes {
    /// Cuts a node off from all others: they hear nothing of each other, on no connection, and clients reach all of them.
    ///
    /// # Errors
    /// The node has no address of its own, or is cut off already.
    pub fn cut(&self, name: &str) -> Result<(), StoreError> {
        let (network, number) = self.in_network(name)?;
        if network.cut_off().contains(&number) {
            return Err(self.refusal(name, "is cut off already"));
        }
        network.cut(number).map_err(StoreError::Session)
    }

    /// Lets a node that was cut off hear of the others again.
    ///
    /// # Errors
    /// The node is not cut off.
    pub fn heal(&self, name: &str) -> Result<(), StoreError> {
        let (network, number) = self.in_network(name)?;
        if !network.cut_off().contains(&number) {
            return Err(self.refusal(name, "is not cut off"));
        }
        network.heal(number).map_err(StoreError::Session)
    }

    fn in_network(&self, name: &str) -> Result<(&Network, u8), StoreError> {
        let mut running = self.running();
        let it = self.find(&mut running, name)?;
        self.place_in_network(it).ok_or_else(|| self.refusal(name, "has no address of its own, so nothing can be cut"))
    }

    /// Lets every node hear of all others.
    pub(crate) fn heal_all(&self) {
        if let Some(network) = &self.network {
            network.cut_off().into_iter().for_each(|number| _ = network.heal(number));
        }
    }

    /// Returns the network namespace of a node that has an address of its own.
    pub(crate) fn namespace(&self, it: &Running) -> Option<Result<Namespace, StoreError>> {
        let (network, number) = self.place_in_network(it)?;
        Some(network.namespace(number).map_err(|problem| self.builder.not_started(problem)))
    }

    /// Returns the network and the number of a node that has an address of its own in it.
    fn place_in_network(&self, it: &Running) -> Option<(&Network, u8)> {
        let network = self.network.as_ref()?;
        let (host, _) = it.node.plan.endpoint.tcp()?;
        Some((network, network.node_at(host)?))
    }
}
