//! A fault as it is asked for in words.

use job::NodeAct;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const GRAMMAR: &str = "write 'at 5s kill 2', 'at 5s stop 2', 'at 8s restart 2', 'at 5s freeze 2 for 3s' or 'at 5s add'";
/// The words that begin a fault a job asks for, in the place of a time.
pub(super) const CHANGE: &str = "at change:";
/// Longest time that can be asked for.
const LONGEST_S: f64 = 1e6;

/// A fault: the act, the node and the time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    pub(super) text: String,
    pub(super) at: Duration,
    pub(super) act: Act,
}

/// The act that is done, and the node it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Kill(usize),
    Stop(usize),
    Restart(usize),
    Freeze(usize, Duration),
    Add,
}

impl PlannedFault {
    /// Returns the act that a job wants done when a phase begins, as a fault.
    pub(super) fn of_job(act: NodeAct) -> PlannedFault {
        let (text, act) = match act {
            NodeAct::Add | NodeAct::Remove(_) => (format!("{CHANGE} add"), Act::Add),
            NodeAct::Kill(node) => {
                let node = node.unwrap_or(1);
                (format!("{CHANGE} kill {node}"), Act::Kill(node))
            }
        };
        PlannedFault { text, at: Duration::ZERO, act }
    }
}

impl Act {
    /// Returns the node it is done to, from 1; `None`: it makes one.
    pub(super) fn node(self) -> Option<usize> {
        match self {
            Act::Kill(node) | Act::Stop(node) | Act::Restart(node) | Act::Freeze(node, _) => Some(node),
            Act::Add => None,
        }
    }

    /// Returns whether a node that served does so no longer.
    pub(super) fn strikes(self) -> bool {
        matches!(self, Act::Kill(_) | Act::Stop(_) | Act::Freeze(..))
    }
}

impl FromStr for PlannedFault {
    type Err = String;

    fn from_str(text: &str) -> Result<PlannedFault, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let node = |node: &str| {
            let number = node.parse().ok().filter(|node| *node >= 1);
            number.ok_or("nodes are numbered from 1: 'at 5s kill 1'")
        };
        let (at, act) = match words[..] {
            ["at", at, "kill", of] => (at, Act::Kill(node(of)?)),
            ["at", at, "stop", of] => (at, Act::Stop(node(of)?)),
            ["at", at, "restart", of] => (at, Act::Restart(node(of)?)),
            ["at", at, "freeze", of, "for", length] => {
                (at, Act::Freeze(node(of)?, time(length).filter(|it| !it.is_zero()).ok_or(GRAMMAR)?))
            }
            ["at", at, "add"] => (at, Act::Add),
            _ => return Err(GRAMMAR.into()),
        };
        Ok(PlannedFault { text: words.join(" "), at: time(at).ok_or(GRAMMAR)?, act })
    }
}

impl fmt::Display for PlannedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the first, of these by time, that starts a node again which runs.
pub(super) fn restart_in_vain(faults: &[PlannedFault]) -> Option<&PlannedFault> {
    let mut down = BTreeSet::new();
    faults.iter().find(|fault| match fault.act {
        Act::Kill(node) | Act::Stop(node) => {
            down.insert(node);
            false
        }
        Act::Restart(node) => !down.remove(&node),
        Act::Freeze(..) | Act::Add => false,
    })
}

/// `5s`, `500ms` or `1m`.
fn time(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let seconds_a_unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    let seconds = digits.parse::<f64>().ok()? * seconds_a_unit;
    (0.0..LONGEST_S).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Act, PlannedFault};
    use std::time::Duration;

    #[test]
    fn a_fault_is_read_as_it_is_written_and_what_cannot_be_read_is_refused() {
        let fault: PlannedFault = "at 500ms freeze 2 for 3s".parse().unwrap();
        assert_eq!(fault.at, Duration::from_millis(500));
        assert_eq!(fault.act, Act::Freeze(2, Duration::from_secs(3)));
        assert_eq!("at 8s restart 1".parse::<PlannedFault>().unwrap().act, Act::Restart(1));
        assert_eq!("at 8s add".parse::<PlannedFault>().unwrap().act, Act::Add);
        for text in [
            "",
            "kill 2",
            "at 5 kill 2",
            "at 5s kill",
            "at 5s kill 0",
            "at 5s kill x",
            "at 5s freeze 2",
            "at 5s kill 2 for 3s",
            "at -1s kill 2",
            "at 5s add 2",
            "add",
            "at 5s freeze 2 for 0s",
            "at NaNs kill 1",
            "at 1é kill 1",
        ] {
            assert!(text.parse::<PlannedFault>().is_err(), "{text}");
        }
    }
}
