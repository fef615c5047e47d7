//! InnoDB without SQL: MariaDB's HandlerSocket plugin over TCP, in its own protocol of lines and tabs.
//!
//! A value is a row of the table `kvtrial.kvtrial_kv`, seen in SQL at once. Everything goes to the plugin's port for writing, reads
//! too, so that a client reads what it wrote on one connection. Requests of a batch share one transaction there.
//!
//! | level | `innodb_flush_log_at_trx_commit` | what a crash loses |
//! |---|---|---|
//! | `commit` (the server's default) | 1: log written and synced at each commit | nothing acknowledged |
//! | `second` | 2: log written at each commit, synced once per second | nothing when the process is killed, one second at a power cut |
//! | `none` | 0, no doublewrite buffer, no sync at all | a second at a kill, anything at a power cut |
//!
//! The protocol does not tell the level, and makes no tables: the user's own server is taken to have the level asked for, and must
//! have `kvtrial_kv` and `kvtrial_counters` in the database of the URL (or in `kvtrial`), where nothing else is touched. The password of
//! the URL is the server's `handlersocket_plain_secret_wr`.

mod count;
mod line;
mod protocol;
mod sweep;

use ground::mariadb;
use protocol::{Greeting, HandlerSocket, KEY_BYTES};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::wire::{self, Talk};
use store::{
    Availability, Capabilities, CommandLine, Counter, Deployment, Endpoint, Facts, Holding, LevelKnown, Opener,
    OperationKind, OperationSet, OptionInfo, Overflow, Place, ServerPlan, Session, SessionPlan, Store, StoreError,
    StoreInfo, Sweep, Swept, Threading, Worded, programs,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str = "apt-get install mariadb-server";
const DURABILITIES: &[Durability] = &[Durability::Commit, Durability::Second, Durability::None];
const USUAL_PORT: u16 = 9999;

/// Where distributions keep the server's plugins.
const PLUGINS: [&str; 3] = ["/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/lib64/mariadb/plugin"];

/// kvtrial's own limit: a value, its escapes and the server's copies of it take memory several times.
const MAX_VALUE_BYTES: usize = 16 << 20;

/// The number of keys asked for at once: the answers to that many fit a socket's buffer while the requests are sent.
const SWEPT_AT_ONCE: usize = 250;

/// The number of versions a connection has for its writes.
const VERSIONS: u64 = 1 << 32;

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::CompareAndSet,
        OperationKind::GetMany,
        OperationKind::PutMany,
        OperationKind::Scan,
    ]),
    max_key_bytes: KEY_BYTES,
    max_value_bytes: MAX_VALUE_BYTES,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Wraps }),
    ..Capabilities::BASIC
};

const THREADS: Worded<u8> = OptionInfo::text("threads", "threads of the plugin that write")
    .usual("1")
    .worded(|text| text.parse().ok().filter(|threads| *threads > 0), "1 to 255");
const BUFFER_POOL: OptionInfo =
    OptionInfo::text("innodb_buffer_pool_size", "memory for pages, bytes").usual("134217728");

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "handlersocket",
    family: "handlersocket",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "rows",
    summary: "InnoDB through MariaDB's HandlerSocket plugin, over TCP",
    durabilities: DURABILITIES,
    options: &[THREADS.info, BUFFER_POOL],
    install: INSTALL,
    licence: "GPL-2.0",
    declares: |_| CAPABILITIES,
    probe,
    opener: Opener::Server { plan, connect, usual_port: USUAL_PORT },
}];

fn program() -> Option<PathBuf> {
    programs::find(&["mariadbd"], &[])
}

fn plugin() -> Option<PathBuf> {
    PLUGINS
        .map(Path::new)
        .into_iter()
        .find(|directory| directory.join("handlersocket.so").is_file())
        .map(Path::to_owned)
}

