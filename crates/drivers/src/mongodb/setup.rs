//! Connecting: login, collections, what the server says of itself.

use super::bounded::{ANSWER_BYTES, Tally, check};
use super::client::SlotClient;
use super::document::{Figures, note, pipeline};
use super::identity::{Identity, identity, settings};
use super::{DURABILITIES, Product, USUAL_PORT, ferretd_version};
use mongodb::bson::{Document, doc};
use mongodb::options::{ClientOptions, Credential, ServerAddress, Tls, TlsOptions, WriteConcern};
use mongodb::{Client, Database};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::asynchronous::{Async, brief};
use store::tls::Trust;
use store::{
    Belongings, COUNT_PATIENCE, Capabilities, Compact, Endpoint, Facts, Holding, Maintenance, OwnTables, Reduce,
    Reduction, ReductionGroup, Resent, Session, SessionPlan, Store, StoreError,
};
use study::{Address, Durability, Spec, Target};
use tokio::sync::Semaphore;

/// The time a server may take to let us in: a server that is starting is asked again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The time for an answer to the driver's monitor. The monitor asks the server how it is on a connection of its own, and gives up every other
/// connection when the answer takes longer than this. A server that freezes for a while is what kvtrial measures: its operations end by their own
/// deadlines.
const MONITOR_TIMEOUT: Duration = Duration::from_secs(3600);

/// The time that making the collections may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);

/// The names of the collections, all of which are ours.
pub(super) const COLLECTIONS: [&str; 3] = ["kvtrial_kv", "kvtrial_counters", "kvtrial_fields"];

/// The most connections of a session to FerretDB. SQLite has one writer; FerretDB lets writers poll for their turn, and with 16 of them none comes
/// through within 10 s. So kvtrial sends FerretDB one write at a time.
const CONNECTIONS_OF_FERRETDB: u32 = 4;

struct MongoDb {
    product: Product,
    /// The most connections of a session; slots beyond them wait for one.
    most_connections: u32,
    /// The turn for FerretDB: one write at a time, over all sessions.
    turn: Option<Arc<Semaphore>>,
    options: ClientOptions,
    database: String,
    place: String,
    target: Target,
    capabilities: Capabilities,
    resent: Resent,
}

/// Connects and makes the collections.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    let database = endpoint.database.clone().unwrap_or_else(|| "kvtrial".into());
    let place = endpoint.to_string();
    let options = options(endpoint);
    let identity = brief(endpoint, SETUP_TIMEOUT, async {
        let database = enter(&place, options.clone(), &database).await?;
        let work = async {
            make_collections(&database).await?;
            identity(&database).await
        };
        let identity = work.await.map_err(|error| StoreError::open(&place, error));
        database.client().clone().shutdown().immediate(true).await;
        identity
    })?;
    let durability = durability(spec, &identity);
    let product = if identity.speaks.is_some() { Product::FerretDb } else { Product::MongoDb };
    let capabilities = Capabilities { durability, ..product.capabilities() };
    let options = with_concern(options, durability);
    let (most_connections, turn) = match identity.speaks {
        Some(_) => (CONNECTIONS_OF_FERRETDB, Some(Arc::new(Semaphore::new(1)))),
        None => (u32::MAX, None),
    };
    Ok(Box::new(MongoDb {
        product,
        most_connections,
        turn,
        options,
        database,
        place,
        target: spec.target.clone(),
        capabilities,
        resent: Resent::default(),
    }))
}

/// Returns the level. MongoDB's level is the client's choice; of a FerretDB that kvtrial has not started only the fact that it writes is known.
fn durability(spec: &Spec, identity: &Identity) -> Durability {
    match (&spec.target, spec.durability) {
        (_, Some(level)) => level,
        (Target::Private, None) => DURABILITIES[0],
        (_, None) if identity.speaks.is_some() => Durability::Os,
        (_, None) => DURABILITIES[0],
    }
}

fn with_concern(mut options: ClientOptions, durability: Durability) -> ClientOptions {
    let journal = durability == Durability::Commit;
    options.write_concern =
        Some(WriteConcern::builder().w(mongodb::options::Acknowledgment::Nodes(1)).journal(journal).build());
    options
}

