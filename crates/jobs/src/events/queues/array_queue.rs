//! crossbeam-queue's ArrayQueue: an array without locks. It knows no batches: a batch is pushed one by one, and only spares wake-ups.

use super::super::portion::Portion;
use super::{Inlet, Outlet, QueueEnds, QueueKind, QueueSizes};
use crossbeam_queue::ArrayQueue;
use std::sync::Arc;

pub(super) const QUEUE: QueueKind = QueueKind { name: "array-queue", sizes: QueueSizes::Any, open };

struct End(Arc<ArrayQueue<Portion>>);

fn open(size: usize, parsers: usize) -> QueueEnds {
    let queue = Arc::new(ArrayQueue::new(size));
    let inlets = (0..parsers).map(|_| Box::new(End(Arc::clone(&queue))) as Box<dyn Inlet>).collect();
    (inlets, Box::new(End(queue)))
}

impl Inlet for End {
    fn push(&mut self, portions: &[Portion]) -> usize {
        portions.iter().take_while(|portion| self.0.push(**portion).is_ok()).count()
    }
}

impl Outlet for End {
    fn pop(&mut self, into: &mut Vec<Portion>, most: usize) {
        into.extend(std::iter::from_fn(|| self.0.pop()).take(most));
    }
}
