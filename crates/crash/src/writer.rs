//! Clients that write as fast as the store acknowledges, and note it in the ledger. No allocation per acknowledged write.

use crate::WriteKind;
use crate::glance::{Glance, Glanced, Reading, seen};
use crate::ledger::{AckLedger, Page, now_ns};
use crate::stream::{Draws, KEY_BYTES, Stream, WriteSet, key};
use crate::value::{Label, SHORTEST, value};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{Operation, OperationKind, Reply, Session, SessionPlan, Sink, Slot, Store, StoreError, Threading, Until};

/// How often a thread whose store does not answer looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);
/// Failures of one client after which it writes no more: the store is gone, or its disk is full.
const MOST_FAILURES: u32 = 5;
/// How long a client that goes on rests after a failure, and how long a thread of which all rest.
const REST: Duration = Duration::from_millis(5);
const NAP: Duration = Duration::from_millis(1);

/// The number of a client's last writes of which one is read.
const RECENT: u32 = 8;
/// The stream of draws that say whose keys a client reads.
const READS: u64 = 1 << 40;

/// The reaction of clients when writes fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Endurance {
    /// Clients write no more: the store is gone.
    GiveUp,
    /// Clients go on, with other keys: some of the store's nodes are gone, or frozen.
    GoOn {
        /// The longest time a write may take.
        timeout: Duration,
    },
}

impl Endurance {
    fn timeout_ns(self) -> u64 {
        match self {
            Endurance::GiveUp => u64::MAX,
            Endurance::GoOn { timeout } => timeout.as_nanos() as u64,
        }
    }
}

/// Lets every client of the ledger write until `stop` is set, the store is gone, or its page is full.
///
/// # Errors
/// When a session could not be opened, or is gone: the crash, or what the store said last before it took no more writes.
pub fn write(
    store: &dyn Store,
    ledger: &AckLedger,
    set: WriteSet,
    endurance: Endurance,
    reading: Reading,
    stop: &AtomicBool,
) -> Result<(), StoreError> {
    let per_thread = match store.threading() {
        Threading::PerClient => 1,
        Threading::Shared => ledger.clients().len() as u32,
    };
    let appends = store.capabilities().has(OperationKind::Append);
    let firsts = ledger.clients().step_by(per_thread as usize);
    std::thread::scope(|scope| {
        let threads: Vec<_> = firsts
            .map(|first| {
                scope.spawn(move || {
                    let plan = SessionPlan { clients: per_thread, pipeline: 1 };
                    let session = store.believing_session(plan, 1 << 20)?;
                    let client = |client| WritingClient {
                        ledger,
                        page: ledger.page(client),
                        set,
                        client,
                        reading,
                        reads_next: false,
                        draws: Draws::new(set.seed, READS | u64::from(set.number) << 16 | u64::from(client)),
                        stream: Stream::new(set, client, appends),
                        endurance,
                        in_flight: None,
                        failures: 0,
                        last_words: String::new(),
                        rests_until_ns: 0,
                        doubtful: HashSet::new(),
                    };
                    let clients = (first..first + per_thread).map(client).collect();
                    let executor = session.executor();
                    // What was in flight when it broke stays in doubt.
                    executor.run(drive(session, Clients(clients), stop))
                })
            })
            .collect();
        let lost = || StoreError::Session("a writing thread panicked".into());
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(lost())))
    })
}

/// One client: where it is in its writes.
struct WritingClient<'a> {
    ledger: &'a AckLedger,
    page: Page<'a>,
    set: WriteSet,
    client: u32,
    reading: Reading,
    /// It has just written.
    reads_next: bool,
    draws: Draws,
    stream: Stream,
    endurance: Endurance,
    in_flight: Option<InFlight>,
    failures: u32,
    /// What the store said when it last failed.
    last_words: String,
    rests_until_ns: u64,
    /// Keys with a write that failed: it may still happen, at any time, so nothing more is written to them.
    doubtful: HashSet<u32>,
}

/// A request without an answer yet.
struct InFlight {
    asks: Asks,
    since_ns: u64,
}

/// What was asked.
#[derive(Clone, Copy)]
enum Asks {
    Write { version: u32, key: u32 },
    Read { client: u32, key: u32 },
}

