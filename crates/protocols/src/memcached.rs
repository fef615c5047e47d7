//! memcached: the meta protocol over TCP or a unix socket; or, with `protocol=text`, the classic text protocol, for other servers that
//! speak it (memcachedb, Flare, Tokyo Tyrant) and know no meta commands.
//!
//! Nothing is durable. A counter is an unsigned number: it is never less than 0.
//!
//! The server appends only to values that exist, so an append here is two requests in one write: add an empty value, then append.
//! It is native all the same: the bytes are joined by one request of the server's, and the empty value changes nothing that is
//! there, so with any other appends between the two every append is there exactly once, and a key that was absent is created.
//! They are not one atomic request: another client may read an empty value in between, and where one deletes the key in between
//! (or a full server drops it) the append is refused, which is reported, never lost in silence. That costs one more request on
//! the server, none on the wire.
//!
//! Put-many is a pipeline of quiet sets in one write: only what was refused is answered, and one line ends them all.

mod facts;
mod growth;
mod meta;
mod speaker;
mod text;

pub(crate) use speaker::{ItemCount, Speaker};
pub(crate) use text::KeyText;

use facts::facts;
use growth::Growth;
use meta::Meta;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::tls::{CA, TLS};
use store::wire::{self, Talk, ascii};
use store::{
    Availability, CONNECTIONS, Capabilities, CommandLine, Connections, Counter, Deployment, Endpoint, Expiry, Facts,
    Failure, Happening, Holding, Number, Opener, OperationKind, OperationSet, OptionInfo, Overflow, Place, ServerPlan,
    Session, SessionPlan, ShownAs, Store, StoreError, StoreInfo, Threading, Witness, Worded, programs,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str = "apt-get install memcached";
const LICENCE: &str = "BSD-3-Clause";
const DURABILITIES: &[Durability] = &[Durability::None];

/// Ordinary users the server may run as when kvtrial is root: those of packages first.
const USERS: [&str; 3] = ["memcache", "memcached", "nobody"];

/// The bytes an item takes beside key and value: header, version, terminators (measured on 1.6.18: the longest value with a key of n bytes is the
/// item's limit less n + 59).
const ITEM_OVERHEAD_BYTES: usize = 59;

const PROTOCOL: OptionInfo = OptionInfo::one_of(
    "protocol",
    &["meta", "text"],
    "text: the classic commands, also of other servers by URL, such as memcachedb and Flare",
);
const MEMORY: Number = OptionInfo::text("memory", "MiB for data; a full server drops what was used least recently")
    .usual("1024")
    .within(1..=1 << 20);
const ITEM: Worded<u64> = OptionInfo::text("item", "largest item with key and overhead, e.g. 8m, up to 1024m")
    .usual("1m")
    .worded(item_bytes, "1k to 1024m");
const GROWTH_FACTOR: Worded<String> =
    OptionInfo::text("growth_factor", "ratio of the sizes of items kept together, above 1 to 16")
        .usual("1.25")
        .tuned(&["1.25", "1.05", "2.00"])
        .worded(growth_factor, "a number above 1 and up to 16");
const HASHPOWER: Number = OptionInfo::text("hashpower", "the hash table begins with 2 to this power buckets, 12 to 32")
    .usual("16")
    .tuned(&["16", "20", "22"])
    .shown("hashpower_init", ShownAs::Same)
    .within(12..=32);
const THREADS: Number = OptionInfo::text("threads", "worker threads of the server")
    .usual("4")
    .tuned(&["4", "1", "2", "8"])
    .shown("num_threads", ShownAs::Same)
    .within(1..=256);

const OPTIONS: &[OptionInfo] =
    &[PROTOCOL, MEMORY.info, ITEM.info, GROWTH_FACTOR.info, HASHPOWER.info, THREADS.info, CONNECTIONS, TLS, CA];

const TCP: StoreInfo = StoreInfo {
    name: "memcached",
    family: "memcached",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "cache",
    summary: "memcached over TCP; by URL with protocol=text other servers that speak its protocol",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: LICENCE,
    declares,
    probe,
    opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Tcp), connect, usual_port: 11211 },
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    TCP,
    StoreInfo {
        name: "memcached-unix",
        transport: Some(Transport::Unix),
        summary: "memcached over a unix socket",
        opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Unix), connect, usual_port: 11211 },
        ..TCP
    },
];

const NATIVE: OperationSet = OperationSet::BASIC.and(&[
    OperationKind::GetVersioned,
    OperationKind::Append,
    OperationKind::Increment,
    OperationKind::GetCounter,
    OperationKind::CompareAndSet,
    OperationKind::GetMany,
    OperationKind::PutMany,
    OperationKind::PutTtl,
    OperationKind::Touch,
    OperationKind::TimeLeft,
]);

/// The server's own limit of an item: key, value and overhead.
const ITEM_BYTES: usize = 1 << 20;

