//! Connecting: who answers, the bucket, and what is said of both.

use super::bucket::Bucket;
use super::codec::{CONDITION_BYTES, MessageLives, Nats, Reads, Repliers, Shared};
use super::conversation::{Conversation, Inboxes, JetStreamAnswer, hello};
use super::{
    DURABILITIES, NODES, READS, REPLICAS, SERVER_PROGRAM, SYNC, can_sync, capabilities, lives, size, syncs_always,
    unsupported,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::wire;
use store::{
    Belongings, Capabilities, Endpoint, Facts, Holding, LevelKnown, Session, SessionPlan, Store, StoreError, Threading,
    VERSION,
};
use study::{Spec, Target};

/// The error of JetStream for a stream that does not exist.
const NO_STREAM: u64 = 10059;

struct Jetstream {
    /// The servers that were named, or started.
    endpoints: Vec<Endpoint>,
    /// The server the next client begins with.
    next: AtomicUsize,
    inboxes: Arc<Inboxes>,
    opened: Arc<AtomicUsize>,
    shared: Arc<Shared>,
    capabilities: Capabilities,
    version: String,
    /// When what was put is flushed, in words.
    fsync: &'static str,
}

/// Connects to the first server that lets us in, and makes the bucket if it is not there.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let is_private = spec.target == Target::Private;
    let private_only = [NODES.info, REPLICAS.info, SYNC, SERVER_PROGRAM, VERSION]
        .into_iter()
        .find(|option| option.asked(spec).is_some());
    if let (false, Some(option)) = (is_private, private_only) {
        return Err(unsupported(spec, format!("{}= is for a private server; leave it out for yours", option.name)));
    }
    let (_, replicas) = size(spec)?;
    let (conversation, bucket, stream) = served(nodes, replicas)?;
    let endpoint = conversation.endpoint.clone();
    let config = &stream["config"];
    if config["deny_purge"] == true {
        return Err(StoreError::open(&endpoint, format!("the bucket {} forbids to purge keys", bucket.name)));
    }
    let reads = reads(spec, config)?;
    let payload_bytes = conversation.info["max_payload"].as_u64().unwrap_or(0) as usize;
    let max_value_bytes = payload_bytes.saturating_sub(CONDITION_BYTES);
    let is_cluster = conversation.info["cluster"].as_str().is_some_and(|name| !name.is_empty());
    let repliers = if is_cluster { Repliers::Several } else { Repliers::One };
    let lives = if config["allow_msg_ttl"] == true { MessageLives::Each } else { MessageLives::None };
    let version = conversation.info["version"].as_str().unwrap_or("unknown").to_owned();
    let shared = Shared { bucket, reads, repliers, lives, max_value_bytes, connect: hello(&endpoint)? };
    Ok(Box::new(Jetstream {
        endpoints: nodes.to_vec(),
        next: AtomicUsize::new(0),
        inboxes: Arc::new(Inboxes::new(&endpoint)?),
        opened: Arc::default(),
        shared: Arc::new(shared),
        // Where their number is not told there may be several.
        capabilities: Capabilities {
            durability: DURABILITIES[0],
            level: LevelKnown::where_private(spec),
            max_value_bytes,
            ..capabilities(config["num_replicas"].as_u64().unwrap_or(0), lives)
        },
        fsync: fsync(spec, &version),
        version,
    }))
}

/// Returns when what was put is flushed, in words.
fn fsync(spec: &Spec, version: &str) -> &'static str {
    match &spec.target {
        Target::Private if syncs_always(spec) => "each put before its acknowledgement; deletes every 2 min, after it",
        Target::Server(_) if can_sync(version) => {
            "not reported; every 2 min unless the server was started with sync_interval"
        }
        _ => "every 2 min, after the acknowledgement",
    }
}

/// The time several servers may take to have a leader, where one of them has just died: two elections.
const ELECTION: Duration = Duration::from_secs(20);
/// The time between two questions meanwhile.
const AGAIN: Duration = Duration::from_millis(100);

