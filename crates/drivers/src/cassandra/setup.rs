//! Connecting: who answers, the keyspace and its table.

use super::client::{Line, SlotClient, Turns};
use super::level::level_of;
use super::ring::Ring;
use super::{CAPABILITIES, CONSISTENCY, TURNS, replication};
use ground::jvm;
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session as Driver;
use scylla::client::session_builder::SessionBuilder;
use scylla::deserialize::row::DeserializeRow;
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::statement::unprepared::Statement;
use scylla::statement::{Consistency, SerialConsistency};
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use store::asynchronous::{Async, brief};
use store::{
    Belongings, CONNECTIONS, Capabilities, Cluster, Connections, Endpoint, Facts, Holding, Keepers, OwnTables, Session,
    SessionPlan, Store, StoreError, Whereabouts,
};
use study::{Spec, Target};

/// The time a node may take to let us in.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that connecting to all nodes, and making the table, may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that counting or emptying the table may take.
const TABLE_TIMEOUT: Duration = Duration::from_secs(600);

/// The keyspace of a private cluster, and the table in any keyspace.
const KEYSPACE: &str = "kvtrial";
const TABLE: &str = "kvtrial_kv";

/// The options that are for the client, not for the servers.
const OF_CLIENTS: [&str; 3] = [CONSISTENCY.name, TURNS.name, CONNECTIONS.name];

/// The number of keys that a new cluster is asked for at every node: together they are almost surely on every part of the ring.
const ASKED_KEYS: u8 = 32;

struct Cassandra {
    endpoints: Vec<Endpoint>,
    keyspace: String,
    consistency: Consistency,
    capabilities: Capabilities,
    turns: Arc<Turns>,
    connections: Connections,
    /// Said of a private cluster.
    config: BTreeMap<String, String>,
}

/// Returns the driver's level of this name.
fn consistency(spec: &Spec) -> Consistency {
    match CONSISTENCY.read(spec) {
        "one" => Consistency::One,
        "all" => Consistency::All,
        _ => Consistency::Quorum,
    }
}

/// Returns how many connections the driver has; the driver takes any of them for a request.
fn pool(connections: Connections) -> String {
    let count = match connections {
        Connections::PerClient => "one per client".into(),
        Connections::Shared(number) => format!("{number} per thread"),
    };
    format!("{count} to each node, shared by the clients of a thread (pipelined)")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Connects, and makes keyspace and table where they are absent.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let [first, ..] = nodes else { return Err(StoreError::Session("no address of Cassandra was given".into())) };
    let unsupported = |problem: String| StoreError::Unsupported { store: spec.name.clone(), problem };
    let mut config = BTreeMap::new();
    let keyspace = match &spec.target {
        Target::Server(_) => {
            if let Some(option) = spec.options.keys().find(|option| !OF_CLIENTS.contains(&option.as_str())) {
                return Err(unsupported(format!("{option}= is for a private cluster; leave it out for yours")));
            }
            let named = first.database.clone().filter(|name| !name.is_empty());
            named.ok_or_else(|| {
                unsupported("name the keyspace of your cluster to work in: cassandra://HOST:PORT/KEYSPACE".into())
            })?
        }
        _ => {
            config = jvm::facts(spec, nodes)?;
            KEYSPACE.to_owned()
        }
    };
    let mut store = Cassandra {
        endpoints: nodes.to_vec(),
        keyspace,
        consistency: consistency(spec),
        capabilities: CAPABILITIES,
        connections: Connections::of(spec)?,
        turns: Arc::new(if TURNS.read(spec) == "on" { Turns::on() } else { Turns::Off }),
        config,
    };
    let copies = (spec.target == Target::Private).then(|| replication(spec));
    let durability = brief(first, SETUP_TIMEOUT, async {
        let driver = store.enter(NonZeroUsize::MIN).await?;
        if let Some(copies) = copies {
            store.is_whole(&driver)?;
            store.make_keyspace(&driver, copies).await?;
        }
        store.make_table(&driver).await?;
        if copies.is_some() {
            store.answers_everywhere(&driver).await?;
        }
        Ok(level_of(&store.settings(&driver).await))
    })?;
    if spec.durability.is_some_and(|asked| asked != durability) {
        return Err(unsupported(format!(
            "your cluster has durability={durability} (commitlog_sync); set it there, and leave it out here"
        )));
    }
    store.capabilities.durability = durability;
    Ok(Box::new(store))
}

impl Cassandra {
    fn first(&self) -> &Endpoint {
        &self.endpoints[0]
    }

    fn table(&self) -> String {
        format!("{}.{TABLE}", quoted(&self.keyspace))
    }

