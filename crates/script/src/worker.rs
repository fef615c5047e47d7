//! One thread's part of a phase of a script: a coroutine per slot, which asks for one operation at a time.

mod client;
mod failing;
mod living;

use crate::ask;
use crate::clash::{Clash, Counting};
use crate::command;
use crate::coroutine::{Coroutine, Raised, Resumed};
use crate::counters::CountSince;
use crate::entry::{Claim, Since};
use crate::hints;
use crate::kind::KeyKind;
use crate::machine::{Lasts, Machine, Surroundings};
use crate::mortal::Glimpse;
use crate::replies::answer;
use crate::standing::{ThreadBooks, TrialState};
use crate::watch;
use client::{Client, Stage, Unit};
use jobkit::{Arriving, Offence, Step, Worker};
use jobs::expires::Expires;
use living::{opened, time_left};
use std::ops::Range;
use std::sync::Arc;
use store::{Expected, Operation, Reply, Slot, SqlValue};
use study::ReasonKind;

pub(crate) struct ScriptWorker<'a> {
    standing: &'a TrialState,
    books: ThreadBooks<'a>,
    clients: Vec<Client>,
    timed: bool,
    counting: Counting,
    /// The phase, and clients over all threads: what a client is opened with.
    phase: String,
    all: u32,
    lasts: Lasts,
    /// Units that were over when the time was.
    units: Option<u64>,
    /// Keys and pairs of the batch that is sent.
    keys: Vec<&'static [u8]>,
    pairs: Vec<(&'static [u8], &'static [u8])>,
    /// Parameters of the statement that is sent.
    values: Vec<SqlValue<'static>>,
    /// Operations asked for, and those of them that are commands or statements.
    operations: u64,
    commands: u64,
    value: Vec<u8>,
    /// Whether the moment of a value's end is in the value.
    by_reader: bool,
    /// The value that is sent then.
    sealed: Vec<u8>,
    /// Dropped last: the coroutines are its own.
    machine: Option<Machine>,
}

