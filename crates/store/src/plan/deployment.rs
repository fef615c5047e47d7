//! The nodes that together are one private store: plain data, written by adapters, carried out by the `host` crate.

use crate::{CommandLine, Endpoint, Place, ServerPlan, StoreError};
use std::time::{Duration, SystemTime};
use study::{Role, Spec};

/// The nodes that together are one store, and how they are formed into one.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The nodes of the deployment.
    pub nodes: Vec<Node>,
    /// The steps that form one store of the nodes, once all are ready; `None`: the nodes find each other, or need not.
    pub forming: Option<Forming>,
    /// The way in which another node joins while the store serves; `None`: none can.
    pub joining: Option<Joining>,
    /// The question whether a node that was started again has what it missed; `None`: these nodes do not report it.
    pub caught_up: Option<CaughtUp>,
    /// The question which nodes lead; `None`: none does, or the nodes do not report it.
    pub leaders: Option<Leaders>,
    /// The question what time of day a node has, where its program asks the C library for it, so that it can be moved; `None`: it cannot be asked, or not be
    /// moved.
    pub time_of_day: Option<TimeOfDay>,
    /// The number of nodes that hold each pair once all is well.
    pub copies: u32,
}

/// Plans one more node for a deployment that serves, with a forming that makes it one of them and gives it its share of the keys.
pub type Joining = fn(&Spec, &mut Place, &Members) -> Result<Deployment, StoreError>;

/// Asks the nodes that run whether each of them has everything it should have; the error says what is still missing.
pub type CaughtUp = fn(&Spec, &[Endpoint]) -> Result<(), StoreError>;

/// Asks the nodes that run which of them lead, that is, take writes. Returns their places among the nodes asked. The error says why that is not known
/// just now.
pub type Leaders = fn(&Spec, &[Endpoint]) -> Result<Vec<usize>, StoreError>;

/// Asks a node what time of day it is.
pub type TimeOfDay = fn(&Spec, &Endpoint) -> Result<SystemTime, StoreError>;

/// The members that another node joins.
#[derive(Clone, Debug)]
pub struct Members {
    /// The name of the new node.
    pub name: String,
    /// The endpoints of the nodes that run and serve clients.
    pub endpoints: Vec<Endpoint>,
}

/// A server of a deployment.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name of the node, and of its directory below the private one (see [`Place::node`](crate::Place::node)); empty for the only
    /// node, which has the private directory to itself.
    pub name: String,
    /// The clients or nodes that the node serves.
    pub role: Role,
    /// The step of the start: nodes of a step start together; the nodes of the next step when all of this one are ready.
    pub step: u32,
    /// The sign that the node is ready.
    pub ready: Ready,
    /// The plan by which the node is started.
    pub plan: ServerPlan,
}

/// The sign that a node is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// The adapter can connect to it alone.
    Connects,
    /// The node listens: it answers clients only once the deployment is formed.
    Listens,
}

/// The steps that form one store of the nodes.
#[derive(Clone, Debug)]
pub struct Forming {
    /// The steps, one after the other.
    pub steps: Vec<FormingStep>,
    /// The longest time for all steps, and then for the store until it answers.
    pub timeout: Duration,
}

/// A step of a forming.
#[derive(Clone, Debug)]
pub enum FormingStep {
    /// A command, run to its end.
    Run(CommandLine),
    /// A wait until this is so, asked of all nodes that run and serve clients; the error says what is still missing.
    Until(fn(&[Endpoint]) -> Result<(), StoreError>),
}

impl From<CommandLine> for FormingStep {
    fn from(command: CommandLine) -> FormingStep {
        FormingStep::Run(command)
    }
}

impl Node {
    /// Makes a node for clients, which starts with the first nodes, and is ready when the adapter can connect to it.
    pub fn new(name: impl Into<String>, plan: ServerPlan) -> Node {
        Node { name: name.into(), role: Role::Clients, step: 0, ready: Ready::Connects, plan }
    }
}

impl Deployment {
    /// Makes the same deployment, with each pair on that number of nodes, as far as there are enough.
    pub fn with_copies(self, copies: u32) -> Deployment {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        Deployment { copies: copies.min(nodes), ..self }
    }

    /// Returns the endpoints that clients connect to, in the order of the nodes.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let serving = self.nodes.iter().filter(|node| node.role == Role::Clients);
        serving.map(|node| node.plan.endpoint.clone()).collect()
    }
}

impl From<ServerPlan> for Deployment {
    /// One server is a deployment of one node.
    fn from(plan: ServerPlan) -> Deployment {
        Deployment::from_iter([Node::new("", plan)])
    }
}

impl FromIterator<Node> for Deployment {
    /// Nodes that need not be formed, that no other can join, and of which one has each pair.
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Deployment {
        let nodes = nodes.into_iter().collect();
        Deployment { nodes, forming: None, joining: None, caught_up: None, leaders: None, time_of_day: None, copies: 1 }
    }
}

/// Returns the endpoint of a store that is one server.
///
/// # Errors
/// There is none, or there are several.
pub fn only(endpoints: &[Endpoint]) -> Result<&Endpoint, StoreError> {
    match endpoints {
        [endpoint] => Ok(endpoint),
        several => Err(StoreError::Session(format!(
            "it is one server, and {} addresses were given; add shard=jump to spread keys over them, or give each an -s of its own",
            several.len()
        ))),
    }
}
