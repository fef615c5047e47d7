//! Connecting: who answers, and the database.

use super::CAPABILITIES;
use super::client::Client;
use super::{login, whole};
use crate::shared::http::{Bytes, Http, HttpError, Method, Tickets, in_url};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::asynchronous::{Async, brief};
use store::{
    Belongings, Capabilities, Compact, Endpoint, Facts, Holding, Maintenance, Reduce, Reduction, ReductionGroup,
    Resent, Session, SessionPlan, Store, StoreError, Sweep, Swept,
};
use study::{Durability, Spec, Target};

/// The time a server may take to let us in: a server that is starting is asked again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// An open database.
pub(super) struct CouchDb {
    pub(super) endpoint: Endpoint,
    tickets: Option<Arc<Tickets>>,
    /// The path of the database: `/kvtrial`.
    pub(super) database: String,
    pub(super) target: Target,
    capabilities: Capabilities,
    product: &'static str,
    version: String,
    resent: Resent,
}

/// The facts that a server states about itself at `/`.
#[derive(Deserialize)]
struct Welcome {
    couchdb: Option<String>,
    #[serde(rename = "express-pouchdb")]
    express_pouchdb: Option<String>,
    #[serde(default)]
    version: String,
}

/// Connects, makes the database if it is absent, and finds out which product answers.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    let database = format!("/{}", in_url(endpoint.database.as_deref().unwrap_or("kvtrial")));
    // A user's server gets name and password with each request, as every server of that protocol takes them.
    let tickets = Tickets::of(endpoint, &login::DESK).filter(|_| spec.target == Target::Private);
    let welcome = brief(endpoint, CONNECT_TIMEOUT, async {
        let mut http = open(endpoint, tickets.as_ref()).await?;
        if let Some(tickets) = &tickets {
            login::log_in(&mut http, endpoint, tickets).await?;
        }
        let welcome = ask(&mut http, endpoint, Method::GET, "/", Vec::new(), &[200]).await?;
        // 412: it is there already.
        ask(&mut http, endpoint, Method::PUT, &database, Vec::new(), &[201, 202, 412]).await?;
        if spec.target == Target::Private {
            login::lock(&mut http, endpoint, &database).await?;
        }
        Ok(welcome)
    })?;
    let welcome: Welcome = serde_json::from_slice(&welcome)
        .map_err(|error| StoreError::open(endpoint, format!("this is no CouchDB: {error}")))?;
    let (product, durability) = match (&welcome.express_pouchdb, &welcome.couchdb) {
        (Some(_), _) => ("PouchDB Server", Durability::Os),
        (None, Some(_)) => ("CouchDB", Durability::Commit),
        (None, None) => return Err(StoreError::open(endpoint, "this is no CouchDB: it does not welcome us as one")),
    };
    if let Some(asked) = spec.durability.filter(|asked| *asked != durability) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("durability={asked} was asked for, but {product} has {durability}; leave durability out"),
        });
    }
    let capabilities = Capabilities { durability, ..CAPABILITIES };
    let (endpoint, target, version) = (endpoint.clone(), spec.target.clone(), welcome.version);
    let resent = Resent::default();
    Ok(Box::new(CouchDb { endpoint, tickets, database, target, capabilities, product, version, resent }))
}

async fn open(endpoint: &Endpoint, tickets: Option<&Arc<Tickets>>) -> Result<Http, StoreError> {
    let opened = match tickets {
        Some(tickets) => Http::open_with(endpoint, Some(tickets.clone())).await,
        None => Http::open(endpoint).await,
    };
    opened.map_err(|error: HttpError| StoreError::open(endpoint, error))
}

impl CouchDb {
    /// Opens a connection, logged in.
    pub(super) async fn open(&self) -> Result<Http, StoreError> {
        open(&self.endpoint, self.tickets.as_ref()).await
    }
}

/// Returns the body of an answer with one of these statuses.
pub(super) async fn ask(
    http: &mut Http,
    endpoint: &Endpoint,
    method: Method,
    path: &str,
    body: Vec<u8>,
    good: &[u16],
) -> Result<Bytes, StoreError> {
    let answered = http.ask(method, path, body).await.map_err(|error| StoreError::open(endpoint, error))?;
    if good.contains(&answered.status) {
        return Ok(answered.body);
    }
    let words = String::from_utf8_lossy(&answered.body);
    Err(StoreError::open(endpoint, format!("HTTP {} to {path}: {}", answered.status, words.trim())))
}

impl Store for CouchDb {
    store::of_driver!(capabilities, resent);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Async::session(plan, async |_| Ok(Client::new(self.open().await?, self.database.clone(), self.resent.clone())))
    }

    /// Returns the database, which is kept afterwards: it may be older than the run.
    fn belongings(&self) -> Belongings<'_> {
        Belongings::Left(vec![format!("database {}", self.database.trim_start_matches('/'))])
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: Some(self), ..Maintenance::default() }
    }

    fn reduces(&self) -> Option<&dyn Reduce> {
        Some(self)
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        whole::sweep(self, sweep, keys).map(Some)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        whole::holding(self)
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let text = |text: &str| text.to_owned();
        let config = BTreeMap::from([
            (text("connections"), text("one per slot, one request at a time")),
            (text("values"), text("a string in a JSON document; in base64 if they are not plain text")),
            (text("database"), self.database.trim_start_matches('/').to_owned()),
            (text("driver"), text("hyper")),
        ]);
        Ok(Facts { product: self.product.into(), version: self.version.clone(), config, ..Facts::default() })
    }
}

impl Compact for CouchDb {
    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        whole::compact(self, patience)
    }
}

impl Reduce for CouchDb {
    fn reduce(&self, reduction: &Reduction, patience: Duration) -> Result<Vec<ReductionGroup>, StoreError> {
        whole::reduce(self, reduction, patience)
    }
}
