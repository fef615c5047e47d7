//! InnoDB without SQL: the memcached plugin of MySQL 8.0, over TCP or a unix socket, in the classic text protocol.
//!
//! A value is a row of the table `kvtrial.kvtrial_kv`, put there by the plugin; SQL sees it as soon as it is acknowledged, for each
//! write is a transaction of its own (`daemon_memcached_w_batch_size=1`). MySQL has the plugin up to 8.2; MariaDB has none.
//!
//! | level | `innodb_flush_log_at_trx_commit` | what a crash loses |
//! |---|---|---|
//! | `commit` (the server's default) | 1: log written and synced at each commit | nothing acknowledged |
//! | `second` | 2: log written at each commit, synced once per second | nothing when the process is killed, one second at a power cut |
//! | `none` | 0, no doublewrite buffer, files not synced | a second at a kill, anything at a power cut |
//!
//! The plugin takes only the lowest 32 bits of what a counter is to grow by, and says nothing (8.0.33: `incr n 1099511627776` adds 0).
//! So counters are not declared: a job that counts does it by compare-and-set, and says so.
//!
//! How many rows there are cannot be asked: the plugin's `stats` count the items of the cache in front of the table, which is off.
//!
//! SQL is spoken over a socket in the private directory only, by an account with a password; as root kvtrial runs the server as the user
//! `mysql`. The memcached inside asks nobody for a password.
//!
//! The protocol does not tell the level: the user's own server is taken to have the one asked for.

use crate::memcached::{ItemCount, Speaker};
use ground::mariadb;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{
    Availability, Capabilities, CommandLine, Deployment, Endpoint, LevelKnown, Opener, OperationKind, OperationSet,
    OptionInfo, Place, ServerPlan, Store, StoreError, StoreInfo, programs,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str = "unpack MySQL 8.0 (with its lib/plugin) where the user mysql may read it, and name its bin/mysqld in \
                       KVTRIAL_MYSQLD, or by program=PATH";
const DURABILITIES: &[Durability] = &[Durability::Commit, Durability::Second, Durability::None];

/// The environment variable with the path of a `mysqld` that has the plugin.
const MYSQLD: &str = "KVTRIAL_MYSQLD";

/// The largest item: the server's option `-I`, with room for key and header.
const ITEM: &str = "8m";
const MAX_VALUE_BYTES: usize = (8 << 20) - (1 << 10);

const PROGRAM: OptionInfo =
    OptionInfo::text("program", "the mysqld to start").otherwise("KVTRIAL_MYSQLD, or the one on PATH");
const BUFFER_POOL: OptionInfo =
    OptionInfo::text("innodb_buffer_pool_size", "memory for pages, bytes").usual("134217728");
const OPTIONS: &[OptionInfo] = &[PROGRAM, BUFFER_POOL];

const TCP: StoreInfo = StoreInfo {
    name: "mysql-memcached",
    family: "mysql-memcached",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "rows",
    summary: "InnoDB through MySQL's memcached plugin, over TCP",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: "GPL-2.0",
    declares: |_| capabilities(),
    probe,
    opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Tcp), connect, usual_port: 11211 },
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    TCP,
    StoreInfo {
        name: "mysql-memcached-unix",
        transport: Some(Transport::Unix),
        summary: "InnoDB through MySQL's memcached plugin, over a unix socket",
        opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Unix), connect, usual_port: 11211 },
        ..TCP
    },
];

fn capabilities() -> Capabilities {
    let native = OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::Append,
        OperationKind::CompareAndSet,
        OperationKind::GetMany,
        OperationKind::PutMany,
    ]);
    Capabilities { native, counter: None, max_value_bytes: MAX_VALUE_BYTES, ..Speaker::CAPABILITIES }
}

/// Returns the first program that may be meant.
fn program(spec: &Spec) -> Option<PathBuf> {
    let named = PROGRAM.asked(spec).map(PathBuf::from);
    let named = named.or_else(|| std::env::var_os(MYSQLD).map(PathBuf::from));
    match named {
        Some(path) => path.canonicalize().ok().filter(|path| path.is_file()),
        None => programs::find(&["mysqld"], &[]),
    }
}

