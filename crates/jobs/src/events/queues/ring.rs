//! rtrb: a ring for each pair of a parser and a summarizer, without locks and without contention; the size is shared out among the rings.

use super::super::portion::Portion;
use super::{Inlet, Outlet, QueueEnds, QueueKind, QueueSizes};
use rtrb::{Consumer, Producer, RingBuffer};

pub(super) const QUEUE: QueueKind = QueueKind { name: "ring", sizes: QueueSizes::Any, open };

fn open(size: usize, parsers: usize) -> QueueEnds {
    let rings = (0..parsers).map(|_| RingBuffer::new((size / parsers).max(1)));
    let (inlets, rings) =
        rings.map(|(producer, consumer)| (Box::new(In(producer)) as Box<dyn Inlet>, consumer)).unzip();
    (inlets, Box::new(Out { rings, next: 0 }))
}

struct In(Producer<Portion>);

struct Out {
    rings: Vec<Consumer<Portion>>,
    /// The ring that is asked first.
    next: usize,
}

impl Inlet for In {
    fn push(&mut self, portions: &[Portion]) -> usize {
        self.0.push_partial_slice(portions).0.len()
    }
}

impl Outlet for Out {
    fn pop(&mut self, into: &mut Vec<Portion>, most: usize) {
        let full = into.len() + most;
        self.next = (self.next + 1) % self.rings.len();
        let (before, from) = self.rings.split_at_mut(self.next);
        for ring in from.iter_mut().chain(before) {
            let count = ring.slots().min(full - into.len());
            if let Ok(chunk) = ring.read_chunk(count) {
                let (first, second) = chunk.as_slices();
                into.extend_from_slice(first);
                into.extend_from_slice(second);
                chunk.commit_all();
            }
        }
    }
}
