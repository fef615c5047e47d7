//! What the list of jobs promises as a whole. A new job is found here by itself.
#![allow(clippy::unwrap_used)]

use jobkit::{Purpose, TrialSetup};
use kvtrial_jobs as jobs;
use std::collections::BTreeSet;
use store::{Capabilities, Keeps, OperationKind, OperationSet};

#[test]
fn a_job_counts_its_records_in_its_input_under_the_name_it_gives_them() {
    for info in jobs::all() {
        let job = jobs::prepare(info, None, &[], 42).unwrap();
        let count = job.input().get(info.records).and_then(serde_json::Value::as_u64);
        assert!(count.is_some_and(|count| count > 0), "{}: {} in {:?}", info.name, info.records, job.input());
    }
}

#[test]
fn names_of_jobs_and_of_their_parameters_differ() {
    let mut names = BTreeSet::new();
    for info in jobs::all() {
        assert!(names.insert(info.name), "{} is listed twice", info.name);
        let params: BTreeSet<&str> = info.params.iter().map(|param| param.name).collect();
        assert_eq!(params.len(), info.params.len(), "{}", info.name);
    }
}

#[test]
fn every_job_reads_back_off_the_clock_and_not_at_all_what_is_not_kept() {
    for info in jobs::all() {
        let job = jobs::prepare(info, None, &[], 42).unwrap();
        let phases = |keeps| {
            let capabilities =
                Capabilities { native: OperationSet::of(&OperationKind::ALL), keeps, ..Capabilities::BASIC };
            job.trial(&TrialSetup::alone(4, capabilities, 42)).phases()
        };
        let reading: Vec<_> =
            phases(Keeps::Everything).into_iter().filter(|it| it.purpose == Purpose::ReadBack).collect();
        assert!(!reading.is_empty() && reading.iter().all(|phase| !phase.timed), "{}: {reading:?}", info.name);
        assert!(phases(Keeps::Nothing).iter().all(|phase| phase.purpose == Purpose::Work), "{}", info.name);
    }
}
