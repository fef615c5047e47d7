//! The ways in which an operation fails, and what is known of the operation then.

use super::line::LineTrouble;
use super::protocol::Fault;
use store::asynchronous::{BufferedReply, ReplyBuffer};

/// The reason why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing was sent.
    NotConnected(String),
    /// The connection broke, or the answer did not come in time.
    Lost(String),
    /// The answer is not the protocol.
    Protocol(String),
    /// A refusal of the server, in its words.
    Refused(String),
    /// The operation may have happened, wholly or in part.
    Unknown(String),
}

/// The errors of a server whose engine failed, or of another server: how far the operation came is not known.
const LEFT_OPEN: [u64; 6] = [2, 3, 6, 7, 10, 15];

impl From<LineTrouble> for Trouble {
    fn from(trouble: LineTrouble) -> Trouble {
        match trouble {
            LineTrouble::NotConnected(words) => Trouble::NotConnected(words),
            LineTrouble::Lost(words) => Trouble::Lost(words),
            LineTrouble::Protocol(words) => Trouble::Protocol(words),
        }
    }
}

impl From<Fault> for Trouble {
    /// Returns the trouble of a read: a read changes nothing.
    fn from(fault: Fault) -> Trouble {
        match fault {
            Fault::Said { words, .. } => Trouble::Refused(words),
            Fault::Broken(expected) => Trouble::Protocol(format!("expected {expected}")),
        }
    }
}

impl Trouble {
    /// Returns the trouble of a write.
    pub(super) fn of_write(fault: Fault) -> Trouble {
        match fault {
            Fault::Said { code, words } if LEFT_OPEN.contains(&code) => Trouble::Unknown(words),
            other => other.into(),
        }
    }

    /// Returns the trouble of a write whose version could not be read: the write was never sent.
    pub(super) fn before_a_write(self) -> Trouble {
        match self {
            Trouble::Lost(words) => Trouble::NotConnected(words),
            other => other,
        }
    }

    /// Returns the same trouble for an operation that was carried out in part.
    pub(super) fn in_part(self) -> Trouble {
        match self {
            Trouble::NotConnected(words) | Trouble::Refused(words) => Trouble::Unknown(words),
            other => other,
        }
    }

    fn is_open(&self) -> bool {
        !matches!(self, Trouble::NotConnected(_) | Trouble::Refused(_))
    }

    /// Returns, of two nodes' troubles, the one that leaves more open.
    pub(super) fn or_worse(self, other: Option<Trouble>) -> Trouble {
        match other {
            Some(other) if other.is_open() => other,
            _ => self,
        }
    }

    /// Adds how many nodes have answered, where several are required.
    pub(super) fn of_too_few(self, answered: usize, required: usize) -> Trouble {
        if required == 1 {
            return self;
        }
        let said = |words: String| format!("{answered} of the {required} nodes that are required: {words}");
        match self {
            Trouble::NotConnected(words) => Trouble::NotConnected(said(words)),
            Trouble::Lost(words) => Trouble::Lost(said(words)),
            Trouble::Protocol(words) => Trouble::Protocol(said(words)),
            Trouble::Refused(words) => Trouble::Refused(said(words)),
            Trouble::Unknown(words) => Trouble::Unknown(said(words)),
        }
    }

    /// Returns the trouble in words.
    pub(super) fn words(self) -> String {
        match self {
            Trouble::NotConnected(words)
            | Trouble::Lost(words)
            | Trouble::Protocol(words)
            | Trouble::Refused(words)
            | Trouble::Unknown(words) => words,
        }
    }

    /// Returns the reply of a slot whose operation failed.
    #[cold]
    pub(super) fn reply(self, out: &mut ReplyBuffer) -> BufferedReply {
        match self {
            Trouble::NotConnected(words) => out.not_connected(words),
            Trouble::Lost(words) => out.connection_lost(words),
            Trouble::Protocol(words) => out.protocol(words),
            Trouble::Refused(words) => out.refused(words),
            Trouble::Unknown(words) => out.unknown(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Trouble};

    fn said(code: u64) -> Fault {
        Fault::Said { code, words: "no".into() }
    }

    #[test]
    fn a_write_that_the_engine_failed_at_may_have_happened_and_one_that_was_refused_has_not() {
        assert_eq!(Trouble::of_write(said(10)), Trouble::Unknown("no".into()));
        assert_eq!(Trouble::of_write(said(9)), Trouble::Refused("no".into()));
        assert_eq!(Trouble::from(said(10)), Trouble::Refused("no".into()));
    }

    #[test]
    fn a_write_of_too_few_nodes_may_have_happened_and_says_of_how_many() {
        let trouble = Trouble::NotConnected("refused".into()).in_part().of_too_few(1, 2);
        assert_eq!(trouble, Trouble::Unknown("1 of the 2 nodes that are required: refused".into()));
        assert_eq!(Trouble::Lost("gone".into()).in_part(), Trouble::Lost("gone".into()));
    }

    #[test]
    fn of_two_troubles_the_one_that_leaves_more_open_stays() {
        let (certain, open) = (Trouble::NotConnected("a".into()), Trouble::Lost("b".into()));
        assert_eq!(certain.clone().or_worse(Some(open.clone())), open);
        assert_eq!(open.clone().or_worse(Some(certain.clone())), open);
        assert_eq!(certain.clone().or_worse(None), certain);
    }
}
