//! A linked list with a lock at each end, as the LinkedBlockingQueue of 2012: parsers and the summarizer never wait for the same lock.
//! Each batch is a node, and each node is allocated: that is what a linked queue costs.

use super::super::portion::Portion;
use super::{Inlet, Outlet, QueueEnds, QueueKind, QueueSizes};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(super) const QUEUE: QueueKind = QueueKind { name: "mutex-list", sizes: QueueSizes::Any, open };

#[derive(Default)]
struct Node {
    portions: Box<[Portion]>,
    next: OnceLock<Arc<Node>>,
}

/// The first node, which is used up as far as `taken`.
struct Head {
    node: Arc<Node>,
    taken: usize,
}

struct Shared {
    head: Mutex<Head>,
    tail: Mutex<Arc<Node>>,
    /// Portions that may still be put in.
    room: AtomicUsize,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // One node after the other: each would drop the next within its own drop.
        let head = self.head.get_mut().unwrap_or_else(PoisonError::into_inner);
        *self.tail.get_mut().unwrap_or_else(PoisonError::into_inner) = Arc::default();
        let mut next = Arc::get_mut(&mut head.node).and_then(|node| node.next.take());
        while let Some(mut node) = next {
            next = Arc::get_mut(&mut node).and_then(|node| node.next.take());
        }
    }
}

struct End(Arc<Shared>);

fn open(size: usize, parsers: usize) -> QueueEnds {
    let first = Arc::new(Node::default());
    let shared = Arc::new(Shared {
        head: Mutex::new(Head { node: Arc::clone(&first), taken: 0 }),
        tail: Mutex::new(first),
        room: AtomicUsize::new(size),
    });
    let inlets = (0..parsers).map(|_| Box::new(End(Arc::clone(&shared))) as Box<dyn Inlet>).collect();
    (inlets, Box::new(End(shared)))
}

impl Inlet for End {
    fn push(&mut self, portions: &[Portion]) -> usize {
        let Shared { tail, room, .. } = &*self.0;
        let wanted = portions.len();
        let take = |room: usize| (room > 0).then(|| room - room.min(wanted));
        let Ok(room) = room.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) else { return 0 };
        let count = room.min(wanted);
        let node = Arc::new(Node { portions: portions[..count].into(), next: OnceLock::new() });
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = tail.next.set(Arc::clone(&node)); // the last node has no next one
        *tail = node;
        count
    }
}

impl Outlet for End {
    fn pop(&mut self, into: &mut Vec<Portion>, most: usize) {
        let Shared { head, room, .. } = &*self.0;
        let before = into.len();
        let mut head = head.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let rest = &head.node.portions[head.taken..];
            let count = rest.len().min(most - (into.len() - before));
            into.extend_from_slice(&rest[..count]);
            head.taken += count;
            if head.taken < head.node.portions.len() {
                break;
            }
            let Some(next) = head.node.next.get().map(Arc::clone) else { break };
            *head = Head { node: next, taken: 0 };
        }
        drop(head);
        room.fetch_add(into.len() - before, Ordering::AcqRel);
    }
}
