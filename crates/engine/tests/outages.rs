//! What a phase makes of parts of the key space that do not answer for a while: of operations that have had their time, and of the share of
//! the keys that is dark.
#![allow(clippy::unwrap_used, clippy::panic)]

use job::{Offence, Phase, Step, Trial, Worker};
use kvtrial_engine::{Arrivals, Darkness, End, Outages, Outcome, Settings};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use store::{
    Abandoned, Capabilities, Facts, Failure, Operation, Reply, Session, SessionPlan, Sink, Slot, Store, StoreError,
    Threading, Until,
};
use study::{Answer, Reason};

const MS: Duration = Duration::from_millis(1);

/// Gets of two keys in turn, as long as there is time.
struct Turns;

struct Alternating(u64);

impl Trial for Turns {
    fn phases(&self) -> Vec<Phase> {
        vec![Phase::timed("run", None)]
    }

    fn worker(&self, _: usize, _: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(Alternating(0))
    }

    fn key(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }
}

impl Worker for Alternating {
    fn next(&mut self, _: Slot) -> Step<'_> {
        self.0 += 1;
        Step::Operation(Operation::Get { key: if self.0.is_multiple_of(2) { b"a" } else { b"b" } })
    }

    fn reply(&mut self, _: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        match reply {
            Reply::Missing => Ok(()),
            other => Err(Offence::failed(b"k", other)),
        }
    }
}

/// What becomes of operations on the dark part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// They are answered when it is over.
    Held,
    /// They are never answered.
    Forgotten,
}

/// Two parts; that of `b` has no answers for half a second, from half a second after the first operation on.
struct HalfDark(Fate);

struct HalfDarkSession {
    fate: Fate,
    begun: Option<Instant>,
    ready: Vec<Slot>,
    held: Vec<Slot>,
}

const DARK: Duration = Duration::from_millis(500);

impl Store for HalfDark {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(HalfDarkSession { fate: self.0, begun: None, ready: Vec::new(), held: Vec::new() }))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

impl HalfDarkSession {
    fn is_dark(&mut self) -> bool {
        let since = self.begun.get_or_insert_with(Instant::now).elapsed();
        (DARK..2 * DARK).contains(&since)
    }
}

impl Session for HalfDarkSession {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let dark = self.is_dark() && operation.key() == Some(b"b");
        if dark {
            self.held.push(slot)
        } else {
            self.ready.push(slot)
        }
        Ok(None)
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        if !self.is_dark() && self.fate == Fate::Held {
            self.ready.append(&mut self.held);
        }
        if self.ready.is_empty() {
            if let Until::At(time) = until {
                std::thread::sleep(time.saturating_duration_since(Instant::now()).min(MS));
            }
            return Poll::Ready(Ok(()));
        }
        sink.arrived();
        for slot in std::mem::take(&mut self.ready) {
            sink.reply(slot, &Reply::Missing);
        }
        Poll::Ready(Ok(()))
    }

    fn abandon(&mut self, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        let Some(place) = self.held.iter().position(|held| *held == slot) else { return Abandoned::Never };
        self.held.remove(place);
        sink.arrived();
        sink.reply(slot, &Reply::Failed(Failure::Deadline));
        Abandoned::GivenUp
    }

    fn parts(&self) -> Vec<f64> {
        vec![0.6, 0.4]
    }

    fn part(&self, key: &[u8]) -> u16 {
        u16::from(key == b"b")
    }
}

fn run(fate: Fate, pipeline: u32, timeout: Duration, deadline: Duration) -> Outcome {
    let settings = Settings {
        pipeline,
        arrivals: Arrivals::Fixed { ops_per_s: 1000.0 },
        duration: Some(Duration::from_millis(1500)),
        deadline,
        outages: Outages::Endure { timeout },
        ..Settings::default()
    };
    kvtrial_engine::run_phase(&HalfDark(fate), &Turns, 0, &settings, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

/// A machine that does something else for a moment spoils one attempt, not all.
fn undisturbed(what: &str, attempt: impl Fn() -> Result<(), String>) {
    let mut problems = Vec::new();
    for _ in 0..8 {
        match attempt() {
            Ok(()) => return,
            Err(problem) => problems.push(problem),
        }
    }
    panic!("{what}: {problems:?}");
}

fn length_ms(dark: &Darkness) -> f64 {
    (dark.until_ns - dark.from_ns) as f64 / 1e6
}

#[test]
fn half_a_second_without_answers_is_seen_as_half_a_second_of_that_part_with_many_clients_and_with_few() {
    for pipeline in [512, 8] {
        undisturbed("dark for 500 ms", || {
            let dark = run(Fate::Held, pipeline, Duration::from_secs(5), Duration::from_secs(10)).dark;
            match &dark[..] {
                [one] if one.part == 1 && one.share == 0.4 && (490.0..=510.0).contains(&length_ms(one)) => Ok(()),
                other => Err(format!("{pipeline} slots: {other:?}")),
            }
        });
    }
}

#[test]
fn an_operation_past_its_time_fails_and_is_counted_and_the_phase_goes_on() {
    undisturbed("forgotten for 500 ms", || {
        let outcome = run(Fate::Forgotten, 512, 100 * MS, Duration::from_secs(10));
        assert_eq!(outcome.end, End::Completed);
        assert!(outcome.counts.errors > 0 && outcome.offences.total() == outcome.counts.errors, "{:?}", outcome.counts);
        assert_eq!(outcome.counts.not_sent, 0);
        let forgotten = outcome.counts.errors;
        match &outcome.dark[..] {
            [one] if one.part == 1 && (490.0..=510.0).contains(&length_ms(one)) && forgotten >= 200 => Ok(()),
            other => Err(format!("{forgotten} failed, {other:?}")),
        }
    });
}

#[test]
fn with_few_slots_the_rest_go_on_after_each_timeout_and_the_deadline_ends_what_has_no_answers_at_all() {
    let outcome = run(Fate::Forgotten, 2, 50 * MS, Duration::from_secs(10));
    assert_eq!(outcome.end, End::Completed);
    assert!((2..200).contains(&outcome.counts.errors), "{:?}", outcome.counts);
    assert!(
        outcome.dark.iter().all(|dark| dark.part == 1),
        "the part that was not asked is not dark: {:?}",
        outcome.dark
    );
    // Nothing can be given up by a timeout that is as long as the deadline.
    let outcome = run(Fate::Forgotten, 1, 300 * MS, 300 * MS);
    assert_eq!((outcome.end, outcome.counts.errors), (End::Unanswered, 1));
    assert!(outcome.dark.iter().any(|dark| dark.part == 1), "{:?}", outcome.dark);
}
