//! Connecting: login, tables, settings read back.

use super::bounded::{all, packets_of};
use super::client::Client;
use super::{CAPABILITIES, DURABILITIES, Product, number};
#[cfg(feature = "tls")]
use mysql_async::SslOpts;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use std::collections::BTreeMap;
use std::time::Duration;
use store::asynchronous::{Async, brief};
#[cfg(feature = "tls")]
use store::tls::Trust;
use store::wire::CONNECT_TIMEOUT;
use store::{
    Belongings, COUNT_PATIENCE, Capabilities, Compact, Endpoint, Facts, Holding, Maintenance, OwnTables, Reduce,
    Reduction, ReductionGroup, Resent, Session, SessionPlan, Store, StoreError,
};
use study::{Address, Durability, Spec};

/// The `wait_timeout` that servers of the family have by default, in seconds.
const WAIT_TIMEOUT_S: usize = 28_800;

/// The time that making the tables may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);

/// The settings that matter for speed and safety.
const SETTINGS: [&str; 14] = [
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_log_file_size",
    "innodb_page_size",
    "log_bin",
    "max_allowed_packet",
    "performance_schema",
    "sync_binlog",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
];

const TABLES: [(&str, &str); 3] = [
    ("kvtrial_kv", "k VARBINARY(1536) NOT NULL PRIMARY KEY, v LONGBLOB NOT NULL"),
    ("kvtrial_counters", "k VARBINARY(1536) NOT NULL PRIMARY KEY, n BIGINT NOT NULL"),
    ("kvtrial_fields", "k VARBINARY(1536) NOT NULL, f VARBINARY(1536) NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (k, f)"),
];

struct MySql {
    opts: Opts,
    place: String,
    capabilities: Capabilities,
    resent: Resent,
}

/// Connects, makes the tables, reads the level of durability the server has.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    let database = endpoint.database.clone().unwrap_or_else(|| "kvtrial".into());
    let place = endpoint.to_string();
    let settings = brief(endpoint, SETUP_TIMEOUT, async {
        let mut conn = enter(&place, opts(endpoint, None)).await?;
        let result = make_tables(&mut conn, &database).await;
        let settings = match result {
            Ok(()) => settings(&mut conn).await,
            Err(error) => Err(error),
        };
        let _ = conn.disconnect().await;
        settings.map_err(|error| StoreError::open(endpoint, error))
    })?;
    let durability = durability(&settings);
    if let Some(asked) = spec.durability.filter(|asked| *asked != durability) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!(
                "durability={asked} was asked for, but the server's innodb_flush_log_at_trx_commit={} means {durability}; \
                 set it on the server (1: commit, 2: second, 0: none) or leave durability out",
                settings.get("innodb_flush_log_at_trx_commit").map_or("?", String::as_str)
            ),
        });
    }
    let packet_bytes = settings.get("max_allowed_packet").and_then(|bytes| bytes.parse().ok()).unwrap_or(16 << 20);
    let capabilities = Capabilities { max_value_bytes: packet_bytes, durability, ..CAPABILITIES };
    Ok(Box::new(MySql { opts: opts(endpoint, Some(database)), place, capabilities, resent: Resent::default() }))
}

fn opts(endpoint: &Endpoint, database: Option<String>) -> Opts {
    let mut builder = OptsBuilder::default()
        .user(endpoint.user.as_deref())
        .pass(endpoint.password.as_ref().map(|password| password.reveal()))
        .db_name(database)
        .prefer_socket(false)
        // Rows matched, not rows changed: a compare-and-set to the same value has matched.
        .client_found_rows(true)
        // For pools, which there are none of; without it the driver asks, and holds every row it gets.
        .wait_timeout(Some(WAIT_TIMEOUT_S))
        .init(vec!["SET NAMES binary", "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"]);
    builder = match &endpoint.address {
        Address::Unix(path) => builder.socket(Some(path.display().to_string())),
        Address::Tcp { host, port } => builder.ip_or_hostname(host.as_str()).tcp_port(port.unwrap_or(3306)),
    };
    #[cfg(feature = "tls")]
    if let Some(trust) = &endpoint.tls {
        store::tls::settle_provider();
        builder = builder.ssl_opts(match trust {
            Trust::WellKnown => SslOpts::default(),
            Trust::In(path) => {
                SslOpts::default().with_root_certs(vec![path.clone().into()]).with_disable_built_in_roots(true)
            }
        });
    }
    // What is asked once has short answers.
    packets_of(&builder.into(), 0)
}

