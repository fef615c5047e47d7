//! One wrong answer in thousands is found, on the way every study takes; and honest answers raise no alarm.

use crate::liar::{LIAR, Lie};
use crate::study_of::SmallStudy;
use crate::test::{Scope, Test};
use engine::Settings;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::{ReasonKind, Spec, Status, Tolerance, TrialRecord};

pub(crate) fn tests() -> Vec<Test> {
    let found = |name, claim, lie, kinds: &'static [ReasonKind]| Test {
        name,
        claim,
        unit: "reasons found",
        bound: Tolerance::at_least(1.0),
        scope: Scope::Quick,
        attempts: 1,
        measure: Box::new(move |_, stop| Ok(found(&trial(lie, stop)?, kinds) as f64)),
    };
    use ReasonKind as Kind;
    vec![
        Test {
            name: "honest_store",
            claim: "a store that answers rightly is found valid",
            unit: "reasons found",
            bound: Tolerance::at_most(0.0),
            scope: Scope::Quick,
            attempts: 1,
            measure: Box::new(|_, stop| Ok(voiding(&trial(Lie::None, stop)?) as f64)),
        },
        found("fault_wrong_value", "one wrong bit in one value is found", Lie::WrongValue, &[Kind::WrongValue]),
        found(
            "fault_other_key",
            "one value of another key is found",
            Lie::OtherKey,
            &[Kind::WrongKey, Kind::WrongValue],
        ),
        found(
            "fault_lost_write",
            "one write that was acknowledged and not done is found",
            Lie::LostWrite,
            &[Kind::LostUpdates, Kind::StaleValue, Kind::UnexpectedMiss, Kind::WrongAnswer],
        ),
        found(
            "fault_missing",
            "one key that is there and was not found is found",
            Lie::Missing,
            &[Kind::UnexpectedMiss],
        ),
        found("fault_refused", "one refused operation is found", Lie::Refused, &[Kind::Refused]),
        found("fault_late", "one answer that does not come in time is found", Lie::Silence, &[Kind::Deadline]),
    ]
}

/// Makes one trial of ycsb on a store that tells this lie once.
fn trial(lie: Lie, stop: &AtomicBool) -> Result<TrialRecord, String> {
    let mut spec = Spec::private(LIAR.name);
    spec.options.insert("lie".into(), lie.name().into());
    let set = [("records", "200"), ("operations", "2000"), ("value", "64"), ("workload", "A")]
        .map(|(name, value)| (name, value.to_owned()));
    let study = SmallStudy {
        stores: vec![(&LIAR, spec)],
        set: &set,
        settings: Settings { deadline: Duration::from_millis(100), ..Settings::default() },
        repeats: 1,
        seed: 2009,
        base: &host::default_base(),
        execution: runner::Execution::InProcess,
    };
    let trials = study.run(stop)?.ok_or("interrupted")?;
    trials.into_iter().flatten().next().ok_or_else(|| "no trial was run".into())
}

/// How many reasons of these kinds made the trial void; 0 unless it is.
fn found(trial: &TrialRecord, kinds: &[ReasonKind]) -> u64 {
    let of_kinds = trial.verdict.reasons.iter().filter(|reason| kinds.contains(&reason.kind));
    if trial.verdict.status == Status::Void { of_kinds.map(|reason| reason.count).sum() } else { 0 }
}

fn voiding(trial: &TrialRecord) -> u64 {
    let voiding = trial.verdict.reasons.iter().filter(|reason| reason.kind.status() == Status::Void);
    voiding.map(|reason| reason.count).sum()
}
