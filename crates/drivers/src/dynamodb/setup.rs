//! Connecting: who answers, and the table.

use super::client::{Client, Trouble};
use super::{CAPABILITIES, PACKAGE, program};
use crate::shared::aws::Service;
use crate::shared::http::{HttpError, Method};
use ground::npm;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use store::asynchronous::{Async, brief};
use store::{
    Belongings, COUNT_PATIENCE, Capabilities, Endpoint, Facts, Holding, SWEEP_PATIENCE, Session, SessionPlan, Store,
    StoreError, Sweep, Swept,
};
use study::{Durability, Spec, Target};

/// The time a private server may take to let us in: a server that is starting is asked again.
const PRIVATE_TIMEOUT: Duration = Duration::from_secs(5);

/// The time Amazon may take to make a table.
const TABLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause between two looks whether the table is made.
const PAUSE: Duration = Duration::from_millis(50);

/// The version of the protocol: a date is all that the protocol states about itself.
const PROTOCOL: &str = "2012-08-10";

struct DynamoDb {
    endpoint: Endpoint,
    service: Service,
    table: String,
    target: Target,
    capabilities: Capabilities,
    product: String,
    version: String,
}

#[derive(Deserialize)]
struct Described {
    #[serde(rename = "Table")]
    table: Table,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Table {
    table_status: String,
    #[serde(default)]
    key_schema: Vec<Key>,
    #[serde(default)]
    attribute_definitions: Vec<Definition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Key {
    attribute_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    attribute_name: String,
    attribute_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Counted {
    count: u64,
    last_evaluated_key: Option<serde_json::Value>,
}

/// Connects, and makes the table if it is absent.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    let table = endpoint.database.as_deref().unwrap_or("kvtrial").to_owned();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !(3..=255).contains(&table.len()) || !table.bytes().all(plain) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("'{table}' is no table; its name has 3 to 255 letters, digits, _, - and ."),
        });
    }
    let service = Service::of("dynamodb", spec, endpoint)?;
    let timeout = if spec.target == Target::Private { PRIVATE_TIMEOUT } else { TABLE_TIMEOUT };
    let server = brief(endpoint, timeout, async {
        let failed = |trouble: Trouble| StoreError::open(endpoint, remedied(trouble));
        let lost = |error: HttpError| StoreError::open(endpoint, error);
        // Before anything is signed and sent: what it calls itself.
        let welcome = service.open().await.map_err(lost)?.ask(Method::GET, "/", "", &[], Vec::new()).await;
        let welcome = welcome.map_err(lost)?;
        let mut client = Client::new(service.open().await.map_err(lost)?, table.clone());
        make(&mut client, endpoint, &table).await.map_err(failed)?;
        let server = welcome.headers.get("server").and_then(|name| name.to_str().ok());
        Ok(server.unwrap_or_default().to_owned())
    })?;
    let (product, version, durability) = match &spec.target {
        Target::Server(_) if service.is_amazons() => ("Amazon DynamoDB", PROTOCOL.to_owned(), Durability::Commit),
        // The web server that Amazon's DynamoDB Local is made with.
        Target::Server(_) if server.starts_with("Jetty") => ("DynamoDB Local", PROTOCOL.to_owned(), Durability::None),
        Target::Server(_) => ("a server of DynamoDB's protocol", PROTOCOL.to_owned(), Durability::None),
        Target::Private | Target::Path(_) => {
            let version = program().and_then(|program| npm::version(&program, PACKAGE));
            let durability = spec.durability.unwrap_or(Durability::Os);
            ("dynalite", version.unwrap_or_else(|| "0".into()), durability)
        }
    };
    if let Some(asked) = spec.durability.filter(|asked| *asked != durability) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("durability={asked} was asked for, but {product} has {durability}; leave durability out"),
        });
    }
    Ok(Box::new(DynamoDb {
        endpoint: endpoint.clone(),
        service,
        table,
        target: spec.target.clone(),
        capabilities: Capabilities { durability, ..CAPABILITIES },
        product: product.to_owned(),
        version,
    }))
}

/// Returns the words of a refusal, with what to do about the usual ones.
fn remedied(trouble: Trouble) -> String {
    let words = trouble.words();
    let remedy = if words.starts_with("MissingAuthenticationToken") {
        ". Give a key: dynamodb://KEY:SECRET@HOST"
    } else if words.starts_with("UnrecognizedClient") || words.starts_with("InvalidSignature") {
        ". Correct the key, its secret or region="
    } else {
        ""
    };
    words + remedy
}

