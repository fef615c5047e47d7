//! Connecting: login, tables, settings read back.

use super::bounded::{Believed, Bounded};
use super::client::{Client, Line};
use super::layout::{HSTORE_IN_SIGHT, LAYOUT, Layout};
use super::sets::PostgresWay;
use super::{DURABILITIES, USUAL_PORT};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use store::asynchronous::{Async, brief};
#[cfg(feature = "tls")]
use store::tls::Trust;
use store::wire::CONNECT_TIMEOUT;
use store::{
    Belongings, COUNT_PATIENCE, Capabilities, Checkpoint, Compact, Endpoint, Facts, Holding, KeepSets, Maintenance,
    OwnTables, Reduce, Reduction, ReductionGroup, Resent, Session, SessionPlan, Store, StoreError,
};
use study::{Address, Durability, Spec, Target};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};

/// The time that making the tables may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);

/// The settings that matter for speed and safety.
const SETTINGS: [&str; 14] = [
    "commit_delay",
    "default_transaction_isolation",
    "effective_io_concurrency",
    "fsync",
    "full_page_writes",
    "jit",
    "max_wal_size",
    "server_version",
    "shared_buffers",
    "synchronous_commit",
    "wal_compression",
    "wal_level",
    "wal_sync_method",
    "wal_writer_delay",
];

struct Postgres {
    endpoint: Endpoint,
    layout: Layout,
    capabilities: Capabilities,
    sets: Option<PostgresWay>,
    resent: Resent,
}

/// Connects, makes the tables, reads the level of durability the server has.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    let layout = LAYOUT.read(spec);
    let settings = brief(endpoint, SETUP_TIMEOUT, async {
        let (client, _) = enter(endpoint).await?;
        let made = make_tables(&client, layout, spec.target == Target::Private).await;
        made.map_err(|error| StoreError::open(endpoint, words(&error)))?;
        settings(endpoint, &client).await
    })?;
    let durability = durability(&settings);
    if let Some(asked) = spec.durability.filter(|asked| *asked != durability) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!(
                "durability={asked} was asked for, but the server's fsync={} and synchronous_commit={} mean {durability}; \
                 set them on the server or leave durability out",
                settings.get("fsync").map_or("?", String::as_str),
                settings.get("synchronous_commit").map_or("?", String::as_str),
            ),
        });
    }
    let capabilities = Capabilities { durability, ..super::declares(spec) };
    let endpoint = endpoint.clone();
    let sets = capabilities.sets.map(|way| PostgresWay { endpoint: endpoint.clone(), way });
    Ok(Box::new(Postgres { endpoint, layout, capabilities, sets, resent: Resent::default() }))
}

fn config(endpoint: &Endpoint) -> Config {
    let mut config = Config::new();
    // Where TLS is spoken it is below.
    config.application_name("kvtrial").ssl_mode(SslMode::Disable);
    config.user(endpoint.user.as_deref().unwrap_or("postgres"));
    if let Some(password) = &endpoint.password {
        config.password(password.reveal());
    }
    if let Some(database) = &endpoint.database {
        config.dbname(database);
    }
    config
}

/// Returns the directory and the port that the driver wants, from the socket (`/run/postgresql/.s.PGSQL.5432`) or the directory that people give.
fn socket(path: &Path) -> (&Path, u16) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match (name.strip_prefix(".s.PGSQL.").and_then(|port| port.parse().ok()), path.parent()) {
        (Some(port), Some(directory)) => (directory, port),
        _ => (path, USUAL_PORT),
    }
}

/// Opens a connection, or soon returns an error. The connection ends when the client is dropped.
pub(super) async fn enter(endpoint: &Endpoint) -> Result<(tokio_postgres::Client, Believed), StoreError> {
    match tokio::time::timeout(CONNECT_TIMEOUT, open(endpoint)).await {
        Ok(entered) => entered.map_err(|error| StoreError::open(endpoint, error)),
        Err(_) => Err(StoreError::open(endpoint, format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()))),
    }
}

/// Opens a connection whose replies are bounded, or says in words why there is none.
pub(super) async fn open(endpoint: &Endpoint) -> Result<(tokio_postgres::Client, Believed), String> {
    let config = &config(endpoint);
    let words = |error: std::io::Error| error.to_string();
    match &endpoint.address {
        Address::Tcp { host, port } => {
            let socket = TcpStream::connect((host.as_str(), port.unwrap_or(USUAL_PORT))).await.map_err(words)?;
            socket.set_nodelay(true).map_err(words)?;
            #[cfg(feature = "tls")]
            if let Some(trust) = &endpoint.tls {
                return speak(config, secret(socket, host, trust).await?).await;
            }
            speak(config, socket).await
        }
        Address::Unix(path) => {
            let (directory, port) = socket(path);
            let socket = UnixStream::connect(directory.join(format!(".s.PGSQL.{port}"))).await.map_err(words)?;
            speak(config, socket).await
        }
    }
}

