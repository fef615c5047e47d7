//! One operation of a client: what it asked, what it was answered, and when.

use std::fmt;

/// An operation on one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// The key; keys are independent of one another.
    pub key: u64,
    /// The client that sent it.
    pub client: u32,
    /// What was asked, with the answer.
    pub kind: ActKind,
    /// When it was sent.
    pub sent_ns: u64,
    /// How it ended.
    pub end: ActEnd,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActEnd {
    /// It was answered at this time, in nanoseconds.
    Answered(u64),
    /// It was refused at this time, in nanoseconds: it did not and will not happen.
    Refused(u64),
    /// It was never answered: it may have happened at any time after it was sent, or never.
    Unknown,
}

/// What an operation asked, and what it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActKind {
    /// The value of this version is written, whatever was there.
    Put(u64),
    /// The value is read: its version, or nothing was there.
    Get(Option<u64>),
    /// The value is removed.
    Delete,
    /// A version replaces the expected one (or nothing), if that is there.
    CompareAndSet {
        /// What must be there.
        expected: Option<u64>,
        /// What is there then.
        new: u64,
        /// What the store said about it.
        swap: SwapAnswer,
    },
    /// A number is added to a counter.
    Add {
        /// The number.
        by: i64,
        /// The counter after it, where the store says so.
        now: Option<i64>,
    },
    /// A counter is read.
    Sum(i64),
    /// An element is appended to a list.
    Append(u64),
    /// A list is read.
    List(Vec<u64>),
}

/// What a store says about a compare-and-set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapAnswer {
    /// The expected value was there and was replaced.
    Done,
    /// Another value was there and stayed.
    Declined,
}

impl Act {
    /// Returns when it was answered, the end of time where it never was.
    pub fn answered_ns(&self) -> u64 {
        match self.end {
            ActEnd::Answered(at) => at,
            ActEnd::Refused(_) | ActEnd::Unknown => u64::MAX,
        }
    }

    /// Tells whether its answer is known and it was not refused.
    pub fn is_answered(&self) -> bool {
        matches!(self.end, ActEnd::Answered(_))
    }

    /// Tells whether it has to do with the state of its key: it was not refused, and is no read without an answer.
    pub fn counts(&self) -> bool {
        match self.end {
            ActEnd::Answered(_) => true,
            ActEnd::Refused(_) => false,
            ActEnd::Unknown => self.kind.changes(),
        }
    }
}

impl ActKind {
    /// Tells whether it changes the value, if it happens.
    pub fn changes(&self) -> bool {
        match self {
            Self::Put(_) | Self::Delete | Self::Add { .. } | Self::Append(_) => true,
            Self::CompareAndSet { swap, .. } => *swap == SwapAnswer::Done,
            Self::Get(_) | Self::Sum(_) | Self::List(_) => false,
        }
    }
}

impl fmt::Display for ActKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(version) => write!(out, "put {version}"),
            Self::Get(version) => write!(out, "get → {}", Shown(*version)),
            Self::Delete => write!(out, "delete"),
            Self::CompareAndSet { expected, new, swap } => {
                write!(out, "set {new} if {}", Shown(*expected))?;
                if *swap == SwapAnswer::Declined { write!(out, " → no") } else { Ok(()) }
            }
            Self::Add { by, now: None } => write!(out, "add {by}"),
            Self::Add { by, now: Some(now) } => write!(out, "add {by} → {now}"),
            Self::Sum(sum) => write!(out, "get → {sum}"),
            Self::Append(element) => write!(out, "append {element}"),
            Self::List(elements) => {
                let elements: Vec<String> = elements.iter().map(u64::to_string).collect();
                write!(out, "get → [{}]", elements.join(" "))
            }
        }
    }
}

/// A version as it is shown, or that there is none.
struct Shown(Option<u64>);

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(version) => write!(out, "{version}"),
            None => write!(out, "nothing"),
        }
    }
}
