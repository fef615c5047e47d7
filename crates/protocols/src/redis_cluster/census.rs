//! What the nodes of a cluster say of it when it is connected to, all asked at the same time: one that is dead or frozen keeps nobody waiting.

use super::slots::SlotTable;
use super::text;
use crate::redis::{Login, Resp};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use store::wire::Talk;
use store::{Endpoint, StoreError};

/// The time the others are waited for when one node has answered.
const OTHERS: Duration = Duration::from_millis(300);

/// The time after which all nodes are asked again.
const AGAIN: Duration = Duration::from_millis(50);

/// The reason why there is no table.
enum Missing {
    /// A temporary reason: a node says the cluster is not whole, or a master cannot be reached. Another node may take over.
    ForNow(StoreError),
    /// A permanent reason: no node of a cluster was reached.
    ForGood(StoreError),
}

/// Returns the masters of all slots, as soon as nodes that can be reached serve all slots.
pub(super) fn whole_table(endpoints: &[Endpoint], deadline: Instant) -> Result<SlotTable, StoreError> {
    let mut said = None;
    loop {
        let missing = match table(endpoints, deadline) {
            Ok(table) => return Ok(table),
            Err(missing) => missing,
        };
        match (missing, Instant::now() < deadline) {
            (Missing::ForNow(error), true) => said = Some(error),
            (Missing::ForGood(error), true) => return Err(error),
            // Those that are asked at the very end only say that there is no time.
            (Missing::ForNow(error) | Missing::ForGood(error), false) => return Err(said.unwrap_or(error)),
        }
        std::thread::sleep(AGAIN);
    }
}

fn table(endpoints: &[Endpoint], deadline: Instant) -> Result<SlotTable, Missing> {
    let answers = ask_all(endpoints, deadline);
    let (mut best, mut reached, mut problem): (Option<SlotTable>, Vec<Endpoint>, Option<Missing>) = Default::default();
    let (mut until, mut left) = (deadline, endpoints.len());
    while left > 0 {
        match answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((from, Ok(table))) => {
                until = until.min(Instant::now() + OTHERS);
                reached.push(from);
                if best.as_ref().is_none_or(|best| table.epoch() > best.epoch()) {
                    best = Some(table);
                }
            }
            Ok((_, Err(missing))) => {
                if matches!((&problem, &missing), (None, _) | (Some(Missing::ForGood(_)), Missing::ForNow(_))) {
                    problem = Some(missing);
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
        left -= 1;
    }
    let Some(best) = best else {
        let none = || Missing::ForGood(StoreError::Session("no node of the cluster has answered in time".into()));
        return Err(problem.unwrap_or_else(none));
    };
    let unheard = best.endpoints().iter().filter(|master| !reached.contains(master));
    for master in unheard {
        let within = deadline.min(Instant::now() + Duration::from_secs(1));
        Talk::open_until(within, master, Resp::new(Login::of(master))).map_err(Missing::ForNow)?;
    }
    Ok(best)
}

/// Asks each node on a thread of its own.
fn ask_all(endpoints: &[Endpoint], deadline: Instant) -> Receiver<(Endpoint, Result<SlotTable, Missing>)> {
    let (sender, answers) = channel();
    for endpoint in endpoints {
        let (from, sender) = (endpoint.clone(), sender.clone());
        // One that could not be started is one that does not answer.
        let _ = std::thread::Builder::new().spawn(move || {
            let table = ask(&from, deadline);
            let _ = sender.send((from, table)); // nobody may listen any more
        });
    }
    answers
}

fn ask(endpoint: &Endpoint, deadline: Instant) -> Result<SlotTable, Missing> {
    let mut talk = Talk::open_until(deadline, endpoint, Resp::new(Login::of(endpoint))).map_err(Missing::ForGood)?;
    let info = text(&mut talk, endpoint, b"INFO", deadline).map_err(Missing::ForGood)?;
    is_whole(&info, endpoint).map_err(Missing::ForNow)?;
    let nodes = text(&mut talk, endpoint, b"NODES", deadline).map_err(Missing::ForGood)?;
    SlotTable::read(&nodes, endpoint).map_err(|problem| Missing::ForNow(StoreError::open(endpoint, problem)))
}

/// Returns the masters of all slots, as this node states them, if the node takes the cluster for whole.
pub(super) fn table_of(endpoint: &Endpoint, deadline: Instant) -> Result<SlotTable, StoreError> {
    ask(endpoint, deadline).map_err(|missing| match missing {
        Missing::ForNow(error) | Missing::ForGood(error) => error,
    })
}

/// Returns a node's account of all nodes, if the node takes the cluster for whole.
pub(super) fn nodes_of(endpoint: &Endpoint, deadline: Instant) -> Result<String, StoreError> {
    let mut talk = Talk::open_until(deadline, endpoint, Resp::new(Login::of(endpoint)))?;
    is_whole(&text(&mut talk, endpoint, b"INFO", deadline)?, endpoint)?;
    text(&mut talk, endpoint, b"NODES", deadline)
}

/// Checks that a node takes the cluster for whole; a node that does not answers no command on keys.
fn is_whole(info: &str, endpoint: &Endpoint) -> Result<(), StoreError> {
    if info.lines().any(|line| line.trim_end() == "cluster_state:ok") {
        return Ok(());
    }
    let said: Vec<&str> = info.lines().take(3).map(str::trim_end).collect();
    Err(StoreError::open(endpoint, format!("the cluster is not whole: {}", said.join(", "))))
}
