//! The jobs on the real engine with real threads over the ram store: what one thread's interleaving cannot show.
#![allow(clippy::unwrap_used)]

use engine::{Settings, run_phase};
use jobkit::TrialSetup;
use kvtrial_jobs as jobs;
use std::sync::atomic::AtomicBool;
use store::{Opener, Store};
use study::{Answer, Reason, Spec};

fn ram() -> Box<dyn Store> {
    let Some(Opener::Embedded(open)) = catalog::find("ram").map(|info| info.opener) else { panic!("no ram store") };
    open(&Spec::private("ram"), std::path::Path::new("")).unwrap()
}

/// Runs a job with four threads; returns the known digest, the answer, everything that was wrong, conflicts.
fn run(job: &str, data: Option<&str>, set: &[(&str, &str)]) -> (Option<String>, Answer, Vec<Reason>, u64) {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let job = jobs::prepare(jobs::find(job).unwrap(), data.map(Into::into), &set, 42).unwrap();
    let (store, settings) = (ram(), Settings { clients: 4, pipeline: 4, threads: Some(4), ..Settings::default() });
    job.suits(store.capabilities()).unwrap();
    let capabilities = store.capabilities().clone();
    let trial = job.trial(&TrialSetup::alone(settings.slots(), capabilities, 42));
    let (mut wrong, mut conflicts) = (Vec::new(), 0);
    for phase in 0..trial.phases().len() {
        let stop = AtomicBool::new(false);
        let outcome = run_phase(store.as_ref(), trial.as_ref(), phase, &settings, &stop, &mut |_| {}).unwrap();
        wrong.extend(outcome.offences.into_reasons());
        conflicts += outcome.counts.conflicts;
    }
    let (answer, reasons) = trial.answer();
    wrong.extend(reasons);
    (job.known_digest(), answer, wrong, conflicts)
}

#[test]
fn fans_comes_to_the_known_answer_under_every_policy_with_threads() {
    for set in [("policy", "partition"), ("policy", "cas"), ("policy", "lock"), ("variant", "counters")] {
        for round in 0..3 {
            let (known, answer, wrong, _) = run("fans", Some("debian-1k"), &[set]);
            assert_eq!((wrong, Some(answer.digest)), (vec![], known), "{set:?}, round {round}");
        }
    }
}

#[test]
fn ycsb_raises_no_false_alarm_with_threads_on_few_hot_keys() {
    for letter in ["A", "B", "C", "D", "F"] {
        let set = [("workload", letter), ("records", "20"), ("operations", "200000"), ("value", "32")];
        let (known, answer, wrong, _) = run("ycsb", None, &set);
        assert_eq!((wrong, Some(answer.digest)), (vec![], known), "{letter}");
    }
}
