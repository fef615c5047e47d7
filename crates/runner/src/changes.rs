//! What a job wants done to the nodes of a store, worked out for the nodes that store has.

use crate::planned_cell::PlannedCell;
use jobkit::{NodeAct, NodeChange};
use layers::shard::Sharding;
use store::Deployment;
use study::{Spec, Target};

/// Returns what kvtrial does in a cell, to which node; `None`: nothing.
///
/// # Errors
/// The store's nodes cannot be changed like that; what to use instead.
pub(crate) fn of_cell(cell: &PlannedCell) -> Result<Option<NodeChange<usize>>, String> {
    let Some(change) = cell.change.filter(|_| !cell.baseline) else { return Ok(None) };
    let (info, spec) = (cell.info, &cell.spec);
    let is_spread = Sharding::of(info, spec).is_some();
    let cache = layers::cache::LAYER.name();
    if is_spread && spec.options.contains_key(cache) {
        return Err(format!(
            "-s {spec}: {cache}= answers instead of the nodes, so keys would not move; leave {cache}= out"
        ));
    }
    let deployment = (spec.target == Target::Private).then(|| layers::on_paper(info, spec, false)).flatten();
    let deployment = deployment.transpose().map_err(|error| error.to_string())?;
    let nodes = deployment.as_ref().map_or(1, |deployment| deployment.nodes.len());
    let act = match change.act {
        NodeAct::Strike(node, stroke) => {
            let usual = if is_spread { nodes } else { 1 };
            NodeAct::Strike(killed(spec, deployment.as_ref(), node.or(usual))?, stroke)
        }
        NodeAct::Restart(node) => NodeAct::Restart(node.or(1)),
        // The layer does it.
        _ if is_spread => return Ok(None),
        NodeAct::Add if deployment.as_ref().is_some_and(|deployment| deployment.joining.is_some()) => NodeAct::Add,
        NodeAct::Add | NodeAct::Remove(_) if nodes < 2 => return Ok(None),
        NodeAct::Add => {
            return Err(format!("-s {spec}: no node can join it while it serves; {JOINABLE}"));
        }
        NodeAct::Remove(_) => {
            return Err(format!(
                "-s {spec}: change=remove is for nodes that kvtrial spreads keys over, such as -s redis-unix,nodes=4; use change=kill here"
            ));
        }
    };
    Ok(Some(NodeChange { act, phase: change.phase }))
}

/// The stores that take one more node.
pub(crate) const JOINABLE: &str = "one can join redis-cluster, etcd,nodes=3 or cassandra,nodes=3";

fn killed(spec: &Spec, deployment: Option<&Deployment>, number: usize) -> Result<usize, String> {
    let nodes = deployment.map_or(0, |deployment| deployment.nodes.len());
    match nodes {
        0 => Err(format!(
            "-s {spec}: change=kill kills a server that kvtrial started; name a private store of several, such as -s redis-unix,nodes=4"
        )),
        1 => Err(format!("-s {spec}: change=kill would leave no node; use a store of several, with nodes=")),
        _ if number > nodes => Err(format!("-s {spec}: it has no node {number}; use node= with 1 to {nodes}")),
        _ => Ok(number),
    }
}
