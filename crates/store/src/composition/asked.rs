//! The operations that a server of the user's has, found by asking it.
//!
//! An adapter declares what servers of its kind can do. One behind a URL may be an older one, a relative, or something else that
//! speaks the protocol. So every operation declared is tried on it once, on keys of its own that are deleted again: what the server
//! refuses, does not answer, or hangs up on is taken out of the capabilities, with its words. A wrong answer takes nothing out:
//! that is for the job and for `check` to find, and a number that is wrong is among the facts.

mod questions;

use crate::error::{advised, advised_at_greeting};
use crate::layered::Layered;
use crate::{Capabilities, OperationKind, OperationSet, Store, StoreError};
use questions::{Counters, Questions, Reach};
use std::collections::BTreeMap;

/// The beginning of all keys that are tried.
pub const KEY_PREFIX: &str = "kvtrial-asks:";

/// Asks a server of the user's for every operation its adapter declares.
///
/// # Errors
/// The server does not answer at all, or lacks get, put or delete: without them it is no store.
pub fn asked(store: Box<dyn Store>, name: &str) -> Result<Box<dyn Store>, StoreError> {
    let declared = store.capabilities().clone();
    let mut questions = Questions::new(&*store);
    questions.basics().map_err(|(kind, words)| {
        // What there is a remedy for is not absent: a login, a right, a port that speaks TLS.
        let said = advised(&advised_at_greeting(&words));
        let is_absent = said == words && !words.starts_with("TLS: ");
        let fault = if is_absent { "does not have it" } else { "did not do it" };
        let problem = format!("every store needs {}, and this server {fault}: {said}", kind.name());
        StoreError::Unsupported { store: name.to_owned(), problem }
    })?;
    let mut lacks: Vec<(OperationKind, String)> = Vec::new();
    let counters = if declared.native.has(OperationKind::GetCounter) { questions.counters() } else { Counters::Among };
    let is_asked = |kind: OperationKind| {
        let counts =
            together(kind).contains(&OperationKind::GetCounter) || together(kind).contains(&OperationKind::GetFields);
        !(OperationSet::BASIC.has(kind) || counts && counters == Counters::Apart)
    };
    for kind in declared.native.kinds().filter(|kind| is_asked(*kind)) {
        if let Err(words) = questions.has(kind)? {
            lacks.extend(together(kind).iter().map(|kind| (*kind, words.clone())));
        }
    }
    let lost = |lacks: &[(OperationKind, String)], kind| lacks.iter().any(|(lacked, _)| *lacked == kind);
    let mut wrong = None;
    let mut counter = declared.counter.filter(|_| !lost(&lacks, OperationKind::Increment));
    if let Some(range) = counter.filter(|_| counters == Counters::Among) {
        match questions.bounds(range) {
            Reach::To(found) => counter = Some(found),
            Reach::Short => {
                counter = None;
                let words = "its counters do not reach 2147483647";
                lacks.extend(together(OperationKind::Increment).iter().map(|kind| (*kind, words.to_owned())));
            }
            // Not absent: the job finds it, and says so.
            Reach::Wrong(words) => wrong = Some(words),
        }
    }
    lacks.sort();
    lacks.dedup_by_key(|(kind, _)| *kind);
    let native = declared.native.kinds().filter(|kind| !lost(&lacks, *kind)).collect::<Vec<_>>();
    questions.clean();
    let capabilities = Capabilities { native: OperationSet::of(&native), counter, ..declared };
    Ok(Box::new(Asked { store, capabilities, lacks, wrong }))
}

/// Returns the operations that are of use only together. A server that takes a time to live and knows no touch is one that ignores both, as Tokyo
/// Tyrant does.
fn together(kind: OperationKind) -> Vec<OperationKind> {
    const TOGETHER: [[OperationKind; 2]; 4] = [
        [OperationKind::GetVersioned, OperationKind::CompareAndSet],
        [OperationKind::Increment, OperationKind::GetCounter],
        [OperationKind::IncrementField, OperationKind::GetFields],
        [OperationKind::PutTtl, OperationKind::Touch],
    ];
    TOGETHER.iter().find(|pair| pair.contains(&kind)).map_or(vec![kind], |pair| pair.to_vec())
}

/// A server that was asked.
struct Asked {
    store: Box<dyn Store>,
    capabilities: Capabilities,
    /// The operations it was expected to have, and its answer instead.
    lacks: Vec<(OperationKind, String)>,
    /// The wrong answer: what was asked, answered and expected.
    wrong: Option<String>,
}

impl Layered for Asked {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    fn declared(&self) -> &Capabilities {
        &self.capabilities
    }

    fn lacked(&self, kind: OperationKind) -> Option<&str> {
        let found = self.lacks.iter().find(|(lacked, _)| *lacked == kind);
        found.map(|(_, words)| words.as_str())
    }

    fn add_facts(&self, config: &mut BTreeMap<String, String>) {
        if !self.lacks.is_empty() {
            let each = self.lacks.iter().map(|(kind, words)| format!("{} ({words})", kind.name()));
            config.insert("lacks".into(), each.collect::<Vec<_>>().join("; "));
        }
        if let Some(words) = &self.wrong {
            config.insert("answers wrongly".into(), words.clone());
        }
    }
}

#[cfg(test)]
mod tests;
