//! Striking a node, as a fault or to crash a store.

use host::Nodes;
use jobkit::Stroke;
use store::StoreError;

/// Strikes a node.
pub(crate) fn strike(nodes: &Nodes, name: &str, stroke: Stroke) -> Result<(), StoreError> {
    match stroke {
        Stroke::Kill => nodes.kill(name),
        Stroke::Stop => nodes.stop(name),
        Stroke::Freeze(_) => nodes.freeze(name),
    }
}
