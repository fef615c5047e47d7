//! Compare-and-set: alone, against what others did, and in races.

use super::{CLIENTS, Case};
use crate::fault::Stop;
use crate::probe::Swap;
use crate::subject::Subject;
use crate::value;
use store::{Expected, OperationKind};
use study::ReasonKind;

const NEEDS: &[OperationKind] = &[OperationKind::GetVersioned, OperationKind::CompareAndSet];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("compare-and-set stores when nothing has changed, and only then", NEEDS, alone),
        Case::new("compare-and-set keeps large values whole", NEEDS, large),
        Case::new("of 16 clients that create one key exactly one wins, each round", NEEDS, creators),
        Case::new("of 16 clients that change one value exactly one wins, each round", NEEDS, changers),
        Case::new("16 clients count by compare-and-set and nothing is lost", NEEDS, counters),
    ]
}

/// Fails unless the swap went as it must.
fn must(swap: Swap, expected: Swap, key: &[u8], when: &str) -> Result<(), Stop> {
    if swap == expected {
        return Ok(());
    }
    let kind = match swap {
        Swap::Stored => ReasonKind::LostUpdates,
        Swap::Conflict => ReasonKind::WrongReply,
    };
    Err(Stop::wrong(kind, key, format!("{when}: compare-and-set must be {expected:?}, was {swap:?}")))
}

fn alone(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let key = subject.key("swapped");
    let values: Vec<Vec<u8>> = (0..6).map(|version| value::of(&key, version, 40 + version as usize)).collect();
    if let Some((got, _)) = probe.versioned(&key)? {
        let seen = format!("expected a miss, got {}", crate::fault::excerpt(&got, 0));
        return Err(Stop::wrong(ReasonKind::UnexpectedHit, &key, seen));
    }
    let nothing = Expected::Present { version: 1, value: b"not there" };
    must(probe.compare_and_set(&key, nothing, &values[0])?, Swap::Conflict, &key, "the key does not exist")?;
    probe.misses(&key)?;
    must(probe.compare_and_set(&key, Expected::Absent, &values[0])?, Swap::Stored, &key, "the key is absent")?;
    probe.holds(&key, &values[0])?;
    must(probe.compare_and_set(&key, Expected::Absent, &values[1])?, Swap::Conflict, &key, "the key is there")?;
    let old = probe.version_of(&key, &values[0])?;
    let seen_first = Expected::Present { version: old, value: &values[0] };
    must(probe.compare_and_set(&key, seen_first, &values[1])?, Swap::Stored, &key, "nothing has changed")?;
    must(probe.compare_and_set(&key, seen_first, &values[2])?, Swap::Conflict, &key, "another value was stored")?;
    let version = probe.version_of(&key, &values[1])?;
    let seen_second = Expected::Present { version, value: &values[1] };
    probe.put(&key, &values[3])?;
    must(probe.compare_and_set(&key, seen_second, &values[4])?, Swap::Conflict, &key, "a put came between")?;
    let version = probe.version_of(&key, &values[3])?;
    let seen_third = Expected::Present { version, value: &values[3] };
    must(probe.compare_and_set(&key, seen_third, &values[3])?, Swap::Stored, &key, "stored again unchanged")?;
    probe.holds(&key, &values[3])?;
    let version = probe.version_of(&key, &values[3])?;
    probe.delete(&key)?;
    let seen_last = Expected::Present { version, value: &values[3] };
    must(probe.compare_and_set(&key, seen_last, &values[5])?, Swap::Conflict, &key, "the key was deleted")?;
    probe.misses(&key)?;
    must(probe.compare_and_set(&key, Expected::Absent, &values[5])?, Swap::Stored, &key, "absent again")?;
    probe.holds(&key, &values[5])
}

fn large(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let (key, next) = (subject.key("swapped at length"), subject.key("next to the swapped"));
    let next_value = value::of(&next, 1, 20);
    probe.put(&next, &next_value)?;
    let mut held = value::of(&key, 0, 0);
    probe.put(&key, &held)?;
    let limit = subject.longest_value_bytes();
    for len in [1, 1000, 1024, 65_537, 300_000, 5].map(|len: usize| len.min(limit)) {
        let value = value::of(&key, 1, len);
        let version = probe.version_of(&key, &held)?;
        let expected = Expected::Present { version, value: &held };
        must(probe.compare_and_set(&key, expected, &value)?, Swap::Stored, &key, "nothing has changed")?;
        probe.holds(&key, &value)?;
        probe.holds(&next, &next_value)?;
        held = value;
    }
    Ok(())
}

const ROUNDS: usize = 20;

