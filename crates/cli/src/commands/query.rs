//! `kvtrial query`: the job's own question to a store.

use super::{fork_server, target};
use crate::args::QueryArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print};
use engine::Settings;
use runner::{Asked, KeysFound, Plan, PlannedStore, Question, Request, Rounds};
use study::Target;

/// Asks, and prints the answer as one line of JSON.
pub fn query(arguments: &QueryArguments) -> Result<u8, CommandFailure> {
    let plan = plan(arguments)?;
    let question = match (&arguments.key, arguments.top) {
        (Some(key), _) => Question::One(key.clone()),
        (None, most) => Question::Largest(most.unwrap_or(10)),
    };
    let mut filling = || {
        let job = plan.job.name;
        note(&format!("kvtrial: the store is private and new, so the job {job} is run on it first"));
    };
    let answer = runner::ask(&plan, question, host::interrupt::flag(), &mut filling).map_err(CommandFailure::of)?;
    let Some(text) = answer else {
        return Err(CommandFailure { message: "interrupted".into(), status: failure::INTERRUPTED });
    };
    print(&text)?;
    Ok(failure::GOOD)
}

/// One cell, on which nothing is measured.
fn plan(arguments: &QueryArguments) -> Result<Plan, CommandFailure> {
    let job = target::job(&arguments.job)?;
    if job.query.is_none() {
        return Err(CommandFailure::usage(format!("the job '{}' has no question to ask", job.name)));
    }
    let spec = target::spec(&arguments.store)?;
    let info = target::resolve(&spec)?;
    target::own_path(info, &spec)?;
    if spec.target != Target::Private && arguments.data.is_some() && arguments.top.is_none() {
        return Err(CommandFailure::usage(format!(
            "--data fills private stores only; to fill {spec}: kvtrial run {} -s {spec}",
            job.name
        )));
    }
    let settings = Settings::default();
    let request = Request {
        job,
        data: arguments.data.clone(),
        params: jobs::params(job, &[])?,
        stores: vec![PlannedStore { info, spec, asked: Asked::ByName, baseline: false }],
        settings,
        rounds: Rounds::ONCE,
        seed: settings.seed,
        base: target::base(arguments.base.as_deref())?,
        keys_found: KeysFound::Refuse,
        execution: fork_server::execution(),
    };
    request.question().map_err(CommandFailure::of_request)
}
