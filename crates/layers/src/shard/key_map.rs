//! Which keys belong to which nodes, while nodes come and go.

use super::rings::{self, Rings};
use super::stepping::{Ask, Begin, Course, Gift, Next, Request};
use crate::placement::Placement;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use store::routed::Route;
use store::spread::{Law, Moves, NumberChange, Spread, Stage};
use store::{Operation, Reply};

/// The map from keys to nodes, shared by all sessions of a spread store.
pub struct KeyMap {
    scheme: Scheme,
    change: OnceLock<Change>,
    stage: AtomicU8,
    tally: Tally,
}

/// A number of nodes and the next.
struct Change {
    before: Scheme,
    after: Scheme,
    /// The node that is lost with its keys.
    lost: Option<usize>,
}

/// The way keys are spread.
#[derive(Clone, Debug)]
pub(super) enum Scheme {
    /// A node is computed from the key.
    Placed(Placement),
    /// Nodes remember which keys they have.
    Rings(Rings),
}

impl Scheme {
    #[inline]
    fn node(&self, key: &[u8]) -> usize {
        match self {
            Scheme::Placed(placement) => placement.node(key),
            Scheme::Rings(rings) => rings.node(key),
        }
    }

    fn nodes(&self) -> usize {
        match self {
            Scheme::Placed(placement) => placement.nodes(),
            Scheme::Rings(rings) => rings.storage_nodes(),
        }
    }

    /// The same without this one of its nodes.
    fn without(&self, node: usize) -> Result<Scheme, String> {
        match self {
            Scheme::Placed(placement) => placement.without(node).map(Scheme::Placed).ok_or_else(|| {
                let name = placement.algorithm().name();
                format!("shard={name} numbers nodes in a row, so only the last one can leave; use shard=anchor")
            }),
            Scheme::Rings(rings) => {
                let nodes = rings.storage_nodes();
                Ok(Scheme::Rings(Rings::new(nodes - 1, nodes, rings.lookup_nodes())))
            }
        }
    }
}

#[derive(Default)]
struct Tally {
    operations: AtomicU64,
    requests: AtomicU64,
    keys: AtomicU64,
}

/// All nodes have their share: the first state, before any change is planned.
const ALL: u8 = 0;
const BEFORE: u8 = 1;
const MOVING: u8 = 2;
const AFTER: u8 = 3;

const REFUSAL: &str = "while keys move, only gets and puts of single keys are served";

impl KeyMap {
    pub(super) fn new(scheme: Scheme) -> KeyMap {
        KeyMap { scheme, change: OnceLock::new(), stage: AtomicU8::new(ALL), tally: Tally::default() }
    }

    /// Returns how keys are spread: the value of `shard=`.
    pub fn scheme(&self) -> &'static str {
        match &self.scheme {
            Scheme::Placed(placement) => placement.algorithm().name(),
            Scheme::Rings(_) => super::RINGS,
        }
    }

    /// Returns the number of nodes beside those, which only know where keys are.
    pub fn lookup_nodes(&self) -> usize {
        match &self.scheme {
            Scheme::Placed(_) => 0,
            Scheme::Rings(rings) => rings.lookup_nodes(),
        }
    }

    /// How an operation begins while keys move.
    fn begin_moving(&self, operation: &Operation<'_>) -> Begin<Step> {
        let Some(key) = operation.key() else { return Begin::Refuse(REFUSAL) };
        let (old, new) = self.nodes_of(key);
        let step = match operation {
            _ if old == new || Some(old) == self.lost() => return Begin::Whole,
            Operation::Get { .. } => Move::New,
            Operation::Put { .. } => Move::Put,
            _ => return Begin::Refuse(REFUSAL),
        };
        self.tally.operations.fetch_add(1, Ordering::Relaxed);
        Begin::Ask(Ask { node: new, request: Request::Same, then: Step::Move(step) })
    }

    /// The scheme of this stage.
    #[inline]
    fn current(&self) -> &Scheme {
        match (self.stage.load(Ordering::Acquire), self.change.get()) {
            (BEFORE, Some(change)) => &change.before,
            (MOVING | AFTER, Some(change)) => &change.after,
            _ => &self.scheme,
        }
    }

    /// The step of keys that move by themselves.
    fn move_on(&self, step: Move, key: &[u8], held: &mut Vec<u8>, reply: &Reply<'_>) -> Next<Step> {
        let (old, new) = self.nodes_of(key);
        let ask = |node, request, then| Next::Ask(Ask { node, request, then: Step::Move(then) });
        match (step, reply) {
            (Move::New, Reply::Missing) => ask(old, Request::Same, Move::Old),
            (Move::Old, Reply::Value(value)) => {
                held.clear();
                held.extend_from_slice(value);
                ask(new, Request::AddHeld, Move::Add)
            }
            (Move::Old, Reply::Missing) | (Move::Add, Reply::Conflict) => ask(new, Request::Same, Move::Again),
            (Move::Add, Reply::Done) => ask(old, Request::Delete, Move::Drop),
            (Move::Put, Reply::Done) => ask(old, Request::Delete, Move::DropOlder),
            // Who deletes a key at its old node has moved it: nobody else finds it there.
            (Move::Drop, Reply::Done) => self.moved(Gift::Held),
            (Move::DropOlder, Reply::Done) => self.moved(Gift::Done),
            (Move::Drop, Reply::Missing) => Next::Give(Gift::Held),
            (Move::DropOlder, Reply::Missing) => Next::Give(Gift::Done),
            _ => Next::Give(Gift::Last),
        }
    }

    fn set(&self, change: Change) -> Result<(), String> {
        self.change.set(change).map_err(|_| "the number of nodes changes once".to_owned())?;
        self.enter(Stage::Before);
        Ok(())
    }

    fn moved(&self, gift: Gift) -> Next<Step> {
        self.tally.keys.fetch_add(1, Ordering::Relaxed);
        Next::Give(gift)
    }
}

