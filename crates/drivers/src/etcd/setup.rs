//! Connecting: who answers, and at which level.

use super::client::Client;
use super::login::{self, Whose};
use super::{DURABILITIES, capabilities};
use crate::shared::http::{Bytes, Http, Method, Tickets};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::asynchronous::{Async, brief};
use store::{
    COUNT_PATIENCE, Capabilities, Compact, Endpoint, Facts, Holding, LevelKnown, Maintenance, SWEEP_PATIENCE, Session,
    SessionPlan, Store, StoreError, Sweep, Swept, Whereabouts,
};
use study::{Spec, Target};

/// The time a server may take to let us in: a server that is starting is asked again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

struct Etcd {
    /// The members that were named, or started.
    endpoints: Vec<Endpoint>,
    /// The member the next client begins with.
    next: AtomicUsize,
    tickets: Option<Arc<Tickets>>,
    capabilities: Capabilities,
    version: String,
}

/// The header of every answer.
#[derive(Deserialize)]
struct Headed {
    header: Header,
}

#[derive(Deserialize)]
struct Header {
    revision: String,
}

/// Numbers are text, and nought is left out.
#[derive(Deserialize)]
struct Counted {
    count: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    members: Vec<serde_json::Value>,
}

/// The facts that a member states about itself.
#[derive(Deserialize)]
struct Member {
    header: Itself,
    /// Nought, which is left out, where there is none.
    leader: Option<String>,
}

#[derive(Deserialize)]
struct Itself {
    member_id: String,
}

#[derive(Deserialize)]
struct Version {
    etcdserver: String,
}

/// Connects and asks for the version. A server does not state how it was started: a server of the user's is taken to sync, as it does unless an
/// option forbids it.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let [endpoint, ..] = nodes else { return Err(StoreError::Session("no address of etcd was given".into())) };
    if let (Target::Server(_), Some(option)) = (&spec.target, spec.options.keys().next()) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("{option}= is for a private one; leave it out for yours"),
        });
    }
    let asked = spec.durability.unwrap_or(DURABILITIES[0]);
    let durability = if matches!(spec.target, Target::Server(_)) { DURABILITIES[0] } else { asked };
    if asked != durability {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("durability={asked} is for a private server; yours has what it was started with"),
        });
    }
    let whose = if spec.target == Target::Private { Whose::Private } else { Whose::Users };
    let tickets = Tickets::of(endpoint, &login::DESK);
    let ask_once = || {
        brief(endpoint, CONNECT_TIMEOUT, async {
            let mut http = open(nodes, 0, tickets.clone()).await?;
            let answered = http.ask(Method::GET, "/version", Vec::new()).await;
            let answered = answered.map_err(|error| StoreError::open(endpoint, error))?;
            let version: Version = serde_json::from_slice(&answered.body).map_err(|error| {
                StoreError::open(endpoint, format!("this is no etcd: it does not state its version ({error})"))
            })?;
            if let Some(tickets) = &tickets {
                login::log_in(&mut http, endpoint, tickets, whose).await?;
            }
            // The version is there before a leader is elected; only then are reads answered.
            ask(&mut http, endpoint, "/v3/kv/range", COUNT.into()).await?;
            Ok(version.etcdserver)
        })
    };
    let until = Instant::now() + ELECTION;
    let version = loop {
        match ask_once() {
            Err(error) if nodes.len() > 1 && Instant::now() < until && is_for_now(&error) => std::thread::sleep(AGAIN),
            answered => break answered?,
        }
    };
    let capabilities = Capabilities { durability, level: LevelKnown::where_private(spec), ..capabilities(spec) };
    Ok(Box::new(Etcd { endpoints: nodes.to_vec(), next: AtomicUsize::new(0), tickets, capabilities, version }))
}

/// Checks that each of the members that run has everything that was agreed: a member answers a read only then.
pub(super) fn have_caught_up(spec: &Spec, members: &[Endpoint]) -> Result<(), StoreError> {
    members.iter().try_for_each(|member| connect(spec, std::slice::from_ref(member)).map(drop))
}

/// Returns the place of the member that leads, as it says itself: from etcd 3.6 on only to those who have logged in.
pub(super) fn leaders(_: &Spec, members: &[Endpoint]) -> Result<Vec<usize>, StoreError> {
    let leads = |member: &Endpoint| {
        brief(member, SOON, async {
            let tickets = Tickets::of(member, &login::DESK);
            let mut http = open(std::slice::from_ref(member), 0, tickets.clone()).await?;
            let mut said = status(&mut http, member).await;
            if let (Err(error), Some(tickets)) = (&said, &tickets)
                && error.to_string().contains(login::NONE)
            {
                login::log_in(&mut http, member, tickets, Whose::Private).await?;
                said = status(&mut http, member).await;
            }
            serde_json::from_slice::<Member>(&said?).map_err(|error| StoreError::open(member, error))
        })
        .is_ok_and(|said| said.leader == Some(said.header.member_id))
    };
    match members.iter().position(leads) {
        Some(leader) => Ok(vec![leader]),
        None => Err(StoreError::Session("no member says that it leads".into())),
    }
}

async fn status(http: &mut Http, member: &Endpoint) -> Result<Bytes, StoreError> {
    ask(http, member, "/v3/maintenance/status", "{}".into()).await
}

/// The time a member may take to say who leads.
const SOON: Duration = Duration::from_millis(300);

