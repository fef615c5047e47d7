//! One slot: operations as requests to the nodes that hold a key, as Voldemort's own client makes them.

use super::clock::{Clock, latest};
use super::cluster::Cluster;
use super::line::{Line, LineTrouble};
use super::protocol::{self, Fault, Kind, OBSOLETE, Versioned};
use super::trouble::Trouble;
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::{Operation, Resent};
use tokio::time::timeout;

/// A slot's connections, one to each node.
pub(super) struct SlotClient {
    cluster: Arc<Cluster>,
    lines: Vec<Line>,
    request: Vec<u8>,
    resent: Resent,
}

/// The result of storing a value.
enum Written {
    Stored,
    /// A later version is there, or the same version.
    Obsolete,
}

impl AsyncClient for SlotClient {
    async fn execute(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> BufferedReply {
        match self.carry_out(operation, out).await {
            Ok(answer) => answer,
            Err(trouble) => trouble.reply(out),
        }
    }

    fn believe(&mut self, largest_reply_bytes: u64) {
        self.lines.iter_mut().for_each(|line| line.believe(largest_reply_bytes));
    }
}

impl SlotClient {
    /// Connects to every node that answers.
    ///
    /// # Errors
    /// None of them does.
    pub(super) async fn open(cluster: Arc<Cluster>, resent: Resent) -> Result<SlotClient, Trouble> {
        let lines = cluster.endpoints.iter().map(Line::to).collect();
        let mut client = SlotClient { cluster, lines, request: Vec::new(), resent };
        let mut last = None;
        let mut opened = 0;
        for (node, line) in client.lines.iter_mut().enumerate() {
            let answered = line.open().await;
            client.cluster.heard(node, answered.is_ok());
            match answered {
                Ok(()) => opened += 1,
                Err(trouble) => last = Some(Trouble::from(trouble)),
            }
        }
        match last {
            Some(trouble) if opened == 0 => Err(trouble),
            _ => Ok(client),
        }
    }

    async fn carry_out(&mut self, operation: &Operation<'_>, out: &mut ReplyBuffer) -> Result<BufferedReply, Trouble> {
        Ok(match *operation {
            Operation::Get { key } => {
                let nodes = self.read(Kind::Get, key).await?;
                match self.only_value(&nodes)? {
                    Some(found) => out.value(found.value),
                    None => BufferedReply::Missing,
                }
            }
            Operation::Put { key, value } => loop {
                let seen = merged(&self.clocks(key).await.map_err(Trouble::before_a_write)?);
                if let Written::Stored = self.write(key, value, &seen).await? {
                    break BufferedReply::Done;
                }
                // Another client has put between the two requests.
                self.resent.add();
            },
            Operation::Delete { key } => loop {
                let clocks = self.clocks(key).await.map_err(Trouble::before_a_write)?;
                if clocks.is_empty() {
                    break BufferedReply::Missing;
                }
                if self.delete(key, &merged(&clocks)).await? {
                    break BufferedReply::Done;
                }
                // Another client has put, or deleted, between the two requests.
                self.resent.add();
            },
            Operation::GetMany { keys } => {
                self.get_many(keys, out).await?;
                BufferedReply::Rows
            }
            _ => return Err(Trouble::Refused("not native to this store".into())),
        })
    }

    /// Sends the request to these nodes, and reads their replies.
    async fn exchange(&mut self, nodes: &[usize]) -> Vec<(usize, Result<(), LineTrouble>)> {
        let patience = self.cluster.patience();
        let mut outcomes = Vec::with_capacity(nodes.len());
        for node in nodes {
            let line = &mut self.lines[*node];
            let sent = within(patience, line.send(&self.request)).await;
            outcomes.push((*node, sent.unwrap_or_else(|patience| Err(line.give_up(patience)))));
        }
        self.receive(&mut outcomes).await;
        outcomes
    }

    /// Reads a reply of each node that got a request.
    async fn receive(&mut self, outcomes: &mut [(usize, Result<(), LineTrouble>)]) {
        let patience = self.cluster.patience();
        for (node, outcome) in outcomes {
            let line = &mut self.lines[*node];
            if outcome.is_ok() {
                let received = within(patience, line.receive()).await;
                *outcome = received.unwrap_or_else(|patience| Err(line.give_up(patience)));
            }
            self.cluster.heard(*node, outcome.is_ok());
        }
    }

