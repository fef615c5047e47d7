//! Many clients at once, each a thread with its own connection.

use super::{CLIENTS, Case};
use crate::fault::Stop;
use crate::probe::Must;
use crate::subject::Subject;
use crate::value;
use crate::written::Owner;
use jobkit::Offence;
use store::{Deletes, Operation, OwnedReply};
use study::ReasonKind;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("16 clients with keys of their own do not disturb each other", &[], apart),
        Case::new("16 clients with the same keys read only what one of them wrote, whole", &[], together),
        Case::new("of 16 clients that delete one key exactly one hears that it was there, each round", &[], deleters),
    ]
}

fn apart(subject: &Subject<'_>) -> Result<(), Stop> {
    let limit = subject.longest_value_bytes();
    subject.clients(CLIENTS, |client, _| {
        let mut probe = subject.probe_with(4)?;
        let keys: Vec<Vec<u8>> = (0..12).map(|number| subject.key(format!("of client {client} {number}"))).collect();
        for round in 0..6_u64 {
            let values: Vec<Vec<u8>> = (keys.iter().enumerate())
                .map(|(number, key)| {
                    value::of(key, round, (number * 97 + client * 31 + round as usize * 500).min(limit))
                })
                .collect();
            let puts = keys.iter().zip(&values).map(|(key, value)| (Operation::Put { key, value }, Must::BeDone));
            probe.all_must(&puts.collect::<Vec<_>>())?;
            let gets = keys.iter().zip(&values).map(|(key, value)| (Operation::Get { key }, Must::Hold(value)));
            probe.all_must(&gets.collect::<Vec<_>>())?;
        }
        let deletes = keys.iter().map(|key| (Operation::Delete { key }, Must::BeDone));
        probe.all_must(&deletes.collect::<Vec<_>>())?;
        let misses = keys.iter().map(|key| (Operation::Get { key }, Must::Miss));
        probe.all_must(&misses.collect::<Vec<_>>())
    })?;
    Ok(())
}

const DELETE_ROUNDS: usize = 20;

fn deleters(subject: &Subject<'_>) -> Result<(), Stop> {
    if subject.capabilities().deletes == Deletes::AfterALook {
        return Err(Stop::Skipped(
            "the key is looked for before it is deleted: several clients may hear that it was there".into(),
        ));
    }
    let key = |round: usize| subject.key(format!("deleted in round {round}"));
    let mut probe = subject.probe()?;
    // Empty ones too: to some servers an empty value is none.
    (0..DELETE_ROUNDS).try_for_each(|round| probe.put(&key(round), if round % 2 == 0 { b"there" } else { b"" }))?;
    let told = subject.clients(CLIENTS, |_, barrier| {
        let mut probe = subject.probe()?;
        let mut told = Vec::with_capacity(DELETE_ROUNDS);
        for round in 0..DELETE_ROUNDS {
            let key = key(round);
            barrier.wait()?;
            told.push(match probe.ask(&Operation::Delete { key: &key })? {
                OwnedReply::Done => 1,
                OwnedReply::Missing => 0,
                other => return Err(Offence::failed(&key, &other.as_reply()).into()),
            });
        }
        Ok(told)
    })?;
    for round in 0..DELETE_ROUNDS {
        let key = key(round);
        let winners: u32 = told.iter().map(|client| client[round]).sum();
        if winners != 1 {
            let kind = if winners > 1 { ReasonKind::WrongReply } else { ReasonKind::LostUpdates };
            let seen = format!("{winners} of {CLIENTS} clients heard that they deleted it in round {round}");
            return Err(Stop::wrong(kind, &key, seen));
        }
        probe.misses(&key)?;
    }
    Ok(())
}

const KEYS: usize = 5;
const ROUNDS: u64 = 40;

fn together(subject: &Subject<'_>) -> Result<(), Stop> {
    let limit = subject.longest_value_bytes();
    let keys: Vec<Vec<u8>> = (0..KEYS).map(|number| subject.key(format!("of all {number}"))).collect();
    let version = |client: usize, round: u64| (client as u64 + 1) << 32 | round;
    let written = |key: &[u8], client: usize, round: u64| {
        value::of(key, version(client, round), (16 + (client * 613 + round as usize * 41) % 3000).min(limit))
    };
    let mut probe = subject.probe()?;
    keys.iter().try_for_each(|key| probe.put(key, &value::of(key, 0, 16)))?;
    subject.clients(CLIENTS, |client, _| {
        let mut probe = subject.probe()?;
        for round in 0..ROUNDS {
            let key = &keys[(client + round as usize) % KEYS];
            probe.put(key, &written(key, client, round))?;
            let got = probe.value(key)?;
            let seen = |what: &str| format!("{what}: {}", crate::fault::excerpt(&got, 0));
            match subject.ledger.owner(key, &got) {
                Owner::SameKey => {}
                Owner::OtherKey(other) => {
                    let what = format!("got the value of key {}", jobkit::printable(&other));
                    return Err(Stop::wrong(ReasonKind::WrongKey, key, what));
                }
                Owner::Nobody => return Err(Stop::wrong(ReasonKind::WrongValue, key, seen("nobody wrote this"))),
            }
            // What this client wrote here before is overwritten by now, by itself.
            let earlier = (0..round).rev().filter(|earlier| ((round - earlier) as usize).is_multiple_of(KEYS));
            if earlier.into_iter().any(|earlier| got == written(key, client, earlier)) {
                return Err(Stop::wrong(ReasonKind::StaleValue, key, seen("this client has overwritten this")));
            }
        }
        Ok(())
    })?;
    // At rest, every client reads the same.
    let mut other = subject.probe()?;
    keys.iter().try_for_each(|key| {
        let value = probe.value(key)?;
        other.holds(key, &value)
    })
}