/// Returns the directory of the plugin that belongs to a `mysqld`.
fn plugins(program: &Path) -> Option<PathBuf> {
    let base = program.parent()?.parent()?;
    let found = ["lib/plugin", "lib/mysql/plugin", "lib64/mysql/plugin"].map(|below| base.join(below));
    found
        .into_iter()
        .find(|directory| directory.join("libmemcached.so").is_file() && directory.join("innodb_engine.so").is_file())
}

fn probe() -> Availability {
    let missing = "a mysqld with the memcached plugin (MySQL 8.0; MariaDB has none)";
    let Some(program) = program(&Spec::private(TCP.name)) else { return Availability::NotFound(missing.into()) };
    if plugins(&program).is_none() {
        return Availability::NotFound(format!("{missing}; {} has no libmemcached.so beside it", program.display()));
    }
    // "/opt/mysql/bin/mysqld  Ver 8.0.33 for Linux on x86_64 (MySQL Community Server - GPL)"
    let line = programs::version_line(&program, &["--no-defaults", "--version"]).unwrap_or_default();
    match line.split_whitespace().skip_while(|word| *word != "Ver").nth(1) {
        Some(version) => Availability::Found(format!("MySQL {version}")),
        None => Availability::NotFound(format!("{} does not start: it states no version", program.display())),
    }
}

fn plan(spec: &Spec, place: &mut Place, transport: Transport) -> Result<Deployment, StoreError> {
    let not_found = |what: String| StoreError::NotFound { store: spec.name.clone(), what, install: INSTALL.into() };
    let program = program(spec)
        .ok_or_else(|| not_found(PROGRAM.asked(spec).unwrap_or("mysqld with the memcached plugin").into()))?;
    let plugins = plugins(&program)
        .ok_or_else(|| not_found(format!("lib/plugin/libmemcached.so beside {}", program.display())))?;
    let setup = place.directory.join("setup.sql");
    let accounts = place.directory.join("accounts.sql");
    let log = place.directory.join("server.log");
    let prepare = command(&program, place)
        .arg("--initialize-insecure")
        .arg(option("--init-file", &setup))
        .arg(option("--log-error", &log));
    let mut daemon = format!("-I {ITEM} -c 16384 ");
    let mut run = mariadb::locked(command(&program, place), place, &accounts)
        .arg(option("--log-error", &log))
        .arg(option("--pid-file", &place.directory.join("server.pid")))
        .arg(option("--socket", &place.directory.join("mysql.sock")))
        .arg(option("--tmpdir", &place.directory))
        .arg(option("--plugin-dir", &plugins))
        .args([
            "--skip-networking",
            "--skip-log-bin",
            "--mysqlx=OFF",
            "--performance-schema=OFF",
            "--max-connections=200",
        ])
        .arg("--plugin-load-add=daemon_memcached=libmemcached.so")
        .args(durability_args(spec.durability.unwrap_or(DURABILITIES[0])));
    if let Some(bytes) = BUFFER_POOL.asked(spec) {
        run = run.arg(format!("--innodb-buffer-pool-size={bytes}"));
    }
    let endpoint = match transport {
        Transport::Tcp => {
            let port = place.port()?;
            daemon += &format!("-l127.0.0.1 -p{port} -U0");
            Endpoint::loopback(port)
        }
        Transport::Unix => {
            let socket = place.directory.join("memcached.sock");
            daemon += &format!("-s {} -a 0700", socket.display());
            Endpoint::unix(socket)
        }
    };
    Ok(ServerPlan {
        directories: vec![mariadb::NOWHERE.into()],
        files: vec![(setup, SETUP.join("\n")), (accounts, mariadb::accounts(mariadb::Users::OF_MYSQL, &place.secret))],
        prepare: vec![prepare],
        // The memcached inside refuses to be root, and takes the server with it.
        user: Some(mariadb::USER),
        log: Some(log),
        start_timeout: Duration::from_secs(120),
        ..ServerPlan::new(run.arg(format!("--loose-daemon-memcached-option={daemon}")), endpoint)
    }
    .into())
}

