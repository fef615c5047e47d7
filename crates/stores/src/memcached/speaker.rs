//! A server of the classic text protocol.

use super::text::{self, Text};
use super::{ITEM_BYTES, value_bytes};
use std::collections::BTreeMap;
use store::wire;
use store::{
    Capabilities, Counter, Endpoint, Facts, Holding, OperationKind, OperationSet, Overflow, Session, SessionPlan,
    Store, StoreError, Threading,
};

/// Whether the items a server counts are those it keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Items {
    /// As memcached's own are.
    AllItKeeps,
    /// They are of something else, or nobody knows.
    NotSaid,
}

/// A server that speaks memcached's classic text protocol.
pub(crate) struct Speaker {
    endpoint: Endpoint,
    capabilities: Capabilities,
    product: &'static str,
    items: Items,
    more: BTreeMap<String, String>,
}

impl Speaker {
    /// What the classic commands can do, with memcached's own limit of an item.
    pub(crate) const CAPABILITIES: Capabilities = Capabilities {
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
        items: Items,
        capabilities: Capabilities,
    ) -> Result<Speaker, StoreError> {
        let more = BTreeMap::from([
            ("protocol".to_owned(), "memcached text".to_owned()),
            ("connections".to_owned(), "one per client, shared by its slots (pipelined)".to_owned()),
        ]);
        let speaker = Speaker { endpoint: endpoint.clone(), capabilities, product, items, more };
        super::facts(endpoint).map(|_| speaker)
    }

    /// Says something more of it in its facts.
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
        wire::session(&self.endpoint, plan, Text::default)
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = super::facts(&self.endpoint)?;
        facts.product = self.product.into();
        facts.config.extend(self.more.clone());
        Ok(facts)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        match self.items {
            Items::AllItKeeps => super::holding(&self.endpoint),
            Items::NotSaid => Ok(Holding::default()),
        }
    }
}