    /// Connects to all nodes, with `connections` to each.
    async fn enter(&self, connections: NonZeroUsize) -> Result<Driver, StoreError> {
        let profile = ExecutionProfile::builder()
            .consistency(self.consistency)
            .serial_consistency(Some(SerialConsistency::Serial))
            .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
            .speculative_execution_policy(None)
            // The engine has its own deadline; a client that gives up sooner would hide how long it took.
            .request_timeout(None)
            .build();
        let mut builder = SessionBuilder::new()
            .known_nodes(self.endpoints.iter().map(ToString::to_string))
            .default_execution_profile_handle(profile.into_handle())
            .connection_timeout(CONNECT_TIMEOUT)
            .pool_size(PoolSize::PerHost(connections))
            // See the first page: any node coordinates a request.
            .fetch_schema_metadata(false)
            .driver_config_reporting(false);
        if let Some(user) = &self.first().user {
            let password = self.first().password.as_ref().map(|password| password.reveal()).unwrap_or_default();
            builder = builder.user(user, password);
        }
        #[cfg(feature = "tls")]
        if let Some(trust) = &self.first().tls {
            builder = builder.tls_context(Some(store::tls::config(trust)?));
        }
        builder.build().await.map_err(|error| self.trouble(error))
    }

    fn trouble(&self, error: impl std::fmt::Display) -> StoreError {
        StoreError::open(self.first(), store::tls::explained(error))
    }

    /// Checks that the nodes have found each other: a node that has not is a cluster of its own.
    fn is_whole(&self, driver: &Driver) -> Result<(), StoreError> {
        let state = driver.get_cluster_state();
        let connected = state.get_nodes_info().iter().filter(|node| node.is_connected()).count();
        if connected == self.endpoints.len() {
            return Ok(());
        }
        Err(self.trouble(format!("{connected} of {} nodes have found each other", self.endpoints.len())))
    }

    async fn tell(&self, driver: &Driver, words: String) -> Result<(), StoreError> {
        driver.query_unpaged(words, &[]).await.map(drop).map_err(|error| self.trouble(error))
    }

    async fn make_keyspace(&self, driver: &Driver, copies: u32) -> Result<(), StoreError> {
        let name = quoted(&self.keyspace);
        let how = format!("{{'class': 'SimpleStrategy', 'replication_factor': {copies}}}");
        self.tell(driver, format!("CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = {how}")).await
    }

    /// Makes the table. A table that is there already stays, even with somebody else's rows: nobody has said yet that they may go.
    async fn make_table(&self, driver: &Driver) -> Result<(), StoreError> {
        let table = self.table();
        self.tell(driver, format!("CREATE TABLE IF NOT EXISTS {table} (k blob PRIMARY KEY, v blob)")).await
    }

    /// Asks every node for keys of every part of the ring, and all their replicas: a node may take another one for dead long after
    /// both have begun to listen.
    async fn answers_everywhere(&self, driver: &Driver) -> Result<(), StoreError> {
        let select = format!("SELECT v FROM {} WHERE k = ?", self.table());
        let mut select = driver.prepare(select).await.map_err(|error| self.trouble(error))?;
        select.set_consistency(Consistency::All);
        let state = driver.get_cluster_state();
        for node in state.get_nodes_info() {
            let there = SingleTargetLoadBalancingPolicy::new(NodeIdentifier::HostId(node.host_id), None);
            select.set_load_balancing_policy(Some(there));
            for key in 0..ASKED_KEYS {
                let asked = driver.execute_unpaged(&select, (&[key][..],)).await;
                asked.map_err(|error| StoreError::open(node.address, error))?;
            }
        }
        Ok(())
    }

    /// Returns the rows of a statement that runs once.
    async fn rows<R>(&self, driver: &Driver, words: &str) -> Result<Vec<R>, StoreError>
    where
        R: for<'a> DeserializeRow<'a, 'a>,
    {
        let mut statement = Statement::new(words);
        statement.set_consistency(Consistency::One);
        let told = driver.query_unpaged(statement, &[]).await.map_err(|error| self.trouble(error))?;
        let told = told.into_rows_result().map_err(|error| self.trouble(error))?;
        let rows = told.rows::<R>().map_err(|error| self.trouble(error))?;
        rows.collect::<Result<_, _>>().map_err(|error| self.trouble(error))
    }

