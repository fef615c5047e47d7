//! How the clients of a thread reach a node: each over a connection of its own, or all over a few (`connections=`).
//!
//! Drivers of both kinds are in use. Jedis, redis-py and libmemcached have a connection per caller; Lettuce, ioredis,
//! StackExchange.Redis and spymemcached send what all callers of a process ask over one per node. Which it is decides how large the
//! batches are: 50 clients with a request each make 50 writes of one request, or one write of 50.
//!
//! * **Requests and replies.** A shared connection is a connection that serves the slots of several clients ([`Wiring`]). Each submit
//!   appends to its one buffer and its one queue; the next poll sends all of it in one write; one read takes all replies that are there, in
//!   the order of the queue, and each goes to the slot its entry names. A client stays on one connection, so that its own requests keep
//!   their order.
//! * **Head of line.** A reply comes after those of all requests that were in flight on the connection before it: one that is slow delays the
//!   others. How many were ahead is counted per request, without a clock ([`study::HeadOfLine`]), and the report says it.
//! * **Failures.** A connection that breaks fails all that is in flight on it, for each slot by itself, so what each of 50 clients loses is
//!   counted and verified as with a connection of its own. It is opened again with the next request, as ever.
//! * **Deadlines** are those of each operation. One that has had its time gives its connection up, since no reply behind it can come
//!   before its own; what is behind it fails as a lost connection, not as late.
//! * **Warm-up, phases, read-back** use the connections of the session as they are. Questions outside of the clock have their own.

use crate::{OptionInfo, SessionPlan, StoreError};
use std::num::NonZeroU32;
use study::Spec;

/// The option of stores whose protocol allows requests of several clients on one connection.
pub const CONNECTIONS: OptionInfo = OptionInfo::text(
    "connections",
    "client: one per client; or how many all clients of a thread share per node, 1 to 256",
)
.usual(CLIENT);

/// The value that asks for one connection per client.
const CLIENT: &str = "client";

/// The most connections that the clients of a thread share.
const MOST: u32 = 256;

/// The way in which clients share connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connections {
    /// A connection of its own for each client, to each node.
    #[default]
    PerClient,
    /// This many connections per node for all clients of a thread.
    Shared(NonZeroU32),
}

impl Connections {
    /// Returns the connections that a spec asks for.
    ///
    /// # Errors
    /// Names the option and the possible values.
    pub fn of(spec: &Spec) -> Result<Connections, StoreError> {
        Connections::read(CONNECTIONS.read(spec))
            .map_err(|problem| StoreError::Unsupported { store: spec.name.clone(), problem })
    }

    /// Reads a value of the option.
    ///
    /// # Errors
    /// Names the option and the possible values.
    pub(crate) fn read(value: &str) -> Result<Connections, String> {
        if value == CLIENT {
            return Ok(Connections::PerClient);
        }
        let number = value.parse().ok().filter(|number: &NonZeroU32| number.get() <= MOST);
        number.map(Connections::Shared).ok_or_else(|| {
            format!("connections={value} is not possible; use connections={CLIENT}, or a number from 1 to {MOST}")
        })
    }

    /// Returns the value of the setting `connections` among a store's [`Facts`](crate::Facts).
    pub fn fact(self) -> String {
        match self {
            Connections::PerClient => "one per client, shared by its slots (pipelined)".into(),
            Connections::Shared(number) => {
                format!("{number} per node and thread, shared by all its clients (pipelined)")
            }
        }
    }
}

/// The connections of a session to one node, and the slots that each of them serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    plan: SessionPlan,
    connections: Connections,
}

impl SessionPlan {
    /// Returns the wiring of the slots over these connections.
    pub fn over(self, connections: Connections) -> Wiring {
        Wiring { plan: self, connections }
    }
}

impl From<SessionPlan> for Wiring {
    fn from(plan: SessionPlan) -> Wiring {
        plan.over(Connections::PerClient)
    }
}

impl Wiring {
    /// Returns the number of connections: never more than clients.
    pub fn count(self) -> u32 {
        match self.connections {
            Connections::PerClient => self.plan.clients,
            Connections::Shared(number) => number.get().min(self.plan.clients),
        }
    }

    /// Returns the number of slots of the session.
    pub fn slots(self) -> u32 {
        self.plan.slots()
    }

    /// Returns the number of slots of the connection that has most of them.
    pub(crate) fn most_slots(self) -> u32 {
        self.plan.clients.div_ceil(self.count().max(1)) * self.plan.pipeline.max(1)
    }

    /// Returns whether a connection serves several clients.
    pub(crate) fn is_shared(self) -> bool {
        self.count() < self.plan.clients
    }

    /// Returns the connection of each slot, in the order of the slots. Each serves as many clients as any other, or one less.
    pub(crate) fn of_slots(self) -> Box<[u32]> {
        let (clients, count) = (u64::from(self.plan.clients), u64::from(self.count()));
        let of_client = |client: u32| (u64::from(client) * count / clients.max(1)) as u32;
        (0..self.slots()).map(|slot| of_client(slot / self.plan.pipeline.max(1))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Connections, Wiring};
    use crate::SessionPlan;
    use study::Spec;

    fn wiring(clients: u32, pipeline: u32, connections: &str) -> Wiring {
        SessionPlan { clients, pipeline }.over(Connections::read(connections).unwrap_or_default())
    }

    #[test]
    fn every_connection_serves_as_many_clients_as_any_other_or_one_less_and_a_client_has_one() {
        for (clients, pipeline, connections) in [(50, 16, 1), (50, 16, 4), (5, 3, 4), (9, 1, 4), (3, 2, 256), (1, 8, 2)]
        {
            let wiring = wiring(clients, pipeline, &connections.to_string());
            assert_eq!(wiring.count(), connections.min(clients));
            let of_slots = wiring.of_slots();
            assert_eq!(of_slots.len(), (clients * pipeline) as usize);
            assert!(of_slots.chunks(pipeline as usize).all(|client| client.iter().all(|it| *it == client[0])));
            let served = |line: u32| of_slots.iter().filter(|it| **it == line).count() as u32 / pipeline;
            let least = clients / wiring.count();
            assert!((0..wiring.count()).all(|line| (least..=least + 1).contains(&served(line))), "{of_slots:?}");
        }
    }

    #[test]
    fn without_the_option_each_client_has_its_own_and_nothing_is_shared() {
        let own = wiring(3, 2, "client");
        assert_eq!((own.count(), own.is_shared(), &*own.of_slots()), (3, false, &[0, 0, 1, 1, 2, 2][..]));
        assert_eq!(own, SessionPlan { clients: 3, pipeline: 2 }.into());
        assert!(wiring(3, 2, "2").is_shared() && !wiring(2, 2, "2").is_shared());
    }

    #[test]
    fn what_is_no_number_of_connections_is_refused_with_what_is() {
        for wrong in ["0", "257", "-1", "all", ""] {
            let mut spec = Spec::private("redis");
            spec.options.insert("connections".into(), wrong.into());
            let error = Connections::of(&spec).map_err(|error| error.to_string()).err().unwrap_or_default();
            assert!(error.contains(&format!("connections={wrong} is not possible")), "{error}");
            assert!(error.contains("a number from 1 to 256"), "{error}");
        }
    }
}
