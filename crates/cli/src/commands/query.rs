//! `kvtrial query`: the job's own question to a store.

use super::target;
use crate::args::QueryArguments;
use crate::failure::{self, Failure};
use crate::terminal::{note, print};
use engine::{End, Holds, JobInfo, QueryInfo, Settings, TrialSetup, run_phase};
use std::time::Duration;
use store::{BlockingClient, Keeps, Operation, OperationKind, OwnedReply, Store};
use study::{Spec, Target};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Operations in flight, and asked for at once, when all keys are asked for.
const PIPELINE: u32 = 64;
const BATCH: usize = 1000;

/// Asks, and prints the answer as one line of JSON.
pub fn query(arguments: &QueryArguments) -> Result<u8, Failure> {
    let job = target::job(&arguments.job)?;
    let question = job.query.ok_or_else(|| Failure::usage(format!("the job '{}' has no question to ask", job.name)))?;
    let spec: Spec = arguments.store.parse()?;
    let info = target::resolve(&spec)?;
    target::own_path(info, &spec)?;
    let open = host::Opening::new(target::base(arguments.base.as_deref())?).only_to_read().open(info, &spec)?;
    match spec.target {
        Target::Private => fill(job, open.store(), arguments)?,
        _ if arguments.data.is_some() && arguments.top.is_none() => {
            return Err(Failure::usage(format!(
                "--data fills private stores only; to fill {spec}: kvtrial run {} -s {spec}",
                job.name
            )));
        }
        _ => {}
    }
    let ask = Ask { question, counters: counters(question, open.store()), spec: &spec };
    let text = match (&arguments.key, arguments.top) {
        (Some(key), _) => ask.one(open.store(), key)?,
        (None, most) => ask.largest(open.store(), job, arguments, most.unwrap_or(10))?,
    };
    print(&text)?;
    open.close()?;
    Ok(failure::GOOD)
}

/// Whether the job's keys are counters of this store.
fn counters(question: QueryInfo, store: &dyn Store) -> bool {
    let native = |kind| store.capabilities().has(kind);
    question.holds == Holds::Counters && native(OperationKind::Increment) && native(OperationKind::GetCounter)
}

/// How one store is asked.
struct Ask<'a> {
    question: QueryInfo,
    counters: bool,
    spec: &'a Spec,
}

impl Ask<'_> {
    fn operation<'k>(&self, key: &'k [u8]) -> Operation<'k> {
        if self.counters { Operation::GetCounter { key } } else { Operation::Get { key } }
    }

    /// What a key holds; `None`: there is no such key.
    fn value(&self, reply: OwnedReply) -> Result<Option<Vec<u8>>, Failure> {
        match reply {
            OwnedReply::Value(value) => Ok(Some(value)),
            OwnedReply::Number(number) => Ok(Some(number.to_string().into_bytes())),
            OwnedReply::Missing => Ok(None),
            other => Err(Failure { message: format!("{} answered {other:?}", self.spec), status: failure::VOID }),
        }
    }

    fn one(&self, store: &dyn Store, key: &str) -> Result<String, Failure> {
        let mut client = BlockingClient::open(store, 1, TIMEOUT)?;
        let Some(value) = self.value(client.execute(&self.operation(key.as_bytes()))?)? else {
            let what = self.question.key.to_lowercase();
            return Err(Failure {
                message: format!("there is no {what} '{key}' in {}", self.spec),
                status: failure::VOID,
            });
        };
        Ok((self.question.render)(key.as_bytes(), &value).map_err(Failure::usage)? + "\n")
    }

    /// Asks for every key of the job's input; the largest counts, ties in byte order of keys.
    fn largest(
        &self,
        store: &dyn Store,
        job: &JobInfo,
        arguments: &QueryArguments,
        most: usize,
    ) -> Result<String, Failure> {
        if self.question.holds != Holds::Counters {
            return Err(Failure::usage(format!("--top needs a job that counts; {} does not", job.name)));
        }
        let prepared = jobs::prepare(job, arguments.data.clone(), &[], Settings::default().seed)?;
        let capabilities = store.capabilities().clone();
        let trial = prepared.trial(&TrialSetup { slots: 1, capabilities, seed: Settings::default().seed });
        let mut client = BlockingClient::open(store, PIPELINE, TIMEOUT)?;
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
            for (reply, key) in client.pipelined(&operations)?.into_iter().zip(&keys) {
                if let Some(value) = self.value(reply)? {
                    let count = std::str::from_utf8(&value).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
                    found.push((count, key.clone(), value));
                }
            }
            found.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            found.truncate(most);
        }
        let lines = found.iter().map(|(_, key, value)| (self.question.render)(key, value).map(|line| line + "\n"));
        lines.collect::<Result<String, String>>().map_err(Failure::usage)
    }
}

/// A private store is empty: the job is run on it first.
fn fill(job: &'static JobInfo, store: &dyn Store, arguments: &QueryArguments) -> Result<(), Failure> {
    let capabilities = store.capabilities().clone();
    if capabilities.keeps == Keeps::Nothing {
        return Err(Failure::usage("this store keeps nothing, so there is nothing to ask; try -s ram"));
    }
    note(&format!("kvtrial: the store is private and new, so the job {} is run on it first", job.name));
    let settings = Settings::default();
    let prepared = jobs::prepare(job, arguments.data.clone(), &[], settings.seed)?;
    prepared.suits(&capabilities)?;
    let setup = TrialSetup { slots: settings.slots(), capabilities, seed: settings.seed };
    let trial = prepared.trial(&setup);
    let last_timed = trial.phases().iter().rposition(|phase| phase.timed).unwrap_or(0);
    for index in 0..=last_timed {
        let outcome = run_phase(store, trial.as_ref(), index, &settings, host::interrupt::flag(), &mut |_| {})?;
        if outcome.end == End::Interrupted {
            return Err(Failure { message: "interrupted".into(), status: failure::INTERRUPTED });
        }
        if let Some(reason) = outcome.offences.into_reasons().first() {
            let message = format!("the job could not fill the store: {} ({})", reason.kind.name(), reason.example);
            return Err(Failure { message, status: failure::VOID });
        }
    }
    Ok(())
}
