//! The crate disruptor, after LMAX: a ring that several producers claim places in. It is used by its event poller, because the threads are
//! the job's own. What it is known for, several readers of every event, is not asked of it: a summary has one writer.

use super::super::portion::Portion;
use super::{Inlet, Outlet, QueueEnds, QueueKind, QueueSizes};
use disruptor::{
    BusySpin, EventPoller, MissingFreeSlots, MultiProducer, MultiProducerBarrier, Producer, SingleConsumerBarrier,
};

pub(super) const QUEUE: QueueKind = QueueKind { name: "disruptor", sizes: QueueSizes::PowersOfTwo, open };

fn open(size: usize, parsers: usize) -> QueueEnds {
    // The strategy of waiting is that of threads it would start itself; there are none.
    let (poller, builder) = disruptor::build_multi_producer(size, Portion::default, BusySpin).new_event_poller();
    let producer = builder.build();
    let inlets = (0..parsers).map(|_| Box::new(In(producer.clone())) as Box<dyn Inlet>).collect();
    (inlets, Box::new(Out(poller)))
}

struct In(MultiProducer<Portion, SingleConsumerBarrier>);

struct Out(EventPoller<Portion, MultiProducerBarrier>);

impl Inlet for In {
    fn push(&mut self, portions: &[Portion]) -> usize {
        // All of them or none: where there is too little room, it says how much is missing.
        let mut count = portions.len();
        while count > 0 {
            let published = self.0.try_batch_publish(count, |places| {
                places.zip(portions).for_each(|(place, portion)| *place = *portion);
            });
            match published {
                Ok(_) => return count,
                Err(MissingFreeSlots(missing)) => count -= count.min(missing as usize),
            }
        }
        0
    }
}

impl Outlet for Out {
    fn pop(&mut self, into: &mut Vec<Portion>, most: usize) {
        if let Ok(mut portions) = self.0.take(most as u64) {
            into.extend((&mut portions).copied());
        }
    }
}
