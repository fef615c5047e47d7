//! One thread's part of a phase of a script: a coroutine per slot, which asks for one operation at a time.

use crate::coroutine::{Coroutine, Raised, Resumed};
use crate::entry::{Claim, Sighting, Since};
use crate::ledger::OtherWriter;
use crate::machine::{Machine, Surroundings};
use crate::read_back::shown;
use crate::standing::Standing;
use crate::watch::{self, ENDED, Pulse};
use crate::hints;
use job::{Offence, Step, Worker};
use std::ops::Range;
use std::sync::Arc;
use store::{Expected, Failure, Operation, Reply, Rows, Slot};
use study::ReasonKind;

/// What the prelude yields first.
mod ask {
    pub(super) const GET: u8 = 1;
    pub(super) const PUT: u8 = 2;
    pub(super) const DELETE: u8 = 3;
    pub(super) const APPEND: u8 = 4;
    pub(super) const INCREMENT: u8 = 5;
    pub(super) const GET_COUNTER: u8 = 6;
    pub(super) const INCREMENT_FIELD: u8 = 7;
    pub(super) const GET_FIELDS: u8 = 8;
    pub(super) const GET_VERSIONED: u8 = 9;
    pub(super) const CAS: u8 = 10;
    pub(super) const GET_MANY: u8 = 11;
    pub(super) const PUT_MANY: u8 = 12;
    pub(super) const SCAN: u8 = 13;
}

/// A client.
struct Client {
    coroutine: Option<Coroutine>,
    claim: Claim,
    /// What it waits for; 0: it may go on.
    asked: u8,
    /// When it was asked for.
    since: Since,
    /// What a counter was then.
    sum: i64,
}

pub(crate) struct ScriptWorker<'a> {
    standing: &'a Standing,
    clients: Vec<Client>,
    pulse: Arc<Pulse>,
    timed: bool,
    /// Keys and pairs of the batch that is sent.
    keys: Vec<&'static [u8]>,
    pairs: Vec<(&'static [u8], &'static [u8])>,
    value: Vec<u8>,
    /// Dropped last: the coroutines are its own.
    machine: Option<Machine>,
}