impl WritingClient<'_> {
    /// The next write, entered in the ledger; `None` when there is none now.
    #[inline]
    fn next<'b>(&mut self, now_ns: u64, bytes: &'b mut [u8; KEY_BYTES], buffer: &'b mut [u8]) -> Option<Operation<'b>> {
        if self.is_over() || now_ns < self.rests_until_ns {
            return None;
        }
        if self.reading == Reading::Between && std::mem::take(&mut self.reads_next) {
            let (client, number) = self.written_lately()?;
            self.in_flight = Some(InFlight { asks: Asks::Read { client, key: number }, since_ns: now_ns });
            *bytes = key(self.set.number, client, number);
            return Some(Operation::Get { key: bytes });
        }
        self.reads_next = true;
        let (number, kind) = loop {
            let drawn = self.stream.next();
            if !self.doubtful.contains(&drawn.0) {
                break drawn;
            }
        };
        let version = self.page.send(number, kind, now_ns)?;
        self.in_flight = Some(InFlight { asks: Asks::Write { version, key: number }, since_ns: now_ns });
        *bytes = key(self.set.number, self.client, number);
        let label = Label { set: self.set.number, client: self.client, key: number, version };
        Some(match kind {
            WriteKind::Put => Operation::Put { key: bytes, value: value(label, buffer) },
            WriteKind::Append => Operation::Append { key: bytes, value: value(label, buffer) },
            WriteKind::Delete => Operation::Delete { key: bytes },
        })
    }

    /// Returns a key that somebody of this ledger has written lately, and whose it is.
    fn written_lately(&mut self) -> Option<(u32, u32)> {
        let all = self.ledger.clients();
        let client = all.start + self.draws.below(all.len() as u64) as u32;
        let page = self.ledger.page(client);
        let sent = page.sent();
        let back = self.draws.below(u64::from(sent.min(RECENT))) as u32;
        page.entry(sent.checked_sub(back)?).map(|it| (client, it.key))
    }

    #[inline]
    fn hear(&mut self, reply: &Reply<'_>, now_ns: u64) {
        let Some(InFlight { asks, since_ns }) = self.in_flight.take() else { return };
        match (asks, reply) {
            (Asks::Write { version, .. }, Reply::Done | Reply::Number(_) | Reply::Missing) => {
                self.page.acknowledge(version, now_ns);
            }
            (Asks::Read { client, key }, Reply::Value(_) | Reply::Missing) => {
                let seen = match reply {
                    Reply::Value(value) => seen(value, self.set, client, key),
                    _ => Glanced::Nothing,
                };
                self.page.see(Glance { client, key, seen, sent_at_ns: since_ns, answered_at_ns: now_ns });
            }
            (asks, failed) => {
                self.failures += 1;
                self.last_words = match failed {
                    Reply::Failed(failure) => failure.words().to_owned(),
                    other => format!("it answered with {other:?}"),
                };
                if let Asks::Write { key, .. } = asks {
                    self.doubtful.insert(key);
                }
                if self.endurance != Endurance::GiveUp {
                    self.rests_until_ns = now_ns + REST.as_nanos() as u64;
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.has_given_up() || self.page.sent() == self.page.capacity()
    }

    fn has_given_up(&self) -> bool {
        self.endurance == Endurance::GiveUp && self.failures >= MOST_FAILURES
    }

    fn is_overdue(&self, now_ns: u64) -> bool {
        let timeout_ns = self.endurance.timeout_ns();
        self.in_flight.as_ref().is_some_and(|it| now_ns.saturating_sub(it.since_ns) > timeout_ns)
    }
}

/// The clients of one session, by slot.
struct Clients<'a>(Vec<WritingClient<'a>>);

async fn drive(mut session: Box<dyn Session>, clients: Clients<'_>, stop: &AtomicBool) -> Result<(), StoreError> {
    let mut inbox = WriteInbox { clients };
    let longest = inbox.clients.0.first().map_or(SHORTEST, |client| client.set.value_bytes as usize);
    let (mut bytes, mut buffer) = ([0; KEY_BYTES], vec![0; longest.max(SHORTEST)]);
    while !stop.load(Ordering::Relaxed) {
        let (mut waiting, mut idle) = (false, true);
        let now = now_ns();
        for slot in 0..inbox.clients.0.len() {
            let client = &mut inbox.clients.0[slot];
            if client.in_flight.is_none() {
                let Some(operation) = client.next(now, &mut bytes, &mut buffer) else { continue };
                idle = false;
                if let Some(reply) = session.submit(slot as Slot, &operation)? {
                    client.hear(&reply, now_ns());
                    continue;
                }
            }
            if client.is_overdue(now) {
                // What cannot be given up is waited for.
                session.abandon(slot as Slot, &mut inbox);
                continue;
            }
            waiting = true;
        }
        if waiting {
            let until = Until::At(Instant::now() + LOOK);
            poll_fn(|cx| session.poll(cx, until, &mut inbox)).await?;
        } else if inbox.clients.0.iter().all(WritingClient::is_over) {
            let given_up = inbox.clients.0.into_iter().find(WritingClient::has_given_up);
            return given_up.map_or(Ok(()), |client| Err(StoreError::Session(client.last_words)));
        } else if idle {
            std::thread::sleep(NAP);
        }
    }
    Ok(())
}

struct WriteInbox<'a> {
    clients: Clients<'a>,
}

impl Sink for WriteInbox<'_> {
    fn arrived(&mut self) {}

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        // Of several that are handed over together a later one may have come after the first.
        let at = now_ns();
        if let Some(client) = self.clients.0.get_mut(slot as usize) {
            client.hear(reply, at);
        }
    }
}