/// Asks for TLS, as the protocol has it: eight bytes, and one in answer
/// (<https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL>).
#[cfg(feature = "tls")]
async fn secret(
    mut socket: TcpStream,
    host: &str,
    trust: &Trust,
) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static, String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    const ASK: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
    let words = |error: std::io::Error| error.to_string();
    socket.write_all(&ASK).await.map_err(words)?;
    match socket.read_u8().await.map_err(words)? {
        b'S' => crate::shared::tls::over(socket, host, trust).await,
        _ => Err("the server has no TLS; set ssl = on there, or leave tls=on out".into()),
    }
}

async fn speak(
    config: &Config,
    socket: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<(tokio_postgres::Client, Believed), String> {
    let (socket, believed) = Bounded::new(socket);
    let (client, connection) = config.connect_raw(socket, NoTls).await.map_err(|error| words(&error))?;
    // Not bound to the budget of one poll: a wake-up put off by it would be lost when the loop is left.
    tokio::spawn(tokio::task::unconstrained(async {
        // Its error is that of every operation in flight.
        let _ = connection.await;
    }));
    Ok((client, believed))
}

/// Makes the tables. Tables with rows stay, even with somebody else's rows: nobody has said yet that they may go. On the user's server empty tables
/// are made again, because they may have another layout.
async fn make_tables(
    client: &tokio_postgres::Client,
    layout: Layout,
    private: bool,
) -> Result<(), tokio_postgres::Error> {
    client.batch_execute(&tables(layout, "")).await?;
    if !private && rows(client, layout).await? == 0 {
        client.batch_execute(&tables(layout, DROP)).await?;
    }
    Ok(())
}

/// The beginning of a statement that makes a table again.
const DROP: &str = "DROP TABLE IF EXISTS kvtrial.";

/// Returns the statements that make the tables, each behind `before` and its name if there is such a text.
fn tables(layout: Layout, before: &str) -> String {
    let mut text = String::from("SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS kvtrial;");
    if layout == Layout::Hstore {
        text += "CREATE EXTENSION IF NOT EXISTS hstore SCHEMA kvtrial;";
        text += HSTORE_IN_SIGHT;
        text.push(';');
    }
    for (table, columns) in layout.tables() {
        if !before.is_empty() {
            text += &format!("{before}{table};");
        }
        text += &format!("CREATE TABLE IF NOT EXISTS kvtrial.{table} ({columns});");
    }
    text
}

/// Counts the rows in all of the tables.
async fn rows(client: &tokio_postgres::Client, layout: Layout) -> Result<u64, tokio_postgres::Error> {
    let counts = layout.tables().map(|(table, _)| format!("(SELECT count(*) FROM kvtrial.{table})"));
    let row = client.query_one(&format!("SELECT {}", counts.join(" + ")), &[]).await?;
    row.try_get::<_, i64>(0).map(i64::unsigned_abs)
}

/// Counts keys, counters and records of counters, in any layout.
async fn keys(client: &tokio_postgres::Client) -> Result<u64, tokio_postgres::Error> {
    let count = "SELECT (SELECT count(*) FROM kvtrial.kv) + (SELECT count(*) FROM kvtrial.counters) \
        + (SELECT count(DISTINCT k) FROM kvtrial.fields)";
    client.query_one(count, &[]).await?.try_get::<_, i64>(0).map(i64::unsigned_abs)
}

async fn settings(place: &Endpoint, client: &tokio_postgres::Client) -> Result<BTreeMap<String, String>, StoreError> {
    let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
    let query = format!("SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({names})");
    let rows = client.query(&query, &[]).await;
    let rows = rows.map_err(|error| StoreError::open(place, words(&error)))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

fn durability(settings: &BTreeMap<String, String>) -> Durability {
    let off = |name: &str| settings.get(name).is_some_and(|value| value == "off");
    match (off("fsync"), off("synchronous_commit")) {
        (false, false) => DURABILITIES[0],
        (false, true) => Durability::Second,
        (true, false) => Durability::Os,
        (true, true) => Durability::None,
    }
}

/// Returns the server's own words where there are some, else the driver's with their cause.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => format!("{} ({})", said.message(), said.code().code()),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

impl Postgres {
    /// Asks the server something on a connection of its own.
    fn ask<T>(
        &self,
        patience: Duration,
        question: impl AsyncFnOnce(&tokio_postgres::Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        brief(&self.endpoint, patience, async {
            let (client, _) = enter(&self.endpoint).await?;
            let failed = |error| StoreError::open(&self.endpoint, words(&error));
            self.layout.ready(&client).await.map_err(failed)?;
            question(&client).await.map_err(failed)
        })
    }
}

impl Store for Postgres {
    store::of_driver!(capabilities, resent);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let mut line: Option<Rc<Line>> = None;
        Async::session(plan, async |slot| {
            let shared = match &line {
                Some(line) if slot % plan.pipeline.max(1) != 0 => line.clone(),
                _ => Rc::new(Line::open(self.endpoint.clone(), self.layout).await?),
            };
            line = Some(shared.clone());
            Ok(Client::new(shared, self.resent.clone()))
        })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut config = brief(&self.endpoint, SETUP_TIMEOUT, async {
            let (client, _) = enter(&self.endpoint).await?;
            settings(&self.endpoint, &client).await
        })?;
        let version = config.remove("server_version").unwrap_or_default();
        let set_up = config.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
        let version = version.split_whitespace().next().unwrap_or_default().to_owned();
        config.insert("connections".into(), "one per client, shared by its slots (pipelined)".into());
        config.insert("driver".into(), "tokio-postgres".into());
        let (layout, values) = self.layout.describe();
        config.insert("layout".into(), layout.into());
        config.insert("values".into(), values.into());
        Ok(Facts { product: "PostgreSQL".into(), version, config, set_up })
    }

    fn belongings(&self) -> Belongings<'_> {
        Belongings::Own(self)
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: Some(self), checkpoint: Some(self) }
    }

    fn reduces(&self) -> Option<&dyn Reduce> {
        Some(self)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        self.ask(COUNT_PATIENCE, async |client| keys(client).await)
            .map(|keys| Holding { keys: Some(keys), ..Holding::default() })
    }

    fn sets(&self) -> Option<&dyn KeepSets> {
        self.sets.as_ref().map(|sets| sets as &dyn KeepSets)
    }
}

