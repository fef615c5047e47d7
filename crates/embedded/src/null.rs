//! The null store: gets miss, puts vanish. What remains is the cost of kvtrial and the job.

use store::immediate::{Immediate, SyncStore};
use store::{
    Availability, BUILT_IN, Capabilities, Counter, Facts, Keeps, Opener, Operation, OperationKind, OperationSet,
    Overflow, Reply, RowBuffer, Session, SessionPlan, Store, StoreError, StoreInfo, Threading,
};
use study::{Class, Durability};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "null",
    family: "null",
    transport: None,
    driver: None,
    class: Class::Baseline,
    kind: "nothing",
    summary: "keeps nothing: the cost of the client itself",
    durabilities: &[Durability::None],
    options: &[],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares: |_| CAPABILITIES,
    probe: || Availability::Found(concat!("null ", env!("CARGO_PKG_VERSION")).into()),
    opener: Opener::Embedded(|_, _| Ok(Box::new(Null))),
}];

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::LASTING.and(&OperationKind::EXPIRING),
    keeps: Keeps::Nothing,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Wraps }),
    ..Capabilities::BASIC
};

struct Null;

impl Store for Null {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || Ok(Handle { no_rows: RowBuffer::default() }))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts { product: "null".into(), version: env!("CARGO_PKG_VERSION").into(), ..Facts::default() })
    }
}

struct Handle {
    no_rows: RowBuffer,
}

impl SyncStore for Handle {
    #[inline]
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        match operation {
            Operation::Get { .. }
            | Operation::GetVersioned { .. }
            | Operation::GetCounter { .. }
            | Operation::TimeLeft { .. } => Reply::Missing,
            Operation::Increment { by, .. } | Operation::IncrementField { by, .. } => Reply::Number(*by),
            Operation::Scan { .. } | Operation::GetMany { .. } | Operation::GetFields { .. } => {
                Reply::Rows(self.no_rows.rows())
            }
            _ => Reply::Done,
        }
    }
}
