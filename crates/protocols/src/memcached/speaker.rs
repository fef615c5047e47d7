//! A server of the classic text protocol.

use super::text::{self, KeyText, Text};
use super::{ITEM_BYTES, value_bytes};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::wire::{self, Talk, ascii};
use store::{
    CONNECTIONS, Capabilities, Connections, Counter, Endpoint, Facts, Holding, OperationKind, OperationSet, Overflow,
    Session, SessionPlan, Store, StoreError, Threading,
};

/// The items that a server counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemCount {
    /// The server counts everything it keeps, as memcached does.
    AllItKeeps,
    /// The server counts something else, or nobody knows.
    NotSaid,
}

/// A server that speaks memcached's classic text protocol.
pub(crate) struct Speaker {
    endpoint: Endpoint,
    /// The addresses of all servers that are one store.
    endpoints: Vec<Endpoint>,
    /// The place in `endpoints` of the next client.
    next: AtomicUsize,
    capabilities: Capabilities,
    product: &'static str,
    items: ItemCount,
    version: Option<&'static str>,
    key_text: KeyText,
    connections: Connections,
    more: BTreeMap<String, String>,
}

impl Speaker {
    /// The capabilities of the classic commands, with memcached's own limit of an item.
    pub(crate) const CAPABILITIES: Capabilities = Capabilities {
        databases: store::Databases::Absent,
        native: OperationSet::BASIC.and(&[
            OperationKind::GetVersioned,
            OperationKind::Append,
            OperationKind::Increment,
            OperationKind::GetCounter,
            OperationKind::CompareAndSet,
            OperationKind::GetMany,
            OperationKind::PutMany,
        ]),
        min_key_bytes: 1,
        max_key_bytes: text::KEY_BYTES,
        max_value_bytes: value_bytes(ITEM_BYTES) - text::KEY_OVERHEAD_BYTES,
        counter: Some(Counter { min: 0, max: i64::MAX, overflow: Overflow::Refused }),
        ..Capabilities::BASIC
    };

    /// Connects and asks for the version.
    pub(crate) fn connect(
        endpoint: &Endpoint,
        product: &'static str,
        items: ItemCount,
        capabilities: Capabilities,
    ) -> Result<Speaker, StoreError> {
        let more = BTreeMap::from([
            ("protocol".to_owned(), "memcached text".to_owned()),
            (CONNECTIONS.name.to_owned(), Connections::PerClient.fact()),
        ]);
        let speaker = Speaker {
            endpoint: endpoint.clone(),
            endpoints: vec![endpoint.clone()],
            next: AtomicUsize::new(0),
            capabilities,
            product,
            items,
            version: None,
            key_text: KeyText::Bytes,
            connections: Connections::PerClient,
            more,
        };
        super::facts(endpoint).map(|_| speaker)
    }

    /// Asks for a key that nobody has: a member of a cluster states its version long before it has joined the others.
    pub(crate) fn answers_a_get(&self) -> Result<(), StoreError> {
        let answer = Talk::open(&self.endpoint, Text::default())?.ask(b"get kvtrial-nothing\r\n", |input| {
            Ok(ascii::line_end(input, 1000).map(|end| String::from_utf8_lossy(&input[..end]).into_owned()))
        })?;
        match answer.as_str() {
            "END" => Ok(()),
            other => Err(StoreError::open(&self.endpoint, format!("it answers a get by {other}"))),
        }
    }

    /// Adds the servers that are one store with this one: clients are spread over them, and a client whose server is gone continues with another.
    pub(crate) fn among(mut self, endpoints: &[Endpoint]) -> Speaker {
        self.endpoints = endpoints.to_vec();
        self
    }

    /// Sets the connections over which clients reach the server.
    pub(crate) fn over(mut self, connections: Connections) -> Speaker {
        self.connections = connections;
        self.with_fact(CONNECTIONS.name, &connections.fact())
    }

    /// Sets how the server reads keys.
    pub(crate) fn reading_keys(mut self, key_text: KeyText) -> Speaker {
        self.key_text = key_text;
        self
    }

    /// Sets the version of the program that was started, where the server itself does not state it.
    pub(crate) fn with_version(mut self, version: &'static str) -> Speaker {
        self.version = Some(version);
        self
    }

    /// Adds a fact about the server.
    pub(crate) fn with_fact(mut self, name: &str, value: &str) -> Speaker {
        self.more.insert(name.into(), value.into());
        self
    }
}

impl Store for Speaker {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let key_text = self.key_text;
        let first = self.next.fetch_add(plan.clients as usize, Ordering::Relaxed);
        wire::spread(&self.endpoints, first, plan.over(self.connections), move || Text::new(key_text))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = super::facts(&self.endpoint)?;
        facts.product = self.product.into();
        if let Some(version) = self.version {
            facts.version = version.into();
        }
        facts.config.extend(self.more.clone());
        Ok(facts)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        match self.items {
            ItemCount::AllItKeeps => super::holding(&self.endpoint),
            ItemCount::NotSaid => Ok(Holding::default()),
        }
    }
}