impl<'a> ScriptWorker<'a> {
    /// The clients of these slots, each with its script run down to its functions.
    pub(crate) fn new(
        surroundings: &Surroundings,
        standing: &'a Arc<Standing>,
        phase_name: &str,
        phase: u16,
        slots: Range<Slot>,
        all: u32,
        timed: bool,
    ) -> ScriptWorker<'a> {
        let client = |slot| Client { coroutine: None, claim: Claim { slot, phase }, asked: 0, since: Since::Version(0), sum: 0 };
        let mut worker = ScriptWorker {
            standing,
            clients: slots.map(client).collect(),
            pulse: Arc::default(),
            timed,
            keys: Vec::new(),
            pairs: Vec::new(),
            value: Vec::new(),
            machine: None,
        };
        if !standing.has_failed()
            && let Err(raised) = worker.begin(surroundings, standing, phase_name, all)
        {
            worker.fail(&raised);
        }
        worker
    }

    fn begin(&mut self, surroundings: &Surroundings, standing: &Arc<Standing>, phase: &str, all: u32) -> Result<(), Raised> {
        let machine = self.machine.insert(Machine::new(surroundings.clone(), Some(Arc::clone(standing)))?);
        self.pulse = standing.watch.add(machine.state());
        for client in &mut self.clients {
            client.coroutine = machine.open(client.claim.slot + 1, all, phase)?;
        }
        Ok(())
    }

    /// The script failed: the trial has no more to do.
    #[cold]
    fn fail(&self, raised: &Raised) {
        let mut words = hints::explain(&raised.words);
        if !raised.calls.is_empty() {
            words += &format!(" [{}]", raised.calls.join("; "));
        }
        let kind = if words.contains(ENDED) { ReasonKind::Deadline } else { ReasonKind::ScriptFailed };
        self.standing.fail(kind, words);
    }

    /// Lets a client go on until it asks for something; false: it is done.
    fn go_on(&mut self, at: usize) -> bool {
        let (Some(machine), client) = (&self.machine, &mut self.clients[at]) else { return false };
        let Some(coroutine) = &mut client.coroutine else { return false };
        machine.limit();
        self.pulse.beat();
        let resumed = coroutine.resume();
        self.pulse.beat();
        machine.unlimit();
        match resumed {
            Resumed::Asks => {
                client.asked = coroutine.number(1) as u8;
                return true;
            }
            Resumed::Returned => client.coroutine = None,
            Resumed::Failed => {
                let raised = coroutine.raised();
                watch::calm(coroutine.state());
                client.coroutine = None;
                self.fail(&raised);
            }
        }
        false
    }

    /// Takes note of what is about to be sent.
    fn note(&mut self, at: usize) -> Result<(), (Vec<u8>, OtherWriter)> {
        let Client { coroutine: Some(co), claim, asked, since, sum } = &mut self.clients[at] else { return Ok(()) };
        let (ledger, key) = (&self.standing.ledger, co.bytes(2));
        let named = |other| (key.to_vec(), other);
        match *asked {
            ask::GET | ask::GET_VERSIONED => *since = Since::Version(ledger.version(key)),
            ask::GET_MANY | ask::SCAN => *since = Since::Moment(ledger.moment()),
            ask::PUT => ledger.writes(*claim, key, Some(co.bytes(3))).map_err(named)?,
            ask::CAS => ledger.writes(*claim, key, Some(co.bytes(3))).map_err(named)?,
            ask::DELETE => ledger.writes(*claim, key, None).map_err(named)?,
            ask::APPEND => ledger.appends(*claim, key, co.bytes(3)).map_err(named)?,
            ask::INCREMENT => *sum = self.standing.counters.starts(*claim, key, b"", co.number(3) as i64).map_err(named)?,
            ask::GET_COUNTER => *sum = self.standing.counters.sum(key, b""),
            ask::INCREMENT_FIELD => {
                *sum = self.standing.records.starts(*claim, key, co.bytes(3), co.number(4) as i64).map_err(named)?;
            }
            ask::PUT_MANY => {
                self.gather(at);
                let Client { claim, .. } = self.clients[at];
                for (key, value) in &self.pairs {
                    ledger.writes(claim, key, Some(value)).map_err(|other| (key.to_vec(), other))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Collects the keys, or pairs, of a batch.
    fn gather(&mut self, at: usize) {
        self.keys.clear();
        self.pairs.clear();
        let Client { coroutine: Some(co), asked, .. } = &self.clients[at] else { return };
        // SAFETY: the strings are referenced by lists on the coroutine's stack, which stay there until the reply has come; the lists are
        // emptied in `reply` before that, and filled again for each operation.
        let long = |bytes: &[u8]| unsafe { std::mem::transmute::<&[u8], &'static [u8]>(bytes) };
        let keys = &mut self.keys;
        co.list(2, |key| keys.push(long(key)));
        if *asked == ask::PUT_MANY {
            let (pairs, mut next) = (&mut self.pairs, keys.iter());
            co.list(3, |value| pairs.extend(next.next().map(|&key| (key, long(value)))));
        }
    }

    /// The operation a client asks for.
    fn operation(&self, at: usize) -> Option<Operation<'_>> {
        let Client { coroutine, asked, .. } = &self.clients[at];
        let co = coroutine.as_ref()?;
        let key = co.bytes(2);
        Some(match *asked {
            ask::GET => Operation::Get { key },
            ask::PUT => Operation::Put { key, value: co.bytes(3) },
            ask::DELETE => Operation::Delete { key },
            ask::APPEND => Operation::Append { key, value: co.bytes(3) },
            ask::INCREMENT => Operation::Increment { key, by: co.number(3) as i64 },
            ask::GET_COUNTER => Operation::GetCounter { key },
            ask::INCREMENT_FIELD => Operation::IncrementField { key, field: co.bytes(3), by: co.number(4) as i64 },
            ask::GET_FIELDS => Operation::GetFields { key },
            ask::GET_VERSIONED => Operation::GetVersioned { key },
            ask::CAS => {
                let expected = match co.is_nil(5) {
                    true => Expected::Absent,
                    false => Expected::Present { version: version_of(co.bytes(4)), value: co.bytes(5) },
                };
                Operation::CompareAndSet { key, expected, value: co.bytes(3) }
            }
            ask::GET_MANY => Operation::GetMany { keys: &self.keys },
            ask::PUT_MANY => Operation::PutMany { pairs: &self.pairs },
            ask::SCAN => Operation::Scan { start: key, limit: co.number(3) as u32 },
            _ => return None,
        })
    }

    /// Two clients write one key, and nobody said that they may.
    #[cold]
    fn two_writers(&self, at: usize, key: &[u8], other: OtherWriter) {
        let Client { coroutine, claim, .. } = &self.clients[at];
        let place = coroutine.as_ref().and_then(Coroutine::place).map_or_else(String::new, |place| format!("{place}: "));
        let (one, two) = (other.0 + 1, claim.slot + 1);
        self.standing.fail(
            ReasonKind::ScriptFailed,
            format!(
                "{place}key {} is written by client {two}, and client {one} has written it in the same phase. Give each key one writer \
                 (if client:owns(key) then ...), or say kv.shared(true) at the top level: then a read is checked less strictly",
                job::printable(key)
            ),
        );
    }
}

/// A version as a string of its 8 bytes: Lua's numbers hold 53 bits.
fn version_of(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl Worker for ScriptWorker<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let at = slot as usize;
        if self.standing.has_failed() {
            return Step::Finished;
        }
        let again = self.clients[at].asked != 0;
        if !again && !self.go_on(at) {
            return Step::Finished;
        }
        if again {
            self.gather(at);
        } else if let Err((key, other)) = self.note(at) {
            self.two_writers(at, &key, other);
            return Step::Finished;
        }
        if self.clients[at].asked == ask::GET_MANY {
            self.gather(at);
        }
        self.operation(at).map_or(Step::Finished, Step::Operation)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let at = slot as usize;
        if let Reply::Failed(failure) = reply {
            return self.failed(at, failure, reply);
        }
        let Client { coroutine: Some(co), claim, asked, since, sum } = &mut self.clients[at] else { return Ok(()) };
        let judged = answer(self.standing, co, *claim, *asked, *since, *sum, reply, &mut self.value);
        *asked = 0;
        self.keys.clear();
        self.pairs.clear();
        judged
    }
}

impl ScriptWorker<'_> {
    /// An operation failed. After a lost connection it is sent again, unless that could do it twice.
    #[cold]
    fn failed(&mut self, at: usize, failure: &Failure<'_>, reply: &Reply<'_>) -> Result<(), Offence> {
        let client = &mut self.clients[at];
        let Some(co) = &mut client.coroutine else { return Ok(()) };
        let offence = Offence::failed(co.bytes(2), reply);
        let lost = matches!(failure, Failure::ConnectionLost(_));
        match client.asked {
            ask::APPEND => self.standing.ledger.unsure(co.bytes(2)),
            ask::CAS => self.standing.ledger.unsure(co.bytes(2)),
            ask::INCREMENT => self.standing.counters.unsure(co.bytes(2), b"", co.number(3) as i64),
            ask::INCREMENT_FIELD => self.standing.records.unsure(co.bytes(2), co.bytes(3), co.number(4) as i64),
            ask::PUT | ask::DELETE if !lost => self.standing.ledger.unsure(co.bytes(2)),
            _ if lost => return Err(offence), // asked again
            _ => {}
        }
        if !lost {
            let place = co.place().unwrap_or_default();
            self.standing.fail(offence.kind(), format!("{place}: {}", offence.clone().into_reason().example));
        }
        co.clear();
        co.give_nil();
        client.asked = 0;
        Err(offence)
    }
}

impl Drop for ScriptWorker<'_> {
    fn drop(&mut self) {
        self.standing.watch.remove(&self.pulse);
        if let Some(machine) = self.machine.as_ref().filter(|_| self.timed) {
            self.standing.add_units(machine.units());
        }
    }
}

