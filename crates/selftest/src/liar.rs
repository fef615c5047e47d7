//! A store that is right but for one answer: the `ram` store, with one lie told on the way.

use std::path::Path;
use std::task::{Context, Poll};
use std::time::Instant;
use store::{
    Availability, BUILT_IN, Capabilities, Executor, Facts, Failure, Opener, Operation, OptionInfo, Reply, Session,
    SessionPlan, Sink, Slot, Store, StoreError, StoreInfo, Threading, Until,
};
use study::{BudgetLayer, Class, Durability, Spec};

/// The fault in the one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Nothing: every answer is right.
    None,
    /// One bit of a value is another.
    WrongValue,
    /// The value of another key.
    OtherKey,
    /// A write is acknowledged and not done.
    LostWrite,
    /// A key that is there is not found.
    Missing,
    /// An operation is refused.
    Refused,
    /// No answer ever comes.
    Silence,
}

impl Lie {
    pub(crate) const ALL: [Lie; 7] =
        [Lie::None, Lie::WrongValue, Lie::OtherKey, Lie::LostWrite, Lie::Missing, Lie::Refused, Lie::Silence];

    /// Returns the value of the option `lie`.
    pub(crate) fn name(self) -> &'static str {
        LIE.values[self as usize]
    }

    fn parse(text: &str) -> Option<Lie> {
        Lie::ALL.into_iter().find(|lie| lie.name() == text)
    }
}

const LIE: OptionInfo = OptionInfo::one_of(
    "lie",
    &["none", "wrong_value", "other_key", "lost_write", "missing", "refused", "silence"],
    "the one wrong answer",
);

/// The store as the runner opens it; users cannot name it.
pub(crate) static LIAR: StoreInfo = StoreInfo {
    name: "liar",
    family: "liar",
    transport: None,
    driver: None,
    class: Class::Baseline,
    kind: "hash",
    summary: "ram, with one wrong answer: for the self-test",
    durabilities: &[Durability::None],
    options: &[LIE],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares: |_| Capabilities::BASIC,
    probe: || Availability::Found("liar".into()),
    opener: Opener::Embedded(open),
};

fn open(spec: &Spec, directory: &Path) -> Result<Box<dyn Store>, StoreError> {
    let keeps = catalog::all().find(|info| info.layer() == Some(BudgetLayer::Client));
    let Some(StoreInfo { name, opener: Opener::Embedded(open), .. }) = keeps else {
        return Err(StoreError::open("liar", "this build has no store in memory"));
    };
    let lie = Lie::parse(LIE.read(spec)).unwrap_or(Lie::None);
    Ok(Box::new(Liar { honest: open(&Spec::private(*name), directory)?, lie }))
}

struct Liar {
    honest: Box<dyn Store>,
    lie: Lie,
}

impl Store for Liar {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let honest = self.honest.session(plan)?;
        Ok(Box::new(LyingSession { honest, lie: self.lie, chances: 0, other: Vec::new(), value: Vec::new() }))
    }

    fn threading(&self) -> Threading {
        self.honest.threading()
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        self.honest.facts()
    }
}

/// It lies with this chance within a phase: past the first operations, long before the last.
const TOLD_AT: u32 = 50;

struct LyingSession {
    honest: Box<dyn Session>,
    lie: Lie,
    /// Operations so far about which this lie could be told.
    chances: u32,
    /// A key other than the one asked for.
    other: Vec<u8>,
    value: Vec<u8>,
}

impl LyingSession {
    /// Whether this is the operation to lie about.
    fn is_due(&mut self, operation: &Operation<'_>) -> bool {
        let is_chance = match (self.lie, operation) {
            (Lie::None, _) => false,
            (Lie::LostWrite, Operation::Put { .. }) | (Lie::Refused | Lie::Silence, _) => true,
            (Lie::WrongValue | Lie::Missing, Operation::Get { .. }) => true,
            (Lie::OtherKey, Operation::Get { key }) => !self.other.is_empty() && self.other != *key,
            _ => false,
        };
        self.chances += u32::from(is_chance);
        is_chance && self.chances == TOLD_AT
    }

    /// Reads a key's value into the buffer.
    fn read(&mut self, slot: Slot, key: &[u8]) -> Result<(), StoreError> {
        self.value.clear();
        if let Some(Reply::Value(value)) = self.honest.submit(slot, &Operation::Get { key })? {
            self.value.extend_from_slice(value);
        }
        Ok(())
    }
}

impl Session for LyingSession {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        if !self.is_due(operation) {
            if let Operation::Get { key } = operation {
                self.other.clear();
                self.other.extend_from_slice(key);
            }
            return self.honest.submit(slot, operation);
        }
        Ok(match (self.lie, operation) {
            (Lie::WrongValue, Operation::Get { key }) => {
                self.read(slot, key)?;
                let middle = self.value.len() / 2;
                if let Some(byte) = self.value.get_mut(middle) {
                    *byte ^= 1;
                }
                Some(Reply::Value(&self.value))
            }
            (Lie::OtherKey, _) => {
                let other = std::mem::take(&mut self.other);
                self.read(slot, &other)?;
                Some(Reply::Value(&self.value))
            }
            (Lie::LostWrite, _) => Some(Reply::Done),
            (Lie::Missing, _) => Some(Reply::Missing),
            (Lie::Refused, _) => Some(Reply::Failed(Failure::Refused("no"))),
            (Lie::Silence, _) => None,
            _ => return self.honest.submit(slot, operation),
        })
    }

    fn poll(&mut self, _: &mut Context<'_>, until: Until, _: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        // Only silence is ever waited for.
        if let Until::At(time) = until {
            std::thread::sleep(time.saturating_duration_since(Instant::now()));
        }
        Poll::Ready(Ok(()))
    }

    fn executor(&self) -> Executor {
        self.honest.executor()
    }
}