fn options(endpoint: &Endpoint) -> ClientOptions {
    let address = match &endpoint.address {
        Address::Tcp { host, port } => {
            ServerAddress::Tcp { host: host.clone(), port: Some(port.unwrap_or(USUAL_PORT)) }
        }
        Address::Unix(path) => ServerAddress::Unix { path: path.clone() },
    };
    let credential = endpoint.user.clone().map(|user| {
        let password = endpoint.password.as_ref().map(|password| password.reveal().to_owned());
        let source = endpoint.database.clone().unwrap_or_else(|| "admin".into());
        Credential::builder().username(user).password(password).source(source).build()
    });
    let secret = endpoint.tls.as_ref().map(|trust| {
        Tls::Enabled(match trust {
            Trust::WellKnown => TlsOptions::default(),
            Trust::In(path) => TlsOptions::builder().ca_file_path(path.clone()).build(),
        })
    });
    ClientOptions::builder()
        .tls(secret)
        .hosts(vec![address])
        .app_name("kvtrial".to_owned())
        .credential(credential)
        .direct_connection(true)
        .connect_timeout(MONITOR_TIMEOUT)
        .heartbeat_freq(MONITOR_TIMEOUT)
        .server_selection_timeout(CONNECT_TIMEOUT)
        // What fails is reported, not hidden.
        .retry_reads(false)
        .retry_writes(false)
        .build()
}

/// Returns a client that has spoken to the server, or soon an error.
async fn enter(place: &str, options: ClientOptions, database: &str) -> Result<Database, StoreError> {
    let greet = async {
        let database = Client::with_options(options)?.database(database);
        // The driver's own greeting; servers of every version know it by its old name.
        let greeting = database.run_command(doc! { "isMaster": 1 }).await?;
        Ok::<_, mongodb::error::Error>((database, greeting))
    };
    let Ok(greeted) = tokio::time::timeout(CONNECT_TIMEOUT, greet).await else {
        return Err(StoreError::open(place, "no answer within 1 s"));
    };
    let (database, greeting) = greeted.map_err(|error| StoreError::open(place, store::tls::explained(error)))?;
    check(&greeting).map_err(|words| StoreError::open(place, words))?;
    Ok(database)
}

/// Makes the collections. Collections that are there already stay, even with somebody else's documents: nobody has said yet that they may go.
async fn make_collections(database: &Database) -> mongodb::error::Result<()> {
    let mut existing = Vec::new();
    let mut tally = Tally::new(ANSWER_BYTES);
    let mut collections = database.list_collections().await?;
    while collections.advance().await? {
        tally.add_document(collections.current())?;
        existing.extend(collections.current().get_str("name").map(str::to_owned));
    }
    for name in COLLECTIONS {
        if !existing.iter().any(|other| other == name) {
            database.create_collection(name).await?;
        }
    }
    let by_key = mongodb::IndexModel::builder().keys(doc! { "k": 1 }).build();
    database.collection::<Document>(COLLECTIONS[2]).create_index(by_key).await?;
    Ok(())
}

impl MongoDb {
    /// Asks the server something on a connection of its own.
    fn ask<T>(
        &self,
        patience: Duration,
        question: impl AsyncFnOnce(&Database) -> mongodb::error::Result<T>,
    ) -> Result<T, StoreError> {
        brief(&self.place, patience, async {
            let database = enter(&self.place, self.options.clone(), &self.database).await?;
            let answer = question(&database).await;
            database.client().clone().shutdown().immediate(true).await;
            answer.map_err(|error| StoreError::open(&self.place, error))
        })
    }
}