/// Counts each round's winners; there must be one.
fn one_winner(swaps: &[Vec<Swap>], key: impl Fn(usize) -> Vec<u8>) -> Result<(), Stop> {
    for round in 0..ROUNDS {
        let winners = swaps.iter().filter(|client| client[round] == Swap::Stored).count();
        if winners != 1 {
            let kind = if winners > 1 { ReasonKind::LostUpdates } else { ReasonKind::WrongReply };
            let seen = format!("{winners} of {CLIENTS} clients won round {round}");
            return Err(Stop::wrong(kind, &key(round), seen));
        }
    }
    Ok(())
}

fn creators(subject: &Subject<'_>) -> Result<(), Stop> {
    let key = |round: usize| subject.key(format!("created in round {round}"));
    let swaps = subject.clients(CLIENTS, |client, barrier| {
        let mut probe = subject.probe()?;
        let mut swaps = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            let key = key(round);
            barrier.wait()?;
            let swap = probe.compare_and_set(&key, Expected::Absent, &created(&key, round, client))?;
            swaps.push(swap);
        }
        Ok(swaps)
    })?;
    one_winner(&swaps, key)?;
    let mut probe = subject.probe()?;
    for round in 0..ROUNDS {
        let key = key(round);
        let winner = swaps.iter().position(|client| client[round] == Swap::Stored).unwrap_or(0);
        probe.holds(&key, &created(&key, round, winner))?;
    }
    Ok(())
}

/// What a client creates a key with; in every second round nothing, which some servers take for no value.
fn created(key: &[u8], round: usize, client: usize) -> Vec<u8> {
    if round.is_multiple_of(2) { value::of(key, client as u64, 24) } else { Vec::new() }
}

fn changers(subject: &Subject<'_>) -> Result<(), Stop> {
    let key = subject.key("changed in rounds");
    let first = value::of(&key, u64::MAX, 24);
    subject.probe()?.put(&key, &first)?;
    let after = |round: usize, client: usize| value::of(&key, (round * CLIENTS + client) as u64, 24);
    let swaps = subject.clients(CLIENTS, |client, barrier| {
        let mut probe = subject.probe()?;
        let mut swaps = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            barrier.wait()?;
            let read = probe.versioned(&key)?;
            let (value, version) =
                read.ok_or_else(|| Stop::wrong(ReasonKind::UnexpectedMiss, &key, "expected a value, got a miss"))?;
            barrier.wait()?;
            let expected = Expected::Present { version, value: &value };
            swaps.push(probe.compare_and_set(&key, expected, &after(round, client))?);
        }
        Ok(swaps)
    })?;
    one_winner(&swaps, |_| key.clone())?;
    let last = swaps.iter().position(|client| client[ROUNDS - 1] == Swap::Stored).unwrap_or(0);
    subject.probe()?.holds(&key, &after(ROUNDS - 1, last))
}

/// Increments a client makes; each may take as many attempts as there are increments in all.
const INCREMENTS: usize = 10;

fn counters(subject: &Subject<'_>) -> Result<(), Stop> {
    let key = subject.key("counted by swaps");
    let text = |count: usize| format!("count {count:010}").into_bytes();
    subject.probe()?.put(&key, &text(0))?;
    subject.clients(CLIENTS, |_, _| {
        let mut probe = subject.probe()?;
        for _ in 0..INCREMENTS {
            let mut attempts = 0;
            loop {
                let read = probe.versioned(&key)?;
                let (held, version) =
                    read.ok_or_else(|| Stop::wrong(ReasonKind::UnexpectedMiss, &key, "expected a count, got a miss"))?;
                let count = std::str::from_utf8(&held).ok().and_then(|held| held.strip_prefix("count "));
                let Some(count) = count.and_then(|count| count.parse::<usize>().ok()) else {
                    let seen = format!("expected a count, got {}", crate::fault::excerpt(&held, 0));
                    return Err(Stop::wrong(ReasonKind::WrongValue, &key, seen));
                };
                let expected = Expected::Present { version, value: &held };
                if probe.compare_and_set(&key, expected, &text(count + 1))? == Swap::Stored {
                    break;
                }
                attempts += 1;
                // Every conflict is somebody else's success, so there can be no more of them than increments.
                if attempts > INCREMENTS * CLIENTS {
                    let seen = format!("{attempts} conflicts, though only {} swaps succeed", INCREMENTS * CLIENTS);
                    return Err(Stop::wrong(ReasonKind::WrongReply, &key, seen));
                }
            }
        }
        Ok(())
    })?;
    let total = INCREMENTS * CLIENTS;
    let held = subject.probe()?.value(&key)?;
    if held == text(total) {
        return Ok(());
    }
    let seen = format!("{total} swaps succeeded, yet it holds {}", crate::fault::excerpt(&held, 0));
    Err(Stop::wrong(ReasonKind::LostUpdates, &key, seen))
}