/// Opens a connection, or soon returns an error.
pub(super) async fn enter(place: &str, opts: Opts) -> Result<Conn, StoreError> {
    match tokio::time::timeout(CONNECT_TIMEOUT, Conn::new(opts)).await {
        Ok(conn) => conn.map_err(|error| StoreError::open(place, store::tls::explained(error))),
        Err(_) => Err(StoreError::open(place, format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()))),
    }
}

/// Makes the tables. Tables that are there already stay, even with somebody else's rows: nobody has said yet that they may go.
async fn make_tables(conn: &mut Conn, database: &str) -> mysql_async::Result<()> {
    let database = database.replace('`', "``");
    conn.query_drop(format!("CREATE DATABASE IF NOT EXISTS `{database}`")).await?;
    for (table, columns) in TABLES {
        conn.query_drop(format!("CREATE TABLE IF NOT EXISTS `{database}`.{table} ({columns}) ENGINE=InnoDB")).await?;
    }
    Ok(())
}

async fn settings(conn: &mut Conn) -> mysql_async::Result<BTreeMap<String, String>> {
    let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
    let query = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names}, 'version')");
    Ok(all::<(String, String), _>(conn.query_iter(query).await?).await?.into_iter().collect())
}

/// Lines of an option file.
fn set_up(settings: &BTreeMap<String, String>) -> Vec<String> {
    let line = |(name, value): (&String, &String)| match (name.as_str(), value.as_str()) {
        // A value would be the name of the file.
        ("log_bin", "OFF") => "skip_log_bin".into(),
        ("log_bin", _) => "log_bin".into(),
        // The variable's name is that of no option.
        ("tx_isolation", level) => format!("transaction_isolation = {level}"),
        _ => format!("{name} = {value}"),
    };
    std::iter::once("[mysqld]".to_owned()).chain(settings.iter().map(line)).collect()
}

fn durability(settings: &BTreeMap<String, String>) -> Durability {
    match settings.get("innodb_flush_log_at_trx_commit").map(String::as_str) {
        Some("0") => Durability::None,
        Some("2") => Durability::Second,
        // 3 is MariaDB's: as 1, with one sync more for the binary log.
        _ => DURABILITIES[0],
    }
}

impl MySql {
    /// Asks the server something on a connection of its own.
    fn ask<T>(
        &self,
        patience: Duration,
        question: impl AsyncFnOnce(&mut Conn) -> mysql_async::Result<T>,
    ) -> Result<T, StoreError> {
        brief(&self.place, patience, async {
            let mut conn = enter(&self.place, self.opts.clone()).await?;
            let answer = question(&mut conn).await;
            let _ = conn.disconnect().await;
            answer.map_err(|error| StoreError::open(&self.place, error))
        })
    }
}

