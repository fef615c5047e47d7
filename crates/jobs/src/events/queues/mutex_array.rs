//! An array behind one lock, as the ArrayBlockingQueue of 2012: a batch is copied under one lock.

use super::super::portion::Portion;
use super::{Inlet, Outlet, QueueEnds, QueueKind, QueueSizes};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) const QUEUE: QueueKind = QueueKind { name: "mutex-array", sizes: QueueSizes::Any, open };

struct Shared {
    array: Mutex<VecDeque<Portion>>,
    size: usize,
}

impl Shared {
    fn array(&self) -> MutexGuard<'_, VecDeque<Portion>> {
        self.array.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct End(Arc<Shared>);

fn open(size: usize, parsers: usize) -> QueueEnds {
    let shared = Arc::new(Shared { array: Mutex::new(VecDeque::with_capacity(size)), size });
    let inlets = (0..parsers).map(|_| Box::new(End(Arc::clone(&shared))) as Box<dyn Inlet>).collect();
    (inlets, Box::new(End(shared)))
}

impl Inlet for End {
    fn push(&mut self, portions: &[Portion]) -> usize {
        let mut array = self.0.array();
        let count = portions.len().min(self.0.size - array.len());
        array.extend(&portions[..count]);
        count
    }
}

impl Outlet for End {
    fn pop(&mut self, into: &mut Vec<Portion>, most: usize) {
        let mut array = self.0.array();
        let count = most.min(array.len());
        into.extend(array.drain(..count));
    }
}
