//! The interface between the engine and a key/value store, and the bridges that make an adapter small.
//!
//! One object-safe trait, [`Session`]: an operation goes in with its slot ([`Session::submit`]), replies come out through a
//! [`Sink`] ([`Session::poll`]). Nobody implements it by hand; three bridges do:
//!
//! * [`immediate`]: synchronous stores ([`SyncStore`](immediate::SyncStore)); the reply is there at submit.
//! * [`wire`]: a sans-I/O [`Codec`](wire::Codec) over one epoll transport, TCP and unix sockets, pipelined.
//! * `asynchronous` (feature `async`): a tokio driver, one current-thread runtime per thread. A client that reads, replaces and deletes one
//!   record at a time is four functions with results (`AsyncRecords`).
//!
//! A private server is planned, not started, here: a [`Deployment`] of [`Node`]s in a [`Place`], plain data; the crate `host` carries it out.
//! A server of the user's is [`asked`] what it has before anything is made of it. What a store made
//! of a store does not change goes to the one beneath it ([`layered`]).
//!
//! What never lives here: a particular store, a job, a statistic, a process being started, a store made of stores (the crate `layers`).
//!
//! # An adapter, whole
//!
//! A tree in memory behind a lock, told to kvtrial: who it is, what it can do, and one function that carries out operations. As a
//! file of the crate `embedded` it would be ready for `kvtrial run`, `check` and `stores`.
//!
//! ```
//! # use kvtrial_store as store;
//! use std::{collections::BTreeMap, sync::{Arc, Mutex, PoisonError}};
//! use store::immediate::{Immediate, SyncStore};
//! use store::{Capabilities, Facts, Opener, Operation, OperationKind, OperationSet, Availability};
//! use store::{Reply, RowBuffer, Session, SessionPlan, Store, StoreError, StoreInfo, Threading};
//! use study::{Class, Durability, Spec};
//!
//! pub static STORES: &[StoreInfo] = &[StoreInfo {
//!     name: "tree",
//!     family: "tree",
//!     transport: None,
//!     driver: None,
//!     class: Class::Embedded,
//!     kind: "tree",
//!     summary: "a balanced tree in memory",
//!     durabilities: &[Durability::None],
//!     options: &[],
//!     install: "built in",
//!     licence: "MIT OR Apache-2.0",
//!     declares: |_| CAPABILITIES,
//!     probe: || Availability::Found("tree 1".into()),
//!     opener: Opener::Embedded(|_spec, _directory| Ok(Box::new(Tree::default()))),
//! }];
//!
//! const CAPABILITIES: Capabilities =
//!     Capabilities { native: OperationSet::BASIC.and(&[OperationKind::Scan]), ..Capabilities::BASIC };
//! type Map = BTreeMap<Vec<u8>, Vec<u8>>;
//! #[derive(Default)]
//! struct Tree(Arc<Mutex<Map>>);
//!
//! impl Store for Tree {
//!     fn capabilities(&self) -> &Capabilities { &CAPABILITIES }
//!     fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
//!         Immediate::session(plan, || Ok(Handle { tree: self.0.clone(), ..Handle::default() }))
//!     }
//!     fn threading(&self) -> Threading { Threading::PerClient }
//!     fn facts(&self) -> Result<Facts, StoreError> {
//!         Ok(Facts { product: "tree".into(), version: "1".into(), ..Facts::default() })
//!     }
//! }
//!
//! /// One client's handle; replies borrow from its buffers.
//! #[derive(Default)]
//! struct Handle { tree: Arc<Mutex<Map>>, value: Vec<u8>, rows: RowBuffer }
//! impl SyncStore for Handle {
//!     fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
//!         let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
//!         match *operation {
//!             Operation::Get { key } => match tree.get(key) {
//!                 Some(value) => { self.value.clone_from(value); Reply::Value(&self.value) }
//!                 None => Reply::Missing,
//!             },
//!             Operation::Put { key, value } => { tree.insert(key.to_vec(), value.to_vec()); Reply::Done }
//!             Operation::Delete { key } => tree.remove(key).map_or(Reply::Missing, |_| Reply::Done),
//!             Operation::Scan { start, limit } => {
//!                 self.rows.clear();
//!                 let found = tree.range(start.to_vec()..).take(limit as usize);
//!                 found.for_each(|(key, value)| self.rows.push(key, value));
//!                 Reply::Rows(self.rows.rows())
//!             }
//!             _ => unreachable!("only what the capabilities name is asked"),
//!         }
//!     }
//! }
//! let Opener::Embedded(open) = STORES[0].opener else { unreachable!() };
//! let store = open(&Spec::private("tree"), std::path::Path::new("unused"))?;
//! let mut session = store.session(SessionPlan { clients: 1, pipeline: 1 })?;
//! assert_eq!(session.submit(0, &Operation::Put { key: b"libc6", value: b"3839" })?, Some(Reply::Done));
//! assert_eq!(session.submit(0, &Operation::Get { key: b"libc6" })?, Some(Reply::Value(b"3839")));
//! assert_eq!(session.submit(0, &Operation::Get { key: b"perl" })?, Some(Reply::Missing));
//! let Some(Reply::Rows(rows)) = session.submit(0, &Operation::Scan { start: b"a", limit: 9 })? else { panic!() };
//! assert_eq!(rows.iter().collect::<Vec<_>>(), [(&b"libc6"[..], &b"3839"[..])]);
//! # Ok::<(), StoreError>(())
//! ```

