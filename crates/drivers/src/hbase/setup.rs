//! Connecting: who answers, and the table.

use super::client::{Client, FAMILY, refused};
use super::{BUNDLE, CAPABILITIES};
use crate::shared::http::{Http, HttpTrouble, Method};
use ground::jvm::{self, HEAP};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use store::asynchronous::{Async, brief};
use store::{
    Belongings, COUNT_PATIENCE, Capabilities, Endpoint, Facts, Holding, SWEEP_PATIENCE, Session, SessionPlan, Store,
    StoreError, Sweep, Swept,
};
use study::{Durability, Spec, Target};

/// The time the gateway may take to let us in, and to make the table: a gateway that is starting is asked again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest path: the gateway takes 64 KiB of request line and headers, and a path with many keys may end with the longest key.
const PATH_BYTES: usize = 60 << 10;

/// The table of a private store, and of one of yours whose URL names none.
const TABLE: &str = "kvtrial";

/// The words for a scanner that reads only keys.
const KEYS_ALONE: &str = r#","filter":"{\"type\":\"KeyOnlyFilter\"}""#;

struct HBase {
    endpoint: Endpoint,
    table: String,
    target: Target,
    capabilities: Capabilities,
    version: String,
    config: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "Version")]
    version: String,
}

#[derive(Deserialize)]
struct Schema {
    #[serde(rename = "ColumnSchema", default)]
    families: Vec<BTreeMap<String, serde_json::Value>>,
    #[serde(rename = "DURABILITY")]
    durability: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(rename = "LiveNodes")]
    live: Vec<serde_json::Value>,
    #[serde(rename = "DeadNodes")]
    dead: Vec<serde_json::Value>,
}

/// Connects, and makes the table if it is absent.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    jvm::no_options_elsewhere(spec)?;
    let table = endpoint.database.as_deref().unwrap_or(TABLE).to_owned();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    if table.is_empty() || !table.bytes().all(plain) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!(
                "'{table}' is no table; its name has letters, digits, _, - and ., or a namespace and : before"
            ),
        });
    }
    let is_private = spec.target == Target::Private;
    if let (false, Some(durability)) = (is_private, spec.durability) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("durability={durability} is for a private store; yours has what its table was made with"),
        });
    }
    let asked = spec.durability.unwrap_or(Durability::Os);
    let (version, status, schema) = brief(endpoint, CONNECT_TIMEOUT, async {
        let failed = |trouble: HttpTrouble| StoreError::open(endpoint, trouble.words());
        let mut client = open(endpoint, &table).await?;
        let version: Version = ask(&mut client, "/version/cluster").await.map_err(|trouble| {
            StoreError::open(endpoint, format!("this is no REST gateway of HBase: {}", trouble.words()))
        })?;
        let status: Status = ask(&mut client, "/status/cluster").await.map_err(failed)?;
        let schema = make(&mut client, &table, asked).await.map_err(failed)?;
        // Its table is there before somebody serves it.
        client.scan(b"", 1, KEYS_ALONE, |_, _| ()).await.map_err(failed)?;
        Ok((version.version, status, schema))
    })?;
    let newest_counts = schema.families.iter().any(|family| says(family, "NEW_VERSION_BEHAVIOR", "true"));
    let text = |text: &str| text.to_owned();
    let mut config = BTreeMap::from([
        (text("protocol"), text("REST gateway over HTTP; batches and scans are JSON with base64")),
        (text("connections"), text("one per slot, one request at a time")),
        (text("table"), table.clone()),
        (text("region servers"), format!("{} live, {} dead", status.live.len(), status.dead.len())),
        (
            text("delete"),
            text("read first, then on condition of the value: HBase does not say whether there was a row"),
        ),
        (text("compare-and-set"), text("on the value: one that changed and changed back passes")),
        (
            text("versions"),
            text(if newest_counts { "one; in order (NEW_VERSION_BEHAVIOR)" } else { "by milliseconds" }),
        ),
        (text("driver"), text("hyper")),
    ]);
    if is_private {
        config.insert(text("nodes"), text("1"));
        config.insert(text("heap"), format!("{} MiB each of two processes", HEAP.read::<u64>(spec)?));
        config.insert(text("files"), text("in its own directory, without HDFS: no copies"));
    }
    let skips_log = schema.durability.as_deref() == Some("SKIP_WAL");
    let durability = if skips_log { Durability::None } else { Durability::Os };
    Ok(Box::new(HBase {
        endpoint: endpoint.clone(),
        table,
        target: spec.target.clone(),
        capabilities: Capabilities { durability, ..CAPABILITIES },
        version,
        config,
    }))
}