fn probe() -> Availability {
    let Some(program) = program() else { return Availability::NotFound("mariadbd".into()) };
    if plugin().is_none() {
        return Availability::NotFound("MariaDB's plugin handlersocket.so".into());
    }
    // "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
    let line = programs::version_line(&program, &["--no-defaults", "--version"]).unwrap_or_default();
    match line.split_whitespace().skip_while(|word| *word != "Ver").nth(1).and_then(|word| word.split('-').next()) {
        Some(version) => Availability::Found(format!("MariaDB {version}")),
        None => Availability::NotFound(format!("{} does not state its version", program.display())),
    }
}

/// The statements that make the tables, at each start, where they are not there.
const SETUP: &str = "CREATE DATABASE IF NOT EXISTS kvtrial;
CREATE TABLE IF NOT EXISTS kvtrial.kvtrial_kv (k VARBINARY(1536) NOT NULL PRIMARY KEY, v LONGBLOB NOT NULL, ver BIGINT NOT NULL) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS kvtrial.kvtrial_counters (k VARBINARY(1536) NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB;
";

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let not_found =
        |what: &str| StoreError::NotFound { store: spec.name.clone(), what: what.into(), install: INSTALL.into() };
    let server = program().ok_or_else(|| not_found("mariadbd"))?;
    let installer = programs::find(&["mariadb-install-db"], &[]).ok_or_else(|| not_found("mariadb-install-db"))?;
    let plugins = plugin().ok_or_else(|| not_found("MariaDB's plugin handlersocket.so"))?;
    let below = |name: &str| place.directory.join(name);
    let (data, log, setup, options) = (below("data"), below("server.log"), below("setup.sql"), below("options.cnf"));
    let prepare = CommandLine::new(installer)
        .arg("--no-defaults")
        .arg(option("--datadir", &data))
        .args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
    let threads = THREADS.read(spec)?;
    let (port, reading_port) = (place.port()?, place.port()?);
    // Read before any other option, and nothing of the machine's own configuration.
    let run = CommandLine::new(server).arg(option("--defaults-file", &options)).arg(option("--datadir", &data));
    let mut run = mariadb::locked(run, place, &setup)
        .arg(option("--log-error", &log))
        .arg(option("--pid-file", &place.directory.join("server.pid")))
        .arg(option("--socket", &place.directory.join("mysql.sock")))
        .arg(option("--tmpdir", &place.directory))
        .arg(option("--plugin-dir", &plugins))
        .args(["--skip-networking", "--skip-log-bin", "--max-connections=200"])
        .args(["--plugin-load-add=handlersocket.so", "--plugin-maturity=unknown"])
        .args(["--loose-handlersocket-address=127.0.0.1", "--loose-handlersocket-threads=1"])
        .arg(format!("--loose-handlersocket-threads-wr={threads}"))
        .arg(format!("--loose-handlersocket-port={reading_port}"))
        .arg(format!("--loose-handlersocket-port-wr={port}"))
        .args(durability_args(spec.durability.unwrap_or(DURABILITIES[0])));
    if let Some(bytes) = BUFFER_POOL.asked(spec) {
        run = run.arg(format!("--innodb-buffer-pool-size={bytes}"));
    }
    let secret = place.secret.reveal();
    let content = format!(
        "[mariadbd]\nloose-handlersocket-plain-secret={secret}\nloose-handlersocket-plain-secret-wr={secret}\n"
    );
    let statements = format!("{SETUP}{}", mariadb::accounts(mariadb::Users::OF_MARIADB, &place.secret));
    let endpoint = Endpoint { password: Some(place.secret.clone()), ..Endpoint::loopback(port) };
    Ok(ServerPlan {
        directories: vec![mariadb::NOWHERE.into()],
        files: vec![(setup, statements), (options, content)],
        prepare: vec![prepare],
        user: Some(mariadb::USER),
        log: Some(log),
        start_timeout: Duration::from_secs(60),
        ..ServerPlan::new(run, endpoint)
    }
    .into())
}

/// Returns a number that is different each time.
fn fresh_number() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Returns `--name=path`.
fn option(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(name);
    text.push("=");
    text.push(path);
    text
}

