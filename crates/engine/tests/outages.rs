//! What a phase makes of parts of the key space that do not answer for a while: of operations that have had their time, and of the share of
//! the keys that is dark.
#![allow(clippy::unwrap_used, clippy::panic)]

use jobkit::{Offence, Phase, Step, Trial, Worker};
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

/// Gets of the keys in turn, as long as there is time.
struct Turns;

/// One key of each part of the key space.
const KEYS: [&[u8]; 3] = [b"a", b"b", b"c"];

struct InTurn(usize);

impl Trial for Turns {
    fn phases(&self) -> Vec<Phase> {
        vec![Phase::timed("run", None)]
    }

    fn worker(&self, _: usize, _: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(InTurn(0))
    }

    fn key(&self, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }
}

impl Worker for InTurn {
    fn next(&mut self, _: Slot) -> Step<'_> {
        self.0 += 1;
        Step::Operation(Operation::Get { key: KEYS[self.0 % KEYS.len()] })
    }

    fn reply(&mut self, _: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        match reply {
            Reply::Missing => Ok(()),
            other => Err(Offence::failed(b"k", other)),
        }
    }
}

/// What becomes of operations on a dark part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// They are answered when it is over.
    Held,
    /// They are never answered.
    Forgotten,
}

/// A part that has no answers from one time to another after the first operation, in ms.
type Dark = (u16, Range<u64>);

