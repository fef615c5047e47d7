//! Sessions closed, opened again and left idle; flushing; and the end of the check.

use super::Case;
use crate::fault::Stop;
use crate::probe::Must;
use crate::subject::Subject;
use crate::value;
use std::time::Duration;
use store::{BlockingClient, Operation, OwnedFailure, OwnedReply};
use study::ReasonKind;

/// Keys deleted in one batch.
const BATCH: usize = 256;

/// How long one delete may take when somebody waits for the end of the check.
const LAST_PATIENCE: Duration = Duration::from_millis(500);

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a new session reads everything an earlier one wrote", &[], opened_again),
        Case::new("what was written is there after a flush", &[], flushed),
        Case::new("a session left idle works on", &[], left_idle),
        Case::new("the store states its product and version", &[], states_its_version),
        Case::new("all keys of this check are deleted again", &[], cleaned_up),
    ]
}

fn pairs(subject: &Subject<'_>, name: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let limit = subject.longest_value_bytes();
    (0..50_usize)
        .map(|number| {
            let key = subject.key(format!("{name} {number}"));
            let value = value::of(&key, 1, (number * number * 37).min(limit));
            (key, value)
        })
        .collect()
}

fn opened_again(subject: &Subject<'_>) -> Result<(), Stop> {
    let pairs = pairs(subject, "of an earlier session");
    let mut first = subject.probe()?;
    pairs.iter().try_for_each(|(key, value)| first.put(key, value))?;
    drop(first);
    for pipeline in [1, 8] {
        let mut later = subject.probe_with(pipeline)?;
        let script: Vec<_> = pairs.iter().map(|(key, value)| (Operation::Get { key }, Must::Hold(value))).collect();
        later.all_must(&script)?;
    }
    Ok(())
}

fn flushed(subject: &Subject<'_>) -> Result<(), Stop> {
    let pairs = pairs(subject, "flushed");
    let mut probe = subject.probe()?;
    pairs.iter().try_for_each(|(key, value)| probe.put(key, value))?;
    subject.store.flush().map_err(|error| Stop::keyless(ReasonKind::Refused, format!("flush: {error}")))?;
    pairs.iter().try_for_each(|(key, value)| probe.holds(key, value))
}

fn left_idle(subject: &Subject<'_>) -> Result<(), Stop> {
    let key = subject.key("before idling");
    let value = value::of(&key, 1, 100);
    let mut probe = subject.probe()?;
    probe.put(&key, &value)?;
    subject.rest(subject.options.idle);
    probe.holds(&key, &value)
}

fn states_its_version(subject: &Subject<'_>) -> Result<(), Stop> {
    let facts = subject.store.facts().map_err(|error| Stop::keyless(ReasonKind::Refused, error.to_string()))?;
    if facts.product.is_empty() || facts.version.is_empty() {
        let seen = format!("product '{}', version '{}'", facts.product, facts.version);
        return Err(Stop::keyless(ReasonKind::WrongReply, seen));
    }
    Ok(())
}

/// Deletes what a check that was interrupted has written.
pub fn delete_keys(subject: &Subject<'_>) -> Result<(), store::StoreError> {
    let mut client = BlockingClient::open(subject.store, 16, LAST_PATIENCE.min(subject.options.timeout))?;
    for batch in subject.ledger.keys().chunks(BATCH) {
        let operations: Vec<_> = batch.iter().map(|key| Operation::Delete { key }).collect();
        client.pipelined(&operations)?;
    }
    Ok(())
}

fn cleaned_up(subject: &Subject<'_>) -> Result<(), Stop> {
    let keys = subject.ledger.keys();
    let mut probe = subject.probe_with(16)?;
    for batch in keys.chunks(BATCH) {
        let operations: Vec<_> = batch.iter().map(|key| Operation::Delete { key }).collect();
        for (key, reply) in batch.iter().zip(probe.send(&operations)?) {
            match reply {
                OwnedReply::Done | OwnedReply::Missing | OwnedReply::Failed(OwnedFailure::Refused(_)) => {}
                other => return Err(jobkit::Offence::failed(key, &other.as_reply()).into()),
            }
        }
        // What a get says of a counter is not defined.
        let values = batch.iter().filter(|key| subject.ledger.has_value(key));
        let misses: Vec<_> = values.map(|key| (Operation::Get { key }, Must::Miss)).collect();
        probe.all_must(&misses)?;
    }
    Ok(())
}