impl<'a> ScriptWorker<'a> {
    /// Makes the clients of these slots, each with its script run down to its functions.
    pub(crate) fn new(
        surroundings: &Surroundings,
        standing: &'a Arc<TrialState>,
        phase_name: &str,
        phase: u16,
        slots: Range<Slot>,
        all: u32,
        timed: bool,
    ) -> ScriptWorker<'a> {
        let client = |slot| Client {
            coroutine: None,
            claim: Claim { slot, phase },
            asked: 0,
            stage: Stage::Replied,
            begun: false,
            since: Since::Version(0),
            sum: CountSince::default(),
            moment: Glimpse::default(),
            found: None,
            failing: None,
            unit: Unit::Undisturbed,
        };
        let mut worker = ScriptWorker {
            standing,
            books: standing.books(),
            clients: slots.map(client).collect(),
            timed,
            counting: surroundings.counting(),
            phase: phase_name.into(),
            all,
            // Only time ends a phase that lasts: one off the clock would never end.
            lasts: if timed && surroundings.lasts() { Lasts::AsLongAsThereIsTime } else { Lasts::Once },
            units: None,
            keys: Vec::new(),
            pairs: Vec::new(),
            values: Vec::new(),
            operations: 0,
            commands: 0,
            value: Vec::new(),
            by_reader: surroundings.expires() == Some(Expires::ByReader),
            sealed: Vec::new(),
            machine: None,
        };
        if !standing.has_failed()
            && let Err(raised) = worker.begin(surroundings, standing)
        {
            worker.fail(&raised);
        }
        worker
    }

    fn begin(&mut self, surroundings: &Surroundings, standing: &Arc<TrialState>) -> Result<(), Raised> {
        let machine = self.machine.insert(Machine::new(surroundings.clone(), Some(Arc::clone(standing)))?);
        for client in &mut self.clients {
            client.coroutine = machine.open(client.claim.slot + 1, self.all, &self.phase, self.lasts)?;
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
        self.standing.fail(ReasonKind::ScriptFailed, words);
    }

    /// Lets a client go on until it asks for something; false: it is done.
    fn go_on(&mut self, at: usize) -> bool {
        let (Some(machine), client) = (&self.machine, &mut self.clients[at]) else { return false };
        let Some(coroutine) = &mut client.coroutine else { return false };
        let units = machine.units();
        let first = !std::mem::replace(&mut client.begun, true);
        machine.limit();
        machine.beat();
        let resumed = coroutine.resume();
        machine.beat();
        machine.unlimit();
        match resumed {
            Resumed::Asks => {
                client.asked = coroutine.number(1) as u8;
                client.stage = Stage::Within;
                if first || machine.units() != units {
                    (client.stage, client.unit) = (Stage::Begins, Unit::Undisturbed);
                }
                return true;
            }
            Resumed::Returned => client.coroutine = None,
            Resumed::Failed => {
                let raised = coroutine.raised();
                watch::calm(coroutine.state());
                client.coroutine = None;
                match self.abandons_unit(at) {
                    true => return self.go_on(at),
                    false => self.fail(&raised),
                }
            }
        }
        false
    }

    /// Counts the units that are over. A client that has its reply may be at the end of one: it goes on to find out, unless the reply came
    /// too `late`.
    #[cold]
    fn count_units(&mut self, late: Option<Slot>) {
        if self.timed && !self.standing.has_failed() {
            for at in (0..self.clients.len()).filter(|&at| late != Some(at as Slot)) {
                if self.clients[at].begun && self.clients[at].stage == Stage::Replied {
                    self.go_on(at);
                }
            }
        }
        self.units = self.machine.as_ref().map(Machine::units);
    }

    /// Takes note of what is about to be sent.
    fn note(&mut self, at: usize) -> Result<(), (Vec<u8>, Clash)> {
        self.operations += 1;
        self.note_life(at);
        let Client { coroutine: Some(co), claim, asked, since, sum, .. } = &mut self.clients[at] else { return Ok(()) };
        let (books, key) = (&mut self.books, co.bytes(2));
        let ledger = &mut books.ledger;
        let named = |clash| (key.to_vec(), clash);
        match *asked {
            ask::GET | ask::GET_VERSIONED | ask::TOUCH | ask::TIME_LEFT => *since = ledger.asks(key).map_err(named)?,
            ask::GET_MANY | ask::SCAN => *since = Since::Moment(ledger.moment()),
            ask::PUT | ask::PUT_TTL => ledger.writes(*claim, key, Some(co.bytes(3))).map_err(named)?,
            ask::CAS => {
                *since = ledger.asks(key).map_err(named)?;
                ledger.writes(*claim, key, Some(co.bytes(3))).map_err(named)?;
            }
            ask::DELETE => *since = books.deletes(*claim, key).map_err(named)?,
            ask::APPEND => ledger.appends(*claim, key, co.bytes(3)).map_err(named)?,
            ask::INCREMENT => *sum = books.counts(KeyKind::Counter, key, b"", co.number(3) as i64).map_err(named)?,
            ask::GET_COUNTER => *sum = books.asks_count(key).map_err(named)?,
            ask::INCREMENT_FIELD => {
                *sum = books.counts(KeyKind::Record, key, co.bytes(3), co.number(4) as i64).map_err(named)?;
            }
            ask::GET_FIELDS => ledger.reads(key, KeyKind::Record).map_err(named)?,
            ask::COMMAND => {
                self.commands += 1;
                self.gather(at);
                for place in command::places(&self.keys) {
                    let Some(&key) = self.keys.get(place) else { break };
                    self.books.ledger.claims(key, KeyKind::Command).map_err(|clash| (key.to_vec(), clash))?;
                }
            }
            ask::SQL => {
                self.commands += 1;
                self.gather(at);
            }
            ask::PUT_MANY => {
                self.gather(at);
                let Client { claim, .. } = self.clients[at];
                for (key, value) in &self.pairs {
                    self.books.ledger.writes(claim, key, Some(value)).map_err(|clash| (key.to_vec(), clash))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Collects the keys, or pairs, of a batch, or the parameters of a statement.
    fn gather(&mut self, at: usize) {
        self.forget();
        let Client { coroutine: Some(co), asked, .. } = &self.clients[at] else { return };
        // SAFETY: the strings are referenced by lists on the coroutine's stack, which stay there until the reply has come; the lists are
        // emptied in `reply` before that, and filled again for each operation.
        let long = |bytes: &[u8]| unsafe { std::mem::transmute::<&[u8], &'static [u8]>(bytes) };
        let keys = &mut self.keys;
        if *asked == ask::COMMAND {
            return (2..=co.top()).for_each(|place| keys.push(long(co.bytes(place))));
        }
        if *asked == ask::SQL {
            // SAFETY: as above; the parameters themselves are on the coroutine's stack.
            let long = |value| unsafe { std::mem::transmute::<SqlValue<'_>, SqlValue<'static>>(value) };
            return self.values.extend((3..=co.top()).map(|place| long(co.sql_value(place))));
        }
        co.list(2, |key| keys.push(long(key)));
        if *asked == ask::PUT_MANY {
            let (pairs, mut next) = (&mut self.pairs, keys.iter());
            co.list(3, |value| pairs.extend(next.next().map(|&key| (key, long(value)))));
        }
    }

    /// Empties the lists of what was sent, before the strings in them may go.
    fn forget(&mut self) {
        self.keys.clear();
        self.pairs.clear();
        self.values.clear();
    }

    /// The operation a client asks for.
    fn operation(&self, at: usize) -> Option<Operation<'_>> {
        let Client { coroutine, asked, .. } = &self.clients[at];
        let co = coroutine.as_ref()?;
        let key = co.bytes(2);
        Some(match *asked {
            ask::PUT_TTL => Operation::PutTtl { key, value: co.bytes(3), ttl_ms: co.number(4) as u64 },
            ask::TOUCH => Operation::Touch { key, ttl_ms: co.number(3) as u64 },
            ask::GET => Operation::Get { key },
            ask::TIME_LEFT if self.by_reader => Operation::Get { key },
            ask::TIME_LEFT => Operation::TimeLeft { key },
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
            ask::COMMAND => Operation::Command { words: &self.keys, key: command::places(&self.keys).next() },
            ask::SQL => Operation::Sql { statement: key, values: &self.values },
            ask::SCAN => Operation::Scan { start: key, limit: co.number(3) as u32 },
            _ => return None,
        })
    }

    /// What a client asks for cannot be: the script has to be written otherwise.
    #[cold]
    fn refuse(&self, at: usize, key: &[u8], clash: &Clash) {
        let Client { coroutine, claim, .. } = &self.clients[at];
        let place =
            coroutine.as_ref().and_then(Coroutine::place).map_or_else(String::new, |place| format!("{place}: "));
        self.standing.refuse(clash, place + &clash.explain(key, claim.slot, self.counting));
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
        if self.clients[at].stage == Stage::Replied && !self.go_on(at) {
            return Step::Finished;
        }
        let again = self.clients[at].stage == Stage::Sent;
        self.clients[at].stage = Stage::Sent;
        if again {
            self.gather(at);
        } else if let Err((key, clash)) = self.note(at) {
            self.refuse(at, &key, &clash);
            return Step::Finished;
        }
        if self.clients[at].asked == ask::GET_MANY {
            self.gather(at);
        }
        if self.by_reader {
            self.seal(at);
        }
        let sealed = self.sealed_operation(at);
        sealed.or_else(|| self.operation(at)).map_or(Step::Finished, Step::Operation)
    }

    fn arrivals(&self) -> Arriving {
        Arriving::Units
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let at = slot as usize;
        self.standing.has_failed() || self.clients[at].stage == Stage::Replied && !self.go_on(at)
    }

    fn time_is_over(&mut self, late: Option<Slot>) {
        self.count_units(late);
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        let at = slot as usize;
        if self.clients[at].stage == Stage::Replied && !self.standing.has_failed() && !self.go_on(at) {
            return false;
        }
        // What failed and is sent again is no arrival either.
        matches!(self.clients[at].stage, Stage::Within | Stage::Sent)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let at = slot as usize;
        if let Reply::Failed(failure) = reply {
            return self.failed(at, failure, reply);
        }
        let client = &mut self.clients[at];
        let Client { coroutine: Some(co), claim, asked, since, sum, moment, found, .. } = client else {
            return Ok(());
        };
        let opened = match &self.books.lives {
            Some(lives) if self.by_reader && *asked == ask::TIME_LEFT => time_left(lives.all, *reply),
            Some(lives) if self.by_reader => opened(lives.all, found, *reply),
            _ => *reply,
        };
        let judged = answer(&mut self.books, co, *claim, *asked, *since, *sum, *moment, &opened, &mut self.value);
        client.replied();
        self.forget();
        judged
    }

    #[cold]
    fn leave_off(&mut self) {
        (0..self.clients.len()).for_each(|at| self.leave_open(at));
    }
}

impl Drop for ScriptWorker<'_> {
    fn drop(&mut self) {
        if self.units.is_none() {
            self.count_units(None);
        }
        self.standing.add_operations(self.operations, self.commands);
        self.standing.add_units(self.units.filter(|_| self.timed).unwrap_or_default());
    }
}