const CAPABILITIES: Capabilities = Capabilities {
    databases: store::Databases::Absent,
    native: NATIVE,
    min_key_bytes: 1,
    max_key_bytes: meta::KEY_BYTES,
    max_value_bytes: value_bytes(ITEM_BYTES),
    counter: Some(Counter { min: 0, max: i64::MAX, overflow: Overflow::Refused }),
    // The server's clock ticks once per second, and a time to live ends with a tick; beyond 30 days it would be taken for a date.
    expiry: Some(Expiry::in_seconds(1000, 1000, 30 * 86_400_000)),
    ..Capabilities::BASIC
};

/// Returns the longest value of an item with the longest key. A shorter key leaves room for a few bytes more, so the limit is not the server's own.
const fn value_bytes(item_bytes: usize) -> usize {
    item_bytes.saturating_sub(ITEM_OVERHEAD_BYTES + meta::KEY_BYTES)
}

/// Returns the capabilities that a spec asks for: the option `item` moves the limit of a value.
fn declares(spec: &Spec) -> Capabilities {
    let (base, overhead) =
        if is_text(spec) { (Speaker::CAPABILITIES, text::KEY_OVERHEAD_BYTES) } else { (CAPABILITIES, 0) };
    let bytes = ITEM.asked(spec).ok().flatten().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(ITEM_BYTES);
    let max_value_bytes = value_bytes(bytes).saturating_sub(overhead);
    // The classic commands do not say how long a key has left.
    let native = if is_text(spec) { NATIVE.without(&[OperationKind::TimeLeft]) } else { NATIVE };
    Capabilities { max_value_bytes, native, expiry: CAPABILITIES.expiry, ..base }
}

/// Returns whether the spec asks for the classic text protocol.
fn is_text(spec: &Spec) -> bool {
    PROTOCOL.read(spec) == "text"
}

fn program() -> Option<PathBuf> {
    programs::find(&["memcached"], &[])
}

fn probe() -> Availability {
    let Some(program) = program() else { return Availability::NotFound("memcached".into()) };
    match programs::version_line(&program, &["--version"]) {
        Some(line) => Availability::Found(line),
        None => Availability::NotFound(format!("{} does not state its version", program.display())),
    }
}

fn plan(spec: &Spec, place: &mut Place, transport: Transport) -> Result<Deployment, StoreError> {
    let program = program().ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: "memcached".into(),
        install: INSTALL.into(),
    })?;
    // UDP off; connections enough for any run, as the server otherwise stops accepting without a word.
    let mut run = CommandLine::new(program)
        .args(["-U", "0", "-c", "16384"])
        .arg("-m")
        .arg(MEMORY.read::<u64>(spec)?.to_string())
        .arg("-t")
        .arg(THREADS.read::<u64>(spec)?.to_string());
    if let Some(bytes) = ITEM.asked(spec)? {
        run = run.arg("-I").arg(bytes.to_string());
    }
    if let Some(factor) = GROWTH_FACTOR.asked(spec)? {
        run = run.arg("-f").arg(factor);
    }
    if let Some(power) = HASHPOWER.asked::<u64>(spec)? {
        run = run.arg("-o").arg(format!("hashpower={power}"));
    }
    let user = programs::user(&USERS).filter(|_| place.root);
    let endpoint = match transport {
        Transport::Tcp => {
            let port = place.port()?;
            if place.root {
                run = run.args(["-u", user.unwrap_or("root")]);
            }
            run = run.args(["-l", "127.0.0.1", "-p"]).arg(port.to_string());
            Endpoint::loopback(port)
        }
        Transport::Unix => {
            if place.root && user.is_none() {
                run = run.args(["-u", "root"]);
            }
            let socket = place.directory.join("memcached.sock");
            run = run.args(["-a", "0700", "-s"]).arg(&socket);
            Endpoint::unix(socket)
        }
    };
    // It keeps nothing that could be lost, and would take most of a second to end by itself.
    // Its socket lies in a directory, which must then be that user's.
    let user = user.filter(|_| matches!(transport, Transport::Unix));
    Ok(ServerPlan { user, stop_signal: libc::SIGKILL, ..ServerPlan::new(run, endpoint) }.into())
}

/// Reads `8m`, `512k` or plain bytes, as the server's `-I` has it.
fn item_bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes() {
        [digits @ .., b'm' | b'M'] => (digits, 1 << 20),
        [digits @ .., b'k' | b'K'] => (digits, 1 << 10),
        digits => (digits, 1),
    };
    ascii::parse_u64(digits)
        .and_then(|number| number.checked_mul(unit))
        .filter(|bytes| (1 << 10..=1 << 30).contains(bytes))
}

/// Reads a ratio, which goes to the server as it was written.
fn growth_factor(text: &str) -> Option<String> {
    text.parse::<f64>().is_ok_and(|factor| factor > 1.0 && factor <= 16.0).then(|| text.to_owned())
}

