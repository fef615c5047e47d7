//! What is done to the nodes of a store: by a job, as a fault, or as the blow that makes a crash.

use std::fmt;
use std::time::Duration;

/// An act on a node. `N`: how the node is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAct<N> {
    /// One more is started, and gets its share of the keys.
    Add,
    /// The node leaves.
    Remove(N),
    /// A node that serves does so no longer.
    Strike(N, Stroke),
    /// A node that was killed or stopped is started again.
    Restart(N),
}

/// The way in which a node that serves is made not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// All its processes are killed.
    Kill,
    /// The node is shut down.
    Stop,
    /// All its processes stop where they are for this time.
    Freeze(Duration),
    /// The node and all others hear nothing of each other for this time; clients reach all of them.
    Cut(Duration),
    /// Its time of day is ahead of that of the others, or behind it, for a time.
    Clock {
        /// How far it is ahead, in milliseconds; negative where it is behind.
        by_ms: i64,
        /// For how long.
        time: Duration,
    },
}

impl Stroke {
    /// Returns how long it lasts; `None`: until the node is started again.
    pub fn time(self) -> Option<Duration> {
        match self {
            Stroke::Kill | Stroke::Stop => None,
            Stroke::Freeze(time) | Stroke::Cut(time) | Stroke::Clock { time, .. } => Some(time),
        }
    }
}

/// The node of a store that an act is done to, as a job names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichNode {
    /// The last of a store that kvtrial spreads over nodes, the first of any other.
    Usual,
    /// That of this number, from 1.
    Number(usize),
}

/// A change to the nodes of a private store that a job asks for. A store that kvtrial itself spreads over nodes changes their number
/// without this, unless a node is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeChange<N> {
    /// The phase it begins with, by name.
    pub phase: &'static str,
    /// The act.
    pub act: NodeAct<N>,
}

impl WhichNode {
    /// Returns the number of the node, where this one is the usual one.
    pub fn or(self, usual: usize) -> usize {
        match self {
            WhichNode::Usual => usual,
            WhichNode::Number(number) => number,
        }
    }
}

impl<N> NodeAct<N> {
    /// Returns the node it is done to; `None`: it makes one.
    pub fn node(self) -> Option<N> {
        match self {
            NodeAct::Add => None,
            NodeAct::Remove(node) | NodeAct::Strike(node, _) | NodeAct::Restart(node) => Some(node),
        }
    }

    /// Returns whether a node that served does so no longer.
    pub fn strikes(&self) -> bool {
        matches!(self, NodeAct::Strike(..))
    }
}

impl<N: fmt::Display> fmt::Display for NodeAct<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeAct::Add => f.write_str("add"),
            NodeAct::Remove(node) => write!(f, "remove {node}"),
            NodeAct::Strike(node, Stroke::Kill) => write!(f, "kill {node}"),
            NodeAct::Strike(node, Stroke::Stop) => write!(f, "stop {node}"),
            NodeAct::Strike(node, Stroke::Freeze(time)) => write!(f, "freeze {node} for {}s", time.as_secs_f64()),
            NodeAct::Strike(node, Stroke::Cut(time)) => write!(f, "cut {node} for {}s", time.as_secs_f64()),
            NodeAct::Strike(node, Stroke::Clock { by_ms, time }) => {
                write!(f, "clock {node} by {}s for {}s", *by_ms as f64 / 1e3, time.as_secs_f64())
            }
            NodeAct::Restart(node) => write!(f, "restart {node}"),
        }
    }
}
