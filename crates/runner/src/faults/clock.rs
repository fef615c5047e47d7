//! Nodes whose time of day can be moved, and how that is done while other faults take their course.

use super::{AskedFault, Faulting, PlannedFault, Step};
use host::{ClockLibrary, Nodes};
use std::time::Duration;
use store::Deployment;
use study::Spec;

/// The stores whose clocks can be moved.
const MOVABLE: &str = "name one of redis-cluster, valkey-cluster and cassandra,nodes=3";

/// Checks that the clocks of a private store's nodes can be moved, where one of these faults does so.
///
/// # Errors
/// What the store lacks, and the stores that have it.
pub(super) fn check(deployment: &Deployment, spec: &Spec, faults: &[PlannedFault]) -> Result<(), String> {
    let Some(fault) = faults.iter().find(|fault| fault.moves_clock()) else { return Ok(()) };
    let problem = match (deployment.nodes.len(), deployment.time_of_day) {
        (1, _) => "has one node, whose clock is no other's",
        (_, Some(_)) => return Ok(()),
        (_, None) => {
            "has nodes whose clock kvtrial cannot move: they ask the kernel for the time and not the C library, as programs in Go do, or do not say what time \
             they have"
        }
    };
    Err(format!("--fault '{fault}': {spec} {problem}; {MOVABLE}"))
}

/// Returns the library that moves clocks, where one of these faults does so.
///
/// # Errors
/// It is not found; with the remedy.
pub(super) fn library(asked: &[AskedFault]) -> Result<Option<ClockLibrary>, String> {
    let Some(fault) = asked.iter().find(|fault| fault.moves_clock()) else { return Ok(None) };
    ClockLibrary::find().map(Some).map_err(|problem| format!("--fault '{fault}': {problem}"))
}

impl Faulting {
    /// Returns whether a fault moves the clock of a node.
    pub(super) fn moves_clock(&self, fault: usize) -> bool {
        self.state().happened[fault].fault.moves_clock()
    }

    /// Moves a clock, or sets it right. That takes up to a second, for which what comes next does not wait.
    pub(super) fn move_clock(&self, step: Step, fault: usize, led: Option<Vec<String>>, nodes: &Nodes) {
        if let (Some(_), Some(led)) = (self.carry_out_step(step, nodes), led) {
            self.watch_takeover(fault, led, nodes, Duration::MAX);
        }
    }
}
