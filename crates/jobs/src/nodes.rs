//! nodes: keys are spread over nodes, a node comes (or goes) while they are served, and every key moves to where it belongs (asked in
//! 2009 of a distributed key store: can nodes be tossed in, and does it figure things out?).
//!
//! The store is one that kvtrial spreads over nodes: `-s redis-unix,nodes=9,shard=jump`. At first one node has no keys (or, where one
//! goes, all have). The run has three parts with as many operations each, 95 of 100 gets, keys drawn alike: before, while keys move, and
//! after. While they move a get asks the new node of its key, then the old one, and takes the value along; beside the operations,
//! every key that must move is got once. Every reply is judged as in ycsb: to the last byte, and by a ledger of versions.
//!
//! At the end every key is read back from where it belongs now, and every key that moved is asked for at its old node, which must not
//! have it. A store that is one node runs the same three parts, and nothing moves.
//!
//! A cluster that moves its keys itself is joined by a node that kvtrial starts, or loses one that it kills. The second part then lasts until
//! that is over. Where kvtrial spreads the keys, a node that is killed is missed for one more part, before the others get its keys: those
//! it had are gone.

mod found;
mod meanwhile;
mod placed;
mod sweep;
mod trial;

use crate::ycsb;
use crate::ycsb::workload::Workload;
use jobkit::{
    Job, JobError, JobExtras, JobInfo, JobRequest, NodeAct, NodeChange, ParamInfo, Stroke, Trial, TrialSetup, WhichNode,
};
use std::collections::BTreeMap;
use store::Capabilities;

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "nodes",
    summary: "a node joins or leaves while its keys are served: balance, keys moved, and what that takes; every reply verified",
    input: "generated, as ycsb's",
    records: "records",
    params: &[
        ParamInfo {
            name: "change",
            default: "add",
            values: "add, remove, kill",
            tunable: &[],
            help: "add: a node joins; remove: a node leaves; kill: a node is killed, and does not come back",
        },
        ParamInfo {
            name: "node",
            default: "usual",
            values: "usual, 1 to 256",
            tunable: &[],
            help: "the node that leaves or is killed; usual: the last of nodes that kvtrial spreads keys over, the first of a cluster",
        },
        ParamInfo { name: "records", default: "20000", values: "1 to 1000000000000000", tunable: &[], help: "keys" },
        ParamInfo {
            name: "operations",
            default: "20000",
            values: "1 or more",
            tunable: &[],
            help: "gets and puts before the change, as many while keys move, and as many after",
        },
        ParamInfo {
            name: "value",
            default: "100",
            values: "16 to 67108864",
            tunable: &[],
            help: "bytes of every value",
        },
        ParamInfo {
            name: "update",
            default: "0.05",
            values: "0 to 1",
            tunable: &[],
            help: "share of puts; the others are gets",
        },
    ],
    prepare,
    extras: JobExtras { size: Some("records"), ..JobExtras::NONE },
};

/// Most nodes a store can have.
const MOST_NODES: usize = 256;

/// The part of the run in which keys move.
const WHILE_KEYS_MOVE: &str = "while keys move";

/// The part of the run in which a node that was killed is missed.
const WHILE_ONE_IS_DEAD: &str = "while a node is dead";

struct Nodes {
    change: NodeAct<WhichNode>,
    /// One part of the run.
    workload: Workload,
    /// The job it is judged as.
    ycsb: Box<dyn Job>,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    if let Some(data) = &request.data {
        return Err(JobError(format!("--data {data}: nodes generates its data; use --set records= and value=")));
    }
    let change = match param("change") {
        "add" => NodeAct::Add,
        "remove" => NodeAct::Remove(which_node(param("node"))?),
        "kill" => NodeAct::Strike(which_node(param("node"))?, Stroke::Kill),
        other => return Err(JobError(format!("change={other} is not possible; use add, remove or kill"))),
    };
    if change == NodeAct::Add && param("node") != "usual" {
        return Err(JobError(
            "node= names the node that leaves or is killed; add change=remove or change=kill, or leave it out".into(),
        ));
    }
    let update = param("update").parse::<f64>().ok().filter(|update| (0.0..=1.0).contains(update));
    let update = update.ok_or_else(|| JobError(format!("update={} is not possible; use 0 to 1", param("update"))))?;
    let set = [
        ("records", param("records").to_owned()),
        ("operations", param("operations").to_owned()),
        ("value", param("value").to_owned()),
        ("distribution", "uniform".to_owned()),
        ("read", (1.0 - update).to_string()),
        ("update", update.to_string()),
    ];
    let set = set.map(|(name, value)| (name.to_owned(), value));
    let params = crate::params(&ycsb::JOB, &set)?;
    let workload = Workload::parse(&params, request.seed)?;
    let ycsb = (ycsb::JOB.prepare)(&JobRequest { params, ..request.clone() })?;
    Ok(Box::new(Nodes { change, workload, ycsb }))
}

fn which_node(value: &str) -> Result<WhichNode, JobError> {
    if value == "usual" {
        return Ok(WhichNode::Usual);
    }
    let number = value.parse().ok().filter(|number| (1..=MOST_NODES).contains(number));
    let problem = || JobError(format!("node={value} is not possible; use a number from 1 to {MOST_NODES}"));
    number.map(WhichNode::Number).ok_or_else(problem)
}

impl Job for Nodes {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let mut input = self.ycsb.input();
        input.insert("name".into(), "generated records".into());
        input
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        self.ycsb.suits(store)
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        Box::new(trial::NodesTrial::new(self, setup))
    }

    fn change(&self) -> Option<NodeChange<WhichNode>> {
        let phase = if self.change.strikes() { WHILE_ONE_IS_DEAD } else { WHILE_KEYS_MOVE };
        Some(NodeChange { phase, act: self.change })
    }

    fn logical_bytes(&self) -> u64 {
        self.ycsb.logical_bytes()
    }

    fn books_bytes(&self) -> u64 {
        self.ycsb.books_bytes()
    }

    /// Who moves keys must know of every operation on them.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        Err(JobError("who moves the keys must know of every operation on them; run it without --workers".into()))
    }

    fn known_digest(&self) -> Option<String> {
        self.ycsb.known_digest()
    }
}
