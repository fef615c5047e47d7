//! What a store still holds after a crash, against what it acknowledged before.
//!
//! Writers ([`write()`]) put, overwrite, append and delete self-describing values. What they send, and when it was acknowledged, goes into a
//! [`AckLedger`]: memory that another process shares, so that the writers may be killed at any instruction. After the crash the store is
//! opened again and read in full ([`read`]); what is found is compared with the ledger, key by key ([`Findings`]), and
//! [`promise`] says whether a level of durability held. Ledgers of several processes become one ([`LedgerParcel`]). Of clusters clients also read each other's keys meanwhile ([`Glance`]), and
//! [`history()`] is what a checker of histories is given.
//!
//! What never lives here: starting or killing anything (host), when the crash comes (runner), tables and sentences (terminal).

mod audit;
mod findings;
mod glance;
mod ledger;
mod parcel;
mod promise;
pub mod proof;
mod reader;
mod stream;
mod value;
mod writer;

pub use audit::{Remains, audit};
pub use findings::Findings;
pub use glance::{Glance, Glanced, Reading, history};
pub use ledger::{AckLedger, LateAnswer, Page, SentWrite, WriteKind, now_ns};
pub use parcel::{ClockShift, LedgerParcel};
pub use promise::{promise, ruled_out};
pub use reader::{After, clear, left_over, read};
pub use stream::{PREFIX, WriteSet};
pub use writer::{Endurance, write};