/// Checks a reply and hands it to the client.
#[expect(clippy::too_many_arguments)] // what is known of one operation
fn answer(
    standing: &Standing,
    co: &mut Coroutine,
    claim: Claim,
    asked: u8,
    since: Since,
    sum: i64,
    reply: &Reply<'_>,
    kept: &mut Vec<u8>,
) -> Result<(), Offence> {
    let ledger = &standing.ledger;
    let stands_in = ledger.stands_in();
    let key = co.bytes(2);
    match (asked, reply) {
        (ask::GET | ask::GET_VERSIONED, Reply::Value(_) | Reply::Versioned { .. } | Reply::Missing) => {
            let (value, version) = match reply {
                Reply::Value(value) => (Some(*value), 0),
                Reply::Versioned { value, version } => (Some(*value), *version),
                _ => (None, 0),
            };
            let judged = sighted(ledger.look(claim, key, since, value), co, value);
            let value = if stands_in { ledger.value(key, kept).then_some(kept.as_slice()) } else { value };
            co.clear();
            match value {
                Some(value) => co.give(value),
                None => co.give_nil(),
            }
            if asked == ask::GET_VERSIONED {
                co.give(&version.to_le_bytes());
            }
            judged
        }
        (ask::PUT, Reply::Done) => {
            ledger.wrote(claim, key, Some(co.bytes(3)));
            co.clear();
            Ok(())
        }
        (ask::DELETE, Reply::Done | Reply::Missing) => {
            let gone = *reply == Reply::Missing;
            let judged = match gone {
                true => sighted(ledger.look(claim, key, since, None), co, None),
                false => Ok(()),
            };
            let there = if stands_in { ledger.value(key, kept) } else { !gone };
            ledger.wrote(claim, key, None);
            co.clear();
            co.give_truth(there);
            judged
        }
        (ask::APPEND, Reply::Done | Reply::Number(_)) => {
            ledger.appended(claim, key, co.bytes(3));
            co.clear();
            Ok(())
        }
        (ask::INCREMENT | ask::INCREMENT_FIELD, Reply::Number(number)) => {
            let (counters, field, step) = match asked {
                ask::INCREMENT => (&standing.counters, &b""[..], co.number(3) as i64),
                _ => (&standing.records, co.bytes(3), co.number(4) as i64),
            };
            let seen = if stands_in { sum.wrapping_add(step) } else { *number };
            let due = counters.ends(key, field, step, sum, seen);
            let judged = counted(due, co, seen);
            co.clear();
            co.give_number(seen as f64);
            judged
        }
        (ask::GET_COUNTER, Reply::Number(_) | Reply::Missing) => {
            let seen = match reply {
                Reply::Number(number) => Some(*number),
                _ => None,
            };
            let seen = if stands_in { Some(sum) } else { seen };
            let judged = counted(standing.counters.look(Some(claim), key, b"", sum, seen), co, seen.unwrap_or(0));
            co.clear();
            match seen {
                Some(number) => co.give_number(number as f64),
                None => co.give_nil(),
            }
            judged
        }
        (ask::CAS, Reply::Done | Reply::Conflict) => {
            match reply {
                Reply::Done => ledger.wrote(claim, key, Some(co.bytes(3))),
                _ => ledger.refused(key),
            }
            co.clear();
            co.give_truth(*reply == Reply::Done);
            Ok(())
        }
        (ask::PUT_MANY, Reply::Done) => {
            let mut keys: Vec<&[u8]> = Vec::new();
            co.list(2, |key| keys.push(key));
            let mut next = keys.iter();
            co.list(3, |value| next.next().into_iter().for_each(|key| ledger.wrote(claim, key, Some(value))));
            co.clear();
            Ok(())
        }
        (ask::GET_MANY | ask::SCAN | ask::GET_FIELDS, Reply::Rows(rows)) => {
            let judged = rows_right(standing, co, claim, asked, since, rows);
            give_rows(co, rows);
            judged
        }
        (ask::GET_FIELDS, Reply::Missing) => {
            co.clear();
            co.give_list(0);
            co.give_list(0);
            Ok(())
        }
        (ask::SCAN | ask::GET_MANY, Reply::Missing) => {
            co.clear();
            co.give_list(0);
            co.give_list(0);
            Ok(())
        }
        (_, other) => {
            let offence = Offence::failed(key, other);
            co.clear();
            co.give_nil();
            Err(offence)
        }
    }
}