    /// Asks as many nodes as a read requires, and other nodes of the key in place of those that fail; returns the nodes that have answered.
    async fn read(&mut self, kind: Kind, key: &[u8]) -> Result<Vec<usize>, Trouble> {
        let required = self.cluster.copies().required_reads;
        let holders = self.cluster.holders(key, required);
        self.request.clear();
        protocol::ask_for(&mut self.request, kind, &self.cluster.store, key);
        let (mut answered, mut trouble, mut asked) = (Vec::new(), None, 0);
        while answered.len() < required {
            let next = (asked + required - answered.len()).min(holders.len());
            if next == asked {
                let trouble = trouble.unwrap_or_else(|| Trouble::NotConnected("no node has the key".into()));
                return Err(trouble.of_too_few(answered.len(), required));
            }
            for (node, outcome) in self.exchange(&holders[asked..next]).await {
                let said = outcome.map_err(Trouble::from);
                let said = said.and_then(|()| protocol::read_refused(self.lines[node].body()).map_err(Trouble::from));
                match said {
                    Ok(()) => answered.push(node),
                    Err(failed) => trouble = Some(failed),
                }
            }
            asked = next;
        }
        Ok(answered)
    }

    /// Returns the only latest value among the answers of these nodes.
    fn only_value(&self, nodes: &[usize]) -> Result<Option<Versioned<'_>>, Trouble> {
        let mut values = Vec::new();
        for node in nodes {
            values.extend(protocol::values(self.lines[*node].body())?);
        }
        only(values)
    }

    /// Returns the latest versions of a key: none, one, or siblings.
    async fn clocks(&mut self, key: &[u8]) -> Result<Vec<Clock>, Trouble> {
        let nodes = self.read(Kind::GetVersion, key).await?;
        let mut clocks = Vec::new();
        for node in nodes {
            clocks.extend(protocol::clocks(self.lines[node].body())?);
        }
        let kept = latest(clocks.iter());
        Ok(kept.into_iter().map(|place| clocks[place].clone()).collect())
    }

    /// Stores a value as the version after this one: first on the node that masters the write, then on the other nodes of the key. Each of them is
    /// waited for up to a node's time limit.
    async fn write(&mut self, key: &[u8], value: &[u8], seen: &Clock) -> Result<Written, Trouble> {
        let required = self.cluster.copies().required_writes;
        let holders = self.cluster.holders(key, required);
        let now_ms = now_ms();
        let mut failed: Option<Trouble> = None;
        for (place, master) in holders.iter().enumerate() {
            let clock = seen.incremented(self.cluster.id_of(*master));
            self.request.clear();
            protocol::put(&mut self.request, &self.cluster.store, key, value, &clock, now_ms);
            match self.exchange(&[*master]).await.remove(0).1.map_err(Trouble::from).and_then(|()| self.stored(*master))
            {
                Ok(Written::Obsolete) if failed.is_none() => return Ok(Written::Obsolete),
                // What an earlier node made of it is not known.
                Ok(Written::Obsolete) => return Err(failed.unwrap_or_else(unlikely)),
                Ok(Written::Stored) => return self.write_to_others(&holders[place + 1..], required).await,
                Err(trouble) => failed = Some(trouble.or_worse(failed)),
            }
        }
        Err(failed.unwrap_or_else(unlikely))
    }

    /// Writes the master's value to the other nodes. A node that has a later version needs none.
    async fn write_to_others(&mut self, others: &[usize], required: usize) -> Result<Written, Trouble> {
        let (mut stored, mut failed) = (1, None);
        for (node, outcome) in self.exchange(others).await {
            match outcome.map_err(Trouble::from).and_then(|()| self.stored(node)) {
                Ok(_) => stored += 1,
                Err(trouble) => failed = Some(trouble),
            }
        }
        if stored >= required {
            return Ok(Written::Stored);
        }
        let trouble = failed.unwrap_or_else(|| Trouble::Unknown("no other node was there".into()));
        Err(trouble.in_part().of_too_few(stored, required))
    }

    fn stored(&self, node: usize) -> Result<Written, Trouble> {
        match protocol::stored(self.lines[node].body()) {
            Ok(()) => Ok(Written::Stored),
            Err(Fault::Said { code: OBSOLETE, .. }) => Ok(Written::Obsolete),
            Err(fault) => Err(Trouble::of_write(fault)),
        }
    }