/// Returns the command line that every start of the program has: a place of its own, and none of the machine's configuration.
fn command(program: &Path, place: &Place) -> CommandLine {
    let base = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    CommandLine::new(program)
        .arg("--no-defaults")
        .arg(option("--basedir", base))
        .arg(option("--datadir", &place.directory.join("data")))
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
        Durability::None => &[
            "--innodb-flush-log-at-trx-commit=0",
            "--skip-innodb-doublewrite",
            "--innodb-flush-method=O_DIRECT_NO_FSYNC",
        ],
    }
}

/// The statements that make the plugin's own tables, as the plugin wants them, and ours, one statement per line: the server reads them when it makes
/// its data.
const SETUP: [&str; 10] = [
    "CREATE DATABASE innodb_memcache;",
    "CREATE TABLE innodb_memcache.cache_policies (policy_name VARCHAR(40) PRIMARY KEY, \
     get_policy ENUM('innodb_only','cache_only','caching','disabled') NOT NULL, \
     set_policy ENUM('innodb_only','cache_only','caching','disabled') NOT NULL, \
     delete_policy ENUM('innodb_only','cache_only','caching','disabled') NOT NULL, \
     flush_policy ENUM('innodb_only','cache_only','caching','disabled') NOT NULL) ENGINE=InnoDB;",
    "CREATE TABLE innodb_memcache.containers (name VARCHAR(50) NOT NULL PRIMARY KEY, db_schema VARCHAR(250) NOT NULL, \
     db_table VARCHAR(250) NOT NULL, key_columns VARCHAR(250) NOT NULL, value_columns VARCHAR(250), \
     flags VARCHAR(250) NOT NULL DEFAULT '0', cas_column VARCHAR(250), expire_time_column VARCHAR(250), \
     unique_idx_name_on_key VARCHAR(250) NOT NULL) ENGINE=InnoDB;",
    "CREATE TABLE innodb_memcache.config_options (name VARCHAR(50) NOT NULL PRIMARY KEY, value VARCHAR(50)) ENGINE=InnoDB;",
    "INSERT INTO innodb_memcache.cache_policies VALUES \
     ('cache_policy', 'innodb_only', 'innodb_only', 'innodb_only', 'innodb_only');",
    "INSERT INTO innodb_memcache.config_options VALUES ('separator', '|'), ('table_map_delimiter', '.');",
    "CREATE DATABASE kvtrial;",
    "CREATE TABLE kvtrial.kvtrial_kv (k VARCHAR(250) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL PRIMARY KEY, \
     v LONGBLOB, flags INT NOT NULL DEFAULT 0, cas BIGINT UNSIGNED NOT NULL DEFAULT 0, exp INT NOT NULL DEFAULT 0) ENGINE=InnoDB;",
    "INSERT INTO innodb_memcache.containers VALUES \
     ('default', 'kvtrial', 'kvtrial_kv', 'k', 'v', 'flags', 'cas', 'exp', 'PRIMARY');",
    "",
];

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    if let (Target::Server(_), Some(option)) = (&spec.target, spec.options.keys().next()) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("{option}= is for a private server; start yours with it, and leave it out here"),
        });
    }
    let durability = spec.durability.unwrap_or(DURABILITIES[0]);
    let capabilities = Capabilities { durability, level: LevelKnown::where_private(spec), ..capabilities() };
    let level = match (&spec.target, durability) {
        (Target::Server(_), _) => "as yours was started; the protocol does not tell",
        (_, Durability::Commit) => "1 (as started)",
        (_, Durability::Second | Durability::Os) => "2 (as started)",
        (_, Durability::None) => "0 (as started)",
    };
    let speaker = Speaker::connect(endpoint, "MySQL, InnoDB memcached plugin", ItemCount::NotSaid, capabilities)?;
    Ok(Box::new(speaker.with_fact("innodb_flush_log_at_trx_commit", level)))
}
