//! MariaDB or MySQL over TCP or a unix socket, through the `mysql_async` driver (feature `mysql`): prepared statements on InnoDB tables.
//!
//! | level | `innodb_flush_log_at_trx_commit` | what a crash loses |
//! |---|---|---|
//! | `commit` (the server's default) | 1: log written and synced at each commit | nothing acknowledged |
//! | `second` | 2: log written at each commit, synced once per second | nothing when the process is killed, one second at a power cut |
//! | `none` | 0, no doublewrite buffer, no sync at all (MariaDB) | a second at a kill, anything at a power cut |
//!
//! The protocol does not pipeline, so each slot has a connection of its own. On the user's server the tables `kvtrial_kv`,
//! `kvtrial_counters` and `kvtrial_fields` are kvtrial's in the database of the URL (or in `kvtrial`); nothing else is touched. With
//! rows in them a run needs `--overwrite`.

#[cfg(feature = "mysql")]
mod bounded;
#[cfg(feature = "mysql")]
mod client;
#[cfg(feature = "mysql")]
mod setup;

use ground::mariadb;
use ground::{built, driver};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Availability, Capabilities, CommandLine, Counter, Deployment, Endpoint, Opener, OperationKind, OperationSet,
    OptionInfo, Overflow, Place, ServerPlan, StoreError, StoreInfo, Support, programs,
};
use study::{Class, Durability, Spec, Transport};

const INSTALL: &str = "apt-get install mariadb-server";
const SERVERS: [&str; 2] = ["mariadbd", "mysqld"];
const DURABILITIES: &[Durability] = &[Durability::Commit, Durability::Second, Durability::None];

/// The largest packet a private server takes: the longest value it stores.
const MAX_PACKET_BYTES: usize = 64 << 20;

/// The longest key: with a field of the same length it fills InnoDB's longest index entry, 3,072 bytes.
const MAX_KEY_BYTES: usize = 1536;

/// The capabilities of a private server.
const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::of(&OperationKind::ALL),
    max_key_bytes: MAX_KEY_BYTES,
    max_value_bytes: MAX_PACKET_BYTES,
    value_limit_is_hard: true,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    compaction: Support::Native,
    reduction: Support::Native,
    ..Capabilities::BASIC
};

const TCP: StoreInfo = StoreInfo {
    name: "mysql",
    family: "mysql",
    transport: Some(Transport::Tcp),
    driver: driver!("mysql"),
    class: Class::Network,
    kind: "SQL",
    summary: "MariaDB or MySQL (InnoDB) over TCP",
    durabilities: DURABILITIES,
    options: &[
        OptionInfo::text("innodb_buffer_pool_size", "memory for pages, bytes").usual("134217728").tuned(&[
            "134217728",
            "33554432",
            "536870912",
        ]),
        OptionInfo::one_of(
            "innodb_flush_method",
            &["O_DIRECT", "fsync"],
            "how files are written (not at durability=none)",
        )
        .tuned(&["O_DIRECT", "fsync"]),
        OptionInfo::text("innodb_log_file_size", "bytes of the log")
            .usual("100663296")
            .tuned(&["100663296", "536870912"]),
        TLS,
        CA,
    ],
    install: INSTALL,
    licence: "GPL-2.0",
    declares: |_| CAPABILITIES,
    probe,
    opener: Opener::Server {
        plan: |spec, place| plan(spec, place, Transport::Tcp),
        connect: built!("mysql", setup::connect),
        usual_port: 3306,
    },
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    TCP,
    StoreInfo {
        name: "mysql-unix",
        transport: Some(Transport::Unix),
        summary: "MariaDB or MySQL (InnoDB) over a unix socket",
        opener: Opener::Server {
            plan: |spec, place| plan(spec, place, Transport::Unix),
            connect: built!("mysql", setup::connect),
            usual_port: 3306,
        },
        ..TCP
    },
];

/// The product of a server: the products are set up differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Product {
    MariaDb,
    MySql,
}

impl Product {
    fn name(self) -> &'static str {
        match self {
            Product::MariaDb => "MariaDB",
            Product::MySql => "MySQL",
        }
    }

    /// Returns where the server keeps its users, and which of them it needs itself.
    fn users(self) -> mariadb::Users {
        match self {
            Product::MariaDb => mariadb::Users::OF_MARIADB,
            Product::MySql => mariadb::Users::OF_MYSQL,
        }
    }

    /// Returns the product from a version such as `10.11.19-MariaDB-0+deb12u1` or `8.0.33`.
    fn of_version(version: &str) -> Product {
        if version.contains("MariaDB") { Product::MariaDb } else { Product::MySql }
    }
}

