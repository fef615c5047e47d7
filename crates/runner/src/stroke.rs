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
        Stroke::Cut(_) => nodes.cut(name),
        Stroke::Clock { by_ms, .. } => nodes.move_clock(name, by_ms),
    }
}

/// Ends a stroke that lasts for a time.
pub(crate) fn end_stroke(nodes: &Nodes, name: &str, stroke: Stroke) -> Result<(), StoreError> {
    match stroke {
        Stroke::Kill | Stroke::Stop => nodes.restart(name),
        Stroke::Freeze(_) => nodes.thaw(name),
        Stroke::Cut(_) => nodes.heal(name),
        Stroke::Clock { .. } => nodes.set_clock_right(name),
    }
}
