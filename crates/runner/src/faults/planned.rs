//! A fault as it is asked for in words.

use jobkit::{NodeAct, Stroke};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const GRAMMAR: &str = "write 'at 5s kill 2', 'at 5s stop 2', 'at 8s restart 2', 'at 5s freeze 2 for 3s', 'at 5s cut 2 for 3s', \
                       'at 5s clock 2 by 30s for 3s' (by -30s: behind) or 'at 5s add'";
/// The words that begin a fault a job asks for, in the place of a time.
pub(super) const CHANGE: &str = "at change:";
/// Longest time that can be asked for.
const LONGEST_S: f64 = 1e6;
/// The shortest time for which a clock is moved: there and back it takes up to a second.
const LEAST_APART: Duration = Duration::from_secs(2);
/// The least by which a clock is moved, in milliseconds: a node's answer says only so exactly what time it is.
const LEAST_OFFSET_MS: u64 = 200;

/// A fault: the act, the node and the time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    pub(super) text: String,
    pub(super) at: Duration,
    /// The nodes have numbers from 1.
    pub(super) act: NodeAct<usize>,
}

impl PlannedFault {
    /// Returns the act that a job wants done when a phase begins, as a fault.
    pub(super) fn of_job(act: NodeAct<usize>) -> PlannedFault {
        PlannedFault { text: format!("{CHANGE} {act}"), at: Duration::ZERO, act }
    }
}

impl PlannedFault {
    /// Returns when it is over; `None`: it lasts for no time of its own.
    pub(super) fn over_at(&self) -> Option<Duration> {
        match self.act {
            NodeAct::Strike(_, stroke) => stroke.time().map(|time| self.at + time),
            _ => None,
        }
    }

    /// Returns whether it cuts a node off from the others.
    pub(super) fn cuts(&self) -> bool {
        matches!(self.act, NodeAct::Strike(_, Stroke::Cut(_)))
    }

    /// Returns whether it moves the time of day of a node.
    pub(super) fn moves_clock(&self) -> bool {
        matches!(self.act, NodeAct::Strike(_, Stroke::Clock { .. }))
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
            ["at", at, "kill", of] => (at, NodeAct::Strike(node(of)?, Stroke::Kill)),
            ["at", at, "stop", of] => (at, NodeAct::Strike(node(of)?, Stroke::Stop)),
            ["at", at, "restart", of] => (at, NodeAct::Restart(node(of)?)),
            ["at", at, "freeze", of, "for", length] => {
                (at, NodeAct::Strike(node(of)?, Stroke::Freeze(lasting(length)?)))
            }
            ["at", at, "cut", of, "for", length] => (at, NodeAct::Strike(node(of)?, Stroke::Cut(lasting(length)?))),
            ["at", at, "clock", of, "by", by, "for", length] => {
                let time = lasting(length)?;
                if time < LEAST_APART {
                    return Err(format!(
                        "a clock moves when a second begins: it is off for {}s or longer",
                        LEAST_APART.as_secs()
                    ));
                }
                let stroke = Stroke::Clock { by_ms: offset_ms(by)?, time };
                (at, NodeAct::Strike(node(of)?, stroke))
            }
            ["at", at, "add"] => (at, NodeAct::Add),
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
        NodeAct::Strike(node, Stroke::Kill | Stroke::Stop) => {
            down.insert(node);
            false
        }
        NodeAct::Restart(node) => !down.remove(&node),
        NodeAct::Strike(_, Stroke::Freeze(_) | Stroke::Cut(_) | Stroke::Clock { .. })
        | NodeAct::Add
        | NodeAct::Remove(_) => false,
    })
}

/// A time that is not over when it begins.
fn lasting(text: &str) -> Result<Duration, &'static str> {
    time(text).filter(|it| !it.is_zero()).ok_or(GRAMMAR)
}

/// `30s`, or `-30s`, in milliseconds.
fn offset_ms(text: &str) -> Result<i64, String> {
    let behind = text.strip_prefix('-');
    let by = time(behind.unwrap_or(text)).ok_or(GRAMMAR)?.as_millis() as u64;
    if by < LEAST_OFFSET_MS {
        return Err(format!("a clock is moved by {LEAST_OFFSET_MS}ms or more: a node cannot be asked more exactly"));
    }
    Ok(if behind.is_some() { -by.cast_signed() } else { by.cast_signed() })
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
    use super::PlannedFault;
    use jobkit::{NodeAct, Stroke};
    use std::time::Duration;

    #[test]
    fn a_fault_is_read_as_it_is_written_and_what_cannot_be_read_is_refused() {
        let fault: PlannedFault = "at 500ms freeze 2 for 3s".parse().unwrap();
        assert_eq!(fault.at, Duration::from_millis(500));
        assert_eq!(fault.act, NodeAct::Strike(2, Stroke::Freeze(Duration::from_secs(3))));
        let fault: PlannedFault = "at 5s cut 2 for 300ms".parse().unwrap();
        assert_eq!(fault.act, NodeAct::Strike(2, Stroke::Cut(Duration::from_millis(300))));
        let moved = |text: &str| text.parse::<PlannedFault>().map(|fault| fault.act);
        let clock = |by_ms| NodeAct::Strike(2, Stroke::Clock { by_ms, time: Duration::from_secs(3) });
        assert_eq!(moved("at 5s clock 2 by 30s for 3s"), Ok(clock(30_000)));
        assert_eq!(moved("at 5s clock 2 by -1.5s for 3s"), Ok(clock(-1500)));
        for act in [clock(30_000), clock(-1500)] {
            assert_eq!(moved(&format!("at 5s {act}")), Ok(act));
        }
        assert_eq!("at 8s restart 1".parse::<PlannedFault>().unwrap().act, NodeAct::Restart(1));
        assert_eq!("at 8s add".parse::<PlannedFault>().unwrap().act, NodeAct::Add);
        for text in [
            "",
            "kill 2",
            "at 5 kill 2",
            "at 5s kill",
            "at 5s kill 0",
            "at 5s kill x",
            "at 5s freeze 2",
            "at 5s cut 2",
            "at 5s cut 0 for 1s",
            "at 5s clock 2",
            "at 5s clock 2 for 3s",
            "at 5s clock 2 by 30s",
            "at 5s clock 2 by 0s for 3s",
            "at 5s clock 2 by --30s for 3s",
            "at 5s clock 2 by 100ms for 3s",
            "at 5s clock 2 by 30s for 1s",
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
