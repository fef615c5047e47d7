//! The nodes that together are one private store: plain data, written by adapters, carried out by the `host` crate.

use crate::{CommandLine, Endpoint, ServerPlan, StoreError};
use std::time::Duration;
use study::Role;

/// The nodes that together are one store, and how they are formed into one.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// What makes one of them, once all are ready; `None`: they find each other, or need not.
    pub forming: Option<Forming>,
}

/// One server of a deployment.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is called, and its directory below the private one (see [`Place::node`](crate::Place::node)); empty for the only
    /// node, which has the private directory to itself.
    pub name: String,
    /// Whom it serves.
    pub role: Role,
    /// Nodes of a step start together; those of the next when all of this one are ready.
    pub step: u32,
    /// When it is ready.
    pub ready: Ready,
    /// How it is started.
    pub plan: ServerPlan,
}

/// When a node is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// The adapter can connect to it alone.
    Connects,
    /// It listens: it answers clients only when the deployment is formed.
    Listens,
}

/// What makes one store of the nodes.
#[derive(Clone, Debug)]
pub struct Forming {
    /// Commands, run to their end one after the other.
    pub commands: Vec<CommandLine>,
    /// How long they may take, and the store then until it answers, all together.
    pub timeout: Duration,
}

impl Node {
    /// A node for clients, started with the first, ready when the adapter can connect to it.
    pub fn new(name: impl Into<String>, plan: ServerPlan) -> Node {
        Node { name: name.into(), role: Role::Clients, step: 0, ready: Ready::Connects, plan }
    }
}

impl Deployment {
    /// Where clients connect to, in the order of the nodes.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let serving = self.nodes.iter().filter(|node| node.role == Role::Clients);
        serving.map(|node| node.plan.endpoint.clone()).collect()
    }
}

impl From<ServerPlan> for Deployment {
    /// One server is a deployment of one node.
    fn from(plan: ServerPlan) -> Deployment {
        Deployment { nodes: vec![Node::new("", plan)], forming: None }
    }
}

/// The endpoint of a store that is one server.
///
/// # Errors
/// It was given none, or several.
pub fn only(endpoints: &[Endpoint]) -> Result<&Endpoint, StoreError> {
    match endpoints {
        [endpoint] => Ok(endpoint),
        several => Err(StoreError::Session(format!("the store is one server, and was given {}", several.len()))),
    }
}
