#![allow(clippy::unwrap_used)]

use super::{Async, AsyncClient, BufferedReply, ReplyBuffer};
use crate::{Expected, Operation, Reply, Session, SessionPlan, Sink, Slot, Until};
use std::future::{pending, poll_fn};
use std::task::Poll;
use std::time::{Duration, Instant};

/// How a fake driver takes its time.
#[derive(Clone, Copy)]
enum Manner {
    AtOnce,
    /// Gives way this often, each time waking itself through the runtime.
    Yielding(u32),
    /// Wakes its own waker this often before each return.
    ManyWakes(u32),
    /// Answers when a spawned task tells it to.
    ByTask,
    /// Sleeps 1 ms times the slot number.
    Staggered,
    Never,
}

struct Fake {
    slot: Slot,
    manner: Manner,
}

impl AsyncClient for Fake {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        match self.manner {
            Manner::AtOnce => {}
            Manner::Yielding(times) => {
                for _ in 0..times {
                    tokio::task::yield_now().await;
                }
            }
            Manner::ManyWakes(times) => {
                let mut left = times;
                poll_fn(|cx| {
                    cx.waker().wake_by_ref();
                    let owned = cx.waker().clone();
                    owned.wake();
                    left -= 1;
                    if left == 0 { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
            }
            Manner::ByTask => tokio::spawn(tokio::task::yield_now()).await.unwrap(),
            Manner::Staggered => tokio::time::sleep(Duration::from_millis(self.slot.into())).await,
            Manner::Never => pending().await,
        }
        describe(operation, self.slot, out)
    }
}

/// Answers with the operation itself, so that a test sees every byte of it come back.
fn describe(operation: &Operation<'_>, slot: Slot, out: &mut ReplyBuffer) -> BufferedReply {
    match *operation {
        Operation::Get { key } => out.value(key),
        Operation::Increment { by, .. } => BufferedReply::Number(by + i64::from(slot)),
        Operation::GetMany { keys } => {
            keys.iter().for_each(|key| out.rows.push(key, b""));
            BufferedReply::Rows
        }
        Operation::PutMany { pairs } => {
            pairs.iter().for_each(|(key, value)| out.rows.push(key, value));
            BufferedReply::Rows
        }
        other => out.refused(format_args!("{other:?}")),
    }
}

fn session(slots: u32, manner: Manner) -> Box<dyn Session> {
    let plan = SessionPlan { clients: 1, pipeline: slots };
    Async::session(plan, async |slot| Ok(Fake { slot, manner })).unwrap()
}

/// Counts numbers by slot.
#[derive(Default)]
struct Tally {
    arrivals: u32,
    replies: Vec<(Slot, i64)>,
}

impl Sink for Tally {
    fn arrived(&mut self) {
        self.arrivals += 1;
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        assert!(self.arrivals > 0, "a reply before arrived()");
        let Reply::Number(number) = *reply else { panic!("{reply:?}") };
        self.replies.push((slot, number));
    }
}

/// Keeps every slot busy until each has had `rounds` answers, as the engine does: everything inside one `run`.
fn rounds(session: &mut dyn Session, slots: u32, rounds: u32, until: impl Fn() -> Until) {
    session.executor().run(async {
        let mut done = vec![0; slots as usize];
        let mut idle: Vec<Slot> = (0..slots).collect();
        let limit = Instant::now() + Duration::from_secs(60);
        let mut sum = 0i64;
        while done.iter().any(|&done| done < rounds) {
            assert!(Instant::now() < limit, "the session hangs: {done:?}");
            let mut tally = Tally::default();
            for slot in std::mem::take(&mut idle) {
                if done[slot as usize] == rounds {
                    continue;
                }
                let by = i64::from(done[slot as usize]);
                match session.submit(slot, &Operation::Increment { key: b"k", by }).unwrap() {
                    Some(Reply::Number(number)) => tally.replies.push((slot, number)),
                    Some(other) => panic!("{other:?}"),
                    None => {}
                }
            }
            if tally.replies.is_empty() {
                poll_fn(|cx| session.poll(cx, until(), &mut tally)).await.unwrap();
            }
            for (slot, number) in tally.replies {
                assert_eq!(
                    number,
                    i64::from(done[slot as usize]) + i64::from(slot),
                    "slot {slot} got another's answer"
                );
                done[slot as usize] += 1;
                sum += number;
                idle.push(slot);
            }
        }
        let per_slot = i64::from(rounds) * i64::from(rounds - 1) / 2;
        let slots = i64::from(slots);
        assert_eq!(sum, per_slot * slots + i64::from(rounds) * slots * (slots - 1) / 2);
    });
}

fn soon() -> Until {
    Until::At(Instant::now() + Duration::from_millis(20))
}

#[test]
fn every_slot_gets_its_own_answers_however_the_driver_behaves() {
    let manners = [
        Manner::AtOnce,
        Manner::Yielding(1),
        Manner::Yielding(7),
        Manner::ManyWakes(1),
        Manner::ManyWakes(9),
        Manner::ByTask,
    ];
    for manner in manners {
        for slots in [1, 16, 256] {
            rounds(&mut *session(slots, manner), slots, 50, soon);
            rounds(&mut *session(slots, manner), slots, 50, || Until::Now);
        }
    }
    rounds(&mut *session(256, Manner::Staggered), 256, 2, soon);
    rounds(&mut *session(64, Manner::Staggered), 64, 2, || Until::Now);
}

#[test]
fn a_session_goes_on_after_its_loop_was_left_and_entered_again() {
    for manner in [Manner::AtOnce, Manner::Yielding(3), Manner::ByTask] {
        let mut session = session(16, manner);
        for _ in 0..20 {
            rounds(&mut *session, 16, 5, soon);
        }
    }
}

#[test]
fn a_driver_that_never_answers_does_not_hold_the_loop_beyond_its_time() {
    let mut session = session(4, Manner::Never);
    session.executor().run(async {
        for slot in 0..4 {
            assert_eq!(session.submit(slot, &Operation::Get { key: b"k" }).unwrap(), None);
        }
        let started = Instant::now();
        let until = Until::At(started + Duration::from_millis(30));
        poll_fn(|cx| session.poll(cx, until, &mut Tally::default())).await.unwrap();
        let waited = started.elapsed();
        assert!(waited >= Duration::from_millis(30) && waited < Duration::from_secs(5), "{waited:?}");
        poll_fn(|cx| session.poll(cx, Until::Now, &mut Tally::default())).await.unwrap();
        let busy = session.submit(2, &Operation::Get { key: b"k" }).unwrap_err();
        assert!(busy.to_string().contains("slot 2"), "{busy}");
    });
}

#[test]
fn a_wait_ends_at_its_time_and_not_at_the_next_millisecond() {
    let mut session = session(1, Manner::Never);
    session.executor().run(async {
        session.submit(0, &Operation::Get { key: b"k" }).unwrap();
        let mut late_us = Vec::new();
        for step in 1..=200u64 {
            // Earlier, later and equal times in turn: the timer must be set again whenever that matters.
            let due = Instant::now() + Duration::from_micros(50 + step * 37 % 1700);
            poll_fn(|cx| session.poll(cx, Until::At(due), &mut Tally::default())).await.unwrap();
            let now = Instant::now();
            assert!(now >= due, "woken {:?} early", due - now);
            late_us.push((now - due).as_micros());
        }
        late_us.sort_unstable();
        println!("late by: median {} us, p90 {} us, max {} us", late_us[100], late_us[180], late_us[199]);
        // Other work on the machine delays the thread, hence the median; a millisecond timer is late by 500 us on average.
        assert!(late_us[100] < 250, "{late_us:?}");
    });
}

#[test]
fn every_operation_reaches_the_driver_as_it_was_submitted() {
    let long = vec![7u8; 100_000];
    let keys: Vec<&[u8]> = vec![b"", b"\0\xff", &long, b"d"];
    let pairs: Vec<(&[u8], &[u8])> = vec![(b"a", b""), (b"", &long), (b"c", b"3")];
    let present = Expected::Present { version: 9, value: b"old" };
    let mut session = session(1, Manner::Yielding(1));
    let plain = [
        Operation::GetVersioned { key: b"k\0" },
        Operation::Put { key: b"key", value: b"\xff\x00" },
        Operation::Delete { key: b"" },
        Operation::Append { key: b"a", value: &long },
        Operation::GetCounter { key: b"c" },
        Operation::IncrementField { key: b"k", field: b"f", by: -3 },
        Operation::GetFields { key: b"k" },
        Operation::CompareAndSet { key: b"k", expected: Expected::Absent, value: b"new" },
        Operation::CompareAndSet { key: b"k", expected: present, value: b"new" },
        Operation::Scan { start: b"s", limit: 17 },
        Operation::GetMany { keys: &keys },
        Operation::PutMany { pairs: &pairs },
        Operation::GetMany { keys: &[] },
        Operation::PutMany { pairs: &pairs[..1] },
    ];
    struct Seen(Vec<String>);
    impl Sink for Seen {
        fn arrived(&mut self) {}

        fn reply(&mut self, _: Slot, reply: &Reply<'_>) {
            self.0.push(format!("{reply:?}"));
        }
    }
    session.executor().run(async {
        let mut seen = Seen(Vec::new());
        for operation in &plain {
            assert_eq!(session.submit(0, operation).unwrap(), None);
            let before = seen.0.len();
            while seen.0.len() == before {
                poll_fn(|cx| session.poll(cx, soon(), &mut seen)).await.unwrap();
            }
        }
        for (operation, seen) in plain.iter().zip(&seen.0) {
            let mut out = ReplyBuffer::default();
            let answer = describe(operation, 0, &mut out);
            assert_eq!(*seen, format!("{:?}", out.reply(answer)));
        }
    });
}

#[test]
fn an_error_of_opening_is_the_error_of_the_session() {
    let plan = SessionPlan { clients: 2, pipeline: 2 };
    let opened = Async::session(plan, async |slot| {
        if slot < 3 {
            Ok(Fake { slot, manner: Manner::AtOnce })
        } else {
            Err(crate::StoreError::open("127.0.0.1:1", "no such server"))
        }
    });
    assert_eq!(opened.err().unwrap().to_string(), "127.0.0.1:1: no such server");
}

#[test]
fn a_brief_piece_of_work_ends_in_time() {
    let started = Instant::now();
    let result: Result<(), _> = super::brief(&"10.0.0.1:1", Duration::from_millis(20), pending());
    assert_eq!(result.unwrap_err().to_string(), "10.0.0.1:1: no answer within 0.02 s");
    assert!(started.elapsed() < Duration::from_secs(5));
}
