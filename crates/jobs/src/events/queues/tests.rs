//! Every queue under stress: each portion arrives once, in the order of its parser, and the queue never holds more than its size.

use super::super::portion::Portion;
use super::super::waiting;
use super::{ALL, QueueKind};
use data::events::OrderEvent;

/// The portion of customer `number`.
fn portion(number: u64) -> Portion {
    let event = OrderEvent { customer: Some(number), month: 199_701, quantity: Some(1), cents: None };
    Portion::of(event).of_customer()
}

fn number(portion: Portion) -> u64 {
    portion.customer().unwrap().parts().0
}

/// Parsers put in portions with consecutive numbers in batches; the summarizer rests now and then, so that the queue is full at times.
fn each_arrives_once(kind: &QueueKind, size: usize, parsers: usize, batch: usize, portions: u64) {
    let what = format!("{} of {size}, {parsers} parsers, batches of {batch}", kind.name);
    let (feeds, mut drain) = waiting::open(kind, size, parsers);
    let mut next: Vec<u64> = vec![0; parsers];
    std::thread::scope(|scope| {
        for (parser, mut feed) in (0..).zip(feeds) {
            scope.spawn(move || {
                let all: Vec<Portion> = (0..portions).map(|at| portion(parser << 32 | at)).collect();
                all.chunks(batch).for_each(|batch| feed.send(batch));
            });
        }
        let (mut taken, mut times) = (Vec::new(), 0);
        while drain.receive(&mut taken) {
            for number in taken.drain(..).map(number) {
                let parser = (number >> 32) as usize;
                assert_eq!(number & u64::from(u32::MAX), next[parser], "{what}: parser {parser}");
                next[parser] += 1;
            }
            times += 1;
            if times % 64 == 0 {
                std::thread::yield_now();
            }
        }
    });
    assert!(next.iter().all(|count| *count == portions), "{what}: {next:?}");
    assert!((1..=size as u64).contains(&drain.depth.most), "{what}: {:?}", drain.depth);
}

#[test]
fn each_portion_arrives_once_and_in_order_in_every_queue_of_every_size_and_batch() {
    for kind in ALL {
        for (size, batch) in [(64, 1), (64, 64), (64, 256), (1024, 16), (1024, 256), (65_536, 7)] {
            for parsers in [1, 2, 5] {
                each_arrives_once(kind, size, parsers, batch, 20_000);
            }
        }
    }
}

#[test]
fn a_queue_takes_what_it_has_room_for_and_no_more() {
    for kind in ALL {
        for parsers in [1, 2] {
            let (mut inlets, mut outlet) = (kind.open)(64, parsers);
            let portions: Vec<Portion> = (0..200).map(portion).collect();
            let pushed: Vec<usize> = inlets.iter_mut().map(|inlet| inlet.push(&portions)).collect();
            assert_eq!(pushed.iter().sum::<usize>(), 64, "{}: {pushed:?}", kind.name);
            assert!(inlets.iter_mut().all(|inlet| inlet.push(&portions) == 0), "{}", kind.name);
            let mut taken = Vec::new();
            outlet.pop(&mut taken, 10);
            assert_eq!(taken.len(), 10, "{}", kind.name);
            outlet.pop(&mut taken, 1000);
            assert_eq!(taken.len(), 64, "{}", kind.name);
            outlet.pop(&mut taken, 1000);
            assert_eq!((taken.len(), inlets[0].push(&portions[..5])), (64, 5), "{}", kind.name);
        }
    }
}

#[test]
fn a_queue_may_be_dropped_full_and_a_parser_without_a_summarizer_ends() {
    for kind in ALL {
        let (mut feeds, drain) = waiting::open(kind, 65_536, 1);
        (0..60_000).for_each(|at| feeds[0].send(&[portion(at)]));
        std::thread::scope(|scope| {
            let full = scope.spawn(move || {
                let all: Vec<Portion> = (0..10_000).map(portion).collect();
                feeds[0].send(&all);
                feeds
            });
            drop(drain);
            assert!(full.join().is_ok(), "{}", kind.name);
        });
    }
}
