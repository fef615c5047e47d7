//! Keys spread over several nodes, as a job sees them that changes the number of nodes.

/// The rule for which node has a key, shared by all sessions of a spread store.
///
/// At first all nodes have their share. A job that changes the number of nodes [plans](Spread::plan) the change, and takes the stages one after the
/// other, between its phases: no operation may be in flight when a stage ends.
pub trait Spread: Send + Sync {
    /// Returns how many nodes there are, with keys or without.
    fn nodes(&self) -> usize;

    /// Returns whether keys move when the number of nodes changes.
    fn keys_move(&self) -> bool;

    /// Plans a change. From now on keys belong to the nodes before the change.
    ///
    /// # Errors
    /// There is no such node, this scheme cannot work without the node, or a change was planned before.
    fn plan(&self, change: NumberChange) -> Result<(), String>;

    /// Returns how many nodes have keys before the planned change, and after it.
    fn change(&self) -> Option<(usize, usize)>;

    /// Returns the node that is lost in the planned change, with its keys.
    fn lost(&self) -> Option<usize>;

    /// Enters a stage of the planned change.
    fn enter(&self, stage: Stage);

    /// Returns the node of a key that was stored before the planned change: before the change, and after it. Without a planned change both are the
    /// same.
    fn nodes_of(&self, key: &[u8]) -> (usize, usize);

    /// Returns the theory for the smaller of the two numbers of nodes, and for a node that joins; `None`: no change was planned, or no key moves.
    fn law(&self) -> Option<Law>;

    /// Returns the requests that moving keys have taken so far.
    fn moves(&self) -> Moves;
}

/// The change of the number of nodes by one. Nodes are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberChange {
    /// The last node has no keys at first, and joins.
    Joins,
    /// This node leaves, and its keys move to the others.
    Leaves(usize),
    /// This node is lost: its keys belong to the others from then on, and are gone.
    Lost(usize),
}

/// The stage of a change of the number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Keys belong where the old number of nodes puts them.
    Before,
    /// Keys move. A get asks the new node of its key, and where that node has no value the old node, whose value then moves; a put goes to the new
    /// node, and the old value is deleted. Gets and puts of single keys are served, nothing else of keys that move.
    Moving,
    /// Keys belong where the new number of nodes puts them.
    After,
}

/// The requests that moving keys took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// The gets and puts of keys that move, or had moved; where no key moves, of all keys.
    pub operations: u64,
    /// The requests that these gets and puts took.
    pub requests: u64,
    /// The keys that moved from their old node to the new one.
    pub keys: u64,
}

/// The theory of a spread: how evenly keys lie on the nodes, and how many move when a node joins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// The number of nodes.
    pub nodes: usize,
    /// The variance of a node's share that comes from the placement alone, before any key is drawn.
    pub own_variance: f64,
    /// The share of keys that move when a node joins.
    pub moved: f64,
    /// The standard deviation of `moved`, before any key is drawn.
    pub moved_deviation: f64,
}

impl Law {
    /// Returns the coefficient of variation of the nodes' shares of this many keys: standard deviation over mean.
    pub fn variation(&self, keys: u64) -> f64 {
        let nodes = self.nodes as f64;
        let sampling = (nodes - 1.0) / (nodes * nodes * keys as f64);
        (self.own_variance + sampling).sqrt() * nodes
    }
}
