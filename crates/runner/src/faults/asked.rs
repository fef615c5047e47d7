//! Faults by name: usual ones, worked out for the number of nodes of each store and the length of a trial.

use super::planned::PlannedFault;
use jobkit::{NodeAct, Stroke};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A fault as it is asked for: in words of its own, or by the name of a usual one.
#[derive(Clone, Debug, PartialEq)]
pub enum AskedFault {
    /// A fault on a node, at a time.
    Planned(PlannedFault),
    /// A usual one.
    Usual(UsualFault),
}

/// Usual faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsualFault {
    /// The first node is killed at a third of the time and started again at two thirds.
    Kill,
    /// Each node in turn is stopped and started again: an upgrade.
    Rolling,
    /// The first node is frozen for a second, five times.
    Flap,
    /// The first node is killed at a third of the time and never comes back.
    LoseOneForGood,
    /// A node joins at a third of the time.
    ScaleOut,
}

/// The length of a trial where a usual fault is asked for and nothing says how long the trial lasts.
pub const USUAL_SECONDS: u32 = 30;
/// The shortest trial in which five freezes of a second do not run into each other.
const LEAST_TO_FLAP: Duration = Duration::from_secs(15);

impl UsualFault {
    /// All usual faults.
    pub const ALL: [UsualFault; 5] =
        [UsualFault::Kill, UsualFault::Rolling, UsualFault::Flap, UsualFault::LoseOneForGood, UsualFault::ScaleOut];

    /// Returns the name of the fault.
    pub fn name(self) -> &'static str {
        match self {
            UsualFault::Kill => "kill",
            UsualFault::Rolling => "rolling",
            UsualFault::Flap => "flap",
            UsualFault::LoseOneForGood => "lose-one-for-good",
            UsualFault::ScaleOut => "scale-out",
        }
    }

    /// Returns the planned faults, with their times, for a store with this number of nodes in a trial of this length.
    fn planned(self, nodes: usize, length: Duration) -> Result<Vec<PlannedFault>, String> {
        let share = |share: f64| length.mul_f64(share);
        Ok(match self {
            UsualFault::Kill => {
                vec![at(share(1.0 / 3.0), NodeAct::Strike(1, Stroke::Kill)), at(share(2.0 / 3.0), NodeAct::Restart(1))]
            }
            UsualFault::LoseOneForGood => vec![at(share(1.0 / 3.0), NodeAct::Strike(1, Stroke::Kill))],
            UsualFault::ScaleOut => vec![at(share(1.0 / 3.0), NodeAct::Add)],
            UsualFault::Flap if length < LEAST_TO_FLAP => {
                return Err(format!(
                    "freezing a node five times needs --set seconds={} or more",
                    LEAST_TO_FLAP.as_secs()
                ));
            }
            UsualFault::Flap => {
                let times = (0..5).map(|time| share(0.2 + 0.12 * f64::from(time)));
                times.map(|when| at(when, NodeAct::Strike(1, Stroke::Freeze(Duration::from_secs(1))))).collect()
            }
            // A node is away for a third of its turn.
            UsualFault::Rolling => {
                let turn = 0.8 / nodes as f64;
                let begin = |node: usize| 0.1 + turn * (node - 1) as f64;
                let one = |node| {
                    [
                        (begin(node), NodeAct::Strike(node, Stroke::Stop)),
                        (begin(node) + turn / 3.0, NodeAct::Restart(node)),
                    ]
                };
                (1..=nodes).flat_map(one).map(|(when, act)| at(share(when), act)).collect()
            }
        })
    }
}

impl AskedFault {
    /// Returns what is done, and when, to a store with this number of nodes in a trial of this length.
    pub(super) fn planned(&self, nodes: usize, length: Option<Duration>) -> Result<Vec<PlannedFault>, String> {
        match (self, length) {
            (AskedFault::Planned(fault), _) => Ok(vec![fault.clone()]),
            (AskedFault::Usual(usual), Some(length)) => usual.planned(nodes, length),
            (AskedFault::Usual(_), None) => {
                Err("how long a trial lasts is not known: write 'at 5s kill 1' and the like".into())
            }
        }
    }