fn probe() -> Availability {
    let Some(program) = programs::find(&SERVERS, &[]) else { return Availability::NotFound(SERVERS.join(" or ")) };
    match version(&program) {
        Some(version) => Availability::Found(format!("{} {}", Product::of_version(&version).name(), number(&version))),
        None => Availability::NotFound(format!("{} does not state its version", program.display())),
    }
}

/// Reads the version from `mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)`.
fn version(program: &Path) -> Option<String> {
    let line = programs::version_line(program, &["--no-defaults", "--version"])?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "Ver");
    words.nth(1).map(str::to_owned)
}

/// Returns the number at the start of a version.
fn number(version: &str) -> &str {
    version.split('-').next().unwrap_or(version)
}

fn plan(spec: &Spec, place: &mut Place, transport: Transport) -> Result<Deployment, StoreError> {
    let not_found =
        |what: &str| StoreError::NotFound { store: spec.name.clone(), what: what.into(), install: INSTALL.into() };
    let server = programs::find(&SERVERS, &[]).ok_or_else(|| not_found("mariadbd or mysqld"))?;
    let product = Product::of_version(&version(&server).unwrap_or_default());
    let data = place.directory.join("data");
    let log = place.directory.join("server.log");
    let accounts = place.directory.join("accounts.sql");
    let prepare = match product {
        Product::MariaDb => {
            let installer = programs::find(&["mariadb-install-db", "mysql_install_db"], &[]);
            let installer = installer.ok_or_else(|| not_found("mariadb-install-db"))?;
            command(installer, &data).args(["--auth-root-authentication-method=normal", "--skip-test-db"])
        }
        Product::MySql => command(server.clone(), &data).arg("--initialize-insecure"),
    };
    let mut run = mariadb::locked(command(server, &data), place, &accounts)
        .arg(option("--log-error", &log))
        .arg(option("--pid-file", &place.directory.join("server.pid")))
        .arg(option("--tmpdir", &place.directory))
        .args(["--skip-log-bin", "--max-connections=2000", "--loose-mysqlx=OFF"])
        .arg(format!("--max-allowed-packet={MAX_PACKET_BYTES}"))
        .args(durability_args(spec.durability.unwrap_or(DURABILITIES[0]), product));
    for (name, value) in &spec.options {
        run = run.arg(format!("--{}={value}", name.replace('_', "-")));
    }
    let endpoint = match transport {
        Transport::Tcp => {
            let port = place.port()?;
            run = run.arg("--bind-address=127.0.0.1").arg(format!("--port={port}"));
            run = run.arg(option("--socket", &place.directory.join("unused.sock")));
            Endpoint::loopback(port)
        }
        Transport::Unix => {
            let socket = place.directory.join("mysql.sock");
            run = run.arg("--skip-networking").arg(option("--socket", &socket));
            Endpoint::unix(socket)
        }
    };
    Ok(ServerPlan {
        directories: vec![mariadb::NOWHERE.into()],
        files: vec![(accounts, mariadb::accounts(product.users(), &place.secret))],
        prepare: vec![prepare],
        user: Some(mariadb::USER),
        log: Some(log),
        start_timeout: Duration::from_secs(60),
        ..ServerPlan::new(run, endpoint.with_login(mariadb::LOGIN, place.secret.clone()))
    }
    .into())
}

fn command(program: PathBuf, data: &Path) -> CommandLine {
    // Read before any other option: the machine's own configuration must not play in.
    CommandLine::new(program).arg("--no-defaults").arg(option("--datadir", data))
}

/// Returns `--name=path`.
fn option(name: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(name);
    text.push("=");
    text.push(path);
    text
}

fn durability_args(level: Durability, product: Product) -> &'static [&'static str] {
    match (level, product) {
        (Durability::Commit, _) => &["--innodb-flush-log-at-trx-commit=1"],
        (Durability::Second | Durability::Os, _) => &["--innodb-flush-log-at-trx-commit=2"],
        (Durability::None, Product::MariaDb) => {
            &["--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite", "--innodb-flush-method=nosync"]
        }
        (Durability::None, Product::MySql) => &[
            "--innodb-flush-log-at-trx-commit=0",
            "--skip-innodb-doublewrite",
            "--innodb-flush-method=O_DIRECT_NO_FSYNC",
        ],
    }
}
