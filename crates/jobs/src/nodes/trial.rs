//! One execution: the parts of the run, and the change between them.

use super::found::Found;
use super::meanwhile::Meanwhile;
use super::placed::Placed;
use super::sweep::{Leftovers, Move};
use super::{Nodes, WHILE_KEYS_MOVE, WHILE_ONE_IS_DEAD};
use crate::ycsb::key::key;
use crate::ycsb::run::Run;
use crate::ycsb::trial::YcsbTrial;
use history::Collector;
use jobkit::{NodeAct, Phase, Trial, TrialSetup, WhichNode, Worker};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use store::spread::{NumberChange, Spread, Stage};
use store::{Keeps, OperationKind, Slot, Store, StoreError, Whereabouts};
use study::{Answer, Reason, WriteAccount};

/// State shared by the workers of one execution.
pub(super) struct NodesTrial<'a> {
    change: NodeAct<WhichNode>,
    can_move: bool,
    pub(super) ycsb: YcsbTrial<'a>,
    /// `None`: the store is one node.
    spread: OnceLock<Option<Arc<dyn Spread>>>,
    moving: Mutex<Moving>,
    /// Keys of which an operation failed while they moved.
    shaken: Mutex<HashSet<u64>>,
    /// Keys of those that their old node still has.
    stayed: AtomicU64,
    /// All keys have moved, and the old nodes are asked: not where nothing was answered any more.
    asks_old_nodes: AtomicBool,
    outside: Outside,
    placed: Placed,
}

/// The change that kvtrial makes from outside, where it makes one.
#[derive(Default)]
struct Outside {
    is_expected: AtomicBool,
    is_over: AtomicBool,
}

/// When keys moved.
#[derive(Clone, Copy, Default)]
struct Moving {
    began: Option<Instant>,
    ended: Option<Instant>,
    /// All of them have.
    is_over: bool,
}

/// What is done, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Plan,
    Load,
    Before,
    /// A node was killed, and clients do not know it yet.
    Dead,
    BeginMoving,
    While,
    EndMoving,
    After,
    ReadBack,
    AskOldNodes,
    Leftovers,
}

const PARTS: [Part; 11] = [
    Part::Plan,
    Part::Load,
    Part::Before,
    Part::Dead,
    Part::BeginMoving,
    Part::While,
    Part::EndMoving,
    Part::After,
    Part::ReadBack,
    Part::AskOldNodes,
    Part::Leftovers,
];

