//! The answer of a node that does not carry an operation out.

/// The place where an operation is to be sent, or the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirection {
    /// The slot is another master's, for good.
    Moved {
        /// The slot.
        hash_slot: usize,
        /// `host:port` of that master.
        address: String,
    },
    /// The key is asked for at another master, this once.
    Ask {
        /// `host:port` of that master.
        address: String,
    },
    /// The slot is being moved: the operation is sent again in a moment.
    Later,
    /// The node takes the cluster for broken: the operation is sent again in a moment, to the node that serves it then.
    Down,
}

impl Redirection {
    /// Reads the words of a refusal; `None` when the refusal is an answer.
    pub fn read(words: &str) -> Option<Redirection> {
        let mut fields = words.split(' ');
        let kind = fields.next()?;
        match kind {
            "TRYAGAIN" => return Some(Redirection::Later),
            "CLUSTERDOWN" => return Some(Redirection::Down),
            _ => {}
        }
        let (hash_slot, address) = (fields.next()?.parse().ok()?, fields.next()?.to_owned());
        match kind {
            "MOVED" => Some(Redirection::Moved { hash_slot, address }),
            "ASK" => Some(Redirection::Ask { address }),
            _ => None,
        }
    }

    /// Returns whether the words say that the same may be asked again in a moment: until the deadline of the operation, however often.
    pub fn is_later(words: &str) -> bool {
        matches!(words.split(' ').next(), Some("TRYAGAIN" | "CLUSTERDOWN"))
    }
}

#[cfg(test)]
mod tests {
    use super::Redirection;

    #[test]
    fn redirections_are_read_and_other_refusals_are_answers() {
        let moved = Redirection::Moved { hash_slot: 3999, address: "127.0.0.1:6381".into() };
        assert_eq!(Redirection::read("MOVED 3999 127.0.0.1:6381"), Some(moved));
        assert_eq!(Redirection::read("ASK 3999 h:1"), Some(Redirection::Ask { address: "h:1".into() }));
        assert_eq!(Redirection::read("TRYAGAIN Multiple keys request"), Some(Redirection::Later));
        assert_eq!(Redirection::read("CLUSTERDOWN The cluster is down"), Some(Redirection::Down));
        for answer in ["OOM command not allowed", "MOVED", "MOVED x h:1", "ASK 1", "", "ERR MOVED 1 h:1"] {
            assert_eq!(Redirection::read(answer), None, "{answer}");
        }
    }
}
