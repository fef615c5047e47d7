//! Stores of which a node can be cut off from the others.

use super::PlannedFault;
use std::net::Ipv4Addr;
use store::{Place, StoreInfo};
use study::Spec;

/// The address of kvtrial in a network that is never made.
const ON_PAPER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 254);

/// Checks that the nodes of a private store can be cut off, where one of these faults does so: that there are several, with addresses of their own.
///
/// # Errors
/// What the store lacks, and the stores that have it.
pub(super) fn check(info: &StoreInfo, spec: &Spec, faults: &[PlannedFault]) -> Result<(), String> {
    let Some(fault) = faults.iter().find(|fault| fault.cuts()) else { return Ok(()) };
    cuttable(info, spec).map_err(|problem| format!("--fault '{fault}': {problem}"))
}

fn cuttable(info: &StoreInfo, spec: &Spec) -> Result<(), String> {
    let mut place = Place::on_paper(false).in_network(ON_PAPER);
    let nodes = layers::plan(info, spec, &mut place).map_err(|error| error.to_string())?.nodes;
    let has_own_address = |node: &store::Node| {
        let host = node.plan.endpoint.tcp().and_then(|(host, _)| host.parse().ok());
        host.is_some_and(|address| Place::number_at(ON_PAPER, address).is_some())
    };
    let problem = match nodes.len() {
        1 => "has one node, which hears of no other",
        _ if nodes.iter().all(has_own_address) => {
            return match host::network::is_entered() {
                true => Ok(()),
                false => {
                    Err("kvtrial is in the machine's network; only kvtrial run and kvtrial choose cut nodes off".into())
                }
            };
        }
        _ => "has nodes that speak to each other in no way that kvtrial can cut",
    };
    Err(format!("{spec} {problem}; {CUTTABLE}"))
}

/// The stores whose nodes can be cut off.
const CUTTABLE: &str = "name one of redis-cluster, valkey-cluster, etcd,nodes=3, nats,nodes=3 and cassandra,nodes=3";
