//! When each node of a store ran while some failed on purpose.

use study::{FaultRecord, Role, TrialRecord};

/// A node and what it did, one after the other, in seconds since the first timed phase began.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeLife {
    pub(crate) node: String,
    pub(crate) parts: Vec<(NodeDoing, f64, f64)>,
    /// When it took over from one that was struck.
    pub(crate) took_over_s: Vec<f64>,
}

/// The state of a node for a time. While the node is down it does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeDoing {
    Runs,
    /// The node keeps its connections and answers nobody.
    Frozen,
    /// The node hears nothing of the others, and clients reach it.
    CutOff,
    /// The node serves, with another time of day than the others.
    ClockApart,
}

/// Returns the nodes of a trial, those added while it ran last; none of a store that is one server.
pub(crate) fn lives(trial: &TrialRecord) -> Vec<NodeLife> {
    let end_s = trial.series.last().map_or(0.0, |point| point.at_s);
    let serving = trial.nodes.iter().filter(|node| node.role == Role::Clients).map(|node| node.name.as_str());
    let struck = trial.faults.iter().map(|fault| fault.node.as_str());
    let names = words::distinct(serving.chain(struck).filter(|name| !name.is_empty()));
    if names.len() < 2 {
        return Vec::new();
    }
    let takeovers = || trial.faults.iter().filter_map(|fault| fault.taken_over.as_ref());
    let life = |node: &str| NodeLife {
        node: node.to_owned(),
        parts: parts(node, &trial.faults, end_s),
        took_over_s: takeovers().filter(|it| it.by == node).map(|it| it.at_s).collect(),
    };
    names.into_iter().map(life).collect()
}

fn parts(node: &str, faults: &[FaultRecord], end_s: f64) -> Vec<(NodeDoing, f64, f64)> {
    let own = faults.iter().filter(|fault| fault.node == node && fault.problem.is_none());
    let mut parts = Vec::new();
    let is_added = own.clone().any(|fault| super::outages::act(&fault.planned) == "add");
    let mut since_s = (!is_added).then_some(0.0);
    for fault in own {
        let Some(at_s) = fault.at_s else { continue };
        let before = since_s.filter(|since_s| at_s > *since_s).map(|since_s| (NodeDoing::Runs, since_s, at_s));
        since_s = match super::outages::act(&fault.planned) {
            "kill" | "stop" => {
                parts.extend(before);
                None
            }
            act @ ("freeze" | "cut" | "clock") => {
                parts.extend(before);
                let until_s = fault.until_s.unwrap_or(end_s);
                let doing = match act {
                    "cut" => NodeDoing::CutOff,
                    "clock" => NodeDoing::ClockApart,
                    _ => NodeDoing::Frozen,
                };
                parts.push((doing, at_s, until_s));
                Some(until_s)
            }
            // It was not there before.
            "add" | "restart" => fault.until_s,
            _ => since_s,
        };
    }
    parts.extend(since_s.filter(|since_s| end_s > *since_s).map(|since_s| (NodeDoing::Runs, since_s, end_s)));
    parts
}

#[cfg(test)]
mod tests {
    use super::{NodeDoing, lives};
    use study::{FaultRecord, NodeUse, SeriesPoint, Takeover, TrialRecord};

    #[test]
    fn a_node_runs_until_it_is_struck_and_again_from_when_it_is_ready() {
        let fault = |planned: &str, node: &str, at_s, until_s| FaultRecord {
            planned: planned.into(),
            node: node.into(),
            at_s: Some(at_s),
            until_s,
            ..FaultRecord::default()
        };
        let trial = TrialRecord {
            series: vec![SeriesPoint { at_s: 10.0, ..SeriesPoint::default() }],
            nodes: ["node1", "node2"].map(|name| NodeUse { name: name.into(), ..NodeUse::default() }).into(),
            faults: vec![
                fault("at 1s freeze 2 for 1s", "node2", 1.0, Some(2.0)),
                FaultRecord {
                    taken_over: Some(Takeover { by: "node2".into(), at_s: 3.5 }),
                    ..fault("at 3s kill 1", "node1", 3.0, None)
                },
                fault("at 5s restart 1", "node1", 5.0, Some(5.5)),
                fault("at 6s add", "node3", 6.0, Some(7.0)),
                fault("at 7s cut 1 for 2s", "node1", 7.0, Some(9.0)),
                fault("at 8s kill 2", "node2", 8.0, None),
                fault("at 8s clock 3 by 30s for 2s", "node3", 8.0, Some(9.0)),
            ],
            ..TrialRecord::default()
        };
        let found = lives(&trial);
        assert_eq!(found.iter().map(|it| it.node.as_str()).collect::<Vec<_>>(), ["node1", "node2", "node3"]);
        let cut_off = [(NodeDoing::Runs, 5.5, 7.0), (NodeDoing::CutOff, 7.0, 9.0), (NodeDoing::Runs, 9.0, 10.0)];
        assert_eq!(found[0].parts, [&[(NodeDoing::Runs, 0.0, 3.0)][..], &cut_off].concat());
        assert_eq!(
            found[1].parts,
            [(NodeDoing::Runs, 0.0, 1.0), (NodeDoing::Frozen, 1.0, 2.0), (NodeDoing::Runs, 2.0, 8.0)]
        );
        assert_eq!((&found[0].took_over_s[..], &found[1].took_over_s[..]), (&[][..], &[3.5][..]));
        let apart = [(NodeDoing::Runs, 7.0, 8.0), (NodeDoing::ClockApart, 8.0, 9.0), (NodeDoing::Runs, 9.0, 10.0)];
        assert_eq!(found[2].parts, apart);
        assert!(lives(&TrialRecord { nodes: Vec::new(), faults: Vec::new(), ..trial }).is_empty());
    }
}
