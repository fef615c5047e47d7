//! `kvtrial query`: the job's own question to a store.

use super::{nursery, target};
use crate::args::QueryArguments;
use crate::failure::{self, Failure};
use crate::terminal::{note, print};
use engine::Settings;
use runner::{KeysFound, Plan, PlannedCell, Question, Shelf};
use std::collections::BTreeMap;
use study::{Spec, Target, TrialOrder};

/// Asks, and prints the answer as one line of JSON.
pub fn query(arguments: &QueryArguments) -> Result<u8, Failure> {
    let plan = plan(arguments)?;
    let question = match (&arguments.key, arguments.top) {
        (Some(key), _) => Question::One(key.clone()),
        (None, most) => Question::Largest(most.unwrap_or(10)),
    };
    let mut filling = || {
        let job = plan.job.name;
        note(&format!("kvtrial: the store is private and new, so the job {job} is run on it first"));
    };
    let answer = runner::ask(&plan, question, host::interrupt::flag(), &mut filling).map_err(Failure::of)?;
    let Some(text) = answer else {
        return Err(Failure { message: "interrupted".into(), status: failure::INTERRUPTED });
    };
    print(&text)?;
    Ok(failure::GOOD)
}

/// One cell, on which nothing is measured.
fn plan(arguments: &QueryArguments) -> Result<Plan, Failure> {
    let job = target::job(&arguments.job)?;
    if job.query.is_none() {
        return Err(Failure::usage(format!("the job '{}' has no question to ask", job.name)));
    }
    let spec: Spec = arguments.store.parse()?;
    let info = target::resolve(&spec)?;
    target::own_path(info, &spec)?;
    if spec.target != Target::Private && arguments.data.is_some() && arguments.top.is_none() {
        return Err(Failure::usage(format!(
            "--data fills private stores only; to fill {spec}: kvtrial run {} -s {spec}",
            job.name
        )));
    }
    let settings = Settings::default();
    let params = jobs::params(job, &[])?;
    let cell = PlannedCell { info, spec, baseline: false, params, settings, varied: BTreeMap::new() };
    Ok(Plan {
        job,
        shelf: Shelf::new(job, arguments.data.clone(), settings.seed),
        cells: vec![cell],
        varied: Vec::new(),
        sampled: None,
        order: TrialOrder::Random,
        repeats: 1,
        patience: None,
        warmups: 0,
        seed: settings.seed,
        base: target::base(arguments.base.as_deref())?,
        keys_found: KeysFound::Refuse,
        execution: nursery::execution(),
    })
}
