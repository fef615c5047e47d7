//! The job's own question to a store, from the side of the worker.

use crate::assignment::Assignment;
use crate::message::{Doing, FromWorker, Question, Refusal};
use crate::worker::bench::{Bench, Link};
use crate::worker::phases::{Extent, phases};
use jobkit::{Holds, QueryInfo, Trial, TrialSetup};
use store::{BlockingClient, Keeps, Operation, OperationKind, OwnedReply, Store};
use study::Target;

/// Operations in flight, and asked for at once, when all keys are asked for.
const PIPELINE: u32 = 64;
const BATCH: usize = 1000;

/// Asks, after the job's work where the store is private and so empty; the answer in words.
pub(crate) fn answer(
    store: &dyn Store,
    assignment: &Assignment,
    question: &Question,
    bench: &Bench<'_>,
    link: &mut dyn Link,
) -> Result<String, Refusal> {
    if assignment.spec.target == Target::Private && store.capabilities().keeps == Keeps::Nothing {
        return Err(Refusal::Unsuited("it keeps nothing, so there is nothing to ask; try -s ram".into()));
    }
    let info = assignment.job_info().ok().and_then(|job| job.extras.query);
    let query = info.ok_or_else(|| Refusal::Unsuited("the job has no question to ask".into()))?;
    if matches!(question, Question::Largest(_)) && query.holds != Holds::Counters {
        return Err(Refusal::Unsuited(format!("--top needs a job that counts; {} does not", assignment.job)));
    }
    let setup = TrialSetup::alone(assignment.settings.slots(), store.capabilities().clone(), assignment.seed);
    let native = |kind| store.capabilities().has(kind);
    let counters =
        query.holds == Holds::Counters && native(OperationKind::Increment) && native(OperationKind::GetCounter);
    let asking = Asking { query, counters, store, assignment };
    let prepared = || (bench.job)(&assignment.params).map_err(|error| Refusal::Job(error.0));
    if assignment.spec.target == Target::Private {
        let job = prepared()?;
        job.suits(store.capabilities()).map_err(|error| Refusal::Unsuited(error.0))?;
        let trial = job.trial(&setup);
        let last_timed = trial.phases().iter().rposition(|phase| phase.timed).unwrap_or(0);
        let extent = Extent { count: last_timed + 1, recording: None };
        if !phases(store, trial.as_ref(), extent, assignment, bench, link).complete {
            return Err(Refusal::Answer("the job could not fill the store".into()));
        }
    }
    link.say(FromWorker::Does(Doing::Ask));
    match question {
        Question::One(key) => asking.one(key),
        Question::Largest(most) => asking.largest(prepared()?.trial(&setup).as_ref(), *most),
    }
}

/// How one store is asked.
struct Asking<'a> {
    query: QueryInfo,
    /// Whether the job's keys are counters of this store.
    counters: bool,
    store: &'a dyn Store,
    assignment: &'a Assignment,
}

impl Asking<'_> {
    fn client(&self, pipeline: u32) -> Result<BlockingClient, Refusal> {
        BlockingClient::open(self.store, pipeline, self.assignment.settings.deadline).map_err(broken)
    }

    fn operation<'k>(&self, key: &'k [u8]) -> Operation<'k> {
        if self.counters { Operation::GetCounter { key } } else { Operation::Get { key } }
    }

    /// What a key holds; `None`: there is no such key.
    fn value(&self, reply: OwnedReply) -> Result<Option<Vec<u8>>, Refusal> {
        match reply {
            OwnedReply::Value(value) => Ok(Some(value)),
            OwnedReply::Number(number) => Ok(Some(number.to_string().into_bytes())),
            OwnedReply::Missing => Ok(None),
            other => Err(Refusal::Answer(format!("{} answered {other:?}", self.assignment.spec))),
        }
    }

    fn render(&self, key: &[u8], value: &[u8]) -> Result<String, Refusal> {
        (self.query.render)(key, value).map(|line| line + "\n").map_err(Refusal::Store)
    }

    fn one(&self, key: &str) -> Result<String, Refusal> {
        let reply = self.client(1)?.execute(&self.operation(key.as_bytes())).map_err(broken)?;
        let Some(value) = self.value(reply)? else {
            let what = self.query.key.to_lowercase();
            return Err(Refusal::Answer(format!("there is no {what} '{key}' in {}", self.assignment.spec)));
        };
        self.render(key.as_bytes(), &value)
    }

    /// Asks for every key of the job's input; the largest counts, ties in byte order of keys.
    fn largest(&self, trial: &dyn Trial, most: usize) -> Result<String, Refusal> {
        let mut client = self.client(PIPELINE)?;
        let mut found: Vec<(u64, Vec<u8>, Vec<u8>)> = Vec::new();
        let (mut index, mut more) = (0, true);
        while more {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            while keys.len() < BATCH && more {
                let mut key = Vec::new();
                more = trial.key(index, &mut key);
                index += 1;
                keys.extend(more.then_some(key));
            }
            let operations: Vec<Operation<'_>> = keys.iter().map(|key| self.operation(key)).collect();
            for (reply, key) in client.pipelined(&operations).map_err(broken)?.into_iter().zip(&keys) {
                if let Some(value) = self.value(reply)? {
                    let count = std::str::from_utf8(&value).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
                    found.push((count, key.clone(), value));
                }
            }
            found.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            found.truncate(most);
        }
        found.iter().map(|(_, key, value)| self.render(key, value)).collect()
    }
}

fn broken(error: store::StoreError) -> Refusal {
    Refusal::Store(error.to_string())
}
