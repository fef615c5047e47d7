//! What a private store says it holds at the end, against what the job left there.

use crate::message::Doing;
use jobkit::Trial;
use serde::{Deserialize, Serialize};
use store::{Holding, Store};
use study::{Reason, ReasonKind, whole};

/// What a store said when it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HeldKeys {
    /// How many keys it holds, and how many it evicted and let expire.
    Counted { keys: Option<u64>, evicted: u64, expired: u64 },
    /// It did not answer.
    Unanswered(String),
}

/// Asks a store what it holds. Not one of the user's: it may hold other keys.
pub(crate) fn ask(store: &dyn Store) -> HeldKeys {
    match store.holding() {
        Ok(Holding { keys, evicted, expired }) => HeldKeys::Counted { keys, evicted, expired },
        Err(error) => HeldKeys::Unanswered(error.to_string()),
    }
}

/// Returns what is wrong with what a store said; nothing where the store or the job cannot say. The trial knows what all clients left.
pub(crate) fn reasons(held: &HeldKeys, trial: &dyn Trial) -> Vec<Reason> {
    let reason = |kind, count, example: String| Reason { kind, count, example };
    let (keys, evicted, expired) = match held {
        HeldKeys::Counted { keys, evicted, expired } => (*keys, *evicted, *expired),
        HeldKeys::Unanswered(words) => {
            return vec![reason(ReasonKind::ConnectionLost, 1, format!("{words} (while: {})", Doing::Count.name()))];
        }
    };
    let mut reasons = Vec::new();
    let expired = if trial.expires() { 0 } else { expired };
    let evicted = if trial.evicts() { 0 } else { evicted };
    if evicted + expired > 0 {
        let example = format!(
            "the store counts {} keys evicted and {} expired; give it more memory",
            whole(evicted),
            whole(expired)
        );
        reasons.push(reason(ReasonKind::Evicted, evicted + expired, example));
    }
    if let (Some(keys), Some(left)) = (keys, trial.keys_left()) {
        let example = format!("the store says it holds {} keys, {} were left there", whole(keys), whole(left));
        match keys.cmp(&left) {
            std::cmp::Ordering::Greater => reasons.push(reason(ReasonKind::ForeignData, keys - left, example)),
            std::cmp::Ordering::Less => reasons.push(reason(ReasonKind::LostUpdates, left - keys, example)),
            std::cmp::Ordering::Equal => {}
        }
    }
    reasons
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{ask, reasons};
    use jobkit::{Trial, TrialSetup};
    use store::{Capabilities, Facts, Holding, Session, SessionPlan, Store, StoreError, Threading};
    use study::ReasonKind;

    /// A store that only says what it holds.
    struct Says(Holding);

    impl Store for Says {
        fn capabilities(&self) -> &Capabilities {
            &Capabilities::BASIC
        }

        fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
            Err(StoreError::Session("it only says what it holds".into()))
        }

        fn threading(&self) -> Threading {
            Threading::Shared
        }

        fn facts(&self) -> Result<Facts, StoreError> {
            Ok(Facts::default())
        }

        fn holding(&self) -> Result<Holding, StoreError> {
            Ok(self.0)
        }
    }

    fn found(held: Holding, trial: &dyn Trial) -> Vec<(ReasonKind, u64)> {
        reasons(&ask(&Says(held)), trial).into_iter().map(|reason| (reason.kind, reason.count)).collect()
    }

    #[test]
    fn keys_nobody_wrote_keys_that_are_gone_and_keys_the_store_dropped_are_counted() {
        for (job, left) in [("ycsb", 10_000), ("crud", 0), ("counts", 236_135), ("fans", 13_194), ("append", 20_000)] {
            let job = jobs::prepare(jobs::find(job).unwrap(), None, &[], 42).unwrap();
            let trial = job.trial(&TrialSetup::alone(1, Capabilities::BASIC, 42));
            let keys = |keys| Holding { keys: Some(keys), ..Holding::default() };
            assert_eq!(found(keys(left), &*trial), []);
            assert_eq!(found(keys(left + 10_000), &*trial), [(ReasonKind::ForeignData, 10_000)]);
            assert_eq!(found(Holding::default(), &*trial), [], "a store that cannot say");
            if left > 0 {
                assert_eq!(found(keys(left - 3), &*trial), [(ReasonKind::LostUpdates, 3)]);
            }
            let dropped = Holding { keys: Some(left), evicted: 5, expired: 2 };
            assert_eq!(found(dropped, &*trial), [(ReasonKind::Evicted, 7)]);
        }
    }
}
