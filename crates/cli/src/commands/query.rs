//! `kvtrial query`: the job's own question to a store.

use super::target;
use crate::args::QueryArguments;
use crate::failure::{self, Failure};
use crate::terminal::print;
use engine::{End, JobInfo, Settings, TrialSetup, run_phase};
use std::time::Duration;
use store::{BlockingClient, Keeps, Operation, OwnedReply, Store};
use study::{Spec, Target};

const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks, and prints the answer as one line of JSON.
pub fn query(arguments: &QueryArguments) -> Result<u8, Failure> {
    let job = jobs::find(&arguments.job)
        .ok_or_else(|| Failure::usage(format!("there is no job '{}'; see 'kvtrial jobs'", arguments.job)))?;
    let question = job.query.ok_or_else(|| Failure::usage(format!("the job '{}' has no question to ask", job.name)))?;
    let spec: Spec = arguments.store.parse()?;
    let info = target::resolve(&spec)?;
    let open = host::open(info, &spec, &arguments.base.clone().unwrap_or_else(host::default_base))?;
    match spec.target {
        Target::Private => fill(job, open.store(), arguments)?,
        _ if arguments.data.is_some() => {
            return Err(Failure::usage(format!(
                "--data fills private stores only; to fill {spec}: kvtrial run {} -s {spec}",
                job.name
            )));
        }
        _ => {}
    }
    let key = arguments.key.as_bytes();
    let mut client = BlockingClient::open(open.store(), 1, TIMEOUT)?;
    let line = match client.execute(&Operation::Get { key })? {
        OwnedReply::Value(value) => (question.render)(key, &value).map_err(Failure::usage)?,
        OwnedReply::Missing => {
            let what = question.key.to_lowercase();
            return Err(Failure {
                message: format!("there is no {what} '{}' in {spec}", arguments.key),
                status: failure::VOID,
            });
        }
        other => return Err(Failure { message: format!("{spec} answered {other:?}"), status: failure::VOID }),
    };
    print(&format!("{line}\n"))?;
    open.close()?;
    Ok(failure::GOOD)
}

/// A private store is empty: the job is run on it first.
fn fill(job: &'static JobInfo, store: &dyn Store, arguments: &QueryArguments) -> Result<(), Failure> {
    let capabilities = store.capabilities().clone();
    if capabilities.keeps == Keeps::Nothing {
        return Err(Failure::usage("this store keeps nothing, so there is nothing to ask; try -s ram"));
    }
    eprintln!("kvtrial: the store is private and new, so the job {} is run on it first", job.name);
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