impl Store for MySql {
    store::of_driver!(capabilities, resent);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        self.believing_session(plan, self.capabilities.max_value_bytes as u64)
    }

    fn believing_session(&self, plan: SessionPlan, largest_reply_bytes: u64) -> Result<Box<dyn Session>, StoreError> {
        Async::session(plan, async |_| {
            let mut client = Client::new(&self.opts, largest_reply_bytes, self.resent.clone());
            client.connect().await.map_err(|error| StoreError::open(&self.place, error))?;
            Ok(client)
        })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut config = self.ask(SETUP_TIMEOUT, async |conn| settings(conn).await)?;
        let version = config.remove("version").unwrap_or_default();
        let set_up = set_up(&config);
        let product = Product::of_version(&version).name().to_owned();
        config.insert("connections".into(), "one a slot (the protocol does not pipeline)".into());
        config.insert("driver".into(), "mysql_async".into());
        Ok(Facts { product, version: number(&version).to_owned(), config, set_up })
    }

    fn belongings(&self) -> Belongings<'_> {
        Belongings::Own(self)
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: Some(self), ..Maintenance::default() }
    }

    fn reduces(&self) -> Option<&dyn Reduce> {
        Some(self)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let count = "SELECT (SELECT COUNT(*) FROM kvtrial_kv) + (SELECT COUNT(*) FROM kvtrial_counters) \
            + (SELECT COUNT(DISTINCT k) FROM kvtrial_fields)";
        let keys = self.ask(COUNT_PATIENCE, async |conn| all::<u64, _>(conn.query_iter(count).await?).await)?;
        Ok(Holding { keys: keys.first().copied(), ..Holding::default() })
    }
}

impl OwnTables for MySql {
    fn names(&self) -> Vec<String> {
        let database = self.opts.db_name().unwrap_or_default();
        TABLES.iter().map(|(table, _)| format!("table {database}.{table}")).collect()
    }

    fn rows(&self) -> Result<u64, StoreError> {
        let counts = TABLES.map(|(table, _)| format!("(SELECT COUNT(*) FROM {table})")).join(" + ");
        let rows = self
            .ask(SETUP_TIMEOUT, async |conn| all::<u64, _>(conn.query_iter(format!("SELECT {counts}")).await?).await)?;
        Ok(rows.first().copied().unwrap_or(0))
    }

    fn clear(&self) -> Result<(), StoreError> {
        self.ask(SETUP_TIMEOUT, async |conn| {
            for (table, columns) in TABLES {
                conn.query_drop(format!("DROP TABLE IF EXISTS {table}")).await?;
                conn.query_drop(format!("CREATE TABLE {table} ({columns}) ENGINE=InnoDB")).await?;
            }
            Ok(())
        })
    }

    /// Leaves the database: it may be older than the run, and may be granted to somebody.
    fn unmake(&self) -> Result<(), StoreError> {
        let tables = TABLES.map(|(table, _)| table).join(", ");
        self.ask(SETUP_TIMEOUT, async |conn| conn.query_drop(format!("DROP TABLE IF EXISTS {tables}")).await)
    }
}

impl Compact for MySql {
    /// Rewrites the table and swaps the files, as InnoDB does.
    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        self.ask(patience, async |conn| conn.query_drop("OPTIMIZE TABLE kvtrial_kv").await)
    }
}

impl Reduce for MySql {
    /// Groups are compared as bytes: the collations of text would put `a` and `A` into one.
    fn reduce(&self, reduction: &Reduction, patience: Duration) -> Result<Vec<ReductionGroup>, StoreError> {
        let field = |path: String| format!("JSON_VALUE(CONVERT(v USING utf8mb4), '{path}')");
        let query = format!(
            "SELECT CAST({} AS BINARY) AS g, COUNT(*), CAST(SUM(CAST({} AS SIGNED)) AS SIGNED) FROM kvtrial_kv GROUP BY g",
            field(reduction.group.sql_json()),
            field(reduction.sum.sql_json())
        );
        let rows: Vec<(Vec<u8>, u64, i64)> =
            self.ask(patience, async |conn| all(conn.query_iter(query).await?).await)?;
        let group = |(key, count, sum): (Vec<u8>, u64, i64)| ReductionGroup {
            key: String::from_utf8_lossy(&key).into_owned(),
            count,
            sum,
        };
        Ok(rows.into_iter().map(group).collect())
    }
}