/// Checks the rows of a batch, a scan or a record.
fn rows_right(standing: &Standing, co: &Coroutine, claim: Claim, asked: u8, since: Since, rows: &Rows<'_>) -> Result<(), Offence> {
    if asked == ask::GET_FIELDS || standing.ledger.stands_in() {
        return Ok(()); // records are compared at the end
    }
    let (start, limit) = (co.bytes(2), co.number(3));
    let mut before: Option<&[u8]> = None;
    for (key, value) in rows.iter() {
        sighted_at(standing.ledger.look(claim, key, since, Some(value)), co, key, Some(value))?;
        let wrong = asked == ask::SCAN && (key < start || before.is_some_and(|before| key <= before));
        if wrong {
            return Err(Offence::new(ReasonKind::WrongKey, key, format!("it is not where it belongs in a scan from {}", job::printable(start))));
        }
        before = Some(key);
    }
    if asked == ask::SCAN
        && let Some(key) = standing.ledger.left_out(claim, start, limit as usize, rows)
    {
        let words = format!("a scan from {} leaves it out{}", job::printable(start), place(co));
        return Err(Offence::new(ReasonKind::UnexpectedMiss, &key, words));
    }
    if asked == ask::SCAN && rows.len() as f64 > limit {
        return Err(Offence::new(ReasonKind::WrongReply, start, format!("{} rows for a limit of {limit}", rows.len())));
    }
    Ok(())
}