fn durability_args(level: Durability) -> &'static [&'static str] {
    match level {
        Durability::Commit => &["--innodb-flush-log-at-trx-commit=1"],
        Durability::Second | Durability::Os => &["--innodb-flush-log-at-trx-commit=2"],
        Durability::None => {
            &["--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite", "--innodb-flush-method=nosync"]
        }
    }
}

struct Rows {
    endpoint: Endpoint,
    greeting: Greeting,
    capabilities: Capabilities,
    level: &'static str,
    is_private: bool,
    /// The first version of the next connection.
    versions: Arc<AtomicU64>,
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    if let (Target::Server(_), Some(option)) = (&spec.target, spec.options.keys().next()) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("{option}= is for a private server; start yours with it, and leave it out here"),
        });
    }
    let durability = spec.durability.unwrap_or(DURABILITIES[0]);
    let level = match (&spec.target, durability) {
        (Target::Server(_), _) => "as yours was started; the protocol does not tell",
        (_, Durability::Commit) => "1 (as started)",
        (_, Durability::Second | Durability::Os) => "2 (as started)",
        (_, Durability::None) => "0 (as started)",
    };
    let greeting = Greeting {
        secret: endpoint.password.as_ref().map(|secret| secret.reveal().to_owned()),
        database: endpoint.database.clone().unwrap_or_else(|| "kvtrial".into()),
    };
    // From the clock, so that a later run has other numbers; each connection gets a range of four billion.
    let versions = Arc::new(AtomicU64::new((fresh_number() >> 2) & !(VERSIONS - 1)));
    let capabilities = Capabilities { durability, level: LevelKnown::where_private(spec), ..CAPABILITIES };
    let is_private = spec.target == Target::Private;
    let rows = Rows { endpoint: endpoint.clone(), greeting, capabilities, level, is_private, versions };
    Talk::open(endpoint, rows.codec())?;
    Ok(Box::new(rows))
}

impl Rows {
    fn codec(&self) -> HandlerSocket {
        HandlerSocket::new(self.greeting.clone(), self.versions.fetch_add(VERSIONS, Ordering::Relaxed))
    }
}

impl Store for Rows {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let (greeting, versions) = (self.greeting.clone(), Arc::clone(&self.versions));
        wire::session(&self.endpoint, plan, move || {
            HandlerSocket::new(greeting.clone(), versions.fetch_add(VERSIONS, Ordering::Relaxed))
        })
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        if keys.iter().any(|key| key.len() > KEY_BYTES) {
            return Ok(None); // the server would cut it off, and find another; the codec refuses it
        }
        let mut talk = Talk::open(&self.endpoint, self.codec())?;
        let mut all = Swept::default();
        for (number, keys) in keys.chunks(SWEPT_AT_ONCE).enumerate() {
            let mut request = Vec::new();
            sweep::push_sweep(&mut request, sweep, keys);
            let found = talk.ask(&request, |input| sweep::swept(sweep, keys.len(), input))?;
            all.there += found.there;
            all.first = all.first.or(found.first.map(|place| number * SWEPT_AT_ONCE + place));
        }
        Ok(Some(all))
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let mut talk = Talk::open(&self.endpoint, self.codec())?;
        let keys = count::rows(&mut talk, &self.greeting.database)?;
        Ok(Holding { keys: Some(keys), ..Holding::default() })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Talk::open(&self.endpoint, self.codec())?;
        // The protocol has no request for it; a private server is the one that was found.
        let version = match probe() {
            Availability::Found(found) if self.is_private => found.rsplit(' ').next().unwrap_or_default().to_owned(),
            _ => "not told".to_owned(),
        };
        let text = |text: &str| text.to_owned();
        let config = BTreeMap::from([
            (text("protocol"), text("HandlerSocket, the port for writing")),
            (text("innodb_flush_log_at_trx_commit"), text(self.level)),
            (text("connections"), text("one per client, shared by its slots (pipelined)")),
        ]);
        Ok(Facts { product: "MariaDB, HandlerSocket".into(), version, config, ..Facts::default() })
    }
}