impl<'a> NodesTrial<'a> {
    /// Makes an execution on an empty store.
    pub(super) fn new(job: &'a Nodes, setup: &TrialSetup) -> NodesTrial<'a> {
        let keeps = setup.capabilities.keeps;
        NodesTrial {
            change: job.change,
            can_move: setup.capabilities.has(OperationKind::CompareAndSet),
            ycsb: YcsbTrial::new(&job.workload, Some(0), setup.seed, setup.slots, keeps),
            spread: OnceLock::new(),
            moving: Mutex::default(),
            shaken: Mutex::default(),
            stayed: AtomicU64::new(0),
            asks_old_nodes: AtomicBool::new(false),
            outside: Outside::default(),
            placed: Placed::default(),
        }
    }

    /// Returns the part of the run that a phase carries out.
    fn part(&self, phase: usize) -> Part {
        self.parts().nth(phase).unwrap_or(Part::Leftovers)
    }

    /// What is done, in order. Only what a store keeps can be read back; only who is killed is missed.
    fn parts(&self) -> impl Iterator<Item = Part> {
        let (keeps, kills) = (self.ycsb.keeps == Keeps::Everything, self.change.strikes());
        PARTS.into_iter().filter(move |part| match part {
            Part::ReadBack | Part::AskOldNodes | Part::Leftovers => keeps,
            Part::Dead => kills,
            _ => true,
        })
    }

    /// Returns whether kvtrial has yet to come to the end of the change it makes.
    pub(super) fn change_goes_on(&self) -> bool {
        self.outside.is_expected.load(Ordering::Relaxed) && !self.outside.is_over.load(Ordering::Relaxed)
    }

    /// Returns how the store is spread, where it is.
    pub(super) fn spread(&self) -> Option<&dyn Spread> {
        self.spread.get().and_then(|spread| spread.as_deref())
    }

    /// Returns whether a key is to move: one that was lost does not.
    pub(super) fn moves(&self, id: u64) -> bool {
        self.spread().is_some_and(|spread| {
            let (before, after) = spread.nodes_of(&key(id));
            before != after && spread.lost() != Some(before)
        })
    }

    /// Notes that a thread has got all keys it was to move.
    pub(super) fn swept(&self) {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(Instant::now());
    }

    /// Notes that an operation on this key failed while keys move: of its requests some may have been carried out, the last one not.
    pub(super) fn shake(&self, id: u64) {
        self.shaken.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    /// Returns whether one did.
    pub(super) fn is_shaken(&self, id: u64) -> bool {
        self.shaken.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    /// Notes that the old node of such a key still has it.
    pub(super) fn stayed(&self) {
        self.stayed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the old nodes are asked now.
    pub(super) fn asks_old_nodes(&self) -> bool {
        self.asks_old_nodes.load(Ordering::Relaxed)
    }

    fn plan(&self, store: &dyn Store) -> Result<(), StoreError> {
        let spread = match store.whereabouts() {
            Whereabouts::Spread(spread) => Some(spread),
            Whereabouts::Cluster(_) | Whereabouts::Unsaid(_) => None,
        };
        if let Some(spread) = &spread {
            let nodes = spread.nodes();
            let index = |node: WhichNode| node.or(nodes) - 1;
            let change = match self.change {
                NodeAct::Add => NumberChange::Joins,
                NodeAct::Remove(node) => NumberChange::Leaves(index(node)),
                NodeAct::Strike(node, _) => NumberChange::Lost(index(node)),
                NodeAct::Restart(_) => return Err(StoreError::Session("it has no node to start again".into())),
            };
            if nodes < 2 {
                return Err(StoreError::Session(
                    "with a single node, no node can join or leave; use nodes=2 or more".into(),
                ));
            }
            if spread.keys_move() && !self.can_move {
                let problem = "keys move by add, which this store does not have: a key put meanwhile would be lost";
                return Err(StoreError::Session(format!("{problem}; use another store")));
            }
            spread.plan(change).map_err(StoreError::Session)?;
        }
        if spread.is_none() && self.outside.is_expected.load(Ordering::Relaxed) {
            self.placed.before(store);
        }
        let _ = self.spread.set(spread);
        Ok(())
    }

    fn enter(&self, stage: Stage) {
        if let Some(spread) = self.spread() {
            spread.enter(stage);
        }
    }
}

impl Trial for NodesTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let records = Some(self.ycsb.workload.records);
        let operations = self.ycsb.workload.requests();
        let phase = |part: Part| match part {
            Part::Plan => Phase::untimed("plan", None),
            Part::Load => Phase::untimed("load", records),
            Part::Before => Phase::timed("before", operations),
            Part::Dead => Phase::timed(WHILE_ONE_IS_DEAD, operations),
            Part::BeginMoving => Phase::untimed("begin moving", None),
            Part::While => Phase::timed(WHILE_KEYS_MOVE, operations),
            Part::EndMoving => Phase::untimed("end moving", None),
            Part::After => Phase::timed("after", operations),
            Part::ReadBack => Phase::read_back(records),
            Part::AskOldNodes => Phase::untimed("ask old nodes", None),
            Part::Leftovers => Phase { name: "look for leftovers", ..Phase::read_back(None) },
        };
        self.parts().map(phase).collect()
    }

    fn whole(&self, phase: usize, store: &dyn Store, _: Duration) -> Option<Result<(), StoreError>> {
        match self.part(phase) {
            Part::Plan => return Some(self.plan(store)),
            Part::BeginMoving => {
                self.moving.lock().unwrap_or_else(PoisonError::into_inner).began = Some(Instant::now());
                self.enter(Stage::Moving);
            }
            Part::EndMoving => {
                self.moving.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
                if self.spread().is_none() && self.outside.is_expected.load(Ordering::Relaxed) {
                    self.placed.after(store);
                }
                self.enter(Stage::After);
            }
            Part::AskOldNodes => {
                self.enter(Stage::Before);
                self.asks_old_nodes.store(true, Ordering::Relaxed);
            }
            // A cluster has its new order when the part before is over.
            Part::While if self.spread().is_none() && self.change.strikes() => {}
            Part::Load | Part::Before | Part::Dead | Part::While | Part::After | Part::ReadBack | Part::Leftovers => {
                return None;
            }
        }
        Some(Ok(()))
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        match self.part(phase) {
            Part::Load => self.ycsb.worker(0, slots),
            Part::Dead => Box::new(Meanwhile::new(self, slots)),
            Part::While if self.spread().is_none() => Box::new(Meanwhile::new(self, slots)),
            Part::While => Box::new(Move::new(self, slots)),
            Part::ReadBack => self.ycsb.worker(2, slots),
            Part::Leftovers => Box::new(Leftovers::new(self, slots)),
            _ => Box::new(Run::new(&self.ycsb, slots)),
        }
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        let (mut answer, reasons) = self.ycsb.answer();
        if let (Some(spread), Keeps::Everything) = (self.spread(), self.ycsb.keeps) {
            let Moving { began, ended, is_over } = *self.moving.lock().unwrap_or_else(PoisonError::into_inner);
            let moving_s = began.zip(ended).map(|(began, ended)| ended.duration_since(began).as_secs_f64());
            if is_over {
                answer.facts.extend(Found::of(spread, self.ycsb.workload.records).facts(moving_s));
            }
            if let stayed @ 1.. = self.stayed.load(Ordering::Relaxed) {
                answer.facts.insert("keys_left_at_old_node_by_failure".into(), stayed.into());
            }
        }
        answer.facts.extend(self.placed.facts(self.ycsb.workload.records));
        (answer, reasons)
    }

    /// What did not come to its end is read in the stage it stopped in: while keys move a get finds them at either node.
    fn judges_unfinished(&self) -> bool {
        true
    }

    /// The clients of a store that kvtrial spreads have a connection to each node.
    fn can_be_read_again(&self) -> bool {
        self.spread().is_none_or(|spread| spread.lost().is_none())
    }

    fn again(&self) -> Option<usize> {
        self.ycsb.again()?;
        // The old nodes were asked last.
        self.enter(Stage::After);
        self.parts().position(|part| part == Part::ReadBack)
    }

    fn record_history(&self, _: &Arc<Collector>) -> Result<(), String> {
        Err("the job nodes moves keys between nodes itself; run ycsb with --fault".into())
    }

    fn expect_change(&self) {
        self.outside.is_expected.store(true, Ordering::Relaxed);
    }

    fn changed(&self) {
        self.outside.is_over.store(true, Ordering::Relaxed);
    }

    fn expect_faults(&self) {
        self.ycsb.expect_faults();
    }

    fn oldest_lost(&self) -> Option<Duration> {
        self.ycsb.oldest_lost()
    }

    fn account(&self) -> Option<WriteAccount> {
        self.ycsb.account()
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        self.ycsb.largest_reply_bytes()
    }

    fn keys_left(&self) -> Option<u64> {
        self.ycsb.keys_left().filter(|_| !self.change.strikes())
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        self.ycsb.key(index, out)
    }

    fn logical_bytes(&self) -> u64 {
        self.ycsb.logical_bytes()
    }
}