impl Store for MongoDb {
    store::of_driver!(capabilities, resent);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let mut options = self.options.clone();
        let connections = plan.slots().min(self.most_connections);
        options.max_pool_size = Some(connections);
        options.min_pool_size = Some(connections);
        let mut database = None;
        Async::session(plan, async |_| {
            let database = match &database {
                Some(database) => database,
                None => {
                    let entered = enter(&self.place, options.clone(), &self.database).await?;
                    fill_pool(&entered, connections).await;
                    database.insert(entered)
                }
            };
            Ok(SlotClient::new(database, self.turn.clone(), self.resent.clone()))
        })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let (identity, mut config) = self.ask(SETUP_TIMEOUT, async |database| {
            let identity = identity(database).await?;
            Ok((identity, settings(database).await))
        })?;
        let mut version = identity.version;
        if let Some(speaks) = identity.speaks {
            config.insert("speaks_mongodb".into(), speaks);
            if let (Target::Private, Some(stated)) = (&self.target, ferretd_version()) {
                version = stated;
            }
        }
        let journal = self.capabilities.durability == Durability::Commit;
        config.insert("write_concern".into(), format!("w: 1, j: {journal}"));
        let connections = match self.most_connections {
            u32::MAX => "one a slot, in one pool a session (the protocol does not pipeline)".to_owned(),
            most => format!("one a slot, in one pool of at most {most} a session; one write at a time"),
        };
        config.insert("connections".into(), connections);
        config.insert("driver".into(), "mongodb".into());
        Ok(Facts { product: identity.product.into(), version, config, ..Facts::default() })
    }

    fn belongings(&self) -> Belongings<'_> {
        Belongings::Own(self)
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { compaction: self.capabilities.compaction.of(self), ..Maintenance::default() }
    }

    fn reduces(&self) -> Option<&dyn Reduce> {
        self.capabilities.reduction.of(self)
    }

    /// Counts by looking, not by the collection's statistics.
    fn holding(&self) -> Result<Holding, StoreError> {
        self.ask(COUNT_PATIENCE, async |database| {
            let documents = |at: usize| database.collection::<Document>(COLLECTIONS[at]);
            let mut keys = 0;
            for at in [0, 1] {
                keys += documents(at).count_documents(doc! {}).await?;
            }
            let mut records = documents(2).aggregate([doc! { "$group": { "_id": "$k" } }]).await?;
            while records.advance().await? {
                keys += 1;
            }
            Ok(Holding { keys: Some(keys), ..Holding::default() })
        })
    }
}

impl OwnTables for MongoDb {
    fn names(&self) -> Vec<String> {
        COLLECTIONS.map(|name| format!("collection {}.{name}", self.database)).to_vec()
    }

    fn rows(&self) -> Result<u64, StoreError> {
        self.ask(SETUP_TIMEOUT, async |database| {
            let mut rows = 0;
            for name in COLLECTIONS {
                rows += database.collection::<Document>(name).count_documents(doc! {}).await?;
            }
            Ok(rows)
        })
    }

    fn clear(&self) -> Result<(), StoreError> {
        self.ask(SETUP_TIMEOUT, async |database| {
            for name in COLLECTIONS {
                database.collection::<Document>(name).drop().await?;
            }
            make_collections(database).await
        })
    }

    fn unmake(&self) -> Result<(), StoreError> {
        self.ask(SETUP_TIMEOUT, async |database| {
            for name in COLLECTIONS {
                database.collection::<Document>(name).drop().await?;
            }
            Ok(())
        })
    }
}

impl Compact for MongoDb {
    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        self.ask(patience, async |database| database.run_command(doc! { "compact": COLLECTIONS[0] }).await.map(drop))
    }
}

impl Reduce for MongoDb {
    fn reduce(&self, reduction: &Reduction, patience: Duration) -> Result<Vec<ReductionGroup>, StoreError> {
        let made = self.ask(patience, async |database| aggregate(database, self.product, reduction).await)?;
        let mut groups = BTreeMap::new();
        for document in &made {
            note(&mut groups, document).map_err(|problem| StoreError::open(&self.place, problem))?;
        }
        Ok(groups.into_values().collect())
    }
}

/// Returns the aggregation's figures of the pairs.
async fn aggregate(
    database: &Database,
    product: Product,
    reduction: &Reduction,
) -> mongodb::error::Result<Vec<Document>> {
    let mut made = Vec::new();
    let mut tally = Tally::new(ANSWER_BYTES);
    for &figures in Figures::of(product) {
        let stages = pipeline(reduction, figures);
        let mut cursor = database.collection::<Document>(COLLECTIONS[0]).aggregate(stages).await?;
        while cursor.advance().await? {
            tally.add_document(cursor.current())?;
            made.push(cursor.deserialize_current()?);
        }
    }
    Ok(made)
}

/// Opens the connections before the clock starts: as many commands at once need as many connections.
async fn fill_pool(database: &Database, connections: u32) {
    let pings: Vec<_> = (0..connections)
        .map(|_| {
            let database = database.clone();
            tokio::spawn(async move { database.run_command(doc! { "ping": 1 }).await })
        })
        .collect();
    for ping in pings {
        // Whatever went wrong will go wrong again with the first operation, and be seen there.
        let _ = ping.await;
    }
}