mod composition;
mod contract;
mod plan;
mod transport;

pub use composition::{asked, layered, routed, spread};
pub use contract::size;
use contract::{
    ability, capability, error, info, operation, option, owned, reply, resent, session, sets, sql, sweep, tree,
    whereabouts, whole,
};
pub use plan::programs;
use plan::{bundle, deployment, place, server, versions};
#[cfg(feature = "async")]
pub use transport::asynchronous;
pub use transport::{believed, immediate, tls, wire};
use transport::{client, connections, endpoint};

pub use ability::{
    Belongings, Checkpoint, Cluster, Compact, Happening, KeepSets, Maintenance, OwnTables, Reduce, Witness, needed,
};
pub use bundle::{Bundle, BundleFile, Home, MadeOf, PackedPart, Toolchain};
pub use capability::{Capabilities, Counter, Databases, Deletes, Expiry, Keeps, LevelKnown, NOTHING_EXPIRES, Overflow};
pub use client::BlockingClient;
pub use connections::{CONNECTIONS, Connections, Wiring};
pub use deployment::{
    CaughtUp, Deployment, Forming, FormingStep, Joining, Leaders, Members, Node, Ready, TimeOfDay, only,
};
pub use endpoint::Endpoint;
pub use error::{StoreError, Trouble, advised};
pub use info::{Availability, BUILT_IN, Connect, Driver, OpenEmbedded, Opener, PlanDeployment, StoreInfo};
pub use limits::{groups, memory};
pub use operation::{Expected, LASTS, Operation, OperationKind, OperationSet, RouteKey};
pub use option::{Choice, Number, OptionInfo, ShownAs, Tunable, Worded};
pub use owned::{OwnedFailure, OwnedOperation, OwnedReply};
pub use place::Place;
pub use reply::{Failure, Fate, Reply, RowBuffer, Rows};
pub use resent::Resent;
pub use server::{CommandLine, ServerPlan};
pub use session::{
    Abandoned, COUNT_PATIENCE, Executor, Facts, Heed, Holding, SWEEP_PATIENCE, Session, SessionPlan, Sink, Slot, Store,
    Threading, Until,
};
pub use sets::{SET_RESULT_KEY, SetCombination, SetKeeper, SetPlan, SetPrecision, SetWay, set_key};
pub use sql::{SqlResult, SqlValue};
pub use study::{HeadOfLine, Role};
pub use sweep::{Sweep, Swept};
pub use tree::{AnswerTree, OwnedTree, Span, TreeNode, TreePart};
pub use versions::{VERSION, Versions, nearest_versions, version_among};
pub use whereabouts::{Keepers, Whereabouts};
pub use whole::{FieldPath, Reduction, ReductionGroup, Support};