/// Returns a conversation, the bucket, and its stream, as soon as a server answers for the bucket; when the bucket is new, once it has all its
/// copies. In a cluster whose last server has not joined, the servers left after a failure may find no leader.
fn served(nodes: &[Endpoint], replicas: u32) -> Result<(Conversation, Bucket, Value), StoreError> {
    let until = Instant::now() + ELECTION;
    let mut is_new = false;
    loop {
        let mut conversation = any(nodes)?;
        let endpoint = &conversation.endpoint;
        let bucket = Bucket::of(endpoint).map_err(|problem| StoreError::open(endpoint, problem))?;
        let may_wait = nodes.len() > 1 && Instant::now() < until;
        match stream(&mut conversation, &bucket, replicas) {
            Ok(Found::Made(stream)) if may_wait && !is_every_copy_current(&stream) => is_new = true,
            Ok(Found::There(stream)) if may_wait && is_new && !is_every_copy_current(&stream) => {}
            Ok(Found::Made(stream) | Found::There(stream)) => return Ok((conversation, bucket, stream)),
            Err(_) if may_wait => {}
            Err(error) => return Err(error),
        }
        std::thread::sleep(AGAIN);
    }
}

/// Returns whether the leader of a stream has heard from all other copies that they have everything it has.
fn is_every_copy_current(stream: &Value) -> bool {
    let others = stream["cluster"]["replicas"].as_array().map_or(&[][..], Vec::as_slice);
    others.iter().all(|copy| copy["current"] == true)
}

