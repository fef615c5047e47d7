//! A server that speaks a real protocol over a real socket, and lies when told to.
//!
//! Without rules it is an honest, if slow, Redis, memcached or Tokyo Tyrant. A [`Rule`] says which request is answered with which
//! [`Lie`]. Everything told is remembered with its key, so that a test can demand that the right key was named.

mod dialect;
mod line;
mod map;
mod memcached;
pub mod private;
mod resp;
mod server;
mod tyrant;
mod untruth;
mod visits;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use server::LyingServer;

/// The protocol the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2, as Redis does.
    Resp,
    /// The text protocol of memcached with its meta commands.
    Memcached,
    /// The binary protocol of Tokyo Tyrant.
    Tyrant,
}

/// The commands the server knows, where they are not all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knows {
    /// Commands, as they are written.
    pub commands: &'static [&'static str],
    /// What becomes of others.
    pub others: Unknown,
}

/// The treatment of a command that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It is answered with an error.
    Refused,
    /// The connection ends.
    HangsUp,
    /// Nothing is answered.
    Silence,
}

/// A way to answer wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// The value with one bit changed in its middle.
    WrongBytes,
    /// The value of another key.
    AnotherKeysValue,
    /// The value this key had before its last change.
    StaleValue,
    /// The value that was put last, whatever its key: as if there was one register for all.
    OneRegister,
    /// The first value this key ever had, while a write of the key waits for its answer.
    FirstValueWhileWriting,
    /// The value this key had before its last change and the last one, in turns, while a write of the key waits for its answer.
    BackAndForthWhileWriting,
    /// The number that another increment of the counter was answered.
    RepeatedNumber,
    /// After an append: 7 bytes, whatever there is.
    SevenBytes,
    /// The value without its last byte, announced with that length.
    TruncatedValue,
    /// "There is no such key."
    Denied,
    /// "Stored", and forgotten.
    DropsPut,
    /// A put on a condition that is not met is carried out, and acknowledged.
    SwapsAnyway,
    /// The right answer, and 10,000 keys that nobody wrote.
    KeysNobodyWrote,
    /// The right answer, later.
    Late(Duration),
    /// No lie: the right answer of a server that serves one request after the other, over all connections, each in exactly this time. What
    /// it loses by waking up late it makes good, so it can do no less and no more than its rate.
    InTurn(Duration),
    /// The right answer, twice.
    Twice,
    /// This answer is left out; the next ones come.
    Skipped,
    /// No answer, and none to anything that comes after it on this connection.
    Never,
    /// The first half of the right answer, then nothing more on this connection.
    HalfThenStall,
    /// The first half of the right answer, then the end of the connection.
    HalfThenClose,
    /// An error in the protocol's own form.
    Error,
    /// A value of gigabytes is announced, and sent for as long as the client listens.
    Endless,
    /// The same, in words that tell a terminal what to do: a title, a bell, a turn of the direction of writing.
    CommandingError,
    /// Bytes that are not the protocol.
    Garbage,
    /// The end of the connection instead of an answer.
    Close,
}

/// The requests a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Reads of one value.
    Gets,
    /// Writes of one value.
    Puts,
    /// Increments of a counter.
    Increments,
    /// Appends to a value.
    Appends,
}

/// The choice among the requests a rule fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The n-th, counted from 1.
    Nth(u64),
    /// Every n-th.
    Every(u64),
}

/// A rule that says which requests are answered with which lie. Lies about values count only reads that hit, and [`Lie::StaleValue`] only
/// reads of keys that have been changed.
#[derive(Debug)]
pub struct Rule {
    lie: Lie,
    target: Target,
    when: When,
    key_part: Vec<u8>,
    mood: Mood,
    seen: AtomicU64,
}

/// When a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Always,
    /// On connections that have written.
    ToWriters,
    /// Until this many writes were carried out, over all connections.
    BeforeWrites(u64),
    /// From then on.
    AfterWrites(u64),
}

impl Rule {
    /// Answers such requests with this lie.
    pub fn new(lie: Lie, target: Target, when: When) -> Rule {
        Rule { lie, target, when, key_part: Vec::new(), mood: Mood::Always, seen: AtomicU64::new(0) }
    }

    /// Makes only requests whose key contains these bytes count.
    pub fn for_keys_with(mut self, part: impl Into<Vec<u8>>) -> Rule {
        self.key_part = part.into();
        self
    }

    /// Restricts the rule to connections that have written: every other connection hears the truth.
    pub fn to_writers(mut self) -> Rule {
        self.mood = Mood::ToWriters;
        self
    }

    /// Restricts the rule to the time until `writes` writes were carried out, over all connections.
    pub fn before_writes(mut self, writes: u64) -> Rule {
        self.mood = Mood::BeforeWrites(writes);
        self
    }

    /// Restricts the rule to the time after `writes` writes were carried out, over all connections.
    pub fn after_writes(mut self, writes: u64) -> Rule {
        self.mood = Mood::AfterWrites(writes);
        self
    }

    /// Whether it holds on a connection that carried `own_writes` of `all_writes` writes.
    fn holds(&self, own_writes: u64, all_writes: u64) -> bool {
        match self.mood {
            Mood::Always => true,
            Mood::ToWriters => own_writes > 0,
            Mood::BeforeWrites(writes) => all_writes < writes,
            Mood::AfterWrites(writes) => all_writes >= writes,
        }
    }

    fn fits(&self, target: Target, key: &[u8]) -> bool {
        let part = &self.key_part[..];
        self.target == target && (part.is_empty() || key.windows(part.len()).any(|window| window == part))
    }

    /// Counts one request that fits, and says whether it is to be lied to.
    fn is_due(&self) -> bool {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        match self.when {
            When::Nth(n) => seen == n,
            When::Every(n) => seen.is_multiple_of(n.max(1)),
        }
    }
}

/// A lie that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Which.
    pub lie: Lie,
    /// The key of the request.
    pub key: Vec<u8>,
}

/// The requests made over one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// Requests to write something, by key.
    pub writes: u64,
    /// Requests to read something, by key.
    pub reads: u64,
    /// Those of them that found it.
    pub hits: u64,
}

impl Visit {
    /// Returns whether nothing but questions about the server were asked.
    pub fn is_of_control(&self) -> bool {
        self.writes + self.reads == 0
    }
}