impl OwnTables for Postgres {
    fn names(&self) -> Vec<String> {
        let tables = self.layout.tables().map(|(table, _)| format!("table kvtrial.{table}"));
        std::iter::once("schema kvtrial".to_owned()).chain(tables).collect()
    }

    fn rows(&self) -> Result<u64, StoreError> {
        self.ask(SETUP_TIMEOUT, async |client| rows(client, self.layout).await)
    }

    fn clear(&self) -> Result<(), StoreError> {
        self.ask(SETUP_TIMEOUT, async |client| client.batch_execute(&tables(self.layout, DROP)).await)
    }

    /// Leaves the schema where there is more in it, such as tables of another layout.
    fn unmake(&self) -> Result<(), StoreError> {
        let drops: String = self.layout.tables().map(|(table, _)| format!("{DROP}{table};")).into_iter().collect();
        self.ask(SETUP_TIMEOUT, async |client| {
            client.batch_execute(&drops).await?;
            drop(client.batch_execute("DROP SCHEMA kvtrial RESTRICT").await);
            Ok(())
        })
    }
}

impl Compact for Postgres {
    /// Rewrites table and index into new files; the checkpoint lets go of the old ones.
    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        self.ask(patience, async |client| {
            client.batch_execute("VACUUM FULL kvtrial.kv").await?;
            client.batch_execute("CHECKPOINT").await
        })
    }
}

impl Checkpoint for Postgres {
    fn checkpoint(&self, patience: Duration) -> Result<(), StoreError> {
        self.ask(patience, async |client| client.batch_execute("CHECKPOINT").await)
    }
}

impl Reduce for Postgres {
    fn reduce(&self, reduction: &Reduction, patience: Duration) -> Result<Vec<ReductionGroup>, StoreError> {
        let rows = self.ask(patience, async |client| {
            client.query(self.layout.reduce(), &[&reduction.group.names(), &reduction.sum.names()]).await
        })?;
        let group = |row: &tokio_postgres::Row| {
            Ok(ReductionGroup { key: row.try_get(0)?, count: row.try_get::<_, i64>(1)? as u64, sum: row.try_get(2)? })
        };
        rows.iter()
            .map(group)
            .collect::<Result<_, _>>()
            .map_err(|error| StoreError::open(&self.endpoint, words(&error)))
    }
}
