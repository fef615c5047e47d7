//! Reads everything that was sent, and compares it with the ledger.

use crate::audit::{Remains, audit};
use crate::findings::Findings;
use crate::glance::{Glance, seen_in};
use crate::ledger::{AckLedger, LateAnswer, now_ns};
use crate::stream::{PREFIX, WriteSet, key};
use crate::value::labels;
use std::time::Duration;
use store::{BlockingClient, Operation, OwnedReply, Store, StoreError};
use study::CrashFindings;

/// Keys that are read in one go.
const BATCH: u32 = 1024;
/// Requests in flight.
const PIPELINE: u32 = 64;

/// What was found when all was over.
#[derive(Debug)]
pub struct After {
    /// What is wrong with it.
    pub found: CrashFindings,
    /// What each key showed.
    pub glances: Vec<Glance>,
}

/// Reads every key that was written and says what is lost, torn, resurrected, invented, and where order was not kept.
///
/// # Errors
/// The store broke while it was read.
pub fn read(
    store: &dyn Store,
    ledger: &AckLedger,
    set: WriteSet,
    crash_at_ns: u64,
    late: LateAnswer,
    deadline: Duration,
) -> Result<After, StoreError> {
    let mut client = BlockingClient::believing(64 << 20, store, PIPELINE, deadline)?;
    let mut findings = Findings::default();
    let mut glances = Vec::new();
    for number in ledger.clients() {
        let sent = ledger.page(number).entries_at(crash_at_ns, late);
        let keys = keys(ledger, number);
        let mut all = Vec::with_capacity(keys as usize);
        for first in (0..keys).step_by(BATCH as usize) {
            let bytes: Vec<_> = (first..keys.min(first + BATCH)).map(|it| key(set.number, number, it)).collect();
            let operations: Vec<_> = bytes.iter().map(|key| Operation::Get { key }).collect();
            let sent_at_ns = now_ns();
            let replies = client.pipelined(&operations)?;
            let answered_at_ns = now_ns();
            if let Some(OwnedReply::Failed(failure)) =
                replies.iter().find(|reply| matches!(reply, OwnedReply::Failed(_)))
                && failure.as_failure().fate() != store::Fate::Refused
            {
                return Err(StoreError::Session(failure.as_failure().words().to_owned()));
            }
            glances.extend((first..).zip(&replies).filter_map(|(key, reply)| {
                let seen = seen_in(reply, set, number, key)?;
                Some(Glance { client: number, key, seen, sent_at_ns, answered_at_ns })
            }));
            all.extend((first..).zip(&replies).map(|(key, reply)| found(reply, set, number, key)));
        }
        let name = |it: u32| String::from_utf8_lossy(&key(set.number, number, it)).into_owned();
        let mut take = |key: u32| std::mem::replace(&mut all[key as usize], Remains::Absent);
        audit(&sent, crash_at_ns, &mut take, &name, &mut findings);
    }
    Ok(After { found: findings.done(), glances })
}

/// Says in words what an earlier crash has left of this set in a store of the user's.
///
/// # Errors
/// It cannot be asked.
pub fn left_over(
    store: &dyn Store,
    ledger: &AckLedger,
    set: WriteSet,
    deadline: Duration,
) -> Result<Option<String>, StoreError> {
    let mut client = BlockingClient::open(store, PIPELINE, deadline)?;
    for number in ledger.clients() {
        // Clients delete some of their keys again.
        let keys: Vec<_> = (0..PIPELINE).map(|it| key(set.number, number, it)).collect();
        let replies = client.pipelined(&keys.iter().map(|key| Operation::Get { key }).collect::<Vec<_>>())?;
        if let Some((key, _)) = keys.iter().zip(replies).find(|(_, reply)| *reply != OwnedReply::Missing) {
            return Ok(Some(format!(
                "it holds the key {}, which a 'kvtrial crash' that was cut short has left there; delete all keys that begin with {PREFIX}",
                String::from_utf8_lossy(key)
            )));
        }
    }
    Ok(None)
}

/// Deletes every key that was written to a store of the user's.
///
/// # Errors
/// It cannot be reached.
pub fn clear(store: &dyn Store, ledger: &AckLedger, set: WriteSet, deadline: Duration) -> Result<(), StoreError> {
    let mut client = BlockingClient::open(store, PIPELINE, deadline)?;
    for number in ledger.clients() {
        let keys = keys(ledger, number);
        for first in (0..keys).step_by(BATCH as usize) {
            let bytes: Vec<_> = (first..keys.min(first + BATCH)).map(|it| key(set.number, number, it)).collect();
            client.pipelined(&bytes.iter().map(|key| Operation::Delete { key }).collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

/// Returns the number of keys a client has written to.
fn keys(ledger: &AckLedger, client: u32) -> u32 {
    ledger.page(client).entries().iter().map(|entry| entry.key + 1).max().unwrap_or(0)
}

/// Returns what a reply shows of a key.
fn found(reply: &OwnedReply, set: WriteSet, client: u32, key: u32) -> Remains {
    let value = match reply {
        OwnedReply::Missing => return Remains::Absent,
        OwnedReply::Value(value) => value,
        other => return Remains::Torn(format!("it cannot be read: {other:?}")),
    };
    let Some(labels) = labels(value) else {
        return Remains::Torn(format!("{} bytes whose length or checksum is wrong", value.len()));
    };
    let is_ours = |it: &crate::value::Label| (it.set, it.client, it.key) == (set.number, client, key);
    match labels.iter().find(|label| !is_ours(label)) {
        Some(other) => Remains::Foreign(format!("the value of key {} of client {}", other.key, other.client)),
        None => Remains::Written(labels.into_iter().map(|label| label.version).collect()),
    }
}
