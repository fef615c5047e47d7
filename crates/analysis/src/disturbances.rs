//! Whether a machine was quiet enough for a trial: of what was seen of it, every reason to doubt the times.

use study::{Judged, Noise, Reason, ReasonKind};

/// Shares of the processors above which the hypervisor or other processes are said to have disturbed a trial.
const STEAL_LIMIT: f64 = 0.03;
const OTHER_LOAD_LIMIT: f64 = 0.15;
/// Share of the time in which a quota may be used up.
const THROTTLED_LIMIT: f64 = 0.01;

/// Returns the reasons to doubt the times of a trial that its machine gives.
pub fn disturbances(noise: &Noise) -> Vec<Reason> {
    let found = [stolen(noise), disturbed(noise), throttled(noise)].into_iter().flatten();
    found.map(|(kind, example)| Reason { kind, count: 1, example }).collect()
}

fn stolen(noise: &Noise) -> Option<(ReasonKind, String)> {
    let said = || format!("the hypervisor took {} of the processors", percent(noise.steal));
    (noise.steal > STEAL_LIMIT).then(|| (ReasonKind::Steal, said()))
}

fn disturbed(noise: &Noise) -> Option<(ReasonKind, String)> {
    if noise.other_load <= OTHER_LOAD_LIMIT || noise.judged != Judged::Yes {
        return None;
    }
    Some((ReasonKind::OtherLoad, format!("other processes used {} of the processors", percent(noise.other_load))))
}

fn throttled(noise: &Noise) -> Option<(ReasonKind, String)> {
    let (share, heat) = (noise.throttled, noise.heat_events);
    let example = if share > THROTTLED_LIMIT {
        format!("the CPU quota of this container or service was used up for {} of the time", percent(share))
    } else if heat > 0 {
        format!("processors lowered their clock because of heat, {heat} times")
    } else {
        return None;
    };
    Some((ReasonKind::Throttled, example))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
