//! The nodes job on the real engine over stores that kvtrial spreads, honest ones and such that lie.
#![allow(clippy::unwrap_used)]

use engine::{Settings, run_phase};
use jobkit::{Job, TrialSetup};
use kvtrial_jobs as jobs;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use store::immediate::{Immediate, SyncStore};
use store::{
    Availability, Capabilities, Expected, Facts, Opener, Operation, OperationKind, OperationSet, Reply, Session,
    SessionPlan, Store, StoreError, StoreInfo, Threading,
};
use study::{Answer, Class, Durability, Reason, ReasonKind, Spec};

type Pairs = Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>;

/// How a node lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    None,
    /// It says that it has deleted a key, and keeps it.
    KeepsDeleted,
    /// It says that it has added a key, and has not.
    LosesAdded,
}

struct Node {
    pairs: Pairs,
    lie: Lie,
}

impl Store for Node {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let handle = || Ok(Handle { pairs: self.pairs.clone(), lie: self.lie, value: Vec::new() });
        Immediate::session(plan, handle)
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[OperationKind::GetVersioned, OperationKind::CompareAndSet]),
    ..Capabilities::BASIC
};

struct Handle {
    pairs: Pairs,
    lie: Lie,
    value: Vec<u8>,
}

impl SyncStore for Handle {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        let mut pairs = self.pairs.lock().unwrap();
        match *operation {
            Operation::Get { key } => match pairs.get(key) {
                Some(value) => {
                    self.value.clone_from(value);
                    Reply::Value(&self.value)
                }
                None => Reply::Missing,
            },
            Operation::Put { key, value } => {
                pairs.insert(key.into(), value.into());
                Reply::Done
            }
            Operation::Delete { key } if self.lie == Lie::KeepsDeleted => {
                if pairs.contains_key(key) {
                    Reply::Done
                } else {
                    Reply::Missing
                }
            }
            Operation::Delete { key } => pairs.remove(key).map_or(Reply::Missing, |_| Reply::Done),
            Operation::CompareAndSet { key, expected: Expected::Absent, .. } if pairs.contains_key(key) => {
                Reply::Conflict
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                if self.lie != Lie::LosesAdded {
                    pairs.insert(key.into(), value.into());
                }
                Reply::Done
            }
            _ => panic!("{operation:?}"),
        }
    }
}

const fn info(opener: Opener) -> StoreInfo {
    StoreInfo {
        name: "map",
        family: "map",
        transport: None,
        driver: None,
        class: Class::Embedded,
        kind: "hash",
        summary: "a map in memory",
        durabilities: &[Durability::None],
        options: &[],
        install: "built in",
        licence: "MIT OR Apache-2.0",
        declares: |_| CAPABILITIES,
        probe: || Availability::Found("map 1".into()),
        opener,
    }
}

fn node(lie: Lie) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(Node { pairs: Pairs::default(), lie }))
}

static HONEST: StoreInfo = info(Opener::Embedded(|_, _| node(Lie::None)));
static KEEPS_DELETED: StoreInfo = info(Opener::Embedded(|_, _| node(Lie::KeepsDeleted)));
static LOSES_ADDED: StoreInfo = info(Opener::Embedded(|_, _| node(Lie::LosesAdded)));

fn prepare(set: &str) -> Result<Box<dyn Job>, String> {
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    let set: Vec<_> = set.split_whitespace().map(pair).collect();
    jobs::prepare(jobs::find("nodes").unwrap(), None, &set, 42).map_err(|error| error.to_string())
}

/// Runs the job; returns its known digest, the answer and everything that was wrong.
fn run(info: &StoreInfo, spec: &str, set: &str, threads: u32) -> (Option<String>, Answer, Vec<Reason>) {
    let job = prepare(set).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let spec: Spec = spec.parse().unwrap();
    layers::check(info, &spec).unwrap();
    let store = layers::open(info, &spec, Path::new(directory.path())).unwrap();
    let settings = Settings { clients: threads, pipeline: 4, threads: Some(threads), ..Settings::default() };
    let trial = job.trial(&TrialSetup::alone(settings.slots(), CAPABILITIES, 42));
    let mut wrong = Vec::new();
    for phase in 0..trial.phases().len() {
        let stop = AtomicBool::new(false);
        let outcome = run_phase(&*store, &*trial, phase, &settings, &stop, &mut |_| {}).unwrap();
        wrong.extend(outcome.offences.into_reasons());
    }
    let (answer, reasons) = trial.answer();
    wrong.extend(reasons);
    (job.known_digest(), answer, wrong)
}

fn number(answer: &Answer, fact: &str) -> f64 {
    answer.facts[fact].as_f64().unwrap()
}

const ALGORITHMS: [&str; 7] = ["jump", "modulo", "ketama", "rendezvous", "maglev", "multiprobe", "anchor"];

#[test]
fn every_key_moves_to_its_place_while_it_is_served_by_several_threads_and_none_is_left_behind() {
    for algorithm in ALGORITHMS {
        for change in ["add", "remove"] {
            let (known, answer, wrong) = run(
                &HONEST,
                &format!("map,nodes=5,shard={algorithm}"),
                &format!("change={change} records=3000 operations=20000 update=0.5 value=32"),
                4,
            );
            assert_eq!((wrong, Some(&answer.digest)), (vec![], known.as_ref()), "{algorithm} {change}");
            let (moved, to_move) = (number(&answer, "keys_moved"), number(&answer, "keys_to_move"));
            assert!(moved == to_move && moved > 0.0, "{algorithm} {change}: {moved} of {to_move}");
            let (share, theory) = (number(&answer, "share_to_move"), number(&answer, "share_to_move_in_theory"));
            let deviation = number(&answer, "share_to_move_deviation");
            assert!((share - theory).abs() < 4.0 * deviation, "{algorithm} {change}: {share}, in theory {theory}");
            let nodes = if change == "add" { (4.0, 5.0) } else { (5.0, 4.0) };
            assert_eq!((number(&answer, "nodes_before"), number(&answer, "nodes_after")), nodes);
            let requests = number(&answer, "requests_for_moving_keys") / number(&answer, "operations_on_moving_keys");
            assert!((1.0..5.0).contains(&requests), "{requests}");
        }
    }
}