    /// Returns whether it cuts a node off from the others, for which kvtrial has to be in a network of its own.
    pub fn cuts(&self) -> bool {
        matches!(self, AskedFault::Planned(fault) if fault.cuts())
    }

    /// Returns whether it moves the time of day of a node.
    pub(super) fn moves_clock(&self) -> bool {
        matches!(self, AskedFault::Planned(fault) if fault.moves_clock())
    }

    /// Returns whether it is worked out from the length of a trial.
    pub fn needs_length(&self) -> bool {
        matches!(self, AskedFault::Usual(_))
    }
}

fn at(when: Duration, act: NodeAct<usize>) -> PlannedFault {
    // Whole milliseconds: what is said is what is done.
    let when = Duration::from_millis(when.as_millis() as u64);
    PlannedFault { text: format!("at {}s {act}", when.as_secs_f64()), at: when, act }
}

impl FromStr for AskedFault {
    type Err = String;

    fn from_str(text: &str) -> Result<AskedFault, String> {
        match UsualFault::ALL.into_iter().find(|usual| usual.name() == text.trim()) {
            Some(usual) => Ok(AskedFault::Usual(usual)),
            None => text.parse().map(AskedFault::Planned).map_err(|problem| {
                let names: Vec<&str> = UsualFault::ALL.iter().map(|usual| usual.name()).collect();
                let meant = study::did_you_mean(text, names.iter().copied());
                format!("{problem}; or one of the common faults: {}.{meant}", names.join(", "))
            }),
        }
    }
}

impl fmt::Display for AskedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskedFault::Planned(fault) => fault.fmt(f),
            AskedFault::Usual(usual) => f.write_str(usual.name()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{AskedFault, UsualFault};
    use crate::faults::planned::PlannedFault;
    use std::time::Duration;

    fn planned(name: &str, nodes: usize, seconds: u64) -> Vec<String> {
        let asked: AskedFault = name.parse().unwrap();
        let faults = asked.planned(nodes, Some(Duration::from_secs(seconds))).unwrap();
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_usual_fault_follows_from_the_nodes_of_the_store_and_the_length_of_a_trial() {
        assert_eq!(planned("kill", 3, 30), ["at 10s kill 1", "at 20s restart 1"]);
        assert_eq!(planned("lose-one-for-good", 3, 30), ["at 10s kill 1"]);
        assert_eq!(planned("scale-out", 3, 30), ["at 10s add"]);
        let rolling = planned("rolling", 2, 30);
        assert_eq!(rolling, ["at 3s stop 1", "at 7s restart 1", "at 15s stop 2", "at 19s restart 2"]);
        assert_eq!(planned("rolling", 6, 60).len(), 12);
        assert_eq!(planned("flap", 1, 30)[4], "at 20.4s freeze 1 for 1s");
        assert_eq!(planned("at 2s kill 1", 1, 30), ["at 2s kill 1"]);
    }

    #[test]
    fn every_fault_of_a_usual_one_is_read_as_it_is_written_and_is_over_before_the_trial_is() {
        for usual in UsualFault::ALL {
            let asked: AskedFault = usual.name().parse().unwrap();
            assert_eq!(asked.to_string(), usual.name());
            for fault in asked.planned(5, Some(Duration::from_secs(31))).unwrap() {
                assert_eq!(fault.to_string().parse::<PlannedFault>().as_ref(), Ok(&fault));
                assert!(fault.at < Duration::from_secs(30), "{fault}");
            }
        }
    }

    #[test]
    fn what_cannot_be_worked_out_is_refused_with_what_to_write() {
        let flap: AskedFault = "flap".parse().unwrap();
        assert!(flap.planned(1, Some(Duration::from_secs(5))).unwrap_err().contains("seconds=15"));
        assert!(flap.planned(1, None).unwrap_err().contains("'at 5s kill 1'"));
        assert!("explode".parse::<AskedFault>().unwrap_err().ends_with("lose-one-for-good, scale-out."));
        assert!("rollin".parse::<AskedFault>().unwrap_err().ends_with("scale-out. Did you mean rolling?"));
    }
}
