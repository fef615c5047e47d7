//! `kvtrial check`: is this store, with this client, correct?

use super::target;
use crate::args::CheckArguments;
use crate::failure::{self, Failure};
use crate::terminal::{note, print};
use check::{Finding, Options, Report};
use std::collections::BTreeMap;

/// Checks each store and prints what was found.
pub fn check(arguments: &CheckArguments) -> Result<u8, Failure> {
    let specs = target::specs(&arguments.stores, None, None)?;
    let stop = Some(host::interrupt::flag());
    let options = Options { timeout: arguments.deadline, stop, ..Options::default() };
    let mut reports: BTreeMap<String, Report> = BTreeMap::new();
    for spec in specs {
        let info = target::resolve(&spec)?;
        target::own_path(info, &spec)?;
        let open = host::open(info, &spec, &target::base(arguments.base.as_deref())?)?;
        let facts = open.facts()?;
        if !arguments.json {
            print(&format!("{spec}: {} {}\n", facts.product, facts.version))?;
        }
        let mut unprinted = Ok(());
        let report = ::check::run(open.store(), &options, &mut |case| {
            if !arguments.json && unprinted.is_ok() && !host::interrupt::requested() {
                unprinted = print(&case.to_string());
            }
        });
        unprinted?;
        if host::interrupt::requested() {
            open.close()?;
            note(&format!("Interrupted: {spec} was not checked to the end"));
            return Ok(failure::INTERRUPTED);
        }
        if !arguments.json {
            let mut summary = String::new();
            report.summary(&mut summary)?;
            print(&format!("{summary}\n"))?;
        }
        open.close()?;
        reports.insert(spec.to_string(), report);
    }
    if arguments.json {
        print(&format!("{:#}\n", serde_json::to_value(&reports)?))?;
    }
    let wrong = reports.values().any(|report| report.finding() != Finding::Correct);
    Ok(if wrong { failure::VOID } else { failure::GOOD })
}
