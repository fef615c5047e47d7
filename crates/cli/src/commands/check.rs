//! `kvtrial check`: is this store, with this client, correct?

use super::offer::offer;
use super::{fork_server, target};
use crate::args::CheckArguments;
use crate::failure::{self, CommandFailure};
use crate::output::{note, print};
use check::{CheckFinding, CheckReport};
use runner::{CheckRequest, Checking};
use std::collections::BTreeMap;

/// Checks each store and prints what was found.
pub fn check(arguments: &CheckArguments) -> Result<u8, CommandFailure> {
    let specs = target::specs(&arguments.stores, None, None)?;
    let execution = fork_server::execution();
    let mut reports: BTreeMap<String, CheckReport> = BTreeMap::new();
    let (several, mut absent) = (specs.len() > 1, false);
    for spec in specs {
        let info = target::known(&spec)?;
        offer(info, &spec)?;
        match host::present(info, &spec) {
            Ok(()) => {}
            // The others are checked.
            Err(error) if several => {
                note(&format!("{spec} is not checked: {error}"));
                absent = true;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        target::own_path(info, &spec)?;
        let base = target::base(arguments.base.as_deref())?;
        let mut unprinted = Ok(());
        let mut hear = |heard: Checking<'_>| {
            if arguments.json || unprinted.is_err() || host::interrupt::requested() {
                return;
            }
            unprinted = print(&match heard {
                Checking::Opened(facts) => format!("{spec}: {} {}\n", facts.product, facts.version),
                Checking::Case(case) => case.to_string(),
            });
        };
        let request = CheckRequest { info, spec: spec.clone(), base, deadline: arguments.deadline };
        let report =
            runner::check(request, &execution, host::interrupt::flag(), &mut hear).map_err(CommandFailure::of)?;
        unprinted?;
        let Some(report) = report else {
            note(&format!("Interrupted: {spec} was not checked to the end"));
            return Ok(failure::INTERRUPTED);
        };
        if !arguments.json {
            let mut summary = String::new();
            report.summary(&mut summary)?;
            print(&format!("{summary}\n"))?;
        }
        reports.insert(spec.to_string(), report);
    }
    if arguments.json {
        print(&format!("{:#}\n", serde_json::to_value(&reports)?))?;
    }
    let wrong = reports.values().any(|report| report.finding() != CheckFinding::Correct);
    Ok(if wrong || absent { failure::VOID } else { failure::GOOD })
}
