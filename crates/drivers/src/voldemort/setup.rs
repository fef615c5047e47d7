//! Connecting: what the servers say of the store, and where its keys are.

use super::client::SlotClient;
use super::cluster::Cluster;
use super::home::Home;
use super::layout::{self, CLUSTER, Layout, STORES};
use super::line::Line;
use super::protocol::{self, Kind};
use super::server::cache_mib;
use super::trouble::Trouble;
use super::{STORE, capabilities, level};
use ground::jvm::{self, HEAP};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::asynchronous::{Async, brief};
use store::wire::CONNECT_TIMEOUT;
use store::{Capabilities, Endpoint, Facts, Resent, Session, SessionPlan, Store, StoreError};
use study::{Durability, Spec, Target};

struct Voldemort {
    cluster: Arc<Cluster>,
    capabilities: Capabilities,
    resent: Resent,
    version: String,
    config: BTreeMap<String, String>,
}

/// Asks the first server that answers how the store is kept. A server does not state how it writes its log: a server of the user's is taken to have
/// the stated level.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    jvm::no_options_elsewhere(spec)?;
    let [first, ..] = nodes else { return Err(StoreError::Session("no address of Voldemort was given".into())) };
    let store = first.database.as_deref().unwrap_or(STORE);
    let (mut told_by, mut told) = (first, layout_of(first, store));
    for node in &nodes[1..] {
        if told.is_err() {
            (told_by, told) = (node, layout_of(node, store));
        }
    }
    let layout = told?;
    if layout.persistence == "read-only" {
        return Err(StoreError::open(first, format!("its store '{store}' is read-only")));
    }
    let is_private = spec.target == Target::Private;
    let version = if is_private { Home::of(spec)?.version().to_owned() } else { "not told".to_owned() };
    let capabilities = capabilities(level(spec), layout.copies.replication);
    let config = config(spec, store, &layout)?;
    let cluster = Arc::new(Cluster::new(store, layout, told_by));
    Ok(Box::new(Voldemort { cluster, capabilities, resent: Resent::default(), version, config }))
}

/// Returns a server's account of the cluster and of this store.
fn layout_of(node: &Endpoint, store: &str) -> Result<Layout, StoreError> {
    brief(node, CONNECT_TIMEOUT, async {
        let mut line = Line::to(node);
        let cluster = file(&mut line, CLUSTER).await.map_err(|words| StoreError::open(node, words))?;
        let stores = file(&mut line, STORES).await.map_err(|words| StoreError::open(node, words))?;
        Layout::of(&cluster, &stores, store).map_err(|words| StoreError::open(node, words))
    })
}

/// Reads one of the two files of the layout.
async fn file(line: &mut Line, name: &str) -> Result<String, String> {
    let mut request = Vec::new();
    protocol::ask_for(&mut request, Kind::Get, layout::STORE, name.as_bytes());
    let in_words = |trouble: Trouble| trouble.words();
    line.send(&request).await.map_err(|trouble| in_words(trouble.into()))?;
    line.receive().await.map_err(|trouble| in_words(trouble.into()))?;
    let values = protocol::values(line.body()).map_err(|fault| in_words(fault.into()))?;
    let value = values.first().ok_or_else(|| format!("it has no {name}"))?;
    String::from_utf8(value.value.to_vec()).map_err(|_| format!("its {name} is no text"))
}

fn config(spec: &Spec, store: &str, layout: &Layout) -> Result<BTreeMap<String, String>, StoreError> {
    let copies = layout.copies;
    let mut said = vec![
        ("protocol", "pb0".to_owned()),
        ("store", store.to_owned()),
        ("persistence", layout.persistence.clone()),
        ("nodes", layout.members.len().to_string()),
        ("replication-factor", copies.replication.to_string()),
        ("required-reads", copies.required_reads.to_string()),
        ("required-writes", copies.required_writes.to_string()),
        ("connections", "one per operation in flight and node; a connection carries one request at a time".to_owned()),
        ("put", "two requests: the version, then the value with the next one".to_owned()),
    ];
    if copies.replication > 1 {
        said.push((
            "copies",
            "a write waits for every node that answers; no hinted handoff, no read repair".to_owned(),
        ));
        said.push(("siblings", "refused to a reader, and covered by the next put".to_owned()));
    }
    if spec.target == Target::Private {
        let heap_mib: u64 = HEAP.read(spec)?;
        said.push(("heap", format!("{heap_mib} MiB each")));
        said.push(("bdb.cache.size", format!("{} MiB each", cache_mib(heap_mib))));
        said.push(("bdb.write.transactions", (level(spec) != Durability::None).to_string()));
        said.push(("bdb.flush.transactions", "false".to_owned()));
    }
    Ok(said.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

impl Store for Voldemort {
    store::of_driver!(capabilities, resent);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Async::session(plan, async |_| {
            let opened = SlotClient::open(self.cluster.clone(), self.resent.clone()).await;
            opened.map_err(|trouble| StoreError::open(&self.cluster.endpoints[0], trouble.words()))
        })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts {
            product: "Voldemort".into(),
            version: self.version.clone(),
            config: self.config.clone(),
            ..Facts::default()
        })
    }
}