/// Opens a conversation with the first server that can be reached.
fn any(nodes: &[Endpoint]) -> Result<Conversation, StoreError> {
    let mut problem = None;
    for endpoint in nodes {
        match Conversation::open(endpoint) {
            Ok(conversation) => return Ok(conversation),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    Err(problem.unwrap_or_else(|| StoreError::Session("no address of NATS was given".into())))
}

/// The state of the stream of a bucket.
enum Found {
    There(Value),
    /// A stream that was absent and is made now.
    Made(Value),
}

fn stream(conversation: &mut Conversation, bucket: &Bucket, replicas: u32) -> Result<Found, StoreError> {
    let name = &bucket.stream;
    match conversation.ask(&format!("$JS.API.STREAM.INFO.{name}"), &Value::Null)? {
        JetStreamAnswer::Told(stream) => return Ok(Found::There(stream)),
        JetStreamAnswer::Refused { number: NO_STREAM, .. } => {}
        JetStreamAnswer::Refused { words, .. } => return Err(StoreError::open(&conversation.endpoint, words)),
    }
    // As the clients of NATS make buckets that keep one value a key.
    let mut wanted = json!({
        "name": name, "subjects": [format!("$KV.{}.>", bucket.name)], "retention": "limits", "storage": "file",
        "max_msgs_per_subject": 1, "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0, "max_msg_size": -1,
        "discard": "new", "num_replicas": replicas, "allow_direct": true, "allow_rollup_hdrs": true,
        "duplicate_window": 120_000_000_000_u64,
    });
    if lives(conversation.info["version"].as_str()) == MessageLives::Each {
        wanted["allow_msg_ttl"] = true.into();
    }
    conversation.told(&format!("$JS.API.STREAM.CREATE.{name}"), &wanted).map(Found::Made)
}

/// The time a leader may take to say that it leads: while there is no leader, nobody answers.
const SOON: Duration = Duration::from_millis(200);

/// Returns the leader's account of the bucket's stream.
fn told_by_leader(nodes: &[Endpoint]) -> Result<Value, StoreError> {
    let mut conversation = any(nodes)?;
    let endpoint = &conversation.endpoint;
    let bucket = Bucket::of(endpoint).map_err(|problem| StoreError::open(endpoint, problem))?;
    let about = format!("$JS.API.STREAM.INFO.{}", bucket.stream);
    match conversation.ask_within(SOON, &about, &Value::Null)? {
        JetStreamAnswer::Told(stream) => Ok(stream),
        JetStreamAnswer::Refused { .. } => Err(StoreError::Session("the bucket has no leader".into())),
    }
}

/// Checks that each copy of the bucket has everything its leader has.
pub(super) fn have_caught_up(_: &Spec, nodes: &[Endpoint]) -> Result<(), StoreError> {
    match is_every_copy_current(&told_by_leader(nodes)?) {
        true => Ok(()),
        false => Err(StoreError::Session("a copy of the bucket is behind its leader".into())),
    }
}

/// Returns the place of the server that leads the bucket.
pub(super) fn leaders(_: &Spec, nodes: &[Endpoint]) -> Result<Vec<usize>, StoreError> {
    let stream = told_by_leader(nodes)?;
    let leader = &stream["cluster"]["leader"];
    let is_leader = |node: &Endpoint| Conversation::open(node).is_ok_and(|it| it.info["server_name"] == *leader);
    Ok((0..nodes.len()).filter(|place| is_leader(&nodes[*place])).collect())
}

/// Returns who is asked: the only copy, or the leader of several, unless somebody is named.
fn reads(spec: &Spec, config: &Value) -> Result<Reads, StoreError> {
    let is_direct = config["allow_direct"] == true;
    match READS.read(spec) {
        "leader" => Ok(Reads::Leader),
        "direct" if is_direct => Ok(Reads::Direct),
        "direct" => Err(unsupported(spec, "reads=direct needs a bucket with allow_direct".into())),
        _ if is_direct && config["num_replicas"] == 1 => Ok(Reads::Direct),
        _ => Ok(Reads::Leader),
    }
}

impl Jetstream {
    fn stream(&self) -> Result<Value, StoreError> {
        any(&self.endpoints)?.told(&format!("$JS.API.STREAM.INFO.{}", self.shared.bucket.stream), &Value::Null)
    }
}

impl Store for Jetstream {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let first = self.next.fetch_add(plan.clients as usize, Ordering::Relaxed);
        let (shared, inboxes, opened) = (self.shared.clone(), self.inboxes.clone(), self.opened.clone());
        wire::spread(&self.endpoints, first, plan, move || {
            Nats::new(shared.clone(), inboxes.of(opened.fetch_add(1, Ordering::Relaxed)).into_bytes())
        })
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    /// Returns the bucket, which is kept afterwards: it may be older than the run.
    fn belongings(&self) -> Belongings<'_> {
        Belongings::Left(vec![format!("bucket {}", self.shared.bucket.name)])
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let keys = self.stream()?["state"]["messages"].as_u64();
        Ok(Holding { keys, ..Holding::default() })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let stream = self.stream()?;
        let (config, cluster) = (&stream["config"], &stream["cluster"]);
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let consistency = match self.shared.reads {
            Reads::Leader => "the leader of the bucket answers gets, in JSON and base64",
            Reads::Direct if config["num_replicas"] == 1 => "the only copy answers gets",
            Reads::Direct => "any copy answers gets, and may be behind: a client may not read what it has written",
        };
        let expiry = match self.shared.lives {
            MessageLives::Each => "a time to live of each message, in seconds",
            MessageLives::None => "none: the bucket allows no time to live of a message",
        };
        let config = BTreeMap::from([
            ("expiry".into(), expiry.into()),
            ("bucket".into(), self.shared.bucket.name.clone()),
            ("storage".into(), plain(&config["storage"])),
            ("replicas".into(), plain(&config["num_replicas"])),
            ("history".into(), plain(&config["max_msgs_per_subject"])),
            ("servers".into(), self.endpoints.len().to_string()),
            ("leader".into(), cluster["leader"].as_str().unwrap_or("the only server").to_owned()),
            ("consistency".into(), consistency.into()),
            ("fsync".into(), self.fsync.into()),
            ("connections".into(), "one per client, pipelined; replies in any order".into()),
            ("keys".into(), "letters, digits, - / _ as they are, other bytes as = and two digits".into()),
            ("deletes".into(), "the messages of a key are purged".into()),
        ]);
        Ok(Facts { product: "NATS".into(), version: self.version.clone(), config, ..Facts::default() })
    }
}