/// Waits for the table, and makes it if it is absent: items are found by the bytes in `k`, and paid for one by one.
async fn make(client: &mut Client, endpoint: &Endpoint, table: &str) -> Result<(), Trouble> {
    let named = format!(r#"{{"TableName":"{table}"}}"#);
    let mut asked_for = false;
    let started = Instant::now();
    loop {
        match client.ask("DescribeTable", named.clone()).await {
            Ok(body) => {
                let described: Described = serde_json::from_slice(&body)
                    .map_err(|error| Trouble::nonsense(format!("this is no DynamoDB: {error}")))?;
                if !is_of_keys(&described.table) {
                    return Err(Trouble::refused(format!(
                        "the items of table {table} are not found by the bytes in k alone; name another table: dynamodb://KEY:SECRET@{endpoint}/NAME"
                    )));
                }
                if matches!(described.table.table_status.as_str(), "ACTIVE" | "UPDATING") {
                    return Ok(());
                }
            }
            Err(Trouble::NoTable(_)) if !asked_for => {
                asked_for = true;
                let body = format!(
                    r#"{{"TableName":"{table}","AttributeDefinitions":[{{"AttributeName":"k","AttributeType":"B"}}],"KeySchema":[{{"AttributeName":"k","KeyType":"HASH"}}],"BillingMode":"PAY_PER_REQUEST"}}"#
                );
                client.ask("CreateTable", body).await?;
                continue;
            }
            // It is made, and not yet known everywhere.
            Err(Trouble::NoTable(_)) => {}
            Err(trouble) => return Err(trouble),
        }
        if started.elapsed() > TABLE_TIMEOUT {
            return Err(Trouble::refused(format!("table {table} is not ready after {} s", TABLE_TIMEOUT.as_secs())));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns whether items lie in the table as kvtrial writes them.
fn is_of_keys(table: &Table) -> bool {
    let of_bytes = |key: &Definition| key.attribute_name == "k" && key.attribute_type == "B";
    matches!(&table.key_schema[..], [key] if key.attribute_name == "k")
        && table.attribute_definitions.iter().any(of_bytes)
}

impl DynamoDb {
    async fn client(&self) -> Result<Client, StoreError> {
        let signed = self.service.open().await.map_err(|error| StoreError::open(&self.endpoint, error))?;
        Ok(Client::new(signed, self.table.clone()))
    }
}

impl Store for DynamoDb {
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

    /// Counts items one by one, which Amazon would charge for.
    fn holding(&self) -> Result<Holding, StoreError> {
        if self.target != Target::Private {
            return Ok(Holding::default());
        }
        let failed = |words: String| StoreError::open(&self.endpoint, words);
        brief(&self.endpoint, COUNT_PATIENCE, async {
            let mut client = self.client().await?;
            let (mut keys, mut from) = (0, String::new());
            loop {
                let body = format!(r#"{{"TableName":"{}","Select":"COUNT"{from}}}"#, self.table);
                let body = client.ask("Scan", body).await.map_err(|trouble| failed(trouble.words()))?;
                let counted: Counted = serde_json::from_slice(&body).map_err(|error| failed(error.to_string()))?;
                keys += counted.count;
                let Some(last) = counted.last_evaluated_key else { break };
                from = format!(r#","ExclusiveStartKey":{last}"#);
            }
            Ok(Holding { keys: Some(keys), ..Holding::default() })
        })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let text = |text: &str| text.to_owned();
        let mut config = BTreeMap::from([
            (text("connections"), text("one per slot, one request at a time")),
            (
                text("protocol"),
                format!("DynamoDB {PROTOCOL}: keys and values in base64 in JSON over HTTP, {}", self.service.tls()),
            ),
            (text("requests"), text("each is signed (Signature Version 4)")),
            (text("reads"), text("consistent")),
            (text("compare-and-set"), text("on the value: one that changed and changed back passes")),
            (text("batches"), text("25 writes or 100 reads per request; the rest of a full answer is requested")),
            (text("region"), self.service.region().to_owned()),
            (text("table"), self.table.clone()),
            (text("driver"), text("hyper")),
        ]);
        if self.product == "dynalite" {
            config.insert(text("stand-in"), text("for Amazon DynamoDB: these figures are not Amazon's"));
        }
        Ok(Facts { product: self.product.clone(), version: self.version.clone(), config, ..Facts::default() })
    }
}
