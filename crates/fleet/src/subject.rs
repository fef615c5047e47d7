//! Where messages go. All subjects begin with `kvt.`; those of a study have its id in the second place.

/// To every worker that is free: a study looks for workers.
pub(crate) const CALL: &str = "kvt.call";

/// From a study to one worker.
pub(crate) fn down(study: &str, worker: &str) -> String {
    format!("kvt.{study}.down.{worker}")
}

/// From one worker to a study.
pub(crate) fn up(study: &str, worker: &str) -> String {
    format!("kvt.{study}.up.{worker}")
}

/// What time is it? Answered at once by the worker.
pub(crate) fn clock(study: &str, worker: &str) -> String {
    format!("kvt.{study}.clock.{worker}")
}

/// The heart of a study.
pub(crate) fn pulse(study: &str) -> String {
    format!("kvt.{study}.pulse")
}

/// In a subscription: of any study, or of any worker.
pub(crate) const ANY: &str = "*";

/// Returns the study and the worker that a subject names; the worker is empty where it names none.
pub(crate) fn named(subject: &str) -> Option<(&str, &str)> {
    let mut words = subject.split('.').skip(1);
    let study = words.next()?;
    Some((study, words.nth(1).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::{CALL, clock, down, named, pulse, up};

    #[test]
    fn every_subject_names_its_study_and_whom_it_is_about() {
        for subject in [down("s1", "w7"), up("s1", "w7"), clock("s1", "w7")] {
            assert_eq!(named(&subject), Some(("s1", "w7")));
        }
        assert_eq!(named(&pulse("s1")), Some(("s1", "")));
        assert_eq!(named(CALL), Some(("call", "")));
    }
}