    /// Deletes values that are not later than this version on all nodes of the key, and returns whether one of the nodes had any.
    async fn delete(&mut self, key: &[u8], seen: &Clock) -> Result<bool, Trouble> {
        let required = self.cluster.copies().required_writes;
        let holders = self.cluster.holders(key, required);
        self.request.clear();
        protocol::delete(&mut self.request, &self.cluster.store, key, seen, now_ms());
        let (mut answered, mut deleted, mut failed) = (0, false, None);
        for (node, outcome) in self.exchange(&holders).await {
            let said = outcome.map_err(Trouble::from);
            let said = said.and_then(|()| protocol::deleted(self.lines[node].body()).map_err(Trouble::of_write));
            match said {
                Ok(had_it) => {
                    answered += 1;
                    deleted |= had_it;
                }
                Err(trouble) => failed = Some(trouble.or_worse(failed)),
            }
        }
        if answered >= required {
            return Ok(deleted);
        }
        let trouble = failed.unwrap_or_else(unlikely);
        Err(if deleted { trouble.in_part() } else { trouble }.of_too_few(answered, required))
    }

    /// Reads keys with a request to each node that holds some of them. After a node that fails the others are asked for all.
    async fn get_many(&mut self, keys: &[&[u8]], out: &mut ReplyBuffer) -> Result<(), Trouble> {
        let required = self.cluster.copies().required_reads;
        let mut tries = self.cluster.copies().replication;
        loop {
            tries -= 1;
            let mut of_nodes: BTreeMap<usize, Vec<&[u8]>> = BTreeMap::new();
            for key in keys {
                let holders = self.cluster.holders(key, required);
                holders.iter().take(required).for_each(|node| of_nodes.entry(*node).or_default().push(key));
            }
            match self.ask_for_all(&of_nodes).await {
                Ok(()) => return self.rows(keys, of_nodes.keys(), out),
                Err(trouble) if tries == 0 => return Err(trouble),
                Err(_) => {}
            }
        }
    }

    async fn ask_for_all(&mut self, of_nodes: &BTreeMap<usize, Vec<&[u8]>>) -> Result<(), Trouble> {
        let patience = self.cluster.patience();
        let mut outcomes = Vec::with_capacity(of_nodes.len());
        for (node, keys) in of_nodes {
            self.request.clear();
            protocol::ask_for_all(&mut self.request, &self.cluster.store, keys.iter().copied());
            let line = &mut self.lines[*node];
            let sent = within(patience, line.send(&self.request)).await;
            outcomes.push((*node, sent.unwrap_or_else(|patience| Err(line.give_up(patience)))));
        }
        self.receive(&mut outcomes).await;
        for (node, outcome) in outcomes {
            outcome?;
            protocol::read_refused(self.lines[node].body())?;
        }
        Ok(())
    }

    fn rows<'a>(
        &self,
        keys: &[&[u8]],
        nodes: impl Iterator<Item = &'a usize>,
        out: &mut ReplyBuffer,
    ) -> Result<(), Trouble> {
        let mut found: HashMap<&[u8], Vec<Versioned<'_>>> = HashMap::new();
        for node in nodes {
            for (key, versioned) in protocol::values_of_all(self.lines[*node].body())? {
                found.entry(key).or_default().push(versioned);
            }
        }
        // A key may be asked for twice.
        let found = found.into_iter().map(|(key, values)| Ok((key, only(values)?)));
        let found = found.collect::<Result<HashMap<_, _>, Trouble>>()?;
        for key in keys {
            if let Some(Some(versioned)) = found.get(key) {
                out.rows.push(key, versioned.value);
            }
        }
        Ok(())
    }
}

/// Waits no longer than a node's time limit; the error is how long that was.
async fn within<T>(patience: Option<Duration>, work: impl Future<Output = T>) -> Result<T, Duration> {
    match patience {
        Some(patience) => timeout(patience, work).await.map_err(|_| patience),
        None => Ok(work.await),
    }
}

/// Returns the version that covers all of these.
fn merged(clocks: &[Clock]) -> Clock {
    clocks.iter().fold(Clock::default(), |mut merged, clock| {
        merged.merge(clock);
        merged
    })
}

/// Returns the only value that no other is later than.
fn only(mut values: Vec<Versioned<'_>>) -> Result<Option<Versioned<'_>>, Trouble> {
    match latest(values.iter().map(|versioned| &versioned.clock))[..] {
        [] => Ok(None),
        [place] => Ok(Some(values.swap_remove(place))),
        ref siblings => Err(Trouble::Refused(format!(
            "{} versions of the key were written without knowing of each other (siblings): none is the value",
            siblings.len()
        ))),
    }
}

/// Returns the error for a ring without nodes, which cannot be: a ring has a node for every key.
fn unlikely() -> Trouble {
    Trouble::NotConnected("no node has the key".into())
}

/// Returns the time that a clock carries along; the server does not compare it.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