    /// Returns the settings of the node that answers, as far as the node has a table of them.
    async fn settings(&self, driver: &Driver) -> BTreeMap<String, String> {
        let names = ["commitlog_sync", "commitlog_sync_period", "paxos_variant"];
        let names = names.map(|name| format!("'{name}'")).join(", ");
        let words = format!("SELECT name, value FROM system_views.settings WHERE name IN ({names})");
        let told = self.rows::<(String, Option<String>)>(driver, &words).await.unwrap_or_default();
        told.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Returns product and version.
    async fn identity(&self, driver: &Driver) -> Result<(&'static str, String), StoreError> {
        let scylla = self.rows::<(String,)>(driver, "SELECT version FROM system.versions WHERE key = 'local'").await;
        if let Some((version,)) = scylla.ok().and_then(|mut rows| rows.pop()) {
            return Ok(("ScyllaDB", version));
        }
        let told = self.rows::<(String,)>(driver, "SELECT release_version FROM system.local").await?.pop();
        told.map(|(version,)| ("Cassandra", version)).ok_or_else(|| self.trouble("it states no version"))
    }

    /// Returns how the keyspace is replicated, as the server reports it.
    async fn replicated(&self, driver: &Driver) -> Result<String, StoreError> {
        let name = self.keyspace.replace('\'', "''");
        let words = format!("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{name}'");
        let told = self.rows::<(HashMap<String, String>,)>(driver, &words).await?.pop();
        let told: BTreeMap<String, String> = told.map(|(map,)| map.into_iter().collect()).unwrap_or_default();
        let short = |(name, value): (&String, &String)| match name.as_str() {
            "class" => value.rsplit('.').next().unwrap_or_default().to_owned(),
            "replication_factor" => value.clone(),
            other => format!("{other} {value}"),
        };
        Ok(told.iter().map(short).collect::<Vec<_>>().join(" "))
    }

    /// Asks a question on connections of its own.
    fn ask<T>(&self, question: impl AsyncFnOnce(&Driver) -> Result<T, StoreError>) -> Result<T, StoreError> {
        brief(self.first(), TABLE_TIMEOUT, async {
            let driver = self.enter(NonZeroUsize::MIN).await?;
            question(&driver).await
        })
    }

    fn count(&self) -> Result<u64, StoreError> {
        self.ask(async |driver| {
            let words = format!("SELECT count(*) FROM {}", self.table());
            let told = driver.query_unpaged(words, &[]).await.map_err(|error| self.trouble(error))?;
            let told = told.into_rows_result().map_err(|error| self.trouble(error))?;
            let (count,) = told.single_row::<(i64,)>().map_err(|error| self.trouble(error))?;
            Ok(count.max(0) as u64)
        })
    }
}

impl Store for Cassandra {
    store::of_driver!(capabilities);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let connections = NonZeroUsize::new(plan.over(self.connections).count() as usize).unwrap_or(NonZeroUsize::MIN);
        let mut line: Option<Rc<Line>> = None;
        Async::session(plan, async |_| {
            let line = match &line {
                Some(line) => line.clone(),
                None => {
                    let driver = self.enter(connections).await?;
                    let opened = Line::new(driver, &self.table(), self.turns.clone()).await;
                    line.insert(Rc::new(opened.map_err(|error| self.trouble(error))?)).clone()
                }
            };
            Ok(SlotClient::new(line))
        })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let (identity, replication, settings) = self.ask(async |driver| {
            Ok((self.identity(driver).await?, self.replicated(driver).await?, self.settings(driver).await))
        })?;
        let (product, version) = identity;
        let mut config = self.config.clone();
        config.extend(settings);
        let said = [
            ("keyspace", self.keyspace.clone()),
            ("replication", replication),
            ("consistency", self.consistency.to_string().to_lowercase()),
            ("serial_consistency", "serial".into()),
            (
                "sessions",
                "each request goes to any node that can be reached, whose clock gives a write its time".into(),
            ),
            (CONNECTIONS.name, pool(self.connections)),
            ("delete", "a transaction (IF EXISTS): a plain one does not say whether there was a key".into()),
            (
                "turns",
                match *self.turns {
                    Turns::On(_) => "on: kvtrial's transactions on a key wait for each other".into(),
                    Turns::Off => "off: transactions meet as those of strangers do".into(),
                },
            ),
            ("compare-and-set", "on the value: one that changed and changed back passes".into()),
            ("retries", "none".into()),
            ("driver", "scylla".into()),
        ];
        config.extend(said.map(|(name, value): (&str, String)| (name.to_owned(), value)));
        Ok(Facts { product: product.into(), version, config, ..Facts::default() })
    }

    fn belongings(&self) -> Belongings<'_> {
        Belongings::Own(self)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        Ok(Holding { keys: Some(self.count()?), ..Holding::default() })
    }

    fn whereabouts(&self) -> Whereabouts<'_> {
        Whereabouts::Cluster(self)
    }
}

impl Cluster for Cassandra {
    fn keepers(&self) -> Result<Box<dyn Keepers>, StoreError> {
        let ring = self.ask(async |driver| Ok(Ring::of(&driver.get_cluster_state(), &self.endpoints)))?;
        Ok(Box::new(ring))
    }
}

impl OwnTables for Cassandra {
    fn names(&self) -> Vec<String> {
        vec![format!("table {}.{TABLE}", self.keyspace)]
    }

    fn rows(&self) -> Result<u64, StoreError> {
        self.count()
    }

    fn clear(&self) -> Result<(), StoreError> {
        self.ask(async |driver| self.tell(driver, format!("TRUNCATE {}", self.table())).await)
    }

    fn unmake(&self) -> Result<(), StoreError> {
        self.ask(async |driver| self.tell(driver, format!("DROP TABLE IF EXISTS {}", self.table())).await)
    }
}

#[cfg(test)]
mod tests {
    use super::pool;
    use std::num::NonZeroU32;
    use store::Connections;

    #[test]
    fn a_report_says_how_many_connections_the_clients_of_a_thread_share() {
        let shared = pool(Connections::Shared(NonZeroU32::MIN));
        assert_eq!(shared, "1 per thread to each node, shared by the clients of a thread (pipelined)");
        assert!(pool(Connections::PerClient).starts_with("one per client to each node"));
    }
}