/// Hands over rows as two lists, of keys and of values.
fn give_rows(co: &mut Coroutine, rows: &Rows<'_>) {
    co.clear();
    co.give_list(rows.len());
    for (index, (key, _)) in rows.iter().enumerate() {
        co.put_in_list(index + 1, key);
    }
    co.give_list(rows.len());
    for (index, (_, value)) in rows.iter().enumerate() {
        co.put_in_list(index + 1, value);
    }
}

fn sighted(sighting: Sighting, co: &Coroutine, value: Option<&[u8]>) -> Result<(), Offence> {
    match sighting {
        Sighting::Right => Ok(()),
        _ => sighted_at(sighting, co, co.bytes(2), value),
    }
}

fn sighted_at(sighting: Sighting, co: &Coroutine, key: &[u8], value: Option<&[u8]>) -> Result<(), Offence> {
    let (kind, due) = match sighting {
        Sighting::Right => return Ok(()),
        Sighting::Missing => (ReasonKind::UnexpectedMiss, "a value was written and not deleted"),
        Sighting::Unexpected => (ReasonKind::UnexpectedHit, "it was deleted"),
        Sighting::Stale => (ReasonKind::StaleValue, "that is older than a write that was acknowledged"),
        Sighting::Wrong => (ReasonKind::WrongValue, "that is not what was written"),
        Sighting::Foreign => (ReasonKind::ForeignData, "nobody wrote it"),
    };
    Err(Offence::new(kind, key, format!("it holds {}; {due}{}", shown(value), place(co))))
}

fn counted(due: Option<String>, co: &Coroutine, seen: i64) -> Result<(), Offence> {
    match due {
        None => Ok(()),
        Some(due) => Err(Offence::new(ReasonKind::WrongNumber, co.bytes(2), format!("it counts {seen} and must count {due}{}", place(co)))),
    }
}

#[cold]
fn place(co: &Coroutine) -> String {
    co.place().map_or_else(String::new, |place| format!(" ({place})"))
}