/// The time several members may take to have a leader, where one of them has just died.
const ELECTION: Duration = Duration::from_secs(10);
/// The pause before they are asked again.
const AGAIN: Duration = Duration::from_millis(100);

/// Returns whether there is no leader just now, as a member says, or shows by not answering.
fn is_for_now(error: &StoreError) -> bool {
    let words = error.to_string();
    ["leader changed", "no leader", "request timed out", "no answer within"]
        .into_iter()
        .any(|said| words.contains(said))
}

/// A read that returns only a number.
const COUNT: &str = r#"{"key":"AA==","count_only":true}"#;

/// A read that returns how many keys there are, from the first to the last.
const COUNT_ALL: &str = r#"{"key":"AA==","range_end":"AA==","count_only":true}"#;

/// Asks a question outside sessions.
pub(super) async fn ask(http: &mut Http, endpoint: &Endpoint, path: &str, body: String) -> Result<Bytes, StoreError> {
    let answered = http.ask(Method::POST, path, body.into_bytes()).await;
    let answered = answered.map_err(|error| StoreError::open(endpoint, error))?;
    match answered.status {
        200 => Ok(answered.body),
        status => {
            let words = String::from_utf8_lossy(&answered.body);
            let remedy =
                if words.contains(login::NONE) { "; it asks for a login: etcd://USER:PASSWORD@HOST" } else { "" };
            Err(StoreError::open(endpoint, format!("HTTP {status} to {path}: {}{remedy}", words.trim())))
        }
    }
}

/// Connects to the member of this number, or to the first member behind it that can be reached.
pub(super) async fn open(
    members: &[Endpoint],
    first: usize,
    tickets: Option<Arc<Tickets>>,
) -> Result<Http, StoreError> {
    let around = members.iter().cycle().skip(first % members.len()).take(members.len());
    let opened = Http::open_any(around.cloned(), tickets).await;
    opened.map_err(|error| StoreError::open(&members[first % members.len()], error))
}

impl Etcd {
    async fn open(&self) -> Result<Http, StoreError> {
        open(&self.endpoints, 0, self.tickets.clone()).await
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoints[0]
    }
}

impl Store for Etcd {
    store::of_driver!(capabilities);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let first = self.next.fetch_add(plan.clients as usize, Ordering::Relaxed);
        Async::session(plan, async |slot| {
            let member = first + (slot / plan.pipeline.max(1)) as usize;
            Ok(Client::new(open(&self.endpoints, member, self.tickets.clone()).await?))
        })
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        brief(self.endpoint(), SWEEP_PATIENCE, async {
            let mut client = Client::new(self.open().await?);
            let swept = client.sweep(sweep, keys).await;
            swept.map(Some).map_err(|words| StoreError::open(self.endpoint(), words))
        })
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: self.capabilities.compaction.of(self), ..Maintenance::default() }
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let counted = brief(self.endpoint(), COUNT_PATIENCE, async {
            let mut http = self.open().await?;
            ask(&mut http, self.endpoint(), "/v3/kv/range", COUNT_ALL.into()).await
        })?;
        let counted: Counted =
            serde_json::from_slice(&counted).map_err(|error| StoreError::open(self.endpoint(), error))?;
        let keys = counted.count.map_or(Some(0), |number| number.parse().ok());
        Ok(Holding { keys, ..Holding::default() })
    }

    fn whereabouts(&self) -> Whereabouts<'_> {
        Whereabouts::EVERYWHERE
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let text = |text: &str| text.to_owned();
        let members = brief(self.endpoint(), CONNECT_TIMEOUT, async {
            let mut http = self.open().await?;
            let listed = ask(&mut http, self.endpoint(), "/v3/cluster/member/list", "{}".into()).await?;
            let listed = serde_json::from_slice::<Listed>(&listed);
            listed.map(|it| it.members.len().to_string()).map_err(|error| StoreError::open(self.endpoint(), error))
        });
        // A user of yours may lack the right to ask.
        let members = members.unwrap_or_else(|error| format!("not told: {error}"));
        let config = BTreeMap::from([
            (text("connections"), text("one per slot, one request at a time")),
            (text("protocol"), text("JSON gateway: keys and values in base64 over HTTP")),
            (text("members"), members),
            (
                text("clients"),
                text("spread over the members that were named; one whose member is gone continues with another"),
            ),
            (text("login"), text(if self.tickets.is_some() { "a token with each request" } else { "none" })),
            (text("driver"), text("hyper")),
        ]);
        Ok(Facts { product: "etcd".into(), version: self.version.clone(), config, ..Facts::default() })
    }
}

impl Compact for Etcd {
    /// Forgets the history of all keys, then rewrites the file.
    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        brief(self.endpoint(), patience, async {
            let mut http = self.open().await?;
            let read = ask(&mut http, self.endpoint(), "/v3/kv/range", COUNT.into()).await?;
            let read: Headed =
                serde_json::from_slice(&read).map_err(|error| StoreError::open(self.endpoint(), error))?;
            let until = format!(r#"{{"revision":"{}","physical":true}}"#, read.header.revision);
            ask(&mut http, self.endpoint(), "/v3/kv/compaction", until).await?;
            for number in 0..self.endpoints.len() {
                let mut http = open(&self.endpoints, number, self.tickets.clone()).await?;
                ask(&mut http, &self.endpoints[number], "/v3/maintenance/defragment", "{}".into()).await?;
            }
            Ok(())
        })
    }
}
