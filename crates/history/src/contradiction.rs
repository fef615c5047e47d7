//! What is said about a key, and with which operations it is shown.

use std::fmt;

use crate::act::Act;

/// What is said about the operations on one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOutcome {
    /// One order of the operations explains every answer, and keeps to the times.
    Linearizable,
    /// No order does.
    Contradicts(Contradiction),
    /// The search hit its bound before it knew.
    Undecided(BoundHit),
}

/// The bound that a search hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundHit {
    /// That many possible states had to be kept at once.
    States(usize),
    /// That many operations were open at once.
    Open(usize),
}

/// Operations of one key that no order explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The operations, by the time they were sent.
    pub operations: Vec<Act>,
    /// What the counter held before them (only counters).
    pub start: i64,
    /// What is wrong.
    pub reason: Impossibility,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossibility {
    /// A version was read that nobody wrote.
    Invented(u64),
    /// A version was read, and the read was answered before the write was sent.
    BeforeWritten(u64),
    /// A counter was read that lies outside of what the additions allow.
    Sum {
        /// What was read.
        read: i64,
        /// The least that it could be.
        least: i64,
        /// The most that it could be.
        most: i64,
    },
    /// No order of the operations explains the answers.
    NoOrder,
}

impl fmt::Display for Impossibility {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invented(version) => write!(out, "Version {version} was read, and nobody wrote it."),
            Self::BeforeWritten(version) => write!(out, "Version {version} was read before it was sent."),
            Self::Sum { read, least, most } => {
                write!(out, "The counter was read as {read}; what was added allows {least} to {most}.")
            }
            Self::NoOrder => write!(out, "No order of these operations explains their answers."),
        }
    }
}

impl fmt::Display for BoundHit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::States(most) => write!(out, "undecided: more than {most} states were possible at once"),
            Self::Open(most) => write!(out, "undecided: more than {most} operations were open at once"),
        }
    }
}