impl Spread for KeyMap {
    fn nodes(&self) -> usize {
        self.scheme.nodes()
    }

    fn keys_move(&self) -> bool {
        matches!(self.scheme, Scheme::Placed(_))
    }

    fn plan(&self, change: NumberChange) -> Result<(), String> {
        let nodes = self.nodes();
        let (NumberChange::Leaves(node) | NumberChange::Lost(node)) = change else {
            return self.set(Change {
                before: self.scheme.without(nodes - 1)?,
                after: self.scheme.clone(),
                lost: None,
            });
        };
        if node >= nodes {
            return Err(format!("node {} cannot leave: there are {nodes}", node + 1));
        }
        if matches!(self.scheme, Scheme::Rings(_)) {
            return Err("no storage node of two rings can leave: its keys would be lost".into());
        }
        let lost = (change == NumberChange::Lost(node)).then_some(node);
        self.set(Change { before: self.scheme.clone(), after: self.scheme.without(node)?, lost })
    }

    fn lost(&self) -> Option<usize> {
        self.change.get().and_then(|change| change.lost)
    }

    fn change(&self) -> Option<(usize, usize)> {
        self.change.get().map(|change| (change.before.nodes(), change.after.nodes()))
    }

    fn enter(&self, stage: Stage) {
        let stage = match stage {
            Stage::Before => BEFORE,
            Stage::Moving => MOVING,
            Stage::After => AFTER,
        };
        self.stage.store(stage, Ordering::Release);
    }

    #[inline]
    fn nodes_of(&self, key: &[u8]) -> (usize, usize) {
        match (self.change.get(), &self.scheme) {
            (Some(change), Scheme::Placed(_)) => (change.before.node(key), change.after.node(key)),
            // Nothing moves.
            (Some(change), Scheme::Rings(_)) => (change.before.node(key), change.before.node(key)),
            (None, scheme) => (scheme.node(key), scheme.node(key)),
        }
    }

    fn law(&self) -> Option<Law> {
        let Some(Change { before: Scheme::Placed(before), after: Scheme::Placed(after), .. }) = self.change.get()
        else {
            return None;
        };
        Some(if before.nodes() < after.nodes() { before.law() } else { after.law() })
    }

    fn moves(&self) -> Moves {
        let Tally { operations, requests, keys } = &self.tally;
        let [operations, requests, keys] = [operations, requests, keys].map(|count| count.load(Ordering::Relaxed));
        Moves { operations, requests, keys }
    }
}

impl Route for KeyMap {
    #[inline]
    fn node(&self, key: &[u8]) -> usize {
        self.current().node(key)
    }
}

/// The state of an operation of several requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// It is on a key that moves.
    Move(Move),
    /// It goes by two rings.
    Ring(rings::Step),
}

/// The state of an operation on a key that moves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    /// The new node is asked for it.
    New,
    /// The old node is.
    Old,
    /// What it had is added at the new one, unless somebody has put something there meanwhile.
    Add,
    /// It is deleted at the old one, then handed over.
    Drop,
    /// The new node is asked once more: the key has moved meanwhile.
    Again,
    /// A value is put at the new node.
    Put,
    /// The one before it is deleted at the old node.
    DropOlder,
}

impl Course for KeyMap {
    type Step = Step;

    #[inline]
    fn begin(&self, operation: &Operation<'_>) -> Begin<Step> {
        match (self.current(), self.stage.load(Ordering::Acquire)) {
            (Scheme::Placed(_), MOVING) => self.begin_moving(operation),
            (Scheme::Placed(_), _) => Begin::Whole,
            (Scheme::Rings(rings), stage) => {
                if stage == MOVING {
                    self.tally.operations.fetch_add(1, Ordering::Relaxed);
                }
                match rings.begin(operation) {
                    Begin::Ask(Ask { node, request, then }) => {
                        Begin::Ask(Ask { node, request, then: Step::Ring(then) })
                    }
                    Begin::Refuse(words) => Begin::Refuse(words),
                    Begin::Whole => Begin::Whole,
                }
            }
        }
    }

    fn go_on(&self, step: Step, key: &[u8], held: &mut Vec<u8>, reply: &Reply<'_>) -> Next<Step> {
        if self.stage.load(Ordering::Relaxed) == MOVING {
            self.tally.requests.fetch_add(1, Ordering::Relaxed);
        }
        match (step, self.current()) {
            (Step::Ring(step), Scheme::Rings(rings)) => match rings.go_on(step, key, held, reply) {
                Next::Ask(Ask { node, request, then }) => Next::Ask(Ask { node, request, then: Step::Ring(then) }),
                Next::Give(gift) => Next::Give(gift),
            },
            (Step::Move(step), _) => self.move_on(step, key, held, reply),
            (Step::Ring(_), Scheme::Placed(_)) => Next::Give(Gift::Last),
        }
    }
}
