//! crossbeam-channel, bounded. It knows no batches: a batch is sent one by one, and only spares wake-ups.

use super::super::portion::Portion;
use super::{Inlet, Outlet, QueueEnds, QueueKind, QueueSizes};
use crossbeam_channel::{Receiver, Sender, bounded};

pub(super) const QUEUE: QueueKind = QueueKind { name: "channel", sizes: QueueSizes::Any, open };

fn open(size: usize, parsers: usize) -> QueueEnds {
    let (sender, receiver) = bounded(size);
    let inlets = (0..parsers).map(|_| Box::new(In(sender.clone())) as Box<dyn Inlet>).collect();
    (inlets, Box::new(Out(receiver)))
}

struct In(Sender<Portion>);

struct Out(Receiver<Portion>);

impl Inlet for In {
    fn push(&mut self, portions: &[Portion]) -> usize {
        portions.iter().take_while(|portion| self.0.try_send(**portion).is_ok()).count()
    }
}

impl Outlet for Out {
    fn pop(&mut self, into: &mut Vec<Portion>, most: usize) {
        into.extend(self.0.try_iter().take(most));
    }
}