#[test]
fn any_node_may_leave_where_nodes_are_known_by_their_names_and_its_keys_come_with_it() {
    for algorithm in ["ketama", "rendezvous", "maglev", "multiprobe", "anchor"] {
        for node in 1..=3 {
            let set = format!("change=remove node={node} records=1000 operations=3000 update=0.5 value=32");
            let (known, answer, wrong) = run(&HONEST, &format!("map,nodes=3,shard={algorithm}"), &set, 2);
            assert_eq!((wrong, Some(&answer.digest)), (vec![], known.as_ref()), "{algorithm}, node {node}");
            let after = answer.facts["keys_by_node_after"].as_array().unwrap();
            assert!(after[node - 1] == 0 && after.len() == 3, "{algorithm}, node {node}: {after:?}");
            assert_eq!(answer.facts["keys_moved"], answer.facts["keys_to_move"], "{algorithm}, node {node}");
        }
    }
}

#[test]
fn the_keys_of_a_node_that_is_lost_are_missed_and_those_of_the_others_are_all_found() {
    for (algorithm, node) in [("jump", 4), ("modulo", 4), ("ketama", 2), ("anchor", 1), ("maglev", 3)] {
        let set = format!("change=kill node={node} records=2000 operations=4000 update=0 value=32");
        let (_, answer, wrong) = run(&HONEST, &format!("map,nodes=4,shard={algorithm}"), &set, 2);
        let only_missing = kinds(&wrong).iter().all(|kind| *kind == ReasonKind::UnexpectedMiss);
        assert!(only_missing && !wrong.is_empty(), "{algorithm}: {wrong:?}");
        let lost = number(&answer, "keys_on_lost_node");
        assert!((300.0..700.0).contains(&lost), "{algorithm}: {lost}");
        assert_eq!(number(&answer, "keys_valid"), 2000.0 - lost, "{algorithm}");
        assert_eq!((number(&answer, "node_lost"), number(&answer, "nodes_after")), (f64::from(node), 3.0));
        assert_eq!(answer.facts["keys_moved"], answer.facts["keys_to_move"], "{algorithm}");
        // Of the 1,500 keys of the others modulo moves two in three, maglev a few or none.
        let moved = number(&answer, "keys_moved");
        assert!(moved == 0.0 || ["modulo", "maglev"].contains(&algorithm), "{algorithm}: {moved}");
        assert!((900.0..1100.0).contains(&moved) || algorithm != "modulo", "{moved}");
    }
}

#[test]
fn a_get_while_keys_move_takes_four_requests_the_first_time_and_one_from_then_on() {
    // No puts, one client: each key that moves is got along with an operation, and the operations of 2000 draw others.
    let (_, answer, wrong) = run(&HONEST, "map,nodes=3", "records=1000 operations=2000 update=0 value=32", 1);
    assert_eq!(wrong, []);
    let (keys, operations) = (number(&answer, "keys_moved"), number(&answer, "operations_on_moving_keys"));
    assert_eq!(number(&answer, "requests_for_moving_keys"), 4.0 * keys + (operations - keys));
}

#[test]
fn a_store_that_is_one_node_runs_the_same_operations_to_the_same_answer_and_nothing_moves() {
    let set = "records=500 operations=2000 value=32";
    let (known, alone, wrong) = run(&HONEST, "map", set, 2);
    assert_eq!((wrong, Some(&alone.digest)), (vec![], known.as_ref()));
    assert!(!alone.facts.contains_key("keys_moved"));
    assert_eq!(run(&HONEST, "map,nodes=4", set, 2).1.digest, alone.digest);
}

fn kinds(wrong: &[Reason]) -> Vec<ReasonKind> {
    wrong.iter().map(|reason| reason.kind).collect()
}

#[test]
fn what_a_node_keeps_of_keys_that_moved_is_found_at_its_place() {
    let (_, _, wrong) = run(&KEEPS_DELETED, "map,nodes=4", "records=500 operations=1000 value=32", 1);
    let leftover = wrong.iter().find(|reason| reason.example.contains("its old node still has it")).unwrap();
    assert!(leftover.kind == ReasonKind::WrongReply && leftover.count > 50, "{leftover:?}");
}

#[test]
fn a_key_that_is_lost_on_its_way_is_missed() {
    let (known, answer, wrong) = run(&LOSES_ADDED, "map,nodes=4", "records=500 operations=1000 value=32", 1);
    assert!(kinds(&wrong).contains(&ReasonKind::UnexpectedMiss), "{wrong:?}");
    assert_ne!(Some(answer.digest), known);
}

#[test]
fn parameters_that_cannot_be_are_refused_with_what_can() {
    for (set, words) in [
        ("change=grow", "change=grow is not possible; use add, remove or kill"),
        ("change=remove node=0", "node=0 is not possible; use a number from 1 to 256"),
        ("node=2", "node= names the node that leaves or is killed"),
        ("update=2", "update=2 is not possible; use 0 to 1"),
        ("records=0", "records=0 is not possible"),
        ("value=3", "value=3 is not possible"),
    ] {
        assert!(prepare(set).err().unwrap().contains(words), "{set}");
    }
}