/// Three parts with a third of the keys each, dark as it was scripted.
struct Scripted(Fate, &'static [Dark]);

struct ScriptedSession {
    fate: Fate,
    script: &'static [Dark],
    begun: Option<Instant>,
    ready: Vec<Slot>,
    held: Vec<(u16, Slot)>,
}

const HALF_A_SECOND: &[Dark] = &[(1, 500..1000)];

impl Store for Scripted {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let (ready, held) = (Vec::new(), Vec::new());
        Ok(Box::new(ScriptedSession { fate: self.0, script: self.1, begun: None, ready, held }))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

fn part_of(key: Option<&[u8]>) -> u16 {
    KEYS.iter().position(|it| key == Some(*it)).unwrap() as u16
}

impl ScriptedSession {
    fn is_dark(&mut self, part: u16) -> bool {
        let since_ms = self.begun.get_or_insert_with(Instant::now).elapsed().as_millis() as u64;
        self.script.iter().any(|(dark, when)| *dark == part && when.contains(&since_ms))
    }
}

impl Session for ScriptedSession {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        let part = part_of(operation.key());
        if self.is_dark(part) {
            self.held.push((part, slot))
        } else {
            self.ready.push(slot)
        }
        Ok(None)
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        if self.fate == Fate::Held {
            let dark = [0, 1, 2].map(|part| self.is_dark(part));
            let (held, over) = std::mem::take(&mut self.held).into_iter().partition(|it| dark[usize::from(it.0)]);
            self.held = held;
            // The last to ask is answered first.
            let over: Vec<(u16, Slot)> = over;
            self.ready.extend(over.iter().rev().map(|it| it.1));
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
        let Some(place) = self.held.iter().position(|held| held.1 == slot) else { return Abandoned::Never };
        self.held.remove(place);
        sink.arrived();
        sink.reply(slot, &Reply::Failed(Failure::Deadline));
        Abandoned::GivenUp
    }

    fn parts(&self) -> Vec<f64> {
        vec![1.0 / 3.0; 3]
    }

    fn part(&self, key: &[u8]) -> u16 {
        part_of(Some(key))
    }
}

fn run(store: &Scripted, pipeline: u32, timeout: Duration, deadline: Duration) -> Outcome {
    let settings = Settings {
        pipeline,
        arrivals: Arrivals::Fixed { ops_per_s: 1000.0 },
        duration: Some(Duration::from_millis(1500)),
        deadline,
        outages: Outages::Endure { timeout },
        ..Settings::default()
    };
    kvtrial_engine::run_phase(store, &Turns, 0, &settings, &AtomicBool::new(false), &mut |_| {}).unwrap()
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

/// What was seen is what was scripted, within 10 ms, and of a third of the keys each.
fn as_scripted(seen: &[Darkness], script: &[Dark]) -> Result<(), String> {
    let close = |ns: u64, ms: u64| (ns as f64 / 1e6 - ms as f64).abs() <= 10.0;
    let alike = |(seen, (part, when)): (&Darkness, &Dark)| {
        seen.part == *part
            && (seen.share - 1.0 / 3.0).abs() < 1e-9
            && close(seen.from_ns, when.start)
            && close(seen.until_ns, when.end)
            && close(seen.until_ns - seen.from_ns, when.end - when.start)
    };
    let all = seen.len() == script.len() && seen.iter().zip(script).all(alike);
    all.then_some(()).ok_or_else(|| format!("{seen:?}"))
}

#[test]
fn half_a_second_without_answers_is_seen_as_half_a_second_of_that_part_with_many_clients_and_with_few() {
    for pipeline in [512, 8] {
        undisturbed("dark for 500 ms", || {
            let store = Scripted(Fate::Held, HALF_A_SECOND);
            as_scripted(&run(&store, pipeline, Duration::from_secs(5), Duration::from_secs(10)).dark, HALF_A_SECOND)
        });
    }
}

#[test]
fn times_of_several_parts_that_overlap_and_two_of_one_part_are_each_seen_as_they_were() {
    for script in [
        // Two of one part.
        &[(2, 200..500), (2, 800..1200)][..],
        // Two parts, the second from the middle of the first on; the first once more; all three at once.
        &[(0, 200..500), (1, 350..700), (0, 900..1200), (1, 1000..1150), (2, 1100..1300)],
        // One within the other.
        &[(1, 300..1100), (0, 500..800)],
    ] {
        undisturbed("dark as scripted", || {
            as_scripted(
                &run(&Scripted(Fate::Held, script), 512, Duration::from_secs(5), Duration::from_secs(10)).dark,
                script,
            )
        });
    }
}

#[test]
fn an_operation_past_its_time_fails_and_is_counted_and_the_phase_goes_on() {
    undisturbed("forgotten for 500 ms", || {
        let store = Scripted(Fate::Forgotten, HALF_A_SECOND);
        let outcome = run(&store, 512, 100 * MS, Duration::from_secs(10));
        assert_eq!(outcome.end, End::Completed);
        assert!(outcome.counts.errors > 0 && outcome.offences.total() == outcome.counts.errors, "{:?}", outcome.counts);
        assert_eq!(outcome.counts.not_sent, 0);
        let forgotten = outcome.counts.errors;
        let enough = if forgotten >= 130 { Ok(()) } else { Err(format!("{forgotten} failed")) };
        as_scripted(&outcome.dark, HALF_A_SECOND).and(enough)
    });
}

#[test]
fn with_few_slots_the_rest_go_on_after_each_timeout_and_the_deadline_ends_what_has_no_answers_at_all() {
    let store = Scripted(Fate::Forgotten, HALF_A_SECOND);
    let outcome = run(&store, 2, 50 * MS, Duration::from_secs(10));
    assert_eq!(outcome.end, End::Completed);
    assert!((2..200).contains(&outcome.counts.errors), "{:?}", outcome.counts);
    assert!(
        outcome.dark.iter().all(|dark| dark.part == 1),
        "the parts that were not asked are not dark: {:?}",
        outcome.dark
    );
    // Nothing can be given up by a timeout that is as long as the deadline.
    let outcome = run(&store, 1, 300 * MS, 300 * MS);
    assert_eq!((outcome.end, outcome.counts.errors), (End::Unanswered, 1));
    assert!(outcome.dark.iter().any(|dark| dark.part == 1), "{:?}", outcome.dark);
}

const ALL_DARK: &[Dark] = &[(0, 500..1000), (1, 500..1000), (2, 500..1000)];

#[test]
fn what_failed_is_in_the_series_when_it_failed_and_has_no_response_time() {
    undisturbed("all dark for 500 ms", || {
        let outcome = run(&Scripted(Fate::Forgotten, ALL_DARK), 8, 50 * MS, Duration::from_secs(10));
        let response = outcome.histograms.latencies().response;
        let failed = outcome.counts.failed;
        assert!(failed > 0);
        assert_eq!((response.failed, response.n), (failed, outcome.counts.operations - failed), "{response:?}");
        // In intervals of 100 ms: the first fails after 50 ms of darkness, the last that was sent in it soon after its end.
        let dark = |at_s: f64| (0.55..1.25).contains(&at_s);
        let series = outcome.series();
        let within: u64 = series.iter().filter(|point| dark(point.at_s)).map(|point| point.errors).sum();
        let several = series.iter().filter(|point| point.errors > 0).count() >= 5;
        (within == failed && several).then_some(()).ok_or_else(|| format!("{failed}, {within}: {series:?}"))
    });
}