fn unsupported(spec: &Spec, problem: String) -> StoreError {
    StoreError::Unsupported { store: spec.name.clone(), problem }
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    let private = spec.options.keys().find(|option| ![PROTOCOL.name, CONNECTIONS.name].contains(&option.as_str()));
    if let (Target::Server(_), Some(option)) = (&spec.target, private) {
        return Err(unsupported(
            spec,
            format!("{option}= is for a private server; start yours with it, and leave it out here"),
        ));
    }
    if endpoint.user.is_some() || endpoint.password.is_some() {
        return Err(unsupported(spec, "its protocol has no login here; leave user and password out".into()));
    }
    if is_text(spec) {
        return text_speaker(spec, endpoint);
    }
    let facts = facts(endpoint)?;
    if let Target::Server(_) = spec.target {
        knows_meta_commands(spec, endpoint)?;
    }
    let item_bytes = facts.config.get("item_size_max").and_then(|text| text.parse().ok()).unwrap_or(ITEM_BYTES);
    let capabilities = Capabilities { max_value_bytes: value_bytes(item_bytes), ..CAPABILITIES };
    let connections = Connections::of(spec)?;
    Ok(Box::new(Memcached { endpoint: endpoint.clone(), connections, capabilities, growth: Mutex::default() }))
}

/// Checks that the server knows meta commands: servers older than 1.6 have none, and most relatives of memcached have none either.
fn knows_meta_commands(spec: &Spec, endpoint: &Endpoint) -> Result<(), StoreError> {
    let answer = Talk::open(endpoint, Meta::new())?.ask(b"mn\r\n", |input| {
        Ok(ascii::line_end(input, 1000).map(|end| String::from_utf8_lossy(&input[..end]).into_owned()))
    });
    match answer {
        Ok(words) if words == "MN" => Ok(()),
        Ok(words) => Err(format!("it answers {words}")),
        Err(error) => Err(error.to_string()),
    }
    .map_err(|words| {
        unsupported(spec, format!("this server knows no meta commands ({words}); add protocol=text to its URL"))
    })
}

/// Connects to a server by the classic commands: memcached itself, or by URL any server that speaks them.
fn text_speaker(spec: &Spec, endpoint: &Endpoint) -> Result<Box<dyn Store>, StoreError> {
    let (product, items) = match spec.target {
        Target::Server(_) => ("a server speaking memcached's text protocol", ItemCount::NotSaid),
        _ => ("memcached", ItemCount::AllItKeeps),
    };
    let speaker = Speaker::connect(endpoint, product, items, declares(spec))?;
    Ok(Box::new(speaker.over(Connections::of(spec)?)))
}

struct Memcached {
    endpoint: Endpoint,
    connections: Connections,
    capabilities: Capabilities,
    growth: Mutex<Growth>,
}

impl Store for Memcached {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        wire::session(&self.endpoint, plan.over(self.connections), Meta::new)
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = facts(&self.endpoint)?;
        facts.config.insert(CONNECTIONS.name.into(), self.connections.fact());
        Ok(facts)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        holding(&self.endpoint)
    }

    fn witness(&self) -> Option<&dyn Witness> {
        Some(self)
    }
}

impl Witness for Memcached {
    fn look(&self, within: Duration) {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner).look(&self.endpoint, within);
    }

    fn happened(&self) -> Vec<Happening> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner).happened()
    }
}

/// Returns the number of items that a server says it holds.
fn holding(endpoint: &Endpoint) -> Result<Holding, StoreError> {
    let mut talk = Talk::open(endpoint, Meta::new())?;
    let statistics = talk.ask(b"stats\r\n", |input| {
        let whole = input.ends_with(b"END\r\n") || input.ends_with(b"ERROR\r\n");
        Ok(whole.then(|| String::from_utf8_lossy(input).into_owned()))
    })?;
    let count = |wanted: &str| {
        let mut all = statistics.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
        all.find(|(name, _)| *name == wanted).and_then(|(_, number)| number.trim().parse().ok())
    };
    Ok(Holding {
        keys: count("curr_items"),
        evicted: count("evictions").unwrap_or(0),
        expired: count("expired_unfetched").unwrap_or(0),
    })
}

/// Returns what a server's error means. `SERVER_ERROR` is a refusal where memcached uses it as one. Other servers, and proxies between client and
/// server, also say it when they do not know how far the request came.
#[cold]
fn failure(words: &[u8]) -> Failure<'_> {
    let words = std::str::from_utf8(words).unwrap_or("an error in words that are not UTF-8");
    let refused = ["out of memory", "too large"].iter().any(|reason| words.contains(reason));
    match words.starts_with("SERVER_ERROR") && !refused {
        true => Failure::Unknown(words),
        false => Failure::Refused(words),
    }
}