fn says(family: &BTreeMap<String, serde_json::Value>, name: &str, wanted: &str) -> bool {
    family.get(name).and_then(|value| value.as_str()).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
}

async fn open(endpoint: &Endpoint, table: &str) -> Result<Client, StoreError> {
    let http = Http::open(endpoint).await.map_err(|error| StoreError::open(endpoint, error))?;
    Ok(Client::new(http.with_paths_of(PATH_BYTES), table.to_owned()))
}

async fn ask<T: serde::de::DeserializeOwned>(client: &mut Client, path: &str) -> Result<T, HttpTrouble> {
    let answered = client.ask(Method::GET, path, String::new()).await?;
    match answered.status {
        200 => serde_json::from_slice(&answered.body).map_err(|error| HttpTrouble::Nonsense(error.to_string())),
        _ => Err(refused(&answered)),
    }
}

/// Returns the table's schema, and makes the table where it is absent.
async fn make(client: &mut Client, table: &str, durability: Durability) -> Result<Schema, HttpTrouble> {
    let path = format!("/{table}/schema");
    if client.ask(Method::GET, &path, String::new()).await?.status == 404 {
        // Without a log nothing has a place in its order, and then no delete would hide anything.
        let (of_table, of_family) = match durability {
            Durability::None => (r#","DURABILITY":"SKIP_WAL""#, ""),
            _ => ("", r#","NEW_VERSION_BEHAVIOR":"true""#),
        };
        let body = format!(
            r#"{{"name":"{table}"{of_table},"ColumnSchema":[{{"name":"{FAMILY}","VERSIONS":"1"{of_family}}}]}}"#
        );
        let made = client.ask(Method::PUT, &path, body).await?;
        if made.status != 201 {
            return Err(refused(&made));
        }
    }
    let schema: Schema = ask(client, &path).await?;
    match schema.families.iter().any(|family| says(family, "name", FAMILY)) {
        true => Ok(schema),
        false => Err(HttpTrouble::Refused(format!(
            "table {table} has no family {FAMILY}; add one, or name another table: hbase://HOST/TABLE"
        ))),
    }
}

impl HBase {
    async fn client(&self) -> Result<Client, StoreError> {
        open(&self.endpoint, &self.table).await
    }
}

impl Store for HBase {
    store::of_driver!(capabilities);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Async::session(plan, async |_| self.client().await)
    }

    /// Returns the table, which is kept afterwards: it may be older than the run.
    fn belongings(&self) -> Belongings<'_> {
        Belongings::Left(vec![format!("table {}", self.table)])
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        brief(&self.endpoint, SWEEP_PATIENCE, async {
            let swept = self.client().await?.sweep(sweep, keys).await;
            swept.map(Some).map_err(|trouble| StoreError::open(&self.endpoint, trouble.words()))
        })
    }

    /// Counts rows one by one, which takes its time in a large table of yours.
    fn holding(&self) -> Result<Holding, StoreError> {
        if self.target != Target::Private {
            return Ok(Holding::default());
        }
        let counted = brief(&self.endpoint, COUNT_PATIENCE, async {
            let counted = self.client().await?.scan(b"", u32::MAX, KEYS_ALONE, |_, _| ()).await;
            counted.map_err(|trouble| StoreError::open(&self.endpoint, trouble.words()))
        })?;
        Ok(Holding { keys: Some(u64::from(counted)), ..Holding::default() })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts {
            product: BUNDLE.product.into(),
            version: self.version.clone(),
            config: self.config.clone(),
            ..Facts::default()
        })
    }
}
